"""How a request is split into instruction, question and items."""

from __future__ import annotations

import pytest

from benchsuite.models.embedded.context import ChatMessage, ChatPart, read_context
from benchsuite.models.embedded.ocr import Page

PAGES = [Page(f"digest{n}", 10, 10, ()) for n in range(3)]


def message(role: str, *parts: str | Page) -> ChatMessage:
    return ChatMessage(role, tuple(ChatPart(page=p) if isinstance(p, Page) else ChatPart(text=p) for p in parts))


@pytest.mark.parametrize("role", ["[{n}] {role}:\n", "({n}) {role}:\n", "{role}: ", "[{n}] {role} (2024/05/06):\n"])
def test_rendered_delivery_is_split_at_role_lines(role: str) -> None:
    content = [
        "Earlier talk:\n\n",
        role.format(n=1, role="user") + "The bike is blue.\nIt is fast.\n",
        PAGES[0],
        role.format(n=2, role="user"),
        PAGES[1],
        PAGES[2],
        role.format(n=3, role="assistant") + "Noted: all of it.\n",
        "\nQuestion date: 2024/06/01\nQuestion: What colour is the bike?\n",
    ]
    context = read_context([message("system", 'Reply "Yes" or "Not there".'), message("user", *content)])

    assert context.question == "What colour is the bike?"
    assert context.refusal == "Not there"
    assert [item.text for item in context.items] == [
        "The bike is blue.\nIt is fast.",
        "",
        "Noted: all of it.",
    ]
    assert [item.pages for item in context.items] == [(PAGES[0],), (PAGES[1], PAGES[2]), ()]


def test_the_last_question_line_counts_and_quotes_in_items_are_no_refusal_phrase() -> None:
    text = '[1] user:\nQuestion: is "Maybe later" fine?\n[2] user:\nYes.\nQuestion: Who asked?\nAnswer:'
    context = read_context([message("user", text)])

    assert context.question == "Who asked?"
    assert context.refusal == "unknown"


def test_messages_of_their_own_are_items_and_their_dates_are_kept() -> None:
    context = read_context(
        [
            message("user", "I planted a fig.", PAGES[0]),
            message("assistant", "Good."),
            message("user", "What did I plant?"),
        ]
    )
    assert context.question == "What did I plant?"
    assert [item.text for item in context.items] == ["I planted a fig.", "Good."]
    assert [item.pages for item in context.items] == [(PAGES[0],), ()]

    dated = read_context([message("user", "[2024/05/06 (Mon) 17:17]\nuser: I left.\nQuestion: When did I leave?")])
    assert [item.date for item in dated.items] == ["2024/05/06"]


@pytest.mark.parametrize("messages", [[], [message("user", "")], [message("system", "Be brief.")]])
def test_empty_requests_have_no_items_and_no_question(messages: list[ChatMessage]) -> None:
    context = read_context(messages)
    assert (context.question, context.items) == ("", ())
