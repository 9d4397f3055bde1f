"""When two short values are the same (MIRAGE section 3.5, ``norm``): the whole answer equals the gold.

Both texts are compared token by token (``tokens``): case, punctuation and articles do not count; numbers are equal by
value and dates in any form that has one reading. A number may stand with its unit or without, unless both name
one and they differ. Nothing is converted, rounded or translated. ``docs/mirage-scoring.md`` has examples.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

from benchsuite.scoring.numerals import MULTIPLIERS
from benchsuite.scoring.tokens import contains, f1, plain, tokens_of
from benchsuite.scoring.units import UNITS, go_together

NONE = "NONE"

_MORE_UNITS = {
    name: names.split()[0]
    for names in (
        "ms msec millisecond milliseconds",
        "us microsecond microseconds",
        "ns nanosecond nanoseconds",
        "hz hertz",
        *("khz", "mhz", "ghz", "mbps", "gbps", "fps", "rpm", "ppm", "db", "dpi", "pp"),
        "px pixel pixels",
        "kcal calorie calories cal",
        "step steps",
        "celsius",
        "fahrenheit",
        "byte bytes",
        "unit units",
        "point points pts",
    )
    for name in names.split()
}
_UNITS = {**UNITS, **_MORE_UNITS}
_SPLIT = "|".join(sorted((name for name in _MORE_UNITS if len(name) > 1), key=len, reverse=True))
_GLUED = re.compile(rf"(?<![\w.,])([\d.,]*\d)({_SPLIT}|h|s|m|g|l|w)\b")
_SHORT = re.compile(r"(?<![\w.,])([$€£¥₹]?[\d.,]*\d)\s?(k|K|M|B|bn|mn|mln)\b(?!\.\w)")
_SHORT_WORDS = {"k": "thousand", "K": "thousand", "M": "million", "mn": "million", "mln": "million"}
_HOURS = re.compile(r"(?<![\w.,])(\d+)\s?h(?:rs?|ours?)?,?\s*(\d+)\s?m(?:ins?|inutes?)?\b")
_DEGREES = re.compile(r"°\s?([cf])\b", re.IGNORECASE)
_US_DOLLARS = re.compile(r"\bu\.?s\.?\s+dollars?\b", re.IGNORECASE)
_INEXACT = re.compile(r"[<>~≤≥≈±≲≳]=?(?=\s?[$€£¥₹]?-?\.?\d)")
_MARKED_LETTER = re.compile(r"(?<![^\W_])([A-Za-z])([+#-]{1,2})(?![\w+#-])")
_MARKS = {"+": "plus", "#": "sharp", "-": "minus"}
_NO_UNIT = frozenset(("at", "least", "most", "more", "less", "than", "about", "or", "and", "to", "not", "of", "per"))
_ACCENT = re.compile("([A-Za-z])[\u0300-\u036f]+")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december",
)  # fmt: skip
_NAMES = {name[:3]: name for name in (*_DAYS, *_MONTHS)} | {"sept": "september", "thur": "thursday", "tues": "tuesday"}
_TRIM = " \t\r\n\"'`*“”‘’"


@dataclass(frozen=True, slots=True)
class _Quantity:
    """One number, the word that multiplies it (empty: none) and the unit that it names (empty: none)."""

    value: Decimal
    times: str
    unit: tuple[str, ...]


def is_none(text: str) -> bool:
    """Whether a field says NONE, whatever its case, quotes and brackets."""
    return "".join(c for c in plain(text) if c.isalnum()) == "none"


def values_equal(gold: str, answer: str, asked: str = "") -> bool:
    """Whether the whole answer is the gold value; ``asked`` is the question, whose words may stand as a unit.

    ``8,412 steps`` is ``8412`` where steps are a known unit or the question asks for steps; ``516.40`` is
    ``516.40 billion`` only where the question names the billions. An empty text equals nothing.
    """
    if is_none(gold) or is_none(answer):
        return is_none(gold) and is_none(answer)
    wanted, found = _prepared(gold), _prepared(answer)
    if contains(found, wanted) and f1(found, wanted) == 1.0:  # the same tokens in the same order, and no others
        return True
    words = frozenset(_stem(token.text) for token in tokens_of(asked)) - _NO_UNIT if asked else frozenset()
    one, other = _quantity(wanted, words), _quantity(found, words)
    return one is not None and other is not None and _same(one, other, words)


def _prepared(text: str) -> str:
    """What the tokens would lose or not read, written out: ``C++``, ``~5``, ``42ms``, ``7h 32m``, ``Aug``."""
    text = _ACCENT.sub(r"\1", unicodedata.normalize("NFD", text.strip(_TRIM))).replace("&", " and ")
    text = _NAMES.get(text.rstrip(".").casefold(), text)
    text = _MARKED_LETTER.sub(lambda m: "".join((m[1], *(_MARKS[mark] for mark in m[2]))), text)
    text = _US_DOLLARS.sub("usd", text)
    text = _DEGREES.sub(lambda m: " celsius" if m[1] in "cC" else " fahrenheit", text)
    text = _INEXACT.sub(" inexactly ", text)
    text = _HOURS.sub(r"\1 hours \2 minutes", text)
    return _GLUED.sub(r"\1 \2", text)


def _quantity(text: str, asked: frozenset[str]) -> _Quantity | None:
    """The one number that the text is, with currency before or unit words after it; None for anything else."""
    tokens = tokens_of(_SHORT.sub(lambda m: f"{m[1]} {_SHORT_WORDS.get(m[2], 'billion')}", text))
    numbers = [at for at, token in enumerate(tokens) if token.value is not None]
    if len(numbers) != 1 or numbers[0] > 1:
        return None
    number = tokens[numbers[0]]
    before = [token.text for token in tokens[: numbers[0]]]
    after = [token.text for token in tokens[numbers[0] + 1 :]]
    times = after.pop(0) if after and after[0] in MULTIPLIERS else ""
    unit = [number.unit] if number.unit else []
    for word in (*before, *after):
        if word in _UNITS:
            unit.append(_UNITS[word])
        elif word in after and _stem(word) in asked:
            unit.append(_stem(word))
        else:
            return None
    if any(word not in _UNITS for word in before) or number.value is None:
        return None
    return _Quantity(number.value, times, tuple(dict.fromkeys(unit)))


def _same(one: _Quantity, other: _Quantity, asked: frozenset[str]) -> bool:
    if one.unit and other.unit and one.unit != other.unit:
        single = len(one.unit) == len(other.unit) == 1
        if not single or not go_together(one.unit[0], other.unit[0]):
            return False
    if _total(one) == _total(other):
        return True
    named = {quantity.times for quantity in (one, other) if quantity.times}
    return len(named) == 1 and named <= asked and one.value == other.value


def _total(quantity: _Quantity) -> Decimal:
    return quantity.value * MULTIPLIERS.get(quantity.times, 1)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
