"""Configuration selection: a planted dev effect by type, applied to eval rows; the floor; and runs without dev."""

from dataclasses import replace

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.errors import BenchError
from benchsuite.stats.power import minimum_detectable_effect
from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_c5 import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.table import percent

KU, IE, TR = "knowledge_update", "information_extraction", "temporal_reasoning"
EVAL = "model qwen: eval split"


def lines(table, heading=EVAL):
    (block,) = [block for block in table.blocks if block.heading == heading]
    return {row[0]: row[1:] for row in block.rows}


def facts(table):
    return dict(table.blocks[0].facts)


def some(row, split, kind, baseline, full, n, length="1x", **changes):
    """``n`` questions of a type: the baseline has the first ``baseline`` right, DeliverMem the last ``full``."""
    answerable = changes.pop("answerable", True)
    return [
        row(
            f"{split}-{kind}-{i:02}",
            condition,
            float(right),
            length=length,
            type=kind,
            split=split,
            answerable=answerable,
            scores={"subem": float(right)} if answerable else {"refusal": float(right)},
            **changes,
        )
        for i in range(n)
        for condition, right in ((BOTH_WHOLE, i < baseline), (DELIVERMEM, i >= n - full))
    ]


def fitted(row, **changes):
    """On dev DeliverMem is better overall, on knowledge update the baseline by 2 of 10, on temporal by 1 of 40."""
    return [
        *some(row, "dev", KU, 5, 3, 10, **changes),
        *some(row, "dev", IE, 2, 8, 10, **changes),
        *some(row, "dev", TR, 21, 20, 40, **changes),
    ]


def held_out(row, **changes):
    return [
        *some(row, "eval", KU, 6, 0, 6, **changes),
        *some(row, "eval", IE, 0, 3, 4, **changes),
        *some(row, "eval", TR, 1, 2, 4, **changes),
        *some(row, "eval", "answer_refusal", 1, 1, 2, answerable=False, **changes),
    ]


def test_a_type_deviates_where_its_dev_effect_exceeds_the_floor(row, mini):
    table = build([*fitted(row), *held_out(row)], mini)
    dev = lines(table, "model qwen: fitted on the dev split at length 1x, SubEM")
    assert dev["knowledge update"] == ("10", "50.00", "30.00", "-20.00", "3/5", "0.73", "baseline", "baseline")
    assert dev["temporal reasoning"][3:] == ("-2.50", "19/20", "1.0", "DeliverMem", "baseline")
    assert dev["information extraction"][-2:] == ("DeliverMem", "DeliverMem")
    assert dev["all"][0] == "60"
    assert facts(table)["default"] == "DeliverMem: on 60 dev questions at 1x DeliverMem 51.67, baseline 46.67"
    assert facts(table)["baseline instead, three points"] == "knowledge update"
    assert facts(table)["baseline instead, no threshold"] == "knowledge update, temporal reasoning"


def test_scores_with_and_without_selection(row, mini):
    table = build([*fitted(row), *held_out(row)], mini)
    assert table.blocks[0].rows == (
        ("n", "16"),
        ("Constant refusal (by rule)", "12.50"),
        ("Baseline (both channels, whole image, no tag or date)", "50.00"),
        ("DeliverMem", "37.50"),
        ("Selection by type, three points", "75.00"),
        ("  gain", "+37.50"),
        ("  W/L", "6/0"),
        ("  p", "0.031"),
        ("  if null", ""),
        ("Selection by type, no threshold", "68.75"),
        ("  gain", "+31.25"),
        ("  W/L", "7/2"),
        ("  p", "0.18"),
        ("  if null", percent(minimum_detectable_effect(16, 9 / 16))),
    )
    block = table.blocks[0]
    assert block.values["accuracy.three points.1x"] == pytest.approx(12 / 16)
    assert block.values["gain.three points.1x"] == pytest.approx(6 / 16)
    assert (block.values["gain.three points.1x.wins"], block.values["gain.three points.1x.losses"]) == (6, 0)
    assert block.values["gain.three points.1x.p"] == pytest.approx(0.03125)
    assert block.values["gain.no threshold.1x"] == pytest.approx(5 / 16)
    assert block.values["accuracy.both-deployed-region.1x"] == pytest.approx(6 / 16)


def test_the_gains_by_cluster_stand_beside(row, mini):
    table = build([*fitted(row), *held_out(row, cluster="one")], mini)
    (block,) = [block for block in table.blocks if "by cluster" in block.heading]
    assert [line[0] for line in block.rows] == ["1x, three points", "1x, no threshold"]
    assert block.rows[0][4] == "1"


def test_the_baseline_is_the_default_where_dev_says_so(row, mini):
    rows = [*some(row, "dev", KU, 9, 1, 10), *some(row, "dev", IE, 4, 5, 10), *held_out(row)]
    table = build(rows, mini)
    assert facts(table)["default"].startswith("baseline: on 20 dev questions")
    assert facts(table)["DeliverMem instead, three points"] == "information extraction"
    assert table.blocks[0].values["gain.three points.1x"] == pytest.approx(3 / 16)


def test_exactly_three_points_do_not_deviate(row, mini):
    rows = [*some(row, "dev", KU, 53, 50, 100), *some(row, "dev", IE, 0, 9, 10), *held_out(row)]
    table = build(rows, mini)
    assert facts(table)["baseline instead, three points"] == "for no type"
    assert facts(table)["baseline instead, no threshold"] == "knowledge update"
    assert table.blocks[0].values["gain.three points.1x"] == 0


def test_equal_on_dev_means_delivermem_and_a_type_without_dev_questions_keeps_it(row, mini):
    table = build([*some(row, "dev", IE, 5, 5, 10), *held_out(row)], mini)
    assert facts(table)["default"].startswith("DeliverMem: on 10 dev questions")
    assert table.blocks[0].values["accuracy.three points.1x"] == pytest.approx(6 / 16)
    assert not any("by cluster" in block.heading for block in table.blocks)


def test_fitted_once_and_applied_at_every_length(row, mini):
    longer = [*some(row, "dev", KU, 0, 9, 10, length="8x"), *held_out(row, length="8x")]
    table = build([*longer, *fitted(row), *held_out(row)], mini)
    assert table.columns == ("Eval split", "1x", "8x")
    assert facts(table)["baseline instead, three points"] == "knowledge update"
    assert lines(table)["Selection by type, three points"] == ("75.00", "75.00")


def test_the_objective_is_subem_while_a_judge_scores(row, mini):
    """The judge calls everything right; SubEM still finds the planted effect, and eval scores are the judge's."""
    judged = {"judge": "j", "metric": "judge", "scorer": "memlens-judge/1"}
    rows = [*fitted(row, **judged), *some(row, "eval", KU, 6, 0, 6, **judged)]
    rows = [{**each, "score": 1.0} if each["split"] == "dev" else each for each in rows]
    table = build(rows, mini)
    assert facts(table)["baseline instead, three points"] == "knowledge update"
    assert lines(table, "model qwen, judge j: eval split")["Selection by type, three points"] == ("100.00",)


def test_a_dev_row_without_subem_is_refused(row, mini):
    rows = [{key: value for key, value in each.items() if key != "scores.subem"} for each in fitted(row)]
    with pytest.raises(BenchError, match="no score 'subem'"):
        build([*rows, *held_out(row)], mini)


def test_without_dev_rows_the_table_says_which_command_makes_them(row, mini, users):
    table = build(held_out(row), mini)
    assert facts(table)["selection"].endswith("pytest cases -k assembly --bench-corpus memlens=memlens-mini#all")
    assert [line[0] for line in table.blocks[0].rows][-1] == "DeliverMem"
    assert len(table.blocks) == 1
    unlabelled = [{**each, "split": ""} for each in held_out(row)]
    text = facts(build(unlabelled, users))["selection"]
    assert text.endswith("memlens=PATH#all, where labels.json has the splits dev and eval")


def test_dev_rows_with_errors_alone_fit_nothing(row, mini):
    rows = [row("dev-0", each, "error", type=KU, split="dev", length="1x") for each in (BOTH_WHOLE, DELIVERMEM)]
    assert facts(build([*rows, *held_out(row)], mini))["selection"].startswith("not fitted")


def test_errors_are_left_out_on_their_own_split(row, mini):
    rows = [*fitted(row), *held_out(row)]
    for i, each in enumerate(rows):
        if each["arm.delivery"] == "deployed" and each["question"].endswith(f"{KU}-00"):
            rows[i] = row(each["question"], DELIVERMEM, "error", type=KU, split=each["split"], length="1x")
    table = build(rows, mini)
    assert dict(table.blocks[0].left_out) == {
        "eval-knowledge_update-00 at 1x": "timeout error in both-deployed-region",
    }
    assert dict(table.blocks[-1].left_out) == {"dev-knowledge_update-00": "timeout error in both-deployed-region"}
    assert lines(table)["n"] == ("15",)
    bounds = facts(table)["worst case bounds of the gain"]
    assert bounds.startswith("three points +31.25 to +37.50")


def test_the_two_configurations_are_certified(row, mini):
    def certify(a, b):
        return Certificate(("index", "identity", "time"), True, "", True, (), "", None)

    table = build([*fitted(row), *held_out(row)], replace(mini, certificates=certify))
    text = facts(table)["certificate, DeliverMem minus baseline"]
    assert text == "index + identity + time: matched 16/16, altered 16/16"


def test_no_table_without_both_configurations(rows_of, row, mini):
    assert build(rows_of({DELIVERMEM: (1.0,), UNSTAMPED: (1.0,)}), mini).blocks == ()
    assert build(fitted(row), mini).blocks == ()
    assert build([], mini).blocks == ()


def test_every_form_is_whole_and_the_order_of_rows_does_not_matter(row, mini):
    rows = [*fitted(row), *held_out(row), *held_out(row, length="8x")]
    table = TABLE.build(rows, mini)
    assert table == TABLE.build(rows[::-1], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        assert "+37.50" in form(table)
