"""Image vectors on disk: content-addressed, append-only, read by any number of processes over a memory map.

An index is a folder for one encoder and one tiling::

    index.json     what made the vectors, their shape, and how many there are (IndexFacts)
    images.txt     the sha256 of one image's stored bytes a line; a line's number is the image's row
    vectors.f32    little-endian float32; a row is ``tiles`` vectors of ``width`` numbers
    claims/        a locked file for each image that someone embeds now
    lock           held while rows are appended, and at no other time

Vectors are on disk before the line that names them, so whatever moment a writer is killed at, every line has its
vectors; what lies beyond them is cut by the next writer. Who wants to embed an image claims it first. A claim is
tried, never waited for, nothing is waited for while one is held, and the system frees those of a process that ends:
so no image is embedded twice and nobody waits for the dead or in a circle.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from benchsuite.errors import DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import sha256_json
from benchsuite.retrieval.maxsim import maxsim

if TYPE_CHECKING:
    from benchsuite.retrieval.embed import Vectors

FORMAT = 1
DTYPE = "<f4"
_LINE = 65  # bytes: 64 hex digits and a newline
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What ``index.json`` says. ``width`` and ``tiles`` shape a row, ``bytes`` are those of the vectors.

    ``encode_s`` are the seconds in which at least one batch was being embedded, by whichever process: batches that
    overlap in time count once. ``encoded_until`` (seconds since 1970) is the end of the last one and ``device``
    what it was embedded on.
    """

    encoder: str
    identity: str
    tiling: str
    width: int
    tiles: int
    images: int = 0
    bytes: int = 0
    encode_s: float = 0.0
    encoded_until: float = 0.0
    device: str = ""
    dtype: str = DTYPE
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Flight:
    """When a batch was sent and answered, in seconds since 1970, and what it was embedded on."""

    begun: float
    ended: float
    device: str


def index_folder(root: Path, identity: str, tiling: str) -> Path:
    """Where the vectors of one encoder identity and one version of a tiling (as ``region/1``) lie."""
    return root / sha256_json([FORMAT, identity, tiling])


def read_facts(folder: Path) -> IndexFacts | None:
    """What stands in ``folder``; None when there is no index yet. Raises DataError for one that is damaged."""
    try:
        record = json.loads((folder / "index.json").read_text())
    except FileNotFoundError:
        if (folder / "images.txt").exists():
            raise damaged(folder, "index.json", "is missing") from None
        return None
    except (OSError, ValueError) as error:
        raise damaged(folder, "index.json", f"cannot be read: {error}") from None
    names = {field.name for field in fields(IndexFacts)}
    if not isinstance(record, dict) or set(record) != names:
        raise damaged(folder, "index.json", f"must have exactly the fields {', '.join(sorted(names))}")
    facts = IndexFacts(**record)
    counts = (facts.width, facts.tiles, facts.images, facts.bytes)
    if facts.dtype != DTYPE or facts.format != FORMAT or not all(isinstance(n, int) and n >= 0 for n in counts):
        raise damaged(folder, "index.json", f"is not of format {FORMAT}")
    if facts.bytes != facts.images * _row_bytes(facts) or not _row_bytes(facts):
        shape = f"{facts.images} images of {facts.tiles} vectors of width {facts.width}"
        raise damaged(folder, "index.json", f"{shape} do not make {facts.bytes} bytes")
    return facts


def damaged(folder: Path, field: str, problem: str) -> DataError:
    """The one error of an index that cannot be used."""
    return DataError(str(folder), None, field, f"{problem}; remove this folder and run again to embed anew")


class VectorIndex:
    """One index. Does blocking file work; thread-safe. Methods raise DataError for a damaged index."""

    def __init__(self, root: Path, encoder: str, identity: str, tiling: str) -> None:
        """``tiling`` is a version, as ``region/1``: vectors of another way of tiling lie elsewhere."""
        self.folder = index_folder(root, identity, tiling)
        self._made_by = IndexFacts(encoder, identity, tiling, width=0, tiles=0)
        self._facts: IndexFacts | None = None
        self._rows: dict[str, int] = {}
        self._read_to = 0
        self._vectors: Vectors | None = None
        self._turn = threading.RLock()

    def facts(self) -> IndexFacts | None:
        """What is on disk now, others' work included; None before anything is."""
        return read_facts(self.folder)

    def absent(self, digests: Sequence[str]) -> list[str]:
        """Those without vectors, each once, in order; looks at what others appended if some are not known here."""
        with self._turn:
            if any(digest not in self._rows for digest in digests):
                self._refresh()
            return [digest for digest in dict.fromkeys(digests) if digest not in self._rows]

    def rows(self, digests: Sequence[str]) -> list[int]:
        """The row of each image. Raises KeyError for one without vectors."""
        return [self._rows[digest] for digest in digests]

    def scores(self, query: Vectors, digests: Sequence[str]) -> Vectors:
        """MaxSim of ``query`` (width,) with each image, in order. Raises KeyError for one without vectors."""
        with self._turn:
            rows = self.rows(digests)
            facts, vectors = self._facts, self._vectors
        if facts is None or vectors is None:
            raise KeyError("an empty index has no scores")
        if query.shape != (facts.width,):
            raise damaged(self.folder, "width", f"is {facts.width}, but the query's vector has {query.size}")
        return maxsim(vectors, query, rows)

    @contextmanager
    def claim(self, digests: Sequence[str], limit: int) -> Iterator[list[str]]:
        """Up to ``limit`` of ``digests`` that have no vectors and that nobody else embeds; theirs until the end."""
        held: dict[str, IO[bytes]] = {}
        folder = self.folder / "claims"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for digest in self.absent(digests):
                if len(held) == limit:
                    break
                file: IO[bytes] = (folder / digest).open("ab")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                else:
                    held[digest] = file
            yield self.absent(list(held))  # once more: its last holder may have appended it before letting go
        finally:
            for digest, file in held.items():
                if digest in self._rows:  # nobody embeds it again: whoever gets this lock looks and finds it
                    (folder / digest).unlink(missing_ok=True)
                file.close()

    def append(self, vectors: Mapping[str, Vectors], flight: Flight) -> None:
        """Add the images of one batch, each (tiles, width); those that are there already stay.

        Raises DataError when the index has another shape.
        """
        with self._turn, self._appending():
            width, tiles = next(iter(vectors.values())).shape[::-1]
            facts = read_facts(self.folder)
            if facts is None:
                facts = replace(self._made_by, width=width, tiles=tiles)
                self._write_facts(facts)
            if (facts.width, facts.tiles) != (width, tiles):
                theirs = f"{tiles} vectors of width {width}"
                raise damaged(self.folder, "width", f"is {facts.tiles} of {facts.width} an image, now came {theirs}")
            self._cut(facts)
            fresh = {digest: rows for digest, rows in vectors.items() if digest not in self._rows}
            _add(self.folder / "vectors.f32", b"".join(rows.astype(DTYPE).tobytes() for rows in fresh.values()))
            _add(self.folder / "images.txt", "".join(f"{digest}\n" for digest in fresh).encode())
            self._refresh()
            self._write_facts(self._counted(facts, flight))

    def _counted(self, facts: IndexFacts, flight: Flight) -> IndexFacts:
        images = len(self._rows)
        return replace(
            facts,
            images=images,
            bytes=images * _row_bytes(facts),
            encode_s=round(facts.encode_s + max(0.0, flight.ended - max(flight.begun, facts.encoded_until)), 4),
            encoded_until=max(flight.ended, facts.encoded_until),
            device=flight.device,
        )

    @contextmanager
    def _appending(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing((self.folder / "lock").open("w")) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise DataError(str(self.folder), None, None, f"cannot be written: {error.strerror}") from None

    def _write_facts(self, facts: IndexFacts) -> None:
        write_atomic(self.folder / "index.json", json.dumps(asdict(facts), indent=1))

    def _cut(self, facts: IndexFacts) -> None:
        """Take away what a killed writer left: a part of a line, vectors without a line."""
        names, vectors = self.folder / "images.txt", self.folder / "vectors.f32"
        names.touch()
        vectors.touch()
        os.truncate(names, names.stat().st_size // _LINE * _LINE)
        self._refresh()
        self._check_size(facts, len(self._rows))
        os.truncate(vectors, len(self._rows) * _row_bytes(facts))

    def _check_size(self, facts: IndexFacts, count: int) -> None:
        path = self.folder / "vectors.f32"
        found = path.stat().st_size if path.exists() else 0
        if found < count * _row_bytes(facts):
            shape = f"{count} images of {facts.tiles} vectors of width {facts.width}"
            raise damaged(self.folder, "vectors.f32", f"has {found} bytes, too few for {shape}")

    def _refresh(self) -> None:
        """Read the lines that were added since, and map the vectors again if there are more."""
        import numpy as np

        facts = read_facts(self.folder)
        names = self.folder / "images.txt"
        size = names.stat().st_size if facts is not None and names.exists() else 0
        if size < self._read_to:
            raise damaged(self.folder, "images.txt", "became shorter while it was in use")
        if facts is None or size - self._read_to < _LINE:
            return
        if (facts.identity, facts.tiling) != (self._made_by.identity, self._made_by.tiling):
            raise damaged(self.folder, "index.json", f"is of encoder {facts.identity} and tiling {facts.tiling}")
        with names.open("rb") as file:
            file.seek(self._read_to)
            added = file.read((size - self._read_to) // _LINE * _LINE)
        lines = added.decode("ascii", "replace").splitlines()
        new = {line: row for row, line in enumerate(lines, len(self._rows))}
        if not all(map(_DIGEST.fullmatch, lines)) or len({**self._rows, **new}) != len(self._rows) + len(lines):
            raise damaged(self.folder, "images.txt", "is not a list of distinct digests")
        count = len(self._rows) + len(new)
        if count < facts.images:
            raise damaged(self.folder, "images.txt", f"names {count} images, index.json {facts.images}")
        self._check_size(facts, count)
        rows = np.memmap(self.folder / "vectors.f32", DTYPE, "r", shape=(count, facts.tiles, facts.width))
        self._rows.update(new)
        self._facts, self._vectors, self._read_to = facts, rows.view(np.ndarray), self._read_to + len(added)


def _row_bytes(facts: IndexFacts) -> int:
    return facts.tiles * facts.width * 4


def _add(path: Path, content: bytes) -> None:
    """At the end of the file, and on the disk before this returns."""
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
