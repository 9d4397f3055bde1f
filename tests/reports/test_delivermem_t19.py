"""DeliverMem Table 19 from planted rows: the binding control by question type."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.arms import DELIVERMEM
from benchsuite_reports.delivermem_t4 import BOUND, UNBOUND
from benchsuite_reports.delivermem_t19 import POOLED, TABLE
from benchsuite_reports.formats import FORMATS, as_text

# type: right with the images in place, right with them shuffled, of ten questions
PLANTED = {
    "information_extraction": (range(9), range(2)),
    "multi_session_reasoning": (range(4), range(1, 5)),
    "temporal_reasoning": (range(3), range(3)),
    "answer_refusal": (range(10), range(9)),
}


def planted(row, **changes):
    return [
        row(f"{kind[:2]}{i}", condition, float(i in right), type=kind, answerable=kind != "answer_refusal", **changes)
        for kind, sides in PLANTED.items()
        for condition, right in zip((BOUND, UNBOUND), sides, strict=True)
        for i in range(10)
    ]


def lines(block):
    return {line[0]: line[1:] for line in block.rows}


def test_by_type_and_pooled(row, mini):
    table = TABLE.build(planted(row), mini)
    block, clustered = table.blocks
    found = lines(block)
    assert {label: cells[:6] for label, cells in found.items()} == {
        "Information extraction": ("10", "90.00", "20.00", "+70.00", "7/0", "0.016"),
        "Multi session reasoning": ("10", "40.00", "40.00", "+0.00", "1/1", "1.0"),
        "Temporal reasoning": ("10", "30.00", "30.00", "+0.00", "0/0", "1.0"),
        "Knowledge update": ("0", "n/a", "n/a", "n/a", "n/a", "n/a"),
        "Answer refusal": ("10", "100.00", "90.00", "+10.00", "1/0", "1.0"),
        POOLED: ("30", "53.33", "30.00", "+23.33", "8/1", "0.039"),
    }
    assert found["Temporal reasoning"][-1] == "insensitive"
    assert found[POOLED][-1] == ""
    assert block.values["IE"] == pytest.approx(0.7)
    assert block.values["pooled.wins"] == 8
    assert block.values["KU"] is None
    assert "Knowledge update" not in lines(clustered)
    assert lines(clustered)["Information extraction"][0] == "+70.00"
    assert dict(block.facts)["constant refusal (by rule, no model)"] == "25.00 of all 40"


def test_an_error_is_left_out_of_its_type_alone(row, mini):
    spoilt = row("in8", UNBOUND, "error", type="information_extraction")
    block = TABLE.build([spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row)], mini).blocks[0]
    assert lines(block)["Information extraction"][:5] == ("9", "88.89", "22.22", "+66.67", "6/0")
    assert lines(block)["Answer refusal"][0] == "10"
    bounds = dict(block.facts)["worst case bounds of the differences"]
    assert "Information extraction +60.00 to +70.00" in bounds
    assert "Answer refusal" not in bounds


def test_unparsed_answers_count_as_not_correct(row, mini):
    spoilt = row("te0", BOUND, None, type="temporal_reasoning")
    block = TABLE.build([spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row)], mini).blocks[0]
    assert lines(block)["Temporal reasoning"][:5] == ("10", "20.00", "30.00", "-10.00", "0/1")
    assert dict(block.facts)["unparsed, counted as not correct"] == "both-deployed-whole 1"


def test_pairs_with_one_image_are_counted_as_not_altered(row, mini):
    def certify(a, b):
        alone = str(a["question"]).startswith("te")
        return Certificate(("binding",), True, "", not alone, ("binding: one image",) if alone else (), "", None)

    block = TABLE.build(planted(row), replace(mini, certificates=certify)).blocks[0]
    assert lines(block)["Temporal reasoning"][6:8] == ("10/10", "0/10")
    assert lines(block)[POOLED][6:8] == ("30/30", "20/30")
    assert any(note.startswith("Temporal reasoning: binding: ") for note in block.notes)
    assert not any(note.startswith("Information") and "binding: " in note for note in block.notes)


def test_the_region_index_is_another_table(rows_of, mini):
    other = replace(UNBOUND, index="region")
    assert TABLE.build(rows_of({DELIVERMEM: (1.0,), other: (0.0,)}), mini).blocks == ()
    assert TABLE.build(rows_of({BOUND: (1.0,)}), mini).blocks == ()


def test_every_form_is_whole(row, mini):
    table = TABLE.build(planted(row), mini)
    assert all(len(line) == len(block.columns or table.columns) for block in table.blocks for line in block.rows)
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "(pooled)" in text
        assert "whole-image index (F.1)" in text
