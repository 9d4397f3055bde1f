"""DeliverMem Table 4, the MemLens rows: each delivery component against its matched control (section 7).

Every row is the component minus its control: a positive difference is what the component gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED, Paired, group_rows
from benchsuite_reports.certified import ContrastCertificate
from benchsuite_reports.effects import EffectTable, Line, answerable, effect_row, everything, full_lengths, of_type
from benchsuite_reports.table import Condition, Row, RunFacts, Table, TableSpec

ID = "delivermem_t4"
TITLE = "DeliverMem Table 4: each component against its matched control (MemLens rows)"
COLUMNS = ("Component", "Control alters", "n", "Delta", "W/L", "p", "matched", "altered", "changed", "if null")
GOLD = Condition("Gold messages", "oracle", "pixels")
PHASE = replace(GOLD, delivery="pixels+phase")
CONSTANT_TAG = replace(DELIVERMEM, delivery="deployed+tagconst")
PERMUTED_DATES = replace(DELIVERMEM, delivery="deployed+dateperm")
BOUND = replace(DELIVERMEM, index="whole")
UNBOUND = replace(BOUND, delivery="deployed+bindshuf")
TEMPORAL = of_type("temporal_reasoning")
LINES = (
    Line("(D1) original modality", PHASE, GOLD, answerable, "d1"),
    Line("(D2) addressability", CONSTANT_TAG, DELIVERMEM, everything, "d2"),
    Line("(D3) temporal position", PERMUTED_DATES, DELIVERMEM, TEMPORAL, "d3"),
    Line("Binding", UNBOUND, BOUND, answerable, "binding"),
    Line("(R1) region retrieval", BOTH_WHOLE, UNSTAMPED, everything, "r1"),
)
ALTERS = {
    "d1": "phase of the pixels randomised",
    "d2": "tags made identical",
    "d3": "dates change places",
    "binding": "images follow other messages",
    "r1": "one vector an image (index)",
}


def _cells(paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None) -> tuple[str, ...]:
    label, n, _, _, *rest = effect_row(paired, line, among, found)
    return (label, ALTERS[line.name], n, *rest)


EFFECTS = EffectTable(
    id=ID,
    title=TITLE,
    lines=LINES,
    wanted=everything,
    notes=(
        "Delta: the component minus its control. D1 and binding stand on the answerable questions, D3 on the "
        "temporal ones, D2 and R1 on all, refusal questions included. R1 changes which items are retrieved, the "
        "others only how the same items are delivered.",
    ),
    columns=COLUMNS,
    cells=_cells,
)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """As ``EffectTable.build``, at the lengths that have most of the contrasts."""
    return at_full_lengths(EFFECTS, rows, facts)


TABLE = TableSpec(ID, build, ("memlens",), conditions=EFFECTS.conditions)


def at_full_lengths(effects: EffectTable, rows: Iterable[Row], facts: RunFacts) -> Table:
    """A table of contrasts without the lengths that have fewer of them than another, which it names: the dates alone
    are asked at every length."""
    groups, partial = full_lengths(group_rows(rows, effects.conditions), effects.lines)
    table = effects.build([row for group in groups for row in group.all_rows()], facts)
    if not partial:
        return table
    return replace(table, facts=(*table.facts, ("lengths with fewer contrasts, not shown", ", ".join(partial))))
