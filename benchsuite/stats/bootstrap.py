"""Percentile bootstrap intervals of a mean, over questions or over clusters of them.

Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13; clusters are drawn whole. numpy is imported
where an interval is made: runs load this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from benchsuite.stats.intervals import Interval, checked_level, checked_values
from benchsuite.stats.permutation import Weights, cluster_units, clustered_differences, differences_of

_CHUNK = 1 << 19


def bootstrap(
    values: Sequence[float] | Mapping[str, Sequence[float]],
    *,
    weights: Weights = "clusters",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of the mean of ``values`` (fractions), one per question, or by cluster when a mapping.

    ``resamples`` times as many units as there are (questions, or whole clusters) are drawn with replacement; the
    limits are the (1 -+ level) / 2 quantiles of their means. Over clusters the mean is the one that ``weights`` says,
    as in ``cluster_permutation``: of the cluster means, or over the questions of the drawn clusters.

    All values equal: the interval is that point, which says that the sample shows no spread, not that the mean is
    known. The order of the values changes nothing; values negated give the interval negated. One seed gives one
    result for one release of numpy.

    Not for a handful of units: it is then too narrow (6 clusters at level .95 cover some .82); print the number of
    clusters beside it, and ``t_interval`` over cluster means. Not a test: p comes from the sign test or a permutation.

    Raises ValueError for fewer than two units, an empty cluster, NaN or infinity, a ``level`` not between 0 and 1,
    a negative ``seed``, or too few ``resamples`` for one beyond each limit (40 at level .95).
    """
    import numpy as np

    checked_level(level)
    if resamples < (least := ceil(2 / (1 - level) - 1e-6)):
        raise ValueError(f"resamples must be at least {least} at level {level}: {resamples}")
    if seed < 0:
        raise ValueError(f"seed must not be negative: {seed}")
    if isinstance(values, Mapping):
        units, statistic = cluster_units(values, weights)
        n, clusters, what = sum(len(each) for each in values.values()), len(units), "clusters"
    else:
        units, statistic = [(value, 1.0) for value in checked_values("values", values)], "mean over questions"
        n, clusters, what = len(units), None, "questions"
    if len(units) < 2:
        raise ValueError(f"a bootstrap needs at least 2 {what}: {len(units)}")

    # one order and one sign whatever the caller's: a and b exchanged give the same interval with its sign turned
    ordered, turned = sorted(units), sorted((-value, weight) for value, weight in units)
    sign = -1.0 if turned > ordered else 1.0
    table = np.asarray(max(ordered, turned))
    means = np.empty(resamples)
    dice = np.random.default_rng(seed)
    step = max(1, _CHUNK // len(units))
    sums, sizes = table[:, 0] * table[:, 1], table[:, 1]
    alike = bool((sizes == sizes[0]).all())
    for start in range(0, resamples, step):
        drawn = dice.integers(0, len(units), (min(step, resamples - start), len(units)), dtype=np.int32)
        below = len(units) * sizes[0] if alike else sizes[drawn].sum(axis=1)
        means[start : start + len(drawn)] = sums[drawn].sum(axis=1) / below
    tail = (1 - level) / 2
    low, high = sorted(sign * float(limit) + 0.0 for limit in np.quantile(means, [tail, 1 - tail]))
    estimate = sign * float(sums.sum() / sizes.sum()) + 0.0
    method = f"percentile bootstrap over {what}, {statistic}, {resamples} resamples, seed {seed}"
    return Interval(low, high, estimate, level, method, n, clusters)


def paired_bootstrap(
    a: Mapping[str, float],
    b: Mapping[str, float],
    *,
    clusters: Mapping[str, str] | None = None,
    weights: Weights = "clusters",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """``bootstrap`` of the differences ``b`` minus ``a``, from scores by question id.

    A question's two scores are drawn together. ``clusters`` gives each question's cluster; without it the question is
    the unit. Raises as ``bootstrap``, and ValueError naming it when a question or cluster is in one arm only or a
    question has no cluster.
    """
    values = differences_of(a, b) if clusters is None else clustered_differences(a, b, clusters)
    return bootstrap(values, weights=weights, resamples=resamples, seed=seed, level=level)
