"""The command line: subcommands by entry point, one-line errors, exit codes."""

import json
import shutil
from pathlib import Path

import pytest

from benchsuite.cli import data_command, ls_command, main, schema_command
from benchsuite.outcome import Outcome
from benchsuite.outcome_row import json_schema
from benchsuite.runs import RunStore

TINY = Path(__file__).parent / "data" / "memlens-tiny"
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
        "data = benchsuite.cli:data_command\nextra = bench_extra_command:run\nabsent = module_that_is_not_there:run\n"
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


def test_data_check_of_a_clean_corpus(installed, capsys):
    assert main(["data", "check", str(TINY)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{TINY}\n\nfiles\ndataset_32k.json ")
    assert "not a known release file" in out
    assert "the same 10 question ids at 32k, wrapped" in out
    assert "the stamp covers text-like detail in 3 of 4 images" in out  # the tiny pictures have print in the corner
    assert out.endswith("\n0 errors, 0 notes\n")


def test_data_check_of_a_faulty_corpus_is_exit_1_and_shows_all(tmp_path, capsys):
    folder = Path(shutil.copytree(TINY, tmp_path / "corpus"))
    items = json.loads((folder / "dataset_32k.json").read_text())
    items[0]["haystack_dates"].pop()
    items[1]["question_date"] = "2020/01/01"
    (folder / "dataset_32k.json").write_text(json.dumps(items))
    (folder / "release_images" / "needle_images" / "n1.jpg").write_bytes(b"cut")
    assert data_command(["check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "  haystack_dates: 1\n" in out
    assert "  question asked before a session: 1\n" in out
    assert "  image: 1\n" in out
    assert out.endswith("\n3 errors, 1 note\n")


def test_data_check_of_nothing_is_one_line(installed, tmp_path, capsys):
    assert main(["data", "check", str(tmp_path)]) == 4
    assert capsys.readouterr().err == (
        f"benchsuite: memlens corpus {tmp_path}: no dataset_<length>.json or .parquet in this folder\n"
    )


def test_a_third_party_command_is_found_and_its_exit_code_kept(installed, capsys):
    assert main(["extra", "--flag", "x"]) == 7
    assert capsys.readouterr().out == "extra ['--flag', 'x']\n"


def test_a_command_that_cannot_be_imported_is_one_line(installed, capsys):
    assert main(["absent"]) == 4
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: command 'absent'")
    assert error.count("\n") == 1


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"], ["ls", "--nonsense"], ["data"], ["data", "look"]])
def test_a_wrong_command_line_is_one_line_and_exit_2(installed, argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: ")
    assert error.count("\n") == 1
