"""Number words: read up to ninety-nine, and before hundred, thousand, million or billion."""

from __future__ import annotations

import re

NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = {
    name: value * 10
    for value, name in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}
_VALUES = {word: value for value, word in enumerate(NUMBERS)} | _TENS
_ORDINAL = r"first|second|third|\w+th"
_WORDS = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(NUMBERS[1:10])})\b)?"
    rf"|(?P<small>{'|'.join(word for word in NUMBERS if word != 'one')}))\b(?!-(?:{_ORDINAL})\b)"
)
MULTIPLIERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ONE = "one"
"""Left to the tokens: it is a number in ``one dog`` and a pronoun in ``the red one``."""

_COUNTS_ONE = frozenset((
    "is", "was", "are", "were", "be", "have", "has", "had", "only", "just", "exactly", "about", "total",
    "i", "you", "we", "they", "there's", "it's", "and",
))  # fmt: skip


def digits(text: str) -> str:
    """Number words in figures, all but a bare ``one``."""
    return _WORDS.sub(lambda match: str(_value(match)), text)


def is_number_one(before: str) -> bool:
    """Whether a ``one`` after this text counts something: it opens a clause or follows a word that a count follows."""
    before = before.rstrip(" ")
    return not before or before[-1] in '.,:;!?(\n"*-' or before.split()[-1] in _COUNTS_ONE


def _value(match: re.Match[str]) -> int:
    if match["small"]:
        return _VALUES[match["small"]]
    return _VALUES[match["tens"]] + (_VALUES[match["ones"]] if match["ones"] else 0)
