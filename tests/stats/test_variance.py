"""The seed-variance split against DeliverMem Table 21 and simulated seeds."""

import json
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.stats.variance import binomial_sd, residual_sd, seed_variance

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
BINOMIAL = [figure for figure in FIGURES if figure["kind"] == "binomial_sd"]
RESIDUAL = [figure for figure in FIGURES if figure["kind"] == "residual_sd"]


def test_table_21_has_four_cells_of_each():
    assert (len(BINOMIAL), len(RESIDUAL)) == (4, 4)


@pytest.mark.parametrize("figure", BINOMIAL, ids=lambda figure: figure["id"])
def test_published_binomial_part(figure):
    found = 100 * binomial_sd(figure["inputs"]["accuracy"] / 100, figure["inputs"]["probes_per_seed"])
    assert found == pytest.approx(figure["published"], abs=figure["tolerance"])


@pytest.mark.parametrize("figure", RESIDUAL, ids=lambda figure: figure["id"])
def test_published_residual(figure):
    found = residual_sd(figure["inputs"]["obs"], figure["inputs"]["binom"])
    assert found == pytest.approx(figure["published"], abs=figure["tolerance"])


def test_by_hand():
    # accuracies .5 and .9 over 10 and 30 probes: mean .7, sd .4 / sqrt 2, binomial sqrt(.21 / 20)
    found = seed_variance({"s1": (5, 10), "s2": (27, 30)})
    assert (found.seeds, found.accuracy, found.probes) == (2, pytest.approx(0.7), 20)
    assert found.observed_sd == pytest.approx(0.08**0.5)
    assert found.binomial_sd == pytest.approx(0.0105**0.5)
    assert found.residual_sd == pytest.approx((0.08 - 0.0105) ** 0.5)


def test_spread_below_chance_leaves_no_residual():
    found = seed_variance({"s1": (50, 100), "s2": (50, 100), "s3": (51, 100)})
    assert found.observed_sd < found.binomial_sd
    assert found.residual_sd == 0.0


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=2, max_size=12))
def test_the_parts_add_up_as_variances(drawn):
    seeds = {seed: (min(correct, probes), probes) for seed, (correct, probes) in drawn.items()}
    found = seed_variance(seeds)
    assert found.residual_sd**2 == pytest.approx(max(0.0, found.observed_sd**2 - found.binomial_sd**2), abs=1e-12)
    turned = seed_variance({seed: (probes - correct, probes) for seed, (correct, probes) in seeds.items()})
    assert turned.observed_sd == pytest.approx(found.observed_sd, abs=1e-12)
    assert turned.binomial_sd == pytest.approx(found.binomial_sd, abs=1e-12)


def test_simulated_seeds_give_back_the_residual_they_were_made_with():
    import numpy as np

    random = np.random.default_rng(5)
    made = 0.08
    difficulty = [0.7 + made * NormalDist().inv_cdf((k + 0.5) / 400) for k in range(400)]
    hard = seed_variance({str(k): (int(random.binomial(200, p)), 200) for k, p in enumerate(difficulty)})
    even = seed_variance({str(k): (int(random.binomial(200, 0.7)), 200) for k in range(400)})
    assert hard.residual_sd == pytest.approx(made, abs=0.01)
    assert even.residual_sd < 0.015


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({}, "got 0"),
        ({"s1": (1, 2)}, "got 1"),
        ({"s1": (1, 2), "s2": (0, 0)}, "seed s2: 0 correct of 0"),
        ({"s1": (3, 2), "s2": (0, 1)}, "seed s1: 3 correct of 2"),
        ({"s1": (-1, 2), "s2": (0, 1)}, "seed s1: -1 correct of 2"),
    ],
)
def test_bad_seeds_are_named(seeds, message):
    with pytest.raises(ValueError, match=message):
        seed_variance(seeds)


@pytest.mark.parametrize(
    ("accuracy", "probes", "message"),
    [
        (77.8, 189, "accuracy: 77.8"),
        (float("nan"), 5, "accuracy: nan"),
        (0.5, 0, "probes: 0"),
        (0.5, float("inf"), "inf"),
    ],
)
def test_bad_binomial_input_is_named(accuracy, probes, message):
    with pytest.raises(ValueError, match=message):
        binomial_sd(accuracy, probes)


@pytest.mark.parametrize(("observed", "binomial"), [(-1.0, 0.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_bad_deviations_are_refused(observed, binomial):
    with pytest.raises(ValueError, match="not a standard deviation"):
        residual_sd(observed, binomial)
