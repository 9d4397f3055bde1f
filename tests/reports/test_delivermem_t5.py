"""DeliverMem Table 5 from planted rows: verdicts, and the three rates that a null may come from."""

import pytest

from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_t4 import BOUND, CONSTANT_TAG, GOLD, PERMUTED_DATES, PHASE, UNBOUND
from benchsuite_reports.delivermem_t5 import NO_DATE, TABLE, build
from benchsuite_reports.formats import FORMATS, as_text

KINDS = (*["information_extraction"] * 8, *["temporal_reasoning"] * 8, *["answer_refusal"] * 4)
RIGHT = {
    GOLD: range(10),
    PHASE: range(2),  # positive
    DELIVERMEM: range(15),
    CONSTANT_TAG: range(15),  # null
    PERMUTED_DATES: range(9),  # six temporal questions won: positive
    NO_DATE: range(14),  # one won: null
    BOUND: range(2),
    UNBOUND: range(8),  # six lost: negative
    BOTH_WHOLE: range(5),
    UNSTAMPED: range(6),
}


def planted(row, right=RIGHT, n_images=lambda condition, i: 2, n_gold_delivered=lambda condition, i: 3):
    return [
        row(
            f"q{i}",
            condition,
            float(i in which),
            type=kind,
            answerable=kind != "answer_refusal",
            n_gold=0 if kind == "answer_refusal" else 3,
            n_gold_delivered=0 if kind == "answer_refusal" else n_gold_delivered(condition, i),
            n_images=n_images(condition, i),
        )
        for condition, which in right.items()
        for i, kind in enumerate(KINDS)
    ]


def lines(block):
    return {line[0]: line[1:] for line in block.rows}


def test_verdicts_with_their_differences(row, mini):
    block = build(planted(row), mini).blocks[0]
    assert {label: cells[:5] for label, cells in lines(block).items()} == {
        "D1 modality": ("positive", "16", "+50.00", "8/0", "0.0078"),
        "D2 tag": ("null", "20", "+0.00", "0/0", "1.0"),
        "D3 date": ("positive", "8", "+75.00", "6/0", "0.031"),
        "D3, no date": ("null", "8", "+12.50", "1/0", "1.0"),
        "Binding": ("negative", "16", "-37.50", "0/6", "0.031"),
        "R1 region": ("null", "20", "+5.00", "1/0", "1.0"),
    }
    assert block.values["binding.verdict"] == "negative"
    assert lines(block)["D2 tag"][-1] == "insensitive"
    assert lines(block)["Binding"][-1] == ""


def test_a_null_that_could_have_been_found_has_its_least_difference(row, mini):
    split = {GOLD: range(8), PHASE: range(4, 12)}  # four won, four lost
    ((_, verdict, *_, power),) = build(planted(row, split), mini).blocks[0].rows
    assert verdict == "null"
    assert 0 < float(power) <= 50.0


def test_reached_counts_questions_with_gold_and_shows_a_control_that_differs(row, mini):
    def delivered(condition, i):
        missed = {DELIVERMEM: 4, CONSTANT_TAG: 4, BOTH_WHOLE: 8}.get(condition, 0)
        return int(i >= missed)

    block = build(planted(row, n_gold_delivered=delivered), mini).blocks[0]
    reached = {label: cells[5] for label, cells in lines(block).items()}
    assert reached["D1 modality"] == "100.00"
    assert reached["D2 tag"] == "75.00", "twelve of the sixteen questions that have gold messages"
    assert reached["R1 region"] == "100.00 (50.00)"
    assert block.values["r1.reached_by_control"] == 0.5


def test_need_is_a_share_of_all_questions(row, mini):
    def images(condition, i):
        return {DELIVERMEM: i % 2 + 1, GOLD: int(i < 3), BOUND: 2 if 4 < i < 18 else 1}.get(condition, 5)

    def delivered(condition, i):
        return 2 if condition is BOTH_WHOLE and i in (1, 2, 9) else 3

    block = build(planted(row, n_images=images, n_gold_delivered=delivered), mini).blocks[0]
    assert {label: cells[6] for label, cells in lines(block).items()} == {
        "D1 modality": "15.00",  # q0 to q2
        "D2 tag": "50.00",  # every other question, refusal questions too
        "D3 date": "40.00",
        "D3, no date": "40.00",
        "Binding": "55.00",  # q5 to q15, of which none is to be refused
        "R1 region": "15.00",
    }
    assert block.values["d1.need"] == pytest.approx(0.15)


def test_carried_is_what_is_right_under_the_control(row, mini):
    carried = {label: cells[7] for label, cells in lines(build(planted(row), mini).blocks[0]).items()}
    assert carried["D1 modality"] == "12.50"
    assert carried["D3 date"] == "12.50", "q8 of the eight temporal questions"
    assert carried["D3, no date"] == "75.00"


def test_a_block_without_questions_of_a_kind(row, mini):
    rows = [each for each in planted(row) if each["type"] == "answer_refusal"]
    found = lines(build(rows, mini).blocks[0])
    assert found["D3 date"][:3] == ("no question", "0", "n/a")
    assert found["D2 tag"][5] == "n/a", "no question has gold messages"


def test_a_missing_arm_and_an_error(row, mini):
    right = {condition: which for condition, which in RIGHT.items() if condition is not NO_DATE}
    spoilt = row("q0", PHASE, "error", type="information_extraction")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in planted(row, right)]
    block = build(rows, mini).blocks[0]
    assert "D3, no date" not in lines(block)
    assert dict(block.facts)["missing arms"] == "both-deployed+nodate-region"
    assert dict(block.left_out) == {"q0": "timeout error in oracle-pixels+phase"}
    assert lines(block)["D1 modality"][1] == "15"


def test_every_form_is_whole(row, mini):
    table = TABLE.build(planted(row), mini)
    assert all(len(line) == len(block.columns or table.columns) for block in table.blocks for line in block.rows)
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "R1 region" in text
        assert "an upper bound" in text, "what need is, is said"
    assert build(planted(row, {GOLD: range(3)}), mini).blocks == ()
