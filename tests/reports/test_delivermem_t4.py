"""DeliverMem Table 4 from planted rows: five components, each against its control on its own questions."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_t4 import BOUND, CONSTANT_TAG, GOLD, PERMUTED_DATES, PHASE, TABLE, UNBOUND, build
from benchsuite_reports.formats import FORMATS, as_text

KINDS = (*["information_extraction"] * 8, *["temporal_reasoning"] * 8, *["answer_refusal"] * 4)
"""Of questions q0 to q19."""
RIGHT = {
    GOLD: range(10),
    PHASE: range(2),  # 8/0 on the sixteen answerable questions
    DELIVERMEM: (*range(8), *range(8, 15), 16, 17),
    CONSTANT_TAG: (*range(8), *range(8, 15), 17, 18),  # 1/1 on refusal questions alone
    PERMUTED_DATES: (0, 16, 17),  # 7/0 on the temporal questions; 7/0 elsewhere, where nobody looks
    BOUND: range(10),
    UNBOUND: range(1, 12),  # 1/2
    BOTH_WHOLE: (*range(5), 16),
    UNSTAMPED: (*range(5), 16),
}


def planted(row, right=RIGHT, **changes):
    return [
        row(f"q{i}", condition, float(i in which), type=kind, answerable=kind != "answer_refusal", **changes)
        for condition, which in right.items()
        for i, kind in enumerate(KINDS)
    ]


def lines(block):
    return {line[0]: line[1:] for line in block.rows}


def test_each_component_on_its_own_questions(row, mini):
    table = build(planted(row), mini)
    block, clustered = table.blocks
    found = lines(block)
    assert [cells[:5] for cells in found.values()] == [
        ("phase of the pixels randomised", "16", "+50.00", "8/0", "0.0078"),
        ("tags made identical", "20", "+0.00", "1/1", "1.0"),
        ("dates change places", "8", "+87.50", "7/0", "0.016"),
        ("images follow other messages", "16", "-6.25", "1/2", "1.0"),
        ("one vector an image (index)", "20", "+0.00", "0/0", "1.0"),
    ]
    assert found["(D3) temporal position"][5:7] == ("n/a", "n/a"), "nobody certified these pairs"
    assert found["(D1) original modality"][-1] == "", "a shown difference needs no power"
    assert found["(D2) addressability"][-1] == "insensitive"
    assert block.values["d3"] == pytest.approx(7 / 8)
    assert (block.values["d1.wins"], block.values["d1.losses"], block.values["d1.n"]) == (8, 0, 16)
    assert block.values["binding"] == pytest.approx(-1 / 16)
    assert lines(clustered)["(D3) temporal position"][0] == "+87.50", "by cluster, over the same questions"
    facts = dict(block.facts)
    assert facts["n"] == "20 questions answered in the 9 conditions that were run"
    assert facts["constant refusal (by rule, no model)"] == "20.00 of all 20"
    assert "missing arms" not in facts


def test_certificates_stand_in_the_row_and_name_what_fails(row, mini):
    def certify(a, b):
        control, question = str(a["arm.delivery"]), str(a["question"])
        if control == "pixels+phase" and question == "q3":
            return Certificate(("modality",), False, "image 1: other bytes", True, (), "", None)
        if control == "deployed+dateperm" and question == "q9":
            return Certificate(("time",), True, "", False, ("time: one date alone",), "", None)
        return Certificate(("x",), True, "", True, (), "", None)

    block = build(planted(row), replace(mini, certificates=certify)).blocks[0]
    found = lines(block)
    assert found["(D1) original modality"][5:7] == ("15/16", "16/16")
    assert found["(D3) temporal position"][5:7] == ("8/8", "7/8")
    assert found["(R1) region retrieval"][5:7] == ("20/20", "20/20")
    assert "(D1) original modality: q3: image 1: other bytes." in block.notes
    assert any("1 not altered: time: one date alone" in note for note in block.notes)


def test_a_model_that_does_not_feel_a_control_is_said(row, mini):
    rows = planted(row)
    for each in rows:
        each["answer"] = "x" if each["arm.retrieval"] == "oracle" else each["cell"]
    block = build(rows, mini).blocks[0]
    assert "(D1) original modality: no answer changed on 16 questions; qwen does not feel it." in block.notes
    assert lines(block)["(D1) original modality"][7] == "0"
    assert lines(block)["Binding"][7] == "16"


def test_missing_arms_are_named_and_their_components_absent(row, mini):
    right = {condition: which for condition, which in RIGHT.items() if condition not in (PHASE, UNBOUND)}
    block = build(planted(row, right), mini).blocks[0]
    assert dict(block.facts)["missing arms"] == "oracle-pixels+phase, both-deployed+bindshuf-whole"
    assert list(lines(block)) == ["(D2) addressability", "(D3) temporal position", "(R1) region retrieval"]


def test_lengths_with_the_dates_alone_are_named_not_shown(row, mini):
    dates = {condition: RIGHT[condition] for condition in (DELIVERMEM, PERMUTED_DATES)}
    table = build([*planted(row), *planted(row, dates, length="128k")], mini)
    assert {block.heading.partition(",")[0] for block in table.blocks} == {"length 32k"}
    assert dict(table.facts)["lengths with fewer contrasts, not shown"] == "128k"
    alone = build(planted(row, dates, length="128k"), mini)
    assert list(lines(alone.blocks[0])) == ["(D3) temporal position"]


def test_an_error_is_left_out_by_name_and_bounds_its_own_questions(row, mini):
    spoilt = row("q8", PERMUTED_DATES, "error", type="temporal_reasoning")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row)]
    block = build(rows, mini).blocks[0]
    assert dict(block.left_out) == {"q8": "timeout error in both-deployed+dateperm-region"}
    assert lines(block)["(D3) temporal position"][1:4] == ("7", "+85.71", "6/0")
    assert dict(block.facts)["worst case bounds of the differences"] == "(D3) temporal position +75.00 to +87.50"


def test_without_temporal_questions_there_is_no_difference(row, mini):
    rows = [each for each in planted(row) if each["type"] != "temporal_reasoning"]
    found = lines(build(rows, mini).blocks[0])
    assert found["(D3) temporal position"][1:5] == ("0", "n/a", "n/a", "n/a")
    assert found["(D1) original modality"][1] == "8"


def test_one_side_of_each_contrast_is_no_table(rows_of, mini):
    assert build(rows_of({GOLD: (1.0,), DELIVERMEM: (1.0,), BOUND: (0.0,), UNSTAMPED: (0.0,)}), mini).blocks == ()


def test_every_form_is_whole(row, mini):
    table = TABLE.build(planted(row), mini)
    widths = {len(block.columns or table.columns) - len(line) for block in table.blocks for line in block.rows}
    assert widths == {0}
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "inferred: D2 and D3 from the deployed configuration" in text
        assert "one vector an image" in text or form is as_text, "a cell of the terminal form goes over lines"
    assert max(map(len, as_text(table).splitlines())) <= 100
