"""Figures are data first; drawing one needs matplotlib, and equal data give equal bytes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image as PillowImage

from benchsuite.errors import DataError
from benchsuite_reports.contents import Contents
from benchsuite_reports.figure import Chart, FigureSpec, Panel, Point, Series, Strip, reach_of, spread
from benchsuite_reports.table import RunFacts
from benchsuite_reports.write import fill, write_figures

NO_FACTS = RunFacts({})
FOREST = Panel(
    heading="pixels minus withheld",
    value_axis="difference (points)",
    series=(Series("", (Point(0, 0.2, 12, 0.1, 0.3, note="12 (4)"), Point(1, -0.1, 3))),),
    names=("all", "a type with $one$ sign"),
    levels=(("", 0.0),),
    notes=("oracle",),
)
CURVE = Panel(
    heading="length 32k",
    value_axis="accuracy (%)",
    series=(
        Series("one", (Point(3, 0.4, 5, 0.1, 0.8), Point(10, 0.5, 5)), joined=True),
        Series("two", (Point(5, 1, 5),)),
    ),
    other_axis="K",
    levels=(("constant refusal", 0.1),),
    ticks=(3, 5, 10),
    log=True,
)
CLOUD = Panel(
    "sizes", "accuracy (%)", (Series("a", (Point(4000, 0.4, 5),)), Series("b", (Point(4001, 0.5, 5),))), log=True
)


def chart(*panels: Panel, **changes: Any) -> Chart:
    given = {"caption": ("What is plotted.",), "facts": (("corpus", "x"),), **changes}
    return Chart("c1", "A title", tuple(Strip("a strip", (panel,)) for panel in panels), **given)


@pytest.fixture
def contents() -> Contents:
    return Contents(())


@pytest.mark.parametrize("panel", [FOREST, CURVE, CLOUD], ids=["forest", "curve", "cloud"])
def test_a_chart_is_drawn_in_both_forms(panel):
    pictures = chart(panel, pipeline_check=True).pictures()
    assert list(pictures) == ["svg", "png"]
    assert ElementTree.fromstring(pictures["svg"]).tag.endswith("svg")
    with PillowImage.open(io.BytesIO(pictures["png"])) as picture:
        assert len(picture.convert("L").getcolors() or range(99)) > 2  # not a blank page
        assert picture.width > 900


def test_equal_values_give_equal_bytes_and_other_values_others():
    first, again = chart(FOREST, CURVE).pictures(), chart(FOREST, CURVE).pictures()
    assert first == again
    assert chart(CURVE, CURVE).pictures()["svg"] != first["svg"]
    assert b"<dc:date>" not in first["svg"]


def test_a_readers_own_settings_change_nothing():
    import matplotlib

    before = chart(CURVE).pictures()["svg"]
    with matplotlib.rc_context({"font.size": 30, "axes.grid": True}):
        assert chart(CURVE).pictures()["svg"] == before
        assert matplotlib.rcParams["font.size"] == 30


def test_values_that_go_to_the_right_share_one_range():
    """What is compared has one scale, and values that are all nothing have an axis that can be read."""
    nothing = Panel("none", "points", (Series("", (Point(0, 0.0, 5, 0.0, 0.0),)),), names=("all",))
    assert reach_of(chart(nothing)) == reach_of(chart(CURVE)) == pytest.approx(10.8)
    assert reach_of(chart(nothing, FOREST)) == pytest.approx(32.4)  # a little beyond the end of the widest interval


def test_places_that_stand_too_close_are_set_side_by_side():
    moved = spread([4000, 200, 4000, 4010], gap=0.05)
    assert moved[1] == pytest.approx(200)
    assert moved[0] < moved[2] < moved[3]
    assert moved[2] / moved[0] == pytest.approx(10**0.05)
    assert moved[0] * moved[3] == pytest.approx(4000**2, rel=0.01)  # about their middle


def test_the_data_has_every_value_and_says_what_it_is(tmp_path):
    assert write_figures(tmp_path / "tables", [chart(CURVE, pipeline_check=True)]) == (["c1"], [])
    read = json.loads((tmp_path / "tables" / "c1.json").read_text())
    assert read["pipeline_check"] is True
    assert read["facts"] == {"corpus": "x"}
    (panel,) = read["strips"][0]["panels"]
    assert panel["series"][0]["points"][0] == {"at": 3, "value": 0.4, "n": 5, "low": 0.1, "high": 0.8, "note": ""}
    assert sorted(path.suffix for path in (tmp_path / "tables").iterdir()) == [".json", ".png", ".svg"]


def test_without_matplotlib_the_data_is_written_and_one_line_says_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "c1.png").write_bytes(b"of an earlier run")
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    drawn, problems = write_figures(tmp_path / "tables", [replace(chart(CURVE), id=name) for name in ("c1", "c2")])
    assert drawn == []
    assert problems == ["figures c1, c2: only their data is written, to draw them: pip install benchsuite[report]"]
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["c1.json", "c2.json"]


def test_a_fault_in_one_figure_loses_no_other(tmp_path, monkeypatch):
    def refuse(rows: Sequence[Any], facts: RunFacts, run: Path, contents: Contents) -> Chart:
        raise DataError("calls/", "cell", None, "gone")

    specs = {
        "bad": FigureSpec("bad", refuse),
        "broken": FigureSpec("broken", lambda *given: 1 / 0),  # type: ignore[arg-type, return-value]
        "empty": FigureSpec("empty", lambda *given: None),
        "good": FigureSpec("good", lambda *given: replace(chart(CLOUD), id="good")),
        "unasked": FigureSpec("unasked", lambda *given: chart(CLOUD)),
    }
    monkeypatch.setattr("benchsuite_reports.write.discover_figures", lambda: specs)
    filled = fill([], NO_FACTS, tmp_path, [], ["bad", "broken", "empty", "good", "none"])
    assert write_figures(tmp_path / "tables", filled.figures) == (["good"], [])
    assert filled.unfilled == [f"figure empty: {specs['empty'].empty}"]
    unknown, *faults = filled.problems
    assert unknown.startswith("table none: no such table; there are ")
    assert faults == ["figure bad: calls/: item cell: gone", "figure broken: ZeroDivisionError: division by zero"]
    assert not (tmp_path / "tables" / "unasked.json").exists()
