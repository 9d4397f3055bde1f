"""A whole run on a scripted endpoint: rows, files, selection, exit status; plain and distributed."""

from __future__ import annotations

import json

import pytest

WORKERS = [0, 2]


def answer_all(body):
    """Every question right, from its own words."""
    question = body["messages"][-1]["content"]
    text = question if isinstance(question, str) else "".join(b.get("text", "") for b in question)
    return "value" + text.rsplit("What is fact ", 1)[1].split("?")[0]


@pytest.mark.parametrize("workers", WORKERS)
def test_every_cell_is_asked_once_and_stored_once(project, endpoint, workers):
    project.corpus(6)
    endpoint.script = answer_all
    result = project.run(workers=workers)
    assert result.ret == 0, result.stdout.str()
    result.assert_outcomes(passed=12)
    rows = project.rows()
    assert len(rows) == 12
    assert {row["word"] for row in rows.values()} == {"right"}
    assert set(endpoint.times_asked.values()) == {1}
    assert len(endpoint.bodies) == 12
    run = json.loads((project.runs[0] / "run.json").read_text())
    assert run["finished"]
    assert run["exit"] == 0
    result.stdout.fnmatch_lines(
        ["benchsuite: table delivermem_t1: missing arms: oracle-pixels, oracle-noimg, text-pixels, text-noimg"]
    )
    lines = [json.loads(line) for path in (project.runs[0] / "calls").iterdir() for line in path.open()]
    assert sorted(line["cell"] for line in lines) == sorted(rows)


def test_workers_and_hash_seeds_change_nothing_but_the_run_block(project, endpoint, monkeypatch):
    project.corpus(6)
    endpoint.script = answer_all
    seen = []
    for workers, seed in [(0, "1"), (4, "2"), (4, "3")]:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        assert project.run("--bench-cache", "off", workers=workers).ret == 0
        seen.append(project.rows())
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_mark_expression_selects_single_cells(project, endpoint, workers):
    project.corpus(4)
    endpoint.script = answer_all
    result = project.run("-m", "memlens and cell(delivery='noimg')", workers=workers)
    assert result.ret == 0
    rows = project.rows()
    assert len(rows) == 4
    assert {row["arm.delivery"] for row in rows.values()} == {"noimg"}
    assert all(isinstance(body["messages"][1]["content"], str) for body in endpoint.bodies)
