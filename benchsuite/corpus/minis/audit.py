"""Audits of a corpus in the MemLens file format that was made with drawn images: does gold leak, is it fair.

Every function returns the problems that it found, one line each; an empty list means none. ``read_folder`` reads
the files as they lie on disk, so that the audits do not depend on the loader that they guard.
"""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from PIL import Image

from benchsuite.errors import DataError

TYPE_WEIGHTS = {
    "information_extraction": 61,
    "multi_session_reasoning": 35,
    "temporal_reasoning": 48,
    "knowledge_update": 29,
    "answer_refusal": 22,
}
"""How many of each type the published 195-question subset has."""
SHARE_TOLERANCE = 3.0
CORNER = (90, 50)
CHUNKS = {"IHDR", "PLTE", "tRNS", "IDAT", "IEND"}
UNPICTURED = {"text", "date"}
"""Strata whose answer is not in pixels: stated in a message, or a message's day."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december",
)  # fmt: skip
MONTH = rf"(?P<{{0}}>{'|'.join(MONTHS)}|{'|'.join(name[:3] for name in MONTHS)})"
DATE_FORMS = (
    re.compile(r"\b(?P<y>\d{4})[/.-](?P<m>\d{1,2})[/.-](?P<d>\d{1,2})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{MONTH.format('n')}\.?,? (?P<y>\d{{4}})\b"),
    re.compile(rf"\b{MONTH.format('n')}\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b"),
)
CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
CODE = re.compile(r"\b[a-z]{1,3}-?\d{2,}\b")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w]*\d)|(?<=-)\d{3,}")
CHOICE = re.compile(r"yes|no|[a-z]|(?:\(\d\))+")
STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) \((\w{3})\) (\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Folder:
    """The parsed files of a corpus folder."""

    root: Path
    items: list[dict[str, Any]]
    labels: dict[str, dict[str, str]]
    drawn: dict[str, dict[str, Any]]


def read_folder(root: Path) -> Folder:
    """Reads ``dataset_1x.json`` and the sidecars. Raises DataError when one is absent or no JSON."""
    parsed = []
    for name in ("dataset_1x.json", "labels.json", "drawn.json"):
        try:
            parsed.append(json.loads((root / name).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise DataError(str(root / name), None, None, f"cannot be read: {error}") from error
    items, labels, drawn = parsed
    return Folder(root, items, labels, drawn["images"])


def audit(folder: Folder) -> list[str]:
    """All audits."""
    checks = (leaks, evidence, twins, shares, dates, halves, names, pictures)
    return [problem for check in checks for problem in check(folder)]


def figures(text: str) -> set[str]:
    """Dates (``2024-05-06``), clock times (``07:05``), codes and numbers (``48.5``) of a text, normalised."""
    text, found = text.lower(), set()
    for form in DATE_FORMS:
        for match in form.finditer(text):
            part = match.groupdict()
            month = int(part["m"]) if "m" in part else 1 + [name[:3] for name in MONTHS].index(part["n"][:3])
            found.add(f"{int(part['y']):04d}-{month:02d}-{int(part['d']):02d}")
        text = form.sub(" ", text)
    found |= {f"{int(hour):02d}:{minute}" for hour, minute in CLOCK.findall(text)}
    text = CLOCK.sub(" ", text)
    found |= set(CODE.findall(text))
    for number in NUMBER.findall(text):
        found.add(f"{float(number.replace(',', '')):.6f}".rstrip("0").rstrip("."))
    return found


def leaks(folder: Folder) -> list[str]:
    """SCIENCE 6.3: nothing that decides a pixel question may occur in a text of its history.

    The answer (its figures, or its words) and every figure drawn into a gold image are looked for in messages,
    captions, file names, dates and the question.
    """
    problems = []
    for item in folder.items:
        if not is_pictured(folder, item):
            continue
        answer = str(item["answer"])
        secret = figures(answer) if not CHOICE.fullmatch(answer.lower()) else set()
        words = "" if secret or CHOICE.fullmatch(answer.lower()) else answer.lower()
        if "old_answer" in item:
            secret |= figures(str(item["old_answer"]))
        for file in gold_files(item):
            secret |= {figure for _, line in folder.drawn[file]["lines"] for figure in figures(line)}
        for place, text in texts(item):
            shared = secret & figures(text)
            if words and words in text.lower():
                shared.add(words)
            problems += [f"{item['question_id']}: {value} is in {place}: {text!r}" for value in sorted(shared)]
    return problems


def evidence(folder: Folder) -> list[str]:
    """Gold turns lie in the gold sessions and nowhere else, hold the answer, and no other image shows it.

    A refusal has no gold turn, but an image of the template that it asks about.
    """
    problems = []
    for item in folder.items:
        name, answer = item["question_id"], str(item["answer"])
        marked = [
            session_id
            for session_id, session in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True)
            if any(turn.get("has_answer") for turn in session)
        ]
        if sorted(marked) != sorted(item["answer_session_ids"]):
            problems.append(f"{name}: answer_session_ids are {item['answer_session_ids']}, gold turns in {marked}")
        if bool(marked) == (item["question_type"] == "answer_refusal"):
            problems.append(f"{name}: {len(marked)} gold sessions for type {item['question_type']}")
        near = {folder.drawn[file]["template"] for file in image_files(item)}
        if item["question_type"] == "answer_refusal" and folder.labels[name]["template"] not in near:
            problems.append(f"{name}: nothing in the history is of the template that is asked about")
        if not is_pictured(folder, item) or folder.labels[name]["stratum"] == "compose":
            continue
        gold = gold_files(item)
        showing = {file for file in image_files(item) if figures(answer) <= drawn_figures(folder, file)}
        if not showing & gold:
            problems.append(f"{name}: no gold image shows {answer!r}")
        problems += [f"{name}: {answer!r} also stands in {file}" for file in sorted(showing - gold)]
    return problems


def twins(folder: Folder) -> list[str]:
    """Each pixel question has an image that is not gold and differs from a gold one in value and title alone."""
    problems = []
    for item in folder.items:
        if not is_pictured(folder, item):
            continue
        gold = gold_files(item)
        others = image_files(item) - gold
        if not any(_is_twin(folder.drawn[one], folder.drawn[two]) for one in gold for two in others):
            problems.append(f"{item['question_id']}: no image of the same template differs in the value alone")
    return problems


def shares(folder: Folder) -> list[str]:
    """Each half has the question types in the published shares, within three percentage points."""
    problems = []
    whole = sum(TYPE_WEIGHTS.values())
    halves_ = {label["split"] for label in folder.labels.values()}
    for half in sorted(halves_):
        types = Counter(
            item["question_type"] for item in folder.items if folder.labels[item["question_id"]]["split"] == half
        )
        for kind, weight in TYPE_WEIGHTS.items():
            share, wanted = 100 * types[kind] / types.total(), 100 * weight / whole
            if abs(share - wanted) > SHARE_TOLERANCE:
                problems.append(f"{half}: {kind} is {share:.1f}% of the questions, wanted {wanted:.1f}%")
    return problems


def dates(folder: Folder) -> list[str]:
    """Dates are well formed, weekdays right, sessions in order, the question after all of them."""
    problems = []
    for item in folder.items:
        stamps = [*item["haystack_dates"], item["question_date"]]
        for stamp in stamps:
            match = STAMP.fullmatch(stamp)
            if not match:
                problems.append(f"{item['question_id']}: date {stamp!r} is malformed")
                continue
            year, month, day = (int(part) for part in match.groups()[:3])
            weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date(year, month, day).weekday()]
            if weekday != match[4]:
                problems.append(f"{item['question_id']}: {stamp!r} is a {weekday}")
        if stamps != sorted(stamps):
            problems.append(f"{item['question_id']}: sessions are not in order, or the question is not last")
        if folder.labels[item["question_id"]]["stratum"] == "date":
            days = [
                stamp.split(" ")[0]
                for stamp, session_id in zip(item["haystack_dates"], item["haystack_session_ids"], strict=True)
                if session_id in item["answer_session_ids"]
            ]
            if days != [item["answer"]]:
                problems.append(f"{item['question_id']}: answer {item['answer']} is not the gold day {days}")
    return problems


def halves(folder: Folder) -> list[str]:
    """The eval half shares no template, layout, font, image or user message with the dev half."""
    used: dict[str, dict[str, set[str]]] = {}
    for item in folder.items:
        label = folder.labels[item["question_id"]]
        half = used.setdefault(label["split"], {})
        half.setdefault("cluster", set()).add(label["cluster"])
        half.setdefault("question", set()).add(item["question"])
        for file in image_files(item):
            half.setdefault("image", set()).add(file)
            for noun in ("template", "layout", "font", "group"):
                half.setdefault(noun, set()).add(folder.drawn[file][noun])
        for session in item["haystack_sessions"]:
            half.setdefault("message", set()).update(turn["content"] for turn in session)
    if set(used) != {"eval", "dev"}:
        return [f"halves are {sorted(used)}, wanted dev and eval"]
    return [
        f"{noun} in both halves: {value!r}"
        for noun in used["eval"]
        for value in sorted(used["eval"][noun] & used["dev"][noun])
    ]


def names(folder: Folder) -> list[str]:
    """Ids and file names are opaque, unique, labelled and complete."""
    problems = []
    ids = [item["question_id"] for item in folder.items]
    problems += [f"{name}: question id twice" for name, count in Counter(ids).items() if count > 1]
    problems += [f"{name}: not q_ and 8 hex digits" for name in ids if not re.fullmatch(r"q_[0-9a-f]{8}", name)]
    if set(ids) != set(folder.labels):
        problems.append(f"labels.json and the dataset differ in {sorted(set(ids) ^ set(folder.labels))}")
    named = {file for item in folder.items for file in image_files(item)}
    images = folder.root / "release_images"
    stored = {path.relative_to(images).as_posix() for path in images.rglob("*") if path.is_file()}
    problems += [f"{file}: not both named and stored" for file in sorted(named ^ stored)]
    problems += [f"{file}: drawn.json and the images differ" for file in sorted(stored ^ set(folder.drawn))]
    form = re.compile(r"(?:needle|haystack)_images/[0-9a-f]{12}\.png")
    return problems + [f"{file}: not 12 hex digits in an image folder" for file in stored if not form.fullmatch(file)]


def pictures(folder: Folder) -> list[str]:
    """PNGs carry no metadata, are at most 768 px a side, and leave the top-left corner without ink."""
    problems = []
    for file in sorted(folder.drawn):
        path = folder.root / "release_images" / file
        extra = set(png_chunks(path.read_bytes())) - CHUNKS
        if extra:
            problems.append(f"{file}: carries {sorted(extra)}")
        with Image.open(path) as image:
            if max(image.size) > 768:
                problems.append(f"{file}: is {image.width}x{image.height} px")
            colours = image.convert("RGB").crop((0, 0, *CORNER)).getcolors()
        if colours is None or len(colours) != 1:
            problems.append(f"{file}: has ink in the top-left {CORNER[0]}x{CORNER[1]} px")
    return problems


def is_pictured(folder: Folder, item: dict[str, Any]) -> bool:
    """Whether the answer is in pixels only."""
    stratum = folder.labels[item["question_id"]]["stratum"]
    return item["question_type"] != "answer_refusal" and stratum not in UNPICTURED


def texts(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text that could reach a model, with the place where it stands."""
    yield "the question", item["question"]
    yield "question_date", item["question_date"]
    for stamp in item["haystack_dates"]:
        yield "haystack_dates", stamp
    for session in item["haystack_sessions"]:
        for turn in session:
            yield f"a message of the {turn['role']}", turn["content"]
            for image in turn["images"]:
                for key, value in image.items():
                    yield f"an image's {key}", str(value)


def image_files(item: dict[str, Any]) -> set[str]:
    return {image["file"] for session in item["haystack_sessions"] for turn in session for image in turn["images"]}


def gold_files(item: dict[str, Any]) -> set[str]:
    return {
        image["file"]
        for session in item["haystack_sessions"]
        for turn in session
        if turn.get("has_answer")
        for image in turn["images"]
    }


def drawn_figures(folder: Folder, file: str) -> set[str]:
    return {figure for _, line in folder.drawn[file]["lines"] for figure in figures(line)}


def png_chunks(data: bytes) -> Iterator[str]:
    """The chunk types of a PNG, in file order."""
    place = 8
    while place + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        yield kind.decode("latin-1")
        place += 12 + length


def _is_twin(one: dict[str, Any], two: dict[str, Any]) -> bool:
    if any(one[noun] != two[noun] for noun in ("template", "layout", "font")):
        return False
    if len(one["lines"]) != len(two["lines"]):
        return False
    changed = [role for (role, left), (_, right) in zip(one["lines"], two["lines"], strict=True) if left != right]
    values = [role for role in changed if role in ("value", "pair")]
    return len(values) == 1 and changed.count("title") == len(changed) - 1
