"""Figures of named states: grouped bars, a heat map and flows from state to state, as values first (see ``figure``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from benchsuite_reports.arms import Facts
from benchsuite_reports.figure import COLOURS, FONT, drawn, headed

ACROSS = 3
"""Panels side by side, where nothing else is said."""
HATCHES = ("", "//", "..", "xx")
GROUNDED, UNGROUNDED = "#0072B2", "#CC79A7"
_BLANK = "#d9d9d9"
_READABLE = 0.045
"""The least share whose count is written on its band; the data have all."""
_GAP = 0.06
"""Between the two stacks of a state, of all that is counted."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A ``value`` with its interval, fractions; None: nothing to show, ``note`` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class BarSeries:
    """A bar for each name of the panel. Series of one ``label`` look alike in all panels."""

    label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarPanel:
    """Groups of bars under ``names``; values are drawn times 100."""

    heading: str
    value_axis: str
    names: tuple[str, ...]
    series: tuple[BarSeries, ...]


@dataclass(frozen=True, slots=True)
class HeatPanel:
    """Values as colours in a grid, drawn times 100; None is grey, with its ``texts`` entry (else the value) on it."""

    heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class FlowPanel:
    """How many of ``n`` go which way through the ``states``: counts by whether each is grounded."""

    heading: str
    states: tuple[str, ...]
    flows: tuple[tuple[tuple[bool, ...], int], ...]
    n: int
    notes: tuple[str, ...] = ()


StatePanel = BarPanel | HeatPanel | FlowPanel


@dataclass(frozen=True, slots=True)
class StateFigure:
    """Panels in rows of ``across``; the caption says what is plotted and on what it stands."""

    id: str
    title: str
    panels: tuple[StatePanel, ...]
    caption: tuple[str, ...]
    facts: Facts = ()
    left_out: Facts = ()
    pipeline_check: bool = False
    across: int = ACROSS

    @property
    def heading(self) -> str:
        return headed(self.title, self.pipeline_check)

    def data(self) -> Mapping[str, object]:
        return {**asdict(self), "facts": dict(self.facts), "left_out": dict(self.left_out)}

    def pictures(self) -> Mapping[str, bytes]:
        """Raises MissingMatplotlibError without matplotlib."""
        across = min(self.across, len(self.panels))
        down = -(-len(self.panels) // across)

        def paint(canvas: Any) -> None:
            grid = canvas.subplots(down, across, squeeze=False)
            reach = _reach(self.panels)
            handles: dict[str, Any] = {}
            labels = list(
                dict.fromkeys(
                    each.label for panel in self.panels if isinstance(panel, BarPanel) for each in panel.series
                )
            )
            for number, axes in enumerate(grid.flat):
                if number >= len(self.panels):
                    axes.set_axis_off()
                    continue
                panel = self.panels[number]
                if isinstance(panel, BarPanel):
                    handles.update(_draw_bars(axes, panel, labels, first=number % across == 0))
                elif isinstance(panel, HeatPanel):
                    _draw_heat(axes, panel, reach)
                else:
                    _draw_flows(axes, panel)
            if handles:
                canvas.legend([handles[label] for label in labels], labels, loc="outside right center", frameon=False)

        tall = 3.2 + 0.18 * max(len(getattr(panel, "notes", ())) for panel in self.panels)
        return drawn(self.id, self.heading, self.caption, (max(7.0, 3.6 * across + 1.5), tall * down), paint)


def _draw_bars(axes: Any, panel: BarPanel, labels: Sequence[str], first: bool) -> dict[str, Any]:
    handles = {}
    width = 0.8 / max(1, len(panel.series))
    for place, series in enumerate(panel.series):
        number = labels.index(series.label)
        for at, bar in enumerate(series.bars):
            x = at + width * (place - (len(panel.series) - 1) / 2)
            if bar.value is None:
                axes.text(x, 1, bar.note or "n/a", rotation=90, ha="center", va="bottom", size=FONT - 1)
                continue
            ends = None
            if bar.low is not None and bar.high is not None:
                ends = [[100 * max(0.0, bar.value - bar.low)], [100 * max(0.0, bar.high - bar.value)]]
            handles[series.label] = axes.bar(
                x,
                100 * bar.value,
                width * 0.92,
                yerr=ends,
                capsize=2,
                color=COLOURS[number % len(COLOURS)],
                hatch=HATCHES[(number // len(COLOURS)) % len(HATCHES)],
                edgecolor="white",
                ecolor="0.35",
                error_kw={"linewidth": 0.9},
            )
        handles.setdefault(series.label, axes.bar([], [], color=COLOURS[number % len(COLOURS)]))
    axes.set_title(panel.heading, loc="left")
    axes.set_xticks(range(len(panel.names)), panel.names)
    axes.set_xlim(-0.6, len(panel.names) - 0.4)
    axes.set_ylim(0, 103)
    if first:
        axes.set_ylabel(panel.value_axis)
    return handles


def _reach(panels: Sequence[StatePanel]) -> float:
    """How far from 0 the colours of every heat map go, in points."""
    heats = [panel for panel in panels if isinstance(panel, HeatPanel)]
    return max([10.0, *(abs(100 * v) for panel in heats for row in panel.values for v in row if v is not None)])


def _draw_heat(axes: Any, panel: HeatPanel, reach: float) -> None:
    from matplotlib import colormaps

    colours = colormaps["RdBu"]
    for y, (row, texts) in enumerate(zip(panel.values, panel.texts, strict=True)):
        for x, (value, text) in enumerate(zip(row, texts, strict=True)):
            at = 0.5 if value is None else 0.5 + 50 * value / reach
            face = _BLANK if value is None else colours(at)
            axes.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5], facecolor=face)
            pale = value is None or abs(at - 0.5) < 0.3
            axes.text(x, y, text, ha="center", va="center", color="black" if pale else "white")
    axes.set_title(panel.heading, loc="left")
    axes.set_xticks(range(len(panel.columns)), panel.columns)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.set_xlim(-0.5, len(panel.columns) - 0.5)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.tick_params(length=0)


def bands(panel: FlowPanel) -> dict[tuple[bool, ...], list[tuple[float, float]]]:
    """Where each flow runs at each state, bottom and top as fractions of all: grounded above, in one order
    everywhere."""
    order = sorted((pattern for pattern, _ in panel.flows), reverse=True)
    counts = dict(panel.flows)
    found: dict[tuple[bool, ...], list[tuple[float, float]]] = {pattern: [] for pattern in order}
    for step in range(len(panel.states)):
        top = 1.0 + _GAP
        for grounded in (True, False):
            for pattern in order:
                if pattern[step] == grounded:
                    low = top - counts[pattern] / panel.n
                    found[pattern].append((low, top))
                    top = low
            if grounded:
                top -= _GAP
    return found


def _draw_flows(axes: Any, panel: FlowPanel) -> None:
    places = bands(panel)
    counts = dict(panel.flows)
    for pattern, ends in places.items():
        for step, ((low, high), (then_low, then_high)) in enumerate(pairwise(ends)):
            colour = GROUNDED if pattern[step] else UNGROUNDED
            axes.fill([step + 0.07, step + 0.93, step + 0.93, step + 0.07], [low, then_low, then_high, high],
                      facecolor=colour, alpha=0.35, edgecolor="white", linewidth=0.6)  # fmt: skip
            if step == 0 and high - low > _READABLE:
                axes.text(step + 0.12, (low + high) / 2, str(counts[pattern]), va="center", size=FONT - 1)
        for step, (low, high) in enumerate(ends):
            colour = GROUNDED if pattern[step] else UNGROUNDED
            axes.fill([step - 0.07, step + 0.07, step + 0.07, step - 0.07], [low, low, high, high], facecolor=colour)
    for step in range(len(panel.states)):
        grounded = sum(count for pattern, count in panel.flows if pattern[step])
        axes.text(step, 1.02 + _GAP, f"{grounded}", ha="center", va="bottom", color=GROUNDED)
        axes.text(step, -0.02, f"{panel.n - grounded}", ha="center", va="top", color=UNGROUNDED)
    axes.set_title("\n".join([panel.heading, *panel.notes]), loc="left")
    axes.set_xticks(range(len(panel.states)), panel.states)
    axes.set_yticks([])
    axes.set_xlim(-0.3, len(panel.states) - 0.7)
    axes.set_ylim(-0.12, 1.14 + _GAP)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
