"""Whether an effect belongs to one group of questions, and the 2x2 cluster by cluster (DeliverMem sections 4 and 7).

Effects are per-question contrasts, ``b`` minus ``a``: fractions (-1 to 1 for scores in [0, 1]) by question id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb, isfinite
from sys import float_info

from benchsuite.stats.paired import Effect, effect, two_by_two

_SAME = 1e-9
"""Sums of graded effects closer than this are one sum."""

_CELLS = 1 << 20
"""Numbers held at a time while drawing: 8 MiB."""


@dataclass(frozen=True, slots=True)
class DifferenceInDifferences:
    """``estimate`` is ``inside.estimate - outside.estimate`` (a fraction); ``p`` is two-sided by label permutation.

    ``floor`` is the smallest ``p`` that these effects could give with any group of this size (1 / (1 + draws) where
    drawn): above alpha, the test cannot reach it. ``draws`` and ``seed`` are None where ``exact``.
    """

    inside: Effect
    outside: Effect
    p: float
    floor: float
    exact: bool
    draws: int | None
    seed: int | None

    @property
    def estimate(self) -> float:
        return self.inside.estimate - self.outside.estimate


def difference_in_differences(
    effects: Mapping[str, float],
    group: Collection[str],
    *,
    exact_up_to: int = 200_000,
    draws: int = 100_000,
    seed: int = 0,
) -> DifferenceInDifferences:
    """Mean effect on the questions of ``group`` minus the mean effect on all others, by permuting who is in the group.

    DeliverMem section 7 (D3): accurate against permuted dates on temporal questions, against the same on all others.
    Under the null, which questions are in the group does not matter, so all C(n, g) choices of g questions are
    equally likely; ``p`` is the share of them with an absolute difference at least as large as the one seen. Choices
    with the same effects are counted together, which makes the test exact for 0/1 scores at any n; when the count
    would take more than ``exact_up_to`` steps (many different graded effects), ``draws`` choices are drawn with
    ``seed`` and p is (1 + as large) / (1 + draws). The order of ``effects`` changes nothing.

    Not for questions that share a cluster (a conversation, an object, a chain): permuting questions takes them as
    exchangeable. Not for an effect of the group by itself: a difference can come from the others. Equal effects
    everywhere, zero included, give p 1.

    Raises ValueError for an effect that is not finite, a group question without effect, a group that is empty or
    everything, and ``draws`` below 1.
    """
    inside = set(group)
    for key, value in effects.items():
        if not isfinite(value):
            raise ValueError(f"effects: {key}: {value} is not a finite number")
    if unknown := sorted(inside - effects.keys()):
        raise ValueError(f"group: {len(unknown)} of {len(inside)} questions have no effect, the first is {unknown[0]}")
    if not inside or len(inside) == len(effects):
        raise ValueError(f"group: holds {len(inside)} of {len(effects)} questions, so one side is empty")
    if draws < 1:
        raise ValueError(f"draws: {draws} is not positive")
    within = effect([effects[key] for key in sorted(inside)])
    without = effect([effects[key] for key in sorted(effects.keys() - inside)])
    seen = abs(within.estimate - without.estimate) - _SAME
    total, n = sum(sorted(effects.values())), len(effects)

    def distance(inner: float) -> float:
        """Of the two means, where the effects in the group sum to ``inner``."""
        return abs(inner / within.n - (total - inner) / (n - within.n))

    ways = _group_sums(effects.values(), within.n, exact_up_to)
    if ways is None:
        large = sum(distance(inner) >= seen for inner in _drawn_sums(effects.values(), within.n, draws, seed))
        return DifferenceInDifferences(
            within, without, (1 + large) / (1 + draws), 1 / (1 + draws), exact=False, draws=draws, seed=seed
        )
    farthest = max(map(distance, ways)) - _SAME
    choices = comb(n, within.n)
    return DifferenceInDifferences(
        inside=within,
        outside=without,
        p=_share(sum(count for inner, count in ways.items() if distance(inner) >= seen), choices),
        floor=_share(sum(count for inner, count in ways.items() if distance(inner) >= farthest), choices),
        exact=True,
        draws=None,
        seed=None,
    )


def _share(part: int, whole: int) -> float:
    """Of two whole numbers too large for floats; above 0 as every p is."""
    return max(part / whole, float_info.min)


def _group_sums(effects: Collection[float], size: int, limit: int) -> dict[float, int] | None:
    """How many choices of ``size`` effects have which sum; None when counting takes more than ``limit`` steps."""
    *rare, (usual, most) = sorted(Counter(effects).items(), key=lambda item: (item[1], item[0]))
    ways: dict[tuple[int, float], int] = {(0, 0.0): 1}  # (chosen so far, their sum)
    steps = 0
    for value, count in rare:
        steps += len(ways) * (min(count, size) + 1)
        if steps > limit:
            return None
        longer: Counter[tuple[int, float]] = Counter()
        for (chosen, inner), number in ways.items():
            for more in range(min(count, size - chosen) + 1):
                longer[chosen + more, round(inner + more * value, 10)] += number * comb(count, more)
        ways = longer
    sums: Counter[float] = Counter()
    for (chosen, inner), number in ways.items():  # the rest of the group has the most usual effect
        if size - chosen <= most:
            sums[round(inner + (size - chosen) * usual, 10)] += number * comb(most, size - chosen)
    return sums


def _drawn_sums(effects: Collection[float], size: int, draws: int, seed: int) -> Sequence[float]:
    """The sums of ``draws`` random choices of ``size`` effects."""
    import numpy as np

    random = np.random.default_rng(seed)
    counts = Counter(effects)
    values = np.array(sorted(counts), dtype=float)
    colours = np.array([counts[value] for value in sorted(counts)])
    sums: list[float] = []
    while len(sums) < draws:
        chunk = min(max(1, _CELLS // len(values)), draws - len(sums))
        chosen = random.multivariate_hypergeometric(colours, size, size=chunk, method="count")
        sums.extend((chosen @ values).tolist())
    return sums


@dataclass(frozen=True, slots=True)
class ClusterTwoByTwo:
    """Per-question main effects and interaction (fractions) of two two-level factors, grouped by cluster id.

    Each mapping is what a cluster permutation or a cluster bootstrap takes; ``n`` counts questions.
    """

    n: int
    first: Mapping[str, tuple[float, ...]]
    second: Mapping[str, tuple[float, ...]]
    interaction: Mapping[str, tuple[float, ...]]


def cluster_two_by_two(
    low_low: Mapping[str, float],
    low_high: Mapping[str, float],
    high_low: Mapping[str, float],
    high_high: Mapping[str, float],
    *,
    clusters: Mapping[str, str],
) -> ClusterTwoByTwo:
    """The 2x2 of ``two_by_two`` (same names, same formulas, interaction unhalved), its values grouped by cluster.

    For designs whose questions nest in clusters, as probes do in the chains of DMV-Bench (DeliverMem Tables 10 and
    17). ``clusters`` gives the cluster id of each question; clusters come in sorted order. Not for a sign test over
    questions: the questions of one cluster are not independent.

    Raises ValueError for a question of all four arms that has no cluster.
    """
    found: tuple[dict[str, list[float]], ...] = ({}, {}, {})
    shared = sorted(low_low.keys() & low_high.keys() & high_low.keys() & high_high.keys())
    for key in shared:
        if key not in clusters:
            raise ValueError(f"clusters: question {key} has none")
        one = two_by_two(*({key: arm[key]} for arm in (low_low, low_high, high_low, high_high)))
        for values, part in zip(found, (one.first, one.second, one.interaction), strict=True):
            values.setdefault(clusters[key], []).append(part.estimate)
    first, second, interaction = ({name: tuple(values[name]) for name in sorted(values)} for values in found)
    return ClusterTwoByTwo(len(shared), first, second, interaction)
