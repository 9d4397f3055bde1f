"""A corpus validated and indexed once, in a content-addressed folder that any process opens read-only.

`<cache>/corpus/<digest>/` holds `meta.json`, per length `<length>.outline.json` and `<length>.questions.jsonl`,
and for all lengths together `histories.jsonl` (each distinct history once), `histories.json` (its byte ranges),
`images.json` and, where a history has one, `<history id>.script.json`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from benchsuite.corpus.codec import (
    decode_history,
    decode_question,
    decode_script,
    encode_history,
    encode_question,
    encode_script,
    order_of,
)
from benchsuite.corpus.images import FileStamp, ImageIndex, read_stored, stamp_of
from benchsuite.corpus.model import Corpus, History, Image, Item, Outline, Question, Turn, plain_text
from benchsuite.corpus.script import Script
from benchsuite.errors import ConfigError, DataError
from benchsuite.files import write_atomic

INDEX_VERSION = 3
HISTORIES_KEPT = 16
_Range = tuple[int, int]  # offset and length in bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One question with its history. Questions that share one of ``links`` fall into one cluster, where
    ``question.cluster`` is empty."""

    question: Question
    history: History
    links: tuple[str, ...]


class Source(Protocol):
    """A corpus in its public format. ``version`` changes when the same bytes are read differently."""

    suite: str
    name: str
    version: str
    split: str
    bundled: bool
    location: str
    image_root: Path
    lengths: tuple[str, ...]

    def files(self) -> tuple[Path, ...]:
        """The files whose bytes make the corpus, images aside; one may be absent."""

    def records(self, length: str, images: ImageIndex) -> Iterator[Record]: ...


@runtime_checkable
class Scripted(Protocol):
    """A Source whose histories are the beginning of a longer conversation."""

    def scripts(self, images: ImageIndex) -> Mapping[str, Script]:
        """The script of each history, by history id; asked for after all records."""


def is_empty(turn: Turn) -> bool:
    """True for a turn with neither text nor images: kept in the history, never an Item."""
    return not turn.images and not plain_text(turn.text)


def turn_items(history: History) -> tuple[Item, ...]:
    """One Item per turn of either role, in conversation order."""
    return tuple(
        Item(turn.id, (turn.id,), turn.role, turn.text, turn.images, turn.date, number)
        for number, session in enumerate(history.sessions, start=1)
        for turn in session.turns
        if not is_empty(turn)
    )


def index_corpus(source: Source, cache_dir: Path) -> Path:
    """Validate and index a corpus; the folder to open. Nothing is read again while no file of it changed.

    Raises DataError for a fault in the data and ConfigError for a cache folder that cannot be written.
    """
    home = cache_dir / "corpus"
    try:
        (home / "sources").mkdir(parents=True, exist_ok=True)
        with _locked(home / ".lock"):
            known = _known_digest(source, home)
            digest = known or _build(source, home)
            _write_meta(home / digest, _identity(source))
    except OSError as error:
        raise ConfigError(f"corpus cache {home} cannot be written: {error.strerror or error}") from None
    return home / digest


def open_corpus(path: Path) -> IndexedCorpus:
    """Open an indexed corpus. Raises ConfigError when the folder is not one."""
    try:
        meta = json.loads((path / "meta.json").read_bytes())
        return IndexedCorpus(path, meta)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{path}: not a corpus index, remove it and run again: {error}") from None


class IndexedCorpus(Corpus):
    """A Corpus over an index folder; safe to use from several threads."""

    def __init__(self, path: Path, meta: Mapping[str, Any]) -> None:
        self._path, self._meta = path, meta
        self._image_root = Path(meta["image_root"])
        self._ranges: dict[str, _Range] = json.loads((path / "histories.json").read_bytes())
        self._lengths = tuple(meta["lengths"])
        self._histories = os.open(path / "histories.jsonl", os.O_RDONLY | os.O_CLOEXEC)
        mapped = {length: _mapped(path / f"{length}.questions.jsonl") for length in self._lengths}
        self._questions = {length: each for length, each in mapped.items() if each is not None}
        self._outline = lru_cache(maxsize=None)(self._read_outline)
        self._history = lru_cache(maxsize=HISTORIES_KEPT)(self._read_history)
        self._script = lru_cache(maxsize=HISTORIES_KEPT)(self._read_script)

    @property
    def suite(self) -> str:
        return str(self._meta["suite"])

    @property
    def name(self) -> str:
        return str(self._meta["name"])

    @property
    def digest(self) -> str:
        return str(self._meta["digest"])

    @property
    def files(self) -> Mapping[str, str]:
        return dict(self._meta["files"])

    @property
    def bundled(self) -> bool:
        return bool(self._meta["bundled"])

    @property
    def lengths(self) -> tuple[str, ...]:
        return self._lengths

    def outline(self, length: str) -> Sequence[Outline]:
        return self._outline(length)[0]

    def question(self, length: str, question_id: str) -> Question:
        """Raises ConfigError for an unknown length or question."""
        found = self._outline(length)[1].get(question_id)
        if found is None:
            raise ConfigError(f"{self.name}: no question {question_id!r} at length {length}")
        offset, size = found
        return decode_question(self._questions[length][offset : offset + size])

    def history(self, history_id: str) -> History:
        """Raises ConfigError for an unknown history."""
        return self._history(history_id)

    def history_size(self, history_id: str) -> int:
        return self._ranges[history_id][1]

    def script(self, history_id: str) -> Script | None:
        """Raises ConfigError for an unknown history."""
        return self._script(history_id)

    def items(self, history: History) -> tuple[Item, ...]:
        return turn_items(history)

    def image_bytes(self, image: Image) -> bytes:
        return read_stored(self._image_root, image)

    def close(self) -> None:
        if self._histories >= 0:
            os.close(self._histories)
            self._histories = -1
        while self._questions:
            self._questions.popitem()[1].close()

    def _read_outline(self, length: str) -> tuple[tuple[Outline, ...], dict[str, _Range]]:
        if length not in self._lengths:
            raise ConfigError(f"{self.name}: no length {length!r}; there is: {', '.join(self._lengths)}")
        rows = json.loads((self._path / f"{length}.outline.json").read_bytes())
        outlines = tuple(
            Outline(id, type, split, cluster, tuple(labels), answerable, history_id, order)
            for id, type, split, cluster, labels, answerable, history_id, order, _, _ in rows
        )
        return outlines, {row[0]: (row[-2], row[-1]) for row in rows}

    def _read_history(self, history_id: str) -> History:
        if history_id not in self._ranges:
            raise ConfigError(f"{self.name}: no history {history_id!r}")
        offset, size = self._ranges[history_id]
        return decode_history(os.pread(self._histories, size, offset))

    def _read_script(self, history_id: str) -> Script | None:
        if history_id not in self._ranges:
            raise ConfigError(f"{self.name}: no history {history_id!r}")
        try:
            return decode_script((self._path / f"{history_id}.script.json").read_bytes())
        except FileNotFoundError:
            return None


def _mapped(path: Path) -> mmap.mmap | None:
    """A file in memory, None for an empty one: a question is read at every cell, and a system call for each would hand
    the interpreter over every time."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else None


def _build(source: Source, home: Path) -> str:
    """Read the whole source into a new folder, move it to its digest and remember the source's file stamps."""
    for leftover in home.glob("new-*"):  # of a killed run: whoever holds the lock is alone here
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="new-", dir=home))
    try:
        before = _stamps(source)
        contents = [sha256_file(file) for file in source.files()]
        images = ImageIndex(source.image_root)
        _write_records(source, images, folder)
        known = {image.path: image.sha256 or image.missing for image in images.images}
        _write_json(folder / "images.json", known)
        if _stamps(source) != before:
            raise DataError(source.location, None, None, "the files changed while they were read")
        shape = [INDEX_VERSION, source.version, source.suite, source.split, source.lengths, contents]
        digest = hashlib.sha256(json.dumps([shape, sorted(known.items())]).encode()).hexdigest()
        files = {file.name: sha256 for file, sha256 in zip(source.files(), contents, strict=True) if sha256}
        _write_meta(folder, {**_identity(source), "digest": digest, "files": files})
        if not (home / digest / "meta.json").exists():
            folder.rename(home / digest)
            _sync_folder(home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _write_json(_memo_file(source, home), {"digest": digest, "files": before, "images": images.stamps})
    return digest


def _write_records(source: Source, images: ImageIndex, folder: Path) -> None:
    ranges: dict[str, _Range] = {}
    total = 0
    with (folder / "histories.jsonl").open("wb") as histories:
        for length in source.lengths:
            questions: list[Question] = []
            links: list[tuple[str, ...]] = []
            for record in source.records(length, images):
                if record.history.id not in ranges:
                    line = encode_history(record.history)
                    ranges[record.history.id] = (histories.tell(), len(line))
                    histories.write(line + b"\n")
                questions.append(record.question)
                links.append(record.links)
            total += len(questions)
            _write_questions(folder, length, _with_clusters(questions, links))
        _sync(histories.fileno(), histories.flush)
    if not total:
        raise DataError(source.location, None, None, "the corpus has no questions")
    _write_json(folder / "histories.json", ranges)
    if isinstance(source, Scripted):
        for history_id, script in source.scripts(images).items():
            write_atomic(folder / f"{history_id}.script.json", encode_script(script))


def _write_questions(folder: Path, length: str, questions: Sequence[Question]) -> None:
    rows: list[list[object]] = []
    with (folder / f"{length}.questions.jsonl").open("wb") as lines:
        for q in questions:
            line = encode_question(q)
            where = [lines.tell(), len(line)]
            about = [q.id, q.type, q.split, q.cluster, q.labels, q.answerable, q.history_id, order_of(q)]
            rows.append([*about, *where])
            lines.write(line + b"\n")
        _sync(lines.fileno(), lines.flush)
    _write_json(folder / f"{length}.outline.json", rows)


def _with_clusters(questions: Sequence[Question], links: Sequence[tuple[str, ...]]) -> list[Question]:
    """Fill empty clusters: the connected components of shared links, named after their first question."""
    parent = list(range(len(questions)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    first_with: dict[str, int] = {}
    for node, names in enumerate(links):
        for name in names:
            one, other = root(first_with.setdefault(name, node)), root(node)
            parent[max(one, other)] = min(one, other)
    return [
        question if question.cluster else replace(question, cluster=questions[root(node)].id)
        for node, question in enumerate(questions)
    ]


def _known_digest(source: Source, home: Path) -> str:
    """The digest of a source none of whose files changed since it was indexed; empty otherwise."""
    try:
        memo = json.loads(_memo_file(source, home).read_bytes())
        digest, files, images = str(memo["digest"]), memo["files"], memo["images"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if not (home / digest / "meta.json").exists() or files != _plain(_stamps(source)):
        return ""
    unchanged = all(_plain(stamp_of(source.image_root / path)) == stamp for path, stamp in images.items())
    return digest if unchanged else ""


def _identity(source: Source) -> dict[str, object]:
    """What belongs to the place a corpus was read from, not to its content."""
    return {
        "suite": source.suite,
        "name": source.name,
        "bundled": source.bundled,
        "lengths": source.lengths,
        "split": source.split,
        "image_root": str(source.image_root.resolve()),
    }


def _write_meta(folder: Path, values: Mapping[str, object]) -> None:
    """Write `meta.json`, or bring it up to date for a corpus of the same content in another place."""
    file = folder / "meta.json"
    old = json.loads(file.read_bytes()) if file.exists() else {}
    new = {**old, **_plain(values)}
    if new != old:
        _write_json(file, new)


def _memo_file(source: Source, home: Path) -> Path:
    key = json.dumps([INDEX_VERSION, source.version, source.suite, source.location, source.split])
    return home / "sources" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def _stamps(source: Source) -> list[tuple[str, FileStamp | None]]:
    return [(file.name, stamp_of(file)) for file in source.files()]


def sha256_file(path: Path) -> str:
    """The hex digest; empty for a file that is not there. Raises DataError for one that cannot be read."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DataError(str(path), None, None, f"cannot be read: {error.strerror}") from None


def _plain(value: Any) -> Any:
    """As it reads back from JSON."""
    return json.loads(json.dumps(value))


def _write_json(path: Path, value: object) -> None:
    write_atomic(path, json.dumps(value, separators=(",", ":")))


def _sync(descriptor: int, flush: Any) -> None:
    flush()
    os.fsync(descriptor)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
