"""A chat request to what the reader works on: instruction, question, and items of text with their images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchsuite.models.embedded.ocr import Page
from benchsuite.models.embedded.text import DATE

OWN_REFUSAL = "unknown"
INSTRUCTING = ("system", "developer")
_QUESTION = re.compile(r"^question:[ \t]*", re.I)
_TAIL = re.compile(r"^question\b[^:\n]{0,20}:", re.I)
_BRACKETS = r"(?:\[[^\]\n]*\]\s*|\([^)\n]*\)\s*)"
_ROLE_LINE = re.compile(rf"^\W*?{_BRACKETS}*(?:user|assistant)\b[^:\n]{{0,60}}:[ \t]*", re.I)
_BRACKET_LINE = re.compile(rf"^\s*{_BRACKETS}+$")
_SESSION_LINE = re.compile(r"^\s*=+\s*session\b.*=\s*$", re.I)
_QUOTED = re.compile(r'["“]([^"”\n]{1,120})["”]')


@dataclass(frozen=True, slots=True)
class ChatPart:
    """One block of a message: text, or a page that was read from an image."""

    text: str = ""
    page: Page | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an assistant; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """``calls`` stand in a message of an assistant; ``call_id`` names the call that a message of a tool answers."""

    role: str
    parts: tuple[ChatPart, ...]
    calls: tuple[Call, ...] = ()
    call_id: str = ""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.page is None)

    @property
    def pages(self) -> tuple[Page, ...]:
        return tuple(part.page for part in self.parts if part.page is not None)


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One delivered item: its text without the role line, the date its head carries, and its images."""

    text: str
    date: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """``refusal`` is the phrase the request asks for when the answer is not there. ``shared`` of the first items
    stand before the message that asks: other questions are likely to come with them."""

    question: str
    refusal: str
    items: tuple[ContextItem, ...]
    shared: int = 0


@dataclass(slots=True)
class _Draft:
    message: int
    lines: list[str] = field(default_factory=list)
    date: str = ""
    pages: list[Page] = field(default_factory=list)

    @property
    def is_bare(self) -> bool:
        """Nothing but a role line so far."""
        return not (self.date or self.pages or any(line.strip() for line in self.lines))

    def item(self) -> ContextItem:
        return ContextItem("\n".join(self.lines).strip(), self.date, tuple(self.pages))


def read_context(messages: Sequence[ChatMessage]) -> Context:
    """Split a request. The question is what follows the last line that starts with ``Question:``.

    Without such a line the last line of the last user message is the question. An item begins at a role line
    (``(3) user:``, ``[3] user:``) or with a message of its own; text before the first role line is the head
    of the prompt when there are role lines at all. Lines in brackets are no text of an item; a date in one
    belongs to the item after it, or to that of the role line above it. A line ``=== Session 3 (Date: ...) ===``
    gives its date to all items up to the next one, and where such lines stand every message is one item.
    """
    instruction = "\n".join(m.text for m in messages if m.role in INSTRUCTING)
    talk = [m for m in messages if m.role not in INSTRUCTING]
    entries = [entry for index, message in enumerate(talk) for entry in _entries(index, message)]
    question, body, tail = _take_question(entries)
    head, drafts = _drafts(body)
    refusal = refusal_phrase(instruction, tail, head)
    shared = sum(index < len(talk) - 1 for index, _ in drafts)
    return Context(question, refusal, tuple(item for _, item in drafts), shared)


def refusal_phrase(*texts: str) -> str:
    """What stands last in quotes in the first text that quotes anything."""
    return next((phrase for text in texts if (phrase := _last_quoted(text))), OWN_REFUSAL)


def read_message(message: ChatMessage) -> tuple[str, str, str, tuple[ContextItem, ...]]:
    """Of one message that asks: its question, the text after it, the text before its first role line, and its items;
    without a role line all that stands before the question is one item."""
    question, body, tail = _take_question(list(_entries(0, message)))
    head, drafts = _drafts(body)
    return question, tail, head, tuple(item for _, item in drafts)


def has_question(text: str) -> bool:
    """Whether a line starts with ``Question:``."""
    return any(_QUESTION.match(line.strip()) for line in text.split("\n"))


def bracketed(line: str) -> str | None:
    """The date in a line that is nothing but brackets, empty where it has none; None for another line."""
    return _date(line) if _BRACKET_LINE.match(line) else None


def _entries(index: int, message: ChatMessage) -> Iterator[tuple[int, str | Page]]:
    for part in message.parts:
        if part.page is not None:
            yield index, part.page
        else:
            yield from ((index, line) for line in part.text.split("\n"))


def _take_question(
    entries: list[tuple[int, str | Page]],
) -> tuple[str, list[tuple[int, str | Page]], str]:
    """Question, entries before it, and the text after it."""
    lines = [n for n, (_, entry) in enumerate(entries) if isinstance(entry, str) and entry.strip()]
    marked = [n for n in lines if _QUESTION.match(str(entries[n][1]).strip())]
    if not marked and not lines:
        return "", entries, ""
    at = marked[-1] if marked else lines[-1]
    question = _QUESTION.sub("", str(entries[at][1]).strip()).strip()
    rest = [str(entry) for _, entry in entries[at + 1 :] if isinstance(entry, str)]
    if not question and any(line.strip() for line in rest):
        question = next(line.strip() for line in rest if line.strip())
    images_after = [entry for entry in entries[at + 1 :] if isinstance(entry[1], Page)]
    return question, entries[:at] + images_after, "\n".join(rest)


def _drafts(body: list[tuple[int, str | Page]]) -> tuple[str, list[tuple[int, ContextItem]]]:
    """Text before the first role line, and the items in order, each with the place of its message."""
    lines = [entry for _, entry in body if isinstance(entry, str)]
    has_sessions = any(map(_SESSION_LINE.match, lines))
    has_roles = not has_sessions and any(map(_ROLE_LINE.match, lines))
    head: list[str] = []
    drafts: list[_Draft] = []
    message = body[0][0] if body else 0
    current: _Draft | None = None if has_roles else _Draft(message)
    if current is not None:
        drafts.append(current)
    pending_date = session_date = ""
    dates_lead = False  # of the role lines
    for index, entry in body:
        if index != message and not has_roles:
            current = _Draft(index, date=session_date)
            drafts.append(current)
        message = index
        if isinstance(entry, Page):
            if current is None:
                current = _Draft(index)
                drafts.append(current)
            current.pages.append(entry)
            continue
        role = None if has_sessions else _ROLE_LINE.match(entry)
        if role:
            dates_lead = dates_lead or bool(pending_date)
            current = _Draft(index, lines=[entry[role.end() :]], date=_date(role.group()) or pending_date)
            pending_date = ""
            drafts.append(current)
        elif has_sessions and _SESSION_LINE.match(entry) and current is not None:
            current.date = session_date = _date(entry)
        elif _BRACKET_LINE.match(entry):
            if has_roles and not dates_lead and current is not None and current.is_bare:
                current.date = _date(entry)
            else:
                pending_date = _date(entry) or pending_date
        elif _TAIL.match(entry.strip()):
            continue
        elif current is None:
            head.append(entry)
        else:
            current.lines.append(entry)
    made = ((draft.message, draft.item()) for draft in drafts)
    return "\n".join(head), [(place, item) for place, item in made if item.text or item.pages]


def _date(line: str) -> str:
    date = DATE.search(line)
    return date.group() if date else ""


def _last_quoted(text: str) -> str:
    quoted = _QUOTED.findall(text)
    return quoted[-1].strip() if quoted else ""
