"""MIRAGE indicators against the measured depth of every state of a run, with intervals (section 3.3, finer sweeps)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    DENOMINATORS,
    RUNS,
    Agent,
    agent_facts,
    agents,
    left_out,
    made,
    middle,
    rate,
)
from benchsuite_reports.mirage_measure import over_runs, spread
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_depths"
TITLE = "MIRAGE: GC, SC and MI by measured depth"
SHOWN = ("gc", "sc", "mi")
COLUMNS = ("State", "depth", "compactions", "Indicator", "count", "Rate", "95%", "95% by object", "objects")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows of the main split, a block per length, model and condition with two measured depths or more.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    found = [agent for agent in agents(rows, condition=None) if len(by_depth(agent)) > 1]
    return made(
        (ID, TITLE, COLUMNS),
        found,
        (_block(agent, facts) for agent in found),
        facts,
        (
            f"Depth: reference tokens at capture. {DENOMINATORS} count and 95% (Wilson): the questions of "
            f"one run; by object: percentile bootstrap of whole planted objects, too narrow for so few. {RUNS}",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no model was asked at two states of measured depth")


def by_depth(agent: Agent) -> dict[str, float]:
    """The median depth at capture of each state, by compactions and then by depth; a state without one is left out."""
    return {
        state: depth
        for state in agent.states
        if (depth := middle((row for rows in agent.runs(state) for row in rows), "depth")) is not None
    }


def _block(agent: Agent, facts: RunFacts) -> Block:
    rows, values = [], dict[str, Number]()
    for state, depth in by_depth(agent).items():
        compactions = middle((row for run in agent.runs(state) for row in run), "compactions")
        values[f"depth.{state}"] = depth
        for name in SHOWN:
            value, found = over_runs(agent, state, name), spread(agent.first(state), name)
            values[f"{name}.{state}"] = value
            values[f"{name}.low.{state}"] = found.by_question.low if found else None
            values[f"{name}.high.{state}"] = found.by_question.high if found else None
            ends = (found.question_text, found.object_text, str(found.objects)) if found else (NONE, NONE, "0")
            rows.append(
                (
                    state,
                    f"{depth:,.0f}",
                    NONE if compactions is None else f"{compactions:.0f}",
                    name.upper(),
                    f"{found.rate.k}/{found.rate.n}" if found else "0",
                    rate(value),
                    *ends,
                )
            )
    return Block(agent.heading, agent_facts(ID, agent, facts), tuple(rows), left_out(agent), values=values)
