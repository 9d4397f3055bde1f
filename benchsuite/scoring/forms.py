"""Golds of a closed form: an order, an option letter, yes or no. An answer must commit to one, and to the right one.

Such a gold is short and its rivals stand in most answers too, so that containment proves nothing: what counts is
the one order, letter or particle that the answer settles on. None of these reads the question.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from benchsuite.scoring.numerals import NUMBERS
from benchsuite.scoring.tokens import plain

_ORDER_GOLD = re.compile(r"\s*\(\d+\)(?:[\s,;>→-]*\(\d+\))+\s*|\s*\d+(?:\s*(?:->|→|>)\s*\d+)+\s*")
_OPTION_GOLD = re.compile(r"\s*(?:[Oo]ption\s+)?\(?([A-H])\)?\.?\s*")
_YES_NO_GOLD = re.compile(r"\s*(yes|no)\.?\s*", re.IGNORECASE)

_DIGITS = {word: str(i) for i, word in enumerate(NUMBERS[1:10], 1)}
_PIECE = re.compile(r"\((\d{1,2})\)|(?<![\w.,:/$])(\d{1,2})(?![\w:/%]|[.,]\d)|([^\W_]+)|(\n)|([^\s\w])")
_LINKS = frozenset((
    "first", "second", "third", "fourth", "fifth", "sixth", "then", "next", "finally", "last", "lastly", "and",
    "before", "to", "followed", "by", "after", "that", "item", "event", "fact", "number", "no", "happened",
    "occurred", "came",
))  # fmt: skip
_LINK_SIGNS = frozenset(",;>→-–—()[]*#|&+.")
_NOT_THIS = frozenset(("not", "than", "instead"))

_LETTER = re.compile(
    r"""\(([A-Za-z])\)                                   # (a)
        | \b[Oo]ption\s+([A-Za-z])\b                     # option a
        | ^\W*([A-Ha-h])(?=[).:])                        # a.
        | (?<![\w'.-])([A-H])(?![\w']|-\w|\.\w)          # A""",
    re.VERBOSE | re.MULTILINE,
)
_ARTICLE = re.compile(
    r"\s+(?!(?:is|was|are|were|has|had|took|takes|lasted|lasts|ran|runs|spans|covers|came|comes|would|will"
    r"|because|and|or|nor|but|by|since|as|than|with|at|in|for|from|to)\b)[a-z]"
)
_ALONE = re.compile(r"\W*(?:[Oo]ption\s+)?([A-Za-z])\W*")
_STATED = re.compile(
    r"(?:\A\W*|\b(?:answer(?:\s+is|:)?|so|thus|therefore|hence)\W*)(?:[Oo]ption\s+)?\(?([A-H])(?![\w'])\)?"
    r"(?=\s*(?:$|[.:;,\n—–]))",
    re.MULTILINE,
)
_LARGER = re.compile(
    r"(?<![\w'.-])([A-H])\)?(?:\s*\([^)]{0,40}\))?\s+(?:is|was|has|had|took|lasted|lasts|ran)\b[^.;,]{0,80}?"
    r"\b(?:longer|longest|more|greater|larger|bigger)\b"
)
_NEGATED = re.compile(r"\bnot\s+(?:option\s+)?\(?$", re.IGNORECASE)

_PARTICLE = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])")
_CLOSES = re.compile(r"[\s'\"*_)]*(?:$|[^\w\s])")
_LEADS = re.compile(
    r"(?:^|[^\w\s'\"*_(]|\n|\b(?:is|be|was|so|then|thus|therefore|hence|answer|say|and|or))[\s'\"*_(]*$"
)


def closed_form(gold: str, answer: str) -> bool | None:
    """Whether the answer commits to the gold, or None when the gold has no closed form."""
    form = _form(gold)
    if form is None:
        return None
    kind, wanted = form
    if kind == "order":
        return named_order(answer) == wanted
    return (named_option(answer) if kind == "option" else named_particle(answer)) == wanted


@lru_cache(maxsize=4096)
def _form(gold: str) -> tuple[str, str | tuple[int, ...]] | None:
    if _ORDER_GOLD.fullmatch(gold):
        return "order", tuple(int(number) for number in re.findall(r"\d+", gold))
    if option := _OPTION_GOLD.fullmatch(gold):
        return "option", option[1]
    if particle := _YES_NO_GOLD.fullmatch(gold):
        return "particle", particle[1].lower()
    return None


def named_order(text: str) -> tuple[int, ...] | None:
    """The order of item numbers that a text settles on.

    A run is two or more numbers with nothing but signs and words such as *then* between. The last run counts,
    unless *not* stands before it; two runs joined by *or* are no order. Without a run, the numbers in brackets
    count in the order they stand, whatever is between: ``(2) the fair, (1) the lake``. Where numbers in brackets
    stand, bare ones are the numbering of a list and do not count.
    """
    folded = plain(text).replace("first of all", "first")
    bracketed = re.findall(r"\((\d{1,2})\)", folded)
    runs: list[list[int]] = []
    run: list[int] = []
    before = ""  # the last word in front of the run
    between = ""
    for piece in _PIECE.finditer(folded):
        word = piece[3] or ""
        figure = piece[1] or ("" if bracketed else piece[2] or _DIGITS.get(word, ""))
        if figure:
            if not run:
                before = between
            run.append(int(figure))
        elif word and word not in _LINKS:
            runs, run = _closed(runs, run, before), []
            if word == "or" and runs:
                before = "or"
            between = word
        elif piece[5] and piece[5] not in _LINK_SIGNS:
            runs, run = _closed(runs, run, before), []
    runs = _closed(runs, run, before)
    if runs:
        return tuple(runs[-1]) if [] not in runs else None
    return tuple(int(number) for number in bracketed) or None


def _closed(runs: list[list[int]], run: list[int], before: str) -> list[list[int]]:
    """The runs with one more, if it is one; an empty run marks that two were offered."""
    if len(run) < 2 or before in _NOT_THIS:
        return runs
    return [*runs, [], run] if before == "or" and runs else [*runs, run]


def named_option(text: str) -> str | None:
    """The option letter that a text settles on: the only one it names, or else the one it gives as its answer.

    Letters that are part of a word, and the article *a*, name nothing. Among several, a letter that opens the text
    or follows *answer* or *so*, or the one said to be longer or more, is the answer; otherwise there is none.
    """
    text = re.sub(r"[*_`]", "", unicodedata.normalize("NFKC", text).replace("’", "'")).strip()
    if alone := _ALONE.fullmatch(text):
        return alone[1].upper()
    letters = set()
    for mark in _LETTER.finditer(text):
        letter = mark[1] or mark[2] or mark[3] or mark[4]
        if mark[4] == "A" and _ARTICLE.match(text, mark.end()):
            continue
        if not _NEGATED.search(_window(text, mark.start())):
            letters.add(letter.upper())
    if len(letters) < 2:
        return letters.pop() if letters else None
    for pattern in (_STATED, _LARGER):
        found = {match[1] for match in pattern.finditer(text)}
        if len(found) == 1:
            return found.pop()
    return None


def named_particle(text: str) -> str | None:
    """*yes* or *no* as a text's answer: its first word, or a word that stands alone in its clause. Both: neither."""
    folded = plain(text).strip()
    opening = re.search(r"[^\W_]", folded)
    found = set()
    for match in _PARTICLE.finditer(folded):
        opens = opening is not None and opening.start() == match.start()
        if opens or (_CLOSES.match(folded, match.end()) and _LEADS.search(_window(folded, match.start()))):
            found.add(match[1])
    return found.pop() if len(found) == 1 else None


def _window(text: str, end: int) -> str:
    """The few words before a place: what is looked for there is short, and answers may be long."""
    return text[max(0, end - 40) : end]
