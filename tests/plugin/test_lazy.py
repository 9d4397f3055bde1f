"""What a run leaves alone until it needs it: heavy imports, images, servers."""

from __future__ import annotations

import json

import pytest

HEAVY = {"torch", "transformers", "onnxruntime", "rapidocr"}

CONFTEST = """
import json
import sys

import PIL.Image

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]
opened = []
open_image = PIL.Image.open

def counting(*args, **kwargs):
    opened.append(1)
    return open_image(*args, **kwargs)

PIL.Image.open = counting

def pytest_bench_launch_model(config, spec):
    with (config.rootpath / "launched.txt").open("a") as file:
        file.write(f"{spec.family}\\n")

def pytest_unconfigure(config):
    worker = getattr(config, "workerinput", {}).get("workerid", "controller")
    seen = {"modules": sorted(sys.modules), "opened": len(opened)}
    (config.rootpath / f"seen-{worker}.json").write_text(json.dumps(seen))
"""


@pytest.fixture
def watched(project):
    project.pytester.makeconftest(CONFTEST)
    project.axes = ["--bench-axis", "retrieval=text", "--bench-axis", "delivery=pixels+s64"]
    return project


def seen(project):
    """What each process of the last session wrote, by its name; taken away for the next."""
    found = {}
    for path in project.pytester.path.glob("seen-*.json"):
        found[path.stem.removeprefix("seen-")] = json.loads(path.read_text())
        path.unlink()
    return found


def heavy(facts):
    return HEAVY & {name.partition(".")[0] for name in facts["modules"]}


def run(project, *args, workers):
    given = ["--bench-corpus", "memlens=memlens-mini", "--bench-model", "embedded", "--bench-limit", "2"]
    return project.run(*given, *project.axes, *args, workers=workers)


def test_collecting_imports_nothing_heavy(watched):
    result = run(watched, "--collect-only", workers=0)
    assert result.ret == 0
    (facts,) = seen(watched).values()
    assert heavy(facts) == set()
    assert "benchsuite_pytest.session" in facts["modules"]


def test_a_cached_run_imports_decodes_and_starts_nothing(watched):
    """The real reader once; then the same cells from its answers, in workers and in one process."""
    assert run(watched, workers=2).ret == 0
    asked = watched.rows()
    launched = watched.pytester.path / "launched.txt"
    assert len(launched.read_text().splitlines()) == 1
    first = seen(watched)
    assert set(first) == {"controller", "gw0", "gw1"}
    assert sum(facts["opened"] for facts in first.values()) > 0, "no image was resized: the test shows nothing"
    assert {name: heavy(facts) for name, facts in first.items()} == {name: set() for name in first}
    launched.unlink()
    for workers in (2, 0):
        result = run(watched, workers=workers)
        assert result.ret == 0, result.stdout.str()
        again = seen(watched)
        assert len(again) == workers + 1
        assert {name: heavy(facts) for name, facts in again.items()} == {name: set() for name in again}
        assert {name: facts["opened"] for name, facts in again.items()} == dict.fromkeys(again, 0)
        assert not launched.exists()
        assert "starting" not in result.stdout.str()
        assert watched.rows() == asked
    lines = (watched.runs[-1] / "outcomes.jsonl").read_text().splitlines()
    assert all(json.loads(line)["run"]["cached"] for line in lines)
