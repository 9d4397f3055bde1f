"""Requests rebuilt from what a run stored: the records of its calls, the answer cache, the images.

A record has digests only. Its texts stand in the answer cache, its images in the image cache where they were
transformed and in the corpus where they were sent as stored. All bytes are checked against the sha256 of what was
sent; what is gone or changed is shown as such and never left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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
from benchsuite.models.wire import WireImage
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


@dataclass(frozen=True, slots=True)
class _Corpus:
    """An indexed corpus that is at hand, and where its images are by sha256."""

    index: IndexedCorpus
    paths: Mapping[str, str]


class Contents:
    """What the folder of caches holds of requests; opened for reading, ``close`` when done."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._answers = AnswerStore(cache, readonly=True) if (cache / FILE_NAME).is_file() else None
        self._corpora: dict[str, _Corpus] = {}
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
            stored = self._answers.get(call["key"]) if self._answers is not None else None
            return ShownRequest(
                role=str(call["role"]),
                key=str(call["key"]),
                model=str(call["model"]),
                messages=messages,
                params=dict(call["params"]),
                tools=str(call["tools"]),
                reply=stored.reply.text if stored is not None else None,
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

    def close(self) -> None:
        if self._answers is not None:
            self._answers.close()
        for corpus in self._corpora.values():
            corpus.index.close()

    def _segment(self, part: Mapping[str, Any], corpus: str) -> Segment:
        kind, item, sha256 = str(part["kind"]), str(part["item"]), str(part["sha256"])
        if "source" in part:
            return Segment(kind, sha256, item, picture=self._picture(part, corpus))
        data = self._answers.part(sha256) if self._answers is not None else None
        what = f"a text of {part['n']} characters, sha256 {sha256}"
        if data is None:
            return Segment(kind, sha256, item, problem=f"{what}: it is not stored")
        if hashlib.sha256(data).hexdigest() != sha256:
            return Segment(kind, sha256, item, problem=f"{what}: what is stored for it has another sha256")
        return Segment(kind, sha256, item, data.decode("utf-8", "surrogatepass"))

    def _picture(self, part: Mapping[str, Any], corpus: str) -> Picture:
        wire = WireImage(
            sha256=str(part["sha256"]),
            source=str(part["source"]),
            mime=str(part["mime"]),
            width=int(part["w"]),
            height=int(part["h"]),
            transform=str(part["transform"]),
            params=tuple(part["params"].items()),
        )
        data, problem = None, ""
        if wire.mime not in MIME_TYPES.values():
            problem = f"{wire.mime!r} is no type of image that is sent"
        else:
            data, problem = self._checked_bytes(wire, corpus)
        return Picture(
            wire.sha256, wire.source, wire.mime, wire.width, wire.height, wire.transform, wire.params, data, problem
        )

    def _checked_bytes(self, wire: WireImage, corpus: str) -> tuple[bytes | None, str]:
        known = self._data.get((wire.sha256, corpus))
        if known is not None:
            return known, ""
        try:
            data = self._prepared(wire) if wire.transform else self._stored(wire, corpus)
        except OSError as error:
            return None, f"sha256 {wire.sha256}: it cannot be read: {error.strerror or error}"
        except BenchError as error:
            return None, f"sha256 {wire.sha256}: {error}"
        found = hashlib.sha256(data).hexdigest()
        if found != wire.sha256:
            return None, f"sha256 {wire.sha256}: what is stored for it has another sha256, {found}"
        self._data[wire.sha256, corpus] = data
        return data, ""

    def _prepared(self, wire: WireImage) -> bytes:
        return prepared_file(self._cache / "image", wire.transform, wire.source, dict(wire.params)).read_bytes()

    def _stored(self, wire: WireImage, corpus: str) -> bytes:
        at_hand = self._corpus(corpus)
        path = at_hand.paths.get(wire.source)
        if path is None:
            raise BenchError(f"the corpus {corpus[:12]} has no such image")
        return at_hand.index.image_bytes(Image(wire.source, path))

    def _corpus(self, digest: str) -> _Corpus:
        """Raises BenchError for a corpus whose index is not there or cannot be read."""
        if digest not in self._corpora:
            folder = self._cache / "corpus" / digest
            if not folder.is_dir():
                raise BenchError(f"there is no corpus {digest[:12]} in {self._cache / 'corpus'}")
            index = open_corpus(folder)
            paths = json.loads((folder / "images.json").read_bytes())
            self._corpora[digest] = _Corpus(index, {sha256: path for path, sha256 in paths.items()})
        return self._corpora[digest]
