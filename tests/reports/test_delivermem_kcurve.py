"""Accuracy against K, planted and found again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchsuite.errors import BenchError
from benchsuite.stats.intervals import wilson
from benchsuite_reports.arms import DELIVERMEM, UNSTAMPED
from benchsuite_reports.contents import Contents
from benchsuite_reports.delivermem_kcurve import draw


def at(k):
    return replace(DELIVERMEM, k=k)


@pytest.fixture
def sweep(row):
    """Ten questions, two of them unanswerable; ``right`` of the ten are right at each K."""

    def build(right, **changes):
        return [
            row(
                f"q{i}",
                at(k),
                float(i < count),
                answerable=i > 1,
                axes={"k": k},
                cell=f"memlens:{k}-{i}-{changes}",
                **changes,
            )
            for k, count in right.items()
            for i in range(10)
        ]

    return build


def charted(rows, facts, tmp_path):
    return draw(rows, facts, tmp_path, Contents(()))


def test_a_planted_curve_is_found_with_its_intervals(sweep, mini, tmp_path):
    chart = charted(sweep({20: 6, 3: 2, 10: 6, 5: 4}), mini, tmp_path)
    (panel,) = chart.strips[0].panels
    (series,) = panel.series
    assert [(point.at, point.value, point.n) for point in series.points] == [
        (3, 0.2, 10),
        (5, 0.4, 10),
        (10, 0.6, 10),
        (20, 0.6, 10),
    ]
    expected = wilson(4, 10)
    assert (series.points[1].low, series.points[1].high) == (expected.low, expected.high)
    assert series.joined
    assert panel.ticks == (3, 5, 10, 20)
    assert panel.levels == (("constant refusal (by rule)", 0.2),)
    assert chart.pipeline_check
    assert "digest abababababab" in chart.caption[-1]


def test_a_line_a_model_a_panel_a_length(sweep, users, tmp_path):
    rows = [
        each
        for length in ("128k", "32k")
        for model in ("a", "b")
        for each in sweep({3: 2, 10: 5}, length=length, model=model)
    ]
    panels = charted(rows, users, tmp_path).strips[0].panels
    assert [panel.heading for panel in panels] == ["length 32k, n 10", "length 128k, n 10"]
    assert [[series.label for series in panel.series] for panel in panels] == [["model a", "model b"]] * 2


def test_n_is_what_every_k_answered_and_the_rest_is_named(sweep, row, users, tmp_path):
    rows = sweep({3: 2, 10: 5})
    rows[4] = row("q4", at(3), "error", axes={"k": 3}, cell=rows[4]["cell"])
    chart = charted(rows, users, tmp_path)
    (strip,) = chart.strips
    assert {point.n for point in strip.panels[0].series[0].points} == {9}
    assert strip.left_out == (("q4: length 32k, model qwen", "timeout error in both-deployed-region-k3"),)
    assert any("left out 1" in line for line in chart.caption)


def test_a_k_that_one_model_lacks_is_named(sweep, users, tmp_path):
    rows = sweep({3: 2, 10: 5, 20: 5}, model="a") + sweep({3: 2, 10: 5}, model="b")
    chart = charted(rows, users, tmp_path)
    assert [len(series.points) for series in chart.strips[0].panels[0].series] == [3, 2]
    assert any("model b" in line and "missing arms both-deployed-region-k20" in line for line in chart.caption)


def test_graded_scores_have_a_bootstrap_interval(row, users, tmp_path):
    rows = [
        row(f"q{i}", at(k), 0.5 * (i % 3), axes={"k": k}, cell=f"memlens:{k}-{i}") for k in (3, 10) for i in range(9)
    ]
    point = charted(rows, users, tmp_path).strips[0].panels[0].series[0].points[0]
    assert point.value == pytest.approx(0.5)
    assert 0 < point.low < 0.5 < point.high < 1


def test_one_k_is_no_curve(sweep, users, tmp_path):
    assert charted(sweep({10: 5}), users, tmp_path) is None
    assert charted([], users, tmp_path) is None


def test_other_conditions_are_no_part_of_it(sweep, row, users, tmp_path):
    alone = charted(sweep({3: 2, 10: 5}), users, tmp_path)
    others = [row(f"q{i}", UNSTAMPED, 1.0, axes={"k": 3}) for i in range(10)]
    assert charted([*sweep({3: 2, 10: 5}), *others], users, tmp_path) == alone


def test_models_as_served_are_not_mixed(sweep, users, tmp_path):
    rows = sweep({3: 2}, model_served="x") + sweep({10: 5}, model_served="y")
    with pytest.raises(BenchError, match="models as served"):
        charted(rows, users, tmp_path)
