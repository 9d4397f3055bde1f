"""Agreement of two raters beyond chance, and how often a repeat answers differently (the A/A noise floor)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from benchsuite.stats.intervals import Interval, wilson

_SAME = 1e-12
"""Score differences below this are rounding of graded scores, not flips."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """``kappa`` over ``n`` items that both raters labelled; None where chance alone already agrees on everything.

    ``observed`` and ``expected`` are shares of agreement (0 to 1), ``expected`` by the raters' own label frequencies;
    ``only_a`` and ``only_b`` are the ids that one rater alone labelled.
    """

    kappa: float | None
    observed: float
    expected: float
    n: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def beyond_chance(observed: float, expected: float) -> float | None:
    """(observed - expected) / (1 - expected), for shares of agreement in [0, 1]; None when ``expected`` is 1.

    Raises ValueError for a share outside [0, 1].
    """
    for name, share in (("observed", observed), ("expected", expected)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name}: {share} is not a share in [0, 1]")
    return (observed - expected) / (1 - expected) if expected < 1 else None


def cohen_kappa(a: Mapping[str, str | int], b: Mapping[str, str | int]) -> Kappa:
    """Cohen's kappa (Cohen 1960), unweighted: agreement of two raters' labels by item id, corrected for chance.

    Labels are compared by equality; write graded verdicts as labels. MemEye reports it for its judge against people
    and for its X and Y annotation. Not for ordered scales where a near miss should count less, not for more than two
    raters, and not to compare studies whose label frequencies differ: kappa falls as one label takes over.

    Raises ValueError when no item has both labels, and for a label that is not finite.
    """
    for name, labels in (("a", a), ("b", b)):
        _finite(name, labels)
    shared = sorted(a.keys() & b.keys())
    if not shared:
        raise ValueError(f"no item has a label of both raters ({len(a)} labelled by a, {len(b)} by b)")
    n = len(shared)
    of_a, of_b = Counter(a[key] for key in shared), Counter(b[key] for key in shared)
    observed = sum(a[key] == b[key] for key in shared) / n
    expected = sum(count * of_b[label] for label, count in of_a.items()) / n**2
    return Kappa(
        kappa=beyond_chance(observed, expected),
        observed=observed,
        expected=expected,
        n=n,
        only_a=tuple(sorted(a.keys() - b.keys())),
        only_b=tuple(sorted(b.keys() - a.keys())),
    )


@dataclass(frozen=True, slots=True)
class Flips:
    """``flipped`` of ``n`` questions came out differently; ``interval`` is Wilson's for the ``rate`` (a fraction).

    ``only_first`` and ``only_again`` are the ids that one run alone has.
    """

    n: int
    flipped: int
    interval: Interval
    only_first: tuple[str, ...]
    only_again: tuple[str, ...]

    @property
    def rate(self) -> float:
        return self.flipped / self.n


def flip_rate(first: Mapping[str, str | float], again: Mapping[str, str | float], *, level: float = 0.95) -> Flips:
    """How often the same arm, asked again, gives something else, by question id.

    The values are what is to be stable: answers as strings (compared letter by letter) or scores (compared up to
    rounding). Between two repeats of one arm it is the noise floor that a contrast between runs has to rise above;
    between two arms it is the answer-change rate, which stands beside wins and losses (DeliverMem section 7 has 27
    of 195 changed and 4/3 scored differently). ``level`` is the interval's (0 to 1, exclusive).

    Not a test that two arms differ: flips in both directions count alike. The interval takes questions as
    independent. Raises ValueError when no question is in both and for a score that is not finite.
    """
    for name, values in (("first", first), ("again", again)):
        _finite(name, values)
    shared = first.keys() & again.keys()
    if not shared:
        raise ValueError(f"no question is in both runs ({len(first)} in first, {len(again)} in again)")
    flipped = sum(_differ(first[key], again[key]) for key in shared)
    return Flips(
        n=len(shared),
        flipped=flipped,
        interval=wilson(flipped, len(shared), level),
        only_first=tuple(sorted(first.keys() - again.keys())),
        only_again=tuple(sorted(again.keys() - first.keys())),
    )


def _differ(one: str | float, other: str | float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one != other
    return abs(one - other) > _SAME


def _finite(name: str, values: Mapping[str, str | int] | Mapping[str, str | float]) -> None:
    for key, value in values.items():
        if not isinstance(value, str) and not isfinite(value):
            raise ValueError(f"{name}: {key}: {value} is not a finite number")
