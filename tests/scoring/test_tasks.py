"""Ten kinds of task: by subtype, and inferred and said so without one."""

from __future__ import annotations

import pytest

from benchsuite.corpus.model import Question
from benchsuite.scoring.tasks import TASK_KEYS, TaskKey, task_key

IE, TR, MSR = "information_extraction", "temporal_reasoning", "multi_session_reasoning"


def key(kind: str, subtype: str = "", text: str = "What is it?", gold: str = "red", answerable: bool = True) -> TaskKey:
    return task_key(Question("q", kind, text, gold, "", "h", answerable=answerable, subtype=subtype))


@pytest.mark.parametrize(
    ("kind", "subtype", "gold", "expected"),
    [
        (IE, "entity", "red", "IE_Entity"),
        (IE, "previnfo", "red", "IE_PreviousInfo"),
        ("knowledge_update", "", "red", "KU_KnowledgeUpdate"),
        ("knowledge_update", "entity", "red", "KU_KnowledgeUpdate"),
        (TR, "duration_comparison", "2024/01/15", "TR_DurationComparison"),
        (TR, "order_ranking", "red", "TR_OrderRanking"),
        (TR, "temporal_info_extraction", "A", "TR_DateExtraction"),
        (MSR, "entity_resolution", "Yes", "MSR_YesNo"),
        (MSR, "counting", "5", "MSR_Counting"),
        (MSR, "arithmetic", "Yes", "MSR_Arithmetic"),
        (MSR, "entity", "red", "IE_Entity"),
    ],
)
def test_a_subtype_says_it(kind, subtype, gold, expected):
    assert key(kind, subtype, gold=gold) == TaskKey(expected, inferred=False)


@pytest.mark.parametrize(
    ("kind", "text", "gold", "expected"),
    [
        (TR, "Which of the following two durations is longer?", "first", "TR_DurationComparison"),
        (TR, "Did it last longer?", "B", "TR_DurationComparison"),
        (TR, "Sort these facts in chronological order.", "2, 1", "TR_OrderRanking"),
        (TR, "What came when?", "(1)(2)(3)", "TR_OrderRanking"),
        (TR, "When was it?", "2024/01/15", "TR_DateExtraction"),
        (MSR, "Is it the same one?", "No", "MSR_YesNo"),
        (MSR, "How many dogs did I show?", "5", "MSR_Counting"),
        (MSR, "How many dogs did I show in total?", "five", "MSR_Counting"),
        (MSR, "How many more dogs than cats?", "5", "MSR_Arithmetic"),
        (MSR, "How many kilometres did I walk?", "5.5 km", "MSR_Arithmetic"),
        (MSR, "How much did I spend?", "$260.00", "MSR_Arithmetic"),
        (MSR, "What was the total of both?", "185 DKK", "MSR_Arithmetic"),
        (MSR, "Which is the highest amount?", "$60.85", "MSR_Arithmetic"),
        (MSR, "Which code opens it?", "8606", "IE_Entity"),
        (IE, "What did you recommend for the trip?", "a hat", "IE_PreviousInfo"),
        (IE, "Remind me of the name.", "Ann", "IE_PreviousInfo"),
        (IE, "What colour is the bike?", "red", "IE_Entity"),
        ("", "What colour is the bike?", "red", "IE_Entity"),
    ],
)
def test_without_a_subtype_it_is_inferred_and_says_so(kind, text, gold, expected):
    assert key(kind, text=text, gold=gold) == TaskKey(expected, inferred=True)


def test_a_subtype_of_another_type_is_none():
    assert key(TR, "counting", gold="2024/01/15") == TaskKey("TR_DateExtraction", inferred=True)
    assert key(MSR, "entity_resolution", "How many different dogs?", "5") == TaskKey("MSR_Counting", inferred=True)


def test_what_has_no_answer_is_a_refusal_whatever_its_type():
    assert key("answer_refusal", answerable=False) == TaskKey("AR_AnswerRefusal", inferred=False)
    assert key(MSR, "counting", answerable=False).key == "AR_AnswerRefusal"


def test_labels_of_a_row():
    assert TaskKey("IE_Entity", False).labels == ("task:IE_Entity",)
    assert TaskKey("IE_Entity", True).labels == ("task:IE_Entity", "task-inferred")


def test_there_are_ten():
    assert len(set(TASK_KEYS)) == 10
