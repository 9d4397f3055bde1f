"""Strict scoring of answers, trap by trap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.scoring.answers import SCORER, Score, final_answer, is_refusal, score_answer
from benchsuite.scoring.tokens import contains, f1, tokens_of

PHRASE = "Insufficient information"
TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"

CONTAINED = [
    ("5", "15", False),
    ("5", "There were 5.", True),
    ("5", "It was 5.0 in all", True),
    ("2024/01/15", "2024/01/151", False),
    ("2024/01/15", "On 2024/01/15.", True),
    ("2024/01/15", "2024-1-15", True),
    ("2024/01/15", "January 15, 2024", True),
    ("2024", "2024/01/15", False),
    ("$260.00", "You spent $260.", True),
    ("$260.00", "260", True),
    ("$260.00", "260 dollars", True),
    ("$260.00", "USD 260", True),
    ("$260.00", "US$260", True),
    ("$260.00", "260 €", False),
    ("$260.00", "$2600", False),
    ("$260.00", "$260.01", False),
    ("185 DKK", "$185", False),
    ("185 DKK", "DKK 185", True),
    ("185 DKK", "185dkk", True),
    ("185 DKK", "185", True),
    ("$185", "185 DKK", False),
    ("20%", "20 percent", True),
    ("20%", "20 per cent", True),
    ("20%", "$20", False),
    ("1,200", "1200", True),
    ("1200", "about 1,200.00 in all", True),
    ("200", "1,200", False),
    ("-5", "5", False),
    ("5", "-5", False),
    ("5", "\u22125", False),
    ("-5", "It was -5 degrees", True),
    ("-$5", "$-5", True),
    ("0.5", ".5", True),
    ("10", "5-10", False),
    ("5-10", "5–10", True),
    ("9", "XJ-9", False),
    ("XJ-9", "the xj-9 model", True),
    ("3-day", "a 3 day trip", True),
    ("09:30", "at 9:30 am", True),
    ("10 a.m.", "10 AM", True),
    ("15 kg", "15kg", True),
    ("5", "5G", False),
    ("1990", "the 1990s", False),
    ("SCHOOL", "The word is SCHOOL.", True),
    ("school", "preschool", False),
    ("bottom right corner", "in the bottom-right corner", True),
    ("in the bottom right corner", "in bottom right corner", True),
    ("right bottom", "bottom right", False),
    ("a dog", "the dog", True),
    ("Sarah", "Sarah's bike", True),
    ("café", "CAFÉ", True),
    ("ｆｕｌｌ １２", "full 12", True),
    ("No", "I know nothing", False),
    ("No", "I know nothing about it, no.", True),
    ("A", "A", True),
    ("A", "(A)", True),
    ("A", "A is longer.", True),
    ("A", "Answer: A. Duration 1 is longer.", True),
    ("A", "B. It lasts a day longer", False),
    ("B", "B. Duration 2 is longer.", True),
    ("(2)(1)(3)", "2, 1, 3", True),
    ("(2)(1)(3)", "(2)(3)(1)", False),
    ("yen", "5000 yen", True),
    ("The", "The", True),
    ("!!", "!!", False),
    ("", "anything", False),
    ("25", "twenty-five", True),
    ("25", "twenty five of them", True),
    ("20", "twenty-five", False),
    ("20", "the twenty-first", False),
    ("5", "five hundred", False),
    ("1", "one", True),
    ("1", "I have one.", True),
    ("1", "You own one.", False),
    ("1", "one hundred", False),
    ("One Direction", "the band One Direction", True),
    ("Seven Eleven", "seven eleven", True),
    ("three-day trip", "a 3 day trip", True),
    ("$1,200,000", "$1.2 million", True),
    ("1200000", "1\u202f200\u202f000", True),
    ("1200", "1'200", True),
    ("10", "$5-$10", False),
    ("10", "5 - 10", False),
    ("10", "- 10", True),
    ("10", "up to 10", True),
    ("5 to 10", "5-10", True),
    ("$40", "The price went from $30 to $40.", True),
    ("5", "10 - 5 = 5", True),
    ("£5", "5 pounds", True),
    ("£5", "5 euros", False),
    ("5 lb", "5 pounds", True),
    ("5 kg", "5 pounds", False),
    ("$5", "5 pesos", False),
    ("946 g", "946g", True),
    ("946g", "946 grams", True),
    ("3 hours", "3h", True),
    ("3 hours", "3 days", False),
    ("3510 ml", "3510", True),
    ("36.8 kWh", "36.8kwh", True),
    ("2024/11/29", "29th of November, 2024", True),
    ("2024/11/29", "On Friday the 29th of November 2024", True),
    ("2024/11/29", "29-Nov-2024", True),
    ("2024/11/29", "2024 Nov. 29", True),
    ("2024/11/29", "11/29/2024", True),
    ("2024/11/29", "2024/11/29 (Fri) 07:58", True),
    ("2024/11/29", "30 November 2024", False),
    ("2024/11/29", "29 November 2023", False),
    ("2024/11/29", "29/11/24", False),
    ("2024/11/29", "Nov 28-29, 2024", False),
    ("2024/11/29 07:58", "November 29, 2024 at 7:58 a.m.", True),
    ("2024/11/29 (Fri) 07:58", "2024/11/29 07:58", True),
    ("2024/11/29 07:58", "2024/11/29", False),
    ("2024/05/05", "05/05/2024", True),
    ("03/04/2024", "03/04/2024", True),
    ("2024/02/30", "30 February 2024", False),
    ("November 2024", "2024/11/29", True),
    ("November 2024", "2023/11/29", False),
    ("November 29", "29 Nov", True),
    ("November 29", "29 Oct", False),
    ("5", "You may 5 times", True),
    ("21:30", "9:30 pm", True),
    ("09:30", "9:30 pm", False),
    ("12:05", "12:05 pm", True),
    ("0:05", "12:05 am", True),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), CONTAINED)
def test_contains(gold: str, answer: str, expected: bool) -> None:
    assert contains(answer, gold) is expected


def test_numbers_carry_value_and_unit() -> None:
    (token,) = tokens_of("-$1,250.50")
    assert (str(token.value), token.unit) == ("-1250.50", "usd")


F1 = [
    ("red bike", "a red bike", 1.0),
    ("red bike", "the bike is red", 0.8),
    ("red bike", "blue", 0.0),
    ("red bike", "", 0.0),
    ("red red", "red", 2 / 3),
    ("$260.00", "You paid 260", 0.5),
    ("5 5", "5 and 5", 0.8),
    ("2024/11/29", "29 November 2024", 1.0),
    ("946 g", "946g", 1.0),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), F1)
def test_f1(gold: str, answer: str, expected: float) -> None:
    assert f1(answer, gold) == pytest.approx(expected)


PIECES = ("a", "one ", "five ", "5", "29 ", "Nov ", "2024", "/", "-", " to ", "$", "kg ", ".", "(", "É", "1,", "or ")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


@given(TEXTS, TEXTS)
@settings(max_examples=300, deadline=None)
def test_a_text_is_in_itself_whatever_sentence_is_around_it(gold: str, other: str) -> None:
    assert 0 <= f1(other, gold) <= 1
    if tokens_of(gold):
        assert contains(gold, gold)
        assert f1(gold, gold) == pytest.approx(1.0)
        assert contains(f"word. {gold} ; word", gold)


REFUSALS = [
    "Insufficient information",
    "**Insufficient information.**",
    "Answer: Insufficient information",
    "insufficient information to determine the total",
    "Insufficient information. The conversation does not mention a power bank.",
    "There is not enough information in the conversation.",
    "There isn't sufficient context to answer.",
    "I'm sorry, but I cannot determine the model number.",
    "I don’t know.",
    "Unknown",
    "The answer is not available.",
    "The model number was not mentioned.",
    "The model number wasn't mentioned in our conversation, so I can't say.",
    "Although a receipt was not mentioned in the chat, I cannot tell.",
    "No information is available about that.",
    "Based on the given conversation, it cannot be determined.",
]
ANSWERS = [
    "Sufficient information exists: red",
    "Sufficient information: it is XJ-9.",
    "Insufficient information: red",
    "Insufficient information, red",
    "Insufficient information. It is red.",
    "Insufficient information, but probably red",
    "I cannot be certain so I guess red",
    "I don't know, maybe red",
    "Although there is not enough information, it is red.",
    "none",
    "None of them",
    "",
    "...",
    "No",
    "No, the image was not shown.",
    "You could not find your keys.",
    "I own no vinyl records.",
    "I'm sorry.",
    "I know nothing about it, no.",
    "red",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str) -> None:
    assert is_refusal(text, PHRASE)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_no_refusals(text: str) -> None:
    assert not is_refusal(text, PHRASE)


def test_the_protocol_decides_the_phrase() -> None:
    assert is_refusal("Nothing to go on.", "Nothing to go on")
    assert not is_refusal("Nothing to go on.", PHRASE)


@pytest.mark.parametrize(
    ("answerable", "gold", "answer", "expected"),
    [
        (True, "red", "It is red.", ("right", 1.0, False, "subem")),
        (True, "red", "It is blue.", ("wrong", 0.0, False, "subem")),
        (True, "red", "Insufficient information", ("refused", 0.0, True, "subem")),
        (True, "red", "", ("unparsed", None, None, "subem")),
        (True, "red", None, ("unparsed", None, None, "subem")),
        (True, "red", "<think>it is red</think>  \n", ("unparsed", None, None, "subem")),
        (True, "red", "<think>it is red", ("unparsed", None, None, "subem")),
        (True, "red", "<think>blue</think>red", ("right", 1.0, False, "subem")),
        (True, "red", "red</think>blue", ("wrong", 0.0, False, "subem")),
        (False, PHRASE, "I cannot answer this.", ("right", 1.0, True, "refusal")),
        (False, PHRASE, "Sufficient information exists: red", ("wrong", 0.0, False, "refusal")),
        (False, PHRASE, "none", ("wrong", 0.0, False, "refusal")),
        (False, PHRASE, "", ("unparsed", None, None, "refusal")),
        (False, PHRASE, "word " * 3000, ("wrong", 0.0, False, "refusal")),
    ],
)
def test_words(
    answerable: bool, gold: str, answer: str | None, expected: tuple[str, float | None, bool | None, str]
) -> None:
    score = score_answer(answerable=answerable, gold=gold, answer=answer, refusal_phrase=PHRASE)
    assert (score.word, score.score, score.refused, score.metric) == expected
    assert score.scorer == SCORER


def test_f1_stands_beside_the_score() -> None:
    def extra(gold: str, answer: str, answerable: bool = True) -> dict[str, float]:
        score = score_answer(answerable=answerable, gold=gold, answer=answer, refusal_phrase=PHRASE)
        return dict(score.extra)

    assert extra("red bike", "the bike is red") == {"f1": pytest.approx(0.8)}
    assert extra("information desk", "Insufficient information") == {"f1": 0.0}, "a refusal is 0 in every metric"
    assert extra("(1)(2)(3)", "(2)(1)(3)") == {"f1": 0.0}, "the same bag in another order"
    assert extra("Yes", "Yes, it is larger.") == {"f1": 1.0}
    assert extra(PHRASE, PHRASE, answerable=False) == {}
    assert extra("red", "") == {}


def test_a_score_of_the_old_form_has_no_extra() -> None:
    assert dict(Score("right", 1.0, False, "mine", "mine/1", "x").extra) == {}


@pytest.mark.parametrize(
    "text",
    ["no information " * 2000, "5" + " " * 20000 + "5", "may 1 " * 3000, "A is " * 3000, "yes " * 3000, "1 " * 9000],
)
@pytest.mark.parametrize("gold", ["2024/11/29", "5", "A", "Yes", "(1)(2)(3)"])
def test_a_very_long_answer_is_scored(gold: str, text: str) -> None:
    score = score_answer(answerable=True, gold=gold, answer=text, refusal_phrase=PHRASE)
    assert score.word in ("right", "wrong", "refused")


def test_reasoning_ends_at_its_last_mark() -> None:
    assert final_answer("<think>a</think>b</think> c ") == "c"
    assert final_answer("plain") == "plain"


def test_special_tokens_are_no_answer() -> None:
    assert final_answer("<|begin_of_box|>No<|end_of_box|><|im_end|>") == "No"
    assert final_answer("<|im_end|>") == ""
    assert final_answer("x <| y |> z") == "x  z"
    assert final_answer("1 <|2") == "1 <|2"


def test_the_tiny_corpus_of_traps() -> None:
    answers = json.loads((TINY / "answers.json").read_text())
    words = {}
    for item in json.loads((TINY / "dataset_32k.json").read_text()):
        reply = next(text for start, text in answers.items() if start in item["question"])
        score = score_answer(
            answerable=item["question_type"] != "answer_refusal",
            gold=item["answer"],
            answer=reply,
            refusal_phrase=PHRASE,
        )
        words[item["question_id"]] = score.word
    assert words == {
        "0x1000001": "right",
        "0x1000002": "wrong",
        "0x2000001": "right",
        "0x3000001": "right",  # a month name: one reading
        "0x3000002": "right",
        "0x3000003": "right",
        "0x4000001": "right",  # $260 for $260.00
        "0x4000002": "right",
        "0x4000003": "wrong",  # 15 for 5
        "0x5000001": "wrong",  # "Sufficient information: ..." is an answer
    }
