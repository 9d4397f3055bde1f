"""DeliverMem Table 14 from rows: both quantities of Table 1 by question type and by number of gold messages."""

import pytest

from benchsuite_reports.delivermem_t1 import TABLE as CROSSED
from benchsuite_reports.delivermem_t14 import ORACLE, TABLE, TEXT, TEXT_WITHHELD, WITHHELD
from benchsuite_reports.formats import FORMATS, as_text

FOUR = (ORACLE, WITHHELD, TEXT, TEXT_WITHHELD)
IE, TR = "information_extraction", "temporal_reasoning"


def question_rows(row, question, right, conditions=FOUR, **changes):
    return [row(question, each, float(each in right), answer=each.name, **changes) for each in conditions]


def planted(row):
    """Delivery counts on information extraction with few gold messages, retrieval on temporal with many."""
    rows = []
    for i in range(8):
        rows += question_rows(row, f"ie{i}", (ORACLE, TEXT), type=IE, n_gold=4)
    for i in range(6):
        rows += question_rows(row, f"tr{i}", (ORACLE, WITHHELD), type=TR, n_gold=10)
    return rows + question_rows(row, "tr6", (), type=TR, n_gold=7)


def lines(block):
    return {each[0]: each[1:] for each in block.rows}


def test_each_effect_stands_in_the_subset_where_it_was_planted(row, users):
    block = TABLE.build(planted(row), users).blocks[0]
    shown = {label: (cells[0], *cells[3:5]) for label, cells in lines(block).items()}
    assert shown == {
        "IE: Delta_R": ("8", "+0.00", "0/0"),
        "IE: Delta_D": ("8", "+100.00", "8/0"),
        "TR: Delta_R": ("7", "+85.71", "6/0"),
        "TR: Delta_D": ("7", "+0.00", "0/0"),
        "gold <= 4: Delta_R": ("8", "+0.00", "0/0"),
        "gold <= 4: Delta_D": ("8", "+100.00", "8/0"),
        "gold 5-9: Delta_R": ("1", "+0.00", "0/0"),
        "gold 5-9: Delta_D": ("1", "+0.00", "0/0"),
        "gold >= 10: Delta_R": ("6", "+100.00", "6/0"),
        "gold >= 10: Delta_D": ("6", "+0.00", "0/0"),
        "pooled: Delta_R": ("15", "+40.00", "6/0"),
        "pooled: Delta_D": ("15", "+53.33", "8/0"),
    }
    assert dict(block.facts)["gold messages a question"] == "median 4, from 4 to 10"
    assert dict(block.facts)["without questions"] == "MSR; KU"
    assert block.values["delta_r.gold >= 10.p"] == pytest.approx(2 / 2**6)


@pytest.mark.parametrize(
    ("count", "label"),
    [(1, "gold <= 4"), (4, "gold <= 4"), (5, "gold 5-9"), (9, "gold 5-9"), (10, "gold >= 10"), (40, "gold >= 10")],
)
def test_the_bins_of_gold_messages_meet_without_a_gap(row, users, count, label):
    block = TABLE.build(question_rows(row, "q0", (), n_gold=count), users).blocks[0]
    assert [name for name in lines(block) if name.startswith("gold")] == [f"{label}: Delta_R", f"{label}: Delta_D"]


def test_questions_without_recorded_gold_stand_apart(row, users):
    rows = [*question_rows(row, "q0", (), n_gold=0), *question_rows(row, "q1", (ORACLE,), n_gold=2)]
    shown = lines(TABLE.build(rows, users).blocks[0])
    assert shown["gold not recorded: Delta_R"][0] == "1"
    assert shown["gold <= 4: Delta_R"][3] == "+100.00"


def test_the_pooled_rows_are_table_1(row, users):
    rows = planted(row)
    rows[3] = row("ie0", TEXT_WITHHELD, "error", type=IE, n_gold=4)
    pooled = TABLE.build(rows, users).blocks[0].values
    crossed = CROSSED.build(rows, users).blocks[0].values
    assert pooled["n"] == crossed["n"] == 14
    assert pooled["delta_r.pooled"] == crossed["delta_r.pixels"]
    assert pooled["delta_d.pooled"] == crossed["delta_d.oracle"]
    assert pooled["delta_d.pooled.wins"] == crossed["delta_d.oracle.wins"]


def test_a_missing_arm_is_named_and_the_other_quantity_is_still_shown(row, users):
    rows = [each for each in planted(row) if each["arm.retrieval"] != "text"]
    block = TABLE.build(rows, users).blocks[0]
    assert dict(block.facts)["missing arms"] == "text-pixels, text-noimg"
    assert lines(block)["pooled: Delta_D"][3] == "+53.33"
    assert not any(label.endswith("Delta_R") for label in lines(block))


def test_nothing_but_one_side_is_no_table(row, users):
    assert TABLE.build([row("q0", ORACLE, 1.0)], users).blocks == ()


def test_nothing_answered_is_a_pooled_gap_and_every_subset_is_named(row, users):
    table = TABLE.build([row("q0", each, "error", n_gold=5, type=IE) for each in FOUR], users)
    block = table.blocks[0]
    assert lines(block)["pooled: Delta_R"][0] == "0"
    assert "IE (none answered in every condition)" in dict(block.facts)["without questions"]
    assert "gold 5-9 (none answered in every condition)" in dict(block.facts)["without questions"]
    as_text(table)


def test_every_subset_has_its_interval_by_cluster_and_every_form_its_rows(row, mini):
    table = TABLE.build(planted(row), mini)
    assert list(lines(table.blocks[-1])) == list(lines(table.blocks[0]))
    assert lines(table.blocks[-1])["gold 5-9: Delta_D"][1] == "n/a"  # one question has no interval
    for form in FORMATS.values():
        assert "5-9" in form(table)
    assert r"$\Delta_{R}$" in FORMATS["tex"](table)
    assert max(map(len, as_text(table).splitlines())) <= 150
