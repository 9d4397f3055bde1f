"""Sign-flip permutation tests of paired differences, with the cluster or the question as the unit.

Under the null a unit's difference has either sign with equal chance, so the observed total is compared with the
totals of all 2^m ways to sign the m units: Good, Permutation, Parametric and Bootstrap Tests of Hypotheses (2005),
which DeliverMem section 6 uses over chains. numpy is imported where a test is made: runs load this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, ldexp
from typing import TYPE_CHECKING, Any, Literal

from benchsuite.stats.intervals import checked_values

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Weights = Literal["clusters", "questions"]
"""What counts once in the estimate: the cluster (mean of cluster means) or the question (mean over all questions)."""

MOST_EXACT = 40
"""Units that an exact test may have: it holds 2^(m/2) totals."""

_SAME = 1e-12
"""Differences below this are rounding of graded scores; so are totals that differ by less, as a share of their sum."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Permutation:
    """A two-sided sign-flip test over ``m`` units.

    ``estimate`` is the observed ``statistic`` (named in words), in the unit of the differences. ``p`` is in (0, 1].
    ``floor`` is the least p that ``m`` units can give: 2/2^m, or 1/(1 + draws) of a Monte Carlo test where that is
    more. ``ties`` of the units have no difference: they change no total, so this sample's own floor is
    ``floor_with_ties``. ``draws`` and ``seed`` are None when the test is ``exact``.
    """

    estimate: float
    statistic: str
    p: float
    floor: float
    floor_with_ties: float
    m: int
    ties: int
    exact: bool
    draws: int | None
    seed: int | None


def sign_flip_floor(m: int) -> float:
    """The least two-sided p of an exact test over ``m`` units, 2/2^m: .002 at 10 chains (DeliverMem section 6).

    1.0 at no unit as at one. Not for a Monte Carlo test, nor for units that tie. Raises ValueError when negative.
    """
    if m < 0:
        raise ValueError(f"m must not be negative: {m}")
    return min(1.0, ldexp(1.0, 1 - m))


def clustered_differences(
    a: Mapping[str, float], b: Mapping[str, float], clusters: Mapping[str, str]
) -> dict[str, list[float]]:
    """``b`` minus ``a`` by cluster, from scores by question id and the cluster of each question.

    Nothing is left out here: who pairs arms that differ says first what it leaves out. ``clusters`` may know more
    questions than the arms have.

    Raises ValueError, naming the first at fault, when no question is given, a score is NaN or infinite, a cluster or
    a question is in one arm only, or a question has no cluster.
    """
    for question in (*a, *b):
        if question not in clusters:
            raise ValueError(f"question {question} has no cluster")
    for arm, other, name in ((a, b, "a"), (b, a, "b")):
        lone = {clusters[question] for question in arm} - {clusters[question] for question in other}
        if lone:
            raise ValueError(f"cluster {min(lone)} is in arm {name} only ({len(lone)} such)")
    _checked_arms(a, b)
    differences: dict[str, list[float]] = {}
    for question in a:
        differences.setdefault(clusters[question], []).append(b[question] - a[question])
    return differences


def differences_of(a: Mapping[str, float], b: Mapping[str, float]) -> list[float]:
    """``b`` minus ``a`` by question, in the order of ``a``.

    Raises ValueError, naming the first at fault, when no question is given, a score is NaN or infinite, or a question
    is in one arm only.
    """
    _checked_arms(a, b)
    return [b[question] - a[question] for question in a]


def _checked_arms(a: Mapping[str, float], b: Mapping[str, float]) -> None:
    for arm, other, name in ((a, b, "a"), (b, a, "b")):
        if lone := arm.keys() - other.keys():
            raise ValueError(f"question {min(lone)} is in arm {name} only ({len(lone)} such)")
        for question, score in arm.items():
            if not isfinite(score):
                raise ValueError(f"score of question {question} in arm {name} must be a finite number: {score}")
    if not a:
        raise ValueError("the arms hold no question")


def cluster_units(
    differences: Mapping[str, Sequence[float]], weights: Weights
) -> tuple[list[tuple[float, float]], str]:
    """Each cluster's mean and its weight, in the order given, and the weighted mean's name in words.

    Raises ValueError, naming the cluster, when there is none, one is empty or holds NaN or infinity, or for an unknown
    ``weights``.
    """
    if weights not in ("clusters", "questions"):
        raise ValueError(f"weights must be 'clusters' or 'questions': {weights!r}")
    if not differences:
        raise ValueError("differences hold no cluster")
    units = []
    for name, values in differences.items():
        found = checked_values(f"cluster {name}", values)
        units.append((fsum(found) / len(found), 1.0 if weights == "clusters" else float(len(found))))
    return units, "mean of cluster means" if weights == "clusters" else "mean over questions"


def cluster_permutation(
    differences: Mapping[str, Sequence[float]],
    *,
    weights: Weights = "clusters",
    exact_up_to: int = 20,
    draws: int = 100_000,
    seed: int = 0,
) -> Permutation:
    """The cluster permutation test of the questions' differences (b minus a): signs flip cluster by cluster.

    DeliverMem section 6 and Table 16, where the clusters are chains. With ``weights="clusters"`` the statistic is the
    mean of the cluster means, as there; with ``"questions"`` the mean over all questions, in which a large cluster
    counts more: a whole cluster still flips as one. For clusters of one size the two are equal.

    Exact over all flips when at most ``exact_up_to`` clusters have a difference (those without one change no total);
    else Monte Carlo, p = (1 + hits) / (1 + draws) with the stated seed, so that p is never 0. All clusters tied, or
    one cluster: p = 1. Order, names and which arm is ``a`` do not change p.

    Not for unpaired arms, for clusters that differ in anything but their draw (as before and after a change), or to
    call a null found: with few clusters the ``floor`` may be above any level of interest.

    Raises ValueError for no cluster, an empty one, NaN or infinity, ``exact_up_to`` outside 0 to 40, ``draws`` below
    1 or a negative ``seed``.
    """
    units, statistic = cluster_units(differences, weights)
    total = fsum(weight for _, weight in units)
    return _test([mean * weight for mean, weight in units], total, statistic, exact_up_to, draws, seed)


def sign_flip_means(
    values: Sequence[float], *, exact_up_to: int = 20, draws: int = 100_000, seed: int = 0
) -> Permutation:
    """The same test on the mean of per-question differences (b minus a), each question a unit of its own.

    For graded scores, where a sign test forgets how much (five-level judges); on 0/1 scores it is the exact sign test.
    Options, results and errors as ``cluster_permutation``. Not for questions that share a cluster.
    """
    found = checked_values("values", values)
    return _test(found, len(found), "mean over questions", exact_up_to, draws, seed)


def _test(
    values: Sequence[float], total: float, statistic: str, exact_up_to: int, draws: int, seed: int
) -> Permutation:
    """The test of the sum of ``values``; the estimate is that sum over ``total``."""
    if not 0 <= exact_up_to <= MOST_EXACT:
        raise ValueError(f"exact_up_to must be from 0 to {MOST_EXACT}: {exact_up_to}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1: {draws}")
    if seed < 0:
        raise ValueError(f"seed must not be negative: {seed}")
    observed = fsum(values)  # like the sorted magnitudes, the same whatever the order
    moving = sorted(abs(value) for value in values if abs(value) > _SAME)
    m, exact = len(values), len(moving) <= exact_up_to
    bound = abs(observed) - _SAME * max(1.0, fsum(moving))
    least = 0.0 if exact else 1 / (1 + draws)
    if not moving or bound <= 0:
        p = 1.0
    else:
        p = _exact(moving, bound) if exact else _monte_carlo(moving, bound, draws, seed)
    return Permutation(
        estimate=observed / total + 0.0,
        statistic=statistic,
        p=p,
        floor=max(sign_flip_floor(m), least),
        floor_with_ties=max(sign_flip_floor(len(moving)), least),
        m=m,
        ties=m - len(moving),
        exact=exact,
        draws=None if exact else draws,
        seed=None if exact else seed,
    )


def _totals(sizes: Sequence[float]) -> Array:
    """The totals of all 2^len(sizes) ways to sign ``sizes``."""
    import numpy as np

    totals = np.zeros(1)
    for size in sizes:
        totals = np.concatenate([totals + size, totals - size])
    return totals


def _exact(sizes: Sequence[float], bound: float) -> float:
    """The share of all signings whose total is ``bound`` (above 0) or more, or its negative or less.

    Every total is one of the first half's plus one of the second's: for each of the former, the latter that suffice
    are counted in their sorted list, so that 2^(m/2) totals are held and not 2^m.
    """
    import numpy as np

    left, right = _totals(sizes[::2]), np.sort(_totals(sizes[1::2]))
    above = left.size * right.size - int(np.searchsorted(right, bound - left, side="left").sum())
    return 2 * above / (left.size * right.size)  # the totals are symmetric about 0


def _monte_carlo(sizes: Sequence[float], bound: float, draws: int, seed: int) -> float:
    """(1 + hits) / (1 + draws): the observed signing counts as one of the drawn."""
    import numpy as np

    magnitudes = np.asarray(sizes)
    dice, whole = np.random.PCG64(seed), float(magnitudes.sum())  # a bit stream that no release of numpy changes
    words = -(-magnitudes.size // 64)
    hits = 0
    step = max(1, _CHUNK // (64 * words))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        raw = dice.random_raw(rows * words).astype("<u8", copy=False).view(np.uint8).reshape(rows, 8 * words)
        up = np.unpackbits(raw, axis=1, count=magnitudes.size)
        hits += int((np.abs(2 * (up @ magnitudes) - whole) >= bound).sum())
    return (1 + hits) / (1 + draws)
