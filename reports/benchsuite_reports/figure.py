"""Figures: frozen values first, drawn from them alone. Equal values give equal bytes under one release of matplotlib.

matplotlib (``pip install benchsuite[report]``) is imported when a chart is drawn; its data is written without it.
"""

from __future__ import annotations

import io
import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchsuite.errors import ConfigError
from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.intervals import Interval, wilson
from benchsuite_reports.arms import Facts, Group, Paired
from benchsuite_reports.table import PIPELINE_CHECK, Condition, Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

FONT = 9.0
"""Points of the smallest text."""
DPI = 150
MARKERS = "osD^vPXp<>*hd8"
LINES = ("-", "--", "-.", ":")
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The colours of Okabe and Ito, told apart by colour-blind readers; the yellow one is too pale for white paper."""
_APART = 0.014
"""Of a panel's width: enough to tell the bars of points of nearly one place, too little to move them far."""
REFUSAL = "constant refusal (by rule)"
ACCURACY_NOTE = (
    "refusal questions included; bars: 95%, Wilson (percentile bootstrap where a score is neither 0 nor 1). Constant "
    "refusal is computed: every unanswerable question right, every answerable one wrong."
)
_LETTERS_AN_INCH = 14
_FORMS: Mapping[str, Mapping[str, str | None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
"""With what matplotlib would say of time and version left out."""
_STYLE = {
    "font.size": FONT,
    "axes.labelsize": FONT,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    "legend.fontsize": FONT,
    "axes.titlesize": FONT + 1,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Figure(Protocol):
    """Values with their ``pictures``, svg and png; ``data`` is all that is in it, as JSON has it."""

    @property
    def id(self) -> str: ...
    def data(self) -> Mapping[str, object]: ...
    def pictures(self) -> Mapping[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """How a module offers its figure: a module-level ``FIGURE`` of this type is found by itself.

    ``draw`` is a function of outcome rows and of what their run stored. It returns None when none of the rows belong
    to it and raises BenchError rather than mix what must not be mixed. ``suites`` are those whose rows it shows (empty:
    any). ``conditions`` are the arms that it shows, all
    of them; ``empty`` says why it may have no row though each of them was run.
    """

    id: str
    draw: Callable[[Sequence[Row], RunFacts, Path, Contents], Figure | None]
    suites: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    empty: str = "no question has an answer in two of its arms"


class MissingMatplotlibError(ConfigError):
    """A chart cannot be drawn here."""


@dataclass(frozen=True, slots=True)
class Point:
    """A ``value`` over ``n`` questions and its interval (None: too few questions for one), all fractions.

    ``at`` is its place on the other axis: a number, or the position of its name. ``note`` stands beside it.
    """

    at: float
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points that share a marker; ``joined`` by a line. Series of one label look alike in all panels of a strip."""

    label: str
    points: tuple[Point, ...]
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes: values upwards; with ``names`` they go to the right, and the names stand on the other axis, top down.
    On a ``log`` axis without ``ticks`` points of nearly one place are drawn side by side.

    ``levels`` are label and value of reference lines, ``ticks`` the marked places of the other axis. Values are drawn
    times 100. ``notes`` stand below the heading.
    """

    heading: str
    value_axis: str
    series: tuple[Series, ...]
    other_axis: str = ""
    names: tuple[str, ...] = ()
    levels: tuple[tuple[str, float], ...] = ()
    ticks: tuple[float, ...] = ()
    log: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strip:
    """Panels side by side with one legend. ``facts`` and ``left_out`` (question and reason) are in the data alone."""

    heading: str
    panels: tuple[Panel, ...]
    facts: Facts = ()
    left_out: Facts = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Strips one below the other; the caption says what is plotted and on what it stands."""

    id: str
    title: str
    strips: tuple[Strip, ...]
    caption: tuple[str, ...]
    facts: Facts = ()
    pipeline_check: bool = False

    @property
    def heading(self) -> str:
        return headed(self.title, self.pipeline_check)

    def data(self) -> Mapping[str, object]:
        strips = [
            {**asdict(strip), "facts": dict(strip.facts), "left_out": dict(strip.left_out)} for strip in self.strips
        ]
        return {**asdict(self), "facts": dict(self.facts), "strips": strips}

    def pictures(self) -> Mapping[str, bytes]:
        """Raises MissingMatplotlibError without matplotlib."""
        return _drawn(self)


def headed(title: str, pipeline_check: bool) -> str:
    return f"{title} ({PIPELINE_CHECK})" if pipeline_check else title


def as_json(figure: Figure) -> str:
    return json.dumps(figure.data(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def group_caption(group: Group, about: Facts, paired: Paired | None = None) -> str:
    """One line on a group: its n, where one holds for all that is shown, and what of ``about`` (``arms.group_facts``)
    is not nothing; bounds are left to the data."""
    parts = [f"{label} {text}" for label, text in about if text not in ("", "0") and not label.startswith("worst case")]
    if paired is not None:
        left_out = [f"left out {len(paired.left_out)}"] if paired.left_out else []
        parts = [f"n {paired.n}", *left_out, *parts]
    return f"{group.heading}: {'; '.join(parts)}."


def facts_caption(about: Facts) -> str:
    """What holds for the whole figure, as one line."""
    return "; ".join(f"{label}: {text}" for label, text in about) + "."


def accuracy_point(at: float, paired: Paired, condition: str) -> Point | None:
    """A condition's accuracy over the kept questions with its 95% interval; None where there is nothing to show."""
    scores = list((paired.scores(condition) or {}).values())
    if not scores:
        return None
    mean = sum(scores) / len(scores)
    found: Interval | None = None
    if all(score in (0.0, 1.0) for score in scores):
        found = wilson(round(sum(scores)), len(scores))
    elif len(scores) > 1:
        found = bootstrap(scores)
    return Point(at, mean, len(scores), found.low if found else None, found.high if found else None)


def refusal_level(pairs: Iterable[Paired]) -> tuple[tuple[str, float], ...]:
    """The reference lines of constant refusal, where refusal questions are among the kept ones."""
    found = {level for paired in pairs if (level := paired.constant_refusal(paired.kept))}
    return tuple((REFUSAL, level) for level in sorted(found))


def group_lines(groups: Iterable[tuple[Group, Paired, Facts]]) -> tuple[Facts, Facts]:
    """The facts and the left-out questions of the groups of one strip, each under its group's heading."""
    every = list(groups)
    return (
        tuple((f"{group.heading}: {label}", text) for group, _, about in every for label, text in about),
        tuple((f"{q}: {group.heading}", why) for group, paired, _ in every for q, why in paired.left_out.items()),
    )


def reach_of(chart: Chart) -> float:
    """Of values that go to the right: how far from 0 every panel goes, so that panels can be compared."""
    ends = [
        abs(100 * end)
        for strip in chart.strips
        for panel in strip.panels
        for series in panel.series
        for point in series.points
        for end in (point.value, point.low, point.high)
        if panel.names and end is not None
    ]
    return 1.08 * max([10.0, *ends])


def drawn(
    figure: str, heading: str, caption: Sequence[str], size: tuple[float, float], paint: Callable[[Any], None]
) -> dict[str, bytes]:
    """A figure's pictures by form: what ``paint`` puts on a canvas of this size (inches), the heading above it and the
    caption below. Raises MissingMatplotlibError without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingMatplotlibError("charts need matplotlib: pip install benchsuite[report]") from None
    pictures = {}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a reader's own settings change nothing
        style: dict[Any, Any] = {**_STYLE, "svg.hashsalt": figure}
        matplotlib.rcParams.update(style)
        canvas = Canvas(figsize=size, layout="constrained", dpi=DPI)
        paint(canvas)
        letters = int(size[0] * _LETTERS_AN_INCH)
        title = textwrap.fill(heading, letters - 15, break_on_hyphens=False)
        words = "\n".join(textwrap.fill(line, letters, break_on_hyphens=False) for line in caption)
        canvas.text(0, 1.02, title, va="bottom", size=FONT + 3, weight="bold")
        canvas.text(0, -0.02, words, va="top", linespacing=1.35)
        for form, metadata in _FORMS.items():
            out = io.BytesIO()
            canvas.savefig(out, format=form, metadata=dict(metadata), bbox_inches="tight", pad_inches=0.15)
            canvas.set_layout_engine("none")  # it stands: the second form is set no other way
            pictures[form] = out.getvalue()
    return pictures


def _drawn(chart: Chart) -> dict[str, bytes]:
    across = max(len(strip.panels) for strip in chart.strips)
    heights = [_height(strip) for strip in chart.strips]

    def paint(canvas: Any) -> None:
        parts = canvas.subfigures(len(chart.strips), 1, height_ratios=heights, squeeze=False)
        reach = reach_of(chart)
        for part, strip in zip(parts[:, 0], chart.strips, strict=True):
            _draw_strip(part, strip, reach)

    return drawn(chart.id, chart.heading, chart.caption, (max(7.0, 3.3 * across + 1.5), sum(heights)), paint)


def _height(strip: Strip) -> float:
    """Inches."""
    names = max(len(panel.names) for panel in strip.panels)
    notes = max(len(panel.notes) for panel in strip.panels)
    return (1.5 + 0.3 * names if names else 3.4) + 0.17 * notes


def _draw_strip(part: Any, strip: Strip, reach: float) -> None:
    part.suptitle(strip.heading, size=FONT + 1, x=0.01, ha="left")
    grid = part.subplots(1, len(strip.panels), squeeze=False, sharex=True, sharey=True)[0]
    labels = list(dict.fromkeys(series.label for panel in strip.panels for series in panel.series))
    handles: dict[str, Any] = {}
    for place, (axes, panel) in enumerate(zip(grid, strip.panels, strict=True)):
        axes.set_title("\n".join([panel.heading, *panel.notes]), loc="left")
        if panel.names:
            _name_rows(axes, panel, reach)
        else:
            _number_columns(axes, panel, first=place == 0)
            if panel.log and not panel.ticks:
                every = [point.at for each in strip.panels for series in each.series for point in series.points]
                panel = _side_by_side(panel, _log_ticks(axes, every))
        for label, value in panel.levels:
            line = axes.axvline if panel.names else axes.axhline
            handle = line(100 * value, color="0.45", linestyle=(0, (1, 1.5)), linewidth=1.3, zorder=0)
            if label:
                handles.setdefault(label, handle)
        for series in panel.series:
            handles.setdefault(series.label, _draw_series(axes, panel, series, labels.index(series.label)))
    shown = {label: handle for label, handle in handles.items() if label}
    if shown:
        part.legend(shown.values(), shown.keys(), loc="outside right upper", frameon=False)


def _name_rows(axes: Any, panel: Panel, reach: float) -> None:
    axes.set_yticks(range(len(panel.names)), panel.names)
    axes.set_ylim(len(panel.names) - 0.4, -0.6)
    axes.set_xlim(-reach, reach)
    axes.set_xlabel(panel.value_axis)


def _number_columns(axes: Any, panel: Panel, first: bool) -> None:
    from matplotlib.ticker import NullLocator

    if panel.log:
        axes.set_xscale("log")
    if panel.ticks:
        axes.set_xticks(panel.ticks, [f"{tick:,.10g}" for tick in panel.ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(panel.other_axis)
    axes.set_ylim(-3, 103)
    if first:
        axes.set_ylabel(panel.value_axis)


def _side_by_side(panel: Panel, gap: float) -> Panel:
    """With points of nearly one place drawn beside each other, so that each can be told."""
    places = iter(spread([point.at for series in panel.series for point in series.points], gap))
    moved = [
        replace(series, points=tuple(replace(point, at=next(places)) for point in series.points))
        for series in panel.series
    ]
    return replace(panel, series=tuple(moved))


def _log_ticks(axes: Any, places: Sequence[float]) -> float:
    """At least a decade, so that there are marked places on it. Returns in decades how far points stand apart."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = min(places), max(places)
    wide = max(1.0, math.log10(high / low))
    middle, half = math.sqrt(low * high), 10 ** (0.55 * wide)
    axes.set_xlim(middle / half, middle * half)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if wide < 1.5 else (1.0,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return 2 * math.log10(half) * _APART


def spread(places: Sequence[float], gap: float) -> list[float]:
    """The places with those that stand too close set side by side, a factor of ``10 ** gap`` apart, in their order
    and about their middle."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    crowds: list[list[int]] = []
    for number in order:
        if crowds and math.log10(places[number] / places[crowds[-1][-1]]) < gap:
            crowds[-1].append(number)
        else:
            crowds.append([number])
    found = list(places)
    for crowd in crowds:
        middle = sum(math.log10(places[number]) for number in crowd) / len(crowd)
        for step, number in enumerate(crowd):
            found[number] = 10 ** (middle + gap * (step - (len(crowd) - 1) / 2))
    return found


def _draw_series(axes: Any, panel: Panel, series: Series, number: int) -> Any:
    """Marker, colour and line follow from the series' place among the strip's labels; every second lap is hollow."""
    colour = COLOURS[number % len(COLOURS)]
    at = [point.at for point in series.points]
    values = [100 * point.value for point in series.points]
    ends = [
        (0.0, 0.0) if point.low is None or point.high is None else (point.value - point.low, point.high - point.value)
        for point in series.points
    ]
    reach = [[100 * max(0.0, end[side]) for end in ends] for side in (0, 1)]
    handle = axes.errorbar(
        values if panel.names else at,
        at if panel.names else values,
        **{"xerr" if panel.names else "yerr": reach},
        fmt=MARKERS[number % len(MARKERS)],
        color=colour,
        markerfacecolor="white" if (number // len(COLOURS)) % 2 else colour,
        linestyle=LINES[number % len(LINES)] if series.joined else "none",
        markersize=6,
        linewidth=1.2,
        capsize=3,
    )
    for point in series.points:
        if point.note and panel.names:  # beside the axes, where no interval can reach it
            axes.text(1.02, point.at, point.note, va="center", transform=axes.get_yaxis_transform())
        elif point.note:
            axes.annotate(point.note, (point.at, 100 * point.value), (6, 4), textcoords="offset points")
    return handle
