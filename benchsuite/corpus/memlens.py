"""MemLens files (arXiv 2605.14906): `dataset_<length>.json` or `.parquet` beside `release_images/`, item by item.

Ids inside a history are positions, so that questions with one history share it whatever their ids are:
session ``s3`` is the third session, turn ``s3t1`` its first turn.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from benchsuite.corpus.codec import history_of
from benchsuite.corpus.images import ImageIndex, Place, is_remote, stamp_of
from benchsuite.corpus.labels import ALL_SPLITS, Label, Labels, read_labels
from benchsuite.corpus.model import UNKNOWN_DATE, Evidence, History, Image, Question, Session, Turn
from benchsuite.corpus.parquet import SUFFIX as PARQUET
from benchsuite.corpus.parquet import stream_rows
from benchsuite.corpus.store import Record, is_empty
from benchsuite.corpus.stream import stream_items
from benchsuite.corpus.subset import Subset, read_subset
from benchsuite.errors import ConfigError, DataError

if TYPE_CHECKING:
    from benchsuite.registry import Registry

SUITE = "memlens"
MINI_NAME = "memlens-mini"
MINI_FOLDER = Path(__file__).parent / "minis" / "memlens_mini"
REFUSAL_TYPE = "answer_refusal"
QUESTION_TYPES = (
    "information_extraction",
    "multi_session_reasoning",
    "temporal_reasoning",
    "knowledge_update",
    REFUSAL_TYPE,
)
_FILE_KEYS = ("file", "path", "file_path", "img_file")
_URL_KEYS = ("image_hf_url", "image_url")
_CAPTION_KEY = "blip_caption"
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)", re.IGNORECASE)
_SCALE = {"k": 1e3, "m": 1e6}


@dataclass(frozen=True, slots=True)
class MemLensPath:
    """A dataset file or a folder of them, what stands beside it, and the split that is wanted ('' for none)."""

    path: Path
    name: str = ""
    split: str = ""

    @property
    def title(self) -> str:
        return (self.name or self.path.resolve().name) + (f"#{self.split}" if self.split else "")

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def image_root(self) -> Path:
        return self.folder / "release_images"

    @property
    def labels_file(self) -> Path:
        return self.folder / "labels.json"

    @property
    def bundled(self) -> bool:
        return self.path.resolve() == MINI_FOLDER.resolve()


def memlens_path(spec: str) -> MemLensPath:
    """What ``memlens-mini``, a file or a folder means, each with an optional ``#split``."""
    base, mark, split = spec.rpartition("#")
    if not mark or Path(spec).exists():
        base, split = spec, ""
    if base == MINI_NAME:
        return MemLensPath(MINI_FOLDER, MINI_NAME, split)
    return MemLensPath(Path(base), split=split)


def memlens_source(spec: str) -> MemLensSource:
    """The corpus that a spec means, see `memlens_path`.

    Raises ConfigError when nothing is there or the split is unknown, DataError for faulty labels or subsets.
    """
    place = memlens_path(spec)
    return MemLensSource(place.path, place.name, place.split)


class MemLensSource:
    """One dataset file, or every ``dataset_<length>`` of a folder, as a source of records.

    A split keeps the questions of one split of `labels.json` (``all`` keeps every one; unasked, see
    `Labels.choose_split`), or those that a subset file ``<split>.json`` names. Of an item that is not kept only
    form and id are checked, and that a labelled corpus labels it; ``benchsuite data check`` checks them all.
    """

    suite = SUITE
    version = "memlens/2"

    def __init__(self, path: Path, name: str = "", split: str = "") -> None:
        place = MemLensPath(path, name, split)
        self._datasets = dataset_files(place.path)
        self._labels_file = place.labels_file
        self._labels = read_labels(self._labels_file)
        self._subset = find_subset(place, self._labels)
        self.split = split if self._subset else self._labels.choose_split(split)
        self.image_root = place.image_root
        self.location = str(place.path.resolve())
        self.bundled = place.bundled
        self.name = place.title
        self.lengths = tuple(self._datasets)

    def files(self) -> tuple[Path, ...]:
        """The files whose bytes make this corpus, images aside; `labels.json` may be absent."""
        return (*self._datasets.values(), self._labels_file, *([self._subset.file] if self._subset else []))

    def records(self, length: str, images: ImageIndex) -> Iterator[Record]:
        """The kept questions of one length, each with its history, in file order. Raises DataError."""
        path, seen = self._datasets[length], set[str]()
        for position, raw in enumerate(read_items(path), start=1):
            item = DatasetItem(str(path), position, raw, images)
            item.add_id(seen)
            label = self._labels.of(item.id)
            if item.id in self._subset.ids if self._subset else self.split in ("", label.split):
                yield item.record(label)
        if self._subset:
            self._subset.check_known(seen, path.name)


def read_items(path: Path) -> Iterator[object]:
    """The items of a dataset file as they stand there, in file order. Raises DataError and ConfigError."""
    return stream_rows(path) if path.suffix == PARQUET else stream_items(path)


def dataset_files(path: Path) -> Mapping[str, Path]:
    """Length to file, shortest length first; of a length's JSON and Parquet twins, the JSON file.

    Raises ConfigError when there is none.
    """
    if path.is_file():
        return {_length_of(path): path}
    found = {_length_of(file): file for kind in (PARQUET, ".json") for file in path.glob(f"dataset_*{kind}")}
    if not found:
        what = "no dataset_<length>.json or .parquet in this folder" if path.is_dir() else "no such file or folder"
        raise ConfigError(f"memlens corpus {path}: {what}")
    return dict(sorted(found.items(), key=lambda each: _length_order(each[0])))


def find_subset(place: MemLensPath, labels: Labels) -> Subset | None:
    """The subset file that the split names; None where it names a split of the labels, or nothing.

    Raises ConfigError for a name that is both, DataError for a faulty file.
    """
    name = place.split
    file = place.folder / f"{name}.json"
    if name in ("", ALL_SPLITS) or Path(name).name != name or stamp_of(file) is None:
        return None
    if name in labels.splits:
        raise ConfigError(f"{file}: {name!r} is also a split of {labels.file}: rename the file")
    return read_subset(file)


def _length_of(path: Path) -> str:
    stem = path.stem.removeprefix("dataset_") or path.stem
    clean = re.sub(r"[^\w.+-]", "_", stem, flags=re.ASCII)
    return clean if clean == stem else clean + hashlib.sha256(stem.encode()).hexdigest()[:4]


def _length_order(length: str) -> tuple[bool, float, str, str]:
    """By number and unit (128k before 1m), what is no number last."""
    match = _LENGTH.fullmatch(length)
    if match is None:
        return True, 0.0, "", length
    unit = match[2].lower()
    return False, float(match[1]) * _SCALE.get(unit, 1.0), unit, length


@dataclass(frozen=True, slots=True)
class _RawSession:
    """A session in either shape: its turns, the field they stand in, and what a dict session says itself."""

    turns: list[object]
    field: str
    id: str
    date: str


class DatasetItem:
    """One item of a dataset file, checked field by field: every method raises DataError for the first fault."""

    def __init__(self, file: str, position: int, raw: object, images: ImageIndex) -> None:
        self._file, self.id, self._images = file, f"#{position}", images
        if not isinstance(raw, dict):
            self.fail(None, "the item is not a JSON object")
        self._raw: dict[str, object] = raw
        self.id = self._text("question_id")

    def fail(self, field: str | None, problem: str) -> NoReturn:
        raise DataError(self._file, self.id, field, problem)

    def add_id(self, seen: set[str]) -> None:
        if self.id in seen:
            self.fail("question_id", "the question id occurs twice")
        seen.add(self.id)

    def record(self, label: Label) -> Record:
        """The question with its history."""
        kind = self._text("question_type")
        if kind not in QUESTION_TYPES:
            self.fail("question_type", f"unknown type {kind!r}; known: {', '.join(QUESTION_TYPES)}")
        session_ids, sessions, gold = self._sessions()
        answer_ids = self._strings("answer_session_ids") or []
        history = history_of(sessions)
        question = Question(
            id=self.id,
            type=kind,
            text=self._text("question"),
            gold=self._answer("answer"),
            date=self._optional_text("question_date") or UNKNOWN_DATE,
            history_id=history.id,
            answerable=kind != REFUSAL_TYPE,
            evidence=self._evidence(history, session_ids, answer_ids, gold),
            subtype=self._optional_text("question_subtype"),
            outdated=self._outdated(),
            labels=(label.stratum,) if label.stratum else (),
            split=label.split,
            cluster=label.cluster,
        )
        return Record(question, history, tuple(answer_ids) if question.answerable else ())

    def _evidence(
        self, history: History, session_ids: Sequence[str], answer_ids: Sequence[str], gold: set[str]
    ) -> Evidence:
        """Marked turns, or every turn of the answer sessions where none is marked; empty turns are never gold."""
        for answer_id in answer_ids:
            if session_ids.count(answer_id) != 1:
                times = "twice" if answer_id in session_ids else "not"
                self.fail("answer_session_ids", f"session {answer_id!r} is {times} among the sessions")
        chosen = [s for s, known in zip(history.sessions, session_ids, strict=True) if known in answer_ids]
        marked = tuple(turn.id for turn in history.turns if turn.id in gold and not is_empty(turn))
        whole = tuple(turn.id for session in chosen for turn in session.turns if not is_empty(turn))
        return Evidence(turn_ids=marked or whole, session_ids=tuple(session.id for session in chosen))

    def _sessions(self) -> tuple[list[str], list[Session], set[str]]:
        """The corpus' session ids, the sessions under position ids, and the turns marked ``has_answer``."""
        raw = [self._session(i, value) for i, value in enumerate(self._list("haystack_sessions"))]
        ids = self._parallel("haystack_session_ids", len(raw))
        dates = self._parallel("haystack_dates", len(raw))
        gold: set[str] = set()
        sessions = []
        for number, session in enumerate(raw, start=1):
            if ids[number - 1] and session.id and ids[number - 1] != session.id:
                self.fail(f"haystack_session_ids[{number - 1}]", f"the session itself says {session.id!r}")
            date = dates[number - 1] or session.date or UNKNOWN_DATE
            turns = []
            for place, value in enumerate(session.turns):
                turn, marked = self._turn(f"s{number}t{place + 1}", date, f"{session.field}[{place}]", value)
                turns.append(turn)
                gold.update({turn.id} if marked else ())
            sessions.append(Session(f"s{number}", date, tuple(turns)))
        return [known or session.id for known, session in zip(ids, raw, strict=True)], sessions, gold

    def _session(self, index: int, value: object) -> _RawSession:
        field = f"haystack_sessions[{index}]"
        if isinstance(value, list):
            return _RawSession(value, field, "", "")
        if not isinstance(value, dict):
            self.fail(field, "neither a list of turns nor an object with a 'session' list")
        turns = value.get("session")
        if not isinstance(turns, list):
            self.fail(f"{field}.session", "not a list")
        texts = []
        for key in ("session_id", "date"):
            text = value.get(key) or ""
            texts.append(self._checked(f"{field}.{key}", text))
        return _RawSession(turns, f"{field}.session", *texts)

    def _turn(self, turn_id: str, date: str, field: str, value: object) -> tuple[Turn, bool]:
        if not isinstance(value, dict):
            self.fail(field, "not a JSON object")
        role = self._checked(f"{field}.role", value.get("role"))
        text = self._checked(f"{field}.content", value.get("content"))
        images = value.get("images")
        if not isinstance(images, list | None):
            self.fail(f"{field}.images", "not a list")
        marked = value.get("has_answer")
        if not isinstance(marked, bool | None):
            self.fail(f"{field}.has_answer", "neither true nor false")
        resolved = tuple(self._image(f"{field}.images[{place}]", image) for place, image in enumerate(images or ()))
        return Turn(turn_id, "assistant" if role == "assistant" else "user", text, resolved, date), bool(marked)

    def _image(self, field: str, value: object) -> Image:
        """A stored image, or a missing one; a URL counts only where there is no path."""
        if isinstance(value, str):
            value = {"file": value}
        if not isinstance(value, dict):
            self.fail(field, "neither a string nor a JSON object")
        for key in (*_FILE_KEYS, *_URL_KEYS):
            reference = value.get(key)
            if isinstance(reference, list):
                reference = reference[0] if reference else None
            if reference is None or reference == "":
                continue
            text = self._checked(f"{field}.{key}", reference)
            if key in _FILE_KEYS or is_remote(text):
                found = self._images.resolve(text, Place(self._file, self.id, f"{field}.{key}"))
                caption = self._checked(f"{field}.{_CAPTION_KEY}", value.get(_CAPTION_KEY) or "").strip()
                return replace(found, caption=caption) if caption else found
        return self.fail(field, f"no image path: one of {', '.join(_FILE_KEYS)} is needed")

    def _outdated(self) -> str:
        """`old_answer`, at the top or inside `question_content`."""
        if self._raw.get("old_answer") is not None:
            return self._answer("old_answer", may_be_empty=True)
        content = self._raw.get("question_content")
        if isinstance(content, dict) and content.get("old_answer") is not None:
            return self._number_or_text("question_content.old_answer", content["old_answer"])
        return ""

    def _answer(self, field: str, may_be_empty: bool = False) -> str:
        answer = self._number_or_text(field, self._raw.get(field))
        if not answer.strip() and not may_be_empty:
            self.fail(field, "empty")
        return answer

    def _number_or_text(self, field: str, value: object) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isfinite(value):
                self.fail(field, f"{value} is no answer")
            return str(value)
        return self._checked(field, value)

    def _text(self, field: str) -> str:
        text = self._checked(field, self._raw.get(field))
        if not text.strip():
            self.fail(field, "empty")
        return text

    def _optional_text(self, field: str) -> str:
        value = self._raw.get(field)
        return "" if value is None else self._checked(field, value)

    def _checked(self, field: str, value: object) -> str:
        if not isinstance(value, str):
            self.fail(field, "missing" if value is None else f"a string is needed, not {_kind(value)}")
        if not value.isascii() and re.search("[\ud800-\udfff]", value):
            self.fail(field, "half a surrogate pair in the text")
        return value

    def _list(self, field: str) -> list[object]:
        value = self._raw.get(field)
        if not isinstance(value, list):
            self.fail(field, "missing" if value is None else f"a list is needed, not {_kind(value)}")
        return value

    def _strings(self, field: str) -> list[str] | None:
        """A list of strings (null inside it is ''), or None where the field is absent."""
        if self._raw.get(field) is None:
            return None
        values = enumerate(self._list(field))
        return [self._checked(f"{field}[{i}]", "" if value is None else value) for i, value in values]

    def _parallel(self, field: str, count: int) -> list[str]:
        values = self._strings(field)
        if values is None:
            return [""] * count
        if len(values) != count:
            self.fail(field, f"{len(values)} entries for {count} sessions of haystack_sessions")
        return values


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def register(registry: Registry) -> None:
    registry.corpus("memlens", memlens_source, default="memlens-mini")
