"""Shards of one plan become one run, each cell counted once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchsuite.commands.merge import merge_command
from benchsuite.errors import ConfigError, DataError
from benchsuite.runs import RunStore, list_runs, load_run, plan_digest
from benchsuite.runs.merge import KINDS, merge_runs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shards(runs, tmp_path):
    """Two shards that ran on two machines: each is the first run of a bench dir of its own."""
    made = []
    for place, questions in enumerate(("ab", "cd")):
        path = runs.make("shard", questions, bench_dir=tmp_path / f"machine{place}")
        (path / "calls" / "gw0.jsonl").write_text(f'{{"cell":"memlens:1x-oracle-pixels-embedded-{questions[0]}"}}\n')
        (path / "costs").mkdir()
        costs = {"images": 5 + place, "embedded": place, "queries": 3, "score_ms": 1.5, "encoder": "e"}
        (path / "costs" / "gw0.json").write_text(json.dumps({"region": costs}))
        counts = {"schema": 1, "tokenizer": "t", "side": 768, "delivered": {questions: place}}
        (path / "tokens.json").write_text(json.dumps({**counts, "full": [["c1", "1x", questions, 1, 2, 3]]}))
        made.append(path)
    return made


def merged(runs, paths, **options):
    return load_run(merge_runs(paths, runs.bench_dir, "all", **options))


def rewrite(path, **changes):
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, **changes}))


def test_two_shards_make_a_run(runs, shards, tmp_path):
    before = {path: path.read_bytes() for shard in shards for path in shard.rglob("*") if path.is_file()}
    run = merged(runs, shards)
    assert run.path == runs.folder / "0001_nogit_all"
    assert [row["question"] for row in run.rows.values()] == list("abcd")
    assert run.info["plan"] == {"t.py::test": [f"memlens:1x-oracle-pixels-embedded-{q}" for q in "abcd"]}
    assert run.info["plan_digest"] == plan_digest(run.info["plan"], run.info)
    assert (run.info["cells"], run.info["errors"], run.info["exit"], run.info["number"]) == (4, 0, 0, 1)
    assert run.info["models_served"] == {"embedded": ["embedded"]}
    assert run.info["experiments"] == load_run(shards[0]).info["experiments"]
    assert run.info["corpora"] == load_run(shards[0]).info["corpora"]
    assert [each["run"] for each in run.info["merged_from"]] == ["0001_nogit_shard"] * 2
    assert [row["run"]["source"] for row in run.rows.values()] == [1, 1, 2, 2]
    assert {row["run"]["id"] for row in run.rows.values()} == {"0001_nogit_all"}
    assert sorted(file.name for file in (run.path / "calls").iterdir()) == ["01-gw0.jsonl", "02-gw0.jsonl"]
    assert run.info["index_costs"]["region"] == {
        "images": 6,
        "embedded": 1,
        "queries": 6,
        "score_ms": 3.0,
        "encoder": "e",
    }
    tokens = json.loads((run.path / "tokens.json").read_text())
    assert tokens["delivered"] == {"ab": 0, "cd": 1}
    assert len(tokens["full"]) == 2
    assert str(tmp_path) not in (run.path / "run.json").read_text()
    assert {path: path.read_bytes() for path in before} == before, "the shards stay as they are"
    assert [each.name for each in runs.folder.iterdir() if each.name.startswith(".aside")] == []
    with RunStore.open(runs.bench_dir, "all", run.info["plan"], run.info) as store:
        assert store.info["number"] == 2, "it is finished: never continued"


def test_merging_does_not_hang_on_the_order(runs, shards):
    rewrite(shards[1], started="2020-01-01T00:00:00+00:00")
    first, second = merged(runs, shards), merged(runs, shards[::-1])
    assert [row["run"]["source"] for row in first.rows.values()] == [2, 2, 1, 1]
    ids = {"number", "merged"}
    assert {k: v for k, v in first.info.items() if k not in ids} == {
        k: v for k, v in second.info.items() if k not in ids
    }
    assert [row["question"] for row in first.rows.values()] == [row["question"] for row in second.rows.values()]


def test_a_merged_run_can_be_merged(runs, shards, tmp_path):
    third = runs.make("shard", "ef", bench_dir=tmp_path / "machine2")
    run = merged(runs, [merge_runs(shards, runs.bench_dir), third])
    assert len(run.rows) == 6
    assert sorted(len(each.get("merged_from", [])) for each in run.info["merged_from"]) == [0, 2]
    assert {file.name for file in (run.path / "calls").iterdir()} == {"01-01-gw0.jsonl", "01-02-gw0.jsonl"}


CELL = "memlens:1x-oracle-pixels-embedded-a"


@pytest.mark.parametrize(
    ("first", "second", "answer", "contradictions", "changed"),
    [
        ({"answer": "1", "run": {"t": 1.0}}, {"answer": "2", "run": {"t": 2.0}}, "2", 0, 1),
        ({"answer": "1", "run": {"t": 2.0}}, {"answer": "2", "run": {"t": 1.0}}, "1", 0, 1),
        ({"answer": "1", "run": {}}, {"answer": "2", "run": {"t": 1.0}}, "2", 0, 1),
        ({"answer": "1", "requests": ["x"]}, {"answer": "1", "requests": ["y"]}, "1", 1, 0),
        ({"answer": "1", "run": {"t": 1.0}}, None, "1", 0, 0),
        (None, {"answer": "2", "run": {"t": 1.0}}, "2", 0, 0),
        ({"answer": "1"}, {"answer": "1"}, "1", 0, 0),
    ],
    ids=["later", "earlier", "no time", "requests", "then error", "error first", "same"],
)
def test_a_cell_in_two_runs_is_counted_once(runs, first, second, answer, contradictions, changed):
    paths = [
        runs.make(questions="a", rows=[runs.row("a", **each) if each is not None else runs.failed("a", t=5.0)])
        for each in (first, second)
    ]
    run = merged(runs, paths)
    assert list(run.rows) == [CELL]
    assert run.rows[CELL]["answer"] == answer
    found = run.info["merged"]
    assert found["repeated"] == 1
    assert found["contradictions"] == {"cells": contradictions, "named": [CELL] * contradictions}
    assert found["changed"] == {"cells": changed, "named": [CELL] * changed}


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("corpora", {"digests": {"corpora": ["c2"]}}, r'digests.corpora: \["c1"\] in 0001_nogit_run, \["c2"\] in 0002'),
        ("scorers", {"digests": {"corpora": ["c1"], "scorers": {"memlens": "memlens-strict/3"}}}, "memlens-strict/2"),
        ("protocols", {"protocols": {"memlens": "memlens/2"}}, r'protocols.memlens: "memlens/1" in .*"memlens/2" in'),
        ("models", {"models": {"other": {}}}, r"models.embedded: \{.*\} in .*, nothing in 0002"),
        ("commit", {"commit": "0123abc"}, 'commit: "nogit" in 0001_nogit_run, "0123abc" in'),
        ("benchsuite", {"versions": {"benchsuite": "9.0"}}, 'versions.benchsuite: "0.1.0" in'),
        ("deliveries", {"deliveries": {"pixels": {"side": 8}}}, "deliveries: nothing in"),
    ],
)
def test_runs_of_two_plans_are_refused_by_the_first_difference(runs, kind, change, words):
    paths = [runs.make(questions=question) for question in "ab"]
    info = json.loads((paths[1] / "run.json").read_text())
    if "digests" in change:
        change = {"digests": {**info["digests"], **change["digests"]}}
    rewrite(paths[1], **change)
    with pytest.raises(ConfigError, match=f"not of one plan: .*{words}.*--across {kind} "):
        merged(runs, paths)
    others = [each for each in KINDS if each != kind]
    with pytest.raises(ConfigError, match=f"--across {kind} "):
        merged(runs, paths, across=others)
    assert len(list_runs(runs.bench_dir)) == 2
    run = merged(runs, paths, across=[kind])
    assert len(run.rows) == 2
    assert len(run.info["merged"]["across"]) == 1


def test_models_of_both_sides_are_kept_across_models(runs):
    paths = [runs.make(questions="a"), runs.make(questions="b")]
    other = {"other": {"model": "m", "family": "f", "params": {}}}
    digests = json.loads((paths[1] / "run.json").read_text())["digests"]
    rewrite(paths[1], models=other, digests={**digests, "models": "m2"})
    run = merged(runs, paths, across=["models"])
    assert run.info["models"].keys() == {"embedded", "other"}
    assert run.info["digests"]["models"] not in ("m1", "m2")


def test_an_experiment_declared_in_two_ways_is_refused_and_lists_are_joined(runs):
    declared = {"suite": "memlens", "axes": {"length": ["2x"], "k": [5]}, "contrasts": ["k: 5 -> 10"], "tables": ["t2"]}
    paths = [runs.make(questions="a"), runs.make(questions="b", experiments={"t.py::test": declared})]
    joined = merged(runs, paths).info["experiments"]["t.py::test"]
    assert joined["axes"] == {"length": ["1x", "2x"], "k": [5]}
    assert (joined["tables"], joined["contrasts"]) == (["t1", "t2"], ["k: 5 -> 10"])
    rewrite(paths[1], experiments={"t.py::test": {**declared, "suite": "other"}})
    with pytest.raises(ConfigError, match=r"t\.py::test: suite is 'memlens' and in 0002_nogit_run 'other'"):
        merged(runs, paths)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (("ab", "ab", 0), ("cd", "cd", 0), 0),
        (("ab", "ab", 0), ("cd", "c", 11), 11),
        (("ab", "a", 11), ("ab", "ab", 0), 0),
        (("ab", "ab", 10), ("cd", "cd", 0), 10),
        (("ab", "ab", 1), ("cd", "cd", 0), 1),
        (("ab", "ab", 0), ("cd", "c!d", 1), 1),
        (("ab", "!ab", 1), ("ab", "ab", 0), 0),
    ],
    ids=["whole", "incomplete", "completed", "gate", "failed case", "error", "error healed"],
)
def test_the_exit_of_the_merged_run(runs, first, second, code):
    paths = []
    for questions, given, exit_code in (first, second):
        rows = [runs.failed(q) if f"!{q}" in given else runs.row(q) for q in given if q != "!"]
        paths.append(runs.make(questions=questions, rows=rows, exit_code=exit_code))
    assert merged(runs, paths).info["exit"] == code


def test_half_a_run_is_merged_when_asked(runs):
    whole, half = runs.make("w", "ab"), runs.make("h", "cd", rows=[runs.row("c")], exit_code=None)
    with pytest.raises(ConfigError, match=r"0002_nogit_h is not finished; --unfinished merges"):
        merged(runs, [whole, half])
    run = merged(runs, [whole, half], unfinished=True)
    assert [row["question"] for row in run.rows.values()] == list("abc")
    assert run.info["exit"] == 11
    assert run.info["finished"] is not None
    info = json.loads((half / "run.json").read_text())
    with RunStore.open(runs.bench_dir, "h", info["plan"], info), pytest.raises(ConfigError, match="is being written"):
        merged(runs, [whole, half], unfinished=True)


def test_what_cannot_be_merged_leaves_nothing_behind(runs, shards):
    with pytest.raises(ConfigError, match="two runs or more"):
        merged(runs, [shards[0], shards[0]])
    with pytest.raises(ConfigError, match=r"run name 'a/b'"):
        merge_runs(shards, runs.bench_dir, "a/b")
    with pytest.raises(ConfigError, match="--across colour"):
        merged(runs, shards, across=["colour"])
    (shards[1] / "costs" / "gw0.json").write_text("[")
    with pytest.raises(DataError, match=r"02-gw0\.json: no index costs"):
        merged(runs, shards)
    (shards[1] / "costs" / "gw0.json").unlink()
    (shards[1] / "tokens.json").write_text('{"schema": 1, "tokenizer": "t", "side": 768}')
    with pytest.raises(DataError, match=r"tokens\.json: no token counts"):
        merged(runs, shards)
    (shards[1] / "outcomes.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"outcomes\.jsonl:1"):
        merged(runs, shards)
    assert [each.name for each in runs.folder.iterdir()] == [".lock"]


def test_token_counts_of_two_tokenizers_are_not_joined(runs, shards):
    counts = json.loads((shards[1] / "tokens.json").read_text())
    (shards[1] / "tokens.json").write_text(json.dumps({**counts, "tokenizer": "other"}))
    assert not (merged(runs, shards).path / "tokens.json").exists()


KILLED = """
import sys, time
from pathlib import Path
import benchsuite.runs.merge as merge
def slow(*args):
    print("half", flush=True)
    time.sleep(60)
merge.write_info = slow
merge.merge_runs([Path(each) for each in sys.argv[2:]], Path(sys.argv[1]), "all")
"""


def test_a_merge_that_is_killed_leaves_no_half_run(runs, shards):
    command = [sys.executable, "-c", KILLED, str(runs.bench_dir), *map(str, shards)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert list_runs(runs.bench_dir) == []
    assert len(list(runs.folder.glob(".aside-*"))) == 1
    assert merged(runs, shards).info["number"] == 1
    assert list(runs.folder.glob(".aside-*")) == []


def test_the_command_says_what_it_counted_once(runs, capsys):
    first = runs.make("x", rows=[runs.row("a", answer="1"), runs.row("b", requests=["p"])])
    runs.make("y", "ab", rows=[runs.row("a", answer="2"), runs.row("b", requests=["q"])])
    assert merge_command([str(first), "y", "--name", "z", "--bench-dir", str(runs.bench_dir)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [
        f"{runs.folder / '0003_nogit_z'}: 2 cells of 2 runs, 0 errors, exit 0",
        "in several runs, counted once: 2",
        "answered to different requests: 1: memlens:1x-oracle-pixels-embedded-b",
        "answered differently to one request: 1: memlens:1x-oracle-pixels-embedded-a",
    ]
    assert merge_command(["1", "2", "--json", "--across", "commit", "--bench-dir", str(runs.bench_dir)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["run"], said["repeated"]) == (str(runs.folder / "0004_nogit_run"), 2)
