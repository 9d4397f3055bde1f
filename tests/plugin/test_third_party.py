"""What others add without touching the suite: components, axes, scores, an analysis; plain and distributed."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image as PillowImage

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "bm25"
WORKERS = pytest.mark.parametrize("workers", [0, 2])

WATCHER = """
import my_bm25

class Watched(my_bm25.BM25):
    def rank(self, query, items, k):
        assert type(query).__name__ == "Query"
        seen = {name for name in dir(query) if not name.startswith("_")}
        assert seen == {"text", "date", "images", "options"}, seen
        for item in items:
            facts = {name for name in dir(item) if not name.startswith("_")}
            assert facts == {"id", "turn_ids", "role", "text", "images", "date", "session"}, facts
        return super().rank(query, items, k)

def pytest_bench_register(registry):
    registry.retriever("watched", Watched)
"""


def image_sizes(body):
    """Width and height of every image in a request body."""
    content = body["messages"][-1]["content"]
    urls = [block["image_url"]["url"] for block in content if block["type"] == "image_url"]
    return [PillowImage.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size for url in urls]


@WORKERS
def test_a_retriever_from_outside(project, endpoint, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE))
    (project.pytester.path / "watcher.py").write_text(WATCHER)
    project.corpus(4)
    axis = "retrieval=bm25,watched,recency"
    result = project.run(
        "-p", "my_bm25", "-p", "watcher", "-k", "memlens", "--bench-axis", axis, "--bench-axis", "k=2", workers=workers
    )
    assert result.ret == 0, result.stdout.str()
    rows = project.rows()
    by = {name: [row for row in rows.values() if row["arm.retrieval"] == name] for name in ("bm25", "watched")}
    assert {name: len(of) for name, of in by.items()} == {"bm25": 8, "watched": 8}
    assert len(rows) == 24
    assert not any(row["sees_gold"] for row in rows.values())
    assert all("-bm25-k2-" in row["cell"] for row in by["bm25"])
    # of the question's words the number alone stands in messages, the first of each session
    assert {tuple(sorted(row["items"])) for row in by["bm25"]} == {("s1t1", "s2t1")}
    assert [row["items"] for row in by["watched"]] == [row["items"] for row in by["bm25"]]
    run = json.loads((project.runs[0] / "run.json").read_text())
    assert run["components"]["bm25"] == {"k1": 1.2, "b": 0.75}


def test_the_example_runs_on_the_bundled_cases_from_any_folder(pytester, endpoint, monkeypatch):
    """The command of examples/README.md; `oracle` takes its padding from the real text encoder."""
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE))
    result = pytester.runpytest_subprocess(
        str(ROOT / "cases"),
        "-p",
        "my_bm25",
        "-k",
        "delivery",
        "--bench-axis",
        "retrieval=bm25,oracle",
        "--bench-limit",
        "2",
        "--bench-model",
        endpoint.model,
        "--bench-dir",
        str(pytester.path / "bench"),
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
    )
    assert result.ret == 0, result.stdout.str()
    (run,) = (pytester.path / "bench" / "runs").glob("0*")
    rows = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    assert sorted(row["arm.retrieval"] for row in rows) == ["bm25"] * 4 + ["oracle"] * 4
    assert {row["arm.retrieval"] for row in rows if row["sees_gold"]} == {"oracle"}
    assert all(row["n_gold_delivered"] == min(10, row["n_gold"]) for row in rows if row["sees_gold"])
    assert not (ROOT / "examples" / ".bench").exists()


REGISTRATIONS = """
from benchsuite.delivery.spec import Delivery

class Cheat:
    version = "1"
    def rank(self, query, items, k, evidence):
        return [(item.id, 1.0) for item in items if set(item.turn_ids) & set(evidence.turn_ids)]

def pytest_bench_register(registry):
    registry.delivery("small", Delivery(side=32))
    registry.oracle("cheat", Cheat)
    registry.axis("persona", ["plain", "loud"], "plain")
"""


@WORKERS
def test_a_preset_an_oracle_and_an_axis(project, endpoint, workers):
    (project.pytester.path / "third.py").write_text(REGISTRATIONS)
    project.corpus(3)
    axes = ["retrieval=cheat", "delivery=small+conv,pixels", "persona=plain,loud"]
    given = [arg for axis in axes for arg in ("--bench-axis", axis)]
    result = project.run("-p", "third", *given, workers=workers)
    assert result.ret == 0, result.stdout.str()
    rows = project.rows().values()
    assert len(rows) == 12
    assert all(row["sees_gold"] and row["n_gold_delivered"] == row["n_items"] == 1 for row in rows)
    assert {(row["arm.persona"], "-loud-" in row["cell"]) for row in rows} == {("plain", False), ("loud", True)}
    sizes = {size for body in endpoint.bodies for size in image_sizes(body)}
    assert sizes == {(32, 24), (64, 48)}
    # an axis that changes nothing that is sent: two cells, one request
    assert set(endpoint.times_asked.values()) == {1}
    assert len(endpoint.bodies) == 6


@WORKERS
@pytest.mark.parametrize(
    ("register", "complaint"),
    [
        ('registry.retriever("recency", object)', "retrieval 'recency' is registered already"),
        ('registry.oracle("full", object)', "retrieval 'full' is registered already"),
        ('registry.delivery("noimg", object())', "delivery 'noimg' is registered already"),
        ('registry.axis("k", ["1"], "1")', "axis 'k' is registered already"),
        ('registry.corpus("memlens", object, "")', "corpus 'memlens' is registered already"),
    ],
)
def test_a_name_that_is_taken_is_refused(project, endpoint, workers, register, complaint):
    (project.pytester.path / "third.py").write_text(f"def pytest_bench_register(registry):\n    {register}\n")
    project.corpus(1)
    result = project.run("-p", "third", workers=workers)
    assert result.ret == 4
    assert [line for line in result.errlines if line.startswith("benchsuite:")] == [f"benchsuite: {complaint}"]
    assert endpoint.bodies == []


@pytest.mark.parametrize("value", ["persona=shrill", "persona=plain,shrill"])
def test_a_registered_axis_has_the_registered_values_only(project, value):
    (project.pytester.path / "third.py").write_text(REGISTRATIONS)
    project.corpus(1)
    result = project.run("-p", "third", "--bench-axis", value)
    assert result.ret == 4
    assert "benchsuite: persona has no value 'shrill'; known: plain, loud" in result.errlines


SCORES = """
import threading
from benchsuite.scoring.answers import Score

def pytest_bench_score_cell(cell, answer):
    assert threading.current_thread() is threading.main_thread()
    if cell.arm["delivery"] == "noimg":
        return Score("right", 0.5, False, "length", "mine/7", answer)
"""


@WORKERS
def test_a_score_of_ones_own_replaces_the_suites(project, endpoint, workers):
    (project.pytester.path / "third.py").write_text(SCORES)
    project.corpus(3)
    endpoint.script = lambda body: "nothing of the kind"
    result = project.run("-p", "third", workers=workers)
    assert result.ret == 0, result.stdout.str()
    rows = project.rows().values()
    own = [row for row in rows if row["arm.delivery"] == "noimg"]
    assert len(own) == 3
    assert {(row["word"], row["score"], row["scorer"], row["scores.length"]) for row in own} == {
        ("right", 0.5, "mine/7", 0.5)
    }
    others = [row for row in rows if row["arm.delivery"] == "pixels"]
    assert {(row["word"], row["score"]) for row in others} == {("wrong", 0.0)}
    assert {row["scorer"] for row in others} == {"memlens-strict/2"}


FINISH = """
import os

def pytest_bench_finish(config, outcomes, run):
    with (config.rootpath / "finished.txt").open("a") as file:
        kind = "worker" if hasattr(config, "workerinput") else "controller"
        cells = " ".join(sorted(row["cell"] for row in outcomes))
        file.write(f"{kind} {run.name} {cells}\\n")
"""


@WORKERS
def test_the_end_is_told_once_with_every_row(project, endpoint, workers):
    (project.pytester.path / "third.py").write_text(FINISH)
    project.corpus(4)
    assert project.run("-p", "third", workers=workers).ret == 0
    (line,) = (project.pytester.path / "finished.txt").read_text().splitlines()
    kind, run, *cells = line.split()
    assert (kind, run) == ("controller", project.runs[0].name)
    assert cells == sorted(project.rows())
    assert len(cells) == 8
