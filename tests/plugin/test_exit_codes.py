"""How a run ends: exit status, what `-x` leaves to be continued, and `--bench-strict`."""

from __future__ import annotations

import json

import pytest
from aiohttp import web

WORKERS = [0, 2]

CRASHING = """
import os
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg"])
def test_delivery(outcome, cell_id):
    assert outcome.answered
    if "q_00000000" in cell_id:
        os._exit(1)
"""


def answer_or_fail(body):
    """Question 2 is refused by the endpoint, question 1 is answered right, the others wrong."""
    failed = "What is fact 2?" in json.dumps(body["messages"][-1]["content"])
    return web.Response(status=400, text="no") if failed else "value1"


def finished(project) -> bool:
    return bool(json.loads((project.runs[0] / "run.json").read_text()).get("finished"))


@pytest.mark.parametrize("workers", WORKERS)
def test_wrong_answers_are_results_and_fail_in_strict_runs_alone(project, endpoint, workers):
    project.corpus(4)
    result = project.run(workers=workers)
    assert result.ret == 0
    result.assert_outcomes(passed=8)
    strict = project.run("--bench-strict", workers=workers)
    assert strict.ret == 1
    strict.assert_outcomes(passed=2, failed=6)
    strict.stdout.fnmatch_lines(["*wrong: answered 'value1', gold 'value0'*"])
    assert project.rows(0) == project.rows(1)
    assert len(project.rows()) == 8
    assert not [line for line in strict.stdout.lines if "not scored" in line or "not run" in line]
    assert len(endpoint.bodies) == 8


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_a_run_that_stops_at_a_failure_is_continued_by_the_same_command(project, endpoint, option, workers):
    endpoint.script = answer_or_fail
    project.corpus(6)
    result = project.run(option, workers=workers)
    assert result.ret == (2 if workers else 1)  # as pytest and pytest-xdist have it, not 11
    assert "not run" not in result.stdout.str()
    first = project.rows()
    assert "error" in {row["status"] for row in first.values()}
    assert not finished(project)
    endpoint.script, sent = lambda body: "value1", len(endpoint.bodies)
    assert project.run(option, workers=workers).ret == 0
    assert len(project.runs) == 1
    assert finished(project)
    rows = project.rows()
    assert len(rows) == 12
    assert {row["status"] for row in rows.values()} == {"scored"}
    assert len(endpoint.bodies) - sent <= 12 - sum(row["status"] == "scored" for row in first.values())


def test_a_case_that_cannot_be_read_interrupts_before_anything_is_sent(project, endpoint):
    project.corpus(2)
    (project.pytester.path / "cases" / "test_broken.py").write_text("def test_x(:\n")
    assert project.run().ret == 2
    assert endpoint.bodies == []
    assert project.runs == []


@pytest.mark.parametrize("workers", WORKERS)
def test_nothing_selected_is_5_and_an_empty_shard_is_0(project, endpoint, workers):
    project.corpus(2)
    assert project.run("-k", "no_such_case", workers=workers).ret == 5
    assert project.run("--bench-shard", "1/1000003", workers=workers).ret == 0
    assert endpoint.bodies == []
    assert project.runs == []


def test_cells_that_no_worker_is_left_for_are_named(project, endpoint):
    (project.pytester.path / "cases" / "test_delivery.py").write_text(CRASHING)
    project.corpus(6)
    result = project.run("--max-worker-restart", "0", workers=1)
    assert result.ret == 11, result.stdout.str()
    missing = [line for line in result.stdout.lines if line.endswith("cells were not run:")]
    assert len(missing) == 1
    count = int(missing[0].split()[1])
    assert count == 6 - len(project.rows()) > 0
    assert json.loads((project.runs[0] / "run.json").read_text())["exit"] == 11
