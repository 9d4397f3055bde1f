"""MIRAGE Figure 5: the share of calls that reached for a tool, under C0 and Cm by state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.stats.mirage import route_composition
from benchsuite_reports.figure import FigureSpec
from benchsuite_reports.figure_states import Bar, BarPanel, BarSeries, StateFigure
from benchsuite_reports.mirage_base import C0, CM, RUNS, Agent, agents, mean, together, traced
from benchsuite_reports.mirage_plate import plate
from benchsuite_reports.table import Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "mirage_f5"
TITLE = "MIRAGE Figure 5: routes to the evidence under C0 and Cm"
CAPTION = (
    "Bars: R_tool, the share of all recorded calls, parse failures among them, that made an executable tool call; the "
    f"rest is R_context. {RUNS}"
)
LABELS = {C0: "R_tool, C0", CM: "R_tool, Cm"}


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> StateFigure | None:
    """From outcome rows: a panel per length and model. Raises BenchError when rows mix corpora, protocols, renderers,
    scorers or models as served."""
    found = [agent for agent in agents(rows, condition=None) if agent.condition in LABELS and traced(agent)]
    panels = []
    for group in together(found, "condition"):
        states = tuple(dict.fromkeys(state for agent in group for state in agent.states))
        series = tuple(
            BarSeries(LABELS[agent.condition], tuple(_bar(agent, state) for state in states)) for agent in group
        )
        heading = f"{group[0].model}{group[0].others}, {group[0].length}"
        panels.append(BarPanel(heading, "calls (%)", states, series))
    return plate((ID, TITLE), panels, found, facts, (CAPTION,))


FIGURE = FigureSpec(ID, draw, ("mirage",), empty="no row of the main split says which route its call took")


def _bar(agent: Agent, state: str) -> Bar:
    runs = agent.runs(state)
    return Bar(mean(route_composition(run).tool.value for run in runs), note="" if runs else "not run")
