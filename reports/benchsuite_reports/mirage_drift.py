"""MIRAGE source drift: grounded answers that name another source from one state to the next (section 4.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.intervals import wilson
from benchsuite.stats.mirage import source_drift
from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    D0,
    D80K,
    DASH,
    RUNS,
    S2,
    Agent,
    agent_facts,
    agents,
    left_out,
    limits,
    made,
    mean,
    rate,
)
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_drift"
TITLE = "MIRAGE: source drift under C0"
COLUMNS = ("From", "To", "changed", "of", "Drift", "95%")
PAIRS = ((D0, D80K), (D0, S2))


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, a block per length and model. Raises BenchError when its rows mix corpora, protocols,
    renderers, scorers or models as served."""
    found = [agent for agent in agents(rows) if any({a, b} <= set(agent.states) for a, b in PAIRS)]
    return made(
        (ID, TITLE, COLUMNS),
        found,
        (_block(agent, facts) for agent in found),
        facts,
        (
            "Of the questions grounded in both states, those whose SOURCE line is written differently, before any "
            "canonical form: another file of the same object counts. changed, of and 95% (Wilson): the first run. "
            f"{RUNS}",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty=f"no model was asked at {D0} and at {D80K} or {S2} under C0")


def _block(agent: Agent, facts: RunFacts) -> Block:
    rows, notes = [], []
    values = dict[str, Number]()
    for a, b in PAIRS:
        runs = [source_drift(first, later) for first, later in zip(agent.runs(a), agent.runs(b), strict=False)]
        if not runs:
            continue
        drift, first = mean(each.value for each in runs), runs[0]
        interval = wilson(first.k, first.n) if first.n else None
        rows.append(
            (
                a,
                b,
                str(first.k),
                str(first.n),
                DASH if drift is None else rate(drift),
                limits(interval.low, interval.high) if interval else NONE,
            )
        )
        if drift is None:
            notes.append(f"{a} to {b}: no question is grounded in both states.")
        values.update({f"drift.{a}.{b}": drift, f"changed.{a}.{b}": first.k, f"n.{a}.{b}": first.n})
    about = agent_facts(ID, agent, facts)
    return Block(agent.heading, about, tuple(rows), left_out(agent), tuple(notes), values)
