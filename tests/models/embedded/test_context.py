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


def deployed(*bodies: tuple[str, Page | None], tail: str = "Question: Which?\n") -> list[ChatMessage]:
    """A request with tags and dates, as it is rendered."""
    content: list[str | Page] = ["Earlier messages:\nEvery picture shows the tag of its message, M1, M2 and so on.\n"]
    for n, (body, page) in enumerate(bodies, start=1):
        content += [f"({n}) user:\n{body}", *([page] if page else [])]
    return [message("user", *content, tail)]


def test_dates_tags_and_notes_after_the_role_line_are_no_text() -> None:
    note = "[M1 is printed in the top left corner of every picture of this message]\n"
    context = read_context(
        deployed(
            (f"[2024/05/11 (Sat) 19:33]\nI left.\n{note}", PAGES[0]),
            (f"[2024/05/12 (Sun) 08:00]\n{note}", PAGES[1]),
            ("[2024/05/13 (Mon) 09:00]\n[M3]\nBack.\n", PAGES[2]),
            ("No date here.\n", None),
            ("[2024/05/15 (Wed) 10:00]\n", None),
        )
    )
    assert [(item.text, item.date) for item in context.items] == [
        ("I left.", "2024/05/11"),
        ("", "2024/05/12"),
        ("Back.", "2024/05/13"),
        ("No date here.", ""),
    ]
    assert [item.pages for item in context.items] == [(PAGES[0],), (PAGES[1],), (PAGES[2],), ()]


def test_a_date_before_each_role_line_belongs_to_the_item_after_it() -> None:
    text = "[2024/05/06]\nuser: One.\n[2024/05/07]\nuser:\n[2024/05/08]\nuser: Three.\nQuestion: Which?"
    context = read_context([message("user", text)])
    assert [(item.text, item.date) for item in context.items] == [("One.", "2024/05/06"), ("Three.", "2024/05/08")]


def test_sessions_give_their_dates_to_every_message_of_theirs() -> None:
    context = read_context(
        [
            message("system", 'Else say "Not there".'),
            message("user", "=== Session 1 (Date: 2024/05/11 (Sat) 19:33) ===\nLook ", PAGES[0], " here"),
            message("assistant", "User: is that yours?\nNo."),
            message("user", "=== Session 4 (Date: 2024/06/02 (Sun) 08:00) ===\n[Image 2]\n", PAGES[1]),
            message("user", "=== Session 5 ===\nLast."),
            message("user", "Question date: 2024/07/01\nQuestion: Whose is it?\n"),
        ]
    )
    assert (context.question, context.refusal) == ("Whose is it?", "Not there")
    assert [(item.text, item.date, item.pages) for item in context.items] == [
        ("Look \n here", "2024/05/11", (PAGES[0],)),
        ("User: is that yours?\nNo.", "2024/05/11", ()),
        ("", "2024/06/02", (PAGES[1],)),
        ("Last.", "", ()),
    ]


def test_labels_of_images_are_no_text() -> None:
    context = read_context(deployed(("See.\n[Image 1]\n", PAGES[0]), ("[Image 2]\n", PAGES[1])))
    assert [(item.text, item.pages) for item in context.items] == [("See.", (PAGES[0],)), ("", (PAGES[1],))]


@pytest.mark.parametrize("messages", [[], [message("user", "")], [message("system", "Be brief.")]])
def test_empty_requests_have_no_items_and_no_question(messages: list[ChatMessage]) -> None:
    context = read_context(messages)
    assert (context.question, context.items) == ("", ())
