"""Certificates of cells at conversation states from the records of a run, and contrasts that were asked in blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.delivery.spec import parse_delivery
from benchsuite.models.wire import Message, Part, Request, skeleton
from benchsuite_reports.certified import Certificates, recorded_presets
from benchsuite_reports.comparison import BLOCKED, STATE_NOTE, Pairing
from benchsuite_reports.contrasts import build
from benchsuite_reports.table import Condition, CorpusFacts, DeclaredContrast, RunFacts

RUN = "0001_nogit_run"
DIRECT = Condition("", "none", "direct")
AXES = {"state": "S2", "condition": "Cm", "recall": "intact", "retention": "all"}


def calls_of(row: dict[str, Any], results: tuple[str, ...], said: str = "Hello") -> list[dict[str, Any]]:
    """The records of a cell that asked once more after each result."""
    messages = [
        Message("system", (Part("instruction", "Be short."),)),
        Message("user", (Part("text", said, item="t1"),)),
    ]
    messages.append(Message("user", (Part("question", "Which?"), Part("tail", "In a word."))))
    found = []
    for number, result in enumerate((*results, "")):
        request = Request("qwen", tuple(messages), {})
        found.append({"cell": row["cell"], "role": "answer", **skeleton(row["requests"][number], request)})
        messages += [Message("assistant", (Part("text", "call"),)), Message("tool", (Part("text", result),))]
    return found


@pytest.fixture
def certified(row, tmp_path):
    """The certificate of one question under two values of recall."""

    def make(mine: tuple[str, ...], theirs: tuple[str, ...], drop: int | None = None, **changes: Any):
        sides, lines = [], []
        for recall, results in (("intact", mine), ("norecall", theirs)):
            made = row("q0", DIRECT, 1, axes={**AXES, "recall": recall}, n_calls=1 + len(results))
            keys = [f"{'/'.join(results[:n])} {n}" for n in range(len(results) + 1)]
            made |= {"cell": recall, "requests": keys, "run": {"id": RUN}}
            sides.append(made)
            lines += calls_of(made, results, **(changes if recall == "norecall" else {}))
        folder: Path = tmp_path / RUN / "calls"
        folder.mkdir(parents=True)
        kept = [each for n, each in enumerate(lines) if n != drop]
        (folder / "a.jsonl").write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in kept))
        presets = recorded_presets({})
        certificates = Certificates({RUN: tmp_path / RUN}, lambda text: parse_delivery(text, presets))
        return certificates(*sides)

    return make


def test_the_first_request_is_certified_and_recall_by_what_came_back(certified):
    found = certified(("green", "red"), ("green", "No match."))
    assert isinstance(found, Certificate)
    assert (found.variables, found.matched, found.difference, found.altered) == (("recall",), True, "", True)


def test_equal_results_are_no_other_recall(certified):
    found = certified(("green",), ("green",))
    assert found.unaltered == ("recall: no tool result differs",)


def test_another_first_request_is_named(certified):
    assert certified(("a",), ("b",), said="Bye").difference == "message 1 (of 1): its text differs"


@pytest.mark.parametrize("drop", [0, 1, 2])
def test_a_call_without_a_record_leaves_no_certificate(certified, drop):
    """Neither does a later request stand in for the first, nor an earlier one for the last."""
    assert certified(("a", "b"), ("c",), drop=drop) == f"no record of the request in calls/ of run {RUN}"


def test_contrasts_along_the_context_say_that_they_were_asked_in_blocks(rows_of):
    rows = [
        each
        for state in ("S1-d0", "S2")
        for condition in ("C0", "Cm")
        for each in rows_of({DIRECT: [0, 1]}, axes={**AXES, "state": state, "condition": condition})
    ]
    for number, each in enumerate(rows):
        each["cell"] = f"memlens:{number}"
    texts = ("state: S1-d0 -> S2 @ condition=C0", "condition: C0 -> Cm @ state=S2")
    contrasts = [DeclaredContrast(text, "memlens", "one", False) for text in texts]
    table = build(rows, RunFacts({"ab" * 32: CorpusFacts("mine", bundled=False)}, contrasts=contrasts))
    assert [note for note in table.blocks[0].notes if "blocked" in note] == [
        f"state S1-d0 -> S2 @ condition C0: {BLOCKED}."
    ]
    assert STATE_NOTE in table.notes


def test_what_is_asked_in_blocks_and_what_at_a_state():
    def pairing(changed: dict[str, tuple[str, str]], **shared: str) -> Pairing:
        return Pairing(changed, shared, (), ())

    for axis in ("state", "summary", "summariser", "retention"):
        assert pairing({axis: ("a", "b"), "delivery": ("x", "y")}).blocked
    assert not pairing({"condition": ("C0", "Cm")}, state="S2").blocked
    assert pairing({"condition": ("C0", "Cm")}, state="S2").at_state
    assert not pairing({"delivery": ("x", "y")}, state="none").at_state
    assert not pairing({"delivery": ("x", "y")}).at_state
    assert not pairing({"state": ("none", "S2")}).at_state
