"""Differences over subsets of the answerable questions: by question type, by number of gold messages (appendix D)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.arms import Facts, Group, Paired, group_facts, group_rows, pair, table_facts
from benchsuite_reports.bases import base_of
from benchsuite_reports.effects import (
    COLUMNS,
    NOTE,
    Line,
    answerable,
    clustered_effects,
    difference_bounds,
    effect_rows,
    of_type,
    runs_of,
)
from benchsuite_reports.published import TYPES
from benchsuite_reports.table import Block, Condition, Row, RunFacts, Table

POOLED = "pooled"
REFUSAL = "answer_refusal"
UNRECORDED = "gold not recorded"
GOLD: Mapping[str, Callable[[int], bool]] = {
    "gold <= 4": lambda count: 0 < count <= 4,
    "gold 5-9": lambda count: 5 <= count <= 9,
    "gold >= 10": lambda count: count >= 10,
    UNRECORDED: lambda count: count == 0,
}
"""Subsets by a question's number of gold messages."""
Subsets = Mapping[str, Callable[[Row], bool]]


def type_label(name: str) -> str:
    return name.replace("multi_session", "multi-session").replace("_", " ").capitalize()


def by_type(paired: Paired, label: Callable[[str], str] = type_label) -> Subsets:
    """The benchmark's types, then those that only this corpus has; refusal questions are none of the answerable."""
    found = {str(paired.question(question)["type"]) for question in paired.asked}
    names = [*(name for name in TYPES if name != REFUSAL or name in found), *sorted(found - TYPES.keys())]
    return {label(name): of_type(name) for name in names}


def by_gold(paired: Paired) -> Subsets:
    """By the number of gold messages; questions that name none stand apart, where there are some."""
    found = {label: _of_gold(wanted) for label, wanted in GOLD.items()}
    return {label: where for label, where in found.items() if label != UNRECORDED or paired.part(where).asked}


def gold_of(row: Row) -> int:
    count = row["n_gold"]
    return count if isinstance(count, int) else 0


def _of_gold(wanted: Callable[[int], bool]) -> Callable[[Row], bool]:
    return lambda row: wanted(gold_of(row))


@dataclass(frozen=True, slots=True)
class SubsetTable:
    """``differences`` (lines over all answerable questions) in each of the subsets, then pooled; a row of a line
    without label is labelled by its subset alone, under ``first``.

    Questions are those answered in every one of ``batch`` that was run, also where a difference needs fewer.
    ``about`` adds facts of a group, ``extra`` blocks after it, from the lines shown.
    """

    id: str
    title: str
    batch: Sequence[Condition]
    differences: Sequence[Line]
    splits: Sequence[Callable[[Paired], Subsets]]
    first: str = "b minus a"
    about: Callable[[Paired], Facts] = lambda paired: ()
    extra: Callable[[Group, Paired, Sequence[Line]], Iterable[Block]] = lambda group, paired, lines: ()
    notes: tuple[str, ...] = ()

    def build(self, rows: Sequence[Row], facts: RunFacts) -> Table:
        """From outcome rows, per length, model and judge that has both sides of a difference.

        Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
        """
        groups = [group for group in group_rows(rows, self.batch) if self._shown(group)]
        mine = [row for group in groups for row in group.all_rows()]
        if not mine:
            return Table(self.id, self.title, (self.first, *COLUMNS[1:]), ())
        about, corpus = table_facts(self.id, mine, facts)
        return Table(
            id=self.id,
            title=self.title,
            columns=(self.first, *COLUMNS[1:]),
            blocks=tuple(block for group in groups for block in self._blocks(group, facts)),
            facts=(("base condition", base_of(self.id)), *about),
            notes=(NOTE, *self.notes),
            pipeline_check=corpus.bundled,
        )

    def _shown(self, group: Group) -> list[Line]:
        return [line for line in self.differences if line.a.name in group.rows and line.b.name in group.rows]

    def _blocks(self, group: Group, facts: RunFacts) -> list[Block]:
        paired = pair(group, answerable)
        pooled = self._shown(group)
        subsets = {label: where for split in self.splits for label, where in split(paired).items()}
        parts = {label: paired.part(where) for label, where in subsets.items()}
        empty = [
            f"{label} (none answered in every condition)" if part.asked else label
            for label, part in parts.items()
            if not part.n
        ]
        lines = [
            Line(f"{label}: {line.label}" if line.label else label, line.a, line.b, where, f"{line.key}.{label}")
            for label, where in {
                **{label: subsets[label] for label in parts if parts[label].n},
                POOLED: answerable,
            }.items()
            for line in pooled
        ]
        found = effect_rows(paired, lines, facts, group.model)
        block = Block(
            heading=group.heading,
            facts=(
                ("n", f"{paired.n} answerable questions answered in the {len(group.rows)} conditions that were run"),
                *self.about(paired),
                *((("without questions", "; ".join(empty)),) if empty else ()),
                ("runs", runs_of(group.all_rows())),
                *group_facts(self.id, group, self.batch, paired, facts),
                *difference_bounds(paired, lines),
            ),
            rows=found.rows,
            left_out=tuple(paired.left_out.items()),
            notes=found.notes,
            values={"n": paired.n, **found.values},
        )
        return [block, *self.extra(group, paired, lines), *clustered_effects(group, paired, lines)]
