"""MIRAGE Figure 6: what retrieval pressure changes by model and state, Cm minus C0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite_reports.figure import FigureSpec
from benchsuite_reports.figure_states import HeatPanel, StateFigure
from benchsuite_reports.mirage_plate import plate
from benchsuite_reports.mirage_pressure import Pressed, pressed
from benchsuite_reports.table import Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "mirage_f6"
TITLE = "MIRAGE Figure 6: effect of retrieval pressure, Cm minus C0"
INDICATORS = ("gc", "sc", "ac", "hr")
"""The upper row of the paper's figure, then the lower one."""
CAPTION = (
    "Colours and numbers: Cm minus C0 in points over the questions parsed under both; blue is a rise, which for HR is "
    "the worse. Grey: the model does not call tools under Cm (no tools), too few calls parse (PF), or nothing is "
    "parsed under both (-). The table mirage_pressure has tests and intervals."
)


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> StateFigure | None:
    """From outcome rows: a panel per indicator and length, a row per model, a column per state. Raises BenchError when
    rows mix corpora, protocols, renderers, scorers or models as served."""
    found = pressed(rows)
    panels = []
    for length in dict.fromkeys(each.free.length for each in found):
        here = [each for each in found if each.free.length == length]
        states = tuple(dict.fromkeys(state for each in here for state in each.states))
        for name in INDICATORS:
            cells = [[_cell(each, state, name) for state in states] for each in here]
            panels.append(
                HeatPanel(
                    heading=f"{name.upper()}, {length}",
                    rows=tuple(f"{each.free.model}{each.free.others}" for each in here),
                    columns=states,
                    values=tuple(tuple(value for value, _ in row) for row in cells),
                    texts=tuple(tuple(text for _, text in row) for row in cells),
                )
            )
    return plate(
        (ID, TITLE), panels, [agent for e in found for agent in (e.free, e.pressed)], facts, (CAPTION,), across=2
    )


FIGURE = FigureSpec(ID, draw, ("mirage",), empty="no model was asked under both C0 and Cm at one state")


def _cell(each: Pressed, state: str, name: str) -> tuple[float | None, str]:
    if state not in each.states:
        return None, "-"
    if why := each.why_blank(state):
        return None, "no tools" if why.startswith("not compliant") else "PF"
    found = each.change(state, name)
    if found is None:
        return None, "-"
    value = found.effect.estimate
    return value, f"{100 * value:+.0f}".replace("-0", "0") if abs(value) < 0.005 else f"{100 * value:+.0f}"
