"""A finished run of a real endpoint on loopback: two questions under four arms, a judge, odd texts, and an error."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage

from .scripted_endpoint import Body, answering, make_project, reply_of

QUESTION = "q_eb8f0316"
BROKEN = "q_eb8f0317"  # the endpoint refuses it
HOSTILE = '<script>alert(1)</script> & "red" \u202e\x07'
CASES = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], k=[3], delivery=["noimg", "pixels", "pixels+s32", "noimg+conv"])
def test_delivery(outcome):
    assert outcome.answered
"""


def picture(colour: str, size: tuple[int, int], kind: str) -> bytes:
    buffer = io.BytesIO()
    PillowImage.new("RGB", size, colour).save(buffer, kind)
    return buffer.getvalue()


PICTURES = {"door.png": picture("red", (64, 48), "PNG"), "gate.jpg": picture("green", (90, 60), "JPEG")}


def corpus_item(question: str, hostile: str, last: str) -> dict[str, Any]:
    first = {
        "role": "user",
        "content": f"The door <image> {question}",
        "images": [{"file": "door.png"}],
        "has_answer": True,
    }
    second = {"role": "user", "content": f"{hostile} <image>", "images": [{"file": "gate.jpg"}]}
    third = {"role": "assistant", "content": last}
    return {
        "question_id": question,
        "question_type": "information_extraction",
        "question": f"Which colour has the <b>door</b> of {question}?",
        "answer": "red",
        "question_date": "2024/05/31 (Fri) 07:58",
        "haystack_dates": ["2024/05/06 (Mon) 17:17"],
        "haystack_session_ids": ["s_a"],
        "haystack_sessions": [[first, second, third]],
        "answer_session_ids": ["s_a"],
    }


@dataclass
class Bench:
    """A project with one finished run, and the bodies that its endpoint got for QUESTION, by what was asked."""

    folder: Path
    bodies: list[dict[str, Any]]

    @property
    def dir(self) -> Path:
        return self.folder / ".bench"

    @property
    def run(self) -> Path:
        return next((self.dir / "runs").glob("0001*"))


@contextmanager
def judged_run(
    folder: Path, answer: str = "red", hostile: str = HOSTILE, last: str = "Fine."
) -> Iterator[list[dict[str, Any]]]:
    """A project in ``folder`` with one finished run: QUESTION is answered in all arms (with images: ``answer``), BROKEN
    refused by the endpoint, which is there as long as this. Gives the bodies that it got for QUESTION."""
    bodies: list[dict[str, Any]] = []

    def say(body: Body) -> tuple[int, Body]:
        if BROKEN in json.dumps(body):
            return 400, {"error": {"message": "no <i>such</i> thing"}}
        bodies.append(body)
        seen = "image_url" in json.dumps(body)
        text = "VERDICT=1" if body["model"] == "grader" else answer if seen else "Insufficient information"
        return 200, reply_of({"content": text})

    with answering(say) as url:
        models = ("--bench-model", f"{url}#scripted", "--bench-judge", f"{url}#grader")
        _run_cases(folder, [corpus_item(question, hostile, last) for question in (QUESTION, BROKEN)], *models)
        yield bodies


def _run_cases(folder: Path, items: list[dict[str, Any]], *args: str) -> None:
    make_project(folder, "test_delivery.py", CASES)
    images = folder / "corpus" / "release_images"
    images.mkdir(parents=True)
    for name, data in PICTURES.items():
        (images / name).write_bytes(data)
    (folder / "corpus" / "dataset_32k.json").write_text(json.dumps(items))
    command = [sys.executable, "-m", "pytest", "cases", "-p", "no:cacheprovider", "-n", "0", *args]
    command += ["--bench-corpus", f"memlens={folder / 'corpus'}", "--bench-retries", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert "4 passed, 4 errors" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
