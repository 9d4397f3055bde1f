"""How often gates alarm on noise: at the rate that they state, over seeds, clusters and thirty nights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

from benchsuite_reports.gates.baseline import Baseline
from benchsuite_reports.gates.evaluate import Against, confirm, evaluate
from benchsuite_reports.gates.grammar import parse_gate

SEEDS = 200
NIGHTS = 30
P = 0.05
DOUBT = 1e-4
"""Chance that a count of a stated rate falls outside its bounds, on either side; the seeds are fixed."""


def bounds(rate: float, n: int = SEEDS) -> tuple[int, int]:
    """The counts among ``n`` that a true ``rate`` gives but for a chance of ``DOUBT`` on either side."""
    return int(binom.ppf(DOUBT, n, rate)), int(binom.ppf(1 - DOUBT, n, rate))


def within(count: int, rate: float, n: int = SEEDS) -> bool:
    low, high = bounds(rate, n)
    return low <= count <= high


def against(rows: Sequence[dict[str, object]], name: str = "anchor") -> Against:
    return Against(Baseline(name, Path(name)), rows)


def alarms(text: str, pairs: Sequence[tuple[list, list]]) -> tuple[int, int]:
    """Runs that fail, and runs whose p is below .05 whichever way they moved, among (run, baseline)."""
    gates = [parse_gate(text)]
    found = [evaluate(gates, run, [against(baseline)], resamples=40, draws=2000) for run, baseline in pairs]
    moved = [report.judgements[0].measured.permutation.p < P for report in found]
    return sum(report.failed for report in found), sum(moved)


def test_noise_alarms_at_half_of_p_in_each_direction(night):
    """Graded answers that vary from night to night: p takes (nearly) every value, so that the rate is exact."""
    dice = np.random.default_rng(1)
    pairs = [(night(dice.random(18)), night(dice.random(18))) for _ in range(SEEDS)]
    falls, moved = alarms("memlens.f1:-0pp@p<0.05", pairs)
    rises, _ = alarms("memlens.f1:+0pp@p<0.05", pairs)
    assert falls + rises == moved
    assert within(moved, P)
    assert within(falls, P / 2)
    assert within(rises, P / 2)


def test_right_and_wrong_alarm_no_more_often_than_stated_and_a_limit_less_still(night):
    dice = np.random.default_rng(2)
    pairs = [(night(dice.random(100) < 0.6), night(dice.random(100) < 0.6)) for _ in range(SEEDS)]
    falls, moved = alarms("memlens.accuracy:-3pp@p<0.05", pairs)
    assert 0 < moved <= bounds(P)[1]
    assert falls <= bounds(P / 2)[1]


def test_clustered_noise_alarms_at_the_stated_rate_where_questions_would_not(night):
    """Four questions of a cluster move together: by question they look like four times as many."""
    dice = np.random.default_rng(3)
    pairs = []
    for _ in range(SEEDS):
        sides = [night(np.repeat(dice.random(16), 4)) for _ in range(2)]
        for rows in sides:
            for i, row in enumerate(rows):
                row["cluster"] = f"c{i // 4}"
        pairs.append((sides[0], sides[1]))
    _, moved = alarms("memlens.f1:-0pp@p<0.05", pairs)
    assert within(moved, P)
    alone = [([{**row, "cluster": ""} for row in run], [{**row, "cluster": ""} for row in base]) for run, base in pairs]
    _, naive = alarms("memlens.f1:-0pp@p<0.05", alone)
    assert naive > bounds(P)[1]
    assert naive > 4 * moved


def test_a_family_of_gates_and_baselines_alarms_no_more_often_than_one(night):
    """Four independent suites against two baselines: Holm keeps the session at p, without it one in four would."""
    dice = np.random.default_rng(4)
    suites = ("one", "two", "three", "four")
    gates = [parse_gate("*.f1:-0pp@p<0.05")]
    failed = uncorrected = 0
    for _ in range(SEEDS):
        run, first, second = (
            [row for suite in suites for row in night(dice.random(14), suite=suite)] for _ in range(3)
        )
        report = evaluate(gates, run, [against(first), against(second, "last-green")], resamples=40, draws=2000)
        assert {each.family for each in report.judgements} == {8}
        failed += report.failed
        uncorrected += any(each.measured.permutation.p < P for each in report.judgements)
    assert failed <= bounds(P / 2)[1]
    assert uncorrected > bounds(P)[1]


def months(night) -> dict[str, int]:
    """In how many of the seeds one of thirty nights of noise fails, for each way to run the gate."""
    gate, confirmed = parse_gate("memlens.f1:-0pp@p<0.05"), parse_gate("memlens.f1:-0pp@p<0.05,confirm")
    dice = np.random.default_rng(5)
    counts = dict.fromkeys(("moved", "fell", "anchor", "anchor, confirmed", "both, confirmed"), 0)
    for _ in range(SEEDS):
        anchor = against(night(dice.random(16)))
        seen = dict.fromkeys(counts, False)
        for _ in range(NIGHTS):
            run, other = night(dice.random(16)), against(night(dice.random(16)), "last-green")
            both = evaluate([gate], run, [anchor, other], resamples=40)
            p = [each.measured.permutation.p < P for each in both.judgements]
            fell = [each.measured.difference < 0 for each in both.judgements]
            seen["moved"] |= p[1]
            seen["fell"] |= p[1] and fell[1]
            seen["anchor"] |= p[0] and fell[0]
            if p[0] and fell[0]:
                seen["anchor, confirmed"] |= _confirmed(night, dice, confirmed, run, [anchor])
            if both.failed:
                seen["both, confirmed"] |= _confirmed(night, dice, confirmed, run, [anchor, other])
        for name, any_night in seen.items():
            counts[name] += any_night
    return counts


def _confirmed(night, dice, gate, run, sides) -> bool:
    first = evaluate([gate], run, sides, resamples=40)
    assert first.again
    return confirm(first, night(dice.random(16), repeat=1), sides, resamples=40).failed


def any_night(rate: float) -> float:
    """The chance of at least one alarm in thirty independent nights."""
    return 1 - (1 - rate) ** NIGHTS


def anchored_rate(askings: int, p: float = P, nights: int = NIGHTS) -> float:
    """The chance that one of ``nights`` of noise falls below p / 2 against one anchor, ``askings`` times in a row.

    The anchor's own luck z, which all nights share, is integrated out: a night of luck x is below by chance when
    (x - z) / sqrt(2) is under the normal quantile of p / 2.
    """
    z = np.linspace(-8, 8, 4001)
    below = norm.cdf(z + norm.ppf(p / 2) * 2**0.5)
    return float(np.trapezoid(norm.pdf(z) * (1 - (1 - below**askings) ** nights), z))


def both_confirmed_rate() -> float:
    """Anchor and a fresh baseline every night, each at half of p by Holm, both with a second asking."""
    return 1 - (1 - anchored_rate(2, P / 2)) * (1 - any_night(anchored_rate(2, P / 2, nights=1)))


def test_what_thirty_nights_are_expected_to_give():
    assert any_night(P) == pytest.approx(0.785, abs=1e-3)
    assert any_night(P / 2) == pytest.approx(0.532, abs=1e-3)
    assert anchored_rate(1) == pytest.approx(0.255, abs=1e-3)
    assert anchored_rate(2) == pytest.approx(0.056, abs=1e-3)
    assert both_confirmed_rate() == pytest.approx(0.075, abs=1e-3)


def test_thirty_nights_of_noise(night):
    """Without safeguards four months in five have a false alarm; looking for losses alone, one in two; against a
    fixed anchor one in four; with a second asking one in eighteen, and one in thirteen with last-green beside it."""
    counts = months(night)
    assert within(counts["moved"], any_night(P))
    assert within(counts["fell"], any_night(P / 2))
    assert within(counts["anchor"], anchored_rate(1))
    assert within(counts["anchor, confirmed"], anchored_rate(2))
    assert within(counts["both, confirmed"], both_confirmed_rate())
    assert bounds(both_confirmed_rate())[1] < bounds(any_night(P / 2))[0] < bounds(any_night(P))[0]
