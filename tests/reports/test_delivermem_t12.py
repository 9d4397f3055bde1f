"""DeliverMem Table 12 from rows: the signs of the ladder, one batch for all rungs, and what is not its own."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.delivermem_t12 import DECOY, LADDER, ORACLE, PHASE, SCRAMBLE, TABLE, WITHHELD
from benchsuite_reports.formats import FORMATS, as_text

# which rungs answer a question right, and how many questions there are of each kind: the marginals are the ladder's
PLANTED = {
    (ORACLE, SCRAMBLE, PHASE, DECOY, WITHHELD): 4,
    (ORACLE, SCRAMBLE, PHASE): 2,
    (ORACLE, SCRAMBLE): 3,
    (ORACLE,): 7,
    (DECOY,): 1,
    (WITHHELD,): 1,
    (): 2,
}


def planted():
    kinds = [right for right, count in PLANTED.items() for _ in range(count)]
    return {rung: [float(rung in right) for right in kinds] for rung in LADDER}


def lines(table):
    return {row[0]: row[1:] for row in table.blocks[0].rows}


def test_the_ladder_has_the_signs_of_the_paper(rows_of, mini):
    table = TABLE.build(rows_of(planted()), mini)
    shown = {label: (cells[3], cells[4]) for label, cells in lines(table).items()}
    assert shown == {
        "original - scramble": ("+35.00", "7/0"),
        "original - phase": ("+50.00", "10/0"),
        "original - decoy": ("+55.00", "12/1"),
        "original - withheld": ("+55.00", "12/1"),
        "decoy - withheld": ("+0.00", "1/1"),
        "phase - decoy": ("+5.00", "2/1"),
        "scramble - decoy": ("+20.00", "5/1"),
    }
    values = table.blocks[0].values
    assert values["original - phase"] == pytest.approx(10 / 20)
    assert values["original - phase.p"] == pytest.approx(2 / 2**10)
    assert lines(table)["original - phase"][1:3] == ("30.00", "80.00")
    assert lines(table)["decoy - withheld"][-1] == "insensitive"


def test_the_base_condition_and_the_clusters_stand_with_it(rows_of, mini):
    table = TABLE.build(rows_of(planted()), mini)
    assert "inferred" in dict(table.facts)["base condition"]
    assert [block.heading for block in table.blocks] == ["length 32k, model qwen", "length 32k, model qwen: by cluster"]
    assert [row[0] for row in table.blocks[1].rows] == list(lines(table))


def test_all_rungs_stand_on_the_same_questions(rows_of, row, mini):
    scores = planted()
    scores[DECOY] = ["error", *scores[DECOY][1:]]
    scores[SCRAMBLE] = [None, *scores[SCRAMBLE][1:]]
    rows = [*rows_of(scores), row("u0", ORACLE, 1.0, answerable=False)]
    table = TABLE.build(rows, mini)
    block = table.blocks[0]
    assert {cells[0] for cells in lines(table).values()} == {"19"}
    assert dict(block.left_out) == {"q0": "timeout error in oracle-pixels+decoy"}
    assert dict(block.facts)["errors"] == "oracle-pixels+decoy 1"
    bounds = dict(block.facts)["worst case bounds of the differences"]
    assert "original - decoy +55.00 to +60.00" in bounds
    assert "original - scramble" in bounds


def test_a_missing_rung_is_named_and_its_differences_are_not_shown(rows_of, mini):
    scores = planted()
    del scores[DECOY]
    table = TABLE.build(rows_of(scores), mini)
    assert dict(table.blocks[0].facts)["missing arms"] == "oracle-pixels+decoy"
    assert list(lines(table)) == ["original - scramble", "original - phase", "original - withheld"]


def test_without_a_counterfactual_there_is_no_ladder(rows_of, mini):
    assert TABLE.build(rows_of({ORACLE: [1.0], WITHHELD: [0.0]}), mini).blocks == ()
    assert TABLE.build([], mini).blocks == ()


def test_other_retrievals_and_lengths_do_not_mix_in(rows_of, mini):
    scores = planted()
    own = rows_of(scores)
    text = rows_of({replace(rung, retrieval="text"): [0.0] * 20 for rung in LADDER})
    assert TABLE.build([*own, *text], mini) == TABLE.build(own, mini)
    both = TABLE.build([*own, *rows_of({rung: [1.0] * 3 for rung in LADDER}, length="128k")], mini)
    assert [block.heading for block in both.blocks[::2]] == ["length 32k, model qwen", "length 128k, model qwen"]


def test_both_legs_of_each_rung_are_printed_and_an_unaltered_one_is_not_called_unfelt(rows_of, mini):
    def certify(a, b):
        scrambled = "scramble" in str(a["arm.delivery"]) + str(b["arm.delivery"])
        return Certificate(("modality",), True, "", not scrambled, ("modality: 1x1",) if scrambled else (), "", None)

    table = TABLE.build(rows_of({rung: [0.0] * 6 for rung in LADDER}, answer="a"), replace(mini, certificates=certify))
    assert lines(table)["original - phase"][6:9] == ("6/6", "6/6", "0")
    assert lines(table)["original - scramble"][6:9] == ("6/6", "0/6", "0")
    notes = table.blocks[0].notes
    assert "original - phase: no answer changed on 6 questions; qwen does not feel it." in notes
    assert not any(note.startswith("original - scramble: no answer") for note in notes)
    assert "original - scramble: modality: matched 6/6, altered 0/6; 6 not altered: modality: 1x1." in notes


def test_every_form_holds_every_difference(rows_of, mini):
    table = TABLE.build(rows_of(planted()), mini)
    for form in FORMATS.values():
        text = form(table)
        assert all(label in text for label in lines(table))
    assert max(map(len, as_text(table).splitlines())) <= 150
