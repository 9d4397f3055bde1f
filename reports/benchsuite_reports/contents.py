"""Requests rebuilt from what a run stored: the records of its calls, the answer cache, the images.

A record has digests only. Its texts stand in the answer cache, its images in the image cache where they were
transformed and in the corpus where they were sent as stored. All bytes are checked against the sha256 of what was
sent; what is gone or changed is shown as such and never left out.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.corpus.images import MIME_TYPES
from benchsuite.corpus.model import Image, Question
from benchsuite.corpus.store import IndexedCorpus, open_corpus
from benchsuite.delivery.images import prepared_file
from benchsuite.errors import BenchError, DataError
from benchsuite.files import whole_lines
from benchsuite.models.cache import FILE_NAME, AnswerStore
from benchsuite_reports.shown import Picture, Segment, ShownMessage, ShownRequest
from benchsuite_reports.table import Row

Call = Mapping[str, Any]
"""A line of ``calls/<worker>.jsonl``: cell, role and the skeleton of a request."""


def read_calls(run: Path, cells: set[str]) -> dict[str, dict[str, Call]]:
    """The records of these cells' calls: cell id to request key to record, the last of a key standing.

    Raises DataError naming file and line for a record that cannot be read.
    """
    needles = [json.dumps(cell).encode() for cell in cells]
    found: dict[str, dict[str, Call]] = {}
    for path in sorted((run / "calls").glob("*.jsonl")):
        for number, line in whole_lines(path):
            if not any(needle in line for needle in needles):  # most lines are other cells': not worth parsing
                continue
            try:
                call = json.loads(line)
                if call["cell"] in cells:
                    found.setdefault(call["cell"], {})[call["key"]] = call
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(f"{path}:{number}", None, None, f"not the record of a call: {error!r}") from None
    return found


def caches_of(bench_dir: Path, runs: Iterable[Path]) -> tuple[Path, ...]:
    """The folders of caches to look in: that of ``bench_dir``, and those beside runs that lie elsewhere."""
    beside = [run.resolve().parent.parent / "cache" for run in runs]
    return tuple(dict.fromkeys([(bench_dir / "cache").resolve(), *(each for each in beside if each.is_dir())]))


@dataclass(frozen=True, slots=True)
class _Corpus:
    """An indexed corpus that is at hand, and where its images are by sha256."""

    index: IndexedCorpus
    paths: Mapping[str, str]


class Contents:
    """What the folders of caches hold of requests; opened for reading, ``close`` when done. Images may be asked for
    from several threads."""

    def __init__(self, caches: Iterable[Path]) -> None:
        self._caches = tuple(caches)
        self._answers = [AnswerStore(each, readonly=True) for each in self._caches if (each / FILE_NAME).is_file()]
        self._corpora: dict[str, _Corpus] = {}
        self._lock = threading.Lock()
        self._data: dict[tuple[str, str], bytes] = {}

    def request(self, call: Call, corpus: str) -> ShownRequest:
        """The request of one record, whose images are those of the corpus with this digest.

        Raises DataError for a record that cannot be read.
        """
        try:
            messages = tuple(
                ShownMessage(str(role), tuple(self._segment(part, corpus) for part in parts))
                for role, parts in call["messages"]
            )
            stored = next((found for each in self._answers if (found := each.get(call["key"])) is not None), None)
            return ShownRequest(
                role=str(call["role"]),
                key=str(call["key"]),
                model=str(call["model"]),
                messages=messages,
                params=dict(call["params"]),
                tools=str(call["tools"]),
                reply=stored.reply.text if stored is not None else None,
                asked=tuple(map(_asked, stored.reply.tool_calls)) if stored is not None else (),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError("calls/", str(call["cell"]), None, f"not the record of a request: {error!r}") from None

    def question(self, row: Row) -> tuple[Question | None, str]:
        """The question of a row as its corpus has it, or why it is not at hand."""
        try:
            corpus = self._corpus(str(row["corpus"]))
            return corpus.index.question(str(row["arm.length"]), str(row["question"])), ""
        except BenchError as error:
            return None, str(error)

    def image_bytes(self, part: Mapping[str, Any], corpus: str) -> bytes:
        """The bytes of a recorded image as it was sent. Raises BenchError or OSError where they are not at hand, and
        BenchError where others are kept in their place."""
        sha256, transform = str(part["sha256"]), str(part["transform"])
        if not transform:
            return self.stored_bytes(sha256, corpus)
        files = [
            prepared_file(cache / "image", transform, str(part["source"]), part["params"]) for cache in self._caches
        ]
        return _checked(next((file for file in files if file.exists()), files[0]).read_bytes(), sha256)

    def stored_bytes(self, sha256: str, corpus: str) -> bytes:
        """The bytes of an image of the corpus with this digest. Raises as :meth:`image_bytes`."""
        at_hand = self._corpus(corpus)
        path = at_hand.paths.get(sha256)
        if path is None:
            raise BenchError(f"the corpus {corpus[:12]} has no such image")
        return _checked(at_hand.index.image_bytes(Image(sha256, path)), sha256)

    def close(self) -> None:
        for store in self._answers:
            store.close()
        for corpus in self._corpora.values():
            corpus.index.close()

    def _segment(self, part: Mapping[str, Any], corpus: str) -> Segment:
        kind, item, sha256 = str(part["kind"]), str(part["item"]), str(part["sha256"])
        if "source" in part:
            return Segment(kind, sha256, item, picture=self._picture(part, corpus))
        data = next((found for each in self._answers if (found := each.part(sha256)) is not None), None)
        what = f"a text of {part['n']} characters, sha256 {sha256}"
        if data is None:
            return Segment(kind, sha256, item, problem=f"{what}: it is not stored")
        if hashlib.sha256(data).hexdigest() != sha256:
            return Segment(kind, sha256, item, problem=f"{what}: what is stored for it has another sha256")
        return Segment(kind, sha256, item, data.decode("utf-8", "surrogatepass"))

    def _picture(self, part: Mapping[str, Any], corpus: str) -> Picture:
        sha256, mime = str(part["sha256"]), str(part["mime"])
        data, problem = self._data.get((sha256, corpus)), ""
        if mime not in MIME_TYPES.values():
            data, problem = None, f"{mime!r} is no type of image that is sent"
        elif data is None:
            try:
                data = self._data[sha256, corpus] = self.image_bytes(part, corpus)
            except OSError as error:
                problem = f"sha256 {sha256}: it cannot be read: {error.strerror or error}"
            except BenchError as error:
                problem = f"sha256 {sha256}: {error}"
        return Picture(
            sha256=sha256,
            source=str(part["source"]),
            mime=mime,
            width=int(part["w"]),
            height=int(part["h"]),
            transform=str(part["transform"]),
            params=tuple(part["params"].items()),
            data=data,
            problem=problem,
        )

    def _corpus(self, digest: str) -> _Corpus:
        """Raises BenchError for a corpus whose index is not there or cannot be read."""
        with self._lock:
            if digest not in self._corpora:
                folders = [cache / "corpus" / digest for cache in self._caches]
                folder = next((each for each in folders if each.is_dir()), None)
                if folder is None:
                    raise BenchError(f"there is no corpus {digest[:12]} in {self._caches[0] / 'corpus'}")
                index = open_corpus(folder)
                paths = json.loads((folder / "images.json").read_bytes())
                self._corpora[digest] = _Corpus(index, {sha256: path for path, sha256 in paths.items()})
            return self._corpora[digest]


def _asked(call: Mapping[str, Any]) -> tuple[str, str]:
    """Name and arguments of a tool call, as an endpoint gives it."""
    function = call.get("function")
    said = function if isinstance(function, Mapping) else call
    return str(said.get("name", "")), str(said.get("arguments", ""))


def _checked(data: bytes, sha256: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise BenchError(f"what is stored for it has another sha256, {found}")
    return data
