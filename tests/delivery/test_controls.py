"""What each control changes in a request, and that it changes nothing else."""

from __future__ import annotations

import re

import pytest

DISCOURAGING = re.compile(
    r"useless|ignore|meaningless|no (use|meaning|help)|not (useful|helpful|reliable)|do not use", re.I
)


@pytest.fixture
def items(store, turn):
    return [
        turn(1, "One", store.draw(), store.draw(301), date="2024/05/12 (Sun)"),
        turn(2, "Two", role="assistant", date="2024/05/13 (Mon)"),
        turn(3, "Three", store.draw(302), date="2024/05/14 (Tue)"),
        turn(4, "Four", store.draw(303), date="2024/05/15 (Wed)"),
    ]


def text_of(messages):
    """All text of a request; an image stands as a sign, since its place is part of the text's form."""
    return "".join(part.text if part.image is None else "<image>" for m in messages for part in m.parts)


def of_kind(messages, *kinds):
    return [part.text for message in messages for part in message.parts if part.kind in kinds]


def images_of(messages):
    return [(part.item, part.image.sha256) for message in messages for part in message.parts if part.image]


@pytest.mark.parametrize(
    ("base", "control"),
    [
        ("pixels", "pixels+scramble"),
        ("pixels", "pixels+phase"),
        ("pixels", "pixels+decoy"),
        ("deployed", "deployed+phase"),
        ("deployed+notag", "deployed+tagpix"),
        ("deployed", "deployed+tagshufpix"),
        ("deployed", "deployed+bindshuf"),
    ],
)
def test_a_control_of_the_images_leaves_every_letter_of_the_text(items, rendered, base, control):
    before, after = rendered(items, base), rendered(items, control)
    assert text_of(before) == text_of(after)
    assert images_of(before) != images_of(after)


def test_permuted_dates_move_and_all_else_stays(items, rendered):
    before, after = rendered(items, "deployed"), rendered(items, "deployed+dateperm")
    assert sorted(of_kind(before, "date")) == sorted(of_kind(after, "date"))
    assert of_kind(before, "date") != of_kind(after, "date")
    strip = re.compile(r"\[2024/05/1\d \(\w+\)\]")
    assert strip.sub("", text_of(before)) == strip.sub("", text_of(after))
    assert images_of(before) == images_of(after)


def test_ordinals_stand_where_the_dates_stood_and_are_explained(items, rendered):
    messages = rendered(items[2:], "deployed+ordinal")
    told = of_kind(messages, "date")
    assert told[0].startswith("Every message below says when it was seen: [seen #k of N]")
    assert told[1:] == ["[seen #1 of 2]\n", "[seen #2 of 2]\n"]
    assert of_kind(rendered(items[2:], "pixels+date"), "date") == ["[2024/05/14 (Tue)]\n", "[2024/05/15 (Wed)]\n"]


def test_the_constant_mark_replaces_the_sentences_on_tags_and_keeps_the_rest(items, rendered):
    tagged, marked = rendered(items, "deployed"), rendered(items, "deployed+tagconst")
    assert [text for text in of_kind(marked, "tag") if text.startswith("[")] == [
        "[M* is printed in the top left corner of every picture of this message]\n"
    ] * 3
    assert len(of_kind(marked, "tag")) == len(of_kind(tagged, "tag"))
    assert of_kind(tagged, "text", "date", "role", "head", "question", "instruction") == of_kind(
        marked, "text", "date", "role", "head", "question", "instruction"
    )
    head = "".join(text for text in of_kind(marked, "tag") if not text.startswith("["))
    assert not re.search(r"M\d", head)


@pytest.mark.parametrize(("order", "field"), [("", "listed_by_rank"), ("+conv", "listed_by_time")])
def test_the_control_of_the_tags_keeps_the_order_known_and_never_speaks_against_the_mark(
    items, rendered, protocol, order, field
):
    head = [text for text in of_kind(rendered(items, f"deployed+tagconst{order}"), "tag") if not text.startswith("[")]
    assert head == [protocol.mark_in_pixels, getattr(protocol, field)]
    assert not DISCOURAGING.search("".join(head))
    assert re.search("relevance" if not order else "oldest", head[1])
    assert "M*" not in head[1]


def test_shuffled_tags_are_told_as_they_are_stamped(items, rendered):
    messages = rendered(items, "deployed+tagshuf")
    notes = {part.item: part.text for m in messages for part in m.parts if part.kind == "tag" and part.item}
    for item, sha256 in images_of(messages):
        assert sha256.split()[1] in notes[item]
    plain = [text for text in of_kind(rendered(items, "deployed"), "tag") if not text.startswith("[")]
    assert [text for text in of_kind(messages, "tag") if not text.startswith("[")] == plain
