"""Every example of docs/scoring.md is what the scorers say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchsuite.scoring import answers, upstream

PAGE = (Path(__file__).parents[2] / "docs" / "scoring.md").read_text()
PHRASE = "Insufficient information"
STRICT = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (right|wrong) \|", PAGE, re.MULTILINE)
QUIRKS = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE)


def test_the_page_has_its_examples():
    assert len(STRICT) > 50
    assert [name for name, *_ in QUIRKS] == [quirk.name for quirk in upstream.Quirk]


@pytest.mark.parametrize(("gold", "answer", "word"), STRICT)
def test_strict(gold, answer, word):
    score = answers.score_answer(answerable=True, gold=gold, answer=answer, refusal_phrase=PHRASE)
    assert (score.word, score.score) == (word, float(word == "right"))


@pytest.mark.parametrize(("name", "gold", "answer", "theirs", "ours"), QUIRKS)
def test_a_quirk_parts_the_two(name, gold, answer, theirs, ours):
    answerable = not gold.startswith("*")
    gold = gold.strip("`") if answerable else PHRASE
    tokens = 2048 if "2,048" in answer else 3
    answer = "" if answer == "*(empty)*" else answer.split("`")[1]
    there = upstream.score_answer(answerable=answerable, gold=gold, answer=answer, output_tokens=tokens)
    here = answers.score_answer(answerable=answerable, gold=gold, answer=answer, refusal_phrase=PHRASE)
    assert (there.word, here.word) == (theirs, ours)
    assert there.word != here.word
