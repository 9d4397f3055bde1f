"""DeliverMem E.7 from planted rows: dates help temporal questions alone, at two lengths."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.delivermem_e7 import ABSENT, ACCURATE, ORDINAL, PERMUTED, TABLE, build
from benchsuite_reports.formats import FORMATS, as_text

KINDS = (*["temporal_reasoning"] * 10, *["information_extraction"] * 10, *["answer_refusal"] * 5)
RIGHT = {
    ACCURATE: (*range(8), *range(10, 15), 20, 21),
    PERMUTED: (*range(1), *range(11, 16), 20, 21),  # temporal 7/0, others 1/1
    ABSENT: (*range(4), *range(10, 15), 20, 21),  # temporal 4/0, others 0/0
    ORDINAL: (*range(8), *range(10, 15), 20),  # one refusal question
}


def planted(row, right=RIGHT, **changes):
    return [
        row(
            f"q{i}",
            condition,
            float(i in which),
            answer=str(i in which),
            type=kind,
            answerable=kind != "answer_refusal",
            **changes,
        )
        for condition, which in right.items()
        for i, kind in enumerate(KINDS)
    ]


def summary(table, place=0):
    return {line[:2]: line[2:] for line in table.blocks[place].rows}


def test_temporal_others_their_difference_and_the_net(row, mini):
    table = build(planted(row), mini)
    temporal, other, between, net = (
        {line[1]: line[start : start + 2] for line in table.blocks[0].rows} for start in (2, 4, 6, 8)
    )
    assert temporal == {
        "accurate - permuted": ("+70.00", "7/0, 0.016"),
        "accurate - absent": ("+40.00", "4/0, 0.12"),
        "permuted - absent": ("-30.00", "0/3, 0.25"),
        "accurate - ordinal": ("+0.00", "0/0, 1.0"),
    }
    assert list(other.values()) == [("+0.00", counts) for counts in ("1/1, 1.0", "0/0, 1.0") * 2]
    # shares of the choices of ten out of twenty, counted from the signs alone: 0.0150, 0.0867, 0.3653
    assert list(between.values()) == [("+70.00", "0.015"), ("+40.00", "0.087"), ("-30.00", "0.37"), ("+0.00", "1.0")]
    assert net["accurate - permuted"] == ("+28.00", "0.039")
    assert net["accurate - ordinal"] == ("+4.00", "1.0"), "the one difference is a refusal question"
    values = table.blocks[0].values
    assert values["32k.permuted.interaction"] == pytest.approx(0.7)
    assert values["32k.permuted.temporal.wins"] == 7
    assert values["32k.permuted.other.n"] == 10
    assert values["32k.harm.temporal"] == pytest.approx(-0.3)
    assert dict(table.blocks[0].facts)["n"] == "10 temporal, 10 other answerable, 25 in all"
    assert "32k: accurate - ordinal: temporal - other cannot reach p = 0.05." in table.blocks[0].notes
    assert not any("accurate - permuted" in note for note in table.blocks[0].notes)


def test_details_have_a_row_for_each_group_of_questions(row, mini):
    def certify(a, b):
        one = a["question"] == "q0" and "dateperm" in str(a["arm.delivery"])
        return Certificate(("time",), True, "", not one, ("time: one date alone",) if one else (), "", None)

    table = build(planted(row), replace(mini, certificates=certify))
    details = {line[1]: line[2:] for line in table.blocks[1].rows}
    assert len(details) == 12
    assert details["accurate - permuted, temporal"] == ("10", "10.00", "80.00", "7/0", "10/10", "9/10", "7", "")
    assert details["accurate - permuted, other"][4:6] == ("10/10", "10/10")
    assert details["accurate - absent, temporal"][-1] == "insensitive"
    assert any(note.startswith("32k: accurate - permuted, temporal: time: ") for note in table.blocks[1].notes)
    clustered = {line[0]: line[1:] for line in table.blocks[2].rows}
    assert clustered["accurate - permuted, temporal"][0] == "+70.00"


def test_a_row_for_each_length_that_was_run(row, mini):
    short = {condition: RIGHT[condition] for condition in (ACCURATE, PERMUTED)}
    rows = [*planted(row), *planted(row, short, length="128k"), *planted(row, {ACCURATE: ()}, length="256k")]
    table = build(rows, mini)
    assert [key for key in summary(table) if key[0] != "32k"] == [("128k", "accurate - permuted")]
    facts = dict(table.blocks[0].facts)
    assert facts["missing arms"] == "128k: both-deployed+nodate-region, both-deployed+ordinal-region"
    assert [block.heading for block in table.blocks] == [
        "model qwen: by length",
        "model qwen: accuracies, certificates and power",
        "length 32k, model qwen: by cluster",
        "length 128k, model qwen: by cluster",
    ]


def test_models_stand_in_blocks_of_their_own(row, mini):
    table = build([*planted(row), *planted(row, model="other")], mini)
    assert [block.heading for block in table.blocks if "by length" in block.heading] == [
        "model other: by length",
        "model qwen: by length",
    ]


def test_an_error_is_left_out_by_name_and_length(row, mini):
    spoilt = row("q9", ABSENT, "error", type="temporal_reasoning")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row)]
    table = build(rows, mini)
    assert dict(table.blocks[0].left_out) == {"q9 at 32k": "timeout error in both-deployed+nodate-region"}
    assert summary(table)["32k", "accurate - permuted"][0] == "+77.78"
    bounds = dict(table.blocks[0].facts)["worst case bounds of the differences"]
    assert "accurate - absent, temporal +30.00 to +40.00" in bounds
    assert "other" not in bounds


def test_one_group_alone_has_no_difference_in_differences(row, mini):
    temporal = [each for each in planted(row) if each["type"] == "temporal_reasoning"]
    cells = summary(build(temporal, mini))["32k", "accurate - permuted"]
    assert cells == ("+70.00", "7/0, 0.016", "n/a", "n/a", "n/a", "n/a", "+70.00", "0.016")
    others = [each for each in planted(row) if each["type"] != "temporal_reasoning"]
    assert summary(build(others, mini))["32k", "accurate - permuted"][:2] == ("n/a", "n/a")


def test_accurate_dates_alone_are_no_table(row, mini):
    assert build(planted(row, {ACCURATE: range(9)}), mini).blocks == ()


def test_every_form_is_whole(row, mini):
    table = TABLE.build(planted(row), mini)
    assert all(len(line) == len(block.columns or table.columns) for block in table.blocks for line in block.rows)
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "its p permutes which questions are temporal" in text
        assert "7/0, 0.016" in text
