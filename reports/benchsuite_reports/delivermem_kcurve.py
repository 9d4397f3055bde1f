"""Accuracy against the number of delivered messages (DeliverMem, appendix E.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite_reports.arms import DELIVERMEM, group_facts, group_rows, lengths_of, pair, table_facts
from benchsuite_reports.bases import base_of
from benchsuite_reports.delivermem_k import BUDGETS
from benchsuite_reports.figure import (
    ACCURACY_NOTE,
    Chart,
    FigureSpec,
    Panel,
    Series,
    Strip,
    accuracy_point,
    facts_caption,
    group_caption,
    group_lines,
    refusal_level,
)
from benchsuite_reports.table import K, Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "delivermem_kcurve"
TITLE = "Accuracy against the number of delivered messages, K"
CAPTION = f"Points: accuracy over the questions answered at every K that was run, {ACCURACY_NOTE}"


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> Chart | None:
    """From outcome rows of the deployed configuration at two K or more: a panel per length, a line per model and judge.

    Raises BenchError when rows mix corpora, protocols, renderers, scorers or models as served.
    """
    sizes = sorted({k for row in rows if isinstance(k := row.get("arm.k", K), int)})
    conditions = {k: replace(DELIVERMEM, k=k) for k in sizes}
    groups = [group for group in group_rows(rows, tuple(conditions.values())) if len(group.rows) > 1]
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return None
    about, corpus = table_facts(ID, mine, facts)
    asked = {k: each for k, each in conditions.items() if any(each.name in group.rows for group in groups)}
    every = [
        (group, paired := pair(group), group_facts(ID, group, tuple(asked.values()), paired, facts)) for group in groups
    ]
    panels = []
    for length in lengths_of(groups):
        here = [(group, paired) for group, paired, _ in every if group.length == length]
        series = [
            Series(group.who, points, joined=True)
            for group, paired in here
            if (points := tuple(p for k, each in asked.items() if (p := accuracy_point(k, paired, each.name))))
        ]
        ns = " or ".join(str(n) for n in sorted({paired.n for _, paired in here}))
        panels.append(
            Panel(
                heading=f"length {length}, n {ns}",
                value_axis="accuracy (%)",
                series=tuple(series),
                other_axis="K, messages delivered",
                levels=refusal_level(paired for _, paired in here),
                ticks=tuple(asked),
                log=True,
            )
        )
    of_groups, left_out = group_lines(every)
    captions = [group_caption(group, lines, paired) for group, paired, lines in every]
    base = f"Base condition: {base_of('delivermem_k')}."
    strip = Strip("", tuple(panels), of_groups, left_out)
    return Chart(ID, TITLE, (strip,), (CAPTION, base, *captions, facts_caption(about)), about, corpus.bundled)


FIGURE = FigureSpec(ID, draw, ("memlens",), conditions=BUDGETS)
