"""MIRAGE Figure 3: the mirage index by model and state under C0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite_reports.figure import FigureSpec
from benchsuite_reports.figure_states import Bar, BarPanel, BarSeries, StateFigure
from benchsuite_reports.mirage_base import RUNS, Agent, agents, together
from benchsuite_reports.mirage_measure import over_runs, spread
from benchsuite_reports.mirage_plate import plate
from benchsuite_reports.table import Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "mirage_f3"
TITLE = "MIRAGE Figure 3: mirage index by model and state under C0"
CAPTION = (
    "Bars: MI, the share of all recorded answerable calls that claim to be answerable and are not grounded, a parse "
    f"failure adding nothing; lines: Wilson 95% of one run, by question. {RUNS}"
)


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> StateFigure | None:
    """From outcome rows: a panel per length, a bar per model at each state. Raises BenchError when rows mix corpora,
    protocols, renderers, scorers or models as served."""
    groups = together(agents(rows), "model")
    panels = []
    for group in groups:
        states = tuple(dict.fromkeys(state for agent in group for state in agent.states))
        series = tuple(BarSeries(agent.model, tuple(_bar(agent, state) for state in states)) for agent in group)
        panels.append(BarPanel(f"length {group[0].length}{group[0].others}", "MI (%)", states, series))
    found = [agent for group in groups for agent in group]
    return plate((ID, TITLE), panels, found, facts, (CAPTION,))


FIGURE = FigureSpec(ID, draw, ("mirage",), empty="no row of the main split at a state under C0")


def _bar(agent: Agent, state: str) -> Bar:
    found = spread(agent.first(state), "mi")
    if found is None:
        return Bar(None)
    return Bar(over_runs(agent, state, "mi"), found.by_question.low, found.by_question.high)
