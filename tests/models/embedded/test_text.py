"""Value shapes, question kinds and spans."""

from __future__ import annotations

import pytest

from benchsuite.models.embedded.text import kind_fit, question_kind, span_of, tokens


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much did I pay for the lamp?", "money"),
        ("At what time does the ferry leave?", "time"),
        ("When is the appointment?", "date"),
        ("What is the date on the form?", "date"),
        ("How many guests came?", "count"),
        ("How many minutes did the run take?", "span"),
        ("What percentage of the battery is left?", "percent"),
        ("Who signed the letter?", "who"),
        ("Where do we meet?", "where"),
        ("How tall is the shelf?", "size"),
        ("What colour is the door?", ""),
    ],
)
def test_question_kind(question: str, kind: str) -> None:
    assert question_kind(question) == kind


@pytest.mark.parametrize(
    ("kind", "best", "worse"),
    [
        ("money", "$14.20", "14:20"),
        ("money", "DKK 185", "Tuesday"),
        ("time", "9:45 am", "$9.45"),
        ("date", "12 May 2024", "$12"),
        ("date", "2024/05/12", "12:05"),
        ("percent", "37 %", "37"),
        ("span", "35 min", "$35"),
        ("count", "1,204", "12:04"),
        ("who", "Ms. Arden", "14"),
    ],
)
def test_the_right_shape_fits_better(kind: str, best: str, worse: str) -> None:
    assert kind_fit(kind, best) > kind_fit(kind, worse)


def test_span_skips_what_the_question_already_says() -> None:
    question = "How much did the 2 lamps cost?"
    assert span_of("money", "The 2 lamps cost $45.", frozenset(tokens(question))) == "$45"
    assert span_of("", "My cat is called Pixel.", frozenset(tokens("What is my cat called? My"))) == "Pixel"
    assert span_of("time", "No hour is given.", frozenset()) == "No hour is given."


def test_tokens_join_forms_of_one_word() -> None:
    assert tokens("Tickets' dates") == tokens("ticket date")
    assert tokens("September") == tokens("Sep")
