"""MIRAGE Table 3: cases are chosen by rule from the rows."""

from __future__ import annotations

from benchsuite_reports.mirage_t3 import CASES, build
from tests.reports.mirage_rows import MINI, USERS, lines, mirage_state

DEEP = "S1-d80k"


def test_an_outcome_preserving_mirage_is_found():
    rows = mirage_state("gggmv") + mirage_state("vmgvv", state=DEEP) + mirage_state("gvggg", state="S2")
    table = build(rows, USERS)
    (block,) = table.blocks
    assert block.heading.endswith("Mirage")
    assert [(row["Question"], row["State"], row["GC"]) for row in lines(table)] == [
        ("a0", "S1-d0", "1"),
        ("a0", DEEP, "0"),
        ("a0", "S2", "1"),
        ("a1", "S1-d0", "1"),  # its value is wrong at d80k, and right without its source at S2
        ("a1", DEEP, "0"),
        ("a1", "S2", "0"),
    ]
    deep = lines(table)[1]
    assert (deep["Condition"], deep["Word"], deep["Answerable"], deep["Source"]) == ("C0", "mirage", "YES", "NONE")
    assert deep["Answer"] == deep["Gold"] == "value of a0"


def test_a_value_kept_beside_no_is_no_mirage():
    assert not build(mirage_state("g") + mirage_state("w", state=DEEP), USERS).blocks


def test_the_boundary_of_pressure_is_found():
    rows = mirage_state("nmgn", state=DEEP) + mirage_state("gggn", state=DEEP, condition="Cm")
    rows += mirage_state("ngmn", state="S2", condition="Cm")
    table = build(rows, USERS)
    assert [(row["Condition"], row["State"], row["GC"]) for row in lines(table)] == [
        ("C0", DEEP, "0"),
        ("Cm", DEEP, "1"),
        ("Cm", "S2", "0"),
    ]
    assert {row["Question"] for row in lines(table)} == {"a0"}


def test_unparsed_and_errors_are_no_case():
    rows = mirage_state("gg") + mirage_state("pe", state=DEEP) + mirage_state("mm", state="S2")
    assert not build(rows, USERS).blocks


def test_a_few_are_shown_and_all_are_counted():
    rows = mirage_state("g" * 9) + mirage_state("v" * 9, state=DEEP)
    table = build(rows, MINI)
    assert len({row["Question"] for row in lines(table)}) == CASES
    assert dict(table.blocks[0].facts)["questions that are such a case"] == "9"
    assert table.pipeline_check
