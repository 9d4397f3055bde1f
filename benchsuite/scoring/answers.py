"""Strict scoring of one answer: SubEM and F1 where there is an answer to give, refusal where there is none.

SubEM: the gold's tokens stand in the answer one after the other (``tokens``); a gold that is an order, an option
letter, yes or no is what the answer must settle on (``forms``). F1 is over the same tokens.

An answer is *unparsed* (no score) when nothing is left of it once its reasoning is taken off; it is a *refusal*
when every clause of every sentence is one, so that an answer with a hedge beside it is still an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from benchsuite.scoring.forms import closed_form
from benchsuite.scoring.tasks import task_labels
from benchsuite.scoring.tokens import contains, f1

if TYPE_CHECKING:
    from benchsuite.corpus.model import Question
    from benchsuite.registry import Registry

SCORER = "memlens-strict/2"
SUBEM, REFUSAL = "subem", "refusal"

_SPACES = re.compile(r"[^\S\n]+")
_SPECIAL = re.compile(r"<\|[^<>|]*\|>")
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"')*]|$)|[\n;:()—–]")
_TURN = re.compile(
    r"(?:,?\s+|^)(?:but|however|though|instead|so(?! far)|maybe|perhaps|i guess|i think)\b"
    r"|,\s+(?:yet|probably|possibly|likely)\b"
)
_CONCESSION = re.compile(r"\s*(?:although|though|while|even though|even if|despite)\b[^,]*,")
_LABEL = re.compile(r"\W*(?:final\s+)?answer\W*[:\n]")
_TRIM = " \t*_\"'`,-#>"

_NOT = r"(?:\b(?:not|never)\b|n't\b)"
_MATTER = r"(?:information|info|context|evidence|details?|data)"
_SOURCE = r"(?:conversations?|history|histories|chat|context|messages?|sessions?|information)"
_GIVEN = r"(?:mentioned|provided|specified|stated|disclosed|recorded|discussed|available|included|given|shown)"
_GIVES = r"(?:contain|mention|provide|specify|state|include|say|disclose)"
_FOUND_OUT = (
    r"(?:answer|determine|tell|say|know|find|identify|infer|establish|confirm|provide"
    r"|(?:be )?(?:answered|determined|known|identified|inferred|established|confirmed))"
)
# what may follow the phrase in a refusal: "..., red" is an answer
_GOES_ON = (
    r"(?=$|,? (?:to|about|on|in|for|from|regarding|is|was|exists?|available|provided|given|here|because"
    r"|since|as)\b)"
)
_REFUSALS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:{_NOT}|\b(?:no|lacks?|without)\b).{{0,30}}\b(?:enough|sufficient)\b.{{0,20}}\b{_MATTER}\b",
        rf"\b(?:not enough|insufficient) {_MATTER}\b{_GOES_ON}",
        r"(?<!you )\b(?:cannot|can not|can't|could not|couldn't|(?:unable|not able|impossible|not possible) to)\b"
        rf".{{0,25}}\b{_FOUND_OUT}\b",
        r"\b(?:i|we) (?:do not|don't) (?:know|have (?:that|this|the|any|enough)\b)",
        rf"{_NOT}.{{0,15}}\b(?:{_GIVEN}|{_GIVES})\b.{{0,200}}\b{_SOURCE}\b",
        rf"\b{_SOURCE}\b.{{0,200}}{_NOT}.{{0,15}}\b{_GIVES}\b",
        rf"\b(?:is|was|are|were|been) ?{_NOT} (?:been )?{_GIVEN}$",
        rf"\b(?:is|was|are|were|been)n't {_GIVEN}$",
        rf"\bno (?:\w+ )?(?:{_MATTER}|mention|record|indication)\b"
        r"(?=$| (?:of|about|on|in|for|from|to|that|regarding|is|was|exists?|available|provided|given)\b)",
    )
)
_WHOLE_REFUSAL = re.compile(
    rf"(?:(?:the answer|it|this|that) is )?(?:unknown|unanswerable|n/a|not (?:known|answerable|{_GIVEN}))"
)
_COMMITTED = re.compile(r"(?:yes|no)\s*,")
_COURTESY = re.compile(
    r"(?:(?:i'm|i am|we are|we're) )?(?:very )?(?:sorry|afraid)|unfortunately|i apologi[sz]e|apologies"
    rf"|(?:based on|according to|from) (?:\w+ ){{0,3}}{_SOURCE}"
)


@dataclass(frozen=True, slots=True)
class Score:
    """``word`` is right, wrong, refused or unparsed; ``score`` is 1.0, 0.0, or None when unparsed.

    ``refused`` is None when unparsed; ``metric`` is subem or refusal; ``answer`` is the text that was scored.
    ``extra`` holds further metrics by name, which stand beside the score in a row (f1).
    """

    word: str
    score: float | None
    refused: bool | None
    metric: str
    scorer: str
    answer: str
    extra: Mapping[str, float] = field(default_factory=dict)


def score_answer(*, answerable: bool, gold: str, answer: str | None, refusal_phrase: str) -> Score:
    """Score one reply against its gold answer; ``refusal_phrase`` is what the protocol asks a refusal to be.

    A refusal of an answerable question is 0 in every metric. F1 of a closed form is its verdict: permuted orders
    have the same bag of tokens.
    """
    metric = SUBEM if answerable else REFUSAL
    text = final_answer(answer or "")
    if not text:
        return Score("unparsed", None, None, metric, SCORER, text)
    refused = is_refusal(text, refusal_phrase)
    if not answerable:
        return Score("right" if refused else "wrong", float(refused), refused, metric, SCORER, text)
    if refused:
        return Score("refused", 0.0, True, metric, SCORER, text, {"f1": 0.0})
    closed = closed_form(gold, text)
    right = contains(text, gold) if closed is None else closed
    overlap = f1(text, gold) if closed is None else float(closed)
    return Score("right" if right else "wrong", float(right), False, metric, SCORER, text, {"f1": overlap})


def final_answer(text: str) -> str:
    """What follows the last ``</think>``, without special tokens; empty for reasoning that never ends."""
    _, mark, after = text.rpartition("</think>")
    if not mark and after.lstrip().startswith("<think>"):
        return ""
    return (_SPECIAL.sub("", after) if "<|" in after else after).strip()


def is_refusal(text: str, refusal_phrase: str) -> bool:
    """True when the text has clauses and every one is a refusal; an empty text is not one."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    plain = _SPACES.sub(" ", plain)
    plain = _LABEL.sub("", plain, count=1) if _LABEL.match(plain) else plain
    phrase = _pattern(refusal_phrase)
    clauses = [clause for sentence in _SENTENCE_END.split(plain) for clause in _clauses(sentence)]
    return bool(clauses) and all(_refuses(clause, phrase) for clause in clauses)


@lru_cache(maxsize=16)
def _pattern(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(phrase.casefold().strip(' .'))}\b{_GOES_ON}")


def _clauses(sentence: str) -> list[str]:
    """A sentence cut where it turns (``..., but red``), without what holds no word or is courtesy."""
    conceded = _CONCESSION.match(sentence)
    parts = [conceded[0], sentence[conceded.end() :]] if conceded else [sentence]
    clauses = [clause.strip(_TRIM) for part in parts for clause in _TURN.split(part)]
    return [clause for clause in clauses if re.search(r"[^\W_]", clause) and not _COURTESY.fullmatch(clause)]


def _refuses(clause: str, phrase: re.Pattern[str]) -> bool:
    if _COMMITTED.match(clause):
        return False
    patterns = (phrase, *_REFUSALS)
    return _WHOLE_REFUSAL.fullmatch(clause) is not None or any(pattern.search(clause) for pattern in patterns)


def register(registry: Registry) -> None:
    def score(question: Question, answer: str, refusal: str) -> Score:
        return score_answer(answerable=question.answerable, gold=question.gold, answer=answer, refusal_phrase=refusal)

    registry.scorer("memlens", SCORER, score, labels=task_labels)
