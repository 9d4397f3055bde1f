"""Writes a corpus of any size in the MemLens file format, to see what reading a large one costs.

`python tests/corpus/big_file.py PATH` writes what a 256k length looks like: 700 MB, 789 questions, 195 of them in
`agent_subset_195.json`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random

from PIL import Image

from benchsuite.corpus.minis.audit import TYPE_WEIGHTS

SEED = 256
ROUNDS_PER_SESSION = 8
SENTENCES = (4, 12)  # of a user's and of an assistant's message
IMAGES_PER_SESSION = 2
DISTINCT_IMAGES = 48


def write_big(path: Path, megabytes: int, questions: int, subset: int) -> None:
    """Writes the dataset file ``path``, ``release_images/`` and ``agent_subset_<subset>.json`` beside it.

    The file has ``megabytes`` * 10**6 bytes, give or take half a session a question. It is written question by
    question, each with a history of its own; the same arguments give the same bytes. Raises ValueError for a
    subset larger than the whole, OSError.
    """
    if not 0 <= subset <= questions or questions < 1:
        raise ValueError(f"a subset of {subset} of {questions} questions")
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = Random(SEED)
    files = _write_images(path.parent / "release_images")
    sentences = _sentences(rng)
    kinds = rng.choices(tuple(TYPE_WEIGHTS), tuple(TYPE_WEIGHTS.values()), k=questions)
    ids = [f"q_{rng.getrandbits(32):08x}" for _ in range(questions)]
    written = 0
    with path.open("w", encoding="ascii", newline="\n") as handle:
        for number, (name, kind) in enumerate(zip(ids, kinds, strict=True), start=1):
            written += handle.write("[\n" if number == 1 else ",\n")
            room = megabytes * 1_000_000 * number // questions - written
            written += handle.write("".join(_item(rng, name, kind, sentences, files, room)))
        handle.write("\n]\n")
    chosen = sorted(rng.sample(range(questions), subset))
    about = {
        "n_questions": subset,
        "question_ids": [ids[place] for place in chosen],
        "by_type": dict(Counter(kinds[place] for place in chosen)),
        "seed": SEED,
    }
    file = path.with_name(f"agent_subset_{subset}.json")
    file.write_text(json.dumps(about, indent=1) + "\n", encoding="ascii")


def _item(rng: Random, name: str, kind: str, sentences: list[str], files: list[str], room: int) -> Iterator[str]:
    """The JSON text of one question, in pieces, of about ``room`` characters."""
    gold = f"${rng.randrange(10, 900)}.{rng.randrange(100):02d}"
    sessions: list[str] = []
    size = 0
    while not sessions or size + len(sessions[-1]) // 2 < room:
        sessions.append(_session(rng, sentences, files, f"I paid {gold}. " if not sessions else ""))
        size += len(sessions[-1])
    rng.shuffle(sessions)
    answer_place = next(place for place, text in enumerate(sessions) if '"has_answer": true' in text)
    days = sorted(date(2022, 1, 1) + timedelta(days=rng.randrange(800)) for _ in sessions)
    session_ids = [f"sess_{rng.getrandbits(32):08x}" for _ in sessions]
    refused = kind == "answer_refusal"
    head = {
        "question_id": name,
        "question_type": kind,
        "question": "How much did I pay? " + sentences[rng.randrange(len(sentences))],
        "answer": "Insufficient information" if refused else gold,
        "question_date": _stamp(rng, date(2024, 5, 31)),
        "haystack_dates": [_stamp(rng, day) for day in days],
        "haystack_session_ids": session_ids,
        "answer_session_ids": [] if refused else [session_ids[answer_place]],
    }
    yield json.dumps(head)[:-1] + ', "haystack_sessions": ['
    if refused:
        sessions[answer_place] = sessions[answer_place].replace('"has_answer": true', '"has_answer": false')
    yield ", ".join(sessions)
    yield "]}"


def _session(rng: Random, sentences: list[str], files: list[str], told: str) -> str:
    """The JSON text of one session; its first message is gold where it has something ``told``."""
    turns = []
    for place in range(ROUNDS_PER_SESSION):
        shown = place < IMAGES_PER_SESSION
        images = f'{{"file": "{rng.choice(files)}", "blip_caption": "a photo"}}' if shown else ""
        marker = " <image>" if shown else ""
        said, reply = (" ".join(rng.choices(sentences, k=count)) for count in SENTENCES)
        gold = "true" if told and place == 0 else "false"
        turns.append(
            f'{{"role": "user", "content": "{told if place == 0 else ""}{said}{marker}", "images": [{images}], '
            f'"has_answer": {gold}}}, '
            f'{{"role": "assistant", "content": "{reply}", "images": [], "has_answer": false}}'
        )
    return f"[{', '.join(turns)}]"


def _sentences(rng: Random, count: int = 20_000) -> list[str]:
    """Sentences over a made-up vocabulary, frequent words first, with nothing that JSON would escape."""
    syllables = [
        first + vowel + last for first in "bdfgklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "l")
    ]
    words = ["".join(rng.choices(syllables, k=rng.randrange(1, 5))) for _ in range(8_000)]
    shares = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    return [
        " ".join(rng.choices(words, cum_weights=shares, k=rng.randrange(8, 24))).capitalize() + "."
        for _ in range(count)
    ]


def _stamp(rng: Random, day: date) -> str:
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[day.weekday()]
    return f"{day:%Y/%m/%d} ({weekday}) {rng.randrange(7, 23):02d}:{rng.randrange(60):02d}"


def _write_images(root: Path) -> list[str]:
    """Small pictures, each different, and their paths under ``root``."""
    (root / "haystack_images").mkdir(parents=True, exist_ok=True)
    files = [f"haystack_images/{number:012x}.png" for number in range(DISTINCT_IMAGES)]
    for number, file in enumerate(files):
        Image.new("RGB", (48, 32), (5 * number, 255 - 5 * number, 90)).save(root / file)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(prog="big_file", description="Write a large corpus in the MemLens file format.")
    parser.add_argument("path", type=Path, help="the dataset file, e.g. DIR/dataset_256k.json")
    parser.add_argument("--megabytes", type=int, default=700)
    parser.add_argument("--questions", type=int, default=789)
    parser.add_argument("--subset", type=int, default=195)
    given = parser.parse_args()
    write_big(given.path, given.megabytes, given.questions, given.subset)


if __name__ == "__main__":
    main()
