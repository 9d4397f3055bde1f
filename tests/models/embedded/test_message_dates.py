"""The day of a message is read in the text that carries it, in both forms of delivery, and never guessed."""

from __future__ import annotations

import pytest

from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.reader import Reader
from benchsuite.models.embedded.text import asks_message_date

SAID = [
    ("2024/02/03 (Sat) 10:00", "The boiler man came round at last."),
    ("2024/03/09 (Sat) 20:10", "We repainted the canoe in dark green yesterday."),
    ("2024/04/21 (Sun) 08:30", "I might take up pottery again."),
]
QUESTION = "When did I mention repainting the canoe? Give it as YYYY/MM/DD."


def in_items(dated, question):
    date = "[{}]\n" if dated else ""
    parts = [f"({n}) user:\n{date.format(day)}{text}\n" for n, (day, text) in enumerate(SAID, 1)]
    return [
        ChatMessage("user", tuple(ChatPart(text=part) for part in ["Earlier:\n", *parts, f"Question: {question}\n"]))
    ]


def in_sessions(dated, question):
    date = " (Date: {})" if dated else ""
    turns = [f"=== Session {n}{date.format(day)} ===\n{text}" for n, (day, text) in enumerate(SAID, 1)]
    return [ChatMessage("user", (ChatPart(text=text),)) for text in [*turns, f"Question: {question}\n"]]


@pytest.fixture(scope="module")
def reader():
    return Reader(Encoder())


@pytest.mark.parametrize("form", [in_items, in_sessions])
def test_the_day_of_a_message_is_answered_from_its_date_alone(reader, form):
    assert reader.answer(form(True, QUESTION)).reply(forced=False) == "2024/03/09"
    undated = reader.answer(form(False, QUESTION))
    assert undated.reply(forced=False) == "unknown"
    assert "2024" not in undated.answer


def test_a_question_about_nothing_said_is_refused_with_dates_too(reader):
    asked = "When did I mention the violin lesson? Give it as YYYY/MM/DD."
    assert reader.answer(in_items(True, asked)).reply(forced=False) == "unknown"


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("When did I tell you about the canoe?", True),
        ("On what date did we discuss the boiler?", True),
        ("Which day did I send the photo?", True),
        ("When does the canoe trip start?", False),
        ("When did I buy the canoe?", False),
        ("What did I say about the canoe?", False),
    ],
)
def test_only_the_day_of_telling_is_a_messages_date(question, asks):
    assert asks_message_date(question) is asks
