"""The command line: subcommands by entry point, one-line errors, exit codes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.cli import main
from benchsuite.commands.data import data_command
from benchsuite.commands.ls import ls_command
from benchsuite.commands.schema import schema_command
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
        "[benchsuite.commands]\nls = benchsuite.commands.ls:ls_command\n"
        "schema = benchsuite.commands.schema:schema_command\ndata = benchsuite.commands.data:data_command\n"
        "extra = bench_extra_command:run\nabsent = module_that_is_not_there:run\n"
        "renamed = bench_extra_command:old_name\n"
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


@pytest.mark.parametrize("command", ["ls", "schema", "data"])
def test_help_has_an_example(installed, command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"example:\n  benchsuite {command}" in capsys.readouterr().out


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


def test_ls_for_scripts_and_of_one_name(bench_dir, capsys):
    assert ls_command(["--bench-dir", str(bench_dir), "--json", "--name", "nightly"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["number"], run["name"], run["cells"], run["planned"], run["exit"]) == (1, "nightly", 1, 2, 11)
    assert run["path"] == str(bench_dir / "runs" / "0001_nogit_nightly")
    assert ls_command(["--bench-dir", str(bench_dir), "--name", "absent"]) == 0
    assert "named absent" in capsys.readouterr().out


def test_ls_says_what_is_wrong_with_half_a_run(bench_dir, capsys):
    (bench_dir / "runs" / "0001_nogit_nightly" / "outcomes.jsonl").unlink()
    assert ls_command(["--bench-dir", str(bench_dir)]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.split()[:2] == ["0001", "nightly"]
    assert "half a run: 0 of the 1 rows that run.json counts" in line


def test_ls_of_odd_names_stays_a_line_per_run(bench_dir, capsys):
    odd = bench_dir / "runs" / os.fsdecode(b"0004_nogit_a\nb\xff \x1b[31m\xc3\xa9")
    odd.mkdir()
    facts = json.loads((bench_dir / "runs" / "0001_nogit_nightly" / "run.json").read_text())
    (bench_dir / "runs" / "0001_nogit_nightly" / "run.json").write_text(json.dumps({**facts, "name": "a\n\x1b[31mé"}))
    assert ls_command(["--bench-dir", str(bench_dir)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[1].split()[1:3] == ["a", "?[31mé"]
    assert lines[4].startswith("0004  unreadable: ")
    assert ls_command(["--bench-dir", str(bench_dir), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[3]["path"] == str(odd)


def test_ls_of_an_empty_and_of_an_absent_folder(installed, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["ls", "--bench-dir", str(tmp_path / "empty")]) == 0
    assert "no runs" in capsys.readouterr().out
    assert main(["ls", "--bench-dir", str(tmp_path / "absent")]) == 4
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: ")
    assert error.count("\n") == 1
    assert "absent" in error
    assert main(["ls", "--bench-dir", str(tmp_path / "two\nlines")]) == 4
    assert capsys.readouterr().err.count("\n") == 1


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
        f"benchsuite: {tmp_path}: no bank.json (MIRAGE) and no dataset_<length>.json or .parquet (MemLens) in it\n"
    )


def test_a_reader_that_has_had_enough_is_no_traceback(tmp_path):
    """As in ``benchsuite schema | head -1``; the pipe is closed before anything is written."""
    code = "import sys; sys.stdin.readline(); from benchsuite.cli import main; sys.exit(main(['schema']))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, cwd=Path(__file__).parents[1]) as process:
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_a_third_party_command_is_found_and_its_exit_code_kept(installed, capsys):
    assert main(["extra", "--flag", "x"]) == 7
    assert capsys.readouterr().out == "extra ['--flag', 'x']\n"


@pytest.mark.parametrize("name", ["absent", "renamed"])
def test_a_command_that_cannot_be_imported_is_one_line(installed, name, capsys):
    assert main([name]) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"benchsuite: command {name!r}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"], ["ls", "--nonsense"], ["data"], ["data", "look"]])
def test_a_wrong_command_line_is_one_line_and_exit_2(installed, argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: ")
    assert error.count("\n") == 1
