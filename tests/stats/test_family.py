"""Holm's adjustment and what a floor forbids."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.stats.family import can_reach, holm, lowest_adjusted

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
FLOORS = [figure for figure in FIGURES if figure["kind"] == "perm_floor"]
P = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0]))
FAMILIES = st.dictionaries(st.text(max_size=2), P, min_size=1, max_size=6)


def closed(p_values):
    """Adjusted p by closed testing: the largest Bonferroni p of all intersections that a test is part of."""
    names = sorted(p_values)
    sets = [chosen for size in range(1, len(names) + 1) for chosen in combinations(names, size)]
    joint = {chosen: min(1.0, len(chosen) * min(p_values[name] for name in chosen)) for chosen in sets}
    return {name: max(p for chosen, p in joint.items() if name in chosen) for name in names}


def test_by_hand():
    # sorted .01 * 4, .02 * 3, .03 * 2 = .06, .04 * 1 -> not below .06
    found = holm({"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.02})
    assert found == pytest.approx({"d": 0.06, "a": 0.04, "c": 0.06, "b": 0.06})
    assert list(found) == ["d", "a", "c", "b"]


@given(FAMILIES, st.randoms())
def test_holm_is_closed_testing(p_values, random):
    found = holm(p_values)
    assert found == pytest.approx(closed(p_values))
    assert all(p_values[name] <= found[name] <= 1 for name in p_values)
    names = sorted(p_values)
    random.shuffle(names)
    assert holm({name: p_values[name] for name in names}) == found


def test_one_test_is_left_as_it_is_and_no_test_is_no_family():
    assert holm({"only": 0.03}) == {"only": 0.03}
    assert holm({}) == {}


def test_familywise_error_stays_at_alpha():
    import numpy as np

    random = np.random.default_rng(2)
    families = random.random((4000, 5))
    alarms = np.mean([min(holm(dict(enumerate(each))).values()) <= 0.05 for each in families])
    assert alarms == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 4000) ** 0.5)
    assert np.mean(families.min(axis=1) <= 0.05) > 0.2


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_p_outside_its_range_is_named(p):
    with pytest.raises(ValueError, match="p_values: first: "):
        holm({"first": p})


@pytest.mark.parametrize("figure", FLOORS, ids=lambda figure: figure["id"])
def test_published_floors_can_reach_five_percent(figure):
    floor = 2 / 2 ** figure["inputs"]["m"]
    assert floor == pytest.approx(figure["published"], abs=figure["tolerance"])
    assert can_reach(floor)


def test_five_clusters_cannot_reach_five_percent():
    assert not can_reach(2 / 2**5)
    assert can_reach(2 / 2**5, alpha=0.1)
    assert can_reach(0.05)


@pytest.mark.parametrize(("floor", "alpha"), [(1.5, 0.05), (0.1, -1.0), (float("nan"), 0.05)])
def test_can_reach_refuses_what_is_no_probability(floor, alpha):
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        can_reach(floor, alpha)


def test_a_family_can_put_alpha_out_of_reach():
    # six chains: floor .03125, alone within reach, in a family of two weak ones .0625
    assert lowest_adjusted({"x": 0.3, "y": 0.4}, {"x": 0.03125}) == {"x": 0.0625}
    # beside a strong one it comes second: .03125 * 1
    assert lowest_adjusted({"x": 0.3, "y": 0.001}, {"x": 0.03125}) == {"x": 0.03125}


@given(FAMILIES, st.floats(0, 1))
def test_the_lowest_adjusted_p_bounds_the_adjusted_one(p_values, share):
    floors = {name: share * p for name, p in p_values.items()}
    found, adjusted = lowest_adjusted(p_values, floors), holm(p_values)
    assert all(floors[name] <= found[name] <= adjusted[name] for name in p_values)


@pytest.mark.parametrize(
    ("floors", "message"),
    [({"z": 0.1}, "z has no p value"), ({"x": 0.5}, "x: 0.5 is above"), ({"x": -1.0}, "x: -1.0 is not in")],
)
def test_bad_floors_are_named(floors, message):
    with pytest.raises(ValueError, match=message):
        lowest_adjusted({"x": 0.3}, floors)
