"""Accuracy against input tokens, by tokenizer or as served, and never a mixture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchsuite_reports.arms import DELIVERMEM, DIRECT, NO_CONTEXT, WITHHELD
from benchsuite_reports.contents import Contents
from benchsuite_reports.delivermem_cost import COUNTED, SERVED, draw
from benchsuite_reports.table import FullContext, TokenCounts

PROMPTS = {NO_CONTEXT: 100, WITHHELD: 1000, DELIVERMEM: 4000, DIRECT: 30000}


@pytest.fixture
def rows(row):
    """Five questions; question i is given i tokens more, and the first ``right`` are right."""

    def build(right, **changes):
        return [
            row(f"q{i}", condition, float(i < count), usage_prompt=PROMPTS.get(condition, 9000) + i, **changes)
            for condition, count in right.items()
            for i in range(5)
        ]

    return build


def charted(rows, facts, tmp_path):
    return draw(rows, facts, tmp_path, Contents(()))


def places(chart, strip=0, panel=0):
    shown = chart.strips[strip].panels[panel]
    return {series.label: (series.points[0].at, series.points[0].value) for series in shown.series}


def test_the_median_of_the_prompts_as_served(rows, mini, tmp_path):
    chart = charted(rows({NO_CONTEXT: 0, WITHHELD: 1, DELIVERMEM: 3, DIRECT: 2}), mini, tmp_path)
    assert places(chart) == {
        "No context": (102, 0.0),
        "Images withheld": (1002, 0.2),
        "DeliverMem": (4002, 0.6),
        "Direct inference": (30002, 0.4),
    }
    assert chart.strips[0].panels[0].log
    assert any(f"input tokens {SERVED}" in line for line in chart.caption)
    assert "(pipeline check, not evidence)" in chart.heading


def test_counts_by_tokenizer_and_the_whole_history(rows, users, tmp_path):
    given = rows({DELIVERMEM: 3, DIRECT: 2})
    cells = {str(each["cell"]): 50 for each in given if each["arm.delivery"] == "deployed"}
    full = {(str(given[0]["corpus"]), "32k", f"q{i}"): FullContext(700, 300) for i in range(5)}
    facts = replace(users, tokens=TokenCounts("words", cells, full, 512))
    chart = charted(given, facts, tmp_path)
    assert places(chart) == {"DeliverMem": (150, 0.6), "Direct inference": (1000, 0.4)}  # 100 image tokens a row
    how = COUNTED.format(tokenizer="words", side="at most 512 pixels")
    assert any(how in line for line in chart.caption)


def test_one_condition_that_was_not_counted_takes_the_count_from_all(rows, users, tmp_path):
    given = rows({DELIVERMEM: 3, DIRECT: 2})
    cells = {str(each["cell"]): 50 for each in given if each["arm.delivery"] == "deployed"}
    facts = replace(users, tokens=TokenCounts("words", cells, {}))
    assert places(charted(given, facts, tmp_path)) == {"DeliverMem": (4002, 0.6), "Direct inference": (30002, 0.4)}


def test_a_condition_without_any_count_is_named(rows, row, users, tmp_path):
    given = rows({DELIVERMEM: 3, WITHHELD: 2})
    given += [row(f"q{i}", NO_CONTEXT, 0.0, usage_prompt=None if i == 2 else 9) for i in range(5)]
    chart = charted(given, users, tmp_path)
    assert list(places(chart)) == ["Images withheld", "DeliverMem"]
    assert any("not counted No context" in line for line in chart.caption)


def test_the_sweep_of_k_stands_beside_the_rest(rows, row, users, tmp_path):
    swept = [
        row(f"q{i}", DELIVERMEM, 1.0, usage_prompt=8000, axes={"k": 20}, cell=f"memlens:k20-{i}") for i in range(5)
    ]
    chart = charted([*rows({DELIVERMEM: 3, WITHHELD: 2}), *swept], users, tmp_path)
    assert places(chart)["DeliverMem, K = 20"] == (8000, 1.0)


def test_a_strip_a_model_a_panel_a_length(rows, users, tmp_path):
    given = [
        each
        for length in ("128k", "32k")
        for model in ("b", "a")
        for each in rows({DELIVERMEM: 3, DIRECT: 2}, length=length, model=model)
    ]
    chart = charted(given, users, tmp_path)
    assert [strip.heading for strip in chart.strips] == ["model a", "model b"]
    assert [panel.heading for panel in chart.strips[0].panels] == ["length 32k, n 5", "length 128k, n 5"]


def test_an_error_leaves_its_question_out_of_every_point(rows, row, users, tmp_path):
    given = rows({DELIVERMEM: 3, WITHHELD: 2})
    faulty = row("q0", WITHHELD, "error")
    given = [faulty if each["cell"] == faulty["cell"] else each for each in given]
    chart = charted(given, users, tmp_path)
    assert places(chart) == {"Images withheld": (1002.5, 0.25), "DeliverMem": (4002.5, 0.5)}
    assert chart.strips[0].left_out == (("q0: length 32k, model qwen", "timeout error in text-noimg"),)


def test_one_condition_is_no_comparison(rows, users, tmp_path):
    assert charted(rows({DELIVERMEM: 3}), users, tmp_path) is None
