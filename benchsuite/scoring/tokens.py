"""Tokens of an answer, compared by value where they are numbers or dates.

Text is taken NFKC and case-folded; punctuation and apostrophes separate; the articles a, an and the are
dropped, but not the option letter A. What a hyphen, slash, colon or dot joins to a following digit stays one
token: a model number (``XJ-9``), a time, a range (``5-10``), a version. Year-first dates are one token,
whatever their separator. Spelled-out numbers and month names are words: no value is read from them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

SYMBOLS = {"us$": "usd", "$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "%": "%"}
CODES = ("usd", "eur", "gbp", "jpy", "inr", "dkk", "sek", "nok", "chf", "cny", "krw", "aud", "cad", "nzd", "sgd")
UNIT_WORDS = {
    **{code: code for code in CODES},
    **{"dollar": "usd", "dollars": "usd", "euro": "eur", "euros": "eur", "yen": "jpy", "percent": "%"},
}
# written against its number (15kg) a suffix is a token of its own, as it is in 15 kg
SUFFIXES = frozenset(("am", "pm", "kg", "km", "cm", "mm", "ml", "gb", "mb", "kwh", "min", *UNIT_WORDS))

_SIGNS = str.maketrans({**dict.fromkeys("‐‑‒–−", "-"), **dict.fromkeys("—―", " "), "⁄": "/"})
_HALF_DAY = re.compile(r"\b([ap])\.\s?m\b\.?")
_RUN = r"[^\W_]+(?:(?:-(?=\d)|(?<=\d)[/:.](?=\d)|(?<=\d),(?=\d{3}(?!\d)))[^\W_]+)*|(?<![.\w])\.\d+"
_LEXEME = re.compile(
    rf"""(?:(?<![^\W_])(?P<minus>-)(?=[$€£¥₹]?\s?\.?\d))?
         (?:(?P<before>us\$|[$€£¥₹])\s?(?P<inner>-)?(?=\.?\d))?
         (?P<run>{_RUN})
         (?:\s?(?P<after>%|[$€£¥₹](?!\s?\d)))?""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_TIME = re.compile(r"0?(\d{1,2}(?::\d\d)+)")
_GLUED = re.compile(r"(?P<code>[a-z]{3})?(?P<number>\d[\d.,:]*)(?P<suffix>[a-z]+)?")
_NOUN_FOLLOWS = re.compile(r"\s+(?!(?:is|was|are|were|has|had|took|takes|lasted|lasts|because|and|or)\b)[^\W_]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or a number with its value and unit (a currency code, ``%`` or empty)."""

    text: str
    value: Decimal | None = None
    unit: str = ""

    def matches(self, other: Token) -> bool:
        """Words by text; numbers by value, whatever their units unless the two name different ones."""
        if self.value is None or other.value is None:
            return self.value is other.value and self.text == other.text
        return self.value == other.value and (self.unit == other.unit or not (self.unit and other.unit))


def contains(answer: str, gold: str) -> bool:
    """True when the gold's tokens stand in the answer's one after the other; an empty gold never does."""
    wanted: Sequence[Token] = tokens_of(gold)
    found: Sequence[Token] = tokens_of(answer)
    if any(token.value is not None for token in wanted):
        wanted, found = _units_joined(wanted), _units_joined(found)
    width = len(wanted)
    return width > 0 and any(
        all(mine.matches(theirs) for mine, theirs in zip(wanted, found[at : at + width], strict=True))
        for at in range(len(found) - width + 1)
    )


@lru_cache(maxsize=4096)  # a gold answer and a refusal come back in every arm
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text. Where only articles stand there, they are its tokens."""
    plain = _plain(text)
    matches = list(_LEXEME.finditer(plain))
    kept = [match for match in matches if not _is_article(match, plain)] or matches
    return tuple(token for match in kept for token in _tokens(match))


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SIGNS)
    visible = folded if folded.isascii() else "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return _HALF_DAY.sub(r"\1m", visible).replace("per cent", "percent")


def _is_article(match: re.Match[str], text: str) -> bool:
    """An ``a`` is an article only before a noun: ``A is longer`` and ``(A)`` name an option."""
    if match["run"] == "a":
        return _NOUN_FOLLOWS.match(text, match.end()) is not None
    return match["run"] in ("an", "the")


def _tokens(match: re.Match[str]) -> list[Token]:
    run, unit = match["run"], SYMBOLS.get(match["before"] or match["after"] or "", "")
    negative = bool(match["minus"] or match["inner"])
    glued = _GLUED.fullmatch(run)
    if glued is None:
        return [_token(run, negative, unit)]
    code, suffix = glued["code"] or "", glued["suffix"] or ""
    if (code and code not in UNIT_WORDS) or (suffix and suffix not in SUFFIXES):
        return [Token(run)]
    number = _token(glued["number"], negative, unit or UNIT_WORDS.get(code, ""))
    return [number, Token(suffix)] if suffix else [number]


def _token(run: str, negative: bool, unit: str) -> Token:
    if _NUMBER.fullmatch(run):
        value = Decimal(run.replace(",", ""))
        return Token(run, -value if negative else value, unit)
    if date := _DATE.fullmatch(run):
        return Token(f"{date[1]}/{int(date[3]):02}/{int(date[4]):02}")
    if time := _TIME.fullmatch(run):
        return Token(time[1])
    return Token(run)


def _units_joined(tokens: Sequence[Token]) -> list[Token]:
    """``260 dollars`` and ``DKK 185`` as one token each."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and token.value is None and token.text in UNIT_WORDS and _bare(last):
            joined[-1] = replace(last, unit=UNIT_WORDS[token.text])
        elif last is not None and last.value is None and last.text in UNIT_WORDS and _bare(token):
            joined[-1] = replace(token, unit=UNIT_WORDS[last.text])
        else:
            joined.append(token)
    return joined


def _bare(token: Token) -> bool:
    return token.value is not None and not token.unit
