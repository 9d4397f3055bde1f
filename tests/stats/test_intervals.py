"""Wilson and t intervals against their definitions, published limits, scipy and seeded coverage."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchsuite.stats.intervals import checked_level, checked_values, t_interval, wilson

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
WILSON = [each for each in FIGURES if each["kind"] == "wilson" and each["reproduces"]]
COUNTS = st.integers(1, 900).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_the_published_figures_hold_wilson_intervals():
    assert len(WILSON) >= 4


@pytest.mark.parametrize("figure", WILSON, ids=lambda figure: figure["id"])
def test_published_wilson_intervals_are_recomputed(figure):
    given_ = figure["inputs"]
    found = wilson(given_["k"], given_["n"], given_["level"])
    assert [100 * found.low, 100 * found.high] == pytest.approx(figure["published"], abs=figure["tolerance"] + 1e-9)
    assert [100 * found.low, 100 * found.high] == pytest.approx(figure["computed"], rel=1e-6)


@given(COUNTS, st.floats(0.5, 0.999))
def test_wilson_limits_are_the_proportions_just_not_rejected(counts, level):
    k, n = counts
    found = wilson(k, n, level)
    z = stats.norm.ppf((1 + level) / 2)
    for limit in (found.low, found.high):
        assert (k / n - limit) ** 2 == pytest.approx(z**2 * limit * (1 - limit) / n, rel=1e-6, abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high
    assert (found.estimate, found.n, found.level, found.clusters) == (k / n, n, level, None)


@given(COUNTS)
def test_wilson_of_the_wrong_ones_is_the_mirror(counts):
    k, n = counts
    right, wrong = wilson(k, n), wilson(n - k, n)
    assert (1 - wrong.high, 1 - wrong.low) == pytest.approx((right.low, right.high), abs=1e-12)


def test_wilson_coverage_computed_exactly():
    """Over proportions .02 to .98 at n = 60 the mean coverage is within .01 of the level; single ones vary more."""
    limits = [wilson(k, 60) for k in range(61)]
    coverage = []
    for p in np.linspace(0.02, 0.98, 97):
        inside = [limit.low <= p <= limit.high for limit in limits]
        coverage.append(float(stats.binom.pmf(range(61), 60, p)[inside].sum()))
    assert np.mean(coverage) == pytest.approx(0.95, abs=0.01)
    assert min(coverage) > 0.89


@pytest.mark.parametrize(
    ("k", "n", "level", "message"),
    [
        (5, 4, 0.95, "k of n must be a proportion from 0 to 1: k 5, n 4"),
        (-1, 4, 0.95, "k of n must be a proportion from 0 to 1: k -1, n 4"),
        (0, 0, 0.95, "n must be at least 1: 0"),
        (2.5, 4, 0.95, "k must be a whole number: 2.5"),
        (math.nan, 4, 0.95, "k must be a whole number: nan"),
        (1, math.inf, 0.95, "n must be a whole number: inf"),
        (1, 4, 95, "level must lie between 0 and 1: 95"),
        (1, 4, 0.0, "level must lie between 0 and 1: 0.0"),
    ],
)
def test_bad_input_of_wilson(k, n, level, message):
    with pytest.raises(ValueError, match=message):
        wilson(k, n, level)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_t_interval_is_scipys(level):
    values = list(np.random.default_rng(5).normal(0.1, 0.05, 10))
    theirs = stats.ttest_1samp(values, 0).confidence_interval(level)
    found = t_interval(values, level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert found.estimate == pytest.approx(np.mean(values))
    assert (found.n, found.level, found.method) == (10, level, "t over 10 values")


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_t_interval_changes_with_neither_order_nor_arms(values, dice):
    found = t_interval(values)
    assert t_interval(dice.sample(values, len(values))) == found
    turned = t_interval([-value for value in values])
    assert (-turned.high, -turned.low) == (found.low, found.high)
    assert found.low <= found.estimate <= found.high


def test_equal_values_give_a_point():
    found = t_interval([0.25, 0.25, 0.25])
    assert (found.low, found.estimate, found.high) == (0.25, 0.25, 0.25)


def test_t_interval_covers_at_its_level_with_six_chains():
    """3,000 samples: .95 within four standard errors, .016."""
    dice = np.random.default_rng(8)
    inside = sum(
        found.low <= 0.1 <= found.high for found in (t_interval(dice.normal(0.1, 0.07, 6)) for _ in range(3000))
    )
    assert inside / 3000 == pytest.approx(0.95, abs=0.016)


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [
        ([0.5], 0.95, "needs at least 2 values: 1"),
        ([], 0.95, "values holds no value"),
        ([0.5, math.nan], 0.95, r"values\[1\] must be a finite number: nan"),
        ([-math.inf, 0.5], 0.95, r"values\[0\] must be a finite number: -inf"),
        ([0.5, 0.5], 1.0, "level must lie between 0 and 1: 1.0"),
        ([0.5, 0.5], math.nan, "level must lie between 0 and 1: nan"),
    ],
)
def test_bad_input_of_the_t_interval(values, level, message):
    with pytest.raises(ValueError, match=message):
        t_interval(values, level)


def test_checks_give_back_what_they_let_through():
    assert checked_values("scores", (True, 0, 0.5)) == [1.0, 0.0, 0.5]
    assert checked_level(0.9) == 0.9
