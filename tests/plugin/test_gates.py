"""A nightly as its owner sees it: saved, compared, failed for a loss that is paired and significant, and no other."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

QUESTIONS = 12
NIGHTLY = ("--bench-save", "nightly", "--bench-cache", "off")
GATE = "memlens.accuracy:-3pp@p<0.05"
AGAINST = ("--bench-compare", "last-green", "--bench-compare-fail", GATE)
WORKERS = pytest.mark.parametrize("workers", [0, 2])


def number_of(body):
    text = json.dumps(body["messages"])
    return int(text.rpartition("What is fact ")[2].partition("?")[0])


@pytest.fixture
def nights(project, endpoint):
    """Runs the nightly; ``wrong`` are the numbers of the questions that the model has wrong."""
    project.corpus(QUESTIONS)

    def night(*args, wrong=(), workers=0):
        def answer(body):
            number = number_of(body)
            return f"value{number}" if number not in (wrong() if callable(wrong) else wrong) else "no such thing"

        endpoint.script = answer
        return project.run(*NIGHTLY, *args, workers=workers)

    return night


@WORKERS
def test_a_planted_loss_fails_the_night_and_nothing_else_does(nights, project, workers):
    first = nights(*AGAINST, workers=workers)
    assert first.ret == 0
    first.stdout.fnmatch_lines(["NO BASELINE last-green: no finished run 'nightly' with exit 0 yet*"])
    assert nights(*AGAINST, workers=workers).ret == 0
    result = nights(*AGAINST, wrong=range(8), workers=workers)
    assert result.ret == 10, result.stdout.str()
    result.stdout.fnmatch_lines(["FAIL memlens.accuracy against last-green (0002_*"])
    run = project.runs[-1]
    found = json.loads((run / "gates.json").read_text())
    assert found["failed"] is True
    (judged,) = found["judgements"]
    assert judged["verdict"] == "fail"
    summary = (run / "summary.md").read_text()
    assert "q\\_00000003" in summary or "q_00000003" in summary
    assert json.loads((run / "run.json").read_text())["exit"] == 10
    # a night that failed is no green one: the next is held against the last that passed
    assert nights(*AGAINST, workers=workers).ret == 0
    assert nights(*AGAINST, workers=workers).stdout.str().count("last-green (0004_") == 2
    assert [run.name[:4] for run in project.runs] == ["0001", "0002", "0003", "0004", "0005"]


def test_a_loss_that_proves_nothing_passes(nights):
    assert nights("--bench-save", "anchor").ret == 0
    result = nights("--bench-compare", "anchor", "--bench-compare-fail", GATE, wrong=range(3))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PASS memlens.accuracy against anchor*"])


@WORKERS
def test_confirmation_asks_again_and_noise_passes(nights, project, endpoint, workers):
    assert nights("--bench-save", "anchor").ret == 0
    asked = []

    def flaky():
        asked.append(1)
        return range(8) if len(asked) <= 2 * QUESTIONS else ()

    args = ("--bench-compare", "anchor", "--bench-compare-fail", f"{GATE},confirm")
    result = nights(*args, wrong=flaky, workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert len(asked) > 2 * QUESTIONS
    rows = [json.loads(line) for line in (project.runs[-1] / "outcomes.jsonl").read_text().splitlines()]
    again = [row for row in rows if row["arm.repeat"] == 1]
    assert len(again) == len(asked) - 2 * QUESTIONS
    assert result.parseoutcomes()["passed"] == 2 * QUESTIONS
    confirmed = nights(*args, wrong=range(8), workers=workers)
    assert confirmed.ret == 10, confirmed.stdout.str()


@WORKERS
@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--bench-compare", "last-green", "--bench-compare-fail", "memlens.accuracy:-3@p<0.05"), "at character 19: "),
        (("--bench-compare", "last-green", "--bench-compare-fail", "mem.accuracy:-3pp"), "no suite 'mem'"),
        (("--bench-compare", "anchor"), "no run 'anchor'"),
        (("--bench-compare-fail", GATE), "needs a baseline"),
        (("--bench-compare", "last-green", "--bench-compare-across", "moon"), "no difference 'moon'"),
    ],
)
def test_what_is_wrong_with_a_gate_is_known_before_the_run(project, args, problem, workers):
    project.corpus(2)
    (line,) = project.refused(*args, workers=workers)
    assert problem in line


def test_another_scorer_is_not_judged_and_fails_until_it_is_allowed(nights, project):
    assert nights("--bench-save", "anchor").ret == 0
    args = ("--bench-compare", "anchor", "--bench-compare-fail", GATE, "--bench-scoring", "upstream")
    result = nights(*args)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["NOT JUDGED memlens.accuracy*scorer changed*"])
    assert nights(*args, "--bench-compare-across", "scorer", "--bench-compare-across", "metric").ret == 0


def test_errors_come_before_gates_and_a_cut_run_is_not_judged(nights, project):
    assert nights("--bench-save", "anchor").ret == 0
    against = ("--bench-compare", "anchor", "--bench-compare-fail", GATE)
    cut = nights(*against, "--bench-strict", "-x", wrong=range(12))
    assert cut.ret == 1
    assert not (project.runs[-1] / "gates.json").exists()


def test_junit_has_one_short_property_a_cell(nights, project):
    path = project.pytester.path / "junit.xml"
    assert nights("--junitxml", str(path)).ret == 0
    cases = ET.parse(path).getroot().iter("testcase")
    properties = [[(each.get("name"), each.get("value")) for each in case.iter("property")] for case in cases]
    assert properties == [[("bench", "right")]] * (2 * QUESTIONS)
