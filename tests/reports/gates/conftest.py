"""Rows of a nightly run: one a question, cheap enough for thousands of nights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchsuite.outcome import Outcome
from benchsuite_reports.gates.baseline import Baseline
from benchsuite_reports.gates.evaluate import Against, GateReport, evaluate
from benchsuite_reports.gates.grammar import parse_gate

Rows = list[dict[str, object]]
Score = float | str | None
TEMPLATE = Outcome(
    cell="",
    suite="memlens",
    corpus="ab" * 32,
    question="",
    type="extraction",
    answerable=True,
    arm={"retrieval": "text", "k": 10, "delivery": "pixels", "model": "qwen", "judge": "none", "repeat": 0},
    status="scored",
    word="wrong",
    refused=False,
    metric="subem",
    score=0.0,
    scorer="memlens-strict/2",
    protocol="memlens/1",
    renderer="memory/2",
    model_served="qwen-served",
    usage_prompt=1000,
    usage_completion=20,
    run={"id": "0002_nogit_nightly", "cached": False, "latency_s": 1.0},
).to_row()


def make_cell(question: str, score: Score, **changes: Any) -> dict[str, object]:
    """A row: ``score`` is a number, None for unparsed or "error"; ``retrieval``, ``delivery``, ``model``, ``judge``
    and ``repeat`` are axes, every other keyword a field with "__" for a dot."""
    row = dict(TEMPLATE)
    axes = {axis: changes.pop(axis, row[f"arm.{axis}"]) for axis in ("retrieval", "delivery", "model", "judge")}
    repeat = changes.pop("repeat", 0)
    row.update({f"arm.{axis}": value for axis, value in axes.items()})
    row["arm.repeat"] = repeat
    suite = changes.get("suite", "memlens")
    again = f"-r{repeat}" if repeat else ""
    row["cell"] = f"{suite}:{axes['retrieval']}-{axes['delivery']}-{axes['model']}{again}-{question}"
    row["question"] = question
    if score == "error":
        row.update(status="error", word="error", score=None, refused=None, model_served="", **{"error.kind": "timeout"})
    elif score is None:
        row.update(status="unparsed", word="unparsed", score=None)
    else:
        row.update(score=float(score), word="right" if score else "wrong")
        row.update({"scores.subem": float(score), "scores.f1": float(score)})
    row.update({name.replace("__", "."): value for name, value in changes.items()})
    return row


@pytest.fixture
def cell() -> Callable[..., dict[str, object]]:
    return make_cell


@pytest.fixture
def night() -> Callable[..., Rows]:
    """Rows of q000, q001, ... with these scores."""

    def build(scores: Sequence[Score], **changes: Any) -> Rows:
        return [make_cell(f"q{i:03}", score, **changes) for i, score in enumerate(scores)]

    return build


@pytest.fixture
def judge() -> Callable[..., GateReport]:
    """The report on gates given as text; ``baselines`` are rows by name."""

    def build(
        gates: str | Sequence[str], rows: Rows, baselines: Rows | Mapping[str, Rows], across: Sequence[str] = ()
    ) -> GateReport:
        texts = [gates] if isinstance(gates, str) else gates
        sides = baselines if isinstance(baselines, Mapping) else {"anchor": baselines}
        against = [Against(Baseline(name, Path(f"0001_nogit_{name}")), each) for name, each in sides.items()]
        return evaluate([parse_gate(text) for text in texts], rows, against, across, resamples=40, draws=2000)

    return build
