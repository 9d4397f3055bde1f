"""The table of declared contrasts: any suite's, with planted effects, and what cannot be made named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.stats.paired import sign_test
from benchsuite_reports.contrasts import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.table import Block, Condition, CorpusFacts, DeclaredContrast, RunFacts, Table

NOIMG, PIXELS = Condition("", "text", "noimg"), Condition("", "text", "pixels")
ORACLE = Condition("", "oracle", "pixels")
AGAIN = Condition("", "text", "pixels", repeat=1)
SCORES: Mapping[Condition, Sequence[float]] = {NOIMG: [0] * 10 + [1], PIXELS: [1] * 9 + [0, 0], ORACLE: [1] * 11}
DELIVERY = "delivery: noimg -> pixels"
RETRIEVAL = "retrieval: text -> oracle"


def declared(*texts: str, suite: str = "memlens", family: str = "one", primary: str = "") -> list[DeclaredContrast]:
    return [DeclaredContrast(text, suite, family, text == primary) for text in texts]


def facts(*contrasts: DeclaredContrast, **changes: Any) -> RunFacts:
    return RunFacts({"ab" * 32: CorpusFacts("mine", bundled=False)}, contrasts=contrasts, **changes)


def rows_by_label(block: Block) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in block.rows}


@pytest.fixture
def table(rows_of) -> Callable[..., Table]:
    """The table of these scores and contrasts."""

    def make(*contrasts: DeclaredContrast, scores: Any = SCORES, **changes: Any) -> Table:
        return build(rows_of(scores), facts(*contrasts, **changes))

    return make


def test_planted_effects_are_recovered_and_corrected_within_their_family(table):
    (block,) = table(*declared(DELIVERY, RETRIEVAL, primary=RETRIEVAL)).blocks
    assert block.heading == "memlens, family one"
    found = rows_by_label(block)
    assert list(found) == [
        "retrieval text -> oracle @ delivery pixels (primary)",
        "delivery noimg -> pixels @ retrieval text",
    ]
    assert found["delivery noimg -> pixels @ retrieval text"] == (
        "11", "9.09", "81.82", "+72.73", "9/1", "0.021", "0.043", "n/a", "n/a",
    )  # fmt: skip
    assert block.values["delivery noimg -> pixels @ retrieval text: sign_p"] == sign_test(9, 1) == 22 / 1024
    assert block.values["delivery noimg -> pixels @ retrieval text: holm_p"] == 44 / 1024
    assert block.values["retrieval text -> oracle @ delivery pixels (primary): wins"] == 2


def test_each_family_is_corrected_by_itself(table):
    made = table(*declared(DELIVERY), *declared(RETRIEVAL, family="two"), *declared(RETRIEVAL, family=""))
    assert [block.heading for block in made.blocks] == [
        "memlens, family one",
        "memlens, family two",
        "memlens",
    ]
    assert [row[7] for block in made.blocks for row in block.rows] == ["n/a"] * 3
    assert ("corpus", "mine, digest abababababab") in made.facts
    assert [label for label, _ in made.blocks[0].facts] == ["everywhere"]


def test_a_contrast_without_its_arms_names_them(table):
    texts = ("delivery: noimg -> caption", f"{DELIVERY} @ retrieval=oracle", "camera: a -> b", DELIVERY)
    (block,) = table(*declared(*texts)).blocks
    assert rows_by_label(block).keys() == {
        "delivery noimg -> pixels",
        "delivery: noimg -> caption: missing arms: delivery=caption",
        "delivery: noimg -> pixels @ retrieval=oracle: missing arms: delivery=noimg, retrieval=oracle",
        "camera: a -> b: missing arms: camera=a; camera=b",
    }
    assert block.rows[-1][1:] == ("0", *["n/a"] * 8)


def test_a_family_of_which_nothing_can_be_made_is_shown(table):
    (block,) = table(*declared("delivery: noimg -> caption")).blocks
    assert [row[0] for row in block.rows] == ["delivery: noimg -> caption: missing arms: delivery=caption"]
    for form in FORMATS.values():
        assert "missing arms" in form(table(*declared("delivery: noimg -> caption")))


def test_arms_that_differ_in_an_axis_that_is_not_declared_are_no_contrast(table):
    (block,) = table(*declared(DELIVERY), scores={NOIMG: [0], ORACLE: [1]}).blocks
    assert [row[0] for row in block.rows] == [f"{DELIVERY}: its arms differ in other axes too"]


def test_a_repeat_that_one_side_has_is_not_mixed_in(rows_of):
    rows = [
        *rows_of({NOIMG: [0, 0], PIXELS: [1, 0]}),
        *rows_of({AGAIN: [0, 0]}, axes={"repeat": 1}),
    ]
    for number, row in enumerate(rows):
        row["cell"] = f"memlens:{number}"
    (block,) = build(rows, facts(*declared(DELIVERY, "repeat: 0 -> 1 @ delivery=pixels"))).blocks
    found = rows_by_label(block)
    assert found["delivery noimg -> pixels"][:5] == ("2", "0.00", "50.00", "+50.00", "1/0")
    assert found["repeat 0 -> 1 @ delivery pixels"][:5] == ("2", "50.00", "0.00", "-50.00", "0/1")
    assert block.left_out == ()


def test_errors_are_left_out_and_a_contrast_of_errors_alone_says_so(table):
    scores = {NOIMG: [0, "error"], PIXELS: [1, 1], ORACLE: ["error", "error"]}
    (block,) = table(*declared(DELIVERY, RETRIEVAL), scores=scores).blocks
    assert rows_by_label(block)["delivery noimg -> pixels @ retrieval text"][0] == "1"
    assert block.left_out == (("q1", "timeout error in a"),)
    assert block.rows[-1][0] == (
        "retrieval text -> oracle @ delivery pixels: no question has an answer in both arms; q0: timeout error in b"
    )


def test_a_suite_of_ones_own_and_its_axis(rows_of):
    own = [
        {**row, "suite": "mine", "arm.camera": camera, "cell": f"mine:{camera}-{row['question']}"}
        for camera, scores in (("near", [1, 1, 1]), ("far", [0, 0, 1]))
        for row in rows_of({NOIMG: scores})
    ]
    contrasts = (*declared(DELIVERY), *declared("camera: far -> near", suite="mine", family="lens"))
    blocks = build([*rows_of(SCORES), *own], facts(*contrasts)).blocks
    assert [block.heading for block in blocks] == ["memlens, family one", "mine, family lens"]
    assert rows_by_label(blocks[1])["camera far -> near"][:5] == ("3", "33.33", "100.00", "+66.67", "2/0")
    assert build(own, facts(*contrasts)).blocks[0].heading == "mine, family lens"


def test_each_contrast_has_its_certificate(table):
    def certify(a: Mapping[str, Any], b: Mapping[str, Any]) -> Certificate | str:
        if a["arm.retrieval"] != b["arm.retrieval"]:
            return "no record of the request"
        sound = a["question"] != "q3"
        reasons = ("modality: no image is shown",) if a["question"] == "q4" else ()
        difference = "" if sound else "the question differs"
        return Certificate(("modality",), sound, difference, not reasons, reasons, "", 0)

    made = table(*declared(DELIVERY, RETRIEVAL), certificates=certify)
    (block,) = made.blocks
    found = rows_by_label(block)
    assert found["delivery noimg -> pixels @ retrieval text"][-2:] == ("10/11", "10/11")
    assert found["retrieval text -> oracle @ delivery pixels"][-2:] == ("n/a", "n/a")
    assert (
        "delivery noimg -> pixels @ retrieval text: not matched, q3: the question differs; 1 not altered: "
        in " ".join(block.notes)
    )
    assert "retrieval text -> oracle @ delivery pixels: not certified: no record of the request." in block.notes
    assert block.values["delivery noimg -> pixels @ retrieval text: matched"] == 10
    assert block.values["retrieval text -> oracle @ delivery pixels: matched"] is None


def test_nothing_declared_or_no_rows_gives_no_table(rows_of):
    assert TABLE.build(rows_of(SCORES), facts()).blocks == ()
    assert TABLE.build([], facts(*declared(DELIVERY))).blocks == ()


def test_every_form_has_the_contrast_and_what_is_missing(table):
    made = table(*declared(DELIVERY, "delivery: noimg -> caption"))
    for form in (as_text, *FORMATS.values()):
        text = " ".join(form(made).split())
        assert "+72.73" in text
        assert "caption" in text
    assert max(map(len, as_text(made).splitlines())) <= 100
