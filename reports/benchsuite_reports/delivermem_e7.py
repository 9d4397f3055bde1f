"""DeliverMem appendix E.7: dates accurate, permuted, absent and as ordinals, at every length that was run.

The question of specificity: does a date help temporal questions alone? Beside the two groups stands their difference
in differences, by permuting which questions are temporal (section 7, D3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchsuite.stats.factorial import DifferenceInDifferences, difference_in_differences
from benchsuite.stats.family import can_reach
from benchsuite.stats.paired import Effect
from benchsuite_reports.arms import (
    DELIVERMEM,
    NONE,
    Facts,
    Group,
    Paired,
    by_key,
    group_facts,
    group_rows,
    left_out_by_length,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.certified import ContrastCertificate
from benchsuite_reports.effects import (
    ALPHA,
    NOTE,
    Line,
    answerable,
    clustered_effects,
    constant_refusal,
    difference_bounds,
    effect_row,
    effect_rows,
    everything,
    of_type,
    runs_of,
)
from benchsuite_reports.table import (
    Block,
    Number,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    signed,
    wins_losses,
)

ID = "delivermem_e7"
TITLE = "DeliverMem E.7: temporal position across context lengths"
ACCURATE = DELIVERMEM
PERMUTED, ABSENT, ORDINAL = (
    replace(DELIVERMEM, delivery=f"deployed+{token}") for token in ("dateperm", "nodate", "ordinal")
)
CONTRASTS = (
    Line("accurate - permuted", PERMUTED, ACCURATE, everything, "permuted"),
    Line("accurate - absent", ABSENT, ACCURATE, everything, "absent"),
    Line("permuted - absent", ABSENT, PERMUTED, everything, "harm"),
    Line("accurate - ordinal", ORDINAL, ACCURATE, everything, "ordinal"),
)
CONDITIONS = (ACCURATE, PERMUTED, ABSENT, ORDINAL)
TEMPORAL = of_type("temporal_reasoning")


def _other(row: Row) -> bool:
    return answerable(row) and not TEMPORAL(row)


GROUPS = {"temporal": TEMPORAL, "other": _other, "all": everything}
SUMMARY = ("Length", "b minus a", "temporal", "W/L, p", "other", "W/L, p", "temporal - other", "p", "all", "p")
DETAILS = ("Length", "b minus a", "n", "a", "b", "W/L", "matched", "altered", "changed", "if null")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, per model and judge a row for each length and contrast; then each with its certificate.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = [group for group in group_rows(rows, CONDITIONS) if _lines(group)]
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return Table(ID, TITLE, SUMMARY, ())
    about, corpus = table_facts(ID, mine, facts)
    return Table(
        id=ID,
        title=TITLE,
        columns=SUMMARY,
        blocks=tuple(block for by_length in by_key(groups).values() for block in _blocks(by_length, facts)),
        facts=(("base condition", base_of(ID)), *about),
        notes=(
            NOTE,
            "temporal: temporal-reasoning questions; other: the other answerable ones; all: refusal questions too. "
            "temporal - other: the difference in differences; its p permutes which questions are temporal, questions "
            "taken as independent. accurate: each item's own date; permuted: the same dates on other items; absent: "
            "no date line; ordinal: the item's place in the history in the date's place. All deliver the same items, "
            "with the tag.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _lines(group: Group) -> list[Line]:
    return [line for line in CONTRASTS if line.a.name in group.rows and line.b.name in group.rows]


def _blocks(by_length: Mapping[str, Group], facts: RunFacts) -> list[Block]:
    paired = {length: pair(group) for length, group in by_length.items()}
    who = next(iter(by_length.values())).who
    summary: list[tuple[str, ...]] = []
    detailed: list[tuple[str, ...]] = []
    said: list[str] = []
    notes: dict[str, None] = {}
    values: dict[str, Number] = {}
    by_cluster: list[Block] = []
    for length, group in by_length.items():
        each = paired[length]
        lines = _grouped(_lines(group))
        found = effect_rows(each, lines, facts, group.model, _details)
        detailed += [(length, *row) for row in found.rows]
        notes.update(dict.fromkeys(f"{length}: {note}" for note in found.notes))
        values.update({f"{length}.{key}": number for key, number in found.values.items()})
        for line in _lines(group):
            interaction = _interaction(each, line)
            summary.append((length, *_summary(each, line, interaction)))
            values[f"{length}.{line.name}.interaction"] = interaction.estimate if interaction else None
            values[f"{length}.{line.name}.interaction.p"] = interaction.p if interaction else None
            if interaction and not can_reach(interaction.floor, ALPHA):
                said.append(f"{length}: {line.label}: temporal - other cannot reach p = {ALPHA}.")
        by_cluster += clustered_effects(group, each, lines)
    return [
        Block(
            heading=f"{who}: by length",
            facts=merged({length: _facts(group, paired[length], facts) for length, group in by_length.items()}),
            rows=tuple(summary),
            left_out=left_out_by_length(paired),
            notes=tuple(said),
            values=values,
        ),
        Block(
            heading=f"{who}: accuracies, certificates and power",
            facts=(),
            rows=tuple(detailed),
            left_out=None,
            notes=tuple(notes),
            columns=DETAILS,
        ),
        *by_cluster,
    ]


def _facts(group: Group, paired: Paired, facts: RunFacts) -> Facts:
    sizes = {name: len(paired.where(where)) for name, where in GROUPS.items()}
    return (
        ("n", f"{sizes['temporal']} temporal, {sizes['other']} other answerable, {sizes['all']} in all"),
        ("runs", runs_of(group.all_rows())),
        *constant_refusal(paired),
        *group_facts(ID, group, CONDITIONS, paired, facts),
        *difference_bounds(paired, _grouped(_lines(group))),
    )


def _details(paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None) -> tuple[str, ...]:
    label, n, a, b, _, counts, _, *rest = effect_row(paired, line, among, found)
    return (label, n, a, b, counts, *rest)


def _grouped(lines: Sequence[Line]) -> list[Line]:
    """Each contrast on each group of questions."""
    return [
        replace(line, label=f"{line.label}, {name}", where=where, name=f"{line.name}.{name}")
        for line in lines
        for name, where in GROUPS.items()
    ]


def _interaction(paired: Paired, line: Line) -> DifferenceInDifferences | None:
    """Temporal less other answerable questions; None where one of the two has none."""
    inside = paired.where(TEMPORAL)
    among = paired.where(answerable)
    a, b = paired.scores(line.a.name, among), paired.scores(line.b.name, among)
    if a is None or b is None or not inside or len(inside) == len(among):
        return None
    return difference_in_differences({question: b[question] - a[question] for question in among}, inside)


def _summary(paired: Paired, line: Line, interaction: DifferenceInDifferences | None) -> tuple[str, ...]:
    temporal, other, every = (
        paired.difference(line.a.name, line.b.name, paired.where(where)) for where in GROUPS.values()
    )
    between = (NONE, NONE)
    if interaction is not None:
        between = signed(interaction.estimate), p_value(interaction.p) + ("" if interaction.exact else "*")
    net = (NONE, NONE) if every is None else (signed(every.estimate), p_value(every.p))
    return (line.label, *_cells(temporal), *_cells(other), *between, *net)


def _cells(effect: Effect | None) -> tuple[str, str]:
    if effect is None:
        return NONE, NONE
    return signed(effect.estimate), f"{wins_losses(effect.wins, effect.losses)}, {p_value(effect.p)}"
