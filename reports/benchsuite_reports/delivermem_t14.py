"""DeliverMem Table 14: the two quantities of Table 1 by question type and by number of gold messages (appendix D.5)."""

from __future__ import annotations

from statistics import median

from benchsuite_reports.arms import Facts, Paired
from benchsuite_reports.delivermem_subsets import Subsets, SubsetTable, by_gold, by_type, gold_of
from benchsuite_reports.effects import Line
from benchsuite_reports.published import TYPES
from benchsuite_reports.table import Condition, TableSpec

ID = "delivermem_t14"
ORACLE = Condition("Gold messages, pixels", "oracle", "pixels")
WITHHELD = Condition("Gold messages, withheld", "oracle", "noimg")
TEXT = Condition("Text channel, pixels", "text", "pixels")
TEXT_WITHHELD = Condition("Text channel, withheld", "text", "noimg")


def _by_short_type(paired: Paired) -> Subsets:
    return by_type(paired, lambda name: TYPES.get(name, name))


def _gold(paired: Paired) -> Facts:
    counts = [gold_of(paired.question(question)) for question in paired.kept]
    if not counts:
        return ()
    return (("gold messages a question", f"median {median(counts):g}, from {min(counts)} to {max(counts)}"),)


TABLE = TableSpec(
    ID,
    SubsetTable(
        id=ID,
        title="DeliverMem Table 14: the quantities of Table 1 by subset",
        batch=(ORACLE, WITHHELD, TEXT, TEXT_WITHHELD),
        differences=(
            Line("Delta_R", TEXT, ORACLE, name="delta_r"),
            Line("Delta_D", WITHHELD, ORACLE, name="delta_d"),
        ),
        splits=(_by_short_type, by_gold),
        first="Subset",
        about=_gold,
        notes=(
            "Delta_R: gold messages minus text channel, both with pixels. Delta_D: gold messages with pixels minus "
            "without. IE, MSR, TR, KU: information extraction, multi-session reasoning, temporal reasoning, knowledge "
            "update; gold: number of gold messages; pooled: all answerable questions, those of Table 1.",
        ),
    ).build,
    conditions=(ORACLE, WITHHELD, TEXT, TEXT_WITHHELD),
)
