"""Certificates at conversation states, over requests as a probe sends them: what they pass, and each planted fault."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from benchsuite.corpus.model import Query
from benchsuite.delivery.arrange import all_slots, arrange
from benchsuite.delivery.certificates.certify import Sent, certify, pixel_checks, variables
from benchsuite.delivery.certificates.evidence import PixelEvidence
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.protocol import bundled_protocol
from benchsuite.delivery.render import render
from benchsuite.errors import BenchError
from benchsuite.models.wire import Message, Part, Request, ToolCall, request_key, sha256_text, skeleton
from benchsuite.runtime.conversation import SUMMARY, Spoken, context_slots, render_context
from benchsuite.runtime.tools import TOOLS

SEED = "0123456789abcdef"
ARM = {
    **{"length": "tenth", "state": "S1-d0", "condition": "C0", "recall": "intact", "summary": "verbatim"},
    **{"summariser": "embedded", "retention": "all", "method": "none", "retrieval": "none", "k": 10},
    **{"judge": "none", "repeat": 0},
}
PROTOCOL = bundled_protocol("mirage")


class Talker:
    """Sends probes as an episode at a state does and keeps the records of the first and of the last call."""

    def __init__(self, store, delivery, folder):
        self.store, self.deliveries = store, delivery
        self.desk = ImageDesk(folder / "image")
        self.bytes = {}

    def send(self, spoken, text="direct", items=(), results=(), **axes):
        arm = {**ARM, "model": "m", "delivery": text, **axes}
        chosen = self.deliveries(text)
        placed = context_slots(spoken, chosen, arm["retention"])
        context = render_context(
            spoken, placed, chosen, arm["retention"], PROTOCOL, "Ann.", self._wires(placed, chosen)
        )
        pressed = [Part("instruction", PROTOCOL.template("pressure"))] if arm["condition"] == "Cm" else []
        question = Part("question", PROTOCOL.question.format(question="Which gate?"))
        tail = Part("tail", PROTOCOL.template("reply_format"))
        probe = Message("user", (*self._memory(items, chosen), *pressed, question, tail))
        messages = (*context.messages, probe)
        asked = messages
        for number, result in enumerate(results):
            call = ToolCall(f"call_{number}", "artifact_recall", '{"query": "gate"}')
            asked += (Message("assistant", (), (call,)), Message("tool", (Part("text", result),), call_id=call.id))
        calls = [self._record(arm, each) for each in (messages, asked)]
        images = sum(part["kind"] == "image" for _, parts in calls[0]["messages"] for part in parts)
        row = {
            **{f"arm.{axis}": value for axis, value in arm.items()},
            **{"question": "q", "corpus": "corpus", "requests": [each["key"] for each in calls], "n_missing": 0},
            **{"usage.prompt": 100 + 3 * images, "n_calls": 1 + len(results), "model_served": "m", "fingerprint": ""},
            **{"scores.eit_probe": float(100 + 3 * images), "run": {"id": "run"}},
        }
        return Sent(calls[0], row, calls[1])

    def _record(self, arm, messages):
        request = Request(str(arm["model"]), messages, {"temperature": 0}, TOOLS)
        record = skeleton(request_key("f", request, int(arm["repeat"])), request)
        return json.loads(json.dumps({"cell": "c", "role": "answer", **record}))

    def _memory(self, items, delivery):
        if not items:
            return []
        shown = replace(delivery, form="items")
        placed = arrange(items, shown, SEED, items)
        user = render(placed, Query("Which gate?"), shown, PROTOCOL, self._wires(placed, shown), len(items))[-1]
        return [part for part in user.parts if part.kind != "question"]

    def _wires(self, placed, delivery):
        wires = {slot.key: self.desk.prepare(slot, delivery, self.store.read) for slot in all_slots(placed)}
        self.bytes |= {wire.sha256: self.desk.bytes_of(wire) for wire in wires.values()}
        return wires

    def certify(self, a, b, declared=None, pixels=None):
        names = variables(a.row, b.row, self.deliveries) if declared is None else declared
        return certify(a, b, names, self.deliveries, pixels)


@pytest.fixture
def talker(store, delivery, tmp_path):
    return Talker(store, delivery, tmp_path)


@pytest.fixture
def talk(store):
    """Six turns with two photographs and a call of a tool."""
    dog, cat = store.draw(48, 30, caption="a dog"), store.draw(36, 40, caption="a cat")
    called = ToolCall("a1", "memory_search", '{"query": "gate"}')
    return [
        Spoken("t1", "user", "This is the plan.", (dog,)),
        Spoken("t2", "assistant", "Thank you."),
        Spoken("t3", "user", "What do your notes say of it?"),
        Spoken("t3.0", "assistant", "", calls=(called,)),
        Spoken("t3.1", "tool", "No match.", call_id="a1"),
        Spoken("t4", "assistant", "Nothing yet."),
        Spoken("t5", "user", "And this is the yard.", (cat,)),
        Spoken("t6", "assistant", "A fine yard."),
        *(Spoken(f"f{n}", "user" if n % 2 else "assistant", f"Talk {n}") for n in range(1, 7)),
    ]


def compacted(talk, summary="The gate is green.", number=1):
    """After a compaction: a summary in the place of all but the newest four messages."""
    name = f"c{number}"
    return [
        Spoken(name, "user", PROTOCOL.template("summary").format(summary=summary), kind=SUMMARY),
        Spoken(f"{name}a", "assistant", "Understood.", kind=SUMMARY),
        *talk[-4:],
    ]


def edited(sent, change):
    """A copy whose list of messages was changed in place by ``change``."""
    call = copy.deepcopy(sent.call)
    change(call["messages"])
    return Sent(call, sent.row, sent.last)


def rewritten(message, kind, **facts):
    """One part of a message, by kind, with another digest or other ``facts``."""

    def change(messages):
        part = next(part for part in messages[message][1] if part["kind"] == kind)
        part.update(facts or {"sha256": sha256_text("something else")})

    return change


def added(message, kind, item="", at=0):
    part = {"kind": kind, "item": item, "sha256": sha256_text("stray"), "n": 5}
    return lambda messages: messages[message][1].insert(at, dict(part))


def dropped(message, kind):
    return lambda messages: messages[message].__setitem__(
        1, [part for part in messages[message][1] if part["kind"] != kind]
    )


def removed(message):
    return lambda messages: messages.pop(message)


def pair_of(talker, talk, name):
    """Two requests that differ in the declared variable alone."""
    end = compacted(talk)
    other = compacted(talk, "Green, the gate is.")
    return {
        "state": lambda: (talker.send(talk[:8]), talker.send(talk, state="S1-d50k")),
        "state compacted": lambda: (talker.send(talk), talker.send(end, state="S2")),
        "condition": lambda: (talker.send(talk), talker.send(talk, condition="Cm")),
        "recall": lambda: (
            talker.send(end, state="S2", results=["[p]\ngreen"]),
            talker.send(end, state="S2", recall="norecall", results=["No match."]),
        ),
        "summary": lambda: (talker.send(end, state="S2"), talker.send(other, state="S2", summary="free")),
        "summariser": lambda: (talker.send(end, state="S2"), talker.send(other, state="S2", summariser="m")),
        "retention": lambda: (talker.send(talk), talker.send(talk, retention="none")),
        "modality": lambda: (talker.send(talk), talker.send(talk, "direct+noimg")),
        "caption": lambda: (talker.send(talk, "pixels"), talker.send(talk, "pixels+caption")),
        "side": lambda: (talker.send(talk, "pixels"), talker.send(talk, "pixels+s24")),
        "label_images": lambda: (talker.send(talk), talker.send(talk, "direct+label_images")),
        "repeat": lambda: (talker.send(talk), talker.send(talk, repeat=1)),
        "model": lambda: (talker.send(talk), talker.send(talk, model="n")),
    }[name]()


PAIRS = {
    "state": ("state",),
    "state compacted": ("state",),
    "condition": ("condition",),
    "recall": ("recall",),
    "summary": ("summary",),
    "summariser": ("summariser",),
    "retention": ("retention",),
    "modality": ("modality",),
    "caption": ("modality",),
    "side": ("side",),
    "label_images": ("label_images",),
    "repeat": ("repeat",),
    "model": ("model",),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_declared_variable_is_matched_and_altered(talker, talk, tmp_path, name):
    first, second = pair_of(talker, talk, name)
    pixels = PixelEvidence(
        tmp_path / "pixels",
        lambda part, corpus: talker.bytes[part["sha256"]],
        lambda sha256, corpus: talker.store.data[sha256],
    )
    for pair in ((first, second), (second, first)):
        found = talker.certify(*pair, pixels=pixels)
        assert (found.variables, found.matched, found.difference) == (PAIRS[name], True, "")
        assert (found.altered, found.unaltered) == (True, ())
    assert not talker.certify(first, second, []).matched


def test_pixels_of_a_conversation_are_asked_for_too(talker, talk):
    first, second = pair_of(talker, talk, "side")
    names = variables(first.row, second.row, talker.deliveries)
    asked = list(pixel_checks(first, second, names, talker.deliveries))
    assert [parts[0]["w"] for _, parts, _ in asked] == [24, 22]


COMMON = {
    "question": (rewritten(-1, "question"), "the question differs"),
    "tail": (rewritten(-1, "tail"), "what is said of the reply's form differs"),
    "no tail": (dropped(-1, "tail"), "what is said of the reply's form: 1 part against 0"),
    "system": (rewritten(0, "instruction"), "the instruction differs"),
    "system twice": (added(0, "instruction"), "the instruction: "),
    "memory": (added(-1, "head"), "the head: 0 parts against 1"),
    "item": (added(-1, "text", item="t1"), "item 1 (of 1): in the second request only"),
    "parts": (lambda messages: messages[-1][1].reverse(), "parts stand in another order"),
    "role": (lambda messages: messages[-1].__setitem__(0, "assistant"), "message roles: system, user against"),
}


@pytest.mark.parametrize("fault", COMMON)
@pytest.mark.parametrize("name", [name for name in PAIRS if name not in ("repeat", "model")])
def test_what_stands_beside_the_conversation_is_held(talker, talk, name, fault):
    first, second = pair_of(talker, talk, name)
    change, named = COMMON[fault]
    if fault == "item" and name.startswith("state"):  # a state brings other memories
        return
    found = talker.certify(first, edited(second, change))
    assert not found.matched
    assert found.difference.startswith(named)
    tools = Sent({**second.call, "tools": "x"}, second.row, second.last)
    assert talker.certify(first, tools).difference == "the tools differ"
    params = Sent({**second.call, "params": {"temperature": 1}}, second.row, second.last)
    assert talker.certify(first, params).difference == "temperature 0 against 1"
    model = Sent({**second.call, "model": "n"}, second.row, second.last)
    assert talker.certify(first, model).difference == "model m against n"


TALK = {  # of fourteen messages
    "text": (rewritten(2, "text"), "message 2 (of 14): its text differs"),
    "result": (rewritten(5, "text"), "message 5 (of 14): its text differs"),
    "call": (rewritten(4, "call"), "message 4 (of 14): its call differs"),
    "no call": (dropped(4, "call"), "message 4 (of 14): 1 call part against 0"),
    "role": (lambda messages: messages[3].__setitem__(0, "assistant"), "message 3 (of 14): of user against assistant"),
    "note": (added(7, "note", "t5"), "message 7 (of 14): 0 note parts against 1"),
    "fewer": (removed(9), "the conversation has 14 messages against 13"),
    "picture": (rewritten(1, "image", source="0" * 64), "message 1 (of 14): its image 1: another picture"),
    "size": (rewritten(1, "image", w=9), "message 1 (of 14): its image 1: 48x30 against 9x30"),
    "bytes": (rewritten(1, "image"), "message 1 (of 14): its image 1: its bytes differ"),
    "no picture": (dropped(7, "image"), "message 7 (of 14): 1 image against 0"),
}


@pytest.mark.parametrize("fault", TALK)
@pytest.mark.parametrize("name", ["condition", "modality", "caption", "side", "label_images", "repeat"])
def test_a_conversation_that_no_variable_touches_is_held(talker, talk, name, fault):
    first, second = pair_of(talker, talk, name)
    change, named = TALK[fault]
    if name in ("modality", "caption", "side", "label_images") and fault in ("size", "bytes", "note", "picture"):
        return  # the images are another test's
    if name in ("modality", "caption") and fault == "no picture":
        return
    found = talker.certify(first, edited(second, change))
    assert (found.matched, found.difference) == (False, named)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("modality", added(7, "note", "t5"), "message 7 (of 14): 0 note parts against 1"),
        ("caption", dropped(7, "note"), "1 caption for 2 images"),
        ("side", rewritten(7, "image", source="0" * 64), "message 7 (of 14): its image 1: another picture"),
        ("side", dropped(7, "image"), "message 7 (of 14): 1 image against 0"),
        ("label_images", rewritten(7, "image"), "message 7 (of 14): its image 1: its bytes differ"),
    ],
)
def test_the_images_of_a_conversation_follow_the_delivery(talker, talk, name, change, named):
    first, second = pair_of(talker, talk, name)
    found = talker.certify(first, edited(second, change))
    assert (found.matched, found.difference) == (False, named)


def test_of_two_states_of_one_regime_one_conversation_begins_with_the_other(talker, talk):
    first, second = pair_of(talker, talk, "state")
    found = talker.certify(first, edited(second, rewritten(2, "text")))
    assert found.difference == "message 2 (of 8): its text differs"
    assert talker.certify(first, edited(second, removed(3))).difference == "message 3 (of 8): of user against assistant"
    assert talker.certify(first, edited(second, rewritten(1, "image"))).difference == (
        "message 1 (of 8): its image 1: its bytes differ"
    )
    assert talker.certify(first, edited(second, rewritten(12, "text"))).matched  # said after the first state
    early, late = compacted(talk), [*compacted(talk), Spoken("f7", "user", "More")]
    pair = talker.send(early, state="S2"), talker.send(late, state="S2-d20k")
    assert talker.certify(*pair).matched
    assert not talker.certify(pair[0], edited(pair[1], rewritten(1, "text"))).matched
    third = talker.send(compacted(late, "All of it.", 2), state="S3")
    assert (talker.certify(pair[0], third).matched, talker.certify(pair[0], third).altered) == (True, True)


def test_a_state_at_which_nothing_else_was_said_is_unaltered(talker, talk):
    found = talker.certify(talker.send(talk), talker.send(talk, state="S1-d20k"))
    assert (found.matched, found.unaltered) == (True, ("state: both have the same conversation of 14 messages",))
    end = compacted(talk)
    found = talker.certify(talker.send(end, state="S2"), talker.send(end, state="S2-d1k"))
    assert found.unaltered == ("state: both have the same conversation of 6 messages, after compaction 1",)


def test_the_line_of_a_condition_stands_in_exactly_one(talker, talk):
    first, second = pair_of(talker, talk, "condition")
    line = [part for part in second.call["messages"][-1][1] if part["kind"] == "instruction"]
    both = talker.certify(edited(first, lambda messages: messages[-1][1].insert(0, line[0])), second)
    assert (both.matched, both.unaltered) == (True, ("condition: the line of a condition stands in both",))
    neither = talker.certify(first, edited(second, dropped(-1, "instruction")))
    assert neither.unaltered == ("condition: the line of a condition stands in neither",)
    other = Sent(second.call, {**first.row}), Sent(first.call, {**second.row})
    assert talker.certify(*other).unaltered == ("condition: the line of a condition stands under C0",)
    twice = talker.certify(first, edited(second, lambda messages: messages[-1][1].insert(0, line[0])))
    assert twice.difference == "the instruction: 1 part against 2"
    assert talker.certify(first, second, []).difference == "condition is not declared: C0 against Cm"


def test_recall_is_seen_in_what_tools_returned_alone(talker, talk):
    def pair(*results, talk=talk, **axes):
        return [
            talker.send(talk, results=each, recall=recall, **axes)
            for each, recall in zip(results, ("intact", "norecall"), strict=True)
        ]

    same = talker.certify(*pair(["No match."], ["No match."]))
    assert (same.matched, same.unaltered) == (True, ("recall: no tool result differs",))
    assert not talker.certify(*pair([], [])).altered
    assert not talker.certify(*pair(["green"], [])).altered  # one of them asked nothing
    assert talker.certify(*pair(["green", "x"], ["green", "y"])).altered
    first, second = pair(["green"], ["No match."])
    for fault in (rewritten(2, "text"), rewritten(1, "image"), removed(6), rewritten(5, "text"), rewritten(4, "call")):
        assert not talker.certify(first, edited(second, fault)).matched
    key = Sent({**second.call, "key": "other"}, second.row, second.last)
    assert talker.certify(first, key).difference == "the requests have two keys"
    elsewhere = Sent(key.call, {**second.row, "run": {"id": "other"}}, second.last)  # of another endpoint
    assert talker.certify(first, elsewhere).matched


@pytest.mark.parametrize("name", ["summary", "summariser"])
def test_a_summary_is_all_that_may_differ(talker, talk, store, name):
    first, second = pair_of(talker, talk, name)
    for change, named in [
        (rewritten(2, "text"), "message 2 (of 6): its text differs"),
        (rewritten(4, "text"), "message 4 (of 6): its text differs"),
        (removed(4), "the conversation has 6 messages against 5"),
        (lambda messages: messages[1].__setitem__(0, "assistant"), "message 1 (of 6): of user against assistant"),
        (added(1, "text", "c1"), "message 1 (of 6): 1 text part against 2"),
        (added(4, "image", "f4"), "message 4 (of 6): 0 images against 1"),
    ]:
        found = talker.certify(first, edited(second, change))
        assert (found.matched, found.difference) == (False, named)
    same = talker.certify(first, Sent(first.call, second.row))
    assert same.unaltered == (f"{name}: both summaries are equal",)
    plain = talker.certify(talker.send(talk), Sent(talker.send(talk).call, {**second.row, "arm.state": "S1-d0"}))
    assert plain.unaltered == (f"{name}: no summary stands in the conversation",)
    kept = [*compacted(talk)[:2], Spoken("t5", "user", "And this is the yard.", (store.draw(36, 41),)), *talk[-3:]]
    mine = talker.send(kept, state="S2")
    swapped = edited(talker.send(kept, state="S2", **{name: "free"}), rewritten(3, "image", source="0" * 64))
    swapped = edited(swapped, rewritten(1, "text"))
    assert talker.certify(mine, swapped).difference == "message 3 (of 6): its image 1: another picture"


def test_a_message_that_only_looks_like_a_summary_is_held(talker, talk):
    """Without its reply, or further down, ``c1`` is a turn like any other."""
    for spoken in ([Spoken("c1", "user", "Hello"), *talk[1:]], [*talk[:4], *compacted(talk)]):
        first = talker.send(spoken, state="S2")
        place = 1 + next(at for at, each in enumerate(spoken) if each.id == "c1")
        found = talker.certify(first, edited(talker.send(spoken, state="S2", summary="free"), rewritten(place, "text")))
        assert found.difference == f"message {place} (of {len(spoken)}): its text differs"


def test_retention_takes_images_out_and_leaves_a_stub(talker, talk, store):
    first, second = pair_of(talker, talk, "retention")
    for change, named in [
        (rewritten(2, "text"), "message 2 (of 14): its text differs"),
        (rewritten(1, "text"), "message 1 (of 14): its text differs"),
        (dropped(1, "note"), "message 1 (of 14): 0 stubs in the place of its images"),
        (added(1, "note", "t1", 9), "message 1 (of 14): 2 stubs in the place of its images"),
        (rewritten(7, "note"), "message 7 (of 14): its stub is another text"),
        (added(2, "note", "t2", 9), "message 2 (of 14): its note differs"),
        (removed(14), "the conversation has 14 messages against 13"),
    ]:
        found = talker.certify(first, edited(second, change))
        assert (found.matched, found.difference) == (False, named)
    two = [Spoken("t1", "user", "Two", (store.draw(40, 30), store.draw(40, 31))), *talk[1:]]
    late = talker.send(two), talker.send(two, retention="recent3")
    assert (talker.certify(*late).matched, talker.certify(*late).altered) == (True, True)
    kept = [*two[:4], *two[-4:], Spoken("t9", "user", "Last", (store.draw(30, 30),))]
    recent = talker.send(kept), talker.send(kept, retention="recent3")
    assert (talker.certify(*recent).matched, talker.certify(*recent).altered) == (True, True)
    found = talker.certify(recent[0], edited(recent[1], rewritten(9, "image", source="0" * 64)))
    assert found.difference == "message 9 (of 9): its image 1: another picture"
    crossed = edited(
        recent[0], lambda messages: messages.__setitem__(9, talker.send(kept, retention="none").call["messages"][9])
    )
    assert talker.certify(crossed, recent[1]).difference == (
        "message 9 (of 9): its images are out of view in the request with more images"
    )
    assert talker.certify(first, Sent(first.call, second.row)).unaltered == ("retention: both show 2 images",)
    blind = talker.send(talk, "direct+noimg"), talker.send(talk, "direct+noimg", retention="none")
    assert talker.certify(*blind).unaltered == ("retention: no image is shown",)


def test_a_stub_goes_with_the_images_that_a_delivery_withholds(talker, talk):
    axes = {"retention": "none"}
    first, second = talker.send(talk, **axes), talker.send(talk, "direct+noimg", **axes)
    found = talker.certify(first, second)
    assert (found.matched, found.unaltered) == (True, ("modality: no image is shown",))
    for pair, named in [
        ((first, edited(second, rewritten(1, "text"))), "message 1 (of 14): its text differs"),
        ((first, edited(second, added(1, "note", "t1"))), "message 1 (of 14): 1 note where images are withheld"),
        ((edited(first, added(1, "note", "t1")), second), "message 1 (of 14): 2 stubs beside 0 images"),
    ]:
        assert talker.certify(*pair).difference == named
    assert talker.certify(first, talker.send(talk, "direct+caption", **axes)).matched


def test_the_newest_turns_go_by_the_state(talker, talk):
    axes = {"retention": "recent3"}
    pair = talker.send(talk[:8], **axes), talker.send(talk, state="S1-d50k", **axes)
    found = talker.certify(*pair)
    assert (found.variables, found.matched, found.altered) == (("state",), True, True)
    assert talker.certify(pair[0], edited(pair[1], rewritten(1, "text"))).difference == (
        "message 1 (of 8): its text differs"
    )


def test_sets_of_variables_hold_what_none_of_them_touches(talker, talk):
    end = compacted(talk, "Green, the gate is.")
    for second, names in [
        (talker.send(end, state="S2", condition="Cm"), ("state", "condition")),
        (
            talker.send(end, state="S2", condition="Cm", recall="norecall", results=["x"]),
            ("state", "condition", "recall"),
        ),
        (talker.send(talk, "direct+noimg", condition="Cm"), ("condition", "modality")),
        (talker.send(talk, retention="none", condition="Cm"), ("condition", "retention")),
    ]:
        first = talker.send(talk, results=["y"])
        found = talker.certify(first, second)
        assert (found.variables, found.matched, found.altered) == (names, True, True)
        for fault in (rewritten(-1, "tail"), rewritten(0, "instruction"), rewritten(-1, "question")):
            assert not talker.certify(first, edited(second, fault)).matched
    first = talker.send(compacted(talk), state="S2")
    second = talker.send(end, state="S2", condition="Cm", summary="free", summariser="m")
    found = talker.certify(first, second)
    assert (found.matched, found.altered, len(found.variables)) == (True, True, 3)
    assert not talker.certify(first, edited(second, rewritten(4, "text"))).matched


def test_retrieved_memory_may_differ_and_the_conversation_not(talker, talk, store, turn):
    items = [turn(1, "This is the plan.", store.draw(40, 30)), turn(3, "What do they say?")]
    none, one, two = (
        talker.send(talk, "pixels"),
        talker.send(talk, "pixels", items[:1], retrieval="text", k=1),
        talker.send(talk, "pixels", items, retrieval="text", k=2),
    )
    retrieval = Sent(none.call, {**none.row, "arm.k": 2})
    for pair, names in [((retrieval, two), ("retrieval",)), ((one, two), ("k",))]:
        found = talker.certify(*pair)
        assert (found.variables, found.matched, found.difference, found.altered) == (names, True, "", True)
        changed = talker.certify(pair[0], edited(pair[1], rewritten(2, "text")))
        assert changed.difference == "message 2 (of 14): its text differs"
        assert talker.certify(pair[0], edited(pair[1], rewritten(-1, "tail"))).difference.startswith("what is said")
    assert talker.certify(one, edited(two, rewritten(-1, "text"))).difference == "item 1 (of 1): its text differs"
    pressed = talker.send(talk, "pixels", items, retrieval="text", k=2, condition="Cm")
    found = talker.certify(two, pressed)
    assert (found.matched, found.altered) == (True, True)
    assert talker.certify(two, edited(pressed, rewritten(-1, "text"))).difference == "item 1 (of 2): its text differs"
    late = edited(pressed, lambda messages: messages[-1][1].insert(2, messages[-1][1].pop(0)))  # the head inside
    assert talker.certify(two, late).difference == "the parts of the probe stand in another order"
    other = edited(pressed, rewritten(-1, "image", source="0" * 64))
    assert talker.certify(two, other).difference == "image 3: another picture"
    tagged = talker.send(talk, "pixels+tag", items, retrieval="text", k=2)
    found = talker.certify(two, tagged)
    assert (found.variables, found.matched, found.altered) == (("identity",), True, True)
    withheld = talker.send(talk, "noimg", items, retrieval="text", k=2)
    found = talker.certify(two, withheld)
    assert (found.variables, found.matched, found.altered) == (("modality",), True, True)


def test_what_a_state_does_not_show_is_unaltered(talker, talk):
    def why(a, b):
        found = talker.certify(talker.send(talk, a), talker.send(talk, b))
        assert found.matched
        return found.unaltered

    assert why("pixels", "pixels+tag") == ("identity: no image is shown",)
    assert why("pixels", "pixels+date") == ("time: no item has a date",)
    assert "form: a conversation has one form" in why("pixels", "direct")
    plain = [replace(each, images=()) for each in talk]
    found = talker.certify(talker.send(plain), talker.send(plain, "direct+noimg"))
    assert found.unaltered == ("modality: no image is shown",)


def test_tokens_are_those_of_the_first_request(talker, talk):
    first, second = pair_of(talker, talk, "modality")
    assert talker.certify(first, second).tokens == ""
    asked = Sent(second.call, {**second.row, "n_calls": 3, "usage.prompt": 900})
    assert (talker.certify(first, asked).tokens, talker.certify(first, asked).token_difference) == ("", -6)
    unknown = Sent(second.call, {**second.row, "n_calls": 3, "usage.prompt": 900, "scores.eit_probe": None})
    assert talker.certify(first, unknown).tokens == "no count of prompt tokens"
    more = Sent(second.call, {**second.row, "usage.prompt": 900})
    assert talker.certify(first, more).tokens == "+794 prompt tokens with fewer images"
    again = talker.send(talk, repeat=1)
    odd = Sent(again.call, {**again.row, "usage.prompt": 107})
    assert talker.certify(first, odd).tokens == "+1 prompt tokens where none are predicted"
    assert talker.certify(*pair_of(talker, talk, "state")).tokens == ""


def test_without_a_state_these_axes_have_no_certificate(talker, talk):
    first, second = pair_of(talker, talk, "condition")
    stateless = [Sent(each.call, {**each.row, "arm.state": "none"}) for each in (first, second)]
    with pytest.raises(BenchError, match="no certificate for axis condition"):
        talker.certify(*stateless)
    asked = talker.certify(stateless[0], talker.send(talk, state="S1-d20k"))  # a history is no conversation state
    assert asked.variables == ("state",)
