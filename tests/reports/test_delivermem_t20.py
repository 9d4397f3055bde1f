"""DeliverMem Table 20: planted losses of selecting without the query, at two lengths."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.arms import DELIVERMEM, TEXT_CHANNEL
from benchsuite_reports.delivermem_t20 import RANDOM, RECENCY, TABLE, build
from benchsuite_reports.formats import FORMATS, as_text


def lines(table, heading):
    (block,) = [block for block in table.blocks if block.heading == heading]
    return {row[0].strip(): row[1:] for row in block.rows}


def eight(rows_of, row, length="1x", **changes):
    """Six answerable questions and two that refusing gets right."""
    answerable = {DELIVERMEM: (1, 1, 1, 1, 1, 0), RECENCY: (1, 0, 0, 0, 0, 1), RANDOM: (0,) * 6}
    rows = rows_of({key: tuple(map(float, each)) for key, each in answerable.items()}, length=length, **changes)
    for condition, right in ((DELIVERMEM, (1.0, 0.0)), (RECENCY, (1.0, 1.0)), (RANDOM, (1.0, 0.0))):
        rows += [row(f"u{i}", condition, right[i], length=length, answerable=False, **changes) for i in range(2)]
    return rows


def test_accuracy_by_length_and_the_differences(rows_of, row, mini):
    table = build([*eight(rows_of, row), *rows_of({DELIVERMEM: (1.0,), RECENCY: (0.0,)}, length="4x")], mini)
    assert table.blocks[0].columns == ("Selection", "1x", "4x")
    assert lines(table, "model qwen: accuracy by length") == {
        "n": ("8", "1"),
        "Constant refusal (by rule)": ("25.00", "0.00"),
        "With the query (DeliverMem)": ("75.00", "100.00"),
        "Recency, no query": ("50.00", "0.00"),
        "Random, no query": ("12.50", "n/a"),
    }
    shown = lines(table, "length 1x, model qwen")
    assert shown["query - recency"][:6] == ("8", "50.00", "75.00", "+25.00", "4/2", "0.69")
    assert shown["query - random"][:6] == ("8", "12.50", "75.00", "+62.50", "5/0", "0.062")
    assert lines(table, "length 4x, model qwen")["query - recency"][3] == "+100.00"
    block = next(block for block in table.blocks if block.heading == "length 1x, model qwen")
    assert block.values["random"] == pytest.approx(0.625)
    assert block.values["recency.answerable.losses"] == 1
    assert block.values["recency.answerable.n"] == 6


def test_the_declared_variable_is_the_retrieval(rows_of, row, mini):
    def certify(a, b):
        axes = tuple(key[4:] for key in a if key.startswith("arm.") and a[key] != b[key])
        return Certificate(axes, True, "", True, (), "", None)

    table = build(eight(rows_of, row), replace(mini, certificates=certify))
    assert lines(table, "length 1x, model qwen")["query - random"][6:8] == ("8/8", "8/8")


def test_errors_are_left_out_and_bound_the_differences(rows_of, row, mini):
    rows = eight(rows_of, row)
    spoilt = row("q0", RANDOM, "error", length="1x")
    rows = [spoilt if each["cell"] == spoilt["cell"] else each for each in rows]
    table = build(rows, mini)
    block = next(block for block in table.blocks if block.heading == "length 1x, model qwen")
    assert dict(block.left_out) == {"q0": "timeout error in random-deployed"}
    assert lines(table, "model qwen: accuracy by length")["n"] == ("7",)
    assert "query - random +50.00 to +62.50" in dict(block.facts)["worst case bounds of the differences"]


def test_one_control_alone_names_the_other_as_missing(rows_of, mini):
    table = build(rows_of({DELIVERMEM: (1.0, 0.0), RANDOM: (0.0, 0.0)}), mini)
    assert dict(table.blocks[1].facts)["missing arms"] == "recency-deployed"
    assert lines(table, "model qwen: accuracy by length")["Recency, no query"] == ("n/a",)


def test_refusal_questions_alone_leave_the_answerable_lines_empty(row, mini):
    rows = [row("u0", condition, 1.0, answerable=False) for condition in (DELIVERMEM, RANDOM)]
    shown = lines(build(rows, mini), "length 32k, model qwen")
    assert shown["query - random"][:4] == ("1", "100.00", "100.00", "+0.00")
    assert shown["query - random, answerable"][:4] == ("0", "n/a", "n/a", "n/a")


def test_no_table_without_both_sides(rows_of, mini):
    assert build(rows_of({DELIVERMEM: (1.0,), TEXT_CHANNEL: (1.0,)}), mini).blocks == ()
    assert build(rows_of({RECENCY: (1.0,), RANDOM: (1.0,)}), mini).blocks == ()


def test_every_form_is_whole_and_the_order_of_rows_does_not_matter(rows_of, row, mini):
    rows = [*eight(rows_of, row), *eight(rows_of, row, length="16x")]
    table = TABLE.build(rows, mini)
    assert table == TABLE.build(rows[::-1], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "+62.50" in form(table)
