"""What a run is, said in one go."""

import json

import pytest

from benchsuite.commands.show import show_command
from benchsuite.errors import ConfigError, DataError
from benchsuite.runs import RunStore


def shown(runs, capsys, *arguments):
    assert show_command([*arguments, "--bench-dir", str(runs.bench_dir)]) == 0
    return capsys.readouterr().out


@pytest.fixture
def mixed(runs):
    return runs.make(
        "nightly",
        "abcde",
        rows=[
            runs.row("a"),
            runs.row("b", word="wrong", score=0.0, scores={}),
            runs.row("c", status="unparsed", word="unparsed", score=None, scores={}),
            runs.failed("d", "no\nanswer"),
            runs.row("x", cell="memlens:direct-x", run={"direct": True}),
        ],
        exit_code=11,
    )


def test_show_for_a_person(runs, mixed, capsys):
    (mixed / "tables" / "t1.md").write_text("")
    (mixed / "tables" / "f1.svg").write_text("")
    (mixed / "pages").mkdir()
    (mixed / "pages" / "q.html").write_text("")
    text = shown(runs, capsys, "nightly")
    for part in (
        "cases -k 'a b'",
        "exit 11",
        "5 planned, 4 with an outcome, 1 missing",
        "1 outcomes of bench.ask",
        "memlens: memlens-mini c1",
        "embedded: asked embedded of embedded/2, served embedded",
        "memlens-strict/2",
        "memlens/1",
        "benchsuite 0.1.0",
        "tables     t1\n",
        "figures    f1\n",
        "pages      pages/q.html\n",
        "     1  timeout: no answer\n",
    ):
        assert part in text
    header, arm = (line.split() for line in text.splitlines() if "accuracy" in line or line.startswith("memlens:1x"))
    assert dict(zip(header, arm, strict=True)) == {
        "arm": "memlens:1x-oracle-pixels-embedded",
        "n": "4",
        "right": "1",
        "wrong": "1",
        "unparsed": "1",
        "error": "1",
        "accuracy": "0.5000",
    }


def test_show_for_scripts(runs, mixed, capsys):
    facts = json.loads(shown(runs, capsys, "1", "--json"))
    assert facts["path"] == str(mixed)
    assert facts["state"] == "finished"
    assert facts["cells"] == {"planned": 5, "rows": 4, "missing": 1}
    assert facts["experiments"] == {"t.py::test": {"cells": 5, "missing": 1}}
    assert facts["direct"] == 1
    assert facts["errors"] == [{"kind": "timeout", "message": "no\nanswer", "cells": 1}]
    assert facts["arms"][0]["accuracy"] == 0.5
    assert "plan" not in facts


def test_an_arm_without_a_score_has_no_accuracy(runs, capsys):
    runs.make(rows=[runs.failed("a"), runs.failed("b")], exit_code=1)
    assert json.loads(shown(runs, capsys, "1", "--json"))["arms"][0]["accuracy"] is None
    assert shown(runs, capsys, "1").splitlines()[-4].split()[-1] == "-"


def test_unfinished_and_being_written_are_told_apart(runs, capsys):
    path = runs.make(exit_code=None)
    assert json.loads(shown(runs, capsys, "1", "--json"))["state"] == "unfinished"
    info = json.loads((path / "run.json").read_text())
    with RunStore.open(runs.bench_dir, "", info["plan"], info) as store:
        assert store.continued
        assert json.loads(shown(runs, capsys, "1", "--json"))["state"] == "being written"
        assert "being written" in shown(runs, capsys, "1")


def test_what_is_no_run_or_a_broken_one_is_one_error(runs, capsys):
    path = runs.make()
    with pytest.raises(ConfigError, match="no run 'other'"):
        show_command(["other", "--bench-dir", str(runs.bench_dir)])
    (path / "outcomes.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"outcomes\.jsonl:1"):
        show_command(["1", "--bench-dir", str(runs.bench_dir)])
    assert capsys.readouterr().out == ""
