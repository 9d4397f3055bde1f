"""MIRAGE Tables 4 and 5, labels and depths: indicators by what the questions or the arms are."""

from __future__ import annotations

import pytest

from benchsuite_reports.mirage_depthcurve import draw
from benchsuite_reports.mirage_depths import build as depths
from benchsuite_reports.mirage_labels import build as labels
from benchsuite_reports.mirage_t4 import build as table_4
from benchsuite_reports.mirage_t5 import build as table_5
from tests.reports.mirage_rows import MINI, USERS, lines, mirage_state, shown


def test_table_4_sets_the_extension_beside_the_main_set():
    rows = mirage_state("gggs") + mirage_state("gmmm", state="S2")
    rows += mirage_state("gsmm", split="extension") + mirage_state("mmmp", state="S2", split="extension")
    found = shown(table_4(rows, USERS))
    assert found["Main"] == {"Evidence set": "Main", "S1-d0": "100.0", "S2": "25.0"}
    assert found["Extension"] == {"Evidence set": "Extension", "S1-d0": "50.0", "S2": "0.0"}
    assert found["Extension, 95%"]["S2"] == "[0.0, 56.1] of 3"
    assert not table_4(mirage_state("gg"), USERS).blocks
    assert dict(table_4(rows, USERS).facts)["split"] == "main and extension"


def test_table_5_crosses_summary_forms_at_s2():
    rows = mirage_state("ggms", state="S2") + mirage_state("gggs", state="S2", summary="cited")
    rows += mirage_state("mmmm", state="S1-d0", summary="cited") + mirage_state("gggg", state="S2", summary="free")
    rows += mirage_state("mmmm", state="S2", summary="free", summariser="other")
    table = table_5(rows, USERS)
    assert lines(table) == [
        {
            "Answerer": "qwen",
            "Summariser": "extractive",
            "Verbatim": "75.0 / 50.0",
            "Free form": "100.0 / 100.0",
            "Per fact citations": "100.0 / 75.0",
        }
    ]
    contrast = next(row for row in lines(table, 1) if row["Contrast"].startswith("cited") and row["Indicator"] == "GC")
    assert (contrast["pairs"], contrast["difference"], contrast["W/L"]) == ("4", "+25.00", "1/0")
    assert not table_5(mirage_state("gg", state="S2"), USERS).blocks
    assert not table_5(mirage_state("gg") + mirage_state("gg", summary="free"), USERS).blocks  # no summary is in view


def test_labels_cut_the_questions():
    rows = mirage_state("ggmv", "rh")
    for row in rows:
        hard = row["question"] in ("a2", "a3", "u1")
        row["labels"] = [f"difficulty:{'layout' if hard else 'lookup'}", "query:value", "risk:prior"]
    table = labels(rows, USERS)
    assert [block.heading.rpartition(": ")[2] for block in table.blocks] == [
        "difficulty",
        "query type",
        "shortcut risk",
    ]
    easy, hard = lines(table)
    assert {name: easy[name] for name in ("Difficulty", "n+", "n-", "SC", "GC", "HR", "MI")} == {
        "Difficulty": "lookup",
        "n+": "2",
        "n-": "1",
        "SC": "100.0",
        "GC": "100.0",
        "HR": "0.0",
        "MI": "0.0",
    }
    assert (hard["Difficulty"], hard["SC"], hard["GC"], hard["HR"], hard["MI"]) == (
        "layout",
        "0.0",
        "0.0",
        "100.0",
        "100.0",
    )


def test_a_label_has_no_rate_where_nothing_of_it_parsed():
    rows = mirage_state("pe", "r")
    (row,) = lines(labels(rows, USERS))
    assert (row["n+"], row["GC"], row["MI"], row["GC 95%"]) == ("0", "n/a", "0.0", "n/a")


def test_depths_stand_by_what_was_measured():
    rows = mirage_state("gggm", state="S1-d65k", scores={"depth": 6507}) + mirage_state("gggg", state="S1-d0")
    rows += mirage_state("gmmm", state="S2") + mirage_state(
        "gmpe", state="S3", scores={"depth": 15003, "compactions": 2}
    )
    table = depths(rows, USERS)
    found = [row for row in lines(table) if row["Indicator"] == "GC"]
    assert [(row["State"], row["depth"], row["Rate"], row["count"]) for row in found] == [
        ("S1-d0", "2,318", "100.0", "4/4"),
        ("S1-d65k", "6,507", "75.0", "3/4"),
        ("S2", "10,008", "25.0", "1/4"),
        ("S3", "15,003", "50.0", "1/2"),
    ]
    assert found[1]["95%"] == "[30.1, 95.4]"
    mi = [row for row in lines(table) if row["Indicator"] == "MI"]
    assert [row["count"] for row in mi] == ["0/4", "1/4", "3/4", "1/3"]


def test_rows_of_one_depth_or_none_have_no_sweep(tmp_path):
    assert not depths(mirage_state("gg"), USERS).blocks
    assert not depths(mirage_state("gg", trace=False) + mirage_state("gg", state="S2", trace=False), USERS).blocks
    assert draw(mirage_state("gg"), USERS, tmp_path, None) is None


def test_the_curve_ends_where_the_conversation_was_compacted(tmp_path):
    rows = [row for state in ("S1-d0", "S1-d80k", "S2") for row in mirage_state("gggm", state=state)]
    chart = draw(rows, MINI, tmp_path, None)
    (strip,) = chart.strips
    assert [panel.heading for panel in strip.panels] == ["GC", "SC", "MI"]
    assert [[point.at for point in series.points] for series in strip.panels[0].series] == [[2318, 8044], [10008]]
    assert {series.label for series in strip.panels[0].series} == {"model qwen, condition C0"}
    assert strip.panels[0].series[0].points[0].value == 0.75
    assert chart.pipeline_check


@pytest.mark.parametrize("build", [table_4, table_5, labels, depths], ids=lambda build: build.__module__)
def test_other_axes_are_not_mixed_in(build):
    rows = [
        *mirage_state("ggm", "rr"),
        *mirage_state("gmm", "rr", "S2"),
        *mirage_state("gmm", "rr", "S2", summary="free"),
        *mirage_state("gmm", "rr", split="extension"),
    ]
    off = [*mirage_state("mmm", "hh", "S2", retention="recent3"), *mirage_state("mmm", "hh", recall="compacted")]
    assert build(rows + off + mirage_state("mmm", suite="memeye"), USERS) == build(rows, USERS)
    assert build(rows, MINI).pipeline_check
