"""DeliverMem appendix E.5: how many items are delivered, from the smallest K that was run to the largest."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchsuite_reports.arms import DELIVERMEM, NONE, Group, Paired, cell
from benchsuite_reports.effects import EffectTable, Line, everything
from benchsuite_reports.table import Block, Condition, K, Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_k"
TITLE = "DeliverMem E.5: delivery budget"
BUDGETS = tuple(replace(DELIVERMEM, k=k) for k in (3, 5, K, 20))
"""The deployed configuration at the usual K; any two, these or others, make a sweep."""
COLUMNS = ("Budget", "n", "accuracy", "items delivered (median)", "questions with fewer than K")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """The sweep over every K of the rows: neighbours, and the smallest against 10, per length, model and judge.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    asked = {row.get("arm.k") for row in rows}
    sweep = [replace(DELIVERMEM, k=k) for k in sorted(k for k in asked if isinstance(k, int))]
    sweep = [condition for condition in sweep if any(condition.has(row) for row in rows)]
    return EffectTable(
        id=ID,
        title=TITLE,
        lines=_lines(sweep),
        wanted=everything,
        notes=(
            "DeliverMem with another K; K delivered items, or all there are where the history has fewer messages. "
            "Refusal questions count; constant refusal is computed: every unanswerable question right, every "
            "answerable one wrong.",
        ),
        extra=_budgets,
    ).build(rows, facts)


TABLE = TableSpec(ID, build, ("memlens",), conditions=BUDGETS)


def _lines(sweep: Sequence[Condition]) -> tuple[Line, ...]:
    steps = list(itertools.pairwise(sweep))
    deployed = next((condition for condition in sweep if condition.k == K), None)
    if deployed and sweep[0].k < K and (sweep[0], deployed) not in steps:
        steps.append((sweep[0], deployed))
    return tuple(Line(f"K {b.k} - K {a.k}", a, b, everything, name=f"{a.k}->{b.k}") for a, b in steps)


def _budgets(group: Group, paired: Paired, facts: RunFacts) -> Iterable[Block]:
    """Each K with its accuracy and what it delivered."""
    refusing = paired.constant_refusal(paired.kept)
    rows = [("Constant refusal (by rule)", str(paired.n), cell(refusing), "", "")]
    values: dict[str, Number] = {"accuracy.constant_refusal": refusing}
    for name, questions in group.rows.items():
        counts = [n for question in paired.kept if isinstance(n := questions[question]["n_items"], int)]
        k = next(row["arm.k"] for row in questions.values())
        budget = k if isinstance(k, int) else K
        median = statistics.median(counts) if counts else None
        short = sum(count < budget for count in counts)
        accuracy = paired.accuracy(name)
        delivered = NONE if median is None else f"{median:g}"
        rows.append((f"K = {budget}", str(paired.n), cell(accuracy), delivered, str(short)))
        values |= {f"accuracy.{budget}": accuracy, f"delivered.{budget}": median, f"short.{budget}": short}
    yield Block(
        heading=f"{group.heading}: accuracy by budget",
        facts=(),
        rows=tuple(rows),
        left_out=None,
        values=values,
        columns=COLUMNS,
    )
