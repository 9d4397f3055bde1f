"""MIRAGE Figure 4: how answerable probes go from grounded to ungrounded and back over three states under C0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.stats.mirage import transitions
from benchsuite_reports.figure import FigureSpec
from benchsuite_reports.figure_states import FlowPanel, StateFigure
from benchsuite_reports.mirage_base import D0, D80K, S2, Agent, agents
from benchsuite_reports.mirage_plate import plate
from benchsuite_reports.table import Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "mirage_f4"
TITLE = "MIRAGE Figure 4: grounding transitions under C0"
STATES = (D0, D80K, S2)
CAPTION = (
    "Counts of answerable questions recorded in all three states, of the first run: above and blue the grounded ones, "
    "below and pink the others, parse failures among them. A band is one way through the states, coloured by the "
    "state that it leaves; its count stands at its start, where there is room."
)


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> StateFigure | None:
    """From outcome rows: a panel per length and model asked at the three states. Raises BenchError when rows mix
    corpora, protocols, renderers, scorers or models as served."""
    found = [(agent, panel) for agent in agents(rows) if (panel := _panel(agent)) is not None]
    return plate((ID, TITLE), [panel for _, panel in found], [agent for agent, _ in found], facts, (CAPTION,))


FIGURE = FigureSpec(
    ID, draw, ("mirage",), empty=f"no answerable question was recorded at {', '.join(STATES)} of one model"
)


def _panel(agent: Agent) -> FlowPanel | None:
    if not set(STATES) <= set(agent.states):
        return None
    found = transitions({state: agent.first(state) for state in STATES})
    if not found.n:
        return None
    note = (f"{found.left_out} recorded in some only",) if found.left_out else ()
    flows = tuple(sorted(found.counts.items(), reverse=True))
    return FlowPanel(f"{agent.model}{agent.others}, {agent.length}, n {found.n}", STATES, flows, found.n, note)
