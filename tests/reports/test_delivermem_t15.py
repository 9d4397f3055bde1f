"""DeliverMem Table 15: both quantities of each model with planted wins and losses, and what each model declines."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.errors import BenchError
from benchsuite_reports.arms import BOTH_WHOLE, TEXT_CHANNEL, WITHHELD
from benchsuite_reports.delivermem_t15 import GOLD_ALONE, ORACLE, ORACLE_WITHHELD, TABLE, build
from benchsuite_reports.formats import FORMATS, as_text


def ones(right, n=10):
    """Scores of ``n`` questions, those ``right`` correct."""
    return [float(i in right) for i in range(n)]


SMALL = {
    ORACLE: ones(range(9)),
    ORACLE_WITHHELD: ones({0, 1, 9}),
    TEXT_CHANNEL: ones(range(6)),
}
LARGE = {
    ORACLE: ones(range(8)),
    ORACLE_WITHHELD: ones(range(4)),
    TEXT_CHANNEL: ones(range(8)),
}


def lines(table, block=0):
    return {row[0]: row[1:] for row in table.blocks[block].rows}


def facts(table, block=0):
    return dict(table.blocks[block].facts)


def block_of(table, ending):
    (found,) = [i for i, block in enumerate(table.blocks) if block.heading.endswith(ending)]
    return found


def test_the_quantities_of_two_models_stand_in_one_block(rows_of, mini):
    table = build([*rows_of(SMALL, model="small"), *rows_of(LARGE, model="large")], mini)
    assert [block.heading for block in table.blocks if "cluster" not in block.heading] == [
        "length 32k",
        "length 32k: abstention on answerable questions",
        "length 32k: what one model declines and another attempts",
    ]
    assert lines(table)["small: Delivery"][:6] == ("10", "30.00", "90.00", "+60.00", "7/1", "0.070")
    assert lines(table)["small: Retrieval"][:6] == ("10", "60.00", "90.00", "+30.00", "3/0", "0.25")
    assert lines(table)["small: Gap"][:6] == ("10", "30.00", "60.00", "+30.00", "4/1", "0.38")
    assert lines(table)["small: ratio"][3] == "2.00x"
    assert lines(table)["large: Retrieval"][3:5] == ("+0.00", "0/0")
    assert lines(table)["large: ratio"][3] == "n/a"
    values = table.blocks[0].values
    assert values["delivery.small"] == pytest.approx(0.6)
    assert (values["delivery.small.wins"], values["delivery.small.losses"]) == (7, 1)
    assert values["ratio.small"] == pytest.approx(2.0)
    assert values["ratio.large"] is None
    assert facts(table)["model as served"] == "large: large-served; small: small-served"


def test_a_negative_retrieval_term_has_no_ratio(rows_of, mini):
    table = build(rows_of({**SMALL, TEXT_CHANNEL: ones(range(10))}), mini)
    assert lines(table)["qwen: Retrieval"][3] == "-10.00"
    assert lines(table)["qwen: ratio"][3] == "n/a"


def test_each_contrast_has_both_legs_of_its_certificate(rows_of, mini):
    def certify(a, b):
        declared = [axis for axis in ("retrieval", "delivery", "model") if a[f"arm.{axis}"] != b[f"arm.{axis}"]]
        sound = a["question"] != "q3" or declared != ["delivery"]
        return Certificate(tuple(declared), sound, "" if sound else "item 2: text", sound, (), "", None)

    rows = [*rows_of(SMALL, model="small"), *rows_of(LARGE, model="large")]
    table = build(rows, replace(mini, certificates=certify))
    assert lines(table)["small: Delivery"][6:8] == ("9/10", "9/10")
    assert lines(table)["small: Gap"][6:8] == ("10/10", "10/10")
    assert "small: Delivery: q3: item 2: text." in table.blocks[0].notes
    assert any("retrieval + delivery: matched 10/10" in note for note in table.blocks[0].notes)
    crossed = table.blocks[-1].rows
    assert [row[-2:] for row in crossed] == [("10/10", "10/10")] * 2


def refusals(row, model, condition, declined, right, n=10):
    return [
        row(
            f"q{i}",
            condition,
            float(i in right),
            model=model,
            refused=i in declined,
            **({"word": "refused"} if i in declined else {}),
        )
        for i in range(n)
    ]


def test_abstention_and_the_cross_table(rows_of, row, mini):
    rows = [*rows_of(SMALL, model="small"), *rows_of(LARGE, model="large")]
    rows += refusals(row, "small", BOTH_WHOLE, {0, 1}, {2, 3, 4, 5})
    rows += refusals(row, "large", BOTH_WHOLE, {1, 2, 3, 4, 5}, {6, 7, 8, 9})
    rows += refusals(row, "large", GOLD_ALONE, {9}, range(9))
    table = build(rows, mini)
    declining = lines(table, block_of(table, "abstention on answerable questions"))
    assert declining["small: both channels, whole image"] == ("10", "2", "20.00", "40.00", "50.00")
    assert declining["large: both channels, whole image"] == ("10", "5", "50.00", "40.00", "80.00")
    assert declining["large: gold messages alone"] == ("10", "1", "10.00", "90.00", "100.00")
    assert declining["small: text channel"] == ("10", "0", "0.00", "60.00", "60.00")
    crossed = lines(table, block_of(table, "another attempts"))
    assert crossed == {
        "small / large, both channels, whole image": ("10", "1", "0", "n/a", "n/a"),
        "large / small, both channels, whole image": ("10", "4", "4", "n/a", "n/a"),
    }
    assert table.blocks[-1].values["large.declines.small.right"] == 4


def test_models_meet_on_the_text_channel_where_one_lacks_both_channels(rows_of, row, mini):
    rows = [*rows_of(SMALL, model="small"), *rows_of(LARGE, model="large")]
    rows += refusals(row, "large", BOTH_WHOLE, {1}, {6})
    crossed = lines(build(rows, mini), -1)
    assert crossed["large / small, text channel"] == ("10", "0", "0", "n/a", "n/a")


def test_an_unparsed_answer_was_attempted_and_is_not_correct(rows_of, row, mini):
    rows = [*rows_of(SMALL), *(row(f"q{i}", BOTH_WHOLE, None if i == 0 else 1.0, refused=None) for i in range(10))]
    table = build(rows, mini)
    declining = lines(table, block_of(table, "abstention on answerable questions"))
    assert declining["qwen: both channels, whole image"] == ("10", "0", "0.00", "90.00", "90.00")
    assert facts(table)["unparsed, counted as not correct"] == "both-pixels-whole 1"


def test_one_model_alone_prints_its_rows(rows_of, mini):
    table = build(rows_of(SMALL), mini)
    assert list(lines(table)) == [f"qwen: {x}" for x in ("Delivery", "Retrieval", "Gap", "ratio")]
    assert not any("another attempts" in block.heading for block in table.blocks)
    assert facts(table)["missing arms"] == "gold_only-pixels, both-pixels-whole"


def test_an_error_is_left_out_by_name_of_its_own_model(rows_of, row, mini):
    rows = [*rows_of(SMALL, model="small"), *rows_of(LARGE, model="large")]
    spoilt = row("q0", ORACLE_WITHHELD, "error", model="large")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in rows]
    table = build(rows, mini)
    assert dict(table.blocks[0].left_out) == {"q0 by large": "timeout error in oracle-noimg"}
    assert lines(table)["large: Delivery"][0] == "9"
    assert lines(table)["small: Delivery"][0] == "10"
    assert "large: Delivery +40.00 to +50.00" in facts(table)["worst case bounds of the differences"]
    assert facts(table)["errors"] == "large: oracle-noimg 1; small: 0"
    # oracle-noimg is no condition of abstention: q0 stays there
    assert lines(table, block_of(table, "abstention on answerable questions"))["large: text channel"][0] == "10"


def test_a_missing_side_leaves_its_contrasts_out(rows_of, mini):
    table = build(rows_of({ORACLE: ones(range(9)), ORACLE_WITHHELD: ones({0})}), mini)
    assert list(lines(table)) == ["qwen: Delivery", "qwen: ratio"]
    assert lines(table)["qwen: ratio"][3] == "n/a"


def test_refusal_questions_are_not_its_own(rows_of, row, mini):
    rows = rows_of(SMALL) + [row("u0", condition, 1.0, answerable=False, refused=True) for condition in SMALL]
    table = build(rows, mini)
    assert lines(table)["qwen: Delivery"][0] == "10"
    none = [row("u0", condition, 1.0, answerable=False) for condition in SMALL]
    assert lines(build(none, mini))["qwen: Delivery"][:1] == ("0",)


def test_no_table_without_a_contrast_and_none_of_two_corpora(rows_of, mini):
    assert build(rows_of({TEXT_CHANNEL: (1.0,), WITHHELD: (1.0,), BOTH_WHOLE: (1.0,)}), mini).blocks == ()
    assert build([], mini).blocks == ()
    rows = [*rows_of(SMALL), *rows_of(LARGE, model="large", corpus="cd" * 32)]
    with pytest.raises(BenchError, match="corpora"):
        build(rows, mini)


def test_every_form_is_whole_and_the_order_of_rows_does_not_matter(rows_of, mini):
    rows = [*rows_of(SMALL, model="Qwen3-VL-8B-Instruct"), *rows_of(LARGE, model="Qwen3-VL-30B-A3B-Instruct")]
    table = TABLE.build(rows, mini)
    assert table == TABLE.build(rows[::-1], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "2.00x" in form(table)
