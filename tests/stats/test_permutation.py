"""Sign-flip permutation tests against enumeration by hand, scipy, the sign test, and seeded simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchsuite.stats.paired import sign_test
from benchsuite.stats.permutation import (
    cluster_permutation,
    clustered_differences,
    differences_of,
    sign_flip_floor,
    sign_flip_means,
)

GRADES = st.sampled_from([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0])
CLUSTERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.lists(GRADES, min_size=1, max_size=5))


def enumerated(values):
    """The share of all signings at least as far from 0, one by one."""
    observed = abs(math.fsum(values))
    signings = list(itertools.product((1, -1), repeat=len(values)))
    far = sum(
        abs(math.fsum(s * v for s, v in zip(signs, values, strict=True))) >= observed - 1e-9 for signs in signings
    )
    return far / len(signings)


@pytest.mark.parametrize(
    ("means", "p"),
    [
        ([0.1] * 10, 2 / 1024),  # ten of ten chains: the floor of DeliverMem's Table 16
        ([0.2, 0.1, 0.3, 0.1, 0.25, 0.15], 2 / 64),  # six of six: .031
        ([0.3, 0.2, -0.1], 4 / 8),  # totals of |.4| or more: +++ ++- and their mirrors
        ([0.4], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([0.5, -0.5], 1.0),
    ],
)
def test_cluster_permutation_by_hand(means, p):
    found = cluster_permutation({f"chain{number}": [mean] for number, mean in enumerate(means)})
    assert found.p == pytest.approx(p, abs=1e-15)
    assert found.estimate == pytest.approx(sum(means) / len(means))
    assert (found.m, found.exact, found.draws, found.seed) == (len(means), True, None, None)
    assert found.floor == 2 / 2 ** len(means)


def test_nine_of_ten_chains_with_the_smallest_against():
    """DeliverMem appendix C.3: nine of ten chains agree, p = .0039, which is 4 of 1024."""
    found = cluster_permutation({str(number): [0.08 + number / 100] for number in range(9)} | {"x": [-0.01]})
    assert found.p == 4 / 1024


def test_unequal_clusters_are_weighted_as_asked_and_named():
    groups = {"small": [1.0], "large": [-1.0, 0.0, 0.0, 0.0], "middle": [1.0, 0.0]}
    by_cluster = cluster_permutation(groups)
    assert by_cluster.estimate == pytest.approx((1.0 - 0.25 + 0.5) / 3)
    assert by_cluster.statistic == "mean of cluster means"
    assert by_cluster.p == pytest.approx(enumerated([1.0, -0.25, 0.5]))
    by_question = cluster_permutation(groups, weights="questions")
    assert by_question.estimate == pytest.approx(1 / 7)
    assert by_question.statistic == "mean over questions"
    assert by_question.p == pytest.approx(enumerated([1.0, -1.0, 1.0]))


def test_ties_raise_the_floor_that_the_sample_has_and_are_counted():
    found = cluster_permutation({str(number): [0.0] for number in range(7)} | {"x": [0.5], "y": [0.25]})
    assert (found.m, found.ties) == (9, 7)
    assert found.floor == 2 / 2**9
    assert found.p == found.floor_with_ties == 0.5


def test_tied_clusters_do_not_count_towards_the_limit_of_an_exact_test():
    values = [0.0] * 30 + [0.5] * 20
    assert sign_flip_means(values).exact
    assert not sign_flip_means([*values, 0.5]).exact


@given(CLUSTERS.filter(lambda groups: 1 <= len(groups) <= 9), st.sampled_from(["clusters", "questions"]))
def test_exact_p_is_the_enumerated_share(groups, weights):
    sums = [math.fsum(values) / (len(values) if weights == "clusters" else 1) for values in groups.values()]
    found = cluster_permutation(groups, weights=weights)
    assert found.p == pytest.approx(enumerated(sums), abs=1e-12)
    assert found.floor <= found.floor_with_ties <= found.p <= 1


@given(CLUSTERS.filter(bool), st.randoms(use_true_random=False), st.sampled_from([0, 20]))
@settings(max_examples=50)
def test_neither_order_nor_names_nor_the_arms_change_p(groups, dice, exact_up_to):
    test = {"weights": "questions", "exact_up_to": exact_up_to, "draws": 500}
    found = cluster_permutation(groups, **test)
    shuffled = [(name[::-1] + "'" + name, dice.sample(values, len(values))) for name, values in groups.items()]
    dice.shuffle(shuffled)
    assert cluster_permutation(dict(shuffled), **test) == found
    swapped = cluster_permutation({name: [-value for value in values] for name, values in groups.items()}, **test)
    assert (swapped.p, swapped.estimate) == (found.p, -found.estimate)


@given(st.lists(GRADES, min_size=1, max_size=12), st.integers(0, 6))
@settings(max_examples=50)
def test_ties_added_change_no_p(values, ties):
    assert sign_flip_means(values + [0.0] * ties).p == sign_flip_means(values).p


@given(st.integers(0, 25), st.integers(0, 25), st.integers(0, 4))
@settings(max_examples=60)
def test_on_right_and_wrong_it_is_the_sign_test(wins, losses, ties):
    values = [1.0] * wins + [-1.0] * losses + [0.0] * ties
    if values and wins + losses <= 40:
        assert sign_flip_means(values, exact_up_to=40).p == pytest.approx(sign_test(wins, losses), rel=1e-9)


@given(st.lists(st.floats(-1, 1, width=16), min_size=2, max_size=14), st.integers(0, 1000))
@settings(max_examples=40)
def test_monte_carlo_agrees_with_exact(values, seed):
    exact = sign_flip_means(values)
    drawn = sign_flip_means(values, exact_up_to=0, draws=4000, seed=seed)
    assert 0 < drawn.p <= 1
    # six standard errors, and the one hit that is counted in advance
    assert abs(drawn.p - exact.p) <= 6 * math.sqrt(exact.p * (1 - exact.p) / 4000) + 1 / 4001
    if any(abs(value) > 1e-12 for value in values):
        assert (drawn.exact, drawn.draws, drawn.seed) == (False, 4000, seed)


@pytest.mark.parametrize("m", [2, 5, 9, 12])
def test_as_scipy_has_it(m):
    dice = np.random.default_rng(m)
    a, b = dice.normal(0, 1, m), dice.normal(0.5, 1, m)
    theirs = stats.permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    ours = sign_flip_means(list(b - a))
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.estimate == pytest.approx(theirs.statistic)


def test_the_two_halves_of_forty_units_meet():
    """Exact at m = 40, where 20 of each sign and 30 to 10 have a binomial answer."""
    assert sign_flip_means([0.5] * 30 + [-0.5] * 10, exact_up_to=40).p == pytest.approx(sign_test(30, 10), rel=1e-12)


def test_above_twenty_units_the_test_is_drawn_with_the_stated_seed():
    values = list(np.random.default_rng(3).normal(0.3, 1, 150))
    first = sign_flip_means(values)
    assert (first.exact, first.draws, first.seed, first.m) == (False, 100_000, 0, 150)
    assert first.floor == 1 / 100_001
    assert first == sign_flip_means(values)
    assert first.p != sign_flip_means(values, seed=1).p
    assert first.p == sign_flip_means(values[::-1]).p == sign_flip_means([-value for value in values]).p
    assert first.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)


def test_a_drawn_p_is_never_zero_and_counts_every_signing_drawn_in_pieces():
    """70 units take two words of bits a signing; 40,000 signings take several pieces."""
    assert sign_flip_means([0.5] * 70, draws=40_000).p == 1 / 40_001
    even = sign_flip_means([0.5] * 36 + [-0.5] * 34, draws=40_000)
    assert even.p == pytest.approx(sign_test(36, 34), abs=0.015)


def test_rounding_of_graded_scores_is_a_tie_and_makes_no_difference_of_totals():
    assert sign_flip_means([0.1 + 0.2 - 0.3]).ties == 1
    thirds = [0.1 + 0.2, 0.3, -0.6, 0.7 - 0.4]  # all signings that give the observed total are as far from 0
    assert sign_flip_means(thirds).p == pytest.approx(enumerated([3, 3, -6, 3]))


@pytest.mark.parametrize(("m", "floor"), [(0, 1.0), (1, 1.0), (6, 0.03125), (10, 0.001953125), (2000, 0.0)])
def test_floor(m, floor):
    assert sign_flip_floor(m) == floor


def test_differences_by_cluster():
    a = {"q1": 1.0, "q2": 0.0, "q3": 0.25}
    b = {"q3": 0.75, "q2": 1.0, "q1": 0.0}
    assert differences_of(a, b) == [-1.0, 1.0, 0.5]
    clusters = {"q1": "x", "q2": "y", "q3": "x", "unused": "z"}
    assert clustered_differences(a, b, clusters) == {"x": [-1.0, 0.5], "y": [1.0]}


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({"q1": 1.0, "q2": 1.0}, {"q1": 0.0}, r"cluster y is in arm a only \(1 such\)"),
        ({"q1": 1.0}, {"q1": 0.0, "q2": 1.0}, r"cluster y is in arm b only \(1 such\)"),
        ({"q1": 1.0, "q3": 1.0}, {"q1": 0.0}, r"question q3 is in arm a only \(1 such\)"),
        ({"q1": math.nan}, {"q1": 0.0}, "question q1 in arm a must be a finite number: nan"),
        ({"q1": 1.0}, {"q1": math.inf}, "question q1 in arm b must be a finite number: inf"),
        ({"q9": 1.0}, {"q9": 1.0}, "question q9 has no cluster"),
        ({}, {"q1": 1.0}, "cluster x is in arm b only"),
        ({}, {}, "the arms hold no question"),
    ],
)
def test_arms_that_cannot_be_paired_by_cluster(a, b, message):
    with pytest.raises(ValueError, match=message):
        clustered_differences(a, b, {"q1": "x", "q2": "y", "q3": "x"})


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({"q1": 1.0}, {"q2": 1.0, "q1": 1.0, "q3": 1.0}, r"question q2 is in arm b only \(2 such\)"),
        ({}, {}, "the arms hold no question"),
        ({"q1": 1.0}, {"q1": -math.inf}, "arm b must be a finite number: -inf"),
    ],
)
def test_arms_that_cannot_be_paired(a, b, message):
    with pytest.raises(ValueError, match=message):
        differences_of(a, b)


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        ({}, {}, "no cluster"),
        ({"x": []}, {}, "cluster x holds no value"),
        ({"x": [0.5, math.nan]}, {}, r"cluster x\[1\] must be a finite number: nan"),
        ({"x": [math.inf]}, {}, r"cluster x\[0\] must be a finite number: inf"),
        ({"x": [0.5]}, {"weights": "sessions"}, "weights must be 'clusters' or 'questions': 'sessions'"),
        ({"x": [0.5]}, {"exact_up_to": 41}, "exact_up_to must be from 0 to 40: 41"),
        ({"x": [0.5]}, {"draws": 0}, "draws must be at least 1: 0"),
        ({"x": [0.5]}, {"seed": -1}, "seed must not be negative: -1"),
    ],
)
def test_bad_input_of_the_cluster_permutation(groups, options, message):
    with pytest.raises(ValueError, match=message):
        cluster_permutation(groups, **options)


def test_bad_input_of_the_means_and_the_floor():
    with pytest.raises(ValueError, match="values holds no value"):
        sign_flip_means([])
    with pytest.raises(ValueError, match=r"values\[1\] must be a finite number: nan"):
        sign_flip_means([0.0, math.nan])
    with pytest.raises(ValueError, match="m must not be negative: -2"):
        sign_flip_floor(-2)


def alarms(effect, *, clustered, seed, tests=2000):
    """Share of simulated contrasts with p of .05 or less: 10 chains of 20 probes, whose differences a chain shares."""
    dice, hits = np.random.default_rng(seed), 0
    for _ in range(tests):
        probes = dice.normal(effect, 0.15, (10, 1)) + dice.normal(0, 0.6, (10, 20))
        if clustered:
            p = cluster_permutation({str(number): list(row) for number, row in enumerate(probes)}).p
        else:
            p = sign_test(int((probes > 0).sum()), int((probes < 0).sum()))
        hits += p <= 0.05
    return hits / tests


def power_of_t(effect):
    """What Student's test over the ten chain means finds of such contrasts, from the noncentral t distribution."""
    limit = stats.t.ppf(0.975, 9)
    shift = effect / math.sqrt((0.15**2 + 0.6**2 / 20) / 10)
    return stats.nct.sf(limit, 9, shift) + stats.nct.cdf(-limit, 9, shift)


def test_false_alarms_are_as_frequent_as_ten_chains_make_them():
    """p of .05 or less are 25 of 512 steps, .0488; four standard errors of 2,000 tests are .0193. Per probe, as if each
    were independent, the part that a chain shares makes false alarms."""
    assert alarms(0.0, clustered=True, seed=11) == pytest.approx(25 / 512, abs=0.0193)
    assert alarms(0.0, clustered=False, seed=11) > 25 / 512 + 0.0193


@pytest.mark.parametrize("effect", [0.1, 0.2, 0.3])
def test_detection_is_that_of_the_t_test_on_normal_chains(effect):
    """Four standard errors of 2,000 tests are at most .045; the two tests differ by little on normal values."""
    assert alarms(effect, clustered=True, seed=12) == pytest.approx(power_of_t(effect), abs=0.06)
