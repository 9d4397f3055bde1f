"""Several tests read as one family: Holm's adjustment, and whether a test could have reached alpha at all."""

from __future__ import annotations

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjusted p by test name (Holm 1979), in the order given; controls the familywise error rate.

    The i-th smallest of m p values (from 0) is multiplied by m - i, made no smaller than the one before and at most
    1. It holds under any dependence of the tests. Declare the family before the run: not for the subset that looked
    good, and not across families. The papers print raw p values; an adjusted one does not compare with theirs.

    An empty family gives an empty dict. Raises ValueError for a p outside [0, 1] or NaN.
    """
    for name, p in p_values.items():
        _proportion(f"p_values: {name}", p)
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def lowest_adjusted(p_values: Mapping[str, float], floors: Mapping[str, float]) -> dict[str, float]:
    """The Holm-adjusted p that each test would have at its floor, the other tests staying as they came out.

    Above alpha, that test cannot reach alpha within this family. ``floors`` gives the smallest p a test can give
    (2 / 2^m for m sign flips) for some or all names of ``p_values``; only these are in the result.

    Raises ValueError for a floor without p value, a floor above its p value and a number outside [0, 1].
    """
    lowest: dict[str, float] = {}
    for name, floor in floors.items():
        _proportion(f"floors: {name}", floor)
        if name not in p_values:
            raise ValueError(f"floors: {name} has no p value")
        if floor > p_values[name]:
            raise ValueError(f"floors: {name}: {floor} is above its p value {p_values[name]}")
        lowest[name] = holm({**p_values, name: floor})[name]
    return lowest


def can_reach(floor: float, alpha: float = 0.05) -> bool:
    """Whether a test whose smallest possible p is ``floor`` can come out at ``alpha`` or below, taken alone.

    Six clusters have the floor 2 / 2^6 = .031 and can, five have .0625 and cannot (DeliverMem section 6). Raises
    ValueError for a number outside [0, 1].
    """
    _proportion("floor", floor)
    _proportion("alpha", alpha)
    return floor <= alpha


def _proportion(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: {value} is not in [0, 1]")
