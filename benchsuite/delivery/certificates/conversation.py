"""The conversation before a probe: what declared variables let differ in it, and whether they did (MIRAGE section 3).

Both legs look at the first request of a cell, what was put to the model before it acted: later ones follow from its
answer. Messages count from 1, the system message not among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchsuite.delivery.certificates.matched import alike, pressure, slot_difference, uneven
from benchsuite.delivery.certificates.sent import STATE_AXES, Message, Part, Rules, Sent, SentRequest, counted
from benchsuite.delivery.spec import Delivery

SUMMARY_AXES = ("summary", "summariser")
SHOWN = ("modality", "side", "codec", "label_images")
"""What of a delivery holds for a conversation's own images as well."""
_SUMMARY = re.compile(r"c[1-9]\d*")
_ALL = "all"  # the retention that takes no image out


def whole(request: SentRequest) -> SentRequest:
    """The request with each message of its conversation as an item of its own."""
    talk = {f"message {place}": parts for place, (_, parts) in enumerate(request.conversation, start=1)}
    return replace(
        request,
        places=[*talk, *request.places],
        items={**talk, **request.items},
        images=[*request.spoken_images(), *request.images],
        conversation=(),
    )


def conversation_difference(a: Sent, b: Sent, first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """The first difference in conversation and probe that no declared variable makes; empty where there is none.

    Of two states before any compaction, or after as many, one conversation begins with the other.
    """
    mine, theirs = first.conversation, second.conversation
    problem = "" if mine == theirs or rules.declares("length") else _talks(mine, theirs, rules)
    problem = problem or _probes(a, b, first, second, rules)
    runs = [each.row.get("run", {}).get("id") for each in (a, b)]
    if not problem and rules.declared == {"recall"} and runs[0] == runs[1] and a.call["key"] != b.call["key"]:
        return "the requests have two keys"
    return problem


def untold(name: str, a: Sent, b: Sent, first: SentRequest, second: SentRequest) -> str:
    """Why a declared axis of conversation states did not change; empty where it did."""
    mine, theirs = first.conversation, second.conversation
    if name == "condition":
        return _same_condition(a, b, first, second)
    if name == "recall":
        pairs = zip(_results(a), _results(b), strict=False)
        return "" if any(one != other for one, other in pairs) else "no tool result differs"
    if name == "retention":
        images = [len(list(each.spoken_images())) for each in (first, second)]
        if images[0] != images[1]:
            return ""
        return f"both show {counted(images[0], 'image')}" if images[0] else "no image is shown"
    if name in SUMMARY_AXES:
        if not (summary(mine) and summary(theirs)):
            return "no summary stands in the conversation"
        return "both summaries are equal" if _words(mine[0]) == _words(theirs[0]) else ""
    if len(mine) != len(theirs) or any(_words(one) != _words(other) for one, other in zip(mine, theirs, strict=True)):
        return ""
    after = f", after compaction {summary(mine)[1:]}" if summary(mine) else ""
    return f"both have the same conversation of {counted(len(mine), 'message')}{after}"


def summary(conversation: Sequence[Message]) -> str:
    """The name of the summary that a conversation begins with, ``c1`` for that of the first compaction; else empty."""
    names = ["".join(dict.fromkeys(part["item"] for part in parts)) for _, parts in conversation[:2]]
    return names[0] if len(names) == 2 and _SUMMARY.fullmatch(names[0]) and names[1] == f"{names[0]}a" else ""


def _talks(mine: Sequence[Message], theirs: Sequence[Message], rules: Rules) -> str:
    compacted, as_other = summary(mine), summary(mine) == summary(theirs)
    rewritten = rules.declares(*SUMMARY_AXES)
    if rules.declares("state"):
        if not as_other or (compacted and rewritten):  # two summaries, and what was kept beside them
            return ""
    elif len(mine) != len(theirs):
        return f"the conversation has {counted(len(mine), 'message')} against {len(theirs)}"
    kept = any(row.get("arm.retention", _ALL) != _ALL for row in rules.rows)
    # which of the turns are the newest goes by the state; withheld images have no stub
    stubbed = kept and (rules.declares("retention", "state") or (rules.declares("modality") and not rules.both_show))
    held = _held(rules)
    for place, (one, other) in enumerate(zip(mine, theirs, strict=False), start=1):
        if one is other or one == other:
            continue
        masked = place == 1 and bool(compacted) and as_other and rewritten
        if problem := _message(one, other, held, masked, stubbed):
            return f"message {place} (of {len(mine)}): {problem}"
    return _gone(mine, theirs, rules) if stubbed and rules.both_show else ""


def _held(rules: Rules) -> Rules:
    """What is left of the rules for a conversation, which has no items in places."""
    return replace(
        rules,
        declared=rules.declared & {*SHOWN, *STATE_AXES},
        a=_plain(rules.a),
        b=_plain(rules.b),
        moved=False,
        reseeded=False,
        rebound=False,
        named="equal",
        stamped="equal",
    )


def _plain(delivery: Delivery) -> Delivery:
    return replace(delivery, identity="none", time="none", binding="intact")


def _message(one: Message, other: Message, held: Rules, masked: bool, stubbed: bool) -> str:
    """What differs between two messages. ``masked``: a summary, whose text may; ``stubbed``: an image may be out of
    view, or its stub."""
    (role, parts), (other_role, others) = one, other
    if role != other_role:
        return f"of {role} against {other_role}"
    if masked:
        kinds, other_kinds = ([(part["kind"], "") for part in each] for each in (parts, others))
        return uneven(kinds, other_kinds, {}) if kinds != other_kinds else ""
    if stubbed:
        words, other_words = _words(one), _words(other)
        if words != other_words:
            return uneven(words, other_words, {})
        if held.both_show:
            return _kept(parts, others, held)
        return _odd_notes(parts, held.a) or _odd_notes(others, held.b)
    mine = list(alike(parts, (0, 0), held, held.a, held.b))
    theirs = list(alike(others, (0, 0), held, held.b, held.a))
    if mine != theirs:
        return uneven(mine, theirs, {})
    return _pictures(_images(parts), _images(others), held) if held.both_show else ""


def _kept(parts: Sequence[Part], others: Sequence[Part], held: Rules) -> str:
    """The images of one message under two retentions: all of them, or a stub."""
    images, other_images = _images(parts), _images(others)
    stubs, other_stubs = (_stubs(each) for each in (parts, others))
    if len(images) == len(other_images):
        return _pictures(images, other_images, held) or ("" if stubs == other_stubs else "its note differs")
    if images and other_images:
        return f"{counted(len(images), 'image')} against {len(other_images)}"
    more, fewer = (other_stubs, stubs) if other_images else (stubs, other_stubs)
    return "" if len(fewer) == 1 and not more else f"{counted(len(fewer), 'stub')} in the place of its images"


def _odd_notes(parts: Sequence[Part], delivery: Delivery) -> str:
    """What is wrong with the notes of a message where the other request shows no image, or this one."""
    stubs, images = len(_stubs(parts)), len(_images(parts))
    if delivery.modality == "caption" or not stubs:
        return ""
    if not delivery.shows_images:
        return f"{counted(stubs, 'note')} where images are withheld"
    return f"{counted(stubs, 'stub')} beside {counted(images, 'image')}" if stubs > 1 or images else ""


def _pictures(images: Sequence[Part], others: Sequence[Part], held: Rules) -> str:
    """What differs between the images of two messages that have as many."""
    for number, (one, other) in enumerate(zip(images, others, strict=True), start=1):
        if problem := slot_difference(one, other, held, (0, 0)):
            return f"its image {number}: {problem}"
    return ""


def _gone(mine: Sequence[Message], theirs: Sequence[Message], rules: Rules) -> str:
    """Stubs of as many images are one text, and of two retentions at one state one takes out what the other does."""
    stubs: dict[int, str] = {}
    losers: set[bool] = set()
    for place, ((_, parts), (_, others)) in enumerate(zip(mine, theirs, strict=False), start=1):
        number = len(_images(parts)) - len(_images(others))
        if number:
            losers.add(number > 0)
            [stub] = _stubs(others if number > 0 else parts)
            if stubs.setdefault(abs(number), stub) != stub:
                return f"message {place} (of {len(mine)}): its stub is another text"
            if len(losers) > 1 and not rules.declares("state"):
                return f"message {place} (of {len(mine)}): its images are out of view in the request with more images"
    return ""


def _probes(a: Sent, b: Sent, first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """Where no declared axis touches the probe, its parts stand in one order as well."""
    free = {*STATE_AXES, "model", "judge", "repeat"}
    if not (first.places or second.places):
        free |= {"state", "length"}
    if rules.undeclared or not rules.declared <= free:
        return ""
    probes = [list(each.call["messages"][-1][1]) for each in (a, b)]
    if rules.declares("condition"):
        for parts in probes:
            line = next((part for part in parts if part["kind"] == "instruction"), None)
            if line is not None:
                parts.remove(line)
    return "" if probes[0] == probes[1] else "the parts of the probe stand in another order"


def _same_condition(a: Sent, b: Sent, first: SentRequest, second: SentRequest) -> str:
    lines = [len(pressure(each.frame)) for each in (first, second)]
    if bool(lines[0]) == bool(lines[1]):
        return f"the line of a condition stands in {'both' if lines[0] else 'neither'}"
    plain = [each.row["arm.condition"] == "C0" for each in (a, b)]
    return "the line of a condition stands under C0" if plain[not lines[0]] else ""


def _results(sent: Sent) -> Iterator[Message]:
    """What tools gave, in order: their texts and their pictures."""
    last: Mapping[str, Any] = sent.call if sent.last is None else sent.last
    return (message for message in last["messages"][len(sent.call["messages"]) :] if message[0] != "assistant")


def _words(message: Message) -> list[tuple[str, str]]:
    return [(part["kind"], part["sha256"]) for part in message[1] if part["kind"] not in ("image", "note")]


def _images(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part["kind"] == "image"]


def _stubs(parts: Sequence[Part]) -> list[str]:
    """The notes that label no image."""
    return [
        part["sha256"]
        for part, after in zip(parts, [*parts[1:], None], strict=False)
        if part["kind"] == "note" and (after is None or after["kind"] != "image")
    ]
