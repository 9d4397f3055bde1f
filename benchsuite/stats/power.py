"""What the exact sign test can see: power, the minimum detectable effect and the questions it takes.

Two numbers describe a paired contrast of 0/1 scores, both fractions of all questions: ``discordance``, the share on
which the arms differ (wins + losses), and ``effect``, the share won minus the share lost. Everything is computed from
binomials, without a normal approximation. Use before a run, or beside a null to say what it could have shown; not to
explain a null by the power at the effect that was seen, which says no more than its p. Questions are taken as
independent: with clusters the true power is lower.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS = 40
"""Halvings of the interval that holds the minimum detectable effect: an error below 1e-11."""


def fewest_discordant(alpha: float = 0.05) -> int:
    """Discordant pairs, all on one side, from which on the two-sided sign test reaches ``alpha``: 2 / 2^k <= alpha.

    Six at .05. The same number of clusters is the least for a cluster permutation. Raises ValueError for an alpha
    outside (0, 1).
    """
    _open("alpha", alpha)
    pairs = 1
    while 2 / 2**pairs > alpha:
        pairs += 1
    return pairs


def sign_test_power(n: int, effect: float, discordance: float, alpha: float = 0.05) -> float:
    """Probability that the exact two-sided sign test over ``n`` questions comes out at ``alpha`` or below.

    The number of discordant pairs is binomial(n, discordance), the wins among them binomial with probability
    (1 + effect / discordance) / 2. A rejection on the wrong side counts too; at effect 0 this is the false-alarm
    rate, which never exceeds ``alpha``.

    Raises ValueError for a negative n, a discordance outside [0, 1], an absolute effect above the discordance and an
    alpha outside (0, 1).
    """
    _check(n, effect, discordance, alpha)
    if discordance == 0:
        return 0.0
    from scipy.stats import binom

    pairs = _numbers(n)
    rejected = _rejected(_critical(n, alpha), effect, discordance)
    return float(min(1.0, binom.pmf(pairs, n, discordance) @ rejected))


def minimum_detectable_effect(n: int, discordance: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest effect (a fraction of ``n`` questions, one side or the other) found with probability ``power``.

    None when even an effect as large as the discordance, every discordant pair on one side, is found less often: the
    contrast is insensitive. ``discordance`` is assumed before the run, or (wins + losses) / n of the run.

    Raises ValueError as ``sign_test_power`` does, and for a power outside (0, 1) or below alpha.
    """
    _check(n, 0.0, discordance, alpha)
    _target(power, alpha)
    if sign_test_power(n, discordance, discordance, alpha) < power:
        return None
    from scipy.stats import binom

    critical = _critical(n, alpha)
    pairs = binom.pmf(_numbers(n), n, discordance)
    low, high = 0.0, discordance
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if float(pairs @ _rejected(critical, middle, discordance)) < power:
            low = middle
        else:
            high = middle
    return high


def questions_needed(
    effect: float, discordance: float, alpha: float = 0.05, power: float = 0.8, *, limit: int = 20_000
) -> int | None:
    """The smallest number of questions at which ``effect`` is found with probability ``power``; None above ``limit``.

    With few discordant pairs the power is a saw: slightly more questions can have slightly less of it.

    Raises ValueError as ``minimum_detectable_effect`` does, and for an effect of 0, which no number finds.
    """
    _check(limit, effect, discordance, alpha)
    _target(power, alpha)
    if effect == 0:
        raise ValueError("effect: 0 is found by no number of questions")
    import numpy as np

    rejected = _rejected(_critical(limit, alpha), effect, discordance)
    pairs = np.zeros(limit + 1)  # probability of each number of discordant pairs among n questions, from n = 0
    pairs[0] = 1.0
    for n in range(1, limit + 1):
        pairs[1 : n + 1] = pairs[1 : n + 1] * (1 - discordance) + pairs[:n] * discordance
        pairs[0] *= 1 - discordance
        if float(pairs[: n + 1] @ rejected[: n + 1]) >= power:
            return n
    return None


def _numbers(n: int) -> NDArray[Any]:
    import numpy as np

    return np.arange(n + 1)


def _critical(n: int, alpha: float) -> NDArray[Any]:
    """For 0 to ``n`` discordant pairs, the most losses (or wins) that still reject; -1 where none do."""
    import numpy as np
    from scipy.stats import binom

    pairs = _numbers(n)
    half = alpha / 2 * (1 + 1e-12)  # an exact p equal to alpha rejects
    most = binom.ppf(half, pairs, 0.5)
    critical: NDArray[Any] = np.where(binom.cdf(most, pairs, 0.5) <= half, most, most - 1)
    return critical


def _rejected(critical: NDArray[Any], effect: float, discordance: float) -> NDArray[Any]:
    """Probability of rejecting, for each number of discordant pairs."""
    from scipy.stats import binom

    pairs = _numbers(len(critical) - 1)
    share_won = min(1.0, max(0.0, (1 + effect / discordance) / 2))
    rejected: NDArray[Any] = binom.cdf(critical, pairs, 1 - share_won) + binom.cdf(critical, pairs, share_won)
    return rejected


def _check(n: int, effect: float, discordance: float, alpha: float) -> None:
    if n < 0:
        raise ValueError(f"n: {n} is negative")
    if not 0 <= discordance <= 1:
        raise ValueError(f"discordance: {discordance} is not in [0, 1]")
    if isnan(effect) or abs(effect) > discordance:
        raise ValueError(f"effect: {effect} is larger than the discordance {discordance}")
    _open("alpha", alpha)


def _target(power: float, alpha: float) -> None:
    _open("power", power)
    if power < alpha:
        raise ValueError(f"power: {power} is below alpha {alpha}")


def _open(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name}: {value} is not between 0 and 1")
