"""Verdicts on outcome rows: what is caught, what is refused, what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchsuite.errors import ConfigError
from benchsuite.stats.paired import sign_test
from benchsuite_reports.gates.baseline import Baseline
from benchsuite_reports.gates.evaluate import Against, confirm, evaluate
from benchsuite_reports.gates.grammar import parse_gate
from benchsuite_reports.gates.summary import as_lines

GATE = "memlens.accuracy:-3pp@p<0.05"
GOOD = [1] * 60 + [0] * 40
LOST = [0] * 8 + [1] * 52 + [0] * 40


def only(report):
    assert len(report.judgements) == 1
    return report.judgements[0]


def test_a_planted_regression_is_caught_and_its_slice_and_questions_are_named(night, cell, judge):
    baseline = [*night(GOOD), *night(GOOD, delivery="noimg")]
    run = [*night(GOOD), *night(GOOD, delivery="noimg")]
    for row in run[:9]:  # under pixels alone, of one type
        row.update(score=0.0, word="wrong")
    for row in (*baseline, *run):
        if int(str(row["question"])[1:]) < 15:
            row["type"] = "knowledge_update"
    found = only(judge("memlens.accuracy:-3pp", run, baseline))
    assert found.verdict == "fail"
    assert found.measured.difference == pytest.approx(-9 / 100 / 2)  # the mean over questions of the mean over two arms
    assert (found.measured.a, found.measured.b) == pytest.approx((0.6, 0.555))
    assert (found.measured.falls, found.measured.rises, found.measured.questions) == (9, 0, 100)
    assert found.measured.sign_p == sign_test(9, 0) == found.measured.permutation.p
    parts = {(each.kind, each.name): (each.n, round(each.difference, 9)) for each in found.measured.parts}
    assert parts == {
        ("arm", "text-noimg-qwen"): (100, 0.0),
        ("arm", "text-pixels-qwen"): (100, -0.09),
        ("type", "extraction"): (85, 0.0),
        ("type", "knowledge_update"): (15, -0.3),
    }
    assert [each.question for each in found.measured.moved] == [f"q{i:03}" for i in range(9)]
    assert {each.arms for each in found.measured.moved} == {("text-pixels-qwen",)}
    lines = "\n".join(as_lines(judge("memlens.accuracy:-3pp", run, baseline), 3))
    assert "slices that lost: type knowledge_update -30.00 pp (n 15, lost/won 9/0, p 0.0039)" in lines
    assert "arm text-pixels-qwen -9.00 pp" in lines
    assert "arm text-noimg-qwen" not in lines
    assert "questions lost: q000 (knowledge_update, -50.00 pp); q001 (knowledge_update, -50.00 pp); q002" in lines
    assert "and 6 more" in lines


def test_a_slice_judges_its_rows_alone(night, judge):
    baseline, run = night(GOOD), night(LOST)
    for row in (*baseline, *run):
        row["type"] = "early" if int(str(row["question"])[1:]) < 50 else "late"
        row["labels"] = ["hard"] if row["type"] == "early" else []
    early = only(judge("memlens.accuracy[type=early]:-3pp", run, baseline))
    assert (early.verdict, early.measured.questions) == ("fail", 50)
    assert only(judge("memlens.accuracy[label=hard,delivery=pixels]:-3pp", run, baseline)).verdict == "fail"
    late = only(judge("memlens.accuracy[type=late]:-3pp", run, baseline))
    assert (late.verdict, late.measured.difference) == ("pass", 0.0)


@pytest.mark.parametrize(
    ("lost", "limit", "verdict"),
    [(6, "-6pp", "fail"), (6, "-6.1pp", "pass"), (5, "-3pp", "pass"), (6, "-10%", "fail"), (6, "-10.1%", "pass")],
)
def test_a_loss_of_the_limit_or_more_with_p_below_fails(night, judge, lost, limit, verdict):
    # 5 to none has p .0625; 6 to none .031; six of a baseline of 60 are ten percent of it
    run = night([0] * lost + GOOD[lost:])
    found = only(judge(f"memlens.accuracy:{limit}", run, night(GOOD)))
    assert found.verdict == verdict
    assert found.measured.permutation.p == sign_test(lost, 0)
    assert (found.reason != "") == (lost == 5)  # the loss is there, but p does not show it


def test_the_sign_says_which_way_is_the_loss(night, judge):
    better, worse = night(GOOD), night(LOST)
    assert only(judge("memlens.accuracy:-3pp", better, worse)).verdict == "pass"
    assert only(judge("memlens.accuracy:+3pp", better, worse)).verdict == "fail"
    assert only(judge("memlens.accuracy:-0pp", better, worse)).verdict == "pass"
    assert only(judge("memlens.accuracy:-0pp", worse, better)).verdict == "fail"


def test_holm_is_over_all_gates_and_baselines(night, judge):
    run, baseline = night(LOST), night(GOOD)  # 8 to none: p .0078
    gates = [f"memlens.accuracy:-{limit}pp@p<0.05" for limit in range(1, 4)]
    two = judge(gates, run, {"anchor": baseline, "last-green": baseline})
    assert [each.family for each in two.judgements] == [6] * 6
    assert {each.adjusted for each in two.judgements} == {6 * sign_test(8, 0)}
    assert {each.verdict for each in two.judgements} == {"fail"}
    more = judge([*gates, "memlens.subem:-1pp"], run, {"anchor": baseline, "last-green": baseline})
    assert {each.adjusted for each in more.judgements} == {8 * sign_test(8, 0)}
    assert not more.failed


def test_a_gate_that_is_not_judged_is_no_test_of_the_family(night, judge):
    report = judge([GATE, "memlens.nothing:-3pp"], night(LOST), night(GOOD))
    assert [(each.verdict, each.family) for each in report.judgements] == [("fail", 1), ("not judged", 0)]


def test_a_slow_ratchet_is_seen_by_the_anchor_and_never_by_last_green(night, judge):
    nights = [night([0] * lost + [1] * (120 - lost) + [0] * 80) for lost in range(13)]  # half a point a night
    last_green = [only(judge(GATE, nights[i], nights[i - 1])).verdict for i in range(1, 13)]
    anchored = [only(judge(GATE, nights[i], nights[0])).verdict for i in range(1, 13)]
    assert set(last_green) == {"pass"}
    assert anchored == ["pass"] * 5 + ["fail"] * 7  # six to none: three points, p .031
    both = [judge(GATE, nights[i], {"anchor": nights[0], "last-green": nights[i - 1]}).failed for i in range(1, 13)]
    assert both == [False] * 6 + [True] * 6  # one night later: Holm over two


def test_a_hard_slice_that_errs_is_not_judged(night, judge):
    run = night(["error"] * 3 + GOOD[3:])
    found = only(judge(GATE, run, night(GOOD)))
    assert found.verdict == "not judged"
    assert judge(GATE, run, night(GOOD)).failed
    assert found.reason == "3% of 100 cells have no value on one side or the other; the gate takes less than 2%"
    assert found.measured.left_out == {f"memlens:text-pixels-qwen-q00{i}": "timeout error" for i in range(3)}
    assert only(judge(GATE, night(GOOD), run)).verdict == "not judged"  # and so it is in the baseline
    assert only(judge("memlens.accuracy:-3pp@missing<3%", run, night(GOOD))).verdict == "not judged"
    told = only(judge("memlens.accuracy:-3pp@missing<4%", run, night(GOOD)))
    assert (told.verdict, told.measured.questions) == ("pass", 97)


def test_what_is_missing_is_bounded_and_may_turn_the_sign(night, judge):
    run = night(["error"] * 10 + [0] * 8 + [1] * 42 + [0] * 40)
    found = only(judge("memlens.accuracy:-3pp@missing<20%", run, night(GOOD))).measured
    assert found.bounds.low == pytest.approx((-8 - 10) / 100)
    assert found.bounds.high == pytest.approx(-8 / 100)
    assert not found.bounds.sign_can_flip
    report = judge("memlens.accuracy:-3pp@missing<20%", run, night(["error"] * 10 + GOOD[10:]))
    assert only(report).measured.bounds.high == pytest.approx((-8 + 10) / 100)
    assert "what has no score could turn the sign" in "\n".join(as_lines(report))


def test_an_unparsed_answer_is_not_correct_and_not_missing(night, judge):
    run = night([None] * 8 + GOOD[8:])
    found = only(judge(GATE, run, night(GOOD)))
    assert (found.verdict, found.measured.missing) == ("fail", 0)
    assert found.measured.bounds.high == pytest.approx(0)
    unparsed = only(judge("memlens.unparsed:+3pp", run, night(GOOD)))
    assert (unparsed.verdict, unparsed.measured.difference) == ("fail", 0.08)


def test_errors_are_a_share_of_all_cells(night, judge):
    run = night(["error"] * 8 + GOOD[8:])
    found = only(judge("*.errors:+1pp", run, night(GOOD)))
    assert (found.suite, found.verdict, found.measured.b, found.measured.missing) == ("memlens", "fail", 0.08, 0)


def test_refusals_are_counted_where_there_is_something_to_answer(night, judge):
    refused = {"refused": True, "word": "refused"}
    baseline = [*night(GOOD), *night([1] * 10, answerable=False, suite="memlens", retrieval="both", **refused)]
    run = [*night(GOOD), *night([1] * 10, answerable=False, suite="memlens", retrieval="both", **refused)]
    for row in run[60:68]:
        row.update(refused)
    found = only(judge("memlens.refused:+5pp", run, baseline))
    assert (found.verdict, found.measured.questions, found.measured.b) == ("fail", 100, 0.08)


def test_tokens_are_percentages_of_the_baseline(night, judge):
    run, baseline = night(GOOD, usage__prompt=1100), night(GOOD)
    assert only(judge("memlens.prompt_tokens:+9%", run, baseline)).verdict == "fail"
    ten = only(judge("memlens.prompt_tokens:+10.5%", run, baseline))
    assert (ten.verdict, ten.change) == ("pass", pytest.approx(0.1))
    assert only(judge("memlens.completion_tokens:+1%", run, baseline)).verdict == "pass"


def test_the_time_of_a_cached_reply_is_none(night, judge):
    slow = {"run": {"id": "r", "cached": False, "latency_s": 2.0}}
    cached = {"run": {"id": "r", "cached": True, "latency_s": 0.001}}
    assert only(judge("memlens.latency:+50%", night(GOOD, **slow), night(GOOD))).verdict == "fail"
    found = only(judge("memlens.latency:+50%", night(GOOD, **cached), night(GOOD)))
    assert found.verdict == "not judged"
    assert found.reason.startswith("no cell has a value on both sides; memlens:text-pixels-qwen-q000: from the cache")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("corpus", {"corpus": "cd" * 32}),
        ("protocol", {"protocol": "memlens/2"}),
        ("renderer", {"renderer": "memory/3"}),
        ("judge", {"judge": "other"}),
        ("judge prompt", {"judge": "strict", "metric": "judge", "scorer": "memlens-judge/2"}),
        ("scorer", {"scorer": "memlens-upstream/1"}),
        ("metric", {"metric": "f1"}),
    ],
)
def test_what_changed_is_refused_and_named_unless_told(night, judge, name, changes):
    judged = {"judge": "strict", "metric": "judge", "scorer": "memlens-judge/1"} if name == "judge prompt" else {}
    baseline, run = night(GOOD, **judged), night(GOOD, **changes)
    found = only(judge(GATE, run, baseline))
    assert found.verdict == "not judged"
    assert found.reason.startswith(f"the {name} changed: ")
    told = only(judge(GATE, run, baseline, across=[name]))
    assert told.verdict == "pass"
    assert [each.partition(":")[0] for each in told.allowed] == [name]


def test_the_first_difference_is_named_with_its_cell(night, judge):
    run = night(GOOD)
    run[7]["scorer"] = "memlens-upstream/1"
    assert only(judge(GATE, run, night(GOOD))).reason == (
        "the scorer changed: memlens-strict/2 -> memlens-upstream/1 (first: memlens:text-pixels-qwen-q007)"
    )


def test_a_judge_does_not_matter_to_what_it_does_not_score(night, judge):
    run, baseline = night(LOST, judge="one"), night(GOOD, judge="other")
    assert only(judge("memlens.subem:-3pp", run, baseline)).verdict == "fail"
    assert only(judge("memlens.errors:+3pp", run, baseline)).verdict == "pass"
    assert only(judge("memlens.accuracy:-3pp", run, baseline)).verdict == "not judged"


def test_an_answer_that_a_rule_settles_in_one_run_may_go_to_the_judge_in_the_other(night, judge):
    judged = {"judge": "strict", "metric": "judge", "scorer": "memlens-judge/1"}
    baseline, run = night(GOOD, **judged), night(GOOD, **judged)
    run[99].update(word="refused", refused=True, metric="subem", scorer="memlens-strict/2")
    assert only(judge(GATE, run, baseline)).verdict == "pass"


def test_another_model_is_what_is_tested_and_is_said(night, judge):
    run = night(LOST, model="qwen-next", model_served="qwen-next-served")
    report = judge(GATE, run, night(GOOD))
    assert only(report).verdict == "fail"
    lines = as_lines(report)
    assert "  model: qwen -> qwen-next" in lines
    assert "  model as served: qwen-served -> qwen-next-served" in lines


def test_several_models_are_arms(night, judge):
    baseline = [*night(GOOD), *night(GOOD, model="llama")]
    found = only(judge(GATE, [*night(LOST), *night(GOOD, model="llama")], baseline)).measured
    assert found.arms == ("text-pixels-llama", "text-pixels-qwen")
    assert found.difference == pytest.approx(-0.04)


def test_cells_of_one_side_are_named_and_not_compared(night, judge):
    run = [*night(GOOD), *night(GOOD[:2], retrieval="both")]
    report = judge(GATE, run, night([*GOOD, 1, 1, 1]))
    found = only(report).measured
    assert (found.questions, found.cells) == (100, 100)
    assert found.only_a == tuple(f"memlens:text-pixels-qwen-q10{i}" for i in range(3))
    assert found.only_b == ("memlens:both-pixels-qwen-q000", "memlens:both-pixels-qwen-q001")
    assert any("in the baseline alone, not compared: 3 cells: memlens:text-pixels-qwen-q100" in line
               for line in as_lines(report))  # fmt: skip


def test_no_cell_in_both_is_not_judged(night, judge):
    found = only(judge(GATE, night(GOOD, retrieval="both"), night(GOOD)))
    assert found.verdict == "not judged"
    assert found.reason.startswith("no cell is in both runs; baseline memlens:text-pixels-qwen-q000, run memlens:both")


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        ("memeye.accuracy:-3pp", "the run has no row of memeye; it has memlens"),
        (
            "memlens.acuracy:-3pp",
            "no metric 'acuracy'; there are accuracy, refused, errors, unparsed, prompt_tokens, completion_tokens, "
            "latency, subem, f1",
        ),
        ("memlens.judge:-3pp", "no metric 'judge'"),
        (
            "memlens.accuracy[depth=1]:-3pp",
            "the baseline has no axis or field 'depth'; there are type, split, label, answerable, retrieval, k, "
            "delivery, model, judge, repeat",
        ),
        ("memlens.accuracy[type=none]:-3pp", "the baseline has no type 'none'; there are extraction"),
    ],
)
def test_a_gate_on_what_is_not_there_names_what_is(night, judge, gate, reason):
    report = judge(gate, night(GOOD), night(GOOD))
    assert report.failed
    assert only(report).reason.startswith(reason)


def test_every_suite_is_judged_apart_and_one_that_the_baseline_lacks_has_none(night, judge):
    run = [*night(["error"] * 8 + GOOD[8:]), *night(GOOD, suite="memeye"), *night(GOOD, suite="mirage")]
    report = judge("*.errors:+1pp", run, [*night(GOOD), *night(GOOD, suite="memeye")])
    assert [(each.suite, each.verdict) for each in report.judgements] == [
        ("memeye", "pass"),
        ("memlens", "fail"),
        ("mirage", "no baseline"),
    ]


def test_no_baseline_yet_is_said_and_not_failed(night):
    none_yet = Against(Baseline("last-green", None, "no finished run 'nightly' with exit 0 yet"))
    report = evaluate([parse_gate(GATE)], night(LOST), [none_yet])
    assert not report.failed
    assert (
        "NO BASELINE last-green: no finished run 'nightly' with exit 0 yet; not judged and not failed: "
        in "\n".join(as_lines(report))
    )
    anchored = evaluate([parse_gate(GATE)], night(LOST), [none_yet, Against(Baseline("a", Path("a")), night(GOOD))])
    assert anchored.failed


def test_a_gate_without_any_baseline_is_an_error(night):
    with pytest.raises(ConfigError, match="a gate needs a baseline: --bench-compare"):
        evaluate([parse_gate(GATE)], night(GOOD), [])
    assert not evaluate([], night(GOOD), []).failed


def test_a_gate_that_could_not_fail_is_not_judged(night, judge):
    five = only(judge(GATE, night([0] * 5), night([1] * 5)))
    assert (five.verdict, five.reason) == ("not judged", "5 clusters can give no p below 0.05, whatever happens")
    assert only(judge(GATE, night([0] * 6), night([1] * 6))).verdict == "fail"
    two = judge([GATE, "memlens.subem:-1pp"], night([1] * 6), night([1] * 6))
    assert {each.verdict for each in two.judgements} == {"not judged"}
    assert two.judgements[0].reason == "6 clusters can give no p below 0.05 after Holm over 2, whatever happens"


def test_whole_clusters_flip(night, judge):
    baseline, run = night([1] * 60), night([0] * 15 + [1] * 45)
    for rows in (baseline, run):
        for i, row in enumerate(rows):
            row["cluster"] = f"c{i // 3:02}"
    found = only(judge(GATE, run, baseline)).measured
    assert (found.clusters, found.permutation.p) == (20, sign_test(5, 0))
    assert found.sign_p < 0.001
    run[0]["cluster"] = "c19"
    moved = only(judge(GATE, run, baseline))
    assert (moved.verdict, moved.reason) == ("not judged", "the clusters changed: question q000: c00, c19")


def test_repeats_of_a_cell_are_averaged_and_give_the_noise_floor(night, judge):
    baseline = [*night(GOOD, answer="a"), *night(GOOD, repeat=1, answer="b")]
    run = [*night(LOST, answer="a"), *night(GOOD, repeat=1, answer="a")]
    found = only(judge(GATE, run, baseline)).measured
    assert (found.cells, found.difference) == (100, pytest.approx(-0.04))
    assert (found.repeats.flipped, found.repeats.n) == (100, 200)
    assert (found.answers.flipped, found.answers.n) == (0, 100)
    one = only(judge(GATE, night(LOST), baseline)).measured  # against the mean of two
    assert one.difference == pytest.approx(-0.08)


def test_a_pass_says_what_it_could_have_seen(night, judge):
    run = night([0] * 10 + [1] * 50 + [1] * 10 + [0] * 30)
    found = only(judge("memlens.accuracy:-1pp", run, night(GOOD)))
    spread = 20**0.5 / 100
    assert found.measured.spread == pytest.approx(spread)
    assert found.detectable == pytest.approx((1.959964 + 0.841621) * spread, rel=1e-4)
    wide = only(judge("memlens.accuracy:-20pp", run, night(GOOD)))
    assert wide.detectable == pytest.approx(0.2 + 0.841621 * spread, rel=1e-4)  # it must reach the limit too
    few = judge(GATE, night([0, *GOOD[1:]]), night(GOOD))
    assert only(few).detectable is None
    assert "insensitive: 1 of 100 clusters moved, too few for p < 0.05" in as_lines(few)[1]


def test_one_reply_looked_at_twice_is_said(night, judge):
    key = {"requests": ["k"], "run": {"id": "r", "cached": True}}
    report = judge(GATE, night(GOOD, **key), night(GOOD, requests=["k"]))
    assert only(report).measured.one_reply == 100
    assert any("100 pairs of 100 had one request and a reply from the cache" in line for line in as_lines(report))


def test_percent_of_nothing_and_points_of_no_share_are_not_judged(night, judge):
    errors = only(judge("memlens.errors:+5%", night(GOOD), night(GOOD)))
    assert errors.reason == "the baseline's mean is 0, and nothing is a percentage of it: use pp"
    votes = {"scores__votes": 3.0}
    points = only(judge("memlens.votes:-5pp", night(GOOD, **votes), night(GOOD, **votes)))
    assert (points.verdict, points.reason) == ("not judged", "votes is no share and has no points: use %")
    assert only(judge("memlens.votes:-5%", night(GOOD, **votes), night(GOOD, **votes))).verdict == "pass"


CONFIRMED = "memlens.accuracy:-3pp@p<0.05,confirm"


@pytest.fixture
def first(night, judge):
    """A loss that is to be confirmed, with the baseline that it was seen against."""
    report = judge(CONFIRMED, night(LOST), night(GOOD))
    return report, [Against(Baseline("anchor", Path("0001_nogit_anchor")), night(GOOD))]


def test_a_loss_that_is_not_confirmed_yet_fails_and_gives_the_cells_to_ask_again(first):
    report, _ = first
    assert only(report).verdict == "to confirm"
    assert report.failed
    assert report.again == tuple(f"memlens:text-pixels-qwen-q{i:03}" for i in range(100))


def test_a_loss_fails_only_where_the_second_asking_shows_it_too(night, first):
    report, against = first
    gone = confirm(report, night(GOOD, repeat=1), against)
    assert (only(gone).verdict, only(gone).reason) == ("pass", "the second asking does not show the loss")
    assert not gone.failed
    there = confirm(report, night([0] * 9 + GOOD[9:], repeat=1), against)
    assert (only(there).verdict, only(there).reason) == ("fail", "both askings show the loss")
    assert only(there).second.measured.difference == pytest.approx(-0.09)
    assert only(there).measured.difference == pytest.approx(-0.08)
    assert there.again == ()


def test_a_second_asking_that_is_not_whole_is_not_judged(night, first):
    report, against = first
    cut = confirm(report, night(GOOD, repeat=1)[:90], against)
    assert only(cut).reason == "second asking: 10 of 100 cells were not asked again"
    assert cut.failed
    assert confirm(report, [], against).failed
    errors = confirm(report, night(["error"] * 5 + GOOD[5:], repeat=1), against)
    assert only(errors).verdict == "not judged"


def test_what_needs_no_confirmation_stays_as_it_was(night, judge):
    report = judge([GATE, CONFIRMED, "memlens.errors:+1pp@confirm"], night([0] * 10 + GOOD[10:]), night(GOOD))
    assert [each.verdict for each in report.judgements] == ["fail", "to confirm", "pass"]
    after = confirm(
        report, night(GOOD, repeat=1), [Against(Baseline("anchor", Path("0001_nogit_anchor")), night(GOOD))]
    )
    assert [each.verdict for each in after.judgements] == ["fail", "pass", "pass"]
    assert after.judgements[0] is report.judgements[0]


def test_the_second_asking_meets_the_same_bar(night):
    """Six to none (p .031) shows alone, but not as one of two tests, of which the other was fine at once."""
    sides = [Against(Baseline("anchor", Path("0001_nogit_anchor")), night(GOOD))]
    second = night([0] * 6 + GOOD[6:], repeat=1)
    alone = evaluate([parse_gate(CONFIRMED)], night(LOST), sides)
    assert only(confirm(alone, second, sides)).verdict == "fail"
    two = evaluate([parse_gate(CONFIRMED), parse_gate("memlens.errors:+1pp")], night(LOST), sides)
    assert [each.verdict for each in two.judgements] == ["to confirm", "pass"]
    after = confirm(two, second, sides)
    assert [each.verdict for each in after.judgements] == ["pass", "pass"]
    assert (after.judgements[0].second.family, after.judgements[0].second.adjusted) == (2, 2 * sign_test(6, 0))


def test_a_question_without_an_answer_has_its_refusal_score_under_every_score(night, judge):
    """A model that refuses it is right, whatever SubEM says of its words."""
    unanswerable = {"answerable": False, "metric": "refusal", "scores__refusal": 1.0}
    baseline = [*night(GOOD), *night([1] * 10, retrieval="both", **unanswerable)]
    run = [*night(GOOD), *night([0] * 10, retrieval="both", **{**unanswerable, "scores__refusal": 0.0})]
    for row in (*baseline[100:], *run[100:]):
        row["scores.subem"] = 0.0
    found = only(judge("memlens.subem[retrieval=both]:-3pp", run, baseline))
    assert (found.verdict, found.measured.a, found.measured.b) == ("fail", 1.0, 0.0)


def test_an_answer_that_no_judge_is_asked_about_has_the_score_of_the_rule(night, judge):
    judged = {"judge": "strict", "metric": "judge", "scorer": "memlens-judge/1"}
    baseline, run = night(GOOD, **judged), night(GOOD, **judged)
    for rows in (baseline, run):
        for row in rows:
            row["scores.judge"] = row["score"]
    for row in run[:8]:
        row.update(score=0.0, word="refused", refused=True, metric="subem", scorer="memlens-strict/2")
        del row["scores.judge"]
    found = only(judge("memlens.judge:-3pp", run, baseline))
    assert (found.verdict, found.measured.missing, found.measured.difference) == ("fail", 0, -0.08)


def test_the_test_is_of_the_difference_that_is_shown_where_clusters_differ_in_size(night, judge):
    baseline, run = night([1] * 20 + [0] * 20), night([0] * 20 + [1] * 7 + [0] * 13)
    for rows in (baseline, run):
        for row in rows[:20]:
            row["cluster"] = "large"
    found = only(judge("memlens.accuracy:-3pp", run, baseline)).measured
    assert found.permutation.estimate == pytest.approx(found.difference) == pytest.approx(-13 / 40)
    assert found.permutation.p == 1.0  # every signing of 20 and seven ones is 13 or more from 0
