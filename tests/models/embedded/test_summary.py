"""Extractive summaries: what is taken for a request of one, what is kept, and how long it takes."""

from __future__ import annotations

import json
import random
import re
import time
import urllib.request
from typing import Any

import pytest

from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.summary import summarise, task_of

WRITE = "You write the summary that replaces older talk. Use at most {n} words and write nothing but the summary."
FREE = "You rewrite the summary as flowing prose. Use at most {n} words."
CITED = "You rewrite the summary, each line with its file in square brackets, [source: path], in at most {n} words."
TALK = """The talk until now:
user: This is the card of my gym. Saved as shots/gym.png.
assistant: Stored under px_51c0de77. The locker is B-417.
user: How are you today?
assistant: Fine, and glad to help with whatever there is.
user: In notes/garage.md it says that the tyres lie on shelf 12.
[A picture was shown here]
assistant: Good to know."""


def messages(instruction: str, text: str = TALK, n: int = 40) -> list[ChatMessage]:
    system = ChatMessage("system", (ChatPart(instruction.format(n=n)),))
    return [system, ChatMessage("user", (ChatPart(text),))]


def written(instruction: str, text: str = TALK, n: int = 40) -> str:
    request = messages(instruction, text, n)
    task = task_of(request)
    assert task is not None
    return summarise(request, task)


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        ("Use the messages only, in at most 40 words.", TALK),
        ("You write the summary of a talk.", TALK),
        (WRITE, "user: hello\nQuestion: What is the locker?"),
        ("Answer the question about this summary in at most 40 words.", TALK),
    ],
)
def test_other_requests_are_no_summaries(instruction: str, text: str) -> None:
    assert task_of(messages(instruction, text)) is None


def test_lines_with_names_and_values_stay_in_order() -> None:
    lines = written(WRITE).split("\n")
    assert lines == [
        "This is the card of my gym. Saved as shots/gym.png.",
        "Stored under px_51c0de77. The locker is B-417.",
        "In notes/garage.md it says that the tyres lie on shelf 12.",
    ]


@pytest.mark.parametrize("n", [0, 1, 5, 12, 23, 40, 400])
@pytest.mark.parametrize("instruction", [WRITE, FREE, CITED])
def test_the_word_limit_holds(instruction: str, n: int) -> None:
    assert len(written(instruction, n=n).split()) <= n


def test_prose_is_one_paragraph_of_whole_sentences() -> None:
    prose = written(FREE, "Locker is B-417 in shots/gym.png\n- Tyres lie on shelf 12 by notes/garage.md\n")
    assert prose == "Locker is B-417 in shots/gym.png. Tyres lie on shelf 12 by notes/garage.md."


def test_every_line_has_the_path_in_it_or_before_it() -> None:
    lines = written(CITED, written(WRITE), n=60).split("\n")
    found = [re.search(r"\[source: ([^\]]+)\]$", line) for line in lines]
    assert [match and match[1] for match in found] == ["shots/gym.png", "shots/gym.png", "notes/garage.md"]
    assert "px_51c0de77" in lines[1]


def test_cited_again_a_line_keeps_its_source() -> None:
    once = written(CITED, written(WRITE), n=60)
    assert written(CITED, once, n=60) == once


@pytest.mark.parametrize("text", ["", "user: ", "\n\n", "[x]", "user: ..."])
def test_nothing_said_is_nothing_kept(text: str) -> None:
    assert written(WRITE, text) == ""


def test_a_hundred_thousand_tokens_take_less_than_two_seconds() -> None:
    rng = random.Random(5)
    words = ["ridge", "lamp", "Orla", "notes/a1.md", "17.5", "the", "of", "px_00aa11bb", "went", "slowly", "Harbour"]
    lines = [
        f"{rng.choice(['user', 'assistant'])}: {' '.join(rng.choices(words, k=rng.randint(3, 90)))}."
        for _ in range(1700)
    ]
    text = "\n".join(lines)
    assert len(text.split()) > 75_000
    started = time.process_time()
    assert 1100 < len(written(WRITE, text, 1200).split()) <= 1200
    assert time.process_time() - started < 2


def test_it_is_served(served: Any) -> None:
    body = {
        "model": "embedded",
        "messages": [
            {"role": "system", "content": WRITE.format(n=40)},
            {"role": "user", "content": TALK},
        ],
    }
    request = urllib.request.Request(served.base_url + "/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        reply = json.load(answer)
    assert reply["choices"][0]["message"]["content"] == written(WRITE)
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"]["completion_tokens"] > 20
