"""DeliverMem E.8 from planted rows: what each step of the assembled configuration does, overall and by type."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_e8 import DATE_ALONE, TABLE, TAG_ALONE
from benchsuite_reports.formats import FORMATS, as_text

KINDS = (*["temporal_reasoning"] * 8, *["knowledge_update"] * 8, *["answer_refusal"] * 4)
RIGHT = {
    BOTH_WHOLE: (0, *range(8, 16), 16),
    UNSTAMPED: (0, 1, *range(8, 16), 16),
    TAG_ALONE: (1, *range(8, 16), 16),
    DATE_ALONE: (*range(8), *range(8, 12), 16),
    DELIVERMEM: (*range(7), *range(8, 10), 16),
}


def planted(row, right=RIGHT):
    return [
        row(f"q{i}", condition, float(i in which), type=kind, answerable=kind != "answer_refusal")
        for condition, which in right.items()
        for i, kind in enumerate(KINDS)
    ]


def lines(block):
    return {line[0]: line[1:] for line in block.rows}


def test_steps_over_all_questions(row, mini):
    block = TABLE.build(planted(row), mini).blocks[0]
    assert {label: (*cells[:1], *cells[3:5]) for label, cells in lines(block).items()} == {
        "index, tag and date": ("20", "+0.00", "6/6"),
        "index": ("20", "+5.00", "1/0"),
        "tag alone": ("20", "-5.00", "0/1"),
        "date alone": ("20", "+10.00", "6/4"),
        "tag and date": ("20", "-5.00", "5/6"),
    }
    assert block.values["assembled"] == 0
    assert dict(block.facts)["constant refusal (by rule, no model)"] == "20.00 of all 20"


def test_a_net_of_nothing_hides_a_gain_and_a_cost_by_type(row, mini):
    _, _, block, clustered = TABLE.build(planted(row), mini).blocks
    assert block.heading == "length 32k, model qwen: by question type"
    found = lines(block)
    assert found["TR: index, tag and date"][:6] == ("8", "12.50", "87.50", "+75.00", "6/0", "0.031")
    assert found["KU: index, tag and date"][:6] == ("8", "100.00", "25.00", "-75.00", "0/6", "0.031")
    assert found["TR: date alone"][3:5] == ("+75.00", "6/0")
    assert found["TR: tag alone"][3:5] == ("-12.50", "0/1")
    assert found["AR: tag and date"][3:5] == ("+0.00", "0/0")
    assert not any(label.startswith(("IE", "MSR")) for label in found)
    assert dict(block.facts)["types without questions"] == "information extraction, multi session reasoning"
    assert block.values["assembled.KU"] == pytest.approx(-0.75)
    assert lines(clustered)["KU: index, tag and date"][0] == "-75.00"


def test_declared_sets_are_named_by_the_certificate(row, mini):
    def certify(a, b):
        axes = ("index",) if a["arm.delivery"] == b["arm.delivery"] else ("index", "identity", "time")
        return Certificate(axes, True, "", a["question"] != "q5", ("index: the same items",), "", None)

    blocks = TABLE.build(planted(row), replace(mini, certificates=certify)).blocks
    assert "index, tag and date: index + identity + time: matched 20/20, altered 19/20" in blocks[0].notes[0]
    assert lines(blocks[2])["TR: index"][6:8] == ("8/8", "7/8")
    assert lines(blocks[2])["KU: index"][6:8] == ("8/8", "8/8")


def test_missing_steps_are_named(row, mini):
    right = {condition: RIGHT[condition] for condition in (BOTH_WHOLE, UNSTAMPED, DELIVERMEM)}
    blocks = TABLE.build(planted(row, right), mini).blocks
    assert list(lines(blocks[0])) == ["index, tag and date", "index", "tag and date"]
    assert dict(blocks[0].facts)["missing arms"] == "both-deployed+nodate-region, both-deployed+notag-region"
    assert "TR: tag and date" in lines(blocks[2])
    assert "TR: tag alone" not in lines(blocks[2])


def test_an_error_is_left_out_everywhere(row, mini):
    spoilt = row("q8", TAG_ALONE, "error", type="knowledge_update")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row)]
    blocks = TABLE.build(rows, mini).blocks
    assert dict(blocks[0].left_out) == {"q8": "timeout error in both-deployed+nodate-region"}
    assert lines(blocks[2])["KU: index, tag and date"][:1] == ("7",)
    assert lines(blocks[2])["TR: index, tag and date"][:1] == ("8",)


def test_types_of_ones_own_count_overall(row, mini):
    rows = [row("q0", condition, float(condition is DELIVERMEM), type="riddle") for condition in RIGHT]
    blocks = TABLE.build(rows, mini).blocks
    assert lines(blocks[0])["index, tag and date"][3] == "+100.00"
    assert all("by question type" not in block.heading for block in blocks)


def test_one_side_is_no_table(row, mini):
    assert TABLE.build(planted(row, {DELIVERMEM: ()}), mini).blocks == ()


def test_every_form_is_whole(row, mini):
    table = TABLE.build(planted(row), mini)
    assert all(len(line) == len(block.columns or table.columns) for block in table.blocks for line in block.rows)
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "types without questions" in text
        assert "date alone" in text
