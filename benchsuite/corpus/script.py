"""What an agent's conversation is made of beside its turns: artefacts, workspace files, filler, and its scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchsuite.corpus.model import Image


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A text file of the agent's workspace. ``turn`` is the id of the planting turn after which it is there; empty
    for a file that is there from the start."""

    path: str
    text: str
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A planted evidence object: a picture, a page or a text. ``id`` is opaque and part of the stimulus.

    ``path`` is where the artefact itself stands in the workspace after ``turn``; ``images`` are its pixels (none for
    a text), ``text`` its own text (empty for a picture). ``records`` are derived from it: an extracted table, a
    summary of a screenshot, a dated note. ``kind`` is said in tables alone.
    """

    id: str
    kind: str
    path: str
    turn: str
    images: tuple[Image, ...] = ()
    text: str = ""
    records: tuple[WorkspaceFile, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Its own path and those of its records."""
        return (self.path, *(record.path for record in self.records))


@dataclass(frozen=True, slots=True)
class FillerTask:
    """A task that has nothing to do with any artefact; ``turns`` are pairs of what user and assistant say."""

    id: str
    topic: str
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """How deep a conversation goes, in tokens of the trunk's reference count (MIRAGE section 4.1).

    ``planted``: filler stands before the planting until this many tokens have been said at its end (0: no filler
    before it). State ``S1-d<N>k`` is the first turn boundary at ``N * per_k`` tokens or more; the conversation is
    compacted at ``compaction``, and ``kept`` of its newest turn pairs stay. ``summary_words`` bounds a summary.
    ``rounds`` is how often the filler library may be gone through.
    """

    per_k: int
    planted: int
    compaction: int
    kept: int = 2
    summary_words: int = 600
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class Script:
    """All that a trunk is built from, beside the planting turns of its History.

    ``persona`` stands in the system prompt. ``scales`` stand by length. ``seed`` orders the filler. ``aliases`` maps
    ids and paths to the one artefact that they name; a path of two artefacts names none.
    """

    persona: str
    artifacts: tuple[Artifact, ...]
    filler: tuple[FillerTask, ...]
    scales: Mapping[str, Scale]
    files: tuple[WorkspaceFile, ...] = ()
    seed: int = 0
    aliases: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        owners: dict[str, set[str]] = {}
        for artifact in self.artifacts:
            for name in (artifact.id, *artifact.paths):
                owners.setdefault(name, set()).add(artifact.id)
        aliases = {name: next(iter(ids)) for name, ids in owners.items() if len(ids) == 1}
        object.__setattr__(self, "aliases", aliases)
