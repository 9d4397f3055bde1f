"""Outcome rows to build tables from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from benchsuite.outcome import Outcome
from benchsuite_reports.table import Condition, CorpusFacts, RunFacts

DIGEST = "ab" * 32
Rows = list[dict[str, object]]


def make_row(question: str, condition: Condition, score: float | str | None, **changes: Any) -> dict[str, object]:
    """A row: ``score`` is a number, None for unparsed or "error". Keyword arguments replace fields; ``length``,
    ``model``, ``judge`` and ``axes`` are axes."""
    length, model = changes.pop("length", "32k"), changes.pop("model", "qwen")
    axes = {
        "length": length,
        "state": "none",
        "index": condition.index or "region",
        "method": "none",
        "retrieval": condition.retrieval,
        "k": 10,
        "delivery": condition.delivery,
        "model": model,
        "judge": changes.pop("judge", "none"),
        "repeat": 0,
        **changes.pop("axes", {}),
    }
    status, word = {None: ("unparsed", "unparsed"), "error": ("error", "error")}.get(
        score, ("scored", "right" if score else "wrong")
    )
    answerable = changes.get("answerable", True)
    values = {
        "cell": f"memlens:{length}-{axes['index']}-{condition.retrieval}-{condition.delivery}-{model}-{question}",
        "suite": "memlens",
        "corpus": DIGEST,
        "question": question,
        "type": "information_extraction" if answerable else "answer_refusal",
        "answerable": answerable,
        "arm": axes,
        "status": status,
        "word": word,
        "refused": False,
        "metric": "subem" if answerable else "refusal",
        "score": score if status == "scored" else None,
        "scorer": "memlens-strict/2",
        "protocol": "memlens/1",
        "renderer": "session/1" if condition.delivery == "direct" else "memory/2",
        "n_items": 10,
        "image_tokens": 100,
        "model_served": f"{model}-served",
    }
    if status == "error":
        values.update(error_kind="timeout", error_message="late", model_served="", refused=None)
    return Outcome(**{**values, **changes}).to_row()


@pytest.fixture
def row() -> Callable[..., dict[str, object]]:
    return make_row


@pytest.fixture
def rows_of() -> Callable[..., Rows]:
    """Rows of questions q0, q1, ...: ``scores`` gives one score a question for each condition."""

    def build(scores: Mapping[Condition, Sequence[float | str | None]], **changes: Any) -> Rows:
        return [
            make_row(f"q{i}", condition, score, **changes)
            for condition, column in scores.items()
            for i, score in enumerate(column)
        ]

    return build


@pytest.fixture
def mini() -> RunFacts:
    return RunFacts({DIGEST: CorpusFacts("memlens-mini", bundled=True)}, frozenset({"embedded"}), "0007_nogit_run")


@pytest.fixture
def users() -> RunFacts:
    return RunFacts({DIGEST: CorpusFacts("dataset_32k.json", bundled=False, files={"dataset_32k.json": "00" * 32})})
