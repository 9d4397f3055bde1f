"""What stands below the 2x2 of Table 1: the gap, the further conditions, the noise floor, withholding, recall."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.errors import BenchError
from benchsuite_reports.arms import BOTH_WHOLE, TEXT_CHANNEL, WITHHELD
from benchsuite_reports.delivermem_decomposition import AGAIN, GOLD_ONLY, ORACLE, ORACLE_WITHHELD
from benchsuite_reports.delivermem_t1 import build
from benchsuite_reports.formats import FORMATS, as_text

FOUR = (ORACLE, ORACLE_WITHHELD, TEXT_CHANNEL, WITHHELD)
CROSSED, NOISE = "contrasts of the 2x2 one by one", "noise floor (A/A)"


def crossed_scores(n=8):
    """The gold with pixels is always right, without never; the text channel with pixels on the first six."""
    return {
        ORACLE: [1.0] * n,
        ORACLE_WITHHELD: [0.0] * n,
        TEXT_CHANNEL: [1.0] * 6 + [0.0] * (n - 6),
        WITHHELD: [0.0] * n,
    }


def part(table, heading):
    """The one block whose heading ends so."""
    (block,) = [block for block in table.blocks if block.heading.endswith(f": {heading}")]
    return block


def has(table, heading):
    return any(block.heading.endswith(f": {heading}") for block in table.blocks)


def lines(block):
    return {row[0]: row[1:] for row in block.rows}


def aa_rows(row, scores, again, **changes):
    return [row(f"q{i}", ORACLE, score, **changes) for i, score in enumerate(scores)] + [
        row(f"q{i}", AGAIN, score, axes={"repeat": 1}, **changes) for i, score in enumerate(again)
    ]


def test_the_gap_is_one_paired_contrast_with_its_own_counts(rows_of, mini):
    block = part(build(rows_of(crossed_scores()), mini), CROSSED)
    # Delta_D is 100, Delta_R is 25: the gap of 75 points is six questions won and none lost
    assert lines(block)["Delta_D - Delta_R"] == (
        "8", "0.00", "75.00", "+75.00", "6/0", "0.031", "n/a", "n/a", "0", "",
    )  # fmt: skip
    assert block.values["gap"] == pytest.approx(
        block.values["crossed.delta_d.oracle"] - block.values["crossed.delta_r.pixels"]
    )
    assert lines(block)["Delta_R, withheld"][-1] == "insensitive"
    assert (block.values["gap.wins"], block.values["gap.losses"], block.values["gap.n"]) == (6, 0, 8)


def test_the_gap_counts_its_own_wins_and_losses_not_a_difference_of_two(rows_of, mini):
    scores = {ORACLE: [1.0, 1.0, 0.0], ORACLE_WITHHELD: [0.0, 1.0, 1.0], TEXT_CHANNEL: [1.0, 0.0, 1.0]}
    block = part(build(rows_of({**scores, WITHHELD: [0.0] * 3}), mini), CROSSED)
    assert (block.values["gap"], block.values["gap.wins"], block.values["gap.losses"]) == (0.0, 1, 1)


def test_the_gap_needs_only_its_two_arms_and_the_contrasts_without_an_arm_are_not_shown(rows_of, mini):
    scores = crossed_scores()
    table = build(rows_of({TEXT_CHANNEL: scores[TEXT_CHANNEL], ORACLE_WITHHELD: scores[ORACLE_WITHHELD]}), mini)
    assert list(lines(part(table, CROSSED))) == ["Delta_D - Delta_R"]
    assert not has(table, "what withholding does to the answers")
    alone = build(rows_of({ORACLE: [1.0, 0.0]}), mini)
    assert not has(alone, CROSSED)
    assert not has(alone, "further contrasts by cluster")
    as_text(alone)


def test_the_further_contrasts_have_the_signs_of_the_paper(rows_of, mini):
    scores = {
        **crossed_scores(),
        ORACLE: [0.0] * 4 + [1.0] * 4,
        GOLD_ONLY: [1.0] * 8,
        BOTH_WHOLE: [1.0] * 7 + [0.0],
    }
    table = build(rows_of(scores), mini)
    shown = lines(part(table, "further contrasts"))
    assert [shown[label][3:5] for label in ("gold only - oracle", "both - text channel", "gold only - both")] == [
        ("+50.00", "4/0"),
        ("+12.50", "1/0"),
        ("+12.50", "1/0"),
    ]
    by_cluster = lines(part(table, "further contrasts by cluster"))
    assert list(by_cluster) == ["Delta_D - Delta_R", *shown]
    assert by_cluster["gold only - oracle"][0] == "+50.00"


def test_further_arms_leave_the_2x2_as_it_is(rows_of, row, mini):
    own = rows_of(crossed_scores())
    further = rows_of({GOLD_ONLY: [1.0, "error", *[1.0] * 6], BOTH_WHOLE: [1.0] * 8})
    alone, extended = build(own, mini), build([*own, *further, row("q0", AGAIN, 0.0, axes={"repeat": 1})], mini)
    assert extended.blocks[:3] == alone.blocks[:3]
    assert dict(part(extended, "further contrasts").left_out) == {"q1": "timeout error in gold_only-pixels"}
    assert lines(part(extended, "further contrasts"))["both - text channel"][0] == "7"
    assert part(extended, CROSSED).values["gap.n"] == 8


def test_a_missing_further_arm_is_named_and_what_is_left_is_shown(rows_of, mini):
    table = build(rows_of({**crossed_scores(), GOLD_ONLY: [1.0] * 8}), mini)
    block = part(table, "further contrasts")
    assert dict(block.facts)["missing arms"] == "both-pixels-whole"
    assert list(lines(block)) == ["gold only - oracle"]
    assert not has(build(rows_of(crossed_scores()), mini), "further contrasts")


def test_further_arms_without_the_2x2_are_no_table_1(rows_of, mini):
    assert build(rows_of({GOLD_ONLY: [1.0], BOTH_WHOLE: [0.0]}), mini).blocks == ()


def test_the_noise_floor_counts_flips_and_changed_answers(row, mini):
    rows = aa_rows(row, [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], answer="a")
    rows[-1]["answer"] = "b"  # another wrong answer: no flip
    block = part(build(rows, mini), NOISE)
    assert lines(block)["repeat 1 - repeat 0"][3:5] == ("+0.00", "1/1")
    assert block.notes == (
        "The gold messages with pixels, asked twice: 2/4 (50.00%) of the scores flip and 1/4 (25.00%) of the answers "
        "change by noise alone.",
    )
    assert block.values["a/a.changed"] == 1


def test_a_silent_noise_floor_is_not_said_to_be_unfelt(row, mini):
    block = part(build(aa_rows(row, [1.0, 0.0], [1.0, 0.0], answer="a"), mini), NOISE)
    assert block.notes == (
        "The gold messages with pixels, asked twice: 0/2 (0.00%) of the scores flip and 0/2 (0.00%) of the answers "
        "change by noise alone.",
    )


def test_a_noise_floor_nobody_answered_is_zero_of_zero(row, mini):
    block = part(build(aa_rows(row, ["error"], [1.0]), mini), NOISE)
    assert "0/0 of the scores flip" in block.notes[-1]
    assert lines(block)["repeat 1 - repeat 0"][0] == "0"


def test_what_withholding_breaks_is_classed_by_the_answer_without_pixels(row, mini):
    without = [
        {"score": 0.0, "refused": True, "word": "refused", "answer": "Insufficient information"},
        {"score": 0.0, "answer": "on top"},
        {"score": 0.0, "answer": "on top"},
        {"score": 0.5, "answer": "half"},
        {"score": None, "answer": "", "refused": None},
        {"score": 1.0, "answer": "right"},
    ]
    rows = [row(f"q{i}", ORACLE, 1.0, answer="right") for i in range(7)]
    for i, each in enumerate(without):
        changes = dict(each)
        rows.append(row(f"q{i}", ORACLE_WITHHELD, changes.pop("score"), **changes))
    rows.append(row("q6", ORACLE_WITHHELD, 1.0, answer="right, again"))
    block = part(build(rows, mini), "what withholding does to the answers")
    assert block.rows == (("Gold messages (oracle)", "7", "6 (85.71%)", "5/0", "1", "2", "1", "1"),)
    assert block.values["broken.oracle"] == 5
    assert (block.values["broken.oracle.refused"], block.values["broken.oracle.wrong"]) == (1, 2)


def test_what_withholding_repairs_is_not_classed_as_broken(row, mini):
    rows = [row("q0", TEXT_CHANNEL, 0.0, answer="a"), row("q0", WITHHELD, 1.0, answer="b")]
    block = part(build(rows, mini), "what withholding does to the answers")
    assert block.rows == (("Text channel (text)", "1", "1 (100.00%)", "0/1", "0", "0", "0", "0"),)


def test_the_recall_of_each_retrieval_is_over_the_questions_of_the_2x2(row, mini):
    needed = [8, 4, 2]
    delivered = {"oracle": [8, 4, 2], "text": [2, 0, 1], "gold_only": [8, 4, 2], "both": [4, 4, 2]}
    rows = [
        row(f"q{i}", condition, 1.0, n_gold=gold, n_gold_delivered=delivered[condition.retrieval][i])
        for condition in (*FOUR, BOTH_WHOLE, GOLD_ONLY)
        for i, gold in enumerate(needed)
        if (condition, i) != (GOLD_ONLY, 2)
    ]
    rows += [row("free", condition, 1.0) for condition in FOUR]  # names no gold message
    rows.append(row("extra", GOLD_ONLY, 1.0, n_gold=5, n_gold_delivered=5))  # not in the 2x2
    block = part(build(rows, mini), "recall of the retrieval itself")
    assert block.rows == (
        ("Gold messages (oracle)", "3", "100.00", "100.00", "4", "4"),
        ("Text channel (text)", "3", "66.67", "25.00", "4", "1"),
        ("Both channels, whole image (both)", "3", "100.00", "83.33", "4", "4"),
        ("Gold messages alone (gold_only)", "2", "100.00", "100.00", "6", "6"),
    )
    assert block.values["recall.text.share"] == pytest.approx((2 / 8 + 0 + 1 / 2) / 3)
    assert block.values["recall.text.some"] == pytest.approx(2 / 3)


def test_an_error_has_no_recall_and_without_gold_there_is_none_to_give(row, rows_of, mini):
    rows = [row("q0", ORACLE, "error", n_gold=3), row("q1", ORACLE, 1.0, n_gold=3, n_gold_delivered=3)]
    assert part(build(rows, mini), "recall of the retrieval itself").rows[0][1:4] == ("1", "100.00", "100.00")
    without = part(build(rows_of(crossed_scores()), mini), "recall of the retrieval itself")
    assert without.rows[0] == ("Gold messages (oracle)", "0", "n/a", "n/a", "n/a", "n/a")


def test_each_contrast_has_both_legs_of_its_certificate(rows_of, mini):
    def certify(a, b):
        variables = tuple(name for name in ("retrieval", "delivery") if a[f"arm.{name}"] != b[f"arm.{name}"])
        altered = a["question"] != "q0"
        reason = () if altered else ("no image in the request",)
        return Certificate(variables, a["question"] != "q1", "image 1 differs", altered, reason, "", None)

    block = part(build(rows_of(crossed_scores()), replace(mini, certificates=certify)), CROSSED)
    assert {cells[6:8] for cells in lines(block).values()} == {("7/8", "7/8")}
    assert "Delta_D - Delta_R: q1: image 1 differs." in block.notes
    assert (
        "Delta_D - Delta_R: retrieval + delivery: matched 7/8, altered 7/8; 1 not altered: no image in the request."
    ) in block.notes
    assert block.values["gap.matched"] == 7


def test_further_rows_that_must_not_be_mixed_in_are_refused(rows_of, mini):
    rows = [*rows_of(crossed_scores()), *rows_of({GOLD_ONLY: [1.0] * 8}, corpus="cd" * 32)]
    with pytest.raises(BenchError, match="corpora"):
        build(rows, mini)


def test_every_form_holds_every_block(rows_of, row, mini):
    rows = rows_of({**crossed_scores(), GOLD_ONLY: [1.0] * 8, BOTH_WHOLE: [0.0] * 8})
    rows += [row(f"q{i}", AGAIN, 1.0, axes={"repeat": 1}) for i in range(8)]
    table = build(rows, mini)
    for form in (*FORMATS.values(), as_text):
        text = form(table)
        for heading in ("further contrasts", NOISE, "recall of the retrieval itself"):
            assert heading in text
    assert max(map(len, as_text(table).splitlines())) <= 150
