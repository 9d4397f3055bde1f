"""DeliverMem Table 13 from rows: the effect by question type, and the types as one family of tests."""

import pytest

from benchsuite_reports.delivermem_t12 import LADDER, ORACLE, PHASE, WITHHELD
from benchsuite_reports.delivermem_t12 import TABLE as LADDER_TABLE
from benchsuite_reports.delivermem_t13 import TABLE
from benchsuite_reports.formats import FORMATS, as_text

IE, MSR, TR, KU = (
    "information_extraction",
    "multi_session_reasoning",
    "temporal_reasoning",
    "knowledge_update",
)
# questions, wins and losses of pixels over withheld by type: as many as the paper has
COUNTS = {IE: (61, 28, 3), MSR: (35, 2, 1), TR: (48, 1, 1), KU: (29, 3, 3)}


def ladder_rows(row, counts, conditions=(ORACLE, WITHHELD, PHASE)):
    rows = []
    for kind, (n, wins, losses) in counts.items():
        for i in range(n):
            right = {ORACLE: i < wins, WITHHELD: wins <= i < wins + losses}
            rows += [
                row(f"{kind}{i}", each, float(right.get(each, False)), type=kind, answer=each.name)
                for each in conditions
            ]
    return rows


def lines(block):
    return {each[0]: each[1:] for each in block.rows}


def family(table):
    (block,) = [block for block in table.blocks if block.heading.endswith(": as a family")]
    return block


def test_it_prints_the_published_table_for_rows_that_have_its_counts(row, users):
    table = TABLE.build(ladder_rows(row, COUNTS), users)
    shown = {label: (cells[0], *cells[3:6]) for label, cells in lines(table.blocks[0]).items()}
    assert shown == {
        "Information extraction": ("61", "+40.98", "28/3", "4.6e-6"),
        "Multi-session reasoning": ("35", "+2.86", "2/1", "1.0"),
        "Temporal reasoning": ("48", "+0.00", "1/1", "1.0"),
        "Knowledge update": ("29", "+0.00", "3/3", "1.0"),
        "pooled": ("173", "+15.03", "34/8", "6.9e-5"),
    }
    assert table.blocks[0].values["delta_d.Information extraction"] == pytest.approx(25 / 61)
    assert table.columns[0] == "pixels minus withheld"


def test_the_types_are_one_family_and_what_cannot_reach_is_said(row, users):
    block = family(TABLE.build(ladder_rows(row, COUNTS), users))
    assert dict(block.facts)["Bonferroni threshold"] == "0.0125 for 4 types"
    assert lines(block) == {
        "Information extraction": ("31", "4.6e-6", "1.9e-5", "1.9e-5", "3.7e-9", "yes"),
        "Multi-session reasoning": ("3", "1.0", "1.0", "1.0", "0.75", "cannot reach"),
        "Temporal reasoning": ("2", "1.0", "1.0", "1.0", "1.0", "cannot reach"),
        "Knowledge update": ("6", "1.0", "1.0", "1.0", "0.094", "cannot reach"),
    }
    assert block.values["threshold"] == 0.0125
    assert block.values["Information extraction.holm"] == pytest.approx(4 * block.values["Information extraction.p"])


def test_holm_multiplies_by_the_tests_that_are_left(row, users):
    block = family(TABLE.build(ladder_rows(row, {IE: (20, 10, 0), TR: (20, 7, 0), KU: (20, 6, 8)}), users))
    values = block.values
    assert values["Temporal reasoning.bonferroni"] == pytest.approx(3 * 2 / 2**7)
    assert values["Temporal reasoning.holm"] == pytest.approx(2 * 2 / 2**7)
    assert lines(block)["Temporal reasoning"][-1] == "yes"  # .031 under Holm, .047 under Bonferroni
    assert lines(block)["Knowledge update"][-1] == "no"


def test_types_without_questions_are_named_and_the_family_is_what_is_left(row, users):
    rows = [*ladder_rows(row, {IE: (10, 6, 0), KU: (8, 1, 0)}), row("m0", ORACLE, "error", type=MSR)]
    rows += [row("m0", each, 1.0, type=MSR) for each in (WITHHELD, PHASE)]
    table = TABLE.build(rows, users)
    assert dict(table.blocks[0].facts)["without questions"] == (
        "Multi-session reasoning (none answered in every condition); Temporal reasoning"
    )
    assert list(lines(table.blocks[0])) == ["Information extraction", "Knowledge update", "pooled"]
    assert dict(table.blocks[0].left_out) == {"m0": "timeout error in oracle-pixels"}
    assert dict(family(table).facts)["Bonferroni threshold"] == "0.025 for 2 types"


def test_a_type_of_the_corpus_alone_stands_after_the_benchmarks_own(row, users):
    table = TABLE.build(ladder_rows(row, {"spatial_memory": (6, 3, 0), IE: (6, 2, 0)}), users)
    assert list(lines(table.blocks[0])) == ["Information extraction", "Spatial memory", "pooled"]


def test_one_type_alone_is_no_family(row, users):
    table = TABLE.build(ladder_rows(row, {IE: (6, 6, 0)}), users)
    assert not any("family" in block.heading for block in table.blocks)
    assert list(lines(table.blocks[0])) == ["Information extraction", "pooled"]


def test_refusal_questions_are_not_in_it(row, users):
    refusals = [row(f"u{i}", each, 1.0, answerable=False) for i in range(3) for each in (ORACLE, WITHHELD, PHASE)]
    table = TABLE.build([*ladder_rows(row, {IE: (4, 1, 0)}), *refusals], users)
    assert lines(table.blocks[0])["pooled"][0] == "4"


def test_it_stands_on_the_batch_of_table_12(row, users):
    rows = ladder_rows(row, {IE: (8, 4, 0), TR: (8, 1, 1)}, LADDER)
    rows = [each for each in rows if (each["question"], each["arm.delivery"]) != (f"{IE}0", PHASE.delivery)]
    pooled = lines(TABLE.build(rows, users).blocks[0])["pooled"]
    rung = lines(LADDER_TABLE.build(rows, users).blocks[0])["original - withheld"]
    assert pooled == rung
    assert pooled[0] == "15"
    without = [each for each in rows if each["arm.delivery"] in ("pixels", "noimg")]
    assert TABLE.build(without, users).blocks == ()


def test_each_type_has_its_clusters_and_its_bounds(row, users):
    rows = ladder_rows(row, {IE: (4, 2, 0), TR: (4, 0, 0)})
    for i, each in enumerate(rows):
        each["cluster"] = f"c{i % 2}"
    rows[0] = row(f"{IE}0", ORACLE, None, type=IE)
    table = TABLE.build(rows, users)
    by_cluster = table.blocks[-1]
    assert by_cluster.heading.endswith(": by cluster")
    assert list(lines(by_cluster)) == ["Information extraction", "Temporal reasoning", "pooled"]
    bounds = dict(table.blocks[0].facts)["worst case bounds of the differences"]
    assert bounds == "Information extraction +25.00 to +50.00; pooled +12.50 to +25.00"


def test_every_form_holds_the_family(row, mini):
    table = TABLE.build(ladder_rows(row, COUNTS), mini)
    for form in FORMATS.values():
        assert "cannot reach" in form(table)
    text = as_text(table)
    assert "pipeline check, not evidence" in text
    assert max(map(len, text.splitlines())) <= 150
