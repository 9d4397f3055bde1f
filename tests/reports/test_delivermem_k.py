"""The K sweep: planted gains between budgets, and histories with fewer items than K."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.arms import DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_k import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text


def lines(table, block=0):
    return {row[0]: row[1:] for row in table.blocks[block].rows}


def at(rows_of, k, scores, **changes):
    return rows_of({DELIVERMEM: scores}, axes={"k": k}, n_items=k, cell=f"memlens:k{k}", **changes)


def sweep(rows_of, **changes):
    return [
        *at(rows_of, 3, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), **changes),
        *at(rows_of, 5, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0), **changes),
        *at(rows_of, 10, (0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), **changes),
        *at(rows_of, 20, (0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), **changes),
    ]


def test_neighbours_and_the_smallest_against_ten(rows_of, mini):
    table = build(sweep(rows_of), mini)
    assert list(lines(table)) == ["K 5 - K 3", "K 10 - K 5", "K 20 - K 10", "K 10 - K 3"]
    assert lines(table)["K 5 - K 3"][:6] == ("7", "14.29", "42.86", "+28.57", "2/0", "0.50")
    assert lines(table)["K 10 - K 5"][3:5] == ("+42.86", "4/1")
    assert lines(table)["K 20 - K 10"][3:6] == ("+0.00", "0/0", "1.0")
    assert lines(table)["K 10 - K 3"][3:5] == ("+71.43", "6/1")
    assert table.blocks[0].values["3->10"] == pytest.approx(5 / 7)


def test_what_was_delivered_where_the_history_is_short(rows_of, mini):
    rows = sweep(rows_of)
    for each in rows:
        if each["arm.k"] == 20 and each["question"] in ("q0", "q1", "q2", "q3"):
            each["n_items"] = 14
    table = build(rows, mini)
    assert table.blocks[-1].heading == "length 32k, model qwen: accuracy by budget"
    assert lines(table, -1) == {
        "Constant refusal (by rule)": ("7", "0.00", "", ""),
        "K = 3": ("7", "14.29", "3", "0"),
        "K = 5": ("7", "42.86", "5", "0"),
        "K = 10": ("7", "85.71", "10", "0"),
        "K = 20": ("7", "85.71", "14", "4"),
    }
    assert table.blocks[-1].values["short.20"] == 4


def test_refusal_questions_count(rows_of, row, mini):
    rows = sweep(rows_of)
    rows += [row("u0", DELIVERMEM, float(k > 5), answerable=False, axes={"k": k}, n_items=k) for k in (3, 5, 10, 20)]
    table = build(rows, mini)
    assert lines(table)["K 10 - K 5"][:5] == ("8", "37.50", "87.50", "+50.00", "5/1")
    assert lines(table, -1)["Constant refusal (by rule)"][:2] == ("8", "12.50")


def test_two_budgets_give_one_contrast(rows_of, mini):
    rows = [each for each in sweep(rows_of) if each["arm.k"] in (5, 10)]
    assert list(lines(build(rows, mini))) == ["K 10 - K 5"]
    rows = [each for each in sweep(rows_of) if each["arm.k"] in (3, 5)]
    assert list(lines(build(rows, mini))) == ["K 5 - K 3"]


def test_no_table_of_one_budget_nor_of_another_delivery(rows_of, mini):
    assert build(at(rows_of, 10, (1.0,)), mini).blocks == ()
    other = [*rows_of({UNSTAMPED: (1.0,)}, axes={"k": 3}), *rows_of({UNSTAMPED: (1.0,)})]
    assert build(other, mini).blocks == ()
    assert build([], mini).blocks == ()


def test_the_declared_variable_is_k_and_an_error_is_left_out(rows_of, row, mini):
    def certify(a, b):
        axes = tuple(key[4:] for key in a if key.startswith("arm.") and a[key] != b[key])
        why = () if b["arm.k"] != 20 else ("k: no further item",)
        return Certificate(axes, True, "", not why, why, "", None)

    rows = [each for each in sweep(rows_of) if (each["arm.k"], each["question"]) != (3, "q6")]
    rows.append(row("q6", DELIVERMEM, "error", axes={"k": 3}))
    table = build(rows, replace(mini, certificates=certify))
    assert lines(table)["K 20 - K 10"][6:8] == ("6/6", "0/6")
    assert any("k: matched 6/6, altered 0/6; 6 not altered: k: no further item" in n for n in table.blocks[0].notes)
    assert dict(table.blocks[0].left_out) == {"q6": "timeout error in both-deployed-region-k3"}


def test_every_form_is_whole(rows_of, mini):
    table = TABLE.build([*sweep(rows_of), *sweep(rows_of, length="8x")], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "+71.43" in form(table)
