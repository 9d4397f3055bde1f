"""What is written down of a planted object: its picture or text, what is said of it, and what is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas

SEED = 20260914


def opaque(kind: str, name: str) -> str:
    """Eight hex digits that depend on the seed and on names that stand nowhere in the bank."""
    return hashlib.sha256(f"{SEED}:{kind}:{name}".encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Ask:
    """A matched pair: an answerable question, and ``other``, which asks for something that is not there.

    ``absent`` are the words of ``other`` that stand nowhere in the object; ``other`` empty: there is no counterpart.
    """

    question: str
    answer: str
    other: str
    absent: tuple[str, ...]
    difficulty: str = "lookup"
    query: str = "value"
    risk: str = "none"


@dataclass(frozen=True, slots=True)
class Planted:
    """``said`` and ``reply`` may name ``{id}``, ``{path}``; so may the texts of ``records``, by file name pattern."""

    key: str
    kind: str
    suffix: str
    said: str
    reply: str
    records: tuple[tuple[str, str], ...]
    asks: tuple[Ask, ...]
    draw: Callable[[], Canvas] | None = None
    text: str = ""
    after: tuple[tuple[str, str], ...] = ()  # a further exchange about it
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"ax_{opaque('artifact', self.key)}")

    @property
    def path(self) -> str:
        return f"artifacts/{self.id}{self.suffix}"

    def fill(self, text: str) -> str:
        return text.replace("{id}", self.id).replace("{path}", self.path)


def lookup(question: str, answer: str, other: str, *absent: str, query: str = "value", risk: str = "none") -> Ask:
    return Ask(question, answer, other, absent, "lookup", query, risk)


def comparison(question: str, answer: str, other: str, *absent: str, query: str = "value", risk: str = "none") -> Ask:
    return Ask(question, answer, other, absent, "comparison", query, risk)


def layout(question: str, answer: str, other: str, *absent: str, query: str = "value", risk: str = "none") -> Ask:
    return Ask(question, answer, other, absent, "layout", query, risk)
