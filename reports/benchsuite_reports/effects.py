"""Tables of contrasts: rows of b minus a, paired question by question, each with its certificate and its power.

A table says which contrasts it shows (``Line``); everything that a contrast must say of itself is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchsuite.stats.paired import Effect
from benchsuite.stats.power import fewest_discordant, minimum_detectable_effect
from benchsuite_reports.arms import (
    NONE,
    Facts,
    Group,
    Paired,
    cell,
    group_facts,
    group_rows,
    labels_of,
    pair,
    table_facts,
    worst_case,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.certified import ContrastCertificate, certify_pairs, run_of
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.table import (
    Block,
    Condition,
    Number,
    Row,
    RunFacts,
    Table,
    p_value,
    percent,
    signed,
    wins_losses,
)

ALPHA = 0.05
COLUMNS = ("b minus a", "n", "a", "b", "difference", "W/L", "p", "matched", "altered", "changed", "if null")
NOTE = (
    "n: questions answered in every condition that was run. Accuracies in percent, differences in points. W/L: "
    "questions won and lost; p: exact two-sided sign test on them. matched: pairs whose requests are equal outside the "
    "declared variables; altered: pairs whose declared variables really changed; those that did not stay in n. "
    "changed: questions with another answer, right or wrong. if null: the least difference that the test finds with a "
    "power of .8 on so many discordant questions; 'insensitive' where it could find none."
)


def answerable(row: Row) -> bool:
    return bool(row["answerable"])


def everything(row: Row) -> bool:
    return True


def of_type(name: str) -> Callable[[Row], bool]:
    return lambda row: row["type"] == name


def labelled(label: str) -> Callable[[Row], bool]:
    return lambda row: label in labels_of(row)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: ``b`` minus ``a`` over the questions ``where``; ``name`` is the key of its numbers."""

    label: str
    a: Condition
    b: Condition
    where: Callable[[Row], bool] = answerable
    name: str = ""

    @property
    def key(self) -> str:
        return self.name or f"{self.a.name} -> {self.b.name}"

    @property
    def is_repeat(self) -> bool:
        """The same condition asked again: what differs is noise."""
        return replace(self.a, label="", repeat=0) == replace(self.b, label="", repeat=0)


LineCells = Callable[[Paired, Line, Sequence[str], ContrastCertificate | None], tuple[str, ...]]
"""A line's cells from the group's pairs, the line, its questions and its certificate."""
LineNumbers = Callable[[Paired, Line], Mapping[str, Number]]


@dataclass(frozen=True, slots=True)
class EffectTable:
    """A table of contrasts. ``wanted`` are the questions that stand in it at all; ``extra`` gives further blocks of a
    group, ``notes`` stand below the note on columns. ``cells`` gives the cells of a line under ``columns``; None:
    those of ``effect_row``. ``numbers`` are those behind further cells, by name."""

    id: str
    title: str
    lines: Sequence[Line]
    wanted: Callable[[Row], bool] = answerable
    notes: tuple[str, ...] = ()
    extra: Callable[[Group, Paired, RunFacts], Iterable[Block]] = lambda group, paired, facts: ()
    columns: tuple[str, ...] = COLUMNS
    cells: LineCells | None = None
    numbers: LineNumbers = lambda paired, line: {}

    @property
    def conditions(self) -> tuple[Condition, ...]:
        found = {each.name: each for line in self.lines for each in (line.a, line.b)}
        return tuple(found.values())

    def build(self, rows: Sequence[Row], facts: RunFacts) -> Table:
        """From outcome rows, a block per length, model and judge that has both sides of a contrast.

        Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
        """
        groups = [
            group
            for group in group_rows(rows, self.conditions)
            if any(line.a.name in group.rows and line.b.name in group.rows for line in self.lines)
        ]
        mine = [row for group in groups for row in group.all_rows()]
        if not mine:
            return Table(self.id, self.title, self.columns, ())
        about, corpus = table_facts(self.id, mine, facts)
        return Table(
            id=self.id,
            title=self.title,
            columns=self.columns,
            blocks=tuple(block for group in groups for block in self._blocks(group, facts)),
            facts=(("base condition", base_of(self.id)), *about),
            notes=(NOTE, *self.notes),
            pipeline_check=corpus.bundled,
        )

    def _blocks(self, group: Group, facts: RunFacts) -> list[Block]:
        paired = pair(group, self.wanted)
        shown = [line for line in self.lines if line.a.name in group.rows and line.b.name in group.rows]
        found = effect_rows(paired, shown, facts, group.model, self.cells)
        block = Block(
            heading=group.heading,
            facts=(
                ("n", f"{paired.n} questions answered in the {len(group.rows)} conditions that were run"),
                ("runs", runs_of(group.all_rows())),
                *constant_refusal(paired),
                *group_facts(self.id, group, self.conditions, paired, facts),
                *difference_bounds(paired, shown),
            ),
            rows=found.rows,
            left_out=tuple(paired.left_out.items()),
            notes=found.notes,
            values={
                "n": paired.n,
                **found.values,
                **{key: number for line in shown for key, number in self.numbers(paired, line).items()},
            },
        )
        return [block, *clustered_effects(group, paired, shown), *self.extra(group, paired, facts)]


@dataclass(frozen=True, slots=True)
class EffectRows:
    """``rows`` of a table's lines, what must be said of them, and the numbers behind them."""

    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    values: Mapping[str, Number]


def effect_rows(
    paired: Paired, lines: Sequence[Line], facts: RunFacts, model: str, cells: LineCells | None = None
) -> EffectRows:
    """A row for each line, both of whose conditions must have been run; ``model`` is who answered, ``cells`` gives a
    row's cells (None: those of ``effect_row``)."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    notes: list[str] = []
    for line in lines:
        among = paired.where(line.where)
        found = certify_pairs(_pairs(paired, line, among), facts)
        rows.append((cells or effect_row)(paired, line, among, found))
        values.update(effect_values(paired, line, among, found))
        notes += certificate_notes(line.label, found)
        altered = found is None or found.altered > 0
        if among and altered and not line.is_repeat and not answers_changed(paired, line, among):
            notes.append(f"{line.label}: no answer changed on {len(among)} questions; {model} does not feel it.")
    return EffectRows(tuple(rows), tuple(dict.fromkeys(notes)), values)


def full_lengths(groups: Sequence[Group], lines: Sequence[Line]) -> tuple[list[Group], tuple[str, ...]]:
    """The groups of the lengths that have most of the contrasts, and the lengths that have some but fewer."""
    counts: dict[str, int] = {}
    for group in groups:
        shown = sum(line.a.name in group.rows and line.b.name in group.rows for line in lines)
        counts[group.length] = max(shown, counts.get(group.length, 0))
    most = max(counts.values(), default=0)
    partial = tuple(length for length, count in counts.items() if 0 < count < most)
    return [group for group in groups if counts[group.length] == most], partial


def effect_row(paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None) -> tuple[str, ...]:
    effect = paired.difference(line.a.name, line.b.name, among)
    sides = [cell(paired.accuracy(each.name, among)) for each in (line.a, line.b)]
    if effect is None:
        return (line.label, "0", *sides, NONE, NONE, NONE, NONE, NONE, NONE, "")
    legs = (NONE, NONE) if found is None else (f"{found.matched}/{found.n}", f"{found.altered}/{found.n}")
    return (
        line.label,
        str(effect.n),
        *sides,
        signed(effect.estimate),
        wins_losses(effect.wins, effect.losses),
        p_value(effect.p),
        *legs,
        str(answers_changed(paired, line, among)),
        power_text(effect),
    )


def effect_values(
    paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None
) -> dict[str, Number]:
    """The numbers of a contrast, unrounded: fractions."""
    effect = paired.difference(line.a.name, line.b.name, among)
    if effect is None:
        return {line.key: None}
    return {
        line.key: effect.estimate,
        f"{line.key}.n": effect.n,
        f"{line.key}.a": paired.accuracy(line.a.name, among),
        f"{line.key}.b": paired.accuracy(line.b.name, among),
        f"{line.key}.wins": effect.wins,
        f"{line.key}.losses": effect.losses,
        f"{line.key}.p": effect.p,
        f"{line.key}.changed": answers_changed(paired, line, among),
        f"{line.key}.matched": None if found is None else found.matched,
        f"{line.key}.altered": None if found is None else found.altered,
    }


def certificate_notes(label: str, found: ContrastCertificate | None) -> list[str]:
    """What a contrast's certificate says beyond its two counts."""
    if found is None:
        return []
    notes = [f"{label}: {fault}." for fault in found.faults]
    if found.unaltered or found.missing or found.remarks or len(found.variables) > 1:
        notes.append(f"{label}: {found}.")
    return notes


def power_text(effect: Effect) -> str:
    """Beside a null, what could have been found; empty beside a difference that was shown."""
    if effect.p <= ALPHA:
        return ""
    discordant = effect.wins + effect.losses
    if discordant < fewest_discordant(ALPHA):
        return "insensitive"
    least = minimum_detectable_effect(effect.n, discordant / effect.n, alpha=ALPHA)
    return "insensitive" if least is None else percent(least)


def answers_changed(paired: Paired, line: Line, among: Sequence[str]) -> int:
    """Questions whose two answers differ letter by letter."""
    a, b = paired.rows[line.a.name], paired.rows[line.b.name]
    return sum((a[question]["answer"] or "") != (b[question]["answer"] or "") for question in among)


def runs_of(rows: Sequence[Row]) -> str:
    """Whether all rows are of one run, and how many replies were there before it."""
    runs = {run_of(row) for row in rows}
    cached = sum(bool(_run(row).get("cached")) for row in rows)
    kept = f"; {cached} of {len(rows)} replies from the cache" if cached else ""
    return ("within one run" if len(runs) == 1 and "" not in runs else f"across {len(runs)} runs") + kept


def constant_refusal(paired: Paired) -> Facts:
    """What refusing every question would score, where some of the questions have no answer."""
    rate = paired.constant_refusal(paired.kept)
    return (("constant refusal (by rule, no model)", f"{percent(rate)} of all {paired.n}"),) if rate else ()


def difference_bounds(paired: Paired, lines: Sequence[Line]) -> Facts:
    """The worst case bounds of each difference over its own questions."""
    parts = [text for line in lines for _, text in worst_case(paired.part(line.where), {}, _contrast(line))]
    return (("worst case bounds of the differences", "; ".join(parts)),) if parts else ()


def clustered_effects(group: Group, paired: Paired, lines: Sequence[Line]) -> tuple[Block, ...]:
    """The same contrasts by cluster, each over its own questions."""
    found = [
        block for line in lines for block in clustered_block(group.heading, paired.part(line.where), _contrast(line))
    ]
    if not found:
        return ()
    rows = tuple(row for block in found for row in block.rows)
    return (replace(found[0], rows=rows, values={key: n for block in found for key, n in block.values.items()}),)


def _contrast(line: Line) -> Mapping[str, Mapping[str, int]]:
    return {line.label: {line.b.name: 1, line.a.name: -1}}


def _pairs(paired: Paired, line: Line, among: Sequence[str]) -> list[tuple[Row, Row]]:
    a, b = paired.rows[line.a.name], paired.rows[line.b.name]
    return [(a[question], b[question]) for question in among]


def _run(row: Row) -> Mapping[str, object]:
    run: Any = row["run"]
    return dict(run)
