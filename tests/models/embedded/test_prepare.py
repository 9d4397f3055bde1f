"""What is kept between requests changes no answer: not the order, not the neighbours, not what was thrown away."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from benchsuite.models.embedded import prepare
from benchsuite.models.embedded.context import ChatMessage, ChatPart, ContextItem
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.layout import analyse
from benchsuite.models.embedded.ocr import Box, Page
from benchsuite.models.embedded.prepare import Prepared, Preparer
from benchsuite.models.embedded.rank import rank
from benchsuite.models.embedded.reader import Reader
from benchsuite.models.embedded.text import has_digit, stem, tokens, words

ROWS = [("Locker", "B-417"), ("Visits left", "38"), ("Hall area", "1,240 m2"), ("Monthly price", "$29.50")]
QUESTIONS = [
    "What is the locker at the Iron Yard gym?",
    "How much is the monthly price of the Iron Yard gym?",
    "How many visits are left?",
    "When did I plant the fig tree?",
    "What is the wifi password at Granny Olsen?",
    "Which shelf do the winter tyres lie on, and how large is the hall area by the gym card in square metres now?",
]


def page(title: str, rows: list[tuple[str, str]]) -> Page:
    boxes = [Box(150, 10, 320, 45, title)]
    for n, (label, value) in enumerate(rows):
        boxes += [Box(20, 80 + 40 * n, 160, 100 + 40 * n, label), Box(360, 80 + 40 * n, 440, 100 + 40 * n, value)]
    return Page(title, 460, 300, tuple(boxes))


ITEMS = (
    ContextItem("My card of the Iron Yard gym.", "2024/05/06", (page("Iron Yard gym", ROWS),)),
    ContextItem("Two slips of the ferry.", "", (page("Ferry", [("Cabin", "6021")]), page("Car", [("Lane", "L14")]))),
    ContextItem("I planted the fig tree on 12 May 2024.\nThe winter tyres lie on shelf 12. Gym gym gym!", "", ()),
    ContextItem("", "", (page("Empty", []),)),
    ContextItem("...\n12\n- -", "", ()),
)


@pytest.fixture(scope="module")
def encoder(service: Any) -> Encoder:
    return service.encoder


def preparer(encoder: Encoder) -> Preparer:
    return Preparer(encoder, lambda page: analyse(page.boxes))


def same(a: Prepared, b: Prepared) -> bool:
    arrays = all((getattr(a, n) == getattr(b, n)).all() for n in ("names", "readings", "frames", "word_vectors"))
    plain = ("sources", "texts", "candidates", "label_tokens", "value_tokens", "vocabulary", "columns", "items")
    return arrays and a.holders == b.holders and all(getattr(a, n) == getattr(b, n) for n in plain)


@pytest.mark.parametrize("shared", range(len(ITEMS) + 1))
def test_a_prefix_with_its_rest_is_the_whole(encoder: Encoder, shared: int) -> None:
    whole = preparer(encoder).prepare(ITEMS)
    kept = preparer(encoder)
    assert same(kept.prepare(ITEMS, shared), whole)
    assert same(kept.prepare(ITEMS, shared), whole)  # from what is kept
    for question in QUESTIONS:
        parts, once = (rank(question, each, encoder) for each in (kept.prepare(ITEMS, shared), whole))
        assert (parts.features == once.features).all()


def test_features_are_those_of_the_plain_definition(encoder: Encoder) -> None:
    """The columns that are worked out for all candidates at once, one by one: soft and soft_precision."""
    prepared = preparer(encoder).prepare(ITEMS)
    for question in QUESTIONS:
        found = rank(question, prepared, encoder)
        asked = list(dict.fromkeys(tokens(question)))
        spoken = [word for word in dict.fromkeys(words(question)) if not has_digit(word)]
        cosine = encoder.encode(spoken) @ prepared.word_vectors.T
        for n, candidate in enumerate(prepared.candidates):
            in_frame, _ = prepared.texts[candidate.source].found(asked)
            framed = in_frame if candidate.label else in_frame - prepared.label_tokens[n]
            rows = [k for k, word in enumerate(spoken) if stem(word) in asked and stem(word) not in framed]
            columns = list(prepared.columns[n])
            wanted = (0.0, 0.0)
            if rows and columns:
                block = cosine[np.ix_(rows, columns)]
                backwards = float(block.max(axis=0).mean()) if candidate.label else 0.0
                wanted = float(block.max(axis=1).mean()), backwards
            assert tuple(found.features[n, 6:8]) == wanted


def talk(question: str, items: tuple[ContextItem, ...], lines: bool) -> list[ChatMessage]:
    said = [
        ChatMessage("user", (ChatPart(f"{item.text} See shots/{n}.png."), *(ChatPart(page=p) for p in item.pages)))
        for n, item in enumerate(items)
    ]
    form = "\nANSWERABLE=\nSOURCE=\nANSWER=" if lines else ""
    return [*said, ChatMessage("user", (ChatPart(f"Question: {question}{form}"),))]


def test_answers_are_those_of_a_reader_that_knows_nothing(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [
        talk(question, items, lines)
        for question in QUESTIONS
        for items in (ITEMS, ITEMS[:2], ITEMS[::-1], ITEMS[1:])
        for lines in (False, True)
    ]
    alone = [Reader(encoder).turn(request) for request in requests]
    order = list(range(len(requests))) * 2
    random.Random(3).shuffle(order)
    one = Reader(encoder)
    assert all(one.turn(requests[n]) == alone[n] for n in order)
    monkeypatch.setattr(prepare, "_CANDIDATES", 1)  # every prefix pushes the one before it out
    small = Reader(encoder)
    assert all(small.turn(requests[n]) == alone[n] for n in order)
    assert len({turn.text for turn in alone}) > 6


def test_what_is_kept_is_bounded(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "_CANDIDATES", 30)
    kept = preparer(encoder)
    for n in range(12):
        kept.prepare((ContextItem(f"Note {n}.\nThe shelf is {n}.", "", ()), *ITEMS), 6)
        held = sum(len(each.candidates) for each in kept._prefixes.values())
        assert held == kept._held
        assert held <= 30 or len(kept._prefixes) == 1


def test_the_same_text_with_other_pixels_is_another_item(encoder: Encoder) -> None:
    kept = preparer(encoder)
    one = ContextItem("Card.", "", (page("Card", [("Locker", "B-417")]),))
    other = ContextItem("Card.", "", (Page("other", 460, 300, page("Card", [("Locker", "C-9")]).boxes),))
    values = [{c.value for c in kept.prepare((item,), 1).candidates} for item in (one, other, one)]
    assert "B-417" in values[0]
    assert "C-9" in values[1]
    assert values[2] == values[0]
