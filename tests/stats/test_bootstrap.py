"""Percentile bootstrap intervals against scipy, exact small cases, and seeded coverage."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchsuite.stats.bootstrap import bootstrap, paired_bootstrap

GRADES = st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0])
CLUSTERS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.lists(GRADES, min_size=1, max_size=5), min_size=2, max_size=8
)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_as_scipy_has_it(level):
    values = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], 120, p=[0.1, 0.6, 0.3])
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    found = bootstrap(list(values), level=level, resamples=20_000)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert found.estimate == pytest.approx(values.mean())
    assert (found.n, found.clusters, found.level) == (120, None, level)


@pytest.mark.parametrize(("weights", "estimate"), [("clusters", (1 - 1 / 4 + 1 / 3) / 3), ("questions", 1 / 8)])
def test_clusters_are_drawn_whole_and_weighted_as_asked(weights, estimate):
    """Three clusters have 27 equally likely resamples: the limits are quantiles of those 27 means."""
    groups = {"x": [1.0], "y": [-1.0, 0.0, 0.0, 0.0], "z": [1.0, 1.0, -1.0]}
    means = []
    for drawn in itertools.product(groups.values(), repeat=3):
        if weights == "clusters":
            means.append(sum(sum(values) / len(values) for values in drawn) / 3)
        else:
            means.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    found = bootstrap(groups, weights=weights, level=0.5, resamples=50_000)
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.25, 0.75], method="inverted_cdf"), abs=1e-9)
    assert found.estimate == pytest.approx(estimate)
    assert (found.n, found.clusters) == (8, 3)


def test_the_method_says_what_was_drawn():
    assert bootstrap([0.0, 1.0], resamples=100, seed=7).method == (
        "percentile bootstrap over questions, mean over questions, 100 resamples, seed 7"
    )
    assert bootstrap({"x": [0.0], "y": [1.0]}, resamples=100).method == (
        "percentile bootstrap over clusters, mean of cluster means, 100 resamples, seed 0"
    )


@given(CLUSTERS, st.sampled_from(["clusters", "questions"]), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_neither_order_nor_names_change_it_and_arms_exchanged_turn_it(groups, weights, dice):
    found = bootstrap(groups, weights=weights, resamples=200)
    shuffled = [(name + "'", dice.sample(values, len(values))) for name, values in groups.items()]
    dice.shuffle(shuffled)
    assert bootstrap(dict(shuffled), weights=weights, resamples=200) == found
    turned = bootstrap({name: [-v for v in values] for name, values in groups.items()}, weights=weights, resamples=200)
    assert (-turned.high, -turned.low, -turned.estimate) == pytest.approx(
        (found.low, found.high, found.estimate), abs=1e-12
    )
    means = [sum(values) / len(values) for values in groups.values()]
    assert min(means) - 1e-12 <= found.low <= found.high <= max(means) + 1e-12


@given(st.lists(GRADES, min_size=2, max_size=30))
@settings(max_examples=40)
def test_clusters_of_one_question_are_questions(values):
    alone = bootstrap(values, resamples=100)
    for weights in ("clusters", "questions"):
        single = bootstrap({str(n): [value] for n, value in enumerate(values)}, weights=weights, resamples=100)
        assert (single.low, single.high, single.estimate) == pytest.approx((alone.low, alone.high, alone.estimate))


def test_one_seed_gives_one_interval_and_pieces_hang_together():
    values = list(np.random.default_rng(4).normal(0, 1, 800))  # drawn in several pieces
    first = bootstrap(values)
    assert bootstrap(values) == first
    assert bootstrap(values, seed=1).low != first.low
    half = 1.96 * np.std(values) / math.sqrt(800)
    assert (first.low, first.high) == pytest.approx((first.estimate - half, first.estimate + half), abs=0.1 * half)


@pytest.mark.parametrize(("level", "least"), [(0.9, 20), (0.95, 40), (0.99, 200)])
def test_the_fewest_resamples_that_a_level_allows(level, least):
    assert bootstrap([0.5, 0.25], resamples=least, level=level).low >= 0.25


def test_equal_values_give_a_point():
    found = bootstrap([0.0] * 9)
    assert (found.low, found.estimate, found.high) == (0.0, 0.0, 0.0)


def test_pairs_are_drawn_together():
    a = {f"q{number}": float(number % 3 == 0) for number in range(60)}
    b = {key: score + 0.25 for key, score in reversed(a.items())}
    found = paired_bootstrap(a, b, resamples=400)
    assert (found.low, found.high, found.n) == (pytest.approx(0.25), pytest.approx(0.25), 60)


def test_paired_by_cluster():
    a = {"q1": 0.0, "q2": 0.0, "q3": 1.0}
    b = {"q1": 1.0, "q2": 0.0, "q3": 1.0}
    clusters = {"q1": "x", "q2": "x", "q3": "y"}
    assert paired_bootstrap(a, b, clusters=clusters) == bootstrap({"x": [1.0, 0.0], "y": [0.0]})
    by_question = paired_bootstrap(a, b, clusters=clusters, weights="questions")
    assert by_question == bootstrap({"x": [1.0, 0.0], "y": [0.0]}, weights="questions")
    assert paired_bootstrap(a, b) == bootstrap([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "values holds no value"),
        ([0.5], {}, "a bootstrap needs at least 2 questions: 1"),
        ({"x": [0.5, 0.25]}, {}, "a bootstrap needs at least 2 clusters: 1"),
        ({}, {}, "no cluster"),
        ({"x": [0.5], "y": []}, {}, "cluster y holds no value"),
        ({"x": [0.5], "y": [math.nan]}, {}, r"cluster y\[0\] must be a finite number: nan"),
        ([0.5, math.inf], {}, r"values\[1\] must be a finite number: inf"),
        ([0.5, 0.25], {"level": 95}, "level must lie between 0 and 1: 95"),
        ([0.5, 0.25], {"resamples": 10}, r"resamples must be at least 40 at level 0.95: 10"),
        ([0.5, 0.25], {"resamples": 19, "level": 0.9}, r"resamples must be at least 20 at level 0.9: 19"),
        ([0.5, 0.25], {"seed": -1}, "seed must not be negative: -1"),
        ({"x": [0.5], "y": [0.5]}, {"weights": "sessions"}, "weights must be 'clusters' or 'questions': 'sessions'"),
    ],
)
def test_bad_input(values, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(values, **options)


@pytest.mark.parametrize(
    ("a", "b", "clusters", "message"),
    [
        ({"q1": 1.0, "q2": 1.0}, {"q1": 1.0}, None, r"question q2 is in arm a only \(1 such\)"),
        ({"q1": 1.0}, {"q1": 1.0, "q2": 1.0}, {"q1": "x", "q2": "y"}, r"cluster y is in arm b only \(1 such\)"),
        ({"q1": 1.0}, {"q1": 1.0}, {}, "question q1 has no cluster"),
        ({"q1": 1.0}, {"q1": 0.0}, None, "needs at least 2 questions: 1"),
    ],
)
def test_arms_that_cannot_be_paired(a, b, clusters, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(a, b, clusters=clusters)


def coverage(clusters, *, whole, samples=500):
    """How often intervals cover a true difference of .1 among ``clusters`` chains of 10 probes with a shared part."""
    dice, inside = np.random.default_rng(clusters), 0
    for _ in range(samples):
        chains = 0.1 + dice.normal(0, 0.15, (clusters, 1)) + dice.normal(0, 0.3, (clusters, 10))
        values = {str(number): list(row) for number, row in enumerate(chains)} if whole else list(chains.ravel())
        found = bootstrap(values, resamples=400)
        inside += found.low <= 0.1 <= found.high
    return inside / samples


def test_coverage_over_clusters_and_over_questions_that_share_one():
    """500 samples: four standard errors are .04. Forty chains cover close to .95; the probes of the same chains,
    taken as independent, do not; six chains fall short, as the docstring says."""
    assert coverage(40, whole=True) == pytest.approx(0.94, abs=0.04)
    assert coverage(40, whole=False) < 0.85
    assert coverage(6, whole=True) == pytest.approx(0.82, abs=0.07)
