"""MIRAGE Table 9: Wilson intervals of single-run cells, and how often tools were used by state (appendix A.6)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.mirage import route_composition
from benchsuite_reports.mirage_base import (
    D80K,
    S2,
    Agent,
    agent_facts,
    agents,
    left_out,
    made,
    rate,
    traced,
)
from benchsuite_reports.mirage_measure import spread
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t9"
TITLE = "MIRAGE Table 9: single-run Wilson 95% intervals and routing counts under C0"
COLUMNS = ("Cell", "Count", "Rate", "95% CI", "95% by object", "objects")
ROUTING = ("State", "tool/calls", "R_tool")
CELLS = (("GC", D80K), ("SC", D80K), ("GC", S2), ("SC", S2))
"""The cells that carry the paper's claims."""


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From the rows of the first run, two blocks per length and model. Raises BenchError when its rows mix corpora,
    protocols, renderers, scorers or models as served."""
    found = [agent for agent in agents(rows) if {D80K, S2} & set(agent.states)]
    return made(
        (ID, TITLE, COLUMNS),
        found,
        [*(_block(agent, facts) for agent in found), *(_routing(agent) for agent in found if traced(agent))],
        facts,
        (
            "Count: of the parsed answerable calls of the first run; no runs are pooled. CI: Wilson, the binomial "
            "uncertainty within that run; by object: percentile bootstrap of whole planted objects, too narrow for so "
            "few. tool/calls: recorded calls, answerable or not, that made an executable tool call.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty=f"no model was asked at {D80K} or {S2} under C0")


def _block(agent: Agent, facts: RunFacts) -> Block:
    rows = []
    values = dict[str, Number]()
    for name, state in CELLS:
        found = spread(agent.first(state), name.lower())
        if found is None:
            continue
        count = found.rate
        rows.append(
            (
                f"{agent.model} {name}, {state}",
                f"{count.k}/{count.n}",
                f"{rate(count.value)}%",
                found.question_text,
                found.object_text,
                str(found.objects),
            )
        )
        key = f"{name.lower()}.{state}"
        values.update({f"{key}.count": count.k, f"{key}.n": count.n})
        values.update({f"{key}.low": found.by_question.low, f"{key}.high": found.by_question.high})
    return Block(agent.heading, agent_facts(ID, agent, facts), tuple(rows), left_out(agent), values=values)


def _routing(agent: Agent) -> Block:
    rows = []
    values = dict[str, Number]()
    for state in agent.states:
        tool = route_composition(agent.first(state)).tool
        rows.append((state, f"{tool.k}/{tool.n}", f"{rate(tool.value)}%"))
        values.update({f"tool.{state}": tool.k, f"calls.{state}": tool.n})
    return Block(f"{agent.heading}: routing", (), tuple(rows), None, values=values, columns=ROUTING)
