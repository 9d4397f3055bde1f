"""The public MemLens harness' own rules for SubEM, F1 and refusal, by name, quirks included.

``--bench-scoring upstream`` scores by them, so that a run can be compared with figures that were made so. They are
rebuilt from what they do; strict scoring (``answers``) is what this project stands behind. ``Quirk`` names every
place where the two part; ``docs/scoring.md`` has an example of each.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from benchsuite.scoring.answers import REFUSAL, SUBEM, Score
from benchsuite.scoring.tasks import task_labels

if TYPE_CHECKING:
    from benchsuite.corpus.model import Question
    from benchsuite.registry import Registry

SCORER = "memlens-upstream/1"
OUTPUT_LIMIT = 2048
"""Replies of this many tokens or more are taken as empty (the public harness' rule, whatever limit was asked for)."""


class Quirk(Enum):
    """Where upstream scoring parts from strict, one by one; the value says what it does."""

    SUBSTRING = "SubEM is a substring of characters: gold 5 is in 15, gold A in any word with an a"
    NUMBERS_AS_TEXT = "numbers, money and dates are text: $260.00 is not $260, 2024/01/15 not January 15, 2024"
    CURRENCY_DROPPED = "currency signs are punctuation: $185 is in 185 DKK"
    HYPHEN_DROPPED = "hyphens and signs are spaces: gold 5 is in -5 and in 5-10"
    HEDGES_COUNT = "a refusal phrase anywhere is a refusal, whatever else is said; an answer beside it still counts"
    SUFFICIENT = "'sufficient information' is a refusal, with or without in-"
    NONE = "the word none is a refusal"
    EMPTY = "an empty or filtered reply is a refusal, so right where one is asked for, and never unparsed"
    LONG_IS_EMPTY = "a reply of 2048 tokens or more is taken as empty"
    FIRST_THINK_END = "the answer begins after the first </think>, not the last"


# a family of refusals: phrases that may stand anywhere, as whole words
_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "sufficiency": ("insufficient information", "sufficient information"),
    "not enough": tuple(f"not enough {what}" for what in ("information", "context", "details", "data")),
    "cannot": tuple(
        f"{start} {verb}"
        for start, verb in product(("cannot", "unable to"), ("determine", "answer", "provide", "find", "identify"))
    ),
    "passive": ("cannot be determined", "unanswerable"),
    "own ignorance": tuple(
        f"{start} {rest}" for start, rest in product(("do not", "don't"), ("know", "have enough information"))
    ),
    "absence": tuple(
        f"{start} {what}" for start, what in product(("no", "without"), ("information", "context", "details", "data"))
    ),
    "lack": tuple(
        f"{start} {what}" for start, what in product(("lack", "lacking"), ("information", "context", "details"))
    ),
    "source": tuple(
        f"{start} provide {what}" for start, what in product(("does not", "doesn't"), ("enough", "sufficient"))
    ),
    "none": ("none",),
}
_PHRASES = re.compile(rf"\b(?:{'|'.join(re.escape(p) for family in _FAMILIES.values() for p in family)})\b")
_WHOLE = frozenset(("n/a", "unknown"))

_SPECIAL = re.compile(r"<\|[^>]*\|>")
_FILTERED = "[CONTENT_FILTER_REJECTED]"
_MARKS = str.maketrans(dict.fromkeys(string.punctuation, " "))
_BETWEEN = re.compile(r"(?<=\w)[./](?=\w)")
_HOLD = {".": "\x01", "/": "\x02"}
_RELEASE = str.maketrans({hold: mark for mark, hold in _HOLD.items()})
_A_BEFORE_WORD = re.compile(r"\ba(?=\s+[a-z])")
_ARTICLES = re.compile(r"\b(?:an|the)\b")


def parse(reply: str) -> str:
    """The answer in a reply: after the first ``</think>``, special tokens and the filter's mark taken out."""
    _, mark, after = reply.partition("</think>")
    return _SPECIAL.sub("", after if mark else reply).replace(_FILTERED, "").strip()


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """Lower case; punctuation as spaces, but ``.`` and ``/`` between digits kept; articles taken out."""
    spaced = _BETWEEN.sub(_held, text.lower()).translate(_MARKS).translate(_RELEASE)
    return " ".join(_ARTICLES.sub(" ", _A_BEFORE_WORD.sub(" ", spaced)).split())


def _held(mark: re.Match[str]) -> str:
    before, after = mark.string[mark.start() - 1], mark.string[mark.end()]
    return _HOLD[mark[0]] if before.isdigit() and after.isdigit() else mark[0]


def sub_em(answer: str, gold: str) -> bool:
    """Whether the normal gold is a substring of the normal answer; never for an empty one."""
    wanted = normal(gold)
    return bool(wanted) and wanted in normal(answer)


def f1(answer: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the bags of normal words."""
    found, wanted = normal(answer).split(), normal(gold).split()
    shared = (Counter(found) & Counter(wanted)).total()
    return 2 * shared / (len(found) + len(wanted)) if shared else 0.0


def is_refusal(answer: str) -> bool:
    """True for an empty answer and for one that has a phrase of the refusal families in it."""
    lowered = answer.lower()
    return not answer or lowered.strip() in _WHOLE or _PHRASES.search(lowered) is not None


def score_answer(*, answerable: bool, gold: str, answer: str | None, output_tokens: int | None = None) -> Score:
    """Score one reply as upstream does. ``output_tokens`` is the reply's size with its reasoning; None: unknown.

    The metric of a question without an answer is whether it was refused; ``extra`` has SubEM and F1 of every
    answer, theirs against the phrase that stands as its gold, since upstream's overall figures take all in.
    """
    text = "" if output_tokens is not None and output_tokens >= OUTPUT_LIMIT else parse(answer or "")
    refused, contained, overlap = is_refusal(text), sub_em(text, gold), f1(text, gold)
    if not answerable:
        extra = {SUBEM: float(contained), "f1": overlap}
        return Score("right" if refused else "wrong", float(refused), refused, REFUSAL, SCORER, text, extra)
    word = "right" if contained else "refused" if refused else "wrong"
    return Score(word, float(contained), refused, SUBEM, SCORER, text, {"f1": overlap})


def register(registry: Registry) -> None:
    def score(question: Question, answer: str, refusal: str, output_tokens: int | None = None) -> Score:
        return score_answer(
            answerable=question.answerable, gold=question.gold, answer=answer, output_tokens=output_tokens
        )

    registry.scorer("memlens", SCORER, score, mode="upstream", labels=task_labels)
