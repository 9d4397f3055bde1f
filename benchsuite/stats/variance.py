"""How much of the spread between seeds is finite sampling (DeliverMem appendix F.2, Table 21)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class SeedVariance:
    """Standard deviations of per-seed accuracy, as fractions (times 100 for the points of Table 21).

    ``accuracy`` is the mean of per-seed accuracies and ``probes`` the mean number of probes per seed.
    """

    seeds: int
    accuracy: float
    probes: float
    observed_sd: float
    binomial_sd: float
    residual_sd: float


def binomial_sd(accuracy: float, probes: float) -> float:
    """sqrt(p (1 - p) / n): the standard deviation of an accuracy over ``probes`` independent probes (F.2).

    ``accuracy`` and the result are fractions; ``probes`` may be a mean. Raises ValueError for an accuracy outside
    [0, 1] and for probes that are not positive and finite.
    """
    if not 0 <= accuracy <= 1:
        raise ValueError(f"accuracy: {accuracy} is not a proportion in [0, 1]")
    if not (isfinite(probes) and probes > 0):
        raise ValueError(f"probes: {probes} is not a positive number")
    return sqrt(accuracy * (1 - accuracy) / probes)


def residual_sd(observed: float, binomial: float) -> float:
    """sqrt(observed^2 - binomial^2), in the unit of both (F.2); 0.0 when the observed spread is the smaller.

    Raises ValueError for a negative or non-finite standard deviation.
    """
    for name, value in (("observed", observed), ("binomial", binomial)):
        if not (isfinite(value) and value >= 0):
            raise ValueError(f"{name}: {value} is not a standard deviation")
    return sqrt(max(0.0, observed**2 - binomial**2))


def seed_variance(correct_by_seed: Mapping[str, tuple[int, int]]) -> SeedVariance:
    """The spread of accuracy over seeds (chains), split into a binomial part and the rest.

    ``correct_by_seed`` gives (correct, probes) of each seed. ``observed_sd`` is the sample standard deviation
    (divisor: seeds - 1) of per-seed accuracies, ``binomial_sd`` is taken at their mean and the mean number of probes,
    as in Table 21; where probes differ much between seeds that understates it.

    Not an estimate of how hard seeds are: probes nested in a seed are not independent, so the residual is an upper
    bound on chain-to-chain difficulty, and over few seeds it is itself noisy. Not for comparing two arms: that is
    paired within seeds.

    Raises ValueError for fewer than two seeds, a seed without probes, and correct outside 0 to probes.
    """
    if len(correct_by_seed) < 2:
        raise ValueError(f"correct_by_seed: a spread needs at least 2 seeds, got {len(correct_by_seed)}")
    for seed, (correct, probes) in correct_by_seed.items():
        if probes < 1 or not 0 <= correct <= probes:
            raise ValueError(f"correct_by_seed: seed {seed}: {correct} correct of {probes} probes")
    accuracies = [correct / probes for correct, probes in correct_by_seed.values()]
    accuracy, probes_per_seed = fmean(accuracies), fmean(probes for _, probes in correct_by_seed.values())
    observed, binomial = stdev(accuracies), binomial_sd(accuracy, probes_per_seed)
    return SeedVariance(
        seeds=len(accuracies),
        accuracy=accuracy,
        probes=probes_per_seed,
        observed_sd=observed,
        binomial_sd=binomial,
        residual_sd=residual_sd(observed, binomial),
    )
