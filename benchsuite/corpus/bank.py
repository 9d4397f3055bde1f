"""A MIRAGE bank in memory: artefacts, planting, probes, filler and scales, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchsuite.corpus.codec import history_of
from benchsuite.corpus.model import History, Session, Turn
from benchsuite.corpus.script import Artifact, FillerTask, Scale, Script, WorkspaceFile

NONE = "NONE"
SESSION = "s1"


@dataclass(frozen=True, slots=True)
class Probe:
    """One question of the bank. ``answer`` and ``source`` are `NONE` where nothing supports an answer.

    ``pair`` is the same for an answerable question and its unanswerable counterpart; only audits read it.
    """

    id: str
    question: str
    answerable: bool
    artifact: str
    source: str
    answer: str
    difficulty: str
    query: str
    risk: str
    family: str
    pair: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        return (
            f"difficulty:{self.difficulty}",
            f"query:{self.query}",
            f"risk:{self.risk}",
            f"family:{self.family}",
        )


@dataclass(frozen=True, slots=True)
class SplitBank:
    """One split: what is planted, and what is asked of it. ``files`` belong to no artefact."""

    name: str
    artifacts: tuple[Artifact, ...]
    turns: tuple[Turn, ...]
    files: tuple[WorkspaceFile, ...]
    probes: tuple[Probe, ...]

    @property
    def history(self) -> History:
        return history_of([Session(SESSION, "", self.turns)])


@dataclass(frozen=True, slots=True)
class Bank:
    """A whole bank, validated."""

    persona: str
    seed: int
    scales: Mapping[str, Scale]
    filler: tuple[FillerTask, ...]
    splits: tuple[SplitBank, ...]

    def script(self, split: SplitBank) -> Script:
        return Script(self.persona, split.artifacts, self.filler, self.scales, split.files, self.seed)
