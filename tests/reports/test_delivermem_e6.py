"""Input cost by composition, from rows and token counts: medians, shares, and the change over lengths."""

from dataclasses import replace

import pytest

from benchsuite.errors import BenchError
from benchsuite_reports.arms import DELIVERMEM, DIRECT, TEXT_CHANNEL
from benchsuite_reports.delivermem_e6 import ORACLE, TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.table import TokenCounts


def lines(table, block=0):
    return {row[0].strip(): row[1:] for row in table.blocks[block].rows}


def sent(row, condition, length, texts, visual, images, **changes):
    """Rows of questions q0, q1, ... and the text tokens of each, by cell."""
    rows = [
        row(f"q{i}", condition, 1.0, length=length, image_tokens=tokens, n_images=count, **changes)
        for i, (tokens, count) in enumerate(zip(visual, images, strict=True))
    ]
    return rows, {str(each["cell"]): text for each, text in zip(rows, texts, strict=True)}


def with_counts(facts, *parts):
    counted = {cell: text for _, texts in parts for cell, text in texts.items()}
    return [row for rows, _ in parts for row in rows], replace(facts, tokens=TokenCounts("tok", counted, {}))


def growing(row):
    """Text falls by a quarter while images more than double, as in the paper."""
    return (
        sent(row, DELIVERMEM, "1x", (1000, 1200, 800), (400, 600, 200), (2, 3, 1)),
        sent(row, DELIVERMEM, "8x", (750, 900, 600), (908, 900, 1000), (7, 6, 8)),
    )


def test_medians_shares_and_the_change_over_lengths(row, mini):
    rows, facts = with_counts(mini, *growing(row))
    table = build(rows, facts)
    assert table.columns == ("Median over questions", "1x", "8x", "1x to 8x")
    assert lines(table) == {
        "DeliverMem: questions": ("3", "3", ""),
        "tokens": ("1,400", "1,658", "+18%"),
        "text tokens": ("1,000", "750", "-25%"),
        "image tokens": ("400", "908", "+127%"),
        "image share in %": ("28.57", "54.76", "+26.19"),
        "images": ("2", "7", "+250%"),
    }
    values = table.blocks[0].values
    assert values["share.both-deployed-region.1x"] == pytest.approx(400 / 1400)
    assert values["visual.both-deployed-region.8x"] == 908
    assert dict(table.facts)["tokens of text"] == "by tok"


def test_a_question_counted_at_one_length_alone_is_in_no_median(row, mini):
    (short, counted), (long, more) = growing(row)
    del more[str(long[1]["cell"])]
    rows, facts = with_counts(mini, (short, counted), (long, more))
    table = build(rows, facts)
    assert lines(table)["DeliverMem: questions"] == ("2", "2", "")
    assert lines(table)["text tokens"] == ("900", "675", "-25%")
    assert dict(table.blocks[0].left_out) == {"q1 in both-deployed-region": "not counted at 8x"}


def test_an_error_was_not_sent_and_missing_images_are_said(row, mini):
    (short, counted), second = growing(row)
    short[0] = row("q0", DELIVERMEM, "error", length="1x", image_tokens=None)
    short[1]["n_missing"] = 2
    rows, facts = with_counts(mini, (short, counted), second)
    table = build(rows, facts)
    assert lines(table)["DeliverMem: questions"][0] == "2"
    about = dict(table.blocks[0].facts)
    assert about["errors"] == "1x: 1; 8x: 0"
    assert about["missing images, which cost nothing"] == "1x: 2; 8x: 0"


def test_other_conditions_stand_beside_it_at_their_lengths(row, mini):
    parts = [*growing(row), sent(row, TEXT_CHANNEL, "1x", (500, 600, 700), (100, 0, 0), (1, 0, 0))]
    parts.append(sent(row, ORACLE, "8x", (500, 500, 500), (0, 0, 0), (0, 0, 0)))
    rows, facts = with_counts(mini, *parts)
    table = build(rows, facts)
    shown = [line for line in table.blocks[0].rows if "questions" in line[0]]
    assert shown[1:] == [
        ("Text channel: questions", "3", "n/a", ""),
        ("Gold messages: questions", "n/a", "3", ""),
    ]
    assert table.blocks[0].rows[7] == ("  tokens", "600", "n/a", "n/a")
    assert dict(table.blocks[0].facts)["missing arms"] == "1x: oracle-pixels; 8x: text-pixels"
    assert table.blocks[0].rows[-2] == ("  image share in %", "n/a", "0.00", "n/a")


def test_nothing_grows_from_nothing(row, mini):
    parts = (
        sent(row, DELIVERMEM, "1x", (10,), (0,), (0,)),
        sent(row, DELIVERMEM, "8x", (10,), (5,), (1,)),
    )
    rows, facts = with_counts(mini, *parts)
    assert lines(build(rows, facts))["image tokens"] == ("0", "5", "n/a")


def test_one_length_has_no_change_and_without_counts_it_says_so(row, mini):
    rows, facts = with_counts(mini, growing(row)[0])
    assert build(rows, facts).columns == ("Median over questions", "1x")
    table = build(rows, mini)
    assert dict(table.facts)["tokens of text"] == "not counted in this run"
    assert lines(table)["DeliverMem: questions"] == ("0",)
    assert lines(table)["tokens"] == ("n/a",)


def test_a_block_per_model_and_one_served_model_in_each(row, mini):
    first, second = growing(row)
    other = sent(row, DELIVERMEM, "1x", (10,), (20,), (1,), model="alpha")
    rows, facts = with_counts(mini, first, second, other)
    table = build(rows, facts)
    assert [block.heading for block in table.blocks] == ["model alpha", "model qwen"]
    assert lines(table)["tokens"] == ("30", "n/a", "n/a")
    rows[0]["model_served"] = "another"
    with pytest.raises(BenchError, match="models as served"):
        build(rows, facts)


def test_without_delivermem_there_is_no_table(rows_of, mini):
    assert build(rows_of({DIRECT: (1.0,), TEXT_CHANNEL: (1.0,)}), mini).blocks == ()
    assert build([], mini).blocks == ()


def test_it_asks_for_token_counts_and_every_form_is_whole(row, mini):
    assert TABLE.needs_tokens
    rows, facts = with_counts(mini, *growing(row))
    table = TABLE.build(rows, facts)
    assert table == TABLE.build(rows[::-1], facts)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "127" in form(table)
