"""Which boxes of an image are encoded: the whole, or the whole and a 2x2 grid of overlapping tiles.

DeliverMem section 5 (R1) and appendix A.2. The paper states no overlap; ours is ``SHARE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

BoxEdges = tuple[int, int, int, int]  # left, top, right, bottom in pixels; right and bottom are outside

# of each side, rounded up: neighbours overlap by a quarter of the side, so what is no wider than that is whole in one
SHARE = Fraction(5, 8)
TILE_COUNTS: Mapping[str, int] = MappingProxyType({"whole": 1, "region": 5})
TILING_VERSIONS: Mapping[str, str] = MappingProxyType({"whole": "whole/1", "region": "region/1"})


def tiles(width: int, height: int, tiling: str) -> tuple[BoxEdges, ...]:
    """The boxes of an image of ``width`` x ``height`` pixels (both 1 or more), the whole image first.

    ``region`` adds the top left, top right, bottom left and bottom right tile, each 5/8 of either side. Raises
    KeyError for an unknown tiling.
    """
    whole = (0, 0, width, height)
    if TILE_COUNTS[tiling] == 1:
        return (whole,)
    across, down = _spans(width), _spans(height)
    return (whole, *((left, top, right, bottom) for top, bottom in down for left, right in across))


def _spans(side: int) -> tuple[tuple[int, int], tuple[int, int]]:
    length = -(-side * SHARE.numerator // SHARE.denominator)
    return (0, length), (side - length, side)
