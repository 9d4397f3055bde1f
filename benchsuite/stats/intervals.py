"""Intervals: the type that every interval comes as, Wilson's for a proportion and Student's t for a mean.

scipy is imported where an interval is made: this module is loaded by runs that make none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, isfinite, sqrt


@dataclass(frozen=True, slots=True)
class Interval:
    """``low`` to ``high`` about ``estimate``, all in the unit of the values (fractions, not points).

    ``level`` is the nominal coverage as a fraction; ``method`` says in words what was computed; ``n`` counts the
    values (questions, probes, chains), ``clusters`` the groups that were resampled, None where values stand alone.
    """

    low: float
    high: float
    estimate: float
    level: float
    method: str
    n: int
    clusters: int | None = None


def checked_values(name: str, values: Iterable[float]) -> list[float]:
    """The values as floats. Raises ValueError when there is none, or one is NaN or infinite, naming its position."""
    found = [float(value) for value in values]
    if not found:
        raise ValueError(f"{name} holds no value")
    for position, value in enumerate(found):
        if not isfinite(value):
            raise ValueError(f"{name}[{position}] must be a finite number: {value}")
    return found


def checked_level(level: float) -> float:
    """The level. Raises ValueError unless it lies strictly between 0 and 1: .95, not 95."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1: {level}")
    return level


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of the proportion ``k`` of ``n``, in fractions, without continuity correction.

    The proportions p with |k/n - p| <= z sqrt(p (1 - p) / n): Wilson, JASA 22 (1927), 209-212; MIRAGE Table 9 prints
    it. It stays inside [0, 1] and has a width at 0 and at n.

    Not for repeats of the same questions pooled (n counts questions of one run, never runs times questions), for
    questions that share a cluster (``bootstrap``), for graded scores, or for a paired difference.

    Raises ValueError when a count is not whole, ``n`` is below 1, ``k``/``n`` is outside [0, 1] or ``level`` is not
    between 0 and 1.
    """
    from scipy.stats import binomtest

    checked_level(level)
    for name, count in (("k", k), ("n", n)):
        if not isfinite(count) or count != int(count):
            raise ValueError(f"{name} must be a whole number: {count}")
    if n < 1:
        raise ValueError(f"n must be at least 1: {n}")
    if not 0 <= k <= n:
        raise ValueError(f"k of n must be a proportion from 0 to 1: k {k}, n {n}")
    found = binomtest(int(k), int(n)).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), float(found.high), k / n, level, "Wilson", int(n))


def t_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Student's t interval of the mean of independent values, in their unit: mean -+ t(n - 1) s / sqrt(n).

    ``values`` is one number per independent unit, as the accuracy or the difference of each chain (DeliverMem section
    6 takes the chain as the unit). s is the sample standard deviation; when all values are equal the interval is that
    one point, which says that the sample shows no spread, not that the mean is known.

    Not for single 0/1 questions (``wilson``), for questions that share a cluster, or for a handful of skewed values.
    The limits may leave [0, 1]: they are not cut off.

    Raises ValueError for fewer than two values, NaN, infinity, or a ``level`` not between 0 and 1.
    """
    from scipy.stats import t

    checked_level(level)
    found = checked_values("values", values)
    n = len(found)
    if n < 2:
        raise ValueError(f"a t interval needs at least 2 values: {n}")
    mean = fsum(found) / n
    error = sqrt(fsum((value - mean) ** 2 for value in found) / (n - 1) / n)
    reach = float(t.ppf((1 + level) / 2, n - 1)) * error
    return Interval(mean - reach, mean + reach, mean, level, f"t over {n} values", n)
