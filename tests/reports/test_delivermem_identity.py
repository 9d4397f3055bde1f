"""Where the identity lives, from planted rows: the 2x2 of pixels by text, and the further tag controls."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.delivermem_identity import (
    CONSTANT,
    IN_PIXELS,
    IN_TEXT,
    NEITHER,
    SHUFFLED,
    SHUFFLED_PIXELS,
    TABLE,
    TAG,
)
from benchsuite_reports.formats import FORMATS, as_text

N = 20
# right: neither channel helps alone but for two questions by text and one by pixels, and both help on eight
RIGHT = {
    NEITHER: range(4),
    IN_PIXELS: range(5),
    IN_TEXT: range(6),
    TAG: range(12),
    CONSTANT: range(1, 5),
    SHUFFLED: range(11),
    SHUFFLED_PIXELS: range(3),
}


def planted(rows_of, right=RIGHT, **changes):
    return rows_of({each: [float(i in which) for i in range(N)] for each, which in right.items()}, **changes)


def lines(block):
    return {line[0]: line[1:] for line in block.rows}


def named(table):
    """The blocks by what stands after the group in their heading."""
    return {block.heading.partition("model qwen")[2].removeprefix(": "): block for block in table.blocks}


def test_simple_effects_and_further_controls(rows_of, mini):
    block = TABLE.build(planted(rows_of), mini).blocks[0]
    assert {label: (cells[3], cells[4]) for label, cells in lines(block).items()} == {
        "stamp, text says nothing": ("+5.00", "1/0"),
        "stamp, text names the tag": ("+30.00", "6/0"),
        "name, pixels unstamped": ("+10.00", "2/0"),
        "name, pixels stamped": ("+35.00", "7/0"),
        "both against neither": ("+40.00", "8/0"),
        "tag - one mark on all": ("+40.00", "8/0"),
        "tag - shuffled, text follows": ("+5.00", "1/0"),
        "tag - shuffled, text stays": ("+45.00", "9/0"),
        "shuffled - one mark on all": ("+35.00", "7/0"),
    }
    assert lines(block)["both against neither"][1:3] == ("20.00", "60.00")
    assert lines(block)["stamp, text says nothing"][-1] == "insensitive"
    assert block.values["uniqueness"] == pytest.approx(0.35)
    assert block.values["map_shuffled_pixels.p"] == pytest.approx(2 / 2**9)


def test_cells_main_effects_and_interaction(rows_of, mini):
    blocks = named(TABLE.build(planted(rows_of), mini))
    assert lines(blocks["the four cells"]) == {
        "pixels unstamped": ("20.00", "30.00"),
        "pixels stamped": ("25.00", "60.00"),
    }
    found = lines(blocks["main effects and interaction"])
    assert found["pixels (main effect)"][:3] == ("+17.50", "7/0", "0.016"), "mean of +5 and +30"
    assert found["text (main effect)"][:3] == ("+22.50", "8/0", "0.0078"), "mean of +10 and +35"
    # q4 has pixels alone, q5 text alone: without them the interaction would be +30, unhalved it is 60 + 20 - 30 - 25
    assert found["interaction"][0] == "+25.00"
    assert found["interaction"][1] == "6/1"
    values = blocks["main effects and interaction"].values
    assert values["interaction"] == pytest.approx(0.25)
    assert blocks["the four cells"].values["pixels stamped.named"] == pytest.approx(0.6)


def test_main_effects_and_interaction_by_cluster(rows_of, mini):
    rows = [{**each, "cluster": f"c{int(str(each['question'])[1:]) // 10}"} for each in planted(rows_of)]
    found = lines(named(TABLE.build(rows, mini))["main effects and interaction"])
    assert [cells[4:] for cells in found.values()] == [("2", "0.50"), ("2", "0.50"), ("2", "0.50")]
    assert found["interaction"][0] == "+25.00"
    assert found["interaction"][3] != "n/a"
    assert lines(named(TABLE.build(rows, mini))["by cluster"])["both against neither"][3] == "2"


def test_a_channel_that_does_nothing_is_null(rows_of, mini):
    right = {**RIGHT, IN_PIXELS: range(4), TAG: range(6)}
    found = lines(named(TABLE.build(planted(rows_of, right), mini))["main effects and interaction"])
    assert found["pixels (main effect)"][:3] == ("+0.00", "0/0", "1.0")
    assert found["interaction"][:3] == ("+0.00", "0/0", "1.0")
    assert found["text (main effect)"][:2] == ("+10.00", "2/0")


def test_without_one_of_the_four_there_is_no_grid(rows_of, mini):
    right = {condition: which for condition, which in RIGHT.items() if condition is not IN_PIXELS}
    table = TABLE.build(planted(rows_of, right), mini)
    assert list(named(table)) == ["", "by cluster"]
    assert dict(table.blocks[0].facts)["missing arms"] == "both-deployed+tagpix-region"
    assert "name, pixels stamped" not in lines(table.blocks[0])
    assert lines(table.blocks[0])["name, pixels unstamped"][3] == "+10.00"


def test_an_error_leaves_the_question_out_of_cells_and_contrasts(rows_of, row, mini):
    spoilt = row("q11", SHUFFLED, "error")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in planted(rows_of)]
    blocks = named(TABLE.build(rows, mini))
    assert dict(blocks[""].left_out) == {"q11": "timeout error in both-deployed+tagshuf-region"}
    assert lines(blocks[""])["both against neither"][0] == "19"
    assert lines(blocks["the four cells"])["pixels stamped"][1] == "57.89"


def test_refusal_questions_count_and_their_rule_is_said(rows_of, row, mini):
    rows = [*planted(rows_of), *(row("u", condition, 1.0, answerable=False) for condition in RIGHT)]
    block = TABLE.build(rows, mini).blocks[0]
    assert lines(block)["both against neither"][0] == "21"
    assert dict(block.facts)["constant refusal (by rule, no model)"] == "4.76 of all 21"


def test_the_map_that_is_no_permutation_is_counted(rows_of, mini):
    def certify(a, b):
        drawn = "tagshuf" in str(a["arm.delivery"]) + str(b["arm.delivery"])
        alone = drawn and a["question"] == "q2"
        return Certificate(("identity",), True, "", not alone, ("identity: one image",) if alone else (), "", None)

    block = TABLE.build(planted(rows_of), replace(mini, certificates=certify)).blocks[0]
    assert lines(block)["tag - shuffled, text stays"][6:8] == ("20/20", "19/20")
    assert lines(block)["tag - one mark on all"][6:8] == ("20/20", "20/20")


def test_every_form_is_whole(rows_of, mini):
    table = TABLE.build(planted(rows_of), mini)
    assert all(len(line) == len(block.columns or table.columns) for block in table.blocks for line in block.rows)
    for form in (*FORMATS.values(), as_text):
        text = " ".join(form(table).split())
        assert "pixels unstamped" in text
        assert "the interaction is their unhalved difference" in text
    assert TABLE.build(planted(rows_of, {TAG: range(3)}), mini).blocks == ()
