"""DeliverMem Table 13: the original image against none by question type, in the batch of Table 12 (appendix D.4)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.family import holm, lowest_adjusted
from benchsuite.stats.paired import sign_test
from benchsuite_reports.arms import Group, Paired
from benchsuite_reports.delivermem_subsets import POOLED, SubsetTable, by_type
from benchsuite_reports.delivermem_t12 import LADDER, ORACLE, WITHHELD, has_counterfactual
from benchsuite_reports.effects import ALPHA, Line
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec, p_value

ID = "delivermem_t13"
DELTA = Line("", WITHHELD, ORACLE, name="delta_d")
FAMILY_COLUMNS = ("Family of question types", "W + L", "p", "Bonferroni", "Holm", "least Holm", "at .05")
FAMILY_NOTE = (
    "The types are one family, without the pooled row. Bonferroni: p times the number of types; Holm: its step-down "
    "form. Least Holm: had all questions that differ gone one way; above .05 that type cannot reach it."
)


def _family(group: Group, paired: Paired, lines: Sequence[Line]) -> tuple[Block, ...]:
    """Each type's p beside what it is among all types of this block; nothing for fewer than two."""
    effects = {
        line.label: effect
        for line in lines
        if line.label != POOLED and (effect := paired.difference(line.a.name, line.b.name, paired.where(line.where)))
    }
    if len(effects) < 2:
        return ()
    raw = {label: effect.p for label, effect in effects.items()}
    adjusted = holm(raw)
    least = lowest_adjusted(raw, {label: sign_test(each.wins + each.losses, 0) for label, each in effects.items()})
    rows = []
    values: dict[str, Number] = {"threshold": ALPHA / len(raw)}
    for label, effect in effects.items():
        bonferroni = min(1.0, len(raw) * raw[label])
        reached = "cannot reach" if least[label] > ALPHA else "yes" if adjusted[label] <= ALPHA else "no"
        numbers = (raw[label], bonferroni, adjusted[label], least[label])
        rows.append((label, str(effect.wins + effect.losses), *map(p_value, numbers), reached))
        names = ("p", "bonferroni", "holm", "least")
        values.update({f"{label}.{name}": number for name, number in zip(names, numbers, strict=True)})
    return (
        Block(
            heading=f"{group.heading}: as a family",
            facts=(("Bonferroni threshold", f"{ALPHA / len(raw):.4g} for {len(raw)} types"),),
            rows=tuple(rows),
            left_out=None,
            notes=(FAMILY_NOTE,),
            values=values,
            columns=FAMILY_COLUMNS,
        ),
    )


EFFECTS = SubsetTable(
    id=ID,
    title="DeliverMem Table 13: pixels against none, by question type",
    batch=LADDER,
    differences=(DELTA,),
    splits=(by_type,),
    first="pixels minus withheld",
    extra=_family,
    notes=(
        "a: withheld, b: pixels, the gold messages padded to ten in both. Questions are those of Table 12, answered in "
        "every condition of it that was run; pooled: all of them, refusal questions not among them.",
    ),
)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 13 from outcome rows; none of them are its own where no counterfactual image was delivered.

    Raises BenchError as ``SubsetTable.build`` does.
    """
    return EFFECTS.build(rows if any(map(has_counterfactual, rows)) else (), facts)


TABLE = TableSpec(ID, build, ("memlens",), conditions=LADDER)
