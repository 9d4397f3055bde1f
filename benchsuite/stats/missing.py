"""How far missing outcomes could move a paired difference: worst-case bounds, with nothing assumed about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

_SAME = 1e-12
"""A mean this close to zero has no sign."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The mean difference ``b`` minus ``a`` lies in [``low``, ``high``] over all ``n`` questions, whatever is missing.

    Fractions. ``estimate`` is the mean over the ``complete`` questions that have both outcomes, None without any; it
    need not lie within the bounds, which are of all questions.
    """

    n: int
    complete: int
    estimate: float | None
    low: float
    high: float

    @property
    def sign_can_flip(self) -> bool:
        """Whether some outcomes of what is missing give the opposite sign; an estimate of 0 has no sign to lose."""
        if self.estimate is None:
            return False
        return (self.estimate > _SAME and self.low < -_SAME) or (self.estimate < -_SAME and self.high > _SAME)


def worst_case(
    a: Mapping[str, float], b: Mapping[str, float], missing_a: Collection[str] = (), missing_b: Collection[str] = ()
) -> Bounds:
    """Bounds of the mean paired difference when each missing score may be anything in [0, 1] (Manski 1990).

    ``a`` and ``b`` hold the scores (fractions) by question id; ``missing_a`` and ``missing_b`` name the questions that
    were asked and have none: errors, timeouts, answers that could not be parsed. Together each arm covers the same
    questions, so that nothing is left out unseen. The lower bound gives every missing ``b`` 0 and every missing ``a``
    1, the upper one the reverse; a question missing in both adds -1 and 1.

    Not a confidence interval: sampling is not in it. Not for questions that an arm was never asked, and not for
    scores with another range.

    Raises ValueError for a score outside [0, 1], a question both scored and missing, one that an arm neither scored
    nor misses, and no question at all.
    """
    lost = {"a": set(missing_a), "b": set(missing_b)}
    for name, scores, gone in (("a", a, lost["a"]), ("b", b, lost["b"])):
        for key, score in scores.items():
            if not 0 <= score <= 1:
                raise ValueError(f"{name}: {key}: {score} is not a score in [0, 1]")
        if both := sorted(scores.keys() & gone):
            raise ValueError(f"missing_{name}: {both[0]} has a score")
    questions = a.keys() | b.keys() | lost["a"] | lost["b"]
    for name, scores, gone in (("a", a, lost["a"]), ("b", b, lost["b"])):
        if unaccounted := sorted(questions - scores.keys() - gone):
            raise ValueError(f"{name}: {unaccounted[0]} is neither scored nor named as missing")
    if not questions:
        raise ValueError("a, b: no question")
    n, complete = len(questions), sorted(a.keys() & b.keys())
    return Bounds(
        n=n,
        complete=len(complete),
        estimate=sum(b[key] - a[key] for key in complete) / len(complete) if complete else None,
        low=sum(b.get(key, 0.0) - a.get(key, 1.0) for key in sorted(questions)) / n,
        high=sum(b.get(key, 1.0) - a.get(key, 0.0) for key in sorted(questions)) / n,
    )
