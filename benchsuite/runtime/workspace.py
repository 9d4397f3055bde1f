"""The agent's workspace: files by path, their bytes by digest; a copy costs nothing and is nobody else's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchsuite.corpus.model import Image
from benchsuite.errors import BenchError, DataError
from benchsuite.files import write_atomic

MEMORY = "memory/"
COMPACTED = f"{MEMORY}compaction-"
"""How the paths of what a compaction wrote begin."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of a workspace. ``image`` is set for a picture, whose bytes are those of its digest; ``about`` is the id
    of the artefact that it is, or is derived from (empty: none)."""

    sha256: str
    size: int
    about: str = ""
    image: Image | None = None


class BlobStore:
    """Bytes by sha256, in a folder that can be carried elsewhere. Safe for several processes: a blob is written whole
    or not at all, and never changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest[:2] / digest
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
        return digest

    def get(self, digest: str) -> bytes:
        """Raises DataError for one that is not there, or whose bytes are not its own."""
        path = self._folder / digest[:2] / digest
        try:
            data = path.read_bytes()
        except OSError:
            raise DataError(str(path), None, None, "the blob is missing") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise DataError(str(path), None, None, "the blob is not what its name says")
        return data

    def __contains__(self, digest: str) -> bool:
        return (self._folder / digest[:2] / digest).exists()


class Workspace:
    """Copy-on-write over a base that many share. ``fork`` is O(1); what one copy writes no other sees."""

    def __init__(self, base: Mapping[str, Stored], blobs: BlobStore) -> None:
        self._base, self._blobs = base, blobs
        self._own: dict[str, tuple[Stored, bytes]] = {}

    def fork(self) -> Workspace:
        """A copy of the base. Raises BenchError for one that was written to: snapshot it first."""
        if self._own:
            raise BenchError("a workspace that was written to cannot be forked: take a snapshot of it")
        return Workspace(self._base, self._blobs)

    @property
    def changed(self) -> bool:
        return bool(self._own)

    def write(self, path: str, data: bytes, about: str = "", image: Image | None = None) -> None:
        self._own[path] = (Stored(hashlib.sha256(data).hexdigest(), len(data), about, image), data)

    def file(self, path: str) -> Stored | None:
        own = self._own.get(path)
        return own[0] if own else self._base.get(path)

    def read(self, path: str) -> bytes:
        """Raises DataError for a path that is not there."""
        if path in self._own:
            return self._own[path][1]
        if path not in self._base:
            raise DataError(path, None, None, "no such file in the workspace")
        return self._blobs.get(self._base[path].sha256)

    def files(self) -> Iterator[tuple[str, Stored]]:
        """Every path with what stands there, by path."""
        for path in sorted({*self._base, *self._own}):
            found = self.file(path)
            if found is not None:
                yield path, found

    def snapshot(self) -> Mapping[str, Stored]:
        """All files, their bytes put into the blob store."""
        for _, data in self._own.values():
            self._blobs.put(data)
        return dict(self.files())
