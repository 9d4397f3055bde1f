"""The run store: numbering, continuing, locks, kills."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.files import AppendFile
from benchsuite.outcome import Outcome, row_json
from benchsuite.outcome_row import MIGRATIONS as ROW_MIGRATIONS
from benchsuite.runs import RunStore, find_run, git_commit, list_runs, load_run, plan_digest
from benchsuite.runs.folder import MIGRATIONS, migrate, read_info
from benchsuite.runs.rows import count_statuses

ROOT = Path(__file__).parents[1]
PLAN = {"cases/memlens/test_delivery.py::test_delivery": ["memlens:a", "memlens:b", "memlens:c"]}
INFO = {"argv": ["pytest", "cases"], "versions": {"benchsuite": "0.1"}, "digests": {"corpora": {"memlens": "c1"}}}


def row(cell="memlens:a", score=1.0, served="embedded", **changes):
    values = {
        "cell": cell,
        "suite": "memlens",
        "corpus": "c1",
        "question": cell[-1],
        "type": "t",
        "answerable": True,
        "arm": {"length": "1x", "model": "embedded"},
        "status": "scored",
        "word": "right" if score else "wrong",
        "score": score,
        "model_served": served,
    }
    return Outcome(**{**values, **changes}).to_row()


def failed(cell="memlens:a"):
    return row(cell, None, "", status="error", word="error", error_kind="timeout", error_message="late")


def lines(store):
    return (store.path / "outcomes.jsonl").read_text().splitlines()


def test_a_run_from_opening_to_finish(tmp_path):
    with RunStore.open(tmp_path, "nightly", PLAN, INFO) as store:
        assert store.path == tmp_path / "runs" / "0001_nogit_nightly"
        assert not store.continued
        assert (store.path / "calls").is_dir()
        assert (store.path / "tables").is_dir()
        info = json.loads((store.path / "run.json").read_text())
        assert info["argv"] == ["pytest", "cases"]
        assert info["plan"] == PLAN
        assert info["schema"] == 1
        assert info["finished"] is None
        assert info["exit"] is None
        assert store.append(row("memlens:b"))
        assert store.append(failed("memlens:a"))
        assert store.missing() == ["memlens:c"]
        store.finish(1)
    run = load_run(store.path)
    assert list(run.rows) == ["memlens:a", "memlens:b"]
    assert run.info["exit"] == 1
    assert run.info["started"] <= run.info["finished"]
    assert (run.info["cells"], run.info["errors"]) == (2, 1)
    assert run.info["models_served"] == {"embedded": ["embedded"]}
    assert not list(store.path.glob(".run.json*"))
    with pytest.raises(BenchError, match="closed"):
        store.append(row())


def test_an_unfinished_run_of_the_same_plan_is_continued_and_a_finished_one_is_not(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as first:
        first.append(row("memlens:a"))
    reordered = {key: list(reversed(cells)) for key, cells in PLAN.items()}
    with RunStore.open(tmp_path, "", reordered, INFO) as second:
        assert second.path == first.path
        assert second.continued
        assert second.cells == {"memlens:a": "scored"}
        assert len(second.info["continued"]) == 1
        assert second.info["started"] == first.info["started"]
        second.finish(0)
    with RunStore.open(tmp_path, "", PLAN, INFO) as third:
        assert third.path.name == "0002_nogit_run"
        assert third.cells == {}


@pytest.mark.parametrize(
    ("name", "plan", "info"),
    [
        ("other", PLAN, INFO),
        ("", {"e": ["memlens:a"]}, INFO),
        ("", {"other": next(iter(PLAN.values()))}, INFO),
        ("", PLAN, {**INFO, "digests": {"corpora": {"memlens": "c2"}}}),
    ],
    ids=["name", "cells", "experiment", "corpus"],
)
def test_another_plan_name_or_corpus_starts_a_new_number(tmp_path, name, plan, info):
    RunStore.open(tmp_path, "", PLAN, INFO).close()
    with RunStore.open(tmp_path, name, plan, info) as store:
        assert store.info["number"] == 2


def test_argv_does_not_make_a_plan_another(tmp_path):
    assert plan_digest(PLAN, INFO) == plan_digest(PLAN, {**INFO, "argv": ["pytest", "-n", "4"]})


def test_the_last_row_of_a_cell_stands_but_no_error_replaces_an_answer(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        assert store.append(failed())
        assert store.append(row(score=0.0))
        assert store.append(row(score=1.0))
        assert not store.append(failed())
        store.append(row("memlens:c"))
        store.append(row("memlens:b"))
        assert len(lines(store)) == 5
        assert store.rows()["memlens:a"]["score"] == 1.0
        store.finish(0)
    assert [json.loads(line)["cell"] for line in lines(store)] == ["memlens:a", "memlens:b", "memlens:c"]
    assert json.loads(lines(store)[0])["score"] == 1.0


def test_repeats_of_an_earlier_process_are_compacted_too(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        store.append(failed())
        store.append(row())
    with RunStore.open(tmp_path, "", PLAN, INFO) as again:
        assert again.cells == {"memlens:a": "scored"}
        again.finish(0)
    assert len(lines(again)) == 1


def test_a_line_cut_by_a_kill_is_tolerated_and_taken_away_before_appending(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        store.append(row("memlens:a"))
        store.append(row("memlens:b"))
    file = store.path / "outcomes.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    assert list(load_run(store.path).rows) == ["memlens:a"]
    with RunStore.open(tmp_path, "", PLAN, INFO) as again:
        assert again.cells == {"memlens:a": "scored"}
        again.append(row("memlens:c"))
        assert list(again.rows()) == ["memlens:a", "memlens:c"]
        assert len(lines(again)) == 2


@pytest.mark.parametrize("cut", range(0, 12, 3))
def test_append_file_keeps_whole_lines_of_any_length(tmp_path, cut):
    path = tmp_path / "calls" / "gw0.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"x" * 70_000 + b"\n" + b"y" * cut * 10_000)
    file = AppendFile(path)
    file.append("z")
    file.close()
    assert path.read_bytes() == b"x" * 70_000 + b"\nz\n"


def test_broken_rows_are_named_by_line_and_field(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        store.append(row("memlens:a"))
        with pytest.raises(BenchError, match="memlens:b"):
            store.append({**row("memlens:b"), "score": float("nan")})
        assert store.cells == {"memlens:a": "scored"}
    file = store.path / "outcomes.jsonl"
    good = file.read_text()
    for fault, words in [
        (row_json({**row("memlens:b"), "word": "rihgt"}), "outcomes.jsonl:2: item memlens:b: word"),
        (row_json(row("memlens:b")).replace(": 1.0", ": NaN"), "outcomes.jsonl:2: item memlens:b: score"),
        ("{half", "outcomes.jsonl:2: not JSON"),
    ]:
        file.write_text(good + fault + "\n")
        with pytest.raises(DataError) as caught:
            load_run(store.path)
        assert words in str(caught.value)


def test_a_run_that_another_process_holds_is_not_continued(tmp_path):
    with RunStore.open(tmp_path, "", PLAN, INFO) as first, RunStore.open(tmp_path, "", PLAN, INFO) as second:
        assert (first.info["number"], second.info["number"]) == (1, 2)


OPENER = """
import sys, json
from pathlib import Path
from benchsuite.runs import RunStore
print("up", flush=True)
sys.stdin.readline()
store = RunStore.open(Path(sys.argv[1]), "", json.loads(sys.argv[2]), {})
print(store.path.name, flush=True)
sys.stdin.readline()
"""


def test_processes_that_open_at_once_get_different_folders(tmp_path):
    command = [sys.executable, "-c", OPENER, str(tmp_path), json.dumps(PLAN)]
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "up\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        names = [process.stdout.readline().strip() for process in processes]
    finally:
        for process in processes:
            process.communicate("end\n")
    assert sorted(names) == [f"000{i}_nogit_run" for i in range(1, 5)]


WRITER = """
import sys, json
from pathlib import Path
from benchsuite.runs import RunStore
row, plan = json.loads(sys.argv[2]), json.loads(sys.argv[3])
store = RunStore.open(Path(sys.argv[1]), "", plan, {})
for i in range(10_000_000):
    store.append({**row, "cell": f"memlens:{i:07d}"})
    if i == 20:
        print("writing", flush=True)
"""


def test_sigkill_while_writing_loses_at_most_the_line_in_flight(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path), json.dumps(row()), json.dumps(PLAN)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with RunStore.open(tmp_path, "", PLAN, {}) as store:  # the lock died with its holder
        assert store.continued
        assert store.info["number"] == 1
        cells = list(store.cells)
        assert len(cells) >= 21
        assert cells == [f"memlens:{i:07d}" for i in range(len(cells))]


def test_a_name_that_is_no_folder_name_is_refused(tmp_path):
    for name in ("a/b", "..\\x", "two words"):
        with pytest.raises(ConfigError, match="run name"):
            RunStore.open(tmp_path, name, PLAN, INFO)


def test_a_bench_dir_that_is_a_file_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file"):
        RunStore.open(tmp_path / "file", "", PLAN, INFO)


def test_the_commit_is_that_of_the_root_directory(tmp_path):
    assert git_commit(tmp_path) == "nogit"
    assert git_commit(tmp_path / "absent") == "nogit"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert git_commit(tmp_path) == "nogit"
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    with RunStore.open(tmp_path / ".bench", "", PLAN, INFO) as store:
        assert store.path.name == f"0001_{head[:7]}_run"


def test_list_runs_counts_and_names_what_cannot_be_read(tmp_path):
    assert list_runs(tmp_path) == []
    with RunStore.open(tmp_path, "", PLAN, INFO) as first:
        first.append(row("memlens:a"))
        first.append(failed("memlens:b"))
        first.finish(1)
    with RunStore.open(tmp_path, "second", PLAN, INFO) as second:
        second.append(row("memlens:a"))
    (tmp_path / "runs" / "0003_nogit_broken").mkdir()
    done, running, broken = list_runs(tmp_path)
    assert (done.number, done.name, done.cells, done.errors, done.planned, done.exit) == (1, "run", 2, 1, 3, 1)
    assert (running.name, running.cells, running.finished) == ("second", 1, None)
    assert "run.json" in broken.problem
    with RunStore.open(tmp_path, "", PLAN, INFO) as fourth:
        assert fourth.info["number"] == 4


def test_a_run_is_found_by_number_newest_name_and_path(tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder, name in ((here, "nightly"), (here, "other"), (here, "nightly"), (elsewhere, "nightly")):
        with RunStore.open(folder, name, PLAN, INFO) as store:
            store.finish(0)
    runs = here / "runs"
    assert find_run(here, "2") == runs / "0002_nogit_other"
    assert find_run(here, "nightly") == runs / "0003_nogit_nightly"
    assert find_run(here, "0001_nogit_nightly") == runs / "0001_nogit_nightly"
    there = elsewhere / "runs" / "0001_nogit_nightly"
    assert find_run(here, str(there)) == there, "a path is that folder, not the run here that is called so"
    with pytest.raises(ConfigError, match=r"no run '9' in .*; the last are: 0001_nogit_nightly, 0002_"):
        find_run(here, "9")
    (runs / "0004_nogit_torn").mkdir()
    (runs / "0004_nogit_torn" / "run.json").write_text("{")
    with pytest.raises(ConfigError, match=r"run\.json"):
        find_run(here, "4")
    with pytest.raises(ConfigError, match="no such folder"):
        find_run(tmp_path / "nowhere", "1")


def finished(folder, name="", rows=(), exit_code=0):
    with RunStore.open(folder, name, PLAN, INFO) as store:
        for each in rows or [row("memlens:a"), row("memlens:b"), row("memlens:c")]:
            store.append(each)
        store.finish(exit_code)
    return store.path


def rewrite_info(path, **changes):
    info = {**json.loads((path / "run.json").read_text()), **changes}
    (path / "run.json").write_text(json.dumps(info))


def to_schema_1(old):
    """What a step from a schema 0 would be: it called the word a verdict."""
    return {**{key: value for key, value in old.items() if key != "verdict"}, "word": old["verdict"]}


def schema_0(cell):
    old = row(cell)
    old["verdict"] = old.pop("word")
    return row_json({**old, "schema": 0})


def test_rows_of_an_older_schema_are_migrated_one_by_one(tmp_path, monkeypatch):
    path = finished(tmp_path)
    file = path / "outcomes.jsonl"
    kept = file.read_text().splitlines()
    file.write_text("\n".join([schema_0("memlens:a"), *kept[1:]]) + "\n")
    with pytest.raises(DataError, match=r"outcomes\.jsonl:1: item memlens:a: schema: 0: this version reads schema 1"):
        load_run(path)
    monkeypatch.setitem(ROW_MIGRATIONS, 0, to_schema_1)
    assert load_run(path).rows["memlens:a"] == {**row("memlens:a")}
    file.write_text("\n".join([schema_0("memlens:a").replace("verdict", "vredict"), *kept[1:]]) + "\n")
    with pytest.raises(DataError, match=r"item memlens:a: written in schema 0, cannot be brought to 1: KeyError"):
        load_run(path)


def test_a_run_that_an_older_version_began_is_continued_in_the_new_schema(tmp_path, monkeypatch):
    monkeypatch.setitem(ROW_MIGRATIONS, 0, to_schema_1)
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        store.append(row("memlens:b"))
    with (store.path / "outcomes.jsonl").open("a") as file:
        file.write(schema_0("memlens:a") + "\n")
    assert list_runs(tmp_path)[0].cells == 2
    with RunStore.open(tmp_path, "", PLAN, INFO) as again:
        assert again.continued
        assert again.cells == {"memlens:a": "scored", "memlens:b": "scored"}
        again.append(failed("memlens:c"))
        again.append(row("memlens:c"))
        assert again.rows()["memlens:a"] == row("memlens:a")
        again.finish(0)
    assert {json.loads(line)["schema"] for line in lines(again)} == {1}


def test_a_row_of_a_newer_schema_is_refused_with_both_versions_and_what_to_do(tmp_path):
    path = finished(tmp_path)
    file = path / "outcomes.jsonl"
    file.write_text(file.read_text().replace('"schema": 1, "cell": "memlens:b"', '"schema": 2, "cell": "memlens:b"'))
    with pytest.raises(DataError) as caught:
        load_run(path)
    assert str(caught.value) == (
        f"{file}:2: item memlens:b: schema: 2: a newer benchsuite wrote this, "
        "and this one reads up to 1: install the newer one"
    )


def test_a_chain_goes_step_by_step_and_stops_where_a_step_is_missing():
    steps = {0: lambda old: {**old, "a": 1}, 1: lambda old: {**old, "b": old["a"] + 1}, 3: lambda old: old}
    given = {"schema": 0}
    assert migrate(given, 2, steps, "f") == {"schema": 2, "a": 1, "b": 2}
    assert given == {"schema": 0}
    with pytest.raises(DataError, match="schema: 0: this version reads schema 4"):
        migrate(given, 4, steps, "f")
    for odd in (None, "1", True, 1.0, -1, [1]):
        with pytest.raises(DataError, match="schema"):
            migrate({"schema": odd}, 2, {}, "f")


def test_run_json_has_a_schema_of_its_own(tmp_path, monkeypatch):
    path = finished(tmp_path)
    facts = json.loads((path / "run.json").read_text())
    del facts["schema"]
    (path / "run.json").write_text(json.dumps(facts))
    assert read_info(path)["schema"] == 1, "the first ones had none"
    rewrite_info(path, schema=0)
    monkeypatch.setitem(MIGRATIONS, 0, lambda info: {**info, "name": "migrated"})
    assert read_info(path)["name"] == "migrated"
    rewrite_info(path, schema=2)
    with pytest.raises(
        DataError, match=r"run\.json: schema: 2: a newer benchsuite wrote this, and this one reads up to 1"
    ):
        load_run(path)
    assert "schema: 2" in list_runs(tmp_path)[0].problem


def test_half_a_run_is_refused_and_listed(tmp_path):
    path = finished(tmp_path)
    file = path / "outcomes.jsonl"
    whole = file.read_text()
    file.write_text(whole[:-40])
    with pytest.raises(DataError, match=r"outcomes\.jsonl: half a run: 2 of the 3 rows that run\.json counts"):
        load_run(path)
    assert "half a run: 2 of the 3" in list_runs(tmp_path)[0].problem
    file.unlink()
    with pytest.raises(DataError, match="half a run: 0 of the 3"):
        load_run(path)
    assert "half a run: 0 of the 3" in list_runs(tmp_path)[0].problem
    file.write_text(whole)
    assert list_runs(tmp_path)[0].problem == ""
    (path / "run.json").write_text('{"plan": {}}')
    assert "run.json has no 'name'" in list_runs(tmp_path)[0].problem
    with pytest.raises(ConfigError, match="no run 'run'"):
        find_run(tmp_path, "run")


def test_counting_an_unfinished_run_agrees_with_loading_it(tmp_path):
    odd = 'memlens:"quoted\\", "status": "error", é'
    with RunStore.open(tmp_path, "", PLAN, INFO) as store:
        for each in (
            row("memlens:a", answer='", "status": "error", "'),
            failed("memlens:b"),
            row("memlens:b"),
            failed("memlens:c"),
            row(odd, labels=["status", '"status": "error"']),
            row(odd),
            row("memlens:d", None, status="unparsed", word="unparsed"),
        ):
            store.append(each)
    file = store.path / "outcomes.jsonl"
    spaced = json.dumps(failed("memlens:e"), indent=None, separators=(",", ":"))
    with file.open("a") as stream:
        stream.write(spaced + "\n")
    loaded = [each["status"] for each in load_run(store.path).rows.values()]
    assert count_statuses(file) == {status: loaded.count(status) for status in set(loaded)}
    assert (list_runs(tmp_path)[0].cells, list_runs(tmp_path)[0].errors) == (6, 2)
    with file.open("a") as stream:
        stream.write('{"schema": 1, "cell"\n')
    assert "outcomes.jsonl:9: not JSON" in list_runs(tmp_path)[0].problem


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=30),
    number=st.integers() | st.none(),
    score=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30),
)
def test_rows_are_loaded_as_they_were_written(tmp_path_factory, text, number, score):
    folder = tmp_path_factory.mktemp("run")
    given = row("memlens:a", score, answer=text, items=[text], usage_prompt=number, run={"worker": text, "t": score})
    with RunStore.open(folder, "", {"e": ["memlens:a"]}, INFO) as store:
        store.append(given)
    loaded = load_run(store.path).rows["memlens:a"]
    assert loaded == given
    assert [type(value) for value in loaded.values()] == [type(value) for value in given.values()]
