"""MIRAGE Tables 2, 6, 8, 9 and source drift: what changes from state to state, from hand counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from benchsuite_reports.mirage_drift import build as drift
from benchsuite_reports.mirage_routes import build as routes
from benchsuite_reports.mirage_t2 import build as table_2
from benchsuite_reports.mirage_t4 import build as table_4
from benchsuite_reports.mirage_t6 import build as table_6
from benchsuite_reports.mirage_t8 import build as table_8
from benchsuite_reports.mirage_t9 import build as table_9
from benchsuite_reports.table import RunFacts
from tests.reports.mirage_rows import DIGEST, MINI, USERS, counted, lines, mirage_state, shown
from tests.stats.figure_data import BY_ID

DEEP = "S1-d80k"


def three_states(d0="gggggggggm", d80k="ggvvvvmmmm", s2="ggggmmmmmm", **changes):
    return [
        *mirage_state(d0, "rr", "S1-d0", **changes),
        *mirage_state(d80k, "rr", DEEP, **changes),
        *mirage_state(s2, "rr", "S2", **changes),
    ]


def test_table_2_from_hand_counts():
    row = shown(table_2(three_states(), USERS))["qwen"]
    assert row == {
        "Model": "qwen",
        "DS": "77.8",  # 9 to 2 of 9
        "Delta_comp": "+0.20",
        "Ret": "22.2",  # 2 of 9
        "MI_d80k": "80.0",
        "OG S1-d0": "0.00",
        "OG S1-d80k": "0.40",
        "OG S2": "0.00",
    }


def test_table_2_rebuilds_a_published_row():
    """Qwen3-VL-30B: DS 43.1, Delta_comp -0.03, and OG of three states."""
    rows = []
    for state in ("S1-d0", DEEP, "S2"):
        found = BY_ID[f"mirage-T1_counts_Qwen3-VL-30B_{state}"]["computed"]
        names = ("n_answerable", "n_unanswerable", "AC", "SC", "VC", "GC", "HR")
        answerable, unanswerable = counted(**{name.lower(): found[name] for name in names})
        rows += mirage_state(answerable.ljust(100, "p"), unanswerable.ljust(100, "p"), state)
    row = shown(table_2(rows, USERS))["qwen"]
    assert (row["DS"], row["Delta_comp"]) == ("43.1", "-0.03")
    assert [row[f"OG {state}"] for state in ("S1-d0", DEEP, "S2")] == ["0.02", "0.03", "0.02"]


def test_retention_of_the_published_counts():
    """Qwen3-VL-4B retains 1 of 54: 1.9."""
    rows = mirage_state("g" * 54 + "m" * 46) + mirage_state("g" + "m" * 99, state=DEEP)
    assert shown(table_2(rows, USERS))["qwen"]["Ret"] == "1.9"


def test_what_is_not_defined_is_a_dash_with_its_reason():
    table = table_2(three_states(d0="mmmmmmmmmm"), USERS)
    row = shown(table)["qwen"]
    assert (row["DS"], row["Ret"], row["MI_d80k"]) == ("-", "-", "80.0")
    assert "qwen, DS: GC at S1-d0 is 0." in table.blocks[0].notes
    table = table_2([row for row in three_states() if row["arm.state"] != "S2"], USERS)
    assert shown(table)["qwen"]["Delta_comp"] == "-"
    assert "qwen, Delta_comp: S2 was not run." in table.blocks[0].notes


def test_unparsed_and_errors_in_table_2():
    """A parse failure stays in MI's n and is no retained answer; an error is nowhere."""
    row = shown(table_2(three_states(d80k="gpvvvvmmme"), USERS))["qwen"]
    assert row["MI_d80k"] == "77.8"  # 7 of 9
    assert row["Ret"] == "11.1"  # 1 of 9: the question in error at d80k was not grounded at d0
    assert row["DS"] == "86.1"  # GC 1 of 8


def test_table_2_is_a_mean_over_runs():
    rows = three_states() + three_states(d80k="mmmmmmmmmm", repeat=1)
    row = shown(table_2(rows, USERS))["qwen"]
    assert (row["Ret"], row["MI_d80k"], row["DS"]) == ("11.1", "90.0", "88.9")


PAPER = ("S1-d0", "S1-d50k", "S1-d80k", "S2")


def test_og_and_sc_have_columns_for_the_papers_states_where_all_were_run():
    states = (*PAPER, "S1-d35k", "S3")
    rows = [row for state in states for row in mirage_state("ggm", "r", state)]
    rows += [row for state in PAPER for row in mirage_state("gmm", "r", state, split="extension")]
    (block,) = table_2(rows, USERS).blocks
    assert block.columns[5:] == tuple(f"OG {state}" for state in PAPER)
    assert {"og.qwen.S1-d35k", "og.qwen.S3"} <= set(block.values)
    (block,) = table_4(rows, USERS).blocks
    assert block.columns[1:] == PAPER
    assert all(len(row) == len(block.columns) for row in block.rows)
    assert "sc.main.S3" in block.values
    fewer = [row for row in rows if row["arm.state"] != "S1-d50k"]
    (block,) = table_2(fewer, USERS).blocks
    others = {f"OG {state}" for state in ("S1-d0", "S1-d35k", "S1-d80k", "S2", "S3")}
    assert {name for name in block.columns if name.startswith("OG")} == others


def test_a_depth_is_said_once_a_state_where_all_share_it():
    rows = [row for state in ("S1-d0", "S2") for row in mirage_state("gg", state=state, scores={"eit_probe": 50})]
    rows += mirage_state("gg", state="S2", condition="Cm", scores={"eit_probe": 66})
    rows += mirage_state("gg", state="S2", condition="Cm", recall="norecall", scores={"eit_probe": 66})
    facts = dict(routes(rows, USERS).blocks[0].facts)
    assert facts["depth at capture (reference tokens)"] == "S1-d0 2,318; S2 10,008"
    assert facts["compactions"] == "S1-d0 0; S2 1"
    assert facts["EIT at capture"] == "not reported"
    assert facts["EIT at the probe"] == "S1-d0 50; S2 50 for C0 intact, 66 for Cm intact and Cm norecall"


def test_a_depth_that_differs_is_not_said_to_be_shared():
    rows = mirage_state("gg", state="S2") + mirage_state("gg", state="S2", model="other", scores={"depth": 9000})
    rows += mirage_state("gg") + mirage_state("gg", model="other")
    facts = dict(table_2(rows, USERS).blocks[0].facts)
    depths = facts["depth at capture (reference tokens)"]
    assert depths == "S1-d0 2,318; S2 9,000 for other, 10,008 for qwen"


def test_table_6_names_the_state_of_the_maximum():
    table = table_6(three_states() + three_states(d80k="gggggggggm", s2="vvvvvvvvvv", model="other"), USERS)
    assert shown(table)["qwen"]["MI at most"] == "0.80"
    found = table.blocks[0].values
    assert (found["mi.qwen"], found["mi.at.qwen"], found["og.qwen"], found["og.at.qwen"]) == (0.8, DEEP, 0.4, DEEP)
    assert (found["mi.other"], found["mi.at.other"], found["og.other"]) == (1.0, "S2", 1.0)


@dataclass(frozen=True, slots=True)
class Windows(RunFacts):
    windows: dict[str, int] = field(default_factory=dict)


def test_table_8_is_a_share_of_the_window_where_it_is_known():
    row = shown(table_8(three_states(), USERS))["qwen"]
    assert (row["Window"], row["d80k"], row["of window"], row["counted by"]) == ("-", "8,044", "-", "reference")
    assert (row["DS"], row["Ret"]) == ("77.8", "22.2")
    facts = Windows(USERS.corpora, run=USERS.run, windows={"qwen": 256_000})
    rows = [{**row, "scores.eit_probe": 80_436.0} for row in three_states()]
    row = shown(table_8(rows, facts))["qwen"]
    assert (row["Window"], row["d80k"], row["of window"], row["counted by"]) == (
        "256,000",
        "80,436",
        "31%",
        "provider",
    )


@pytest.mark.parametrize(
    ("name", "right", "failures", "said"),
    [
        ("g", 41, 0, ("41/100", "41.0%", "[31.9, 50.8]")),
        ("g", 1, 0, ("1/100", "1.0%", "[0.2, 5.4]")),
        ("s", 70, 1, ("70/99", "70.7%", "[61.1, 78.8]")),
    ],
)
def test_table_9_prints_the_published_intervals(name, right, failures, said):
    codes = name * right + "m" * (100 - right - failures) + "p" * failures
    rows = mirage_state(codes, "r", DEEP) + mirage_state("m" * 100, "r", DEEP, repeat=1)
    indicator = "GC" if name == "g" else "SC"
    row = shown(table_9(rows, USERS))[f"qwen {indicator}, {DEEP}"]
    assert (row["Count"], row["Rate"], row["95% CI"]) == said
    assert row["objects"] == "6"


def test_table_9_counts_routes_of_the_first_run_by_state():
    rows = mirage_state("gg", "rr", "S2", scores={"tool": 1}) + mirage_state("gmp", "re", DEEP)
    table = table_9(rows + mirage_state("gg", "rr", DEEP, scores={"tool": 1}, repeat=1), USERS)
    assert lines(table, 1) == [
        {"State": DEEP, "tool/calls": "0/4", "R_tool": "0.0%"},
        {"State": "S2", "tool/calls": "4/4", "R_tool": "100.0%"},
    ]


def test_rows_without_a_trace_have_no_routing_block():
    assert len(table_9(mirage_state("gg", "rr", "S2", trace=False), USERS).blocks) == 1


def test_drift_compares_sources_as_they_were_written():
    rows = three_states(d80k="ggggggmmmm", s2="ggmmmmmmmm")
    for row in rows:
        if row["arm.state"] == DEEP and row["question"] in ("a0", "a1", "a2"):
            row["answer"] = str(row["answer"]).replace("SOURCE=ev_", "SOURCE=notes/ev_")
    first, second = lines(drift(rows, USERS))
    assert (first["To"], first["changed"], first["of"], first["Drift"]) == (DEEP, "3", "6", "50.0")
    assert (second["To"], second["changed"], second["of"], second["Drift"]) == ("S2", "0", "2", "0.0")


def test_drift_of_nothing_is_a_dash():
    table = drift(three_states(d0="mmmmmmmmmm"), USERS)
    assert lines(table)[0]["Drift"] == "-"
    assert "S1-d0 to S1-d80k: no question is grounded in both states." in table.blocks[0].notes


@pytest.mark.parametrize("build", [table_2, table_6, table_8, table_9, drift], ids=lambda build: build.__module__)
def test_they_ignore_what_is_not_theirs_and_say_what_they_are(build):
    rows = three_states()
    others = three_states(condition="Cm") + three_states(recall="norecall") + three_states(suite="memlens")
    others += three_states(split="extension") + three_states(retention="none")
    assert build(rows + others, USERS) == build(rows, USERS)
    assert not build(others, USERS).blocks
    assert build(rows, MINI).pipeline_check
    assert any("No published figure" in note for note in build(rows, USERS).notes)
    assert build(rows, replace(USERS, corpora={DIGEST: MINI.corpora[DIGEST]})).pipeline_check
