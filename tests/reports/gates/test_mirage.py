"""Gates on MIRAGE's indicators: over the questions that have them, parse failures as the page says, trunks apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchsuite.errors import BenchError
from benchsuite_reports.gates.baseline import Baseline
from benchsuite_reports.gates.evaluate import Against, GateReport, Judgement, confirm, evaluate, trunk_of
from benchsuite_reports.gates.grammar import parse_gate
from benchsuite_reports.gates.summary import as_json, as_lines
from tests.reports.mirage_rows import mirage_row, mirage_state

Rows = list[dict[str, object]]
ANCHOR = Baseline("anchor", Path("0001_nogit_anchor"))
GROUNDED = "g" * 24
QUIET = "r" * 24


def judged(
    gates: str | Sequence[str],
    run: Rows,
    baseline: Rows,
    across: Sequence[str] = (),
    trunks: tuple[str, str] = ("", ""),
) -> GateReport:
    texts = [gates] if isinstance(gates, str) else gates
    against = [Against(ANCHOR, baseline, trunks[0])]
    return evaluate([parse_gate(each) for each in texts], run, against, across, trunk=trunks[1], resamples=40)


def only(report: GateReport) -> Judgement:
    (found,) = report.judgements
    return found


@pytest.mark.parametrize(
    ("gate", "run", "a", "b", "n"),
    [
        ("mirage.gc:-3pp", ("n" * 24, QUIET), 1, 0, 24),
        ("mirage.sc:-3pp", ("v" * 24, QUIET), 1, 0, 24),
        ("mirage.vc:-3pp", ("s" * 24, QUIET), 1, 0, 24),
        ("mirage.ws:+3pp", ("v" * 24, QUIET), 0, 1, 24),
        ("mirage.mi:+3pp", ("m" * 24, QUIET), 0, 1, 24),
        ("mirage.hr:+3pp", (GROUNDED, "h" * 24), 0, 1, 24),
        ("mirage.ac:-3pp", ("n" * 24, "h" * 24), 1, 0, 48),
        ("mirage.accuracy:-3pp", ("n" * 24, "h" * 24), 1, 0, 48),
        ("mirage.yes[answerable=no]:+3pp", (GROUNDED, "h" * 24), 0, 1, 24),
        ("mirage.yes[answerable=yes]:-3pp", ("n" * 24, QUIET), 1, 0, 24),
        ("mirage.yes:+3pp", (GROUNDED, "h" * 24), 0.5, 1, 48),
        ("mirage.gc[state=S1-d0,condition=C0]:-3pp", ("n" * 24, QUIET), 1, 0, 24),
    ],
)
def test_a_loss_of_an_indicator_fails_over_the_questions_that_have_it(
    gate: str, run: tuple[str, str], a: float, b: float, n: int
) -> None:
    found = only(judged(gate, mirage_state(*run), mirage_state(GROUNDED, QUIET)))
    assert (found.verdict, found.reason) == ("fail", "")
    assert found.measured is not None
    assert (found.measured.a, found.measured.b, found.measured.questions) == (a, b, n)
    assert (found.measured.clusters, found.measured.missing) == (6, 0)
    back = only(judged(gate, mirage_state(GROUNDED, QUIET), mirage_state(*run)))
    assert back.verdict == "pass"


@pytest.mark.parametrize("metric", ["gc", "sc", "vc"])
def test_an_unparsed_answer_is_0_where_more_is_better_and_bounded(metric: str) -> None:
    found = only(judged(f"mirage.{metric}:-3pp", mirage_state("p" * 24), mirage_state(GROUNDED))).measured
    assert found is not None
    assert (found.b, found.missing, found.left_out) == (0, 0, {})
    assert found.bounds is not None
    assert (found.bounds.low, found.bounds.high) == (-1, 0)


def test_an_unparsed_answer_is_0_in_ac_and_in_the_score() -> None:
    report = judged(
        ["mirage.ac:-3pp", "mirage.accuracy:-3pp@p<0.1"],
        mirage_state("p" * 24, "p" * 24),
        mirage_state(GROUNDED, QUIET),
    )
    assert [each.measured.b for each in report.judgements if each.measured] == [0, 0]


@pytest.mark.parametrize(
    ("metric", "before", "after"),
    [
        ("hr", ("", "r" * 12 + "h" * 12), ("", "r" * 12 + "p" * 12)),
        ("ws", ("g" * 12 + "v" * 12, ""), ("g" * 12 + "p" * 12, "")),
        ("mi", ("g" * 12 + "m" * 12, ""), ("g" * 12 + "p" * 12, "")),
        ("yes", ("n" * 12 + "g" * 12, ""), ("n" * 12 + "p" * 12, "")),
    ],
)
def test_an_unparsed_answer_is_missing_where_more_is_worse(
    metric: str, before: tuple[str, str], after: tuple[str, str]
) -> None:
    """A model that stops to answer in form does not better its HR so: the gate is not judged, and fails."""
    found = only(judged(f"mirage.{metric}:+3pp", mirage_state(*after), mirage_state(*before)))
    assert found.verdict == "not judged"
    assert found.reason.startswith("50% of 24 cells have no value")
    assert found.measured is not None
    assert set(found.measured.left_out.values()) == {"unparsed"}
    assert (found.measured.a, found.measured.b) == (0, 0)
    assert found.measured.bounds is not None
    assert (found.measured.bounds.low, found.measured.bounds.high) == (-0.5, 0)
    lax = only(judged(f"mirage.{metric}:+3pp@missing<60%", mirage_state(*after), mirage_state(*before)))
    assert lax.verdict == "pass"


def test_errors_are_missing_and_are_of_no_other_indicator() -> None:
    run = mirage_state("e" * 2 + "g" * 22, QUIET)
    report = judged(["mirage.gc:-3pp@p<0.2", "mirage.hr:+3pp@p<0.2"], run, mirage_state(GROUNDED, QUIET))
    gc, hr = report.judgements
    assert gc.verdict == "not judged"
    assert gc.measured is not None
    assert set(gc.measured.left_out.values()) == {"timeout error"}
    assert hr.verdict == "pass"
    assert hr.measured is not None
    assert not hr.measured.left_out


def test_a_trace_is_known_of_unparsed_answers_and_of_questions_without_an_answer() -> None:
    baseline = mirage_state("g" * 12 + "p" * 12, QUIET, scores={"tool": 1.0})
    run = mirage_state("g" * 12 + "p" * 12, QUIET, scores={"tool": 0.0})
    found = only(judged("mirage.tool:-3pp", run, baseline))
    assert found.verdict == "fail"
    assert found.measured is not None
    assert (found.measured.a, found.measured.b, found.measured.questions) == (1, 0, 48)
    assert found.measured.bounds is not None
    assert (found.measured.bounds.low, found.measured.bounds.high) == (-1, -1)
    calls = only(judged("mirage.depth:+3pp", run, baseline))
    assert calls.reason == "depth is no share and has no points: use %"


def test_what_is_no_metric_is_named_with_those_that_there_are() -> None:
    found = only(judged("mirage.moon:-3pp", mirage_state(GROUNDED), mirage_state(GROUNDED)))
    assert found.reason.startswith("no metric 'moon'; there are accuracy, ")
    assert "gc" in found.reason
    assert found.reason.endswith(", mi")


def objects(codes: str) -> Rows:
    """Two answerable questions on each of six objects."""
    return [mirage_row(f"q{i}", code, cluster=f"ev_{i // 2}") for i, code in enumerate(codes)]


def test_six_objects_show_a_loss_only_where_all_agree() -> None:
    whole = only(judged("mirage.gc:-3pp", objects("n" * 12), objects("g" * 12)))
    assert whole.verdict == "fail"
    report = judged("mirage.gc:-3pp", objects("n" * 10 + "gg"), objects("g" * 12))
    assert only(report).reason == "the loss reaches the limit, but p does not show it"
    assert only(report).verdict == "pass"
    text = "\n".join(as_lines(report))
    assert "6 clusters: no p below 0.05 unless all of them move one way" in text
    assert "insensitive: 5 of 6 clusters moved, too few for p < 0.05" in text
    two = judged(["mirage.gc:-3pp", "mirage.sc:-3pp"], objects("n" * 12), objects("g" * 12))
    assert [each.reason for each in two.judgements] == [
        "6 clusters can give no p below 0.05 after Holm over 2, whatever happens"
    ] * 2
    assert "unless all of them" not in "\n".join(as_lines(two))


def deeper(rows: Rows) -> Rows:
    return [{**row, "scores.depth": 2400} for row in rows]


def test_another_checkpoint_stops_a_gate_unless_it_is_allowed() -> None:
    baseline, run = mirage_state(GROUNDED), deeper(mirage_state(GROUNDED))
    found = only(judged("mirage.gc:-3pp", run, baseline))
    assert found.verdict == "not judged"
    assert found.reason == (
        "the trunk changed: 2318 tokens deep, 2318 in view, 0 compactions -> 2400 tokens deep, 2318 in view, "
        f"0 compactions (first: {run[0]['cell']})"
    )
    told = only(judged("mirage.gc:-3pp", run, baseline, ["trunk"]))
    assert told.verdict == "pass"
    assert told.allowed[0].startswith("trunk: 2318 tokens deep")


def test_another_writer_of_the_trunk_stops_a_gate() -> None:
    rows = mirage_state(GROUNDED)
    found = only(judged("mirage.gc:-3pp", rows, rows, trunks=("none", "qwen8b")))
    assert found.reason == "the trunk changed: written by the bank itself -> by qwen8b"
    assert only(judged("mirage.gc:-3pp", rows, rows, ["trunk"], trunks=("none", "qwen8b"))).verdict == "pass"
    assert only(judged("mirage.gc:-3pp", rows, rows, trunks=("qwen8b", "qwen8b"))).verdict == "pass"
    assert only(judged("mirage.gc:-3pp", rows, rows, trunks=("", "qwen8b"))).verdict == "pass"  # an older run


def test_a_second_asking_is_held_to_the_same_trunk() -> None:
    rows, against = mirage_state("n" * 24), [Against(ANCHOR, mirage_state(GROUNDED), "none")]
    first = evaluate([parse_gate("mirage.gc:-3pp@confirm")], rows, against, trunk="none", resamples=40)
    again = mirage_state("n" * 24, repeat=1)
    assert only(confirm(first, again, against, trunk="none", resamples=40)).verdict == "fail"
    assert "written by" in only(confirm(first, again, against, trunk="qwen8b", resamples=40)).reason


def test_the_trunk_is_of_no_concern_without_a_state(night: Callable[..., Rows]) -> None:
    rows = night([1] * 30)
    report = evaluate([parse_gate("memlens.accuracy:-3pp")], rows, [Against(ANCHOR, rows, "none")], trunk="qwen8b")
    assert only(report).verdict == "pass"


def test_the_report_of_a_mirage_gate_is_json() -> None:
    report = judged("mirage.hr:+3pp", mirage_state(GROUNDED, "h" * 24), mirage_state(GROUNDED, QUIET))
    (found,) = json.loads(as_json(report))["judgements"]
    assert (found["metric"], found["questions"], found["difference"]) == ("hr", 24, 1.0)


@pytest.mark.parametrize(("info", "trunk"), [({}, ""), ({"digests": {}}, ""), ({"digests": {"trunk": "none"}}, "none")])
def test_who_wrote_a_trunk(info: dict[str, Any], trunk: str) -> None:
    assert trunk_of(info) == trunk


def test_a_baseline_is_read_with_its_trunk(tmp_path: Path) -> None:
    assert Against.read(Baseline("last-green", None, "none yet")).rows == ()
    with pytest.raises(BenchError):
        Against.read(Baseline("a", tmp_path / "0001_nogit_a"))
