"""MIRAGE indicators against measured depth: the curve of ``mirage_depths``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite_reports.figure import Chart, FigureSpec, Panel, Point, Series, Strip, facts_caption
from benchsuite_reports.mirage_base import PUBLISHED, RUNS, Agent, about_run, agents, left_out, middle, together
from benchsuite_reports.mirage_depths import SHOWN, by_depth
from benchsuite_reports.mirage_measure import over_runs, spread
from benchsuite_reports.mirage_plate import agent_lines, captions
from benchsuite_reports.table import Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "mirage_depthcurve"
TITLE = "MIRAGE: GC, SC and MI against measured depth"
CAPTION = (
    "Points: GC and SC over the parsed answerable calls, MI over all recorded ones, at the depth that was measured at "
    "capture, in reference tokens; bars: Wilson 95% of one run, by question (the table mirage_depths has the intervals "
    f"by object). A line ends where the conversation was compacted: what follows is another regime. {RUNS}"
)


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> Chart | None:
    """From outcome rows with two measured depths or more: a strip per length, a panel per indicator, a line per model
    and condition. Raises BenchError when rows mix corpora, protocols, renderers, scorers or models as served."""
    found = [agent for agent in agents(rows, condition=None) if len(by_depth(agent)) > 1]
    if not found:
        return None
    about, check = about_run(ID, [row for agent in found for row in agent.all_rows()], facts)
    strips = []
    for group in together(found, "model", "condition", "others", "summariser"):
        panels = tuple(
            Panel(
                heading=name.upper(),
                value_axis="percent",
                series=tuple(series for agent in group for series in _series(agent, name)),
                other_axis="depth, reference tokens",
            )
            for name in SHOWN
        )
        gone = tuple((f"{what}: {agent.who}", why) for agent in group for what, why in left_out(agent))
        strips.append(Strip(f"length {group[0].length}", panels, agent_lines(ID, group, facts), gone))
    caption = (CAPTION, *captions(ID, found, facts), facts_caption(about), PUBLISHED)
    return Chart(ID, TITLE, tuple(strips), caption, about, check)


FIGURE = FigureSpec(ID, draw, ("mirage",), empty="no model was asked at two states of measured depth")


def _series(agent: Agent, name: str) -> list[Series]:
    """A line for each number of compactions."""
    points: dict[float, list[Point]] = {}
    for state, depth in by_depth(agent).items():
        value, found = over_runs(agent, state, name), spread(agent.first(state), name)
        if value is not None and found is not None:
            ends = found.by_question
            compactions = middle((row for run in agent.runs(state) for row in run), "compactions") or 0.0
            points.setdefault(compactions, []).append(Point(depth, value, found.rate.n, ends.low, ends.high))
    return [Series(agent.who, tuple(each), joined=True) for each in points.values()]
