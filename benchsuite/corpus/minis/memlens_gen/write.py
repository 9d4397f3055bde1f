"""Writes the corpus folder: one dataset file a length, images, sidecars, notice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from PIL import __version__ as pillow_version
from PIL import features

from benchsuite.corpus.minis.memlens_gen.content_dev import DEV
from benchsuite.corpus.minis.memlens_gen.content_eval import EVAL
from benchsuite.corpus.minis.memlens_gen.draw import draw
from benchsuite.corpus.minis.memlens_gen.histories import COMING, Meeting, Story, write_half
from benchsuite.corpus.minis.memlens_gen.longer import FACTORS, at_factor, lengthen
from benchsuite.corpus.minis.memlens_gen.questions import Author, mentions
from benchsuite.corpus.minis.memlens_gen.specs import Asked, Content, Event, Shot
from benchsuite.corpus.minis.memlens_gen.values import Values

SEED = 20240506
NOTICE = Path(__file__).with_name("NOTICE.md")


def write_corpus(out: Path) -> None:
    """Writes ``memlens-mini`` into ``out`` (made if absent); the same bytes every time. Raises OSError."""
    stories = [story for content in (EVAL, DEV) for story in _half(content)]
    shots = {
        round_.event.shot.file: round_.event.shot
        for story in stories
        for meeting in (*story.meetings, *story.more)
        for round_ in meeting.rounds
        if round_.event.shot
    }
    images = {}
    for file, shot in sorted(shots.items()):
        path = out / "release_images" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        data, lines = draw(shot.sheet)
        path.write_bytes(data)
        images[file] = _drawn(shot, lines)
    labels, names = {}, {}
    for number, story in enumerate(stories):
        for place, asked in enumerate(story.asked):
            question_id = _question_id(number, place)
            names[question_id] = asked_names(asked)
            labels[question_id] = {
                "split": story.split,
                "stratum": asked.stratum,
                "cluster": f"c_{number + 1:02d}",
                "template": asked.template,
                "layout": asked.layout,
                "font": asked.face,
            }
    for factor in FACTORS:
        items = [item for number, story in enumerate(stories) for item in _items(number, story, factor)]
        _write_lines(out / f"dataset_{factor}x.json", "[\n", items, "\n]\n")
    _write(out / "labels.json", labels)
    _write(out / "drawn.json", {"made_with": made_with(), "asked": names, "images": images})
    (out / "NOTICE.md").write_bytes(NOTICE.read_bytes())


def _half(content: Content) -> list[Story]:
    rng = Random(f"{SEED}:{content.split}")
    author = Author(content, rng, Values(rng, COMING), image_names(content.split))
    stories, pictures = write_half(author)
    return lengthen(author, stories, pictures)


def asked_names(asked: Asked) -> list[str]:
    """The entities that a question is about; none for one that a message answers."""
    entities = {template.id: template.entities for content in (EVAL, DEV) for template in content.templates}
    gold = replace(asked, events=tuple(event for event in asked.events if event.gold))
    return sorted(mentions(gold, entities.get(asked.template, ())))


def made_with() -> dict[str, str]:
    """The libraries that pixels and PNG bytes depend on."""
    names = ("freetype2", "zlib")
    versions = {name: str(features.version(name)) for name in names}
    return {"pillow": pillow_version, **versions}


def _name(kind: str, number: str) -> str:
    return hashlib.sha256(f"{SEED}:{kind}:{number}".encode()).hexdigest()


def image_names(split: str) -> Iterator[str]:
    """Image names: they depend on the seed and a running number alone."""
    number = 0
    while True:
        yield _name("image", f"{split}:{number}")[:12]
        number += 1


def _drawn(shot: Shot, lines: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    sheet = shot.sheet
    return {
        "template": sheet.template,
        "kind": sheet.kind,
        "layout": sheet.layout,
        "font": sheet.face,
        "group": sheet.group,
        "lines": [list(line) for line in lines],
    }


def _question_id(number: int, place: int) -> str:
    return "q_" + _name("question", f"{number}:{place}")[:8]


def _items(number: int, story: Story, factor: int) -> Iterator[dict[str, Any]]:
    """The questions about one story at one length."""
    numbered = at_factor(story, factor)
    meetings = [meeting for _, meeting in numbered]
    session_ids = ["sess_" + _name("session", f"{number}:{place}")[:8] for place, _ in numbered]
    for place, asked in enumerate(story.asked):
        yield _item(_question_id(number, place), asked, story.asked_on, session_ids, meetings)


def _item(
    question_id: str, asked: Asked, asked_on: str, session_ids: list[str], meetings: list[Meeting]
) -> dict[str, Any]:
    gold = [event for event in asked.events if event.gold]
    item: dict[str, Any] = {
        "question_id": question_id,
        "question_type": asked.type,
        "question": asked.text,
        "answer": asked.answer,
        "question_date": asked_on,
        "haystack_dates": [meeting.date for meeting in meetings],
        "haystack_session_ids": session_ids,
        "haystack_sessions": [_session(meeting, gold) for meeting in meetings],
        "answer_session_ids": [
            session_id
            for session_id, meeting in zip(session_ids, meetings, strict=True)
            if any(_among(round_.event, gold) for round_ in meeting.rounds)
        ],
    }
    if asked.subtype:
        item["question_subtype"] = asked.subtype
    if asked.old_answer:
        item["old_answer"] = asked.old_answer
    return item


def _among(event: Event, events: list[Event]) -> bool:
    return any(event is other for other in events)


def _session(meeting: Meeting, gold: list[Event]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for round_ in meeting.rounds:
        shot = round_.event.shot
        images = [{"file": shot.file, "blip_caption": shot.caption}] if shot else []
        turns.append(
            {
                "role": "user",
                "content": round_.event.text,
                "images": images,
                "has_answer": _among(round_.event, gold),
            }
        )
        turns.append({"role": "assistant", "content": round_.reply, "images": [], "has_answer": False})
    return turns


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _write_lines(path: Path, head: str, items: list[dict[str, Any]], tail: str) -> None:
    body = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
    path.write_text(head + body + tail, encoding="utf-8", newline="\n")
