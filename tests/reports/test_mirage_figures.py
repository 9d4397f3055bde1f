"""MIRAGE Figures 3 to 6: values first, then pictures; equal values give equal bytes."""

from __future__ import annotations

import io
import json
from itertools import pairwise

import pytest
from PIL import Image as PillowImage

from benchsuite_reports.figure import as_json
from benchsuite_reports.figure_states import Bar, BarPanel, BarSeries, FlowPanel, HeatPanel, StateFigure, bands
from benchsuite_reports.mirage_f3 import draw as figure_3
from benchsuite_reports.mirage_f4 import draw as figure_4
from benchsuite_reports.mirage_f5 import draw as figure_5
from benchsuite_reports.mirage_f6 import draw as figure_6
from tests.reports.mirage_rows import MINI, USERS, mirage_state

DEEP = "S1-d80k"
TOOL = {"tool": 1, "tool_calls": 1}


def test_mi_has_a_bar_for_each_model_and_state(tmp_path):
    rows = mirage_state("ggvm") + mirage_state("vvmp", state=DEEP) + mirage_state("gggg", model="other")
    figure = figure_3(rows, USERS, tmp_path, None)
    (panel,) = figure.panels
    assert panel.names == ("S1-d0", DEEP)
    bars = {series.label: [bar.value for bar in series.bars] for series in panel.series}
    assert bars == {"other": [0.0, None], "qwen": [0.5, 0.75]}
    assert panel.series[1].bars[0].low < 0.5 < panel.series[1].bars[0].high


def test_transitions_count_the_questions_of_all_three_states(tmp_path):
    rows = mirage_state("ggggme") + mirage_state("gmmpgg", state=DEEP) + mirage_state("gggmmg", state="S2")
    figure = figure_4(rows, USERS, tmp_path, None)
    (panel,) = figure.panels
    assert panel.n == 5  # one is an error at S1-d0
    assert dict(panel.flows) == {
        (True, True, True): 1,
        (True, False, True): 2,
        (True, False, False): 1,
        (False, True, False): 1,
    }
    assert panel.notes == ("1 recorded in some only",)
    assert figure_4(mirage_state("g") + mirage_state("g", state="S2"), USERS, tmp_path, None) is None


def test_bands_fill_each_state_and_never_overlap():
    panel = FlowPanel("x", ("a", "b"), (((True, True), 3), ((True, False), 2), ((False, True), 1)), 6)
    places = bands(panel)
    for step in range(2):
        ends = sorted(each[step] for each in places.values())
        assert sum(high - low for low, high in ends) == pytest.approx(1)
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(ends))


def test_routes_are_shares_under_both_conditions(tmp_path):
    rows = mirage_state("gg", "rr") + mirage_state("gg", "rr", condition="Cm", scores=TOOL)
    (panel,) = figure_5(rows, USERS, tmp_path, None).panels
    assert {series.label: series.bars[0].value for series in panel.series} == {"R_tool, C0": 0, "R_tool, Cm": 1}
    assert figure_5(mirage_state("gg", trace=False), USERS, tmp_path, None) is None


def test_the_heat_map_has_deltas_and_greys_what_cannot_be_read(tmp_path):
    rows = mirage_state("mmmm", "rr") + mirage_state("ggmm", "rr", condition="Cm", scores=TOOL)
    rows += mirage_state("mmmm", "rr", model="mute") + mirage_state("gggg", "rr", condition="Cm", model="mute")
    rows += mirage_state("mmmm", "rr", "S2") + mirage_state("gppp", "pp", "S2", condition="Cm", scores=TOOL)
    figure = figure_6(rows, USERS, tmp_path, None)
    gc = next(panel for panel in figure.panels if panel.heading.startswith("GC"))
    assert (gc.rows, gc.columns) == (("mute", "qwen"), ("S1-d0", "S2"))
    assert gc.values == ((None, None), (0.5, None))
    assert gc.texts == (("no tools", "-"), ("+50", "PF"))
    assert [panel.heading for panel in figure.panels] == ["GC, tenth", "SC, tenth", "AC, tenth", "HR, tenth"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """One of each form, of two conditions, two models and three states."""
    rows = [
        row
        for model in ("qwen", "other")
        for state, codes in (("S1-d0", "ggggmv"), (DEEP, "gvmmmp"), ("S2", "ggmmmn"))
        for condition, scores in (("C0", {}), ("Cm", TOOL))
        for row in mirage_state(codes, "rrh", state, condition=condition, model=model, scores=scores)
    ]
    folder = tmp_path_factory.mktemp("run")
    return [draw(rows, MINI, folder, None) for draw in (figure_3, figure_4, figure_5, figure_6)]


def test_they_are_drawn_in_both_forms_and_alike_each_time(drawn):
    for figure in drawn:
        pictures = figure.pictures()
        assert set(pictures) == {"svg", "png"}
        assert PillowImage.open(io.BytesIO(pictures["png"])).size[0] > 600
        assert b"pipeline check" in pictures["svg"] or b"<path" in pictures["svg"]
    assert drawn[1].pictures() == drawn[1].pictures()


def test_their_data_are_json_and_say_what_they_are(drawn):
    for figure in drawn:
        read = json.loads(as_json(figure))
        assert read["pipeline_check"] is True
        assert "pipeline check" in figure.heading
        assert any("No published figure" in line for line in read["caption"])
        assert "model as served" in " ".join(read["caption"])


def test_a_figure_of_odd_values_is_drawn():
    odd = StateFigure(
        "odd",
        "Odd $values$",
        (
            BarPanel("bars", "x", ("a",), (BarSeries("one", (Bar(None, note="not run"),)),)),
            HeatPanel("heat", ("r",), ("c",), ((None,),), (("-",),)),
            FlowPanel("flow", ("a", "b"), (((True, True), 1),), 1),
        ),
        ("what",),
        across=2,
    )
    assert set(odd.pictures()) == {"svg", "png"}
