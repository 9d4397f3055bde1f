"""The public harness' rules, rule by rule."""

from __future__ import annotations

import pytest

from benchsuite.corpus.model import Question
from benchsuite.registry import Registry
from benchsuite.scoring import upstream
from benchsuite.scoring.upstream import f1, is_refusal, normal, parse, score_answer, sub_em


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>a</think> b", "b"),
        ("a</think>b</think>c", "b</think>c"),
        ("<think>a", "<think>a"),
        ("<|begin_of_box|>x<|end_of_box|><|im_end|>", "x"),
        ("[CONTENT_FILTER_REJECTED]", ""),
        (" x ", "x"),
    ],
)
def test_parse(reply, text):
    assert parse(reply) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$460.00", "460.00"),
        ("On 2024/01/15.", "on 2024/01/15"),
        ("x.y 1.b 1/2", "x y 1 b 1/2"),
        ("The dog, a cat; an owl", "dog cat owl"),
        ("A. It is", "it is"),
        ("A 5", "a 5"),
        ("don't-know", "don t know"),
    ],
)
def test_normal(text, expected):
    assert normal(text) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("5", "15", True),
        ("2024/01/15", "2024/01/151", True),
        ("$260.00", "$260", False),
        ("SCHOOL", "preschool", True),
        ("A", "bad", True),
        ("The", "the", False),
        ("red", "", False),
    ],
)
def test_sub_em(gold, answer, expected):
    assert sub_em(answer, gold) is expected


def test_f1():
    assert f1("the red red bike", "red bike") == pytest.approx(0.8)
    assert f1("", "red") == f1("red", "") == f1("blue", "red") == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sufficient information exists: red",
        "INSUFFICIENT INFORMATION",
        "not enough details",
        "I cannot identify it, but red",
        "unable to provide",
        "I don't know",
        "do not have enough information",
        "without context",
        "no data",
        "it doesn't provide enough",
        "cannot be determined",
        "unanswerable",
        "lacking details",
        "none of them",
        "n/a",
        " Unknown ",
    ],
)
def test_refusals(text):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text", ["red", "nonetheless", "unknown person", "I could not find it", "no mention", "I cannot tell", "don’t know"]
)
def test_no_refusals(text):
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("answerable", "answer", "tokens", "expected"),
    [
        (True, "It is red", 5, ("right", 1.0, False, "subem")),
        (True, "none of the others, red", 5, ("right", 1.0, True, "subem")),
        (True, "none", 5, ("refused", 0.0, True, "subem")),
        (True, "blue", None, ("wrong", 0.0, False, "subem")),
        (True, None, 0, ("refused", 0.0, True, "subem")),
        (True, "red", 2047, ("right", 1.0, False, "subem")),
        (True, "red", 2048, ("refused", 0.0, True, "subem")),
        (False, "red", 2048, ("right", 1.0, True, "refusal")),
        (False, "red", None, ("wrong", 0.0, False, "refusal")),
    ],
)
def test_words(answerable, answer, tokens, expected):
    score = score_answer(answerable=answerable, gold="red", answer=answer, output_tokens=tokens)
    assert (score.word, score.score, score.refused, score.metric) == expected
    assert score.scorer == upstream.SCORER


def test_the_figures_beside_the_score():
    assert dict(score_answer(answerable=True, gold="red", answer="a red bike").extra) == {"f1": pytest.approx(2 / 3)}
    refusal = score_answer(answerable=False, gold="Insufficient information", answer="Insufficient information")
    assert dict(refusal.extra) == {"subem": 1.0, "f1": 1.0}


def test_it_is_the_suites_scorer_in_upstream_mode():
    registry = Registry()
    upstream.register(registry)
    scorer = registry.scorers["memlens", "upstream"]
    question = Question("q", "t", "?", "5", "", "h")
    assert scorer.version == "memlens-upstream/1"
    assert scorer.score(question, "15", "Insufficient information").word == "right"


def test_every_quirk_says_what_it_does():
    assert len({quirk.value for quirk in upstream.Quirk}) == len(upstream.Quirk)
