"""Difference-in-differences by label permutation, and the 2x2 by cluster."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.stats.factorial import cluster_two_by_two, difference_in_differences
from benchsuite.stats.paired import two_by_two

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
GRADES = st.sampled_from([-1.0, -0.75, -0.5, -0.25, 0.0, 0.1, 0.25, 0.5, 1.0])


def effects_of(wins, losses, n, prefix):
    signs = [1.0] * wins + [-1.0] * losses + [0.0] * (n - wins - losses)
    return {f"{prefix}{number}": sign for number, sign in enumerate(signs)}


def brute(effects, size, seen):
    """(p, floor) over all groups of ``size``, one by one."""
    values, distances = list(effects.values()), []
    for chosen in combinations(range(len(values)), size):
        inner = sum(values[i] for i in chosen)
        distances.append(abs(inner / size - (sum(values) - inner) / (len(values) - size)))
    farthest = max(distances)
    return (
        sum(each >= abs(seen) - 1e-9 for each in distances) / len(distances),
        sum(each >= farthest - 1e-9 for each in distances) / len(distances),
    )


def test_by_hand():
    # groups of 2 of (1, 1, 0, 0): {1, 1} +1, {0, 0} -1, four with 0: p = floor = 2/6
    found = difference_in_differences({"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}, {"a", "b"})
    assert (found.estimate, found.p, found.floor, found.exact) == (
        1.0,
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
        True,
    )
    assert (found.draws, found.seed) == (None, None)
    mixed = difference_in_differences({"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}, {"a", "c"})
    assert (mixed.estimate, mixed.p, mixed.floor) == (0.0, 1.0, pytest.approx(1 / 3))
    assert (mixed.inside.wins, mixed.outside.wins, mixed.inside.n, mixed.outside.n) == (1, 1, 2, 2)


def test_the_dates_of_delivermem_section_7():
    # 31/4 on 194 temporal questions, a net of two lost on the other 505
    effects = {**effects_of(31, 4, 194, "t"), **effects_of(6, 8, 505, "o")}
    found = difference_in_differences(effects, [key for key in effects if key.startswith("t")])
    assert 100 * found.inside.estimate == pytest.approx(13.92, abs=0.005)
    assert 100 * found.outside.estimate == pytest.approx(-0.40, abs=0.005)
    assert 100 * found.estimate == pytest.approx(14.31, abs=0.005)
    assert found.exact
    assert found.floor < found.p < 1e-6


@settings(max_examples=60, deadline=None)
@given(st.lists(GRADES, min_size=2, max_size=9), st.data())
def test_exact_is_what_enumeration_gives_whatever_the_order(values, data):
    size = data.draw(st.integers(1, len(values) - 1))
    effects = {f"q{number}": value for number, value in enumerate(values)}
    group = data.draw(st.permutations(sorted(effects)))[:size]
    found = difference_in_differences(effects, group)
    p, floor = brute(effects, size, found.estimate)
    assert (found.p, found.floor) == (pytest.approx(p), pytest.approx(floor))
    assert 0 < found.floor <= found.p <= 1
    shuffled = {key: effects[key] for key in data.draw(st.permutations(sorted(effects)))}
    assert difference_in_differences(shuffled, group) == found
    others = difference_in_differences(effects, effects.keys() - set(group))
    assert (others.estimate, others.p) == (pytest.approx(-found.estimate), pytest.approx(found.p))
    turned = difference_in_differences({key: -value for key, value in effects.items()}, group)
    assert (turned.estimate, turned.p) == (pytest.approx(-found.estimate), pytest.approx(found.p))


def test_drawn_agrees_with_exact_and_repeats_with_its_seed():
    effects = {**effects_of(12, 4, 40, "t"), **effects_of(9, 9, 60, "o")}
    group = [key for key in effects if key.startswith("t")]
    exact = difference_in_differences(effects, group)
    drawn = difference_in_differences(effects, group, exact_up_to=0, draws=20_000, seed=3)
    assert (exact.exact, drawn.exact, drawn.draws, drawn.seed) == (True, False, 20_000, 3)
    assert 0.01 < exact.p < 0.5
    assert drawn.p == pytest.approx(exact.p, abs=4 * (exact.p * (1 - exact.p) / 20_000) ** 0.5)
    assert drawn.floor == pytest.approx(1 / 20_001)
    assert drawn == difference_in_differences(effects, group, exact_up_to=0, draws=20_000, seed=3)
    assert drawn != difference_in_differences(effects, group, exact_up_to=0, draws=20_000, seed=4)


def test_drawn_p_is_never_zero():
    effects = {**effects_of(30, 0, 30, "t"), **effects_of(0, 30, 30, "o")}
    group = [key for key in effects if key.startswith("t")]
    drawn = difference_in_differences(effects, group, exact_up_to=0, draws=999)
    assert drawn.p == drawn.floor == pytest.approx(1 / 1000)


def test_many_different_effects_are_drawn():
    effects = {f"q{number}": (number * 7919 % 997) / 997 for number in range(300)}
    found = difference_in_differences(effects, list(effects)[:100], draws=500)
    assert (found.exact, found.draws) == (False, 500)


def test_scipy_finds_the_same():
    from scipy.stats import permutation_test

    effects = {f"q{number}": value for number, value in enumerate([0.5, 1, 1, -0.25, 0, 0, 0.25, -1, 0, 0.5])}
    group = ["q0", "q1", "q2", "q8"]
    inside, outside = [effects[key] for key in group], [effects[key] for key in effects if key not in group]

    def distance(x, y, axis):
        return abs(x.mean(axis=axis) - y.mean(axis=axis))

    theirs = permutation_test((inside, outside), distance, vectorized=True, n_resamples=1000, alternative="greater")
    assert difference_in_differences(effects, group).p == pytest.approx(theirs.pvalue)


def test_no_effect_anywhere_is_no_difference():
    found = difference_in_differences(dict.fromkeys("abcd", 0.0), "a")
    assert (found.estimate, found.p, found.floor) == (0.0, 1.0, 1.0)


def test_false_alarms_stay_at_alpha():
    import numpy as np

    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(600):
        values = random.choice([1.0, 0.0, -1.0], p=[0.2, 0.65, 0.15], size=60)
        effects = {str(number): float(value) for number, value in enumerate(values)}
        alarms += difference_in_differences(effects, [str(number) for number in range(20)]).p <= 0.05
    assert alarms / 600 <= 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5


@pytest.mark.parametrize(
    ("effects", "group", "options", "message"),
    [
        ({"a": float("nan"), "b": 0.0}, ["a"], {}, "effects: a: nan"),
        ({"a": 0.0, "b": float("inf")}, ["a"], {}, "effects: b: inf"),
        ({"a": 0.0, "b": 0.0}, ["a", "z"], {}, "1 of 2 questions have no effect, the first is z"),
        ({"a": 0.0, "b": 0.0}, [], {}, "0 of 2"),
        ({"a": 0.0, "b": 0.0}, ["a", "b"], {}, "2 of 2"),
        ({}, [], {}, "0 of 0"),
        ({"a": 0.0, "b": 0.0}, ["a"], {"draws": 0}, "draws: 0"),
    ],
)
def test_bad_input_is_named(effects, group, options, message):
    with pytest.raises(ValueError, match=message):
        difference_in_differences(effects, group, **options)


def arms_of(percentages):
    return [{"all": each / 100} for each in percentages]


@pytest.mark.parametrize(
    ("cells", "places"),
    [
        ("T17", {"first": "T17 R1 main", "second": "T17 delivery main", "interaction": "T17 interaction"}),
        ("T10", {"interaction": "T10 interaction"}),
        (
            "S7",
            {
                "first": "S7 2x2 Qwen R1 main",
                "second": "S7 2x2 Qwen delivery main",
                "interaction": "S7 2x2 Qwen interaction",
            },
        ),
    ],
)
def test_published_two_by_twos(cells, places):
    figures = {figure["place"]: figure for figure in FIGURES}
    given_cells = figures[places["interaction"]]["inputs"]
    order = {
        "T17": ("a", "b", "c", "d"),
        "T10": ("none", "text_only", "pixels_only", "both"),
        "S7": (None, "delivery_only", "R1_only", "both"),
    }[cells]
    arms = arms_of([given_cells[name] if name else 0.0 for name in order])
    whole = two_by_two(*arms)
    clustered = cluster_two_by_two(*arms, clusters={"all": "chain"})
    for part, place in places.items():
        published = figures[place]
        estimate = getattr(whole, part).estimate
        assert 100 * estimate == pytest.approx(published["published"], abs=published["tolerance"])
        assert getattr(clustered, part) == {"chain": (estimate,)}


def test_cluster_two_by_two_groups_what_all_arms_have():
    # per question: low_low, low_high, high_low, high_high
    quads = {"p": (1, 0, 0, 1), "q": (0, 1, 0, 0), "r": (0, 1, 1, 1)}
    arms = [{key: float(quad[i]) for key, quad in quads.items()} for i in range(4)]
    arms[3]["only-here"] = 1.0
    found = cluster_two_by_two(*arms, clusters={"p": "two", "q": "one", "r": "two"})
    assert found.n == 3
    assert found.interaction == {"one": (-1.0,), "two": (2.0, -1.0)}
    assert found.first == {"one": (-0.5,), "two": (0.0, 0.5)}
    assert found.second == {"one": (0.5,), "two": (0.0, 0.5)}
    assert list(found.first) == ["one", "two"]
    assert sum(sum(values) for values in found.first.values()) / 3 == pytest.approx(two_by_two(*arms).first.estimate)


def test_a_question_without_cluster_is_named():
    with pytest.raises(ValueError, match="question q has none"):
        cluster_two_by_two(*[{"q": 1.0}] * 4, clusters={})
