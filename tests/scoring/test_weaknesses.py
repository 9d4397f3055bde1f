"""Known weaknesses of the public MemLens harness in scoring, one by one: strict scoring has none of them.

M1 to M4 and M20 are the judge's, M9 to M11 the rules', M18 the gold's. Those outside scoring stand elsewhere: lost
and repeated work (M5 to M8) in tests/plugin/test_run.py and tests/faults, images as sent (M12, M13) in
tests/delivery, missing and remote ones (M14, M15) in tests/corpus/test_images.py and tests/delivery/test_render.py,
retries (M16) in tests/models/test_client.py, memory (M17) in tests/corpus/test_size.py, gold evidence (M19) in
tests/science/test_pairs.py.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource
from benchsuite.corpus.model import Question
from benchsuite.errors import DataError, EndpointError
from benchsuite.models.ask import Asker
from benchsuite.models.cache import AnswerCache, AnswerStore
from benchsuite.models.slots import SlotPool
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, request_key
from benchsuite.scoring.agreement import agreement, consistency
from benchsuite.scoring.answers import score_answer
from benchsuite.scoring.judge import judge_messages, parse_verdict, tally
from benchsuite.scoring.tasks import task_key
from benchsuite.scoring.tokens import contains

PHRASE = "Insufficient information"
JUDGE = ModelSpec("judge", "judge", "http://h/v1", "http://h/v1")
QUESTION = Question("q", "information_extraction", "What colour is it?", "red", "2024/05/31", "h")


def vote(question: Question = QUESTION, answer: str = "It is red.", model: str = "judge", **params: Any) -> Request:
    return Request(model, judge_messages(question, answer, PHRASE), {"temperature": 0, "max_tokens": 1024} | params)


def word(answer: str, gold: str = PHRASE, answerable: bool = False) -> str:
    return score_answer(answerable=answerable, gold=gold, answer=answer, refusal_phrase=PHRASE).word


class Recovering:
    """A judge that fails three times, then gives its verdict."""

    def __init__(self) -> None:
        self.sent = 0

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        self.sent += 1
        if self.sent <= 3:
            raise EndpointError("http", spec.endpoint, "overloaded", 500)
        return Reply("VERDICT=1", finish="stop")


def test_m1_a_judge_that_failed_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    judge = Recovering()

    async def run() -> list[float | None]:
        """One run over the same cell, on the cache of the runs before."""
        cache = AnswerCache(AnswerStore.create(tmp_path))
        try:
            reply = (await Asker(judge, SlotPool(1, {}), cache).ask(JUDGE, vote())).reply
        finally:
            cache.close()
        return [parse_verdict(reply.text, reply.finish)]

    for _ in range(3):
        with pytest.raises(EndpointError, match="HTTP 500"):
            asyncio.run(run())
    assert tally(asyncio.run(run())).verdict == 1.0
    assert asyncio.run(run()) == [1.0]
    assert judge.sent == 4, "the verdict is stored, the failures are not"


def test_m2_a_verdict_is_stored_under_everything_that_the_judge_was_asked() -> None:
    update = replace(QUESTION, type="knowledge_update", outdated="blue")
    requests = [
        vote(),
        vote(answer="It is blue."),
        vote(model="another"),
        vote(max_tokens=2048),
        vote(replace(QUESTION, gold="green")),
        vote(replace(QUESTION, text="Which colour is it?")),
        vote(replace(QUESTION, subtype="previnfo")),
        vote(update),
        vote(replace(update, outdated="grey")),
    ]
    keys = {request_key(JUDGE.family, request) for request in requests}
    assert len(keys) == len(requests)
    assert request_key(JUDGE.family, vote(), 1) not in keys, "a second vote is a call of its own"
    assert request_key(JUDGE.family, vote()) == request_key(JUDGE.family, vote(replace(QUESTION, id="renamed")))


def test_m3_without_subtypes_the_kinds_do_not_collapse() -> None:
    def key(kind: str, text: str, gold: str) -> tuple[str, bool]:
        found = task_key(replace(QUESTION, type=kind, text=text, gold=gold))
        return found.key, found.inferred

    temporal, across = "temporal_reasoning", "multi_session_reasoning"
    assert [
        key(temporal, "Which of the following two durations is longer?", "A"),
        key(temporal, "Sort these facts in chronological order.", "(2)(1)"),
        key(temporal, "When was it?", "2024/01/15"),
        key(across, "Are both the same?", "Yes"),
        key(across, "How many are there?", "3"),
        key(across, "How much did they cost in total?", "$260.00"),
        key("information_extraction", "What did you suggest?", "tea"),
    ] == [
        ("TR_DurationComparison", True),
        ("TR_OrderRanking", True),
        ("TR_DateExtraction", True),
        ("MSR_YesNo", True),
        ("MSR_Counting", True),
        ("MSR_Arithmetic", True),
        ("IE_PreviousInfo", True),
    ]


@pytest.mark.parametrize(
    ("reply", "finish"),
    [("The candidate names the same", "length"), ("VERDICT=0", "length"), ("", "stop"), ("0", "stop")],
)
def test_m4_a_cut_or_empty_verdict_is_no_zero(reply: str, finish: str) -> None:
    assert parse_verdict(reply, finish) is None
    assert tally([parse_verdict(reply, finish)]).verdict is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Sufficient information exists: red", "wrong"),
        ("none", "wrong"),
        ("None of the bikes is red.", "wrong"),
        ("", "unparsed"),
        ("<think>hm</think>", "unparsed"),
        ("<|im_end|>", "unparsed"),
        ("Insufficient information, but I would say red.", "wrong"),
        ("Insufficient information.", "right"),
        ("There is not sufficient information in the chats.", "right"),
    ],
)
def test_m9_only_a_refusal_is_a_correct_abstention(answer: str, expected: str) -> None:
    assert word(answer) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("5", "15", False),
        ("5", "5", True),
        ("2024/01/15", "2024/01/151", False),
        ("$260.00", "$260", True),
        ("$260", "$260.00", True),
        ("A", "Bad", False),
        ("art", "party", False),
    ],
)
def test_m10_containment_is_of_tokens_and_numbers_are_values(gold: str, answer: str, expected: bool) -> None:
    assert contains(answer, gold) is expected


@pytest.mark.parametrize("words", [2048, 8192])
def test_m11_a_long_answer_is_scored_as_it_stands(words: int) -> None:
    reasoned = f"<think>{'hm ' * words}</think>It is red."
    assert word(reasoned, gold="red", answerable=True) == "right"
    assert word("so " * words + "it is red.", gold="red", answerable=True) == "right"
    assert word("so " * words, gold="red", answerable=True) == "wrong"
    assert word("so " * words) == "wrong", "and no abstention"


def load(folder: Path, question_id: str, answer: object) -> Question:
    (folder / "release_images").mkdir(parents=True)
    PillowImage.new("RGB", (40, 30)).save(folder / "release_images" / "a.png")
    item = {
        "question_id": question_id,
        "question_type": "multi_session_reasoning",
        "question": "How many?",
        "answer": answer,
        "haystack_sessions": [[{"role": "user", "content": "<image>", "images": ["a.png"], "has_answer": True}]],
        "haystack_session_ids": ["s"],
        "haystack_dates": ["2024/05/06 (Mon) 17:17"],
        "answer_session_ids": ["s"],
    }
    (folder / "dataset_32k.json").write_text(json.dumps([item]))
    source = MemLensSource(folder / "dataset_32k.json")
    (record,) = source.records("32k", ImageIndex(source.image_root))
    return record.question


@pytest.mark.parametrize("answer", [5, 5.0])
def test_m18_a_number_as_gold_is_scored_and_none_is_a_fault_of_the_data(tmp_path: Path, answer: object) -> None:
    question = load(tmp_path / "number", "0x00a", answer)
    assert question.id == "0x00a"
    assert word("I count five.", question.gold, answerable=True) == "right"
    assert task_key(question).key == "MSR_Counting"
    with pytest.raises(DataError, match=r"item 0x00a: answer: missing"):
        load(tmp_path / "none", "0x00a", None)


def test_m20_a_judge_is_held_against_the_rule_and_against_itself() -> None:
    votes = ([1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, None, 0.0])
    rows = [
        {"scores.subem": subem} | {f"scores.{name}": value for name, value in tally(cast).scores().items()}
        for subem, cast in zip((1.0, 0.0, 0.0, 1.0), votes, strict=True)
    ]
    found = agreement(rows)
    assert (found.both_right, found.judge_only, found.both_wrong, found.subem_only) == (1, 1, 1, 0)
    assert found.n == 3, "what the judge left open is in no count"
    assert (consistency(rows).n, consistency(rows).unanimous) == (4, 2)
