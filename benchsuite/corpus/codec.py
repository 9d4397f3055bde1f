"""JSON forms of histories, questions and scripts in an indexed corpus, and the digests that depend on content alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchsuite.corpus.model import Evidence, History, Image, Question, Session, Turn
from benchsuite.corpus.script import Artifact, FillerTask, Scale, Script, WorkspaceFile


def history_of(sessions: Sequence[Session]) -> History:
    """A history under its content id: dates, roles, texts and image digests; never ids, paths or captions."""
    content = [
        [session.date, [[turn.role, turn.text, [_content(i) for i in turn.images]] for turn in session.turns]]
        for session in sessions
    ]
    return History(_digest(content), tuple(sessions))


def order_of(question: Question) -> str:
    """sha256 over question text, date and history content: the source of seeds and of the limit's order."""
    return _digest([question.text, question.date, question.history_id])


def encode_history(history: History) -> bytes:
    return _compact([history.id, [[s.id, s.date, [_turn_row(t) for t in s.turns]] for s in history.sessions]])


def decode_history(data: bytes) -> History:
    history_id, sessions = json.loads(data)
    return History(
        history_id,
        tuple(
            Session(
                session_id,
                date,
                tuple(
                    Turn(turn_id, role, text, tuple(Image(*row) for row in images), turn_date)
                    for turn_id, role, text, images, turn_date in turns
                ),
            )
            for session_id, date, turns in sessions
        ),
    )


def encode_question(question: Question) -> bytes:
    return _compact(asdict(question))


def decode_question(data: bytes) -> Question:
    raw: dict[str, Any] = json.loads(data)
    raw["evidence"] = Evidence(**{key: tuple(value) for key, value in raw["evidence"].items()})
    raw["images"] = tuple(Image(**image) for image in raw["images"])
    raw["options"], raw["labels"] = tuple(raw["options"]), tuple(raw["labels"])
    return Question(**raw)


def encode_script(script: Script) -> bytes:
    value = asdict(script)
    del value["aliases"]  # they follow from the artefacts
    return _compact(value)


def decode_script(data: bytes) -> Script:
    raw: dict[str, Any] = json.loads(data)
    return Script(
        persona=raw["persona"],
        artifacts=tuple(_artifact(each) for each in raw["artifacts"]),
        filler=tuple(
            FillerTask(task["id"], task["topic"], tuple((said, reply) for said, reply in task["turns"]))
            for task in raw["filler"]
        ),
        scales={name: Scale(**scale) for name, scale in raw["scales"].items()},
        files=tuple(WorkspaceFile(**file) for file in raw["files"]),
        seed=raw["seed"],
    )


def _artifact(raw: dict[str, Any]) -> Artifact:
    images = tuple(Image(**image) for image in raw["images"])
    return Artifact(**{**raw, "images": images, "records": tuple(WorkspaceFile(**file) for file in raw["records"])})


def _turn_row(turn: Turn) -> list[object]:
    return [turn.id, turn.role, turn.text, [image_row(image) for image in turn.images], turn.date]


def image_row(image: Image) -> list[str | int]:
    """The fields of an image in their order; ``Image(*row)`` is its inverse."""
    size: list[str | int] = [image.width, image.height, image.size]
    return [image.sha256, image.path, image.mime, *size, image.missing, image.caption]


def _content(image: Image) -> str:
    return f"missing:{image.missing}" if image.missing else image.sha256


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(value: object) -> str:
    return hashlib.sha256(_compact(value)).hexdigest()
