"""MIRAGE Table 3: cases are chosen by rule from the rows."""

from __future__ import annotations

from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.mirage_t3 import CASES, TABLE, build
from benchsuite_reports.site.tables import as_html, table_page
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
    assert (deep["Condition"], deep["Answerable"], deep["Source"]) == ("C0", "YES", "NONE")
    assert deep["Answer"] == deep["Gold"] == "value of a0"


def test_a_value_kept_beside_no_is_no_mirage():
    (block,) = build(mirage_state("g") + mirage_state("w", state=DEEP), USERS).blocks
    assert block.rows == ()


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
    (block,) = build(rows, USERS).blocks
    assert block.rows == ()


def test_no_case_is_a_result_that_every_form_can_say():
    rows = mirage_state("ggn", state="S1-d0") + mirage_state("gmn", state=DEEP) + mirage_state("gmn", state="S2")
    rows += mirage_state("gmn", state=DEEP, condition="Cm") + mirage_state("gmn", state="S2", condition="Cm")
    table = build(rows, USERS)
    assert [block.heading.rpartition(": ")[2] for block in table.blocks] == ["Mirage", "Cm boundary"]
    for block in table.blocks:
        assert block.rows == ()
        assert block.values == {"cases": 0, "probes": 3}
        assert block.notes == ("0 cases of 3 answerable probes that parsed in these states.",)
    for form in (*FORMATS.values(), as_text, table_page):
        assert "0 cases of 3 answerable probes" in form(table)


def test_states_that_were_not_run_are_no_result():
    rows = mirage_state("gg") + mirage_state("gg", state=DEEP, condition="Cm")
    table = build(rows, USERS)
    assert not table.blocks
    assert DEEP in TABLE.empty
    only_mirage = build(rows + mirage_state("gg", state="S2"), USERS)
    assert [block.heading.rpartition(": ")[2] for block in only_mirage.blocks] == ["Mirage"]


def test_a_case_names_its_object_and_its_page():
    rows = mirage_state("g", cluster="ev_a1") + mirage_state("v", state=DEEP, cluster="ev_a1")
    table = build(rows, USERS)
    assert {row["Object"] for row in lines(table)} == {"ev_a1"}
    assert table.blocks[0].notes == ("Pages in the folder questions of the run's report: mirage-a0.html.",)
    page = as_html(table, {"a0": "questions/mirage-a0.html"})
    assert page.count('<a href="questions/mirage-a0.html">a0</a>') == len(lines(table))
    assert "<a " not in as_html(table, {"a1": "x"})


def test_a_few_are_shown_and_all_are_counted():
    rows = mirage_state("g" * 9) + mirage_state("v" * 9, state=DEEP)
    table = build(rows, MINI)
    assert len({row["Question"] for row in lines(table)}) == CASES
    assert dict(table.blocks[0].facts)["questions that are such a case"] == "9 of 9 probes"
    assert table.pipeline_check
