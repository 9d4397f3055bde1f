"""Extractive summaries for requests that ask for one: the lines that carry most, in order, within the word limit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchsuite.models.embedded.context import INSTRUCTING, ChatMessage, has_question
from benchsuite.models.embedded.naming import names_in, preferred

_WRITES = re.compile(r"\b(?:re)?writes?\b[^.]*\bsummar(?:y|ies)\b|\bsummari[sz]e\b", re.I)
_LIMIT = re.compile(r"\bat most (\d+) words\b", re.I)
_CITED = re.compile(r"\[source\b|\bsquare brackets\b", re.I)
_PROSE = re.compile(r"\bprose\b", re.I)
_ROLE = re.compile(r"^(?:user|assistant|tool|system): ?")
_PIECE = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_VALUE = re.compile(r"\d")
_PROPER = re.compile(r"(?<!^)(?<![.?!:]\s)\b[A-Z][\w’'-]+")
_CITATION = re.compile(r"\s*\[source:\s*([^\]]*)\]\s*$", re.I)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+")
_STUB = re.compile(r"^\s*\[[^\]]*\]\s*$")
_WHOLE = 40  # words of a line that is kept or left as it is
_LONGEST = 60  # words of one piece


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked for: at most ``words`` words, each line with its source (``cited``) or as flowing prose."""

    words: int
    cited: bool
    prose: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """A short line, or a sentence of a longer one; ``source`` is what it goes by, ``weight`` what it carries."""

    text: str
    source: str
    weight: float
    line: int

    @property
    def words(self) -> int:
        return len(self.text.split())


def task_of(messages: Sequence[ChatMessage]) -> Task | None:
    """The summary that a request asks for; None where it asks for something else.

    The instruction says to write one in 'at most N words', and no message has a question line.
    """
    instruction = "\n".join(message.text for message in messages if message.role in INSTRUCTING)
    limit = _LIMIT.search(instruction)
    if limit is None or not _WRITES.search(instruction):
        return None
    if any(message.role == "user" and has_question(message.text) for message in messages):
        return None
    return Task(int(limit[1]), bool(_CITED.search(instruction)), bool(_PROSE.search(instruction)))


def summarise(messages: Sequence[ChatMessage], task: Task) -> str:
    """The summary of all that is no instruction. Paths and values stand as they stood."""
    text = "\n".join(message.text for message in messages if message.role not in INSTRUCTING)
    pieces = _pieces(text)
    chosen = _choose(pieces, task)
    if task.prose:
        return " ".join(_ended(piece.text) for piece in chosen)
    if task.cited:
        return "\n".join(_cited(piece) for piece in chosen)
    lines: dict[int, list[str]] = {}
    for piece in chosen:
        lines.setdefault(piece.line, []).append(piece.text)
    return "\n".join(" ".join(texts) for texts in lines.values())


def _pieces(text: str) -> list[_Piece]:
    lines = text.split("\n")
    if lines and lines[0].rstrip().endswith(":") and not _ROLE.match(lines[0]):
        lines = lines[1:]
    seen: set[str] = set()
    pieces: list[_Piece] = []
    source = ""
    said = Counter(word for line in lines for word in _told(line))
    for number, raw in enumerate(lines):
        if raw.startswith("user: "):
            source = ""  # an exchange names its own
        line = _BULLET.sub("", _ROLE.sub("", raw)).strip()
        citation = _CITATION.search(line)
        if citation:
            line, source = line[: citation.start()].rstrip(), citation[1].strip()
        elif names := names_in(line):
            paths = [name for name in names if not name.is_id]
            source = paths[0].text if paths else source or preferred(names)
        if not line or _STUB.match(line):
            continue
        for part in _PIECE.split(line) if len(line.split()) > _WHOLE else [line]:
            words = part.split()
            key = " ".join(words)
            if key in seen or not any(char.isalnum() for char in part):
                continue
            seen.add(key)
            for start in range(0, len(words), _LONGEST):
                cut = " ".join(words[start : start + _LONGEST])
                pieces.append(_Piece(cut, source, _weight(cut, source, said), number))
    return pieces


def _told(line: str) -> set[str]:
    """The names and proper names of a line."""
    return {name.text for name in names_in(line)} | set(_PROPER.findall(line))


def _weight(text: str, source: str, said: Counter[str]) -> float:
    """What a piece carries for its length: paths and ids most, then values, then proper names; those that are said
    all the time less, and less too where there are few plain words."""
    words = text.split()
    names = {name.text for name in names_in(text)}
    values = sum(1 for word in words if _VALUE.search(word))
    rare = sum((4.0 if word in names else 1.0) / math.sqrt(max(1, said[word])) for word in _told(text))
    carried = min(rare, 8.0) + min(values, 4) * 0.5 + (0.5 if source and values else 0.0)
    spoken = sum(1 for word in words if word.strip(".,;:!?()'\"").isalpha())
    return carried / math.sqrt(4 + len(words)) * (0.3 + 0.7 * min(spoken, 8) / 8)


def _choose(pieces: Sequence[_Piece], task: Task) -> list[_Piece]:
    """The heaviest pieces that fit in the limit, in order; the first of equals."""
    left = task.words
    picked: list[int] = []
    for n in sorted(range(len(pieces)), key=lambda n: (-pieces[n].weight, n)):
        cost = pieces[n].words + (2 if task.cited and pieces[n].source else 0)
        if cost <= left and pieces[n].weight > 0:
            picked.append(n)
            left -= cost
        if left <= 0:
            break
    return [pieces[n] for n in sorted(picked)]


def _ended(text: str) -> str:
    return text if text[-1] in ".!?" else f"{text.rstrip(',;:')}."


def _cited(piece: _Piece) -> str:
    return f"{piece.text} [source: {piece.source}]" if piece.source else piece.text
