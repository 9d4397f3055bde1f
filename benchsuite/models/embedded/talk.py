"""A conversation with tools, or one that asks for an answer with its source: items that know what they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchsuite.models.embedded.context import (
    INSTRUCTING,
    Call,
    ChatMessage,
    ContextItem,
    bracketed,
    has_question,
    read_message,
    refusal_phrase,
)
from benchsuite.models.embedded.lru import Lru
from benchsuite.models.embedded.naming import Name, label_of, names_in, nearest, preferred

ANSWERABLE, SOURCE, ANSWER = "ANSWERABLE=", "SOURCE=", "ANSWER="
_LINES = tuple(re.compile(rf"(?<![A-Z_]){word}", re.M) for word in (ANSWERABLE, SOURCE, ANSWER))
_NOTHING = re.compile(r"\s*(?:no|none|nothing|not|error|unknown|there (?:is|are) no)\b[^\n]*\s*$", re.I)
_PROSE = re.compile(r"(?:[^\W\d_]+\W+){4}")
_KEPT = 8192


@dataclass(frozen=True, slots=True)
class Named:
    """An item with the names in its text, those of its pictures, and the one that all of it goes by if no other does.

    ``whole``: that one stands for all of its text that has no name in its own line.
    """

    item: ContextItem
    names: tuple[Name, ...] = ()
    of_pages: tuple[str, ...] = ()
    default: str = ""
    whole: bool = False

    def source(self, value: str, page: int | None) -> str:
        """What a span is called that stands in the text, or on the picture at place ``page``; empty if nothing."""
        if page is not None:
            return self.of_pages[page] or self.default
        at = max(0, self.item.text.find(value))
        found = nearest(self.item.text, self.names, at, len(value))
        if self.whole and found and not self._in_line(found, at, len(value)):
            return self.default or found
        return found or self.default

    def _in_line(self, name: str, at: int, size: int) -> bool:
        text = self.item.text
        end = text.find("\n", at + size)
        return name in text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]


@dataclass(frozen=True, slots=True)
class Talk:
    """``earlier`` of the items come from the messages before the one that asks, ``returned`` are numbers of the items
    that a tool gave after it, to the calls of ``called``. ``demand`` is what the question is told to be answered with.
    """

    question: str
    refusal: str
    items: tuple[Named, ...]
    earlier: int
    three_lines: bool
    returned: frozenset[int] = frozenset()
    called: tuple[str, ...] = ()
    demand: str = ""


def asking(messages: Sequence[ChatMessage]) -> int:
    """The place of the message that asks; -1 without one.

    The last of the user with a question line or with the three lines, else the last one that brings no results.
    """
    users = [n for n, message in enumerate(messages) if message.role == "user"]
    marked = [n for n in users if has_question(messages[n].text) or wants_lines(messages[n].text)]
    if marked:
        return marked[-1]
    own = [n for n in users if n == 0 or messages[n - 1].role != "tool"]
    return (own or users or [-1])[-1]


def wants_lines(text: str) -> bool:
    """Whether the three lines of an answer with its source are spelt out."""
    return all(pattern.search(text) for pattern in _LINES)


class TalkReader:
    """Splits such requests; messages that come again are read once."""

    def __init__(self) -> None:
        self._texts: Lru[str, tuple[str, str, tuple[Name, ...]]] = Lru(_KEPT)

    def read(self, messages: Sequence[ChatMessage], tools: Sequence[str] = ()) -> Talk:
        """``tools`` are the names of those that are offered."""
        at = asking(messages)
        instruction = "\n".join(message.text for message in messages if message.role in INSTRUCTING)
        if at < 0:
            return Talk("", refusal_phrase(instruction), (), 0, False)
        asks = messages[at]
        three_lines = wants_lines(asks.text)
        question, tail, head, own, demand = _question(asks, tools, three_lines)
        items = self._conversation([message for message in messages[:at] if message.role not in INSTRUCTING])
        earlier = len(items)
        items += [self._named(item) for item in own]
        first = len(items)
        called = tuple(call.name for message in messages[at + 1 :] for call in message.calls)
        items += self._results(messages[at + 1 :])
        return Talk(
            question,
            refusal_phrase(instruction, tail, head),
            tuple(items),
            earlier,
            three_lines,
            frozenset(range(first, len(items))),
            called,
            demand,
        )

    def _conversation(self, messages: Sequence[ChatMessage]) -> list[Named]:
        """Every message as an item; the names of a message and of its reply stand for what either shows."""
        items: list[Named] = []
        calls: dict[str, Call] = {}
        for n, message in enumerate(messages):
            calls.update({call.id: call for call in message.calls})
            if message.role == "tool":
                following = messages[n + 1] if n + 1 < len(messages) else None
                pictures = following if following is not None and following.role == "user" else None
                items += self._result(message, calls, pictures)
                continue
            if message.role == "user" and n and messages[n - 1].role == "tool":
                continue  # its pictures stand with the result
            reply = messages[n + 1] if n + 1 < len(messages) and messages[n + 1].role == "assistant" else None
            asked = messages[n - 1] if n and messages[n - 1].role == "user" and message.role == "assistant" else None
            named = self._message(message, reply if message.role == "user" else None, asked)
            if named.item.text or named.item.pages:
                items.append(named)
        return items

    def _message(self, message: ChatMessage, reply: ChatMessage | None, asked: ChatMessage | None) -> Named:
        text, date, names = self._text(message.text)
        other = reply or asked
        others = self._text(other.text)[2] if other is not None else ()
        pages = message.pages
        own = _page_names(message, names)
        ids = [name for name in others if name.is_id]
        if reply is not None and len(pages) == 1 and ids and not any(name.is_id for name in names):
            own = [ids[0].text]
        elif len(pages) > 1 and len(pages) == len(ids) and not all(own):
            own = [name.text for name in ids]
        of_pages = tuple(name or preferred(others) for name in own)
        return Named(ContextItem(text, date, pages), names, of_pages, preferred(others))

    def _named(self, item: ContextItem) -> Named:
        """An item that stands in the message that asks."""
        names = names_in(item.text)
        return Named(item, names, (preferred(names),) * len(item.pages))

    def _text(self, text: str) -> tuple[str, str, tuple[Name, ...]]:
        """A message's text without its bracket lines, its date, and the names in it, those of such lines included."""
        known = self._texts.get(text)
        if known is not None:
            return known
        kept: list[str] = []
        labels: list[Name] = []
        date = ""
        size = 0
        for line in text.split("\n"):
            in_brackets = bracketed(line)
            if in_brackets is None:
                kept.append(line)
                size += len(line) + 1
                continue
            date = in_brackets or date
            labels += [Name(name.text, size) for name in names_in(line)]
        whole = "\n".join(kept).rstrip()
        lead = len(whole) - len(whole.lstrip())
        names = sorted([*names_in(whole), *labels], key=lambda name: name.at)
        read = whole.lstrip(), date, tuple(Name(name.text, max(0, name.at - lead)) for name in names)
        self._texts.put(text, read)
        return read

    def _results(self, messages: Sequence[ChatMessage]) -> list[Named]:
        items: list[Named] = []
        calls: dict[str, Call] = {}
        waiting: list[ChatMessage] = []
        for message in messages:
            calls.update({call.id: call for call in message.calls})
            if message.role == "tool":
                waiting.append(message)
                continue
            for n, result in enumerate(waiting):
                last = n == len(waiting) - 1 and message.role == "user"
                items += self._result(result, calls, message if last else None)
            waiting = []
        for result in waiting:
            items += self._result(result, calls, None)
        return items

    def _result(self, message: ChatMessage, calls: dict[str, Call], pictures: ChatMessage | None) -> list[Named]:
        """What a tool returned: an item for each hit, and one for its pictures with the prose that came along."""
        call = calls.get(message.call_id)
        hits = _hits(message.text, _path_argument(call))
        items = [Named(ContextItem(text, "", ()), names_in(text), (), name, whole=True) for name, text in hits if text]
        if pictures is not None and pictures.pages:
            labels = [Name(name, n) for n, (name, _) in enumerate(hits) if name]
            names = _page_names(pictures, names_in(pictures.text))
            ids = [name.text for name in labels if name.is_id]
            given = [*ids, *(name.text for name in labels)]
            if len(ids) == len(pictures.pages) or len(given) >= len(pictures.pages) > 1:
                spread = given
            else:
                spread = [given[0] if given else ""] * len(pictures.pages)
            of_pages = tuple(name or spread[n] for n, name in enumerate(names))
            prose = "\n".join(line for _, text in hits for line in text.split("\n") if _PROSE.match(line))
            items.append(Named(ContextItem(prose, "", pictures.pages), names_in(prose), of_pages, preferred(labels)))
        return items


def _question(
    message: ChatMessage, tools: Sequence[str], three_lines: bool
) -> tuple[str, str, str, tuple[ContextItem, ...], str]:
    """Question, text after it, head, own items and what is demanded, of the message that asks."""
    if three_lines and not has_question(message.text):
        message = _marked(message)
    lines = message.text.split("\n")
    demanding = {line for line in lines if any(names_tool(line, tool) for tool in tools)}
    demand = "\n".join(line for line in lines if line in demanding)
    parts = tuple(
        part
        if part.page is not None
        else replace(part, text="\n".join(ln for ln in part.text.split("\n") if ln not in demanding or _asks(ln)))
        for part in message.parts
    )
    question, tail, head, own = read_message(replace(message, parts=parts))
    return question, tail, head, own, demand


def names_tool(text: str, tool: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", text) is not None


def _asks(line: str) -> bool:
    return has_question(line) or line.rstrip().endswith("?")


def _marked(message: ChatMessage) -> ChatMessage:
    """A question line for a message without one: its last line above the three that asks, else the one above them."""
    lines = message.text.split("\n")
    end = next((n for n, line in enumerate(lines) if _LINES[0].search(line)), len(lines))
    above = [n for n, line in enumerate(lines[:end]) if line.strip()]
    asks = [n for n in above if lines[n].rstrip().endswith("?")]
    at = lines[(asks or above)[-1]] if above else ""
    parts = []
    for part in message.parts:
        if part.page is None and at and at in part.text.split("\n"):
            before, _, after = part.text.partition(at)
            part = replace(part, text=f"{before}Question: {at.strip()}{after}")
            at = ""
        parts.append(part)
    return replace(message, parts=tuple(parts))


def _page_names(message: ChatMessage, names: Sequence[Name]) -> list[str]:
    """The name of each picture of a message: one each where there are as many, else the nearest before it in the
    message, an id first, else the first after."""
    pages = message.pages
    distinct = list(dict.fromkeys(name.text for name in names))
    ids = list(dict.fromkeys(name.text for name in names if name.is_id))
    for each in (ids, distinct):
        if len(each) == len(pages):
            return each
    found: list[str] = []
    current = ""
    for part in message.parts:
        if part.page is not None:
            found.append(current)
        elif own := names_in(part.text):
            current = preferred(own) if len(pages) == 1 else own[-1].text
    return [name or preferred(names) for name in found]


def _hits(text: str, name: str) -> list[tuple[str, str]]:
    """Name and text of every hit: what stands under each line of one word in brackets, ``name`` over the rest."""
    hits: list[tuple[str, list[str]]] = [(name, [])]
    for line in text.split("\n"):
        label = label_of(line)
        if label:
            hits.append((label, []))
        else:
            hits[-1][1].append(line)
    found = [(name, "\n".join(lines).strip()) for name, lines in hits]
    if len(found) == 1 and _NOTHING.match(found[0][1]):
        return []
    return found if found[0][1] else found[1:]


def _path_argument(call: Call | None) -> str:
    """The first argument of a call that is a path or an id and nothing else."""
    if call is None:
        return ""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    values = arguments.values() if isinstance(arguments, dict) else ()
    texts = [value.strip() for value in values if isinstance(value, str)]
    return next((text for text in texts if [name.text for name in names_in(text)] == [text]), "")
