"""DeliverMem Table 20: the same number of items by the same pipeline, selected with the query and without (E.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchsuite_reports.arms import DELIVERMEM, Group, by_key, cell, group_rows, lengths_of, pair
from benchsuite_reports.effects import EffectTable, Line, answerable, everything
from benchsuite_reports.table import Block, Condition, Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_t20"
RECENCY = Condition("Recency, no query", "recency", "deployed")
RANDOM = Condition("Random, no query", "random", "deployed")
SELECTIONS = {DELIVERMEM: "With the query (DeliverMem)", RECENCY: RECENCY.label, RANDOM: RANDOM.label}
EFFECTS = EffectTable(
    id=ID,
    title="DeliverMem Table 20: selection without the query",
    lines=(
        Line("query - recency", RECENCY, DELIVERMEM, everything, name="recency"),
        Line("query - recency, answerable", RECENCY, DELIVERMEM, answerable, name="recency.answerable"),
        Line("query - random", RANDOM, DELIVERMEM, everything, name="random"),
        Line("query - random, answerable", RANDOM, DELIVERMEM, answerable, name="random.answerable"),
    ),
    wanted=everything,
    notes=(
        "Every row delivers as many items through one pipeline, with tag and date; what differs is which items are "
        "selected. query: DeliverMem; answerable: without refusal questions. Constant refusal is computed: every "
        "unanswerable question right, every answerable one wrong.",
    ),
)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 20 from outcome rows: accuracy by length per model and judge, then the differences of each length.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    table = EFFECTS.build(rows, facts)
    if not table.blocks:
        return table
    groups = [
        group
        for group in group_rows(rows, EFFECTS.conditions)
        if DELIVERMEM.name in group.rows and group.rows.keys() & {RECENCY.name, RANDOM.name}
    ]
    lengths = lengths_of(groups)
    accuracies = tuple(_accuracies(by_length, lengths) for by_length in by_key(groups).values())
    return replace(table, blocks=(*accuracies, *table.blocks))


TABLE = TableSpec(ID, build, ("memlens",), conditions=EFFECTS.conditions)


def _accuracies(by_length: Mapping[str, Group], lengths: Sequence[str]) -> Block:
    paired = {length: pair(group) for length, group in by_length.items()}
    rows = [("n", *(str(paired[length].n) if length in paired else "" for length in lengths))]
    values: dict[str, Number] = {f"n.{length}": each.n for length, each in paired.items()}
    refusing = {length: each.constant_refusal(each.kept) for length, each in paired.items()}
    rows.append(("Constant refusal (by rule)", *(cell(refusing.get(length)) for length in lengths)))
    values |= {f"accuracy.constant_refusal.{length}": mean for length, mean in refusing.items()}
    for condition, label in SELECTIONS.items():
        found = {length: each.accuracy(condition.name) for length, each in paired.items()}
        rows.append((label, *(cell(found.get(length)) for length in lengths)))
        values |= {f"accuracy.{condition.name}.{length}": mean for length, mean in found.items()}
    return Block(
        heading=f"{next(iter(by_length.values())).who}: accuracy by length",
        facts=(),
        rows=tuple(rows),
        left_out=None,
        values=values,
        columns=("Selection", *lengths),
    )
