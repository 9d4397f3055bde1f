"""Delivery, retrieval and their ratio by metric: the same answers, scored in two or three ways."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.errors import BenchError
from benchsuite_reports.arms import TEXT_CHANNEL
from benchsuite_reports.delivermem_metrics import TABLE, build
from benchsuite_reports.delivermem_t15 import ORACLE, ORACLE_WITHHELD
from benchsuite_reports.formats import FORMATS, as_text

RIGHT = {ORACLE: range(8), ORACLE_WITHHELD: range(2), TEXT_CHANNEL: range(5)}
"""Of ten questions, those that SubEM has right; F1 gives .5 to all others with pixels."""


def lines(table):
    return {row[0]: row[1:] for row in table.blocks[0].rows}


def ten(row, judge="none", **changes):
    rows = []
    for condition, right in RIGHT.items():
        for i in range(10):
            subem = float(i in right)
            scores = {"subem": subem, "f1": max(subem, 0.5 if condition.delivery == "pixels" else 0.0)}
            metric, score = "subem", subem
            if judge != "none":
                score = float(i in right or i == 9)
                scores["judge"], metric = score, "judge"
            rows.append(row(f"q{i}", condition, score, judge=judge, metric=metric, scores=scores, **changes))
    return rows


def test_each_metric_has_its_two_quantities_and_their_ratio(row, mini):
    table = build(ten(row), mini)
    assert list(lines(table)) == [
        f"{metric}: {what}" for metric in ("SubEM", "F1") for what in ("delivery", "retrieval", "ratio")
    ]
    assert lines(table)["SubEM: delivery"][:6] == ("10", "20.00", "80.00", "+60.00", "6/0", "0.031")
    assert lines(table)["SubEM: retrieval"][:5] == ("10", "50.00", "80.00", "+30.00", "3/0")
    assert lines(table)["SubEM: ratio"][3] == "2.00x"
    assert lines(table)["F1: delivery"][:5] == ("10", "20.00", "90.00", "+70.00", "8/0")
    assert lines(table)["F1: delivery"][5].endswith("+")  # graded: a test on sizes
    assert lines(table)["F1: retrieval"][3] == "+15.00"
    values = table.blocks[0].values
    assert values["ratio.f1"] == pytest.approx(0.7 / 0.15)
    assert values["retrieval.f1.wins"] == 3


def test_a_judged_run_has_the_judge_as_well(row, mini):
    table = build(ten(row, judge="j", scorer="memlens-judge/1"), replace(mini, models={"j": "m"}))
    assert lines(table)["judge: delivery"][:4] == ("10", "30.00", "90.00", "+60.00")
    assert lines(table)["SubEM: delivery"][1:3] == ("20.00", "80.00")
    assert table.blocks[0].heading == "length 32k, model qwen, judge j"


def test_rows_without_further_scores_are_shown_by_what_they_were_scored(rows_of, mini):
    rows = rows_of({ORACLE: (1.0, 1.0), ORACLE_WITHHELD: (0.0, 1.0), TEXT_CHANNEL: (1.0, 1.0)})
    table = build(rows, mini)
    assert lines(table)["score: delivery"][:5] == ("2", "50.00", "100.00", "+50.00", "1/0")
    assert lines(table)["score: ratio"][3] == "n/a"


def test_errors_and_unparsed_answers(row, mini):
    rows = ten(row)
    for i, each in enumerate(rows):
        if each["question"] == "q0" and each["arm.retrieval"] == "text":
            rows[i] = row("q0", TEXT_CHANNEL, "error")
        if each["question"] == "q1" and each["arm.retrieval"] == "text":
            rows[i] = row("q1", TEXT_CHANNEL, None, refused=None)
    table = build(rows, mini)
    assert dict(table.blocks[0].left_out) == {"q0": "timeout error in text-pixels"}
    assert lines(table)["SubEM: retrieval"][:5] == ("9", "33.33", "77.78", "+44.44", "4/0")
    assert dict(table.blocks[0].facts)["unparsed, counted as not correct"] == "text-pixels 1"


def test_a_row_that_lacks_a_metric_is_no_silent_zero(row, mini):
    rows = ten(row)
    rows[0] = {key: value for key, value in rows[0].items() if key != "scores.f1"}
    with pytest.raises(BenchError, match="no score 'f1'"):
        build(rows, mini)


def test_certificates_hold_for_all_metrics(row, mini):
    def certify(a, b):
        why = ("modality: no image",) if a["question"] == "q7" else ()
        return Certificate(("modality",), True, "", not why, why, "", None)

    table = build(ten(row), replace(mini, certificates=certify))
    text = dict(table.blocks[0].facts)["certificate, Delivery"]
    assert text == "modality: matched 10/10, altered 9/10; 1 not altered: modality: no image"


def test_one_quantity_alone_and_none(row, rows_of, mini):
    rows = [each for each in ten(row) if each["arm.retrieval"] == "oracle"]
    table = build(rows, mini)
    assert lines(table)["F1: ratio"][3] == "n/a"
    assert "F1: retrieval" not in lines(table)
    assert build(rows_of({ORACLE: (1.0,)}), mini).blocks == ()
    unanswerable = [row("u", each, 1.0, answerable=False, scores={"refusal": 1.0}) for each in RIGHT]
    assert build(unanswerable, mini).blocks[0].rows == ()


def test_every_form_is_whole(row, mini):
    table = TABLE.build(ten(row), mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "4.67x" in form(table)
