"""Tokens of an answer, compared by value where they are numbers or dates.

Text is taken NFKC and case-folded; punctuation and apostrophes separate; the articles a, an and the are
dropped, but not the option letter A. What a hyphen, slash, colon or dot joins to a following digit stays one
token: a model number (``XJ-9``), a time, a range (``5-10``), a version. A date is one token however it is
written, if it has one reading; so are a number with its unit, and two numbers of which one is meant.
``docs/scoring.md`` has the rules with examples.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from benchsuite.scoring.dates import normal_dates, normal_times
from benchsuite.scoring.numerals import MULTIPLIERS, ONE, digits, is_number_one
from benchsuite.scoring.units import CURRENCIES, SUFFIXES, SYMBOLS, UNITS, go_together

_SIGNS = str.maketrans({**dict.fromkeys("‐‑‒–−", "-"), **dict.fromkeys("—―", " "), "⁄": "/", "’": "'"})
_GROUPS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_DASH = re.compile(r"(?<=[\d%]) ?- ?(?=[$€£¥₹]\d)|(?<=[\d%]) {1,3}- {1,3}(?=\d)")
_PLUS = re.compile(r"(?<![\w.,])([$€£¥₹]?\d[\d.,]*)\+(?!\s?\d)")
_RUN = r"[^\W_]+(?:(?:-(?=\d)|(?<=\d)[/:.](?=\d)|(?<=\d),(?=\d{3}(?!\d)))[^\W_]+)*|(?<![.\w])\.\d+"
_LEXEME = re.compile(
    rf"""(?:(?<![^\W_])(?P<minus>-)(?=[$€£¥₹]?\.?\d))?
         (?:(?P<before>us\$|[$€£¥₹])\s?(?P<inner>-)?(?=\.?\d))?
         (?P<run>{_RUN})
         (?:\s?(?P<after>%|[$€£¥₹](?!\s?\d)))?""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)")
_TIME = re.compile(r"0?(\d{1,2}(?::\d\d)+)")
_GLUED = re.compile(r"(?P<code>[a-z]{3})?(?P<number>\d[\d.,]*)(?P<suffix>[a-z]+)?")
_NOUN_FOLLOWS = re.compile(r"\s+(?!(?:is|was|are|were|has|had|took|takes|lasted|lasts|because|and|or)\b)[^\W_]")
_BOUNDS = {("more", "than"), ("less", "than"), ("fewer", "than"), ("at", "least"), ("at", "most")}


@dataclass(frozen=True, slots=True)
class Token:
    """A word; a number with its value and unit (empty: none); or a date as (year, month, day), 0 where unsaid."""

    text: str
    value: Decimal | None = None
    unit: str = ""
    date: tuple[int, int, int] | None = None

    def matches(self, other: Token) -> bool:
        """Whether ``other`` says what this token of the gold answer says.

        Words by text. Numbers by value, whatever their units unless the two name different ones. Dates by the
        parts that this one has.
        """
        if self.date is not None and other.date is not None:
            return all(mine in (0, theirs) for mine, theirs in zip(self.date, other.date, strict=True))
        if self.value is None or other.value is None:
            return self.text == other.text
        return self.value == other.value and go_together(self.unit, other.unit)


def contains(answer: str, gold: str) -> bool:
    """True when the gold's tokens stand in the answer's one after the other; an empty gold never does."""
    wanted, found = _sides(answer, gold)
    width = len(wanted)
    return width > 0 and any(
        all(mine.matches(theirs) for mine, theirs in zip(wanted, found[at : at + width], strict=True))
        for at in range(len(found) - width + 1)
    )


def f1(answer: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the two bags of tokens; 0 when either is empty."""
    wanted, found = _sides(answer, gold)
    words = Counter(token.text for token in found if _is_word(token))
    others = [token for token in found if not _is_word(token)]
    shared = 0
    for token in sorted(wanted, key=_is_word):  # numbers and dates first: a word may stand for one of its text
        partner = next((other for other in others if token.matches(other)), None)
        if words[token.text] and (partner is None or _is_word(token)):
            words[token.text] -= 1
        elif partner is not None:
            others.remove(partner)
        else:
            continue
        shared += 1
    return 2 * shared / (len(wanted) + len(found)) if shared else 0.0


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text before units and ranges are joined. Where only articles stand there, they are its
    tokens."""
    return _cut(text, partial_dates=False)


def plain(text: str) -> str:
    """NFKC, case-folded, with plain dashes and apostrophes and no invisible characters; ``1 200`` is ``1,200``
    where its space is one that does not break."""
    text = _GROUPS.sub(",", text)
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SIGNS)
    return "".join(c for c in folded if unicodedata.category(c) != "Cf")


def _sides(answer: str, gold: str) -> tuple[Sequence[Token], Sequence[Token]]:
    """The tokens of gold and answer as they are compared: dates without a year or a day are read where the gold
    has a date, units and ranges joined where it has a number."""
    wanted = _cut(gold, partial_dates=True)
    dated = any(token.date is not None for token in wanted)
    if not dated:
        wanted = _cut(gold, partial_dates=False)
    if any(token.value is not None or token.text[0].isdigit() for token in wanted):
        return _joined(gold, dated), _joined(answer, dated)
    return wanted, _cut(answer, dated)


@lru_cache(maxsize=4096)  # a gold answer and a refusal come back in every arm
def _joined(text: str, partial_dates: bool) -> tuple[Token, ...]:
    return tuple(_ranges_joined(_units_joined(_multiplied(_cut(text, partial_dates)))))


@lru_cache(maxsize=4096)
def _cut(text: str, partial_dates: bool) -> tuple[Token, ...]:
    text = digits(plain(text))
    if any(character.isdigit() for character in text):
        text = normal_dates(normal_times(text), partial=partial_dates)
        text = _PLUS.sub(r"at least \1", _DASH.sub(" to ", text)).replace("per cent", "percent")
    matches = list(_LEXEME.finditer(text))
    kept = [match for match in matches if not _is_article(match, text)] or matches
    tokens: list[Token] = []
    for match in kept:
        if match["run"] == ONE and is_number_one(text[max(0, match.start() - 40) : match.start()]):
            tokens.append(Token(ONE, Decimal(1)))
        else:
            tokens.extend(_tokens(match))
    return tuple(tokens)


def _is_word(token: Token) -> bool:
    return token.value is None and token.date is None


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
    if (code and code not in CURRENCIES) or (suffix and suffix not in SUFFIXES):
        return [Token(run)]
    number = _token(glued["number"], negative, unit or CURRENCIES.get(code, ""))
    return [number, Token(suffix)] if suffix else [number]


def _token(run: str, negative: bool, unit: str) -> Token:
    if _NUMBER.fullmatch(run):
        value = Decimal(run.replace(",", ""))
        return Token(run, -value if negative else value, unit)
    if date := _DATE.fullmatch(run):
        return Token(run, date=(int(date[1]), int(date[2]), int(date[3])))
    if time := _TIME.fullmatch(run):
        return Token(time[1])
    return Token(run)


def _multiplied(tokens: Iterable[Token]) -> list[Token]:
    """``2 million`` as one number."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and last.value is not None and token.text in MULTIPLIERS:
            joined[-1] = replace(last, text=f"{last.text} {token.text}", value=last.value * MULTIPLIERS[token.text])
        else:
            joined.append(token)
    return joined


def _units_joined(tokens: Iterable[Token]) -> list[Token]:
    """``260 dollars``, ``DKK 185`` and ``15 kg`` as one token each."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and token.value is None and token.text in UNITS and _bare(last):
            unit = UNITS[token.text]
            text = last.text + unit if len(unit) == 1 else last.text  # 946 g as 946g, which is a word of its own
            joined[-1] = replace(last, text=text, unit=unit)
        elif last is not None and last.value is None and last.text in CURRENCIES and _bare(token):
            joined[-1] = replace(token, unit=CURRENCIES[last.text])
        else:
            joined.append(token)
    return joined


def _ranges_joined(tokens: Sequence[Token]) -> list[Token]:
    """``5 to 10``, ``5 or 10``, ``between 5 and 10`` and ``more than 5`` as one word each: none of them is a number.

    ``from 5 to 10`` may tell of a change, so its numbers stay two.
    """
    joined: list[Token] = []
    for token in tokens:
        joined.append(token)
        if token.value is None:
            continue
        texts = [each.text for each in joined[-4:-1]]
        if len(joined) >= 3 and joined[-3].value is not None:
            between = texts[-1] == "and" and texts[0] == "between" and len(texts) == 3
            chosen = texts[-1] in ("to", "or", "through") and not (len(texts) == 3 and texts[0] == "from")
            if between or chosen:
                joined[-4 if between else -3 :] = [Token(f"{joined[-3].text}-{token.text}")]
        elif tuple(texts[-2:]) in _BOUNDS:
            joined[-3:] = [Token(" ".join((*texts[-2:], token.text)))]
    return joined


def _bare(token: Token) -> bool:
    return token.value is not None and not token.unit
