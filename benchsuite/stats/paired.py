"""Paired comparisons, question by question: counts, the exact sign test and the 2x2 (DeliverMem section 3).

A contrast is always ``b`` minus ``a``: a *win* is a question on which ``b`` scores higher, a *loss* one on which
it scores lower. Scores are fractions (0 to 1) by question id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

_SAME = 1e-12
"""Score differences below this are rounding of graded scores, not wins."""


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided sign test: the binomial p of ``wins`` among the discordant pairs under one half.

    On 0/1 scores the exact McNemar test is this same test. Not for graded scores whose size matters
    (``permutation.sign_flip_means``), nor for questions that share a cluster (``permutation.cluster_permutation``).

    1.0 when no pair is discordant. Raises ValueError for negative counts.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"counts must not be negative: {wins}/{losses}")
    if wins + losses == 0:
        return 1.0
    pairs = wins + losses
    tail = sum(comb(pairs, k) for k in range(min(wins, losses) + 1))  # whole numbers: nothing is rounded before the end
    return float(min(1.0, 2 * tail / 2**pairs))


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect over ``n`` paired questions.

    ``estimate`` is the mean per-question value (a fraction, not points; 0 when ``n`` is 0); ``wins`` and
    ``losses`` count its signs. For a 0/1 score and a simple difference ``estimate`` is (wins - losses) / n; for
    an interaction, whose values run from -2 to 2, it is not.
    """

    n: int
    estimate: float
    wins: int
    losses: int

    @property
    def ties(self) -> int:
        return self.n - self.wins - self.losses

    @property
    def p(self) -> float:
        """The exact two-sided sign test on the signs."""
        return sign_test(self.wins, self.losses)


def effect(values: Sequence[float]) -> Effect:
    """The effect that a sequence of per-question values makes."""
    return Effect(
        n=len(values),
        estimate=sum(values) / len(values) if values else 0.0,
        wins=sum(value > _SAME for value in values),
        losses=sum(value < -_SAME for value in values),
    )


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """``b`` against ``a`` on the ``n`` questions both have; ``only_a`` and ``only_b`` are the ids of the rest."""

    n: int
    wins: int
    losses: int
    ties: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def p(self) -> float:
        return sign_test(self.wins, self.losses)


def paired_counts(a: Mapping[str, float], b: Mapping[str, float]) -> PairedCounts:
    """Wins, losses and ties of ``b`` over ``a``, paired by question id."""
    found = effect([b[key] - a[key] for key in a if key in b])
    return PairedCounts(
        n=found.n,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        only_a=tuple(sorted(a.keys() - b.keys())),
        only_b=tuple(sorted(b.keys() - a.keys())),
    )


@dataclass(frozen=True, slots=True)
class TwoByTwo:
    """Main effects and interaction of two two-level factors, on the questions that all four arms have.

    ``first`` and ``second`` are the mean of the two simple effects of that factor; ``interaction`` is unhalved.
    """

    n: int
    first: Effect
    second: Effect
    interaction: Effect


def two_by_two(
    low_low: Mapping[str, float],
    low_high: Mapping[str, float],
    high_low: Mapping[str, float],
    high_high: Mapping[str, float],
) -> TwoByTwo:
    """The 2x2 by question id; names give the level of the first factor, then of the second.

    Per question: the first factor's main effect is ((hl - ll) + (hh - lh)) / 2, the second's
    ((lh - ll) + (hh - hl)) / 2, the interaction (hh - hl) - (lh - ll), whose estimate sums magnitudes while its
    sign test counts signs.
    """
    shared = [key for key in low_low if key in low_high and key in high_low and key in high_high]
    quads = [(low_low[key], low_high[key], high_low[key], high_high[key]) for key in shared]
    return TwoByTwo(
        n=len(shared),
        first=effect([((hl - ll) + (hh - lh)) / 2 for ll, lh, hl, hh in quads]),
        second=effect([((lh - ll) + (hh - hl)) / 2 for ll, lh, hl, hh in quads]),
        interaction=effect([(hh - hl) - (lh - ll) for ll, lh, hl, hh in quads]),
    )
