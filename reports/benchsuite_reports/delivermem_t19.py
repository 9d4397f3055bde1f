"""DeliverMem Table 19: the binding control by question type (appendix E.10).

The control changes only which image follows which message; base condition: both channels, whole-image index, tag
and date.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.arms import Paired
from benchsuite_reports.certified import ContrastCertificate
from benchsuite_reports.delivermem_t4 import BOUND, UNBOUND
from benchsuite_reports.effects import EffectTable, Line, answerable, effect_row, everything, of_type
from benchsuite_reports.published import TYPES
from benchsuite_reports.table import TableSpec

ID = "delivermem_t19"
TITLE = "DeliverMem Table 19: the binding control by question type"
COLUMNS = (
    "Question type",
    "n",
    "Full",
    "Binding shuffled",
    "Delta",
    "W/L",
    "p",
    "matched",
    "altered",
    "changed",
    "if null",
)
POOLED = "Non-refusal (pooled)"
LINES = (
    *(Line(name.replace("_", " ").capitalize(), UNBOUND, BOUND, of_type(name), short) for name, short in TYPES.items()),
    Line(POOLED, UNBOUND, BOUND, answerable, "pooled"),
)


def _cells(paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None) -> tuple[str, ...]:
    label, n, shuffled, full, *rest = effect_row(paired, line, among, found)
    return (label, n, full, shuffled, *rest)


EFFECTS = EffectTable(
    id=ID,
    title=TITLE,
    lines=LINES,
    wanted=everything,
    notes=("Delta: full minus shuffled. Pooled are all answerable questions, those of further types too.",),
    columns=COLUMNS,
    cells=_cells,
)
TABLE = TableSpec(ID, EFFECTS.build, ("memlens",), conditions=EFFECTS.conditions)
