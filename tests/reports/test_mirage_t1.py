"""MIRAGE Table 1 from rows: hand counts, the published rows from their counts, and what it refuses."""

from __future__ import annotations

import pytest

from benchsuite.errors import BenchError
from benchsuite_reports.formats import as_text
from benchsuite_reports.mirage_t1 import TABLE, build
from tests.reports.mirage_rows import MINI, USERS, counted, mirage_state, shown
from tests.stats.figure_data import FIGURES

PUBLISHED = [each for each in FIGURES if each["id"].startswith("mirage-T1_counts_") and each["reproduces"]]


@pytest.mark.parametrize("figure", PUBLISHED, ids=lambda each: each["place"])
def test_a_published_row_is_rebuilt_from_its_counts(figure):
    counts, given = figure["computed"], figure["inputs"]
    answerable, unanswerable = counted(
        **{name: counts[name] for name in ("n_answerable", "n_unanswerable")},
        **{name.lower(): counts[name] for name in ("AC", "SC", "VC", "GC", "HR")},
    )
    failures = 100 - len(answerable), 100 - len(unanswerable)
    rows = mirage_state(answerable + "p" * failures[0], unanswerable + "p" * failures[1])
    row = shown(build(rows, USERS))["S1-d0"]
    assert {name: row[name] for name in ("AC", "SC", "VC", "GC", "HR", "PF")} == {
        **{name: f"{given[name]:.1f}" for name in ("AC", "SC", "VC", "GC", "HR")},
        "PF": str(given["PF"]),
    }
    assert abs(float(row["WS"]) - given["WS"]) < 0.11


def test_hand_counts_of_one_state():
    rows = mirage_state("ggvsmmncp", "rrho" + "p")
    table = build(rows, USERS)
    row = shown(table)["S1-d0"]
    # 8 parsed answerable: ac of g g v s m m, not n c; sc g g s c; vc g g v c; gc g g c; 4 parsed unanswerable
    assert row == {
        "State": "S1-d0",
        "n+": "8",
        "n-": "4",
        "AC": "75.0",  # 6 + 3 of 12
        "SC": "50.0",
        "VC": "50.0",
        "GC": "37.5",
        "HR": "50.0",
        "WS": "50.0",
        "PF": "2",
    }
    mirages = shown(table, 1)["S1-d0"]
    assert mirages["calls"] == "9"
    assert [mirages[name] for name in ("MI", "VC 1", "VC 0", "YES", "GC, PF wrong")] == [
        "44.4",  # v s m m of 9
        "11.1",
        "33.3",
        "75.0",  # over the 8 parsed
        "33.3",
    ]
    assert mirages["GC 95%"] == "[13.7, 69.4]"
    assert table.blocks[0].values["gc.S1-d0"] == 3 / 8


def test_baselines_stand_below_the_states():
    found = shown(build(mirage_state("gggm", "rh"), USERS))
    assert [found["always YES"][name] for name in ("AC", "SC", "GC", "HR", "WS")] == [
        "66.7",
        "0.0",
        "0.0",
        "100.0",
        "100.0",
    ]
    assert [found["always NO"][name] for name in ("AC", "GC", "HR")] == ["33.3", "0.0", "0.0"]


def test_runs_are_averaged_and_the_interval_is_the_first_ones():
    rows = mirage_state("gggg", "r") + mirage_state("mmmm", "h", repeat=1) + mirage_state("ggmp", "r", repeat=2)
    table = build(rows, USERS)
    assert shown(table)["S1-d0"]["GC"] == "55.6"  # of 1, 0 and 2/3
    assert shown(table)["S1-d0"]["PF"] == "0.3"
    assert shown(table, 1)["S1-d0"]["GC 95%"] == "[51.0, 100.0]"  # 4 of 4, not 6 of 11
    assert dict(table.blocks[0].facts)["runs"].startswith("3: ")


def test_an_error_is_no_call_and_is_named():
    table = build(mirage_state("ggme", "re"), USERS)
    row = shown(table)["S1-d0"]
    assert (row["n+"], row["n-"], row["GC"], row["HR"], row["PF"]) == ("3", "1", "66.7", "0.0", "0")
    assert table.blocks[0].left_out == (("a3 at S1-d0", "timeout error"), ("u1 at S1-d0", "timeout error"))
    bounds = [text for label, text in table.blocks[0].facts if label.startswith("worst case")]
    assert bounds == ["S1-d0 50.0 to 75.0"]


def test_the_interval_by_object_is_wider_where_objects_differ():
    rows = [
        row
        for cluster in range(6)
        for row in mirage_state("g" * 8 if cluster % 2 else "m" * 8, cluster=f"ev_{cluster}")
        for row in [{**row, "question": f"{row['question']}-{cluster}"}]
    ]
    values = build(rows, USERS).blocks[1].values
    assert values["gc.object.low.S1-d0"] < values["gc.low.S1-d0"] < values["gc.high.S1-d0"]
    assert values["gc.object.high.S1-d0"] > values["gc.high.S1-d0"]


def test_states_stand_by_depth_and_headings_print_what_was_measured():
    rows = [row for state in ("S2", "S1-d80k", "S1-d0", "S1-d50k") for row in mirage_state("gm", "r", state)]
    rows = [{**row, "scores.eit_probe": 9000.0 + i % 2} for i, row in enumerate(rows)]
    (block, _) = build(rows, USERS).blocks
    assert [row[0] for row in block.rows][:4] == ["S1-d0", "S1-d50k", "S1-d80k", "S2"]
    facts = dict(block.facts)
    assert facts["depth at capture (reference tokens)"] == "S1-d0 2,318; S1-d50k 5,022; S1-d80k 8,044; S2 10,008"
    assert facts["compactions"] == "S1-d0 0; S1-d50k 0; S1-d80k 0; S2 1"
    assert facts["EIT at capture"] == "not reported"
    assert facts["EIT at the probe"].startswith("S1-d0 9,000 (9,000 to 9,001)")
    assert facts["axes"].startswith("recall intact, summary verbatim, retention all, retrieval none, delivery direct")


@pytest.mark.parametrize(
    "axis", [{"recall": "norecall"}, {"summary": "free"}, {"retention": "none"}, {"condition": "Cm"}, {"delivery": "x"}]
)
def test_rows_off_the_defaults_are_not_mixed_in(axis):
    rows = mirage_state("gg", "rr")
    assert build(rows + mirage_state("mm", "hh", **axis), USERS) == build(rows, USERS)


def test_other_suites_and_splits_are_not_mixed_in():
    rows = mirage_state("gg", "rr")
    others = mirage_state("mm", suite="memlens") + mirage_state("mm", split="extension")
    assert build(rows + others, USERS) == build(rows, USERS)
    assert not TABLE.build(others, USERS).blocks


def test_lengths_and_models_stand_apart():
    rows = mirage_state("g") + mirage_state("m", model="other") + mirage_state("m", length="paper")
    assert [block.heading for block in build(rows, USERS).blocks][:3] == [
        "length paper, model qwen, condition C0",
        "length tenth, model other, condition C0",
        "length tenth, model qwen, condition C0",
    ]


def test_a_mixed_corpus_is_refused():
    with pytest.raises(BenchError, match="corpora"):
        build(mirage_state("g") + mirage_state("g", corpus="ef" * 32, model="other"), USERS)


def test_bundled_corpora_and_the_embedded_reader_are_a_pipeline_check():
    assert not build(mirage_state("g"), USERS).pipeline_check
    assert build(mirage_state("g"), MINI).pipeline_check
    embedded = build(mirage_state("g", model="embedded"), USERS.__class__({}, frozenset({"embedded"})))
    assert embedded.pipeline_check
    assert "OCR + MiniLM reader" in as_text(embedded)
    assert "pipeline check" in as_text(embedded)


def test_no_published_figure_stands_beside():
    assert any("No published figure" in note for note in build(mirage_state("g"), USERS).notes)


def test_a_count_at_the_capture_that_failed_is_said_so():
    rows = mirage_state("gm", "r", scores={"eit_capture": None, "eit_capture_failed": 1})
    facts = dict(build(rows, USERS).blocks[0].facts)
    assert facts["EIT at capture"] == "S1-d0 the call failed"
