"""A cell at a conversation state, as its pages tell it: the conversation apart, rounds, tools, depth and route."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchsuite_reports.shown import Segment, ShownArm, ShownMessage, ShownRequest
from benchsuite_reports.table import Row

OPEN = 2
"""Messages before the question that are shown open."""
LEAST = 8
"""Earlier messages from which they are folded."""
TRACE = frozenset(
    {
        *("depth", "active", "compactions", "eit_capture", "eit_probe", "eit_capture_failed"),
        *("tool", "tool_calls", "tool_faults", "pseudo_tool", "tool_limit"),
        *("recall_calls", "recall_hits", "recall_empty", "gold_text", "gold_pixels"),
    }
)
"""Scores that say how a cell went, not what it is worth."""


def earlier(messages: Sequence[ShownMessage]) -> range:
    """The places of the messages that a page folds: the conversation before the question but for its system message
    and its last exchange. Empty where these are few."""
    asked = [at for at, message in enumerate(messages) if any(each.kind == "question" for each in message.segments)]
    first = int(bool(messages) and messages[0].role == "system")
    end = (asked[-1] if asked else len(messages)) - OPEN
    return range(first, end if end - first >= LEAST else first)


def added(request: ShownRequest, before: ShownRequest) -> tuple[ShownMessage, ...]:
    """The messages that stand behind those of the request before; all of them where it does not go on from there."""
    known = len(before.messages)
    goes_on = [_sent(each) for each in request.messages[:known]] == [_sent(each) for each in before.messages]
    return request.messages[known:] if goes_on else request.messages


def _sent(message: ShownMessage) -> tuple[str, tuple[str, ...]]:
    return message.role, tuple(segment.sha256 for segment in message.segments)


def rounds(arm: ShownArm) -> Iterator[tuple[int, ShownRequest, tuple[ShownMessage, ...]]]:
    """The number of each request after the first, from 2, the request, and what was added for it."""
    sent = arm.answering
    for number, (before, request) in enumerate(pairwise(sent), 2):
        yield number, request, added(request, before)


def count_images(messages: Sequence[ShownMessage]) -> int:
    return sum(segment.picture is not None for message in messages for segment in message.segments)


def call_text(segment: Segment) -> str:
    """A tool call as it is read: ``call_1 artifact_recall {"query": "..."}``; what is no call stands as it is."""
    text = segment.text or ""
    try:
        call = json.loads(text)
        function = call["function"]
        return f"{call['id']} {function['name']} {function['arguments']}"
    except (ValueError, KeyError, TypeError):
        return text


@dataclass(frozen=True, slots=True)
class Step:
    """Something between two requests: ``what`` is a tool call, with the text that came back, or words that lead
    pictures (``images`` of them). ``text`` is None where no result stands for the call."""

    what: str
    text: str | None = None
    images: int = 0


def steps(messages: Sequence[ShownMessage]) -> list[Step]:
    """What happened in the messages that a round added, in order; results are told by the order of their calls."""
    found: list[Step] = []
    waiting: list[int] = []
    for message in messages:
        for segment in message.segments:
            if segment.kind == "call":
                waiting.append(len(found))
                found.append(Step(call_text(segment)))
        if message.role == "tool":
            text = "".join(segment.text or segment.problem for segment in message.segments)
            if waiting:
                at = waiting.pop(0)
                found[at] = Step(found[at].what, text)
            else:
                found.append(Step("a result without a call", text))
        elif message.role == "user":
            words = [each.text for each in message.segments if each.picture is None and each.text]
            found.append(Step(words[0].strip() if words else "", "", count_images([message])))
    return found


def is_at_state(row: Row) -> bool:
    """Whether the cell was asked at a conversation state."""
    return bool(row.get("arm.state", "none") != "none")


def state_facts(row: Row) -> Iterator[tuple[str, str]]:
    """What was measured of a cell at a conversation state, label and text; nothing for other cells."""
    if not is_at_state(row):
        return
    values = {name: float(value) for name in TRACE if isinstance(value := row.get(f"scores.{name}"), int | float)}
    if "depth" in values:
        compactions = values.get("compactions", 0)
        yield (
            "depth",
            f"{values['depth']:,.0f} reference tokens at capture, {values.get('active', 0):,.0f} in the context at the "
            f"probe, {_times(compactions, 'compaction')}",
        )
        tokens = [f"{values[name]:,.0f} at {label}" for name, label in _EIT.items() if name in values]
        yield "EIT", ", ".join(tokens) or "not reported"
    if "tool" not in values:
        return
    calls, faults = values.get("tool_calls", 0), values.get("tool_faults", 0)
    route = f"tool: {_times(calls, 'call')}" if values["tool"] else "context: no tool was run"
    more = [
        *([_times(faults, "faulty call")] if faults else []),
        *(["text that looks like a call and is none"] if values.get("pseudo_tool") else []),
        *(["it went on calling until the limit"] if values.get("tool_limit") else []),
    ]
    yield "route", "; ".join([route, *more])
    yield (
        "recall",
        f"{_times(values.get('recall_calls', 0), 'call')}, {values.get('recall_hits', 0):.0f} with a match, "
        f"{values.get('recall_empty', 0):.0f} without; "
        f"came back from any tool: gold text {_yes(values.get('gold_text'))}, "
        f"gold pixels {_yes(values.get('gold_pixels'))}",
    )


_EIT = {"eit_capture": "capture", "eit_probe": "the probe"}


def state_order(row: Row) -> tuple[float, float]:
    """Where a row's state stands: by compactions, then by depth; (0, 0) for a row that says neither."""
    compactions, depth = (row.get(f"scores.{name}") for name in ("compactions", "depth"))
    return (
        float(compactions) if isinstance(compactions, int | float) else 0.0,
        float(depth) if isinstance(depth, int | float) else 0.0,
    )


def _times(number: float, noun: str) -> str:
    return f"{number:.0f} {noun}{'' if number == 1 else 's'}"


def _yes(value: float | None) -> str:
    return "yes" if value else "no"
