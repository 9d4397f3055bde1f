"""The command line: subcommands by entry point, one-line errors, exit codes."""

import json

import pytest

from benchsuite.cli import ls_command, main, schema_command
from benchsuite.outcome import Outcome
from benchsuite.outcome_row import json_schema
from benchsuite.runs import RunStore

PLAN = {"test": ["memlens:a", "memlens:b"]}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The entry points as an installed distribution declares them, one third-party command among them."""
    site = tmp_path / "site"
    meta = site / "benchsuite_extra-1.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: benchsuite-extra\nVersion: 1\n")
    (meta / "entry_points.txt").write_text(
        "[benchsuite.commands]\nls = benchsuite.cli:ls_command\nschema = benchsuite.cli:schema_command\n"
        "extra = bench_extra_command:run\nabsent = module_that_is_not_there:run\n"
    )
    (site / "bench_extra_command.py").write_text("def run(argv):\n    print('extra', argv)\n    return 7\n")
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture
def bench_dir(tmp_path):
    folder = tmp_path / ".bench"
    row = Outcome(
        cell="memlens:a",
        suite="memlens",
        corpus="c",
        question="a",
        type="t",
        answerable=True,
        arm={"length": "1x", "model": "m"},
        status="scored",
        word="right",
        score=1.0,
    ).to_row()
    with RunStore.open(folder, "nightly", PLAN, {}) as store:
        store.append(row)
        store.finish(11)
    with RunStore.open(folder, "", PLAN, {}) as store:
        store.append(row)
    (folder / "runs" / "0003_nogit_broken").mkdir()
    return folder


def test_ls_prints_a_line_per_run(bench_dir, capsys):
    assert ls_command(["--bench-dir", str(bench_dir)]) == 0
    header, first, second, third = capsys.readouterr().out.splitlines()
    assert header.split() == ["run", "name", "commit", "started", "cells", "errors", "exit"]
    words = first.split()
    assert words[:3] == ["0001", "nightly", "nogit"]
    assert words[4:] == ["1/2", "0", "11"]
    assert second.split()[-1] == "unfinished"
    assert third.startswith("0003  unreadable: ")
    assert "run.json" in third


def test_ls_of_an_empty_and_of_an_absent_folder(installed, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["ls", "--bench-dir", str(tmp_path / "empty")]) == 0
    assert "no runs" in capsys.readouterr().out
    assert main(["ls", "--bench-dir", str(tmp_path / "absent")]) == 4
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: ")
    assert error.count("\n") == 1
    assert "absent" in error


def test_schema_is_what_the_library_publishes(installed, capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()
    with pytest.raises(SystemExit) as caught:
        schema_command(["--nonsense"])
    assert caught.value.code == 2


def test_a_third_party_command_is_found_and_its_exit_code_kept(installed, capsys):
    assert main(["extra", "--flag", "x"]) == 7
    assert capsys.readouterr().out == "extra ['--flag', 'x']\n"


def test_a_command_that_cannot_be_imported_is_one_line(installed, capsys):
    assert main(["absent"]) == 4
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: command 'absent'")
    assert error.count("\n") == 1


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"], ["ls", "--nonsense"]])
def test_a_wrong_command_line_is_one_line_and_exit_2(installed, argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: ")
    assert error.count("\n") == 1
