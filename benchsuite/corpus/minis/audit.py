"""Audits of a corpus in the MemLens file format that was made with drawn images: does gold leak, is it fair.

Every audit looks at all lengths and returns the problems that it found, one line each; an empty list means none.
``read_folder`` reads the files as they lie on disk, so that the audits do not depend on the loader that they guard.
"""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise
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
QUESTION_ID, SESSION_ID = re.compile(r"q_[0-9a-f]{8}"), re.compile(r"sess_[0-9a-f]{8}")
CHOICE = re.compile(r"yes|no|[a-z]|(?:\(\d\))+")
STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) \((\w{3})\) (\d\d):(\d\d)")


CONTENT_WORD = re.compile(r"[a-z]{3,}")
STOP_WORDS = {
    "and", "are", "can", "did", "does", "for", "from", "give", "has", "have", "how", "into", "its", "mine", "much",
    "our", "over", "please", "tell", "that", "the", "their", "them", "this", "was", "were", "what", "when", "where",
    "which", "who", "whose", "will", "with", "would", "you", "your", "yyyy",
}  # fmt: skip
SAME_MATTER = 2 / 3
"""A message that has this share of the content words of a question, or of its gold message, is about the same."""
ROOM = 0.1
"""How far sessions, turns and images may be from the multiple that the name of a length promises."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The parsed files of a corpus folder: ``lengths`` has the items of each, shortest first.

    ``asked`` are the entity names that each question is about, ``drawn`` what each image shows.
    """

    root: Path
    lengths: dict[str, list[dict[str, Any]]]
    labels: dict[str, dict[str, str]]
    asked: dict[str, list[str]]
    drawn: dict[str, dict[str, Any]]

    def all_items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every item of every length with the words that name it in a problem: ``2x q_1234abcd``."""
        for length, items in self.lengths.items():
            for item in items:
                yield f"{length} {item['question_id']}", item


def read_folder(root: Path) -> Folder:
    """Reads ``dataset_<length>.json`` and the sidecars. Raises DataError when one is absent or no JSON."""
    files = sorted(root.glob("dataset_*x.json"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise DataError(str(root / "dataset_1x.json"), None, None, "cannot be read: no such file")
    drawn = _read(root / "drawn.json")
    lengths = {file.stem.removeprefix("dataset_"): _read(file) for file in files}
    return Folder(root, lengths, _read(root / "labels.json"), drawn["asked"], drawn["images"])


def audit(folder: Folder) -> list[str]:
    """All audits."""
    checks = (leaks, evidence, rivals, twins, shares, growth, dates, halves, names, labelled, pictures)
    return [problem for check in checks for problem in check(folder)]


@lru_cache(maxsize=20_000)
def figures(text: str) -> frozenset[str]:
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
    return frozenset(found)


def leaks(folder: Folder) -> list[str]:
    """Nothing that decides a pixel question may occur in a text of its history.

    The answer (its figures, or its words) and every figure drawn into a gold image are looked for in messages,
    captions, file names, dates and the question.
    """
    problems = []
    for name, item in folder.all_items():
        if not is_pictured(folder, item):
            continue
        answer = str(item["answer"])
        secret = set(answer_figures(item))
        words = "" if secret or CHOICE.fullmatch(answer.lower()) else answer.lower()
        if "old_answer" in item:
            secret |= figures(str(item["old_answer"]))
        for file in gold_files(item):
            secret |= {figure for _, line in folder.drawn[file]["lines"] for figure in figures(line)}
        for place, text in texts(item):
            shared = secret & figures(text)
            if words and words in text.lower():
                shared.add(words)
            problems += [f"{name}: {value} is in {place}: {text!r}" for value in sorted(shared)]
    return problems


def evidence(folder: Folder) -> list[str]:
    """Gold turns lie in the gold sessions and nowhere else, hold the answer, and no other image shows it.

    A refusal has no gold turn, but an image of the template that it asks about.
    """
    problems = []
    for name, item in folder.all_items():
        answer, label = str(item["answer"]), folder.labels[item["question_id"]]
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
        if item["question_type"] == "answer_refusal" and label["template"] not in near:
            problems.append(f"{name}: nothing in the history is of the template that is asked about")
        if not is_pictured(folder, item) or label["stratum"] == "compose":
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
    for name, item in folder.all_items():
        if not is_pictured(folder, item):
            continue
        gold = gold_files(item)
        others = image_files(item) - gold
        if not any(_is_twin(folder.drawn[one], folder.drawn[two]) for one in gold for two in others):
            problems.append(f"{name}: no image of the same template differs in the value alone")
    return problems


def shares(folder: Folder) -> list[str]:
    """Each half has the question types in the published shares, within three percentage points, at every length."""
    problems = []
    whole = sum(TYPE_WEIGHTS.values())
    halves_ = sorted({label["split"] for label in folder.labels.values()})
    for length, items in folder.lengths.items():
        for half in halves_:
            here = [item for item in items if folder.labels[item["question_id"]]["split"] == half]
            types = Counter(item["question_type"] for item in here)
            for kind, weight in TYPE_WEIGHTS.items():
                share, wanted = 100 * types[kind] / max(len(here), 1), 100 * weight / whole
                if abs(share - wanted) > SHARE_TOLERANCE:
                    problems.append(f"{length} {half}: {kind} is {share:.1f}% of the questions, wanted {wanted:.1f}%")
    return problems


def growth(folder: Folder) -> list[str]:
    """Every length asks the same of more: the sessions of the length before are all there, unchanged.

    Sessions, turns and images are as many times those of the first length as the name of the length says, and
    no image comes twice.
    """
    problems = []
    lengths = list(folder.lengths)
    first = folder.lengths[lengths[0]]
    for shorter, longer in pairwise(lengths):
        factor = float(longer.removesuffix("x")) / float(lengths[0].removesuffix("x"))
        few, many = folder.lengths[shorter], folder.lengths[longer]
        if [item["question_id"] for item in few] != [item["question_id"] for item in many]:
            problems.append(f"{longer}: not the questions of {shorter} in their order")
            continue
        for base, small, large in zip(first, few, many, strict=True):
            name = f"{longer} {large['question_id']}"
            asks, asked = (
                {key: value for key, value in item.items() if not key.startswith("haystack_")}
                for item in (small, large)
            )
            problems += [
                f"{name}: {key} differs from {shorter}"
                for key in sorted(asks.keys() | asked.keys())
                if asks.get(key) != asked.get(key)
            ]
            there = sessions(large)
            problems += [
                f"{name}: session {session_id} of {shorter} is not there unchanged"
                for session_id, session in sessions(small).items()
                if there.get(session_id) != session
            ]
            for noun, count in sizes(large).items():
                wanted = factor * sizes(base)[noun]
                if abs(count - wanted) > ROOM * wanted:
                    problems.append(f"{name}: {count} {noun}, wanted {wanted:.0f}")
            shown = Counter(shown_files(large))
            problems += [f"{name}: {file} is shown {count} times" for file, count in shown.items() if count > 1]
    return problems


def rivals(folder: Folder) -> list[str]:
    """Nothing that a longer history adds bears on its question.

    No entity that the question is about is named or drawn (an absent one at no length at all), its answer or its
    outdated answer stands nowhere, and no added message is about the same matter (`SAME_MATTER`) as the question
    or a gold message.
    """
    problems = []
    shortest = next(iter(folder.lengths))
    first = {item["question_id"]: set(item["haystack_session_ids"]) for item in folder.lengths[shortest]}
    for name, item in folder.all_items():
        kept = first.get(item["question_id"], set())
        added = {key: told for key, told in sessions(item).items() if key not in kept}
        entities = "|".join(re.escape(entity.lower()) for entity in folder.asked[item["question_id"]])
        asked = re.compile(rf"\b(?:{entities})\b") if entities else None
        values = {answer_figures(item), figures(str(item.get("old_answer", "")))} - {frozenset()}
        matters = [words for words in map(content_words, [item["question"], *gold_messages(item)]) if words]
        absent = folder.labels[item["question_id"]]["stratum"] == "absent-entity"
        for session_id, (_, turns) in (sessions(item) if absent else added).items():
            for kind, text in shown_texts(folder, turns):
                where = f"{name}: session {session_id}, {kind} {text!r}"
                if asked and asked.search(text.lower()):
                    problems.append(f"{where} names what is asked about")
                if any(value <= figures(text) for value in values):
                    problems.append(f"{where} holds the answer")
                words = content_words(text) if kind == "message" else frozenset()
                if any(len(matter & words) >= SAME_MATTER * len(matter) for matter in matters):
                    problems.append(f"{where} is about what is asked")
    return problems


def labelled(folder: Folder) -> list[str]:
    """All images of one template have the same labels, so that a field that is never printed is never printed."""
    problems = []
    known: dict[str, list[str]] = {}
    for file, drawn in sorted(folder.drawn.items()):
        labels = [re.split(": | - ", text)[0] for role, text in drawn["lines"] if role in ("label", "pair")]
        if labels != known.setdefault(drawn["template"], labels):
            problems.append(f"{file}: labels {labels}, others of {drawn['template']} have {known[drawn['template']]}")
    return problems


def dates(folder: Folder) -> list[str]:
    """Dates are well formed, weekdays right, sessions in order, the question after all of them."""
    problems = []
    for name, item in folder.all_items():
        stamps = [*item["haystack_dates"], item["question_date"]]
        for stamp in stamps:
            match = STAMP.fullmatch(stamp)
            if not match:
                problems.append(f"{name}: date {stamp!r} is malformed")
                continue
            year, month, day = (int(part) for part in match.groups()[:3])
            weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date(year, month, day).weekday()]
            if weekday != match[4]:
                problems.append(f"{name}: {stamp!r} is a {weekday}")
        if stamps != sorted(stamps):
            problems.append(f"{name}: sessions are not in order, or the question is not last")
        if folder.labels[item["question_id"]]["stratum"] == "date":
            days = [
                stamp.split(" ")[0]
                for stamp, session_id in zip(item["haystack_dates"], item["haystack_session_ids"], strict=True)
                if session_id in item["answer_session_ids"]
            ]
            if days != [item["answer"]]:
                problems.append(f"{name}: answer {item['answer']} is not the gold day {days}")
    return problems


def halves(folder: Folder) -> list[str]:
    """The eval half shares no template, layout, font, image or user message with the dev half."""
    used: dict[str, dict[str, set[str]]] = {}
    for _, item in folder.all_items():
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
    for length, items in folder.lengths.items():
        ids = Counter(item["question_id"] for item in items)
        problems += [f"{length} {name}: question id twice" for name, count in ids.items() if count > 1]
        problems += [f"{length} {name}: not q_ and 8 hex digits" for name in ids if not QUESTION_ID.fullmatch(name)]
        if set(ids) != set(folder.labels):
            problems.append(f"labels.json and {length} differ in {sorted(set(ids) ^ set(folder.labels))}")
        for item in items:
            session_ids = Counter(item["haystack_session_ids"])
            problems += [
                f"{length} {item['question_id']}: session id {name} twice or not sess_ and 8 hex digits"
                for name, count in session_ids.items()
                if count > 1 or not SESSION_ID.fullmatch(name)
            ]
    named = {file for _, item in folder.all_items() for file in image_files(item)}
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


def answer_figures(item: dict[str, Any]) -> frozenset[str]:
    """The figures of an answer; none for a choice such as ``Yes``, ``A`` or ``(2)(1)(3)``."""
    answer = str(item["answer"])
    return frozenset() if CHOICE.fullmatch(answer.lower()) else figures(answer)


@lru_cache(maxsize=20_000)
def content_words(text: str) -> frozenset[str]:
    return frozenset(CONTENT_WORD.findall(text.lower())) - STOP_WORDS


def sessions(item: dict[str, Any]) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """The date and the turns of each session, by its id."""
    told = zip(item["haystack_dates"], item["haystack_sessions"], strict=True)
    return dict(zip(item["haystack_session_ids"], told, strict=True))


def sizes(item: dict[str, Any]) -> dict[str, int]:
    """How many sessions, turns and images a history has."""
    turns = sum(len(session) for session in item["haystack_sessions"])
    return {"sessions": len(item["haystack_sessions"]), "turns": turns, "images": sum(1 for _ in shown_files(item))}


def gold_messages(item: dict[str, Any]) -> list[str]:
    """The gold messages without an image: those that hold the answer, or lead to it, themselves."""
    return [
        turn["content"]
        for session in item["haystack_sessions"]
        for turn in session
        if turn.get("has_answer") and not turn["images"]
    ]


def shown_texts(folder: Folder, turns: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The messages of some turns, the captions of their images, and all that is drawn into those."""
    for turn in turns:
        yield "message", turn["content"]
        for image in turn["images"]:
            yield "caption", image.get("blip_caption", "")
            for _, line in folder.drawn[image["file"]]["lines"]:
                yield f"image {image['file']}", line


def shown_files(item: dict[str, Any]) -> Iterator[str]:
    """The image of every turn in turn, as often as it is shown."""
    for session in item["haystack_sessions"]:
        for turn in session:
            for image in turn["images"]:
                yield image["file"]


def image_files(item: dict[str, Any]) -> set[str]:
    return set(shown_files(item))


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


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(str(path), None, None, f"cannot be read: {error}") from error


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
