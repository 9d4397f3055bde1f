"""Which cell of one run stands against which of another: by suite, arm and question, never by run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.gates.grammar import FIELDS, Slice, slice_problem
from benchsuite_reports.inspect import arm_name
from benchsuite_reports.table import Row

_MAY_DIFFER = ("arm.model", "arm.judge")
"""Axes that are set aside where each side has one value: the model is what is tested, the judge is looked at apart."""

_Arm = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A question under an arm, as the baseline (``a``) and the run (``b``) have it: a row for each repeat."""

    arm: str
    question: str
    type: str
    cluster: str
    a: tuple[Row, ...]
    b: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """``only_a`` and ``only_b`` are the ids of cells without a partner; ``renamed`` the values of axes set aside that
    differ. ``reclustered`` names the first question whose cluster is not the same on both sides."""

    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    renamed: Mapping[str, tuple[str, str]]
    reclustered: str = ""


def align(a: Sequence[Row], b: Sequence[Row]) -> Aligned:
    """Pair the rows of one suite. Repeats of a cell stay together: their number may differ.

    A question without a cluster is one of its own.
    """
    axes = names_under("arm.", (*a, *b))
    values = {axis: [sorted({_text(row, axis) for row in rows}) for rows in (a, b)] for axis in _MAY_DIFFER}
    aside = [axis for axis, sides in values.items() if all(len(side) == 1 for side in sides)]
    kept = [f"arm.{axis}" for axis in axes if axis != "repeat" and f"arm.{axis}" not in aside]
    sides: list[dict[tuple[_Arm, str], list[Row]]] = []
    for rows in (a, b):
        cells: dict[tuple[_Arm, str], list[Row]] = {}
        for row in sorted(rows, key=lambda row: _text(row, "arm.repeat").rjust(9)):
            cells.setdefault((tuple(_text(row, axis) for axis in kept), str(row["question"])), []).append(row)
        sides.append(cells)
    first, second = sides
    names: dict[_Arm, str] = {}
    pairs: list[Pair] = []
    reclustered = ""
    for key in sorted(first.keys() & second.keys()):
        arm, question = key
        clusters = sorted({str(row["cluster"]) for row in (*first[key], *second[key])})
        reclustered = reclustered or (f"question {question}: {', '.join(clusters)}" if len(clusters) > 1 else "")
        row = second[key][0]
        name = names.setdefault(arm, arm_name(row))
        cluster = clusters[0] or f"question {question}"
        pairs.append(Pair(name, question, str(row["type"]), cluster, tuple(first[key]), tuple(second[key])))
    return Aligned(
        tuple(pairs),
        _cells(first, second),
        _cells(second, first),
        {axis.removeprefix("arm."): (a[0], b[0]) for axis, (a, b) in values.items() if axis in aside and a != b},
        reclustered,
    )


def _cells(side: Mapping[tuple[_Arm, str], Sequence[Row]], other: Mapping[tuple[_Arm, str], object]) -> tuple[str, ...]:
    return tuple(sorted(str(row["cell"]) for key, rows in side.items() if key not in other for row in rows))


def select(rows: Iterable[Row], slices: Sequence[Slice]) -> tuple[list[Row], str]:
    """The rows that every slice has, or none and why: an axis, field or value that no row has."""
    chosen = list(rows)
    for each in slices:
        known: dict[str, list[str]] = {key: [] for key in (*FIELDS, *names_under("arm.", chosen))}
        if each.key in known:
            known[each.key] = sorted({value for row in chosen for value in _values(row, each.key)})
        if problem := slice_problem(each, known):
            return [], problem
        chosen = [row for row in chosen if each.value in _values(row, each.key)]
    return chosen, ""


def names_under(prefix: str, rows: Iterable[Row]) -> list[str]:
    """The names that rows have under ``arm.`` or ``scores.``, in order."""
    shapes = dict.fromkeys(tuple(row) for row in rows)  # nearly all rows have the same keys
    return list(dict.fromkeys(key.removeprefix(prefix) for shape in shapes for key in shape if key.startswith(prefix)))


def _values(row: Row, key: str) -> list[str]:
    if key == "label":
        labels = row["labels"]
        return [str(each) for each in labels] if isinstance(labels, list | tuple) else []
    if key == "answerable":
        return ["yes" if row[key] else "no"]
    return [str(row[key])] if key in FIELDS else [_text(row, f"arm.{key}")]


def _text(row: Row, axis: str) -> str:
    return str(row.get(axis, "none"))
