"""MIRAGE routes, recall and pressure: planted effects are found, and deltas that cannot be read are blank."""

from __future__ import annotations

import pytest

from benchsuite_reports.mirage_pressure import build as pressure
from benchsuite_reports.mirage_recall import build as recall
from benchsuite_reports.mirage_routes import build as routes
from tests.reports.mirage_rows import MINI, USERS, lines, mirage_row, mirage_state

DEEP = "S1-d80k"
TOOL = {"tool": 1, "tool_calls": 1, "recall_calls": 1, "recall_hits": 1}


def both(c0, cm, state=DEEP, scores=TOOL, **changes):
    return mirage_state(c0[0], c0[1], state, **changes) + mirage_state(
        cm[0], cm[1], state, condition="Cm", scores=scores, **changes
    )


def row_of(table, state, indicator):
    return next(row for row in lines(table) if (row["State"], row["Indicator"]) == (state, indicator))


def test_a_planted_effect_of_pressure_is_found():
    """Pressure grounds 12 of 20 questions more, and makes 4 of 8 unanswerable ones claimed."""
    table = pressure(both(("m" * 20, "r" * 8), ("g" * 12 + "m" * 8, "h" * 4 + "r" * 4)), USERS)
    gc, hr = row_of(table, DEEP, "GC"), row_of(table, DEEP, "HR")
    assert (gc["C0"], gc["Cm"], gc["pairs"], gc["difference"], gc["W/L"], gc["p"]) == (
        "0.0",
        "60.0",
        "20",
        "+60.00",
        "12/0",
        "4.9e-4",
    )
    assert (hr["difference"], hr["W/L"], hr["p"], hr["if null"]) == ("+50.00", "4/0", "0.12", "insensitive")
    assert table.blocks[0].values[f"gc.{DEEP}"] == 0.6


def test_no_effect_of_pressure_is_no_difference():
    table = pressure(both(("gm" * 10, "rr"), ("gm" * 10, "rr")), USERS)
    assert {row["W/L"] for row in lines(table)} == {"0/0"}
    assert {row["difference"] for row in lines(table)} == {"+0.00"}


def test_the_deltas_of_a_model_that_calls_no_tool_are_blank():
    table = pressure(both(("mm", "rr"), ("gg", "rr"), scores={"pseudo_tool": 1}), USERS)
    row = row_of(table, DEEP, "GC")
    assert (row["C0"], row["Cm"], row["difference"], row["W/L"], row["p"]) == ("0.0", "100.0", "", "", "")
    assert table.blocks[0].notes == (f"{DEEP}: deltas are blank: not compliant: 0 of 4 calls under Cm used a tool.",)
    assert table.blocks[0].values[f"gc.{DEEP}"] is None


def test_a_state_whose_calls_do_not_parse_is_blank_alone():
    rows = both(("mmmm", "rr"), ("gppp", "pp"), state="S2") + both(("mmmm", "rr"), ("gmmm", "rr"))
    table = pressure(rows, USERS)
    assert row_of(table, "S2", "GC")["difference"] == ""
    assert row_of(table, DEEP, "GC")["difference"] == "+25.00"
    assert table.blocks[0].notes == ("S2: deltas are blank: not evaluable: 5 of 6 calls did not parse.",)


def test_pairs_need_both_answers_and_bounds_mark_an_open_sign():
    rows = both(("mmmmm", "r"), ("gmpem", "r"))
    table = pressure(rows, USERS)
    row = row_of(table, DEEP, "GC")
    assert (row["pairs"], row["W/L"]) == ("3", "1/0")
    rows = both(("gmmpe", "r"), ("ggmmm", "r"))
    assert row_of(pressure(rows, USERS), DEEP, "GC")["difference"].endswith("(sign open)")


def test_runs_are_paired_run_by_run():
    rows = both(("mm", "r"), ("gg", "r")) + both(("mm", "r"), ("mm", "r"), repeat=1)
    row = row_of(pressure(rows, USERS), DEEP, "GC")
    assert (row["pairs"], row["difference"], row["W/L"]) == ("2", "+50.00", "2/0")


def test_pressure_needs_both_conditions():
    assert not pressure(mirage_state("gg"), USERS).blocks
    assert not pressure(mirage_state("gg") + mirage_state("gg", state="S2", condition="Cm"), USERS).blocks


def test_routes_are_shares_of_all_recorded_calls():
    rows = mirage_state("gm", "r") + [mirage_row(f"b{i}", code, scores={"tool": 1}) for i, code in enumerate("gmpe")]
    table = routes(rows, USERS)
    (row,) = lines(table)
    assert {name: row[name] for name in ("calls", "R_context", "R_tool", "GC by context", "GC by tool")} == {
        "calls": "6",
        "R_context": "50.0",
        "R_tool": "50.0",
        "GC by context": "1/2",
        "GC by tool": "1/2",
    }


def test_the_triage_says_who_complies():
    rows = mirage_state("gm", "r") + mirage_state("gm", "r", condition="Cm", scores={**TOOL, "tool_calls": 2})
    rows += mirage_state("mp", "r", condition="Cm", model="other", scores={"pseudo_tool": 1, "tool_faults": 1})
    table = routes(rows, USERS)
    triage = {block.heading: lines(table, place) for place, block in enumerate(table.blocks) if block.columns}
    c0, cm = triage["length tenth, model qwen: compliance"]
    assert (c0["Triage"], cm["Triage"], cm["executed"]) == ("", "compliant", "6")
    (other,) = triage["length tenth, model other: compliance"]
    assert (other["executed"], other["faults"], other["pseudo"], other["PF"]) == ("0", "3", "3", "1")
    assert other["Triage"] == "not compliant: 0 of 3 calls under Cm used a tool"


def test_what_recall_brought_back_stands_apart_from_the_call():
    kinds = {
        "b0": ("g", {**TOOL, "gold_text": 1, "gold_pixels": 1}),
        "b1": ("m", {**TOOL, "gold_text": 1}),
        "b2": ("m", {**TOOL}),
        "b3": ("n", {"tool": 1, "recall_calls": 3, "recall_empty": 3}),
        "b4": ("p", {"tool": 1, "recall_calls": 1, "recall_empty": 1}),
        "b5": ("g", {}),
        "b6": ("e", {}),
    }
    rows = [
        mirage_row(question, code, "S2", condition="Cm", recall="compacted", scores=scores)
        for question, (code, scores) in kinds.items()
    ]
    table = recall(rows, USERS)
    (counts,), (given,) = lines(table), lines(table, 1)
    assert counts == {
        "Condition": "Cm",
        "Recall": "compacted",
        "State": "S2",
        "probes": "6",
        "recalled": "5",
        "calls": "7",
        "hits": "3",
        "empty": "4",
        "gold text": "2",
        "gold pixels": "1",
    }
    assert {name: given[name] for name in ("no recall", "empty", "hit", "gold text", "gold pixels")} == {
        "no recall": "1/1",
        "empty": "0/1",
        "hit": "1/3",
        "gold text": "1/2",
        "gold pixels": "1/1",
    }


def test_recall_surfaces_stand_in_rows_of_their_own():
    rows = [
        row
        for surface in ("intact", "compacted", "norecall")
        for row in mirage_state("gm", "r", "S2", condition="Cm", recall=surface, scores=TOOL)
    ]
    assert [row["Recall"] for row in lines(recall(rows, USERS))] == ["compacted", "intact", "norecall"]
    assert [row["Recall"] for row in lines(routes(rows, USERS))] == ["compacted", "intact", "norecall"]
    assert not pressure(rows, USERS).blocks


@pytest.mark.parametrize("build", [routes, recall, pressure], ids=lambda build: build.__module__)
def test_other_axes_are_not_mixed_in(build):
    rows = both(("gm", "rr"), ("gg", "rr"))
    off = both(("mm", "hh"), ("mm", "hh"), retention="none") + both(("mm", "hh"), ("mm", "hh"), split="extension")
    assert build(rows + off + both(("mm", "hh"), ("mm", "hh"), suite="memeye"), USERS) == build(rows, USERS)
    assert build(rows, MINI).pipeline_check
