"""What changed between a run and its baseline, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchsuite_reports.arms import answered, score_of
from benchsuite_reports.table import Row

WON, LOST, OTHER = "won", "lost", "changed"
ALIKE = ("corpus", "scorer", "metric", "protocol")
"""Fields that two rows of a cell must share to be compared."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A cell whose outcome changed: ``before`` is its row in the baseline."""

    cell: str
    kind: str
    before: Row
    after: Row


@dataclass(frozen=True, slots=True)
class Flips:
    """Against the run ``name`` in the folder ``path``: ``compared`` cells of both, ``flips`` among them, and
    ``apart``, why others could not be compared, each with how many."""

    name: str
    path: Path
    compared: int
    flips: tuple[Flip, ...]
    apart: Mapping[str, int]
    before: Mapping[str, Row]

    def of(self, kind: str) -> list[Flip]:
        return [flip for flip in self.flips if flip.kind == kind]


def find_flips(name: str, path: Path, before: Mapping[str, Row], after: Mapping[str, Row]) -> Flips:
    """Won and lost by score, an unparsed answer scoring 0; otherwise changed where the word for the outcome did.

    A cell with an error on either side is not compared.
    """
    flips: list[Flip] = []
    apart: dict[str, int] = {}
    compared = 0
    for cell in sorted(before.keys() | after.keys()):
        if why := _apart(before.get(cell), after.get(cell)):
            apart[why] = apart.get(why, 0) + 1
            continue
        old, new = before[cell], after[cell]
        compared += 1
        gain = score_of(new) - score_of(old)
        if gain or old["word"] != new["word"]:
            flips.append(Flip(cell, WON if gain > 0 else LOST if gain < 0 else OTHER, old, new))
    return Flips(name, path, compared, tuple(flips), apart, before)


def by_arm(flips: Iterable[Flip], arm: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Counts by arm and kind; ``arm`` is that of each cell."""
    found: dict[str, dict[str, int]] = {}
    for flip in flips:
        counts = found.setdefault(arm[flip.cell], {WON: 0, LOST: 0, OTHER: 0})
        counts[flip.kind] += 1
    return found


def _apart(old: Row | None, new: Row | None) -> str:
    if old is None or new is None:
        return "only in this run" if old is None else "only in the baseline"
    if not (answered(old) and answered(new)):
        sides = [side for side, row in (("the baseline", old), ("this run", new)) if not answered(row)]
        return f"an error in {' and '.join(sides)}"
    return _differs(ALIKE, old, new)


def _differs(fields: Sequence[str], old: Row, new: Row) -> str:
    scored = old["status"] == new["status"] == "scored"
    differing = [name for name in fields if old[name] != new[name] and (scored or name in ("corpus", "protocol"))]
    return f"another {differing[0]}: {old[differing[0]]} there, {new[differing[0]]} here" if differing else ""
