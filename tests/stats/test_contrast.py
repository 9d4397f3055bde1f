"""The analysis of two arms from their outcome rows, against counting by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.errors import BenchError
from benchsuite.outcome import Outcome
from benchsuite.stats.contrast import analyse
from benchsuite.stats.paired import sign_test
from benchsuite.stats.permutation import cluster_permutation
from tests.reports.mirage_rows import mirage_state

Rows = list[dict[str, object]]


def outcome(question: str, score: float | str | None, **changes: Any) -> dict[str, object]:
    """A row: ``score`` is a number, None for unparsed or "error"; ``axes`` are values of the arm."""
    status, word = {None: ("unparsed", "unparsed"), "error": ("error", "error")}.get(
        score, ("scored", "right" if score else "wrong")
    )
    values: dict[str, Any] = {
        "suite": "memlens",
        "corpus": "ab" * 32,
        "question": question,
        "type": "information_extraction",
        "answerable": True,
        "arm": {"delivery": "pixels", "judge": "none", "repeat": 0, **changes.pop("axes", {})},
        "status": status,
        "word": word,
        "metric": "subem",
        "score": score if status == "scored" else None,
        "scores": {"subem": score, "f1": score} if status == "scored" else {},
        "scorer": "memlens-strict/2",
        "protocol": "memlens/1",
        "renderer": "memory/2",
        "model_served": "qwen-served",
        "run": {"id": "0001_nogit_run"},
        **({"error_kind": "timeout", "error_message": "late", "model_served": ""} if status == "error" else {}),
    }
    values.update(changes)
    return Outcome(**{"cell": f"memlens:{values['arm']}-{question}", **values}).to_row()


def arm(*scores: float | str | None, **changes: Any) -> Rows:
    """Questions q0, q1, ... without clusters."""
    return [outcome(f"q{i}", score, **changes) for i, score in enumerate(scores)]


def test_counts_means_and_tests_by_hand():
    a, b = arm(0, 0, 0, 0, 0, 0, 1, 1, 0, 1), arm(1, 1, 1, 1, 1, 1, 0, 1, 0, 1, axes={"delivery": "noimg"})
    found = analyse(a, b)
    assert (found.effect.n, found.effect.wins, found.effect.losses) == (10, 6, 1)
    assert (found.a.mean, found.b.mean) == (0.3, 0.8)
    assert found.effect.estimate == pytest.approx(0.5)
    assert found.effect.p == sign_test(6, 1) == 0.125
    assert found.permutation.p == pytest.approx(0.125)  # without clusters each question is one: the same test
    assert found.floor == 2 / 2**7
    assert found.interval.low < 0.5 < found.interval.high
    assert found.changed == {"delivery": ("pixels", "noimg")}
    assert (found.bounds.low, found.bounds.high) == pytest.approx((0.5, 0.5))
    assert found.null
    assert found.left_out == {}
    assert (found.corpus, found.protocol) == ("ab" * 32, "memlens/1")
    assert (found.scorers, found.renderers) == (("memlens-strict/2",), ("memory/2",))


def test_errors_and_absent_rows_are_left_out_by_name_and_bounded():
    a = [*arm(0, 1, "error", 1), outcome("only-a", 1)]
    b = [*arm(1, 1, 1, "error"), outcome("only-b", 0)]
    found = analyse(a, b)
    assert found.effect.n == 2
    assert found.left_out == {
        "only-a": "no row in b",
        "only-b": "no row in a",
        "q2": "timeout error in a",
        "q3": "timeout error in b",
    }
    assert (found.a.errors, found.a.absent, found.b.errors, found.b.absent) == (1, 1, 1, 1)
    assert found.effect.estimate == 0.5
    # q0 +1, q1 0, q2 from 0 to +1, q3 from -1 to 0, only-a from -1 to 0, only-b from -1 to 0, of six
    assert (found.bounds.low, found.bounds.high) == pytest.approx((-2 / 6, 2 / 6))
    assert found.bounds.sign_can_flip


def test_an_unparsed_answer_is_not_correct_and_its_bounds_are_open():
    found = analyse(arm(1, None, 0, 0), arm(1, 1, None, 1))
    assert (found.a.mean, found.b.mean) == (0.25, 0.75)
    assert (found.a.unparsed, found.b.unparsed) == (1, 1)
    assert found.left_out == {}
    assert (found.bounds.low, found.bounds.high) == pytest.approx((0.25, 0.75))


def test_no_question_with_two_answers_is_an_error_that_says_why():
    with pytest.raises(BenchError, match="no question has an answer in both arms; q0: timeout error in a"):
        analyse(arm("error"), arm(1))
    with pytest.raises(BenchError, match="no row in b"):
        analyse(arm(1), [])
    with pytest.raises(BenchError, match="neither has a row"):
        analyse([], [])


def test_repeats_pair_by_repeat_and_a_question_counts_once():
    a = [row for repeat in range(3) for row in arm(0, 1, axes={"repeat": repeat})]
    b = [row for repeat, score in enumerate([1, 1, 0]) for row in arm(score, 1, axes={"repeat": repeat})]
    b[-1] = outcome("q1", "error", axes={"repeat": 2})
    found = analyse(a, b)
    assert (found.effect.n, found.pairs, found.graded) == (2, 5, True)
    assert found.effect.estimate == pytest.approx((2 / 3 + 0) / 2)
    assert found.left_out == {"q1 r2": "timeout error in b"}
    assert found.changed == {}


def test_one_repeat_against_another_is_paired_by_question():
    found = analyse(arm(1, 0, 1), arm(1, 1, 1, axes={"repeat": 1}))
    assert (found.effect.n, found.effect.wins) == (3, 1)
    assert found.changed == {"repeat": ("0", "1")}


def clustered(scores: dict[str, list[float]]) -> Rows:
    return [
        outcome(f"{name}{i}", each, cluster=name) for name, column in scores.items() for i, each in enumerate(column)
    ]


def test_clusters_flip_and_are_drawn_whole():
    a = clustered({"x": [0] * 8, "y": [0] * 4, "z": [1] * 2})
    b = clustered({"x": [1] * 8, "y": [1] * 4, "z": [1] * 2})
    found = analyse(a, b)
    assert found.effect.p == sign_test(12, 0) < 0.001
    assert found.clusters == 3
    assert found.p == found.permutation.p == 0.5  # two clusters move: 4 signings, 2 as far
    assert found.floor == 0.5
    assert found.permutation.estimate == pytest.approx(found.effect.estimate)  # over questions too
    assert found.null
    assert found.insensitive  # two clusters cannot reach .05, whatever the questions say
    assert found.cluster_interval.low < found.interval.low
    assert found.cluster_interval.estimate == pytest.approx(12 / 14)  # over questions, not over cluster means
    by_question = analyse(a, b, by="question")
    assert by_question.p == by_question.effect.p
    assert by_question.cluster_interval is None
    assert not by_question.null


def test_one_cluster_shows_nothing():
    rows = [clustered({"x": [score] * 5}) for score in (0, 1)]
    found = analyse(*rows)
    assert (found.p, found.cluster_interval, found.insensitive) == (1.0, None, True)


def test_a_question_without_a_cluster_is_its_own():
    assert analyse(arm(0, 0, 1), arm(1, 1, 1)).clusters == 3


def test_arms_that_disagree_on_a_cluster_are_refused():
    with pytest.raises(BenchError, match="question q0 has different clusters in the two arms: x, y"):
        analyse(arm(0, cluster="x"), arm(1, cluster="y"))


def test_all_ties_and_one_pair_have_p_1():
    ties = analyse(arm(1, 0, 1), arm(1, 0, 1))
    assert (ties.p, ties.effect.p, ties.effect.estimate, ties.detectable) == (1.0, 1.0, 0.0, None)
    assert ties.insensitive
    assert (ties.interval.low, ties.interval.high) == (0.0, 0.0)
    one = analyse(arm(0), arm(1))
    assert (one.effect.n, one.p, one.interval) == (1, 1.0, None)
    assert one.insensitive


def test_a_null_with_enough_discordant_questions_says_what_it_would_have_found():
    found = analyse(arm(*[0] * 20, *[1] * 20, *[1] * 60), arm(*[1] * 20, *[0] * 20, *[1] * 60))
    assert found.null
    assert not found.insensitive
    assert 0.1 < found.detectable < 0.4


def test_a_difference_that_shows_is_no_null():
    found = analyse(arm(*[0] * 12), arm(*[1] * 12))
    assert found.p == 2 / 2**12
    assert not found.null
    assert not found.insensitive


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("corpora", {"corpus": "cd" * 32}),
        ("protocols", {"protocol": "memlens/2"}),
        ("scorers", {"scorer": "memlens-upstream/1"}),
        ("judges", {"axes": {"judge": "strict-judge"}}),
    ],
)
def test_what_must_not_be_mixed_is_refused(field, changes):
    with pytest.raises(BenchError, match=f"different {field}, so they cannot be compared"):
        analyse(arm(1, 0), arm(1, 1, **changes))


def test_judges_do_not_matter_to_subem():
    judged = arm(1, 1, metric="judge", scorer="memlens-judge/1", axes={"judge": "j"}, scores={"subem": 0, "judge": 1})
    assert analyse(arm(1, 0), judged, metric="subem").effect.losses == 1


def test_two_rows_of_a_question_name_the_axis_they_differ_in():
    two = [*arm(1), *arm(0, axes={"delivery": "noimg"})]
    with pytest.raises(BenchError, match="arm b is no single arm: question q0 has rows of delivery pixels and noimg"):
        analyse(arm(1), two)
    with pytest.raises(BenchError, match="the same arm twice"):
        analyse([*arm(1), *arm(1)], arm(1))


def test_a_graded_metric_is_tested_on_sizes():
    a = [outcome(f"q{i}", 1, scores={"subem": 1, "f1": 0.2}) for i in range(8)]
    b = [outcome(f"q{i}", 1, scores={"subem": 1, "f1": f1}) for i, f1 in enumerate([1, 1, 1, 1, 1, 1, 0.1, 0.1])]
    found = analyse(a, b, metric="f1", by="question")
    assert found.graded
    assert (found.effect.wins, found.effect.losses) == (6, 2)
    assert found.p == cluster_permutation({str(i): [d] for i, d in enumerate([0.8] * 6 + [-0.1] * 2)}).p
    assert found.p < found.effect.p
    assert not analyse(a, b, by="question").graded


def test_a_question_without_an_answer_has_its_refusal_score_in_every_metric():
    changes = {"answerable": False, "metric": "refusal", "scores": {"refusal": 1, "subem": 0, "f1": 0}}
    for metric in ("score", "subem", "f1"):
        assert analyse(arm(0), arm(1, **changes), metric=metric).effect.wins == 1


def test_a_refusal_is_0_by_rule_where_a_judge_was_asked_about_the_rest():
    axes = {"judge": "j"}
    a = [
        outcome("q0", 0, word="refused", axes=axes),
        outcome("q1", 0, metric="judge", scorer="memlens-judge/1", axes=axes, scores={"subem": 1, "judge": 0}),
    ]
    b = arm(1, 1, metric="judge", scorer="memlens-judge/1", axes=axes, scores={"subem": 0, "judge": 1})
    assert analyse(a, b, metric="judge").effect.wins == 2
    subem = analyse(a, b, metric="subem").effect
    assert (subem.wins, subem.losses) == (0, 1)


def test_a_metric_that_a_row_does_not_have_is_an_error_that_names_it():
    with pytest.raises(BenchError, match=r"q0: no score 'judge'; it has subem, f1"):
        analyse(arm(1), arm(1), metric="judge")


def test_requests_that_are_the_same_are_counted_and_so_are_replies_from_the_cache():
    a = [outcome(f"q{i}", 1, requests=[f"k{i}"]) for i in range(3)]
    b = [
        outcome("q0", 1, requests=["k0"], run={"id": "r", "cached": True}),
        outcome("q1", 1, requests=["k1"], run={"id": "r", "cached": False}),
        outcome("q2", 1, requests=["other"], run={"id": "r", "cached": True}),
    ]
    found = analyse(a, b)
    assert (found.unaltered, found.one_reply) == (2, 1)
    assert analyse(arm(1), arm(1)).unaltered == 0  # no request is not the same request


def test_answers_that_changed_are_counted_whatever_they_score():
    a = [outcome(f"q{i}", 0, answer=answer) for i, answer in enumerate(["red", "red", "red", None])]
    b = [outcome(f"q{i}", 0, answer=answer) for i, answer in enumerate(["red", "blue", "Red", None])]
    found = analyse(a, b)
    assert (found.answers.flipped, found.answers.n, found.effect.wins + found.effect.losses) == (2, 4, 0)


def test_runs_and_models_as_served_are_told_apart():
    within = analyse(arm(1, 0), arm(1, 1))
    assert within.within_run
    assert within.same_model
    across = analyse(arm(1, 0), arm(1, 1, run={"id": "0002_nogit_run"}, model_served="other"))
    assert not across.within_run
    assert not across.same_model
    assert (across.a.runs, across.b.served) == (("0001_nogit_run",), ("other",))
    assert not analyse(arm(1, run={}), arm(1, run={})).within_run


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="by='chain'"):
        analyse(arm(1), arm(1), by="chain")
    with pytest.raises(ValueError, match=r"alpha=5"):
        analyse(arm(1), arm(1), alpha=5)


@pytest.mark.parametrize(
    ("metric", "shown", "n", "a", "b"),
    [
        ("gc", "gc of answerable questions", 4, 0.75, 0.25),
        ("sc", "sc of answerable questions", 4, 0.75, 0.5),
        ("ws", "ws of answerable questions", 4, 0.25, 0.5),
        ("mi", "mi of answerable questions", 4, 0.25, 0.5),
        ("hr", "hr of unanswerable questions", 2, 0, 0.5),
        ("ac", "ac", 6, 1, 4 / 6),
        ("yes", "yes", 6, 4 / 6, 4 / 6),
        ("score", "score", 6, 5 / 6, 2 / 6),
        ("tool", "tool", 6, 0, 0),
    ],
)
def test_an_indicator_of_mirage_is_compared_over_the_questions_that_have_it(metric, shown, n, a, b):
    found = analyse(mirage_state("gggm", "rr"), mirage_state("gsmn", "rh", "S2"), metric=metric)
    assert (found.metric, found.effect.n, found.left_out) == (shown, n, {})
    assert (found.a.mean, found.b.mean) == pytest.approx((a, b))
    assert found.changed == {"state": ("S1-d0", "S2")}


def test_an_unparsed_answer_of_mirage_is_not_correct_or_left_out_where_more_is_worse():
    a, b = mirage_state("gggn", "hr"), mirage_state("pggn", "pr")
    grounded = analyse(a, b, metric="gc")
    assert (grounded.effect.estimate, grounded.b.unparsed, grounded.left_out) == (-0.25, 1, {})
    assert (grounded.bounds.low, grounded.bounds.high) == (-0.25, 0)
    worse = analyse(a, b, metric="hr")
    assert (worse.effect.n, worse.effect.estimate, worse.b.unparsed) == (1, 0, 0)
    assert worse.left_out == {"u0": "unparsed in b"}
    assert (worse.bounds.low, worse.bounds.high) == (-0.5, 0)
    claims = analyse(a, b, metric="yes")
    assert claims.left_out == {"a0": "unparsed in b", "u0": "unparsed in b"}


def test_a_trace_of_an_unparsed_answer_is_what_it_was():
    found = analyse(mirage_state("gp"), mirage_state("gp", scores={"tool": 1}), metric="tool")
    assert (found.effect.estimate, found.b.unparsed, found.left_out) == (1, 0, {})


def test_an_indicator_that_no_question_of_the_arms_has_is_said():
    rows = mirage_state("gg")
    with pytest.raises(BenchError, match=r"^hr is an indicator of unanswerable questions, and the arms have none$"):
        analyse(rows, rows, metric="hr")
    with pytest.raises(BenchError, match="no score 'f1'"):
        analyse(rows, rows, metric="f1")


def test_the_names_mean_nothing_in_another_suite():
    rows = [outcome("q0", 1, scores={"hr": 1}), outcome("q1", 0, answerable=False, scores={"hr": 0, "refusal": 0})]
    found = analyse(rows, rows, metric="hr")
    assert (found.metric, found.effect.n) == ("hr", 2)
    with pytest.raises(BenchError, match="no score 'hr'"):
        analyse(rows, [rows[0], outcome("q1", 0, answerable=False, scores={"hr": 0})], metric="hr")


def test_arms_at_one_state_and_two_checkpoints_are_told():
    a = mirage_state("gg")
    assert analyse(a, mirage_state("gg", retention="none")).checkpoints == ()
    assert analyse(a, mirage_state("gg", state="S2")).checkpoints == ()
    found = analyse(a, mirage_state("gg", scores={"depth": 2400}))
    assert found.checkpoints == (
        "2318 tokens deep, 2318 in view, 0 compactions",
        "2400 tokens deep, 2318 in view, 0 compactions",
    )
    assert analyse(arm(1), arm(1)).checkpoints == ()


SCORES = st.sampled_from([0.0, 1.0, 0.5, None, "error"])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(SCORES, SCORES, st.sampled_from("xyz")), min_size=1, max_size=9), st.randoms())
def test_swapping_the_arms_turns_every_sign_and_order_changes_nothing(pairs, random):
    rows = [[outcome(f"q{i}", each[side], cluster=each[2]) for i, each in enumerate(pairs)] for side in (0, 1)]
    if not any(a != "error" and b != "error" for a, b, _ in pairs):
        with pytest.raises(BenchError, match="no question"):
            analyse(*rows, metric="score")
        return
    found = analyse(*rows, resamples=200)
    shuffled = [random.sample(each, len(each)) for each in rows]
    assert analyse(*shuffled, resamples=200) == found
    swapped = analyse(rows[1], rows[0], resamples=200)
    assert swapped.effect.estimate == pytest.approx(-found.effect.estimate)
    assert (swapped.effect.wins, swapped.effect.losses) == (found.effect.losses, found.effect.wins)
    assert (swapped.p, swapped.floor, swapped.detectable) == (found.p, found.floor, found.detectable)
    assert (swapped.bounds.low, swapped.bounds.high) == pytest.approx((-found.bounds.high, -found.bounds.low))
    assert 0 < found.floor <= found.p <= 1
    assert found.effect.n + len(found.left_out) == len(pairs)
