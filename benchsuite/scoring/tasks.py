"""Which of MemLens' ten kinds of task a question is: the judge's criteria and the tables by task depend on it.

The public data may lack subtypes. The kind is then inferred from what the question asks and what its gold looks
like, and says so, so that no kind disappears into another unseen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchsuite.corpus.model import Question
from benchsuite.scoring.numerals import digits

TASK_KEYS = (
    "IE_Entity",
    "IE_PreviousInfo",
    "KU_KnowledgeUpdate",
    "TR_DurationComparison",
    "TR_OrderRanking",
    "TR_DateExtraction",
    "MSR_YesNo",
    "MSR_Counting",
    "MSR_Arithmetic",
    "AR_AnswerRefusal",
)
_BY_SUBTYPE: Mapping[tuple[str, str], str] = {
    ("information_extraction", "entity"): "IE_Entity",
    ("information_extraction", "previnfo"): "IE_PreviousInfo",
    ("temporal_reasoning", "duration_comparison"): "TR_DurationComparison",
    ("temporal_reasoning", "order_ranking"): "TR_OrderRanking",
    ("temporal_reasoning", "temporal_info_extraction"): "TR_DateExtraction",
    ("multi_session_reasoning", "arithmetic"): "MSR_Arithmetic",
    ("multi_session_reasoning", "counting"): "MSR_Counting",
    ("multi_session_reasoning", "entity"): "IE_Entity",
}
_YES_NO = re.compile(r"(?:yes|no)\.?", re.IGNORECASE)
_LETTER = re.compile(r"\(?[AB]\)?\.?")
_ORDER = re.compile(r"(?:\(\d+\)\s*)+")
_COUNT = re.compile(r"(?:\d+(?:\.0+)?|one)(?: [a-z ]+)?")
_AMOUNT = re.compile(r"\W*(?:[A-Za-z]{3}\s)?\d[\d,]*(?:\.\d+)?\s?\W?(?:[A-Za-z]+)?")
_HOW_MANY = re.compile(r"\bhow many\b(?! (?:more|fewer|less)\b)", re.IGNORECASE)
_LONGER = re.compile(r"\b(?:two durations|which (?:one )?(?:of \w+ )?(?:is|was|lasted|took) (?:the )?longer)\b", re.I)
_CHRONOLOGY = re.compile(
    r"\b(?:chronological order|earliest first|(?:sort|rank|order) (?:these|the following))\b", re.I
)
_SAID_BEFORE = re.compile(
    r"\b(?:you|did you|we) (?:\w+ )?(?:said|told|mention(?:ed)?|recommend(?:ed)?|suggest(?:ed)?|tell|say|discussed"
    r"|talked about|listed|explained)\b|\bremind me\b"
    r"|\b(?:previous|earlier|last) (?:conversation|chat|discussion|answer|reply)\b",
    re.IGNORECASE,
)
_CALCULATED = re.compile(
    r"\b(?:how much|how many (?:more|fewer|less)|total|sum|add(?:ed)? up|altogether|combined|differ(?:ence|s)?|average"
    r"|mean|(?:larg|high|low|small|cheap|great)est|most expensive|m(?:ax|in)imum)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TaskKey:
    """One of ``TASK_KEYS``; ``inferred`` when the data does not say it."""

    key: str
    inferred: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """As labels of an outcome row."""
        return (f"task:{self.key}", "task-inferred") if self.inferred else (f"task:{self.key}",)


def task_labels(question: Question) -> tuple[str, ...]:
    """The kind of task as labels of an outcome row."""
    return task_key(question).labels


def task_key(question: Question) -> TaskKey:
    """The kind of task by type and subtype; without a subtype, or with one that its type does not have, inferred.

    A question across sessions whose gold is neither yes or no, a count nor an amount asks for an entity.
    """
    if not question.answerable:
        return TaskKey("AR_AnswerRefusal", False)
    if question.type == "knowledge_update":
        return TaskKey("KU_KnowledgeUpdate", False)
    known = _BY_SUBTYPE.get((question.type, question.subtype))
    if known is not None:
        return TaskKey(known, False)
    gold = question.gold.strip()
    if (question.type, question.subtype) == ("multi_session_reasoning", "entity_resolution"):
        return TaskKey("MSR_YesNo", False) if _YES_NO.fullmatch(gold) else TaskKey(_across(question.text, gold), True)
    if question.type == "temporal_reasoning":
        return TaskKey(_temporal(question.text, gold), True)
    if question.type == "multi_session_reasoning":
        return TaskKey(_across(question.text, gold), True)
    return TaskKey("IE_PreviousInfo" if _SAID_BEFORE.search(question.text) else "IE_Entity", True)


def _temporal(text: str, gold: str) -> str:
    if _LETTER.fullmatch(gold) or _LONGER.search(text):
        return "TR_DurationComparison"
    return "TR_OrderRanking" if _ORDER.fullmatch(gold) or _CHRONOLOGY.search(text) else "TR_DateExtraction"


def _across(text: str, gold: str) -> str:
    if _YES_NO.fullmatch(gold):
        return "MSR_YesNo"
    if _HOW_MANY.search(text) and _COUNT.fullmatch(digits(gold.lower())):
        return "MSR_Counting"
    if _AMOUNT.fullmatch(gold) and (_CALCULATED.search(text) or _HOW_MANY.search(text)):
        return "MSR_Arithmetic"
    return "IE_Entity"
