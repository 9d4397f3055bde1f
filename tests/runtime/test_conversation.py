"""Messages of a conversation: turns, tokens, which pictures stay, and how they are sent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchsuite.corpus.model import Image
from benchsuite.delivery import spec
from benchsuite.delivery.arrange import all_slots
from benchsuite.delivery.spec import Delivery, parse_delivery
from benchsuite.errors import ConfigError
from benchsuite.models.wire import ToolCall, WireImage
from benchsuite.registry import Registry
from benchsuite.runtime.conversation import (
    Spoken,
    context_slots,
    exchanges,
    reference_tokens,
    render_context,
    retained,
)

from .world import PERSONA, PROTOCOL, picture, roles, words

DIRECT = Delivery(side=0, codec="stored", order="conv", time="date", form="sessions")
STUB = PROTOCOL.template("image_stub")
CALLS = (ToolCall("c1", "read_file", '{"path": "a b"}'),)


def turn(n, *images, markers=False):
    text = f"Look at number {n}." + " <image>" * len(images) * markers
    return [Spoken(f"u{n}", "user", text, images), Spoken(f"a{n}", "assistant", f"Seen, {n}.")]


def with_tools(n):
    return [
        Spoken(f"u{n}", "user", "Which was it?"),
        Spoken(f"u{n}.0", "assistant", "", calls=CALLS),
        Spoken(f"u{n}.1", "tool", "[a b]\nnothing", call_id="c1", kind="tool"),
        Spoken(f"u{n}.2", "user", "Pictures:\n<image>", (picture(60),), kind="tool"),
        Spoken(f"u{n}.3", "assistant", "That one."),
    ]


TALK = [
    *turn(1, picture(1), picture(2)),
    *with_tools(2),
    *turn(3, picture(3)),
    *turn(4, picture(4)),
    *turn(5, picture(5)),
]


def rendered(spoken, delivery=DIRECT, retention="all"):
    placed = context_slots(spoken, delivery, retention)
    wires = {
        slot.key: WireImage(slot.image.sha256, slot.image.sha256, slot.image.mime, slot.image.width, slot.image.height)
        for slot in all_slots(placed)
    }
    return render_context(spoken, placed, delivery, retention, PROTOCOL, PERSONA, wires)


def shown(context):
    return [[b.sha256 if isinstance(b, WireImage) else b for b in message.blocks] for message in context.messages[1:]]


def pictures(context):
    return [block for blocks in shown(context) for block in blocks if len(block) == 64]


def images(*spoken):
    return [image.sha256 for each in spoken for image in each.images]


def test_a_turn_begins_with_a_message_of_the_user_after_an_answer():
    assert [[each.id for each in group] for group in exchanges(TALK)] == [
        ["u1", "a1"],
        ["u2", "u2.0", "u2.1", "u2.2", "u2.3"],
        *(["u3", "a3"], ["u4", "a4"], ["u5", "a5"]),
    ]
    two = [Spoken("x", "user", "a"), Spoken("y", "user", "b"), Spoken("z", "assistant", "c"), Spoken("v", "user", "d")]
    assert [len(group) for group in exchanges(two)] == [3, 1]
    assert list(exchanges([])) == []


def test_tokens_are_text_calls_and_pixels():
    missing = Image("", "gone.png", missing="absent", width=64, height=64)
    spoken = [
        Spoken("a", "user", "one two", (picture(1, (64, 64)), picture(2, (33, 32)), missing)),
        Spoken("b", "assistant", "one", calls=CALLS),
        Spoken("c", "tool", "", call_id="c1"),
    ]
    assert reference_tokens(spoken, words) == [2 + 4 + 2, 1 + 4, 0]  # read_file {"path": "a b"}: a word, three more


def test_messages_come_back_from_json():
    for each in [*TALK, Spoken("x", "user", "é\u2028\n", (Image("", "g.png", missing="remote", caption="c"),))]:
        assert Spoken.from_json(json.loads(json.dumps(each.to_json()))) == each


# retention


def test_which_pictures_a_policy_takes_out():
    assert retained(TALK, "all") == [frozenset()] * len(TALK)
    none = retained(TALK, "none")
    assert [len(each) for each in none] == [len(each.images) for each in TALK]
    recent = retained(TALK, "recent3")
    assert [each.id for each, gone in zip(TALK, recent, strict=True) if gone] == ["u1", "u2.2"]
    assert retained(TALK[-2:], "recent3") == [frozenset()] * 2
    with pytest.raises(ConfigError, match="retention has no value 'some'; known: all, recent3, none"):
        retained(TALK, "some")


@pytest.mark.parametrize(
    ("retention", "kept", "stubs"),
    [("all", (1, 2, 60, 3, 4, 5), 0), ("recent3", (3, 4, 5), 3), ("none", (), 6)],
)
def test_a_picture_that_is_taken_out_leaves_a_stub(retention, kept, stubs):
    context = rendered(TALK, retention=retention)
    assert pictures(context) == [picture(shade).sha256 for shade in kept]
    text = "".join(block for blocks in shown(context) for block in blocks)
    assert text.count(STUB) == stubs
    assert "<image>" not in text
    assert context.turns == {
        each.id for each, gone in zip(TALK, retained(TALK, retention), strict=True) if not gone
    } - {
        "u2.0",
        "u2.1",
    }


def test_a_picture_that_the_delivery_withholds_leaves_nothing():
    for retention in ("all", "recent3", "none"):
        context = rendered(TALK, replace(DIRECT, modality="withheld"), retention)
        text = "".join(block for blocks in shown(context) for block in blocks)
        assert STUB not in text
        assert pictures(context) == []
        assert "<image>" not in text
    assert context.missing == 0


def test_a_missing_picture_is_counted_where_pictures_are_shown():
    spoken = [Spoken("a", "user", "Look.", (Image("", "gone.png", missing="absent"), picture(1)))]
    assert rendered(spoken).missing == 1
    assert pictures(rendered(spoken)) == [picture(1).sha256]
    assert rendered(spoken, replace(DIRECT, modality="withheld")).missing == 0


# rendering


def test_roles_calls_and_results_stand_as_they_were():
    context = rendered(TALK)
    assert roles(context.messages) == ["system", *(each.role for each in TALK)]
    assert PERSONA in context.messages[0].blocks[0]
    call, result = context.messages[4:6]
    assert call.calls == CALLS
    assert call.blocks == ()
    assert (result.call_id, result.blocks) == ("c1", ("[a b]\nnothing",))
    assert shown(context)[5] == ["Pictures:\n", picture(60).sha256]


def test_pictures_stand_at_their_markers_or_before_the_text():
    marked = [Spoken("a", "user", "First <image> then <image> end.", (picture(1), picture(2)))]
    assert shown(rendered(marked)) == [["First ", picture(1).sha256, " then ", picture(2).sha256, " end."]]
    plain = [Spoken("a", "user", "Both.", (picture(1), picture(2)))]
    assert shown(rendered(plain)) == [[picture(1).sha256, picture(2).sha256, "Both."]]


def test_equal_contexts_have_equal_messages_whatever_their_ids():
    other = [replace(each, id=f"other {each.id}") for each in TALK]
    assert [m.digest for m in rendered(TALK).messages] == [m.digest for m in rendered(other).messages]


def test_labels_count_over_all_pictures_of_the_context():
    registry = Registry()
    spec.register(registry)
    context = rendered(TALK, parse_delivery("direct+label_images", registry.deliveries))
    text = "".join(block for blocks in shown(context) for block in blocks if len(block) != 64)
    assert [f"[Image {n}]" in text for n in range(1, 8)] == [True] * 6 + [False]


def test_a_message_of_which_nothing_is_left_keeps_its_place():
    spoken = [Spoken("a", "user", "", (picture(1),)), Spoken("b", "assistant", "Nice.")]
    context = rendered(spoken, replace(DIRECT, modality="withheld"))
    assert roles(context.messages) == ["system", "user", "assistant"]
    assert shown(context)[0] == []
    assert shown(rendered(spoken, retention="none"))[0] == [STUB]


def test_tags_dates_and_ranks_are_for_what_is_retrieved():
    plain = [m.digest for m in rendered(TALK, Delivery()).messages]
    assert [m.digest for m in rendered(TALK, Delivery(identity="tag", time="date")).messages] == plain
    for control in ("scramble", "phase", "decoy"):
        with pytest.raises(ConfigError, match=f"{control} images stand in for those of retrieved messages"):
            context_slots(TALK, Delivery(modality=control), "all")
