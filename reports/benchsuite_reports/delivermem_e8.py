"""DeliverMem appendix E.8: the assembled configuration against the default index without tag or date, by question type.

Beside the whole difference stand its steps: the index alone, then tag, date and both on the region index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED, Group, Paired
from benchsuite_reports.effects import EffectTable, Line, clustered_effects, effect_rows, everything, of_type
from benchsuite_reports.published import TYPES
from benchsuite_reports.table import Block, RunFacts, TableSpec

ID = "delivermem_e8"
TITLE = "DeliverMem E.8: per-type effects of the assembled configuration"
TAG_ALONE = replace(DELIVERMEM, delivery="deployed+nodate")
DATE_ALONE = replace(DELIVERMEM, delivery="deployed+notag")
LINES = (
    Line("index, tag and date", BOTH_WHOLE, DELIVERMEM, everything, "assembled"),
    Line("index", BOTH_WHOLE, UNSTAMPED, everything, "index"),
    Line("tag alone", UNSTAMPED, TAG_ALONE, everything, "tag"),
    Line("date alone", UNSTAMPED, DATE_ALONE, everything, "date"),
    Line("tag and date", UNSTAMPED, DELIVERMEM, everything, "tag_and_date"),
)


def _by_type(group: Group, paired: Paired, facts: RunFacts) -> Iterable[Block]:
    """The same steps for each question type that has questions; the certificates of all stand above."""
    there = [line for line in LINES if line.a.name in group.rows and line.b.name in group.rows]
    lines = [
        replace(line, label=f"{short}: {line.label}", where=of_type(name), name=f"{line.name}.{short}")
        for name, short in TYPES.items()
        if paired.where(of_type(name))
        for line in there
    ]
    found = effect_rows(paired, lines, facts, group.model)
    absent = [name.replace("_", " ") for name in TYPES if not paired.where(of_type(name))]
    heading = f"{group.heading}: by question type"
    if not lines:
        return ()
    block = Block(
        heading=heading,
        facts=((("types without questions", ", ".join(absent)),) if absent else ()),
        rows=found.rows,
        left_out=None,
        values=found.values,
    )
    clustered = clustered_effects(group, paired, lines)
    return block, *(replace(each, heading=f"{heading}, by cluster") for each in clustered)


EFFECTS = EffectTable(
    id=ID,
    title=TITLE,
    lines=LINES,
    wanted=everything,
    notes=(
        "index: the region index against one vector an image, without tag or date. tag alone, date alone, tag and "
        "date: each against neither, on the region index. IE, MSR, TR, KU, AR: information extraction, multi-session "
        "reasoning, temporal reasoning, knowledge update, answer refusal. Where several variables are declared the "
        "certificate names them; no step by type is adjusted for the number of types.",
    ),
    extra=_by_type,
)
TABLE = TableSpec(ID, EFFECTS.build, ("memlens",), conditions=EFFECTS.conditions)
