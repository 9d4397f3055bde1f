"""Worst-case bounds against every way to fill in what is missing."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.stats.missing import worst_case

OUTCOME = st.sampled_from([None, 0.0, 0.5, 1.0])


def arm(outcomes):
    """(scores, missing ids) of outcomes by position, None where missing."""
    scores = {f"q{k}": score for k, score in enumerate(outcomes) if score is not None}
    return scores, [f"q{k}" for k, score in enumerate(outcomes) if score is None]


def test_by_hand():
    # complete: q0 +1, q1 0; q2 lacks b (a is 1): -1 to 0; q3 lacks a (b is 1): 0 to 1; q4 lacks both: -1 to 1
    found = worst_case({"q0": 0.0, "q1": 1.0, "q2": 1.0}, {"q0": 1.0, "q1": 1.0, "q3": 1.0}, ["q3", "q4"], ["q2", "q4"])
    assert (found.n, found.complete, found.estimate) == (5, 2, 0.5)
    assert (found.low, found.high) == (pytest.approx(-0.2), pytest.approx(0.6))
    assert found.sign_can_flip


def test_nothing_missing_leaves_the_estimate():
    found = worst_case({"p": 0.25, "q": 1.0}, {"p": 0.75, "q": 1.0})
    assert found.low == found.high == found.estimate == 0.25
    assert not found.sign_can_flip


@settings(deadline=None)
@given(st.lists(st.tuples(OUTCOME, OUTCOME), min_size=1, max_size=5))
def test_bounds_are_the_extremes_over_all_fillings(outcomes):
    (a, missing_a), (b, missing_b) = (arm([pair[side] for pair in outcomes]) for side in (0, 1))
    found = worst_case(a, b, missing_a, missing_b)
    means = []
    for fill in product((0.0, 1.0), repeat=len(missing_a) + len(missing_b)):
        whole_a = {**a, **dict(zip(missing_a, fill, strict=False))}
        whole_b = {**b, **dict(zip(missing_b, fill[len(missing_a) :], strict=True))}
        means.append(sum(whole_b[key] - whole_a[key] for key in whole_a) / len(outcomes))
    assert (found.low, found.high) == (pytest.approx(min(means)), pytest.approx(max(means)))
    signs = {(mean > 1e-9) - (mean < -1e-9) for mean in means}
    estimate = found.estimate or 0.0
    assert found.sign_can_flip == (estimate != 0 and (-1 if estimate > 0 else 1) in signs)
    turned = worst_case(b, a, missing_b, missing_a)
    assert (turned.low, turned.high) == (pytest.approx(-found.high), pytest.approx(-found.low))
    assert turned.sign_can_flip == found.sign_can_flip


def test_a_few_missing_cannot_turn_a_large_effect():
    a, b = ({f"q{k}": score for k in range(10)} for score in (0.0, 1.0))
    found = worst_case({**a, "x": 1.0}, b, (), ["x"])
    assert not found.sign_can_flip
    assert (found.estimate, found.low, found.high) == (1.0, pytest.approx(9 / 11), pytest.approx(10 / 11))


def test_nothing_complete_has_no_estimate_and_no_sign():
    found = worst_case({}, {"q": 1.0}, ["q"])
    assert (found.complete, found.estimate, found.low, found.high, found.sign_can_flip) == (0, None, 0.0, 1.0, False)


@pytest.mark.parametrize(
    ("a", "b", "missing_a", "missing_b", "message"),
    [
        ({}, {}, [], [], "no question"),
        ({"q": 2.0}, {"q": 0.0}, [], [], "a: q: 2.0"),
        ({"q": 0.0}, {"q": float("nan")}, [], [], "b: q: nan"),
        ({"q": 0.0}, {"q": 0.0}, [], ["q"], "missing_b: q has a score"),
        ({"q": 0.0, "r": 0.0}, {"q": 0.0}, [], [], "b: r is neither"),
        ({}, {}, ["q"], [], "b: q is neither"),
    ],
)
def test_bad_input_is_named(a, b, missing_a, missing_b, message):
    with pytest.raises(ValueError, match=message):
        worst_case(a, b, missing_a, missing_b)
