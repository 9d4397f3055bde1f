"""MIRAGE Table 6, the columns that this suite measures: where MI and OG are largest (appendix A.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import RUNS, Agent, agents, made, models_block, together
from benchsuite_reports.mirage_measure import over_runs
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t6"
TITLE = "MIRAGE Table 6: the largest joint-event MI and OG under state variation, under C0"
COLUMNS = ("Backbone", "MI at most", "at", "OG at most", "at ")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, a block per length with a row per model. Raises BenchError when its rows mix corpora,
    protocols, renderers, scorers or models as served."""
    groups = together(agents(rows), "model")
    return made(
        (ID, TITLE, COLUMNS),
        [agent for group in groups for agent in group],
        (_block(group, facts) for group in groups),
        facts,
        (
            "Proportions. MI: claimed answerable and not grounded, jointly, over all recorded answerable calls; OG: VC "
            f"less GC over the parsed ones, whatever was judged; each with the states where it is largest. {RUNS} "
            "Scores on other benchmarks are not measured here.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no row of the main split at a state under C0")


def largest(by_state: Mapping[str, float | None]) -> tuple[float | None, str]:
    """The largest value and the states that have it."""
    known = {state: value for state, value in by_state.items() if value is not None}
    if not known:
        return None, NONE
    top = max(known.values())
    return top, ", ".join(state for state, value in known.items() if value == top)


def _block(group: Sequence[Agent], facts: RunFacts) -> Block:
    rows = []
    values = dict[str, Number]()
    for agent in group:
        cells = [agent.model]
        for name in ("mi", "og"):
            top, where = largest({state: over_runs(agent, state, name) for state in agent.states})
            cells += [NONE if top is None else f"{top:.2f}", where]
            values.update({f"{name}.{agent.model}": top, f"{name}.at.{agent.model}": where})
        rows.append(tuple(cells))
    return models_block(ID, group, facts, rows, values)
