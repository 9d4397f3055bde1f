"""Rows sorted into conditions and paired: what is dropped, what is left out, and how far a figure could move."""

import pytest

from benchsuite.errors import BenchError
from benchsuite_reports.arms import (
    BOTH_WHOLE,
    DELIVERMEM,
    DIRECT,
    TEXT_CHANNEL,
    UNSTAMPED,
    WITHHELD,
    group_facts,
    group_rows,
    lengths_of,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.table import EncoderFacts, RunFacts

CONDITIONS = (WITHHELD, TEXT_CHANNEL, BOTH_WHOLE, UNSTAMPED, DELIVERMEM)


def test_the_index_tells_conditions_apart_only_where_retrieval_reads_one(row):
    rows = [row("q0", condition, 1.0) for condition in CONDITIONS]
    (group,) = group_rows(rows, CONDITIONS)
    assert list(group.rows) == [
        "text-noimg",
        "text-pixels",
        "both-pixels-whole",
        "both-pixels-region",
        "both-deployed-region",
    ]
    whole = row("q0", TEXT_CHANNEL, 0.0, axes={"index": "whole"})
    for order in ([*rows, whole], [whole, *rows]):
        (group,) = group_rows(order, CONDITIONS)
        assert group.heading == "length 32k, model qwen"
        assert group.rows["text-pixels"]["q0"]["score"] == 1.0  # the cell of the default index, by its id


def test_rows_of_another_base_condition_or_suite_are_not_taken(row):
    rows = [
        row("q0", DELIVERMEM, 1.0, axes=axes)
        for axes in ({"k": 5}, {"repeat": 1}, {"state": "S2"}, {"method": "m", "retrieval": "none"})
    ]
    assert group_rows([*rows, row("q0", DELIVERMEM, 1.0, suite="memeye")], CONDITIONS) == []


def test_a_further_axis_makes_a_group_of_its_own_and_lengths_are_in_order(row):
    rows = [row("q0", DELIVERMEM, 1.0, length=length) for length in ("128k", "32k", "64k")]
    rows.append(row("q0", DELIVERMEM, 1.0, axes={"condition": "C0"}))
    groups = group_rows(rows, CONDITIONS)
    assert lengths_of(groups) == ("32k", "64k", "128k")
    assert [group.heading for group in groups] == [
        "length 32k, model qwen",
        "length 32k, model qwen, condition C0",
        "length 64k, model qwen",
        "length 128k, model qwen",
    ]


def test_a_question_without_an_answer_everywhere_is_left_out_with_every_reason(row):
    rows = [
        row("q0", WITHHELD, 1.0),
        row("q0", DELIVERMEM, 0.0),
        row("q1", WITHHELD, "error"),
        row("q1", DELIVERMEM, "error"),
        row("q2", DELIVERMEM, 1.0),
        row("q3", WITHHELD, None),
        row("q3", DELIVERMEM, 1.0),
    ]
    paired = pair(group_rows(rows, CONDITIONS)[0])
    assert paired.kept == ("q0", "q3")
    assert paired.left_out == {
        "q1": "timeout error in text-noimg; timeout error in both-deployed-region",
        "q2": "no row in text-noimg",
    }
    assert paired.accuracy("text-noimg") == 0.5
    assert paired.accuracy("text-pixels") is None
    found = paired.difference("text-noimg", "both-deployed-region")
    assert (found.wins, found.losses, found.estimate) == (1, 1, 0.0)
    assert paired.difference("text-noimg", "text-pixels") is None


def test_bounds_by_hand(row):
    # withheld 1 0 ? ?, DeliverMem 1 1 1 ?: four were asked
    rows = [
        *(row(f"q{i}", WITHHELD, score) for i, score in enumerate((1.0, 0.0, "error", None))),
        *(row(f"q{i}", DELIVERMEM, score) for i, score in enumerate((1.0, 1.0, 1.0, "error"))),
    ]
    paired = pair(group_rows(rows, CONDITIONS)[0])
    assert paired.bounds({"text-noimg": 1}) == (0.25, 0.75)
    assert paired.bounds({"both-deployed-region": 1}) == (0.75, 1.0)
    assert paired.bounds({"both-deployed-region": 1, "text-noimg": -1}) == (0.0, 0.75)
    assert paired.bounds({"both-deployed-region": 1, "text-pixels": -1}) is None


def test_the_bounds_line_names_what_can_move_and_a_sign_that_is_open(row, users):
    rows = [
        *(row(f"q{i}", WITHHELD, score) for i, score in enumerate((0.0, 0.0, "error"))),
        *(row(f"q{i}", DELIVERMEM, score) for i, score in enumerate((1.0, 0.0, 0.0))),
    ]
    (group,) = group_rows(rows, CONDITIONS)
    contrasts = {"DeliverMem minus withheld": {"both-deployed-region": 1, "text-noimg": -1}}
    paired = pair(group)
    facts = dict(group_facts("t", group, CONDITIONS, paired, users, contrasts))
    line = facts["worst case bounds, errors and unparsed all wrong to all right"]
    assert line == "text-noimg 0.00 to 33.33; DeliverMem minus withheld +0.00 to +33.33"
    rows[5] = row("q2", DELIVERMEM, "error")
    (group,) = group_rows(rows, CONDITIONS)
    facts = dict(group_facts("t", group, CONDITIONS, pair(group), users, contrasts))
    line = facts["worst case bounds, errors and unparsed all wrong to all right"]
    assert line.endswith("DeliverMem minus withheld +0.00 to +66.67")
    rows[0] = row("q0", WITHHELD, "error")
    (group,) = group_rows(rows, CONDITIONS)
    facts = dict(group_facts("t", group, CONDITIONS, pair(group), users, contrasts))
    line = facts["worst case bounds, errors and unparsed all wrong to all right"]
    assert line.endswith("DeliverMem minus withheld -33.33 to +66.67 (sign open)")


def test_no_bounds_line_where_every_answer_has_a_score(rows_of, users):
    (group,) = group_rows(rows_of({WITHHELD: (1.0,), DELIVERMEM: (0.0,)}), CONDITIONS)
    labels = [label for label, _ in group_facts("t", group, CONDITIONS, pair(group), users)]
    assert labels == [
        "missing arms",
        "model as served",
        "scorer",
        "errors",
        "missing images",
        "unparsed, counted as not correct",
    ]


def test_a_judge_is_held_against_subem(row, users):
    said = ((1.0, 1.0), (1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
    rows = [
        row(f"q{i}", DELIVERMEM, judge, judge="gpt", metric="judge", scores={"judge": judge, "subem": subem})
        for i, (judge, subem) in enumerate(said)
    ]
    (group,) = group_rows(rows, CONDITIONS)
    facts = dict(group_facts("t", group, CONDITIONS, pair(group), users))
    assert facts["judge and SubEM"] == "agree on 2 of 5 answers; right by the judge alone 2, by SubEM alone 1"
    voted = {"judge_votes_for": 2.0, "judge_votes_against": 1.0, "judge_votes_missing": 0.0, "judge": 1.0, "subem": 1.0}
    rows.append(row("q9", DELIVERMEM, 1.0, judge="gpt", metric="judge", scores=voted))
    (group,) = group_rows(rows, CONDITIONS)
    facts = dict(group_facts("t", group, CONDITIONS, pair(group), users))
    assert facts["judge and SubEM"].endswith("by SubEM alone 1; unanimous votes on 0 of 1")


def test_direct_inference_has_a_renderer_of_its_own_but_no_two(row, users):
    rows = [row("q0", DELIVERMEM, 1.0), row("q0", DIRECT, 1.0)]
    facts, _ = table_facts("t", rows, users)
    assert dict(facts)["renderer"] == "memory/2, session/1"
    with pytest.raises(BenchError, match="renderers"):
        table_facts("t", [*rows, row("q1", DIRECT, 1.0, renderer="session/2")], users)


def test_the_encoders_of_the_channels_in_use_are_named(row, users):
    encoders = {"text": EncoderFacts("minilm", "all-MiniLM-L6-v2"), "image": EncoderFacts("siglip2", "siglip2")}
    facts = RunFacts(users.corpora, encoders=encoders)
    read, _ = table_facts("t", [row("q0", TEXT_CHANNEL, 1.0)], facts)
    assert dict(read)["encoders"] == "text minilm (all-MiniLM-L6-v2)"
    read, _ = table_facts("t", [row("q0", DELIVERMEM, 1.0)], facts)
    assert dict(read)["encoders"] == "text minilm (all-MiniLM-L6-v2), image siglip2"


def test_facts_of_lengths_are_said_once_where_they_agree():
    one = {"1x": (("scorer", "s/1"), ("errors", "0")), "2x": (("scorer", "s/1"), ("errors", "3"), ("split", "dev"))}
    assert merged(one) == (("scorer", "s/1"), ("errors", "1x: 0; 2x: 3"), ("split", "2x: dev"))
