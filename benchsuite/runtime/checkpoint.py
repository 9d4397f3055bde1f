"""Checkpoints: immutable snapshots of a conversation's state, known by their content (MIRAGE section 3.3).

A checkpoint is one JSON file beside the blobs of its workspace and pictures: carry ``<cache>/checkpoint`` elsewhere
and it can be restored there. Reading it costs once per process what it holds; restoring it then costs no more than a
few references, however long the conversation is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchsuite.corpus.codec import image_row
from benchsuite.corpus.model import Image, Item
from benchsuite.errors import ConfigError, DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import Message, Part, WireImage, sha256_json
from benchsuite.runtime.conversation import Spoken
from benchsuite.runtime.tools import TOOLS, Surface
from benchsuite.runtime.workspace import BlobStore, Stored, Workspace

VERSION = 1
FOLDER = "checkpoint"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of a conversation. ``transcript`` is all that was said; ``context`` and ``captured`` are what the model
    sees now and saw in the last request before the capture, as places in ``transcript``: after a compaction the two
    differ. ``depth`` is the reference count of the latter and the reply to it, ``active`` that of the former (tokens).

    ``step`` counts the turns of the trunk (exchanges); ``state`` is the name that it was first built under.
    ``summariser`` and ``writer`` say who wrote summaries and replies; empty for nobody (a script).
    """

    history: str
    length: str
    state: str
    transcript: tuple[Spoken, ...]
    context: tuple[int, ...]
    captured: tuple[int, ...]
    workspace: Mapping[str, Stored]
    compactions: int
    step: int
    depth: int
    active: int
    tokenizer: str
    persona: str
    recall: str = "intact"
    summary: str = ""
    summariser: str = ""
    writer: str = ""
    id: str = field(init=False)

    def __post_init__(self) -> None:
        content = [
            [_digest(self.transcript[place]) for place in self.context],
            self.persona,
            {path: file.sha256 for path, file in self.workspace.items()},
            self.compactions,
            self.step,
            [list(TOOLS), self.recall],
            self.summariser,
        ]
        object.__setattr__(self, "id", sha256_json(content))

    @property
    def spoken(self) -> tuple[Spoken, ...]:
        """The active context."""
        return tuple(self.transcript[place] for place in self.context)

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _PLAIN}
        files = {
            path: [file.sha256, file.size, file.about, image_row(file.image) if file.image else None]
            for path, file in self.workspace.items()
        }
        said = [each.to_json() for each in self.transcript]
        places = {"context": list(self.context), "captured": list(self.captured)}
        content = {"version": VERSION, "id": self.id, **plain, **places, "transcript": said, "workspace": files}
        return {**content, "seal": sha256_json(content)}


_PLAIN = (
    *("history", "length", "state", "compactions", "step", "depth", "active", "tokenizer", "persona", "recall"),
    *("summary", "summariser", "writer"),
)


@dataclass(frozen=True, slots=True)
class Restored:
    """A fresh copy of a checkpoint for one probe: what it writes, no other sees."""

    checkpoint: Checkpoint
    workspace: Workspace
    surface: Surface


class CheckpointStore:
    """Checkpoints of one cache folder. Each is read and indexed once per process."""

    def __init__(self, cache: Path) -> None:
        self.folder = cache / FOLDER
        self.blobs = BlobStore(self.folder / "blobs")
        self._read: dict[str, Checkpoint] = {}
        self._bases: dict[str, tuple[Workspace, Surface]] = {}
        self._items: dict[str, tuple[Item, ...]] = {}

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; a file of it that cannot be read is replaced. Raises ConfigError where the folder cannot
        be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._is_sound(checkpoint.id):
                write_atomic(self._file(checkpoint.id), json.dumps(checkpoint.to_json(), separators=(",", ":")) + "\n")
        except OSError as error:
            raise ConfigError(f"checkpoints {self.folder} cannot be written: {error.strerror or error}") from None
        self._read[checkpoint.id] = checkpoint

    def load(self, checkpoint_id: str) -> Checkpoint:
        """Raises DataError for a file that is absent, of another version, damaged, or without one of its blobs."""
        if checkpoint_id not in self._read:
            self._read[checkpoint_id] = self._load(self._file(checkpoint_id))
        return self._read[checkpoint_id]

    def restore(self, checkpoint: Checkpoint) -> Restored:
        """A fresh copy; O(1) once the checkpoint has been restored in this process."""
        if checkpoint.id not in self._bases:
            base = Workspace(checkpoint.workspace, self.blobs)
            self._bases[checkpoint.id] = (base, Surface(base, checkpoint.recall, checkpoint.compactions))
        base, surface = self._bases[checkpoint.id]
        return Restored(checkpoint, base.fork(), surface)

    def items(self, checkpoint: Checkpoint) -> tuple[Item, ...]:
        """All that was said until then, as retrieval ranks it; what a compaction or a tool wrote is not history."""
        if checkpoint.id not in self._items:
            said = (each for each in checkpoint.transcript if each.kind == "text" and each.role != "tool")
            self._items[checkpoint.id] = tuple(each.item() for each in said if each.text.strip() or each.images)
        return self._items[checkpoint.id]

    def image_bytes(self, image: Image) -> bytes:
        """The stored bytes of a picture of any checkpoint. Raises DataError as :meth:`BlobStore.get` does."""
        return self.blobs.get(image.sha256)

    def size(self, checkpoint: Checkpoint) -> int:
        """Bytes of its file and of its blobs, of which other checkpoints may have some, too."""
        pictures = {i.sha256: i.size for each in checkpoint.transcript for i in each.images if not i.missing}
        blobs = pictures | {file.sha256: file.size for file in checkpoint.workspace.values()}
        return self._file(checkpoint.id).stat().st_size + sum(blobs.values())

    def ids(self) -> Iterator[str]:
        """All checkpoints of the folder, by id."""
        yield from sorted(path.stem for path in self.folder.glob("*.json"))

    def find(self, beginning: str) -> Checkpoint:
        """The one checkpoint whose id begins so. Raises ConfigError for none or several."""
        found = [each for each in self.ids() if each.startswith(beginning)]
        if not found:
            raise ConfigError(f"no checkpoint begins with {beginning!r} in {self.folder}")
        if len(found) > 1:
            raise ConfigError(f"{len(found)} checkpoints begin with {beginning!r} in {self.folder}: say more of the id")
        return self.load(found[0])

    def _is_sound(self, checkpoint_id: str) -> bool:
        try:
            self._load(self._file(checkpoint_id))
        except DataError:
            return False
        return True

    def _file(self, checkpoint_id: str) -> Path:
        return self.folder / f"{checkpoint_id}.json"

    def _load(self, path: Path) -> Checkpoint:
        try:
            read = json.loads(path.read_bytes())
        except OSError:
            raise DataError(str(path), None, None, "no such checkpoint") from None
        except ValueError:
            raise DataError(str(path), None, None, "not a checkpoint: no JSON") from None
        version = read.get("version") if isinstance(read, dict) else None
        if version != VERSION:
            raise DataError(str(path), None, "version", f"a checkpoint of version {version}, this reads {VERSION}")
        seal = read.pop("seal", None)
        if seal != sha256_json(read):
            raise DataError(str(path), None, "seal", "the file was changed after it was written")
        try:
            checkpoint = Checkpoint(
                transcript=tuple(map(Spoken.from_json, read["transcript"])),
                context=tuple(read["context"]),
                captured=tuple(read["captured"]),
                workspace={path: _file_of(row) for path, row in read["workspace"].items()},
                **{name: read[name] for name in _PLAIN},
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(str(path), None, None, f"not a checkpoint: {error}") from None
        if checkpoint.id != path.stem:
            raise DataError(str(path), None, "id", "its content is not that of this id")
        self._check_blobs(path, checkpoint)
        return checkpoint

    def _check_blobs(self, path: Path, checkpoint: Checkpoint) -> None:
        wanted = {file.sha256: where for where, file in checkpoint.workspace.items()}
        wanted |= {i.sha256: each.id for each in checkpoint.transcript for i in each.images if not i.missing}
        for digest, where in wanted.items():
            if digest not in self.blobs:
                raise DataError(str(path), where, None, f"its blob {digest[:12]} is missing")


def _digest(spoken: Spoken) -> str:
    """The digest of the message as it is sent when nothing is altered."""
    images = [
        Part("image", image=WireImage(image.sha256, image.sha256, image.mime, image.width, image.height))
        for image in spoken.images
    ]
    return Message(spoken.role, (Part("text", spoken.text), *images), spoken.calls, spoken.call_id).digest


def _file_of(row: Sequence[Any]) -> Stored:
    sha256, size, about, image = row
    return Stored(sha256, size, about, None if image is None else Image(*image))
