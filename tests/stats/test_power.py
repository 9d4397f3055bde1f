"""Power of the exact sign test: against enumeration, and against simulated contrasts."""

from functools import cache
from math import factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.stats.paired import sign_test
from benchsuite.stats.power import fewest_discordant, minimum_detectable_effect, questions_needed, sign_test_power

SIMULATED = 20_000


def enumerated(n, effect, discordance, alpha):
    """Power summed over every number of wins and losses among ``n`` questions."""
    won, lost = (discordance + effect) / 2, (discordance - effect) / 2
    power = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            if sign_test(wins, losses) <= alpha:
                ties = n - wins - losses
                ways = factorial(n) / (factorial(wins) * factorial(losses) * factorial(ties))
                power += ways * won**wins * lost**losses * (1 - discordance) ** ties
    return power


@given(
    st.integers(0, 16), st.floats(0.01, 1), st.floats(-1, 1), st.sampled_from([0.01, 0.03125, 0.05, 0.0625, 0.1, 0.5])
)
@settings(max_examples=40, deadline=None)
def test_power_is_what_enumeration_gives(n, discordance, share, alpha):
    effect = share * discordance
    found = sign_test_power(n, effect, discordance, alpha)
    assert found == pytest.approx(enumerated(n, effect, discordance, alpha), abs=1e-9)
    assert found == pytest.approx(sign_test_power(n, -effect, discordance, alpha), abs=1e-12)
    assert sign_test_power(n, 0.0, discordance, alpha) <= alpha + 1e-12


def test_by_hand():
    # six questions that all differ, all won with certainty: p is .03125
    assert sign_test_power(6, 1.0, 1.0) == pytest.approx(1.0)
    assert sign_test_power(5, 1.0, 1.0) == 0.0
    # all six wins or all six losses of fair coins
    assert sign_test_power(6, 0.0, 1.0) == pytest.approx(2 / 64)
    assert sign_test_power(6, 0.5, 1.0) == pytest.approx(0.75**6 + 0.25**6)
    assert sign_test_power(100, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(("alpha", "pairs"), [(0.05, 6), (0.1, 5), (0.0625, 5), (0.01, 8), (0.03125, 6), (0.5, 2)])
def test_fewest_discordant_is_where_the_sign_test_first_reaches_alpha(alpha, pairs):
    assert fewest_discordant(alpha) == pairs
    assert sign_test(pairs, 0) <= alpha < sign_test(pairs - 1, 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(10, 400), st.floats(0.02, 1), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_minimum_detectable_effect_is_the_edge(n, discordance, power):
    found = minimum_detectable_effect(n, discordance, power=power)
    if found is None:
        assert sign_test_power(n, discordance, discordance) < power
    else:
        assert sign_test_power(n, found, discordance) >= power - 1e-9
        assert sign_test_power(n, found * 0.999, discordance) < power


def test_too_few_discordant_questions_are_insensitive():
    assert minimum_detectable_effect(5, 1.0) is None
    assert minimum_detectable_effect(195, 0.01) is None
    assert minimum_detectable_effect(195, 0.0) is None


def test_more_questions_see_smaller_effects():
    found = [minimum_detectable_effect(n, 0.22) for n in (60, 173, 789)]
    assert found == sorted(found, reverse=True)
    # 173 questions and the discordance of DeliverMem Table 1 (31/7): about ten points, below the 13.87 it reports
    assert 0.09 < found[1] < 24 / 173


@pytest.mark.parametrize(("effect", "discordance"), [(0.1, 0.2), (0.3, 0.3), (-0.25, 0.5), (0.5, 1.0)])
def test_questions_needed_is_the_first_number_that_suffices(effect, discordance):
    found = questions_needed(effect, discordance)
    powers = [sign_test_power(n, effect, discordance) for n in range(found + 1)]
    assert powers[-1] >= 0.8
    assert max(powers[:-1]) < 0.8


def test_questions_needed_for_the_minimum_detectable_effect_come_back():
    effect = minimum_detectable_effect(173, 0.22)
    assert questions_needed(effect + 1e-9, 0.22) == pytest.approx(173, abs=1)


def test_more_questions_than_the_limit_are_none():
    assert questions_needed(0.01, 0.5, limit=200) is None


def simulated(n, effect, discordance):
    """The share of seeded contrasts that the sign test calls at .05."""
    import numpy as np

    p = cache(sign_test)
    shares = [(discordance + effect) / 2, (discordance - effect) / 2, 1 - discordance]
    drawn = np.random.default_rng(20).multinomial(n, shares, size=SIMULATED)
    return sum(p(int(wins), int(losses)) <= 0.05 for wins, losses, _ in drawn) / SIMULATED


@pytest.mark.parametrize(("n", "discordance"), [(173, 38 / 173), (195, 27 / 195), (60, 0.5)])
def test_simulated_false_alarms_and_detections_are_as_stated(n, discordance):
    spread = 4 * (0.25 / SIMULATED) ** 0.5
    false_alarms = simulated(n, 0.0, discordance)
    assert false_alarms <= 0.05
    assert false_alarms == pytest.approx(sign_test_power(n, 0.0, discordance), abs=spread)
    assert simulated(n, minimum_detectable_effect(n, discordance), discordance) == pytest.approx(0.8, abs=spread)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sign_test_power(-1, 0.0, 0.5), "n: -1"),
        (lambda: sign_test_power(5, 0.6, 0.5), "effect: 0.6"),
        (lambda: sign_test_power(5, float("nan"), 0.5), "effect: nan"),
        (lambda: sign_test_power(5, 0.0, 1.5), "discordance: 1.5"),
        (lambda: sign_test_power(5, 0.0, float("nan")), "discordance: nan"),
        (lambda: minimum_detectable_effect(5, 0.5, alpha=0.0), "alpha: 0.0"),
        (lambda: minimum_detectable_effect(5, 0.5, power=1.0), "power: 1.0"),
        (lambda: minimum_detectable_effect(5, 0.5, power=0.01), "power: 0.01 is below alpha"),
        (lambda: questions_needed(0.0, 0.5), "effect: 0"),
        (lambda: fewest_discordant(1.0), "alpha: 1.0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
