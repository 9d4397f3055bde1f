from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.models.embedded.tiling import TILE_COUNTS, TILING_VERSIONS, tiles


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_tiles_cover_the_image_and_stay_inside(width, height):
    whole, *parts = tiles(width, height, "region")
    assert whole == (0, 0, width, height)
    assert len(parts) == 4
    for left, top, right, bottom in parts:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        assert right - left == -(-5 * width // 8)
        assert bottom - top == -(-5 * height // 8)
    top_left, top_right, bottom_left, bottom_right = parts
    assert top_left[:2] == (0, 0)
    assert (top_right[1], top_right[2]) == (0, width)
    assert (bottom_left[0], bottom_left[3]) == (0, height)
    assert bottom_right[2:] == (width, height)
    assert top_left[2] >= top_right[0]  # side by side without a gap
    assert top_left[3] >= bottom_left[1]


@pytest.mark.parametrize(("width", "height"), [(8, 8), (97, 41), (384, 1200)])
def test_what_is_no_wider_than_a_quarter_is_whole_in_one_tile(width, height):
    _, *parts = tiles(width, height, "region")
    seen = np.zeros((height, width), int)
    for left, top, right, bottom in parts:
        seen[top:bottom, left:right] += 1
    assert seen.min() == 1
    assert seen.max() == 4  # in the middle all four overlap
    side, rise = max(1, width // 4), max(1, height // 4)
    for x, y in itertools.product(range(width - side + 1), range(height - rise + 1)):
        assert any(a <= x and x + side <= c and b <= y and y + rise <= d for a, b, c, d in parts)


def test_whole_is_one_box_and_names_agree():
    assert tiles(30, 20, "whole") == ((0, 0, 30, 20),)
    assert tiles(1, 1, "region") == ((0, 0, 1, 1),) * 5
    assert {name: len(tiles(9, 9, name)) for name in TILE_COUNTS} == TILE_COUNTS
    assert TILING_VERSIONS.keys() == TILE_COUNTS.keys()
    with pytest.raises(KeyError):
        tiles(9, 9, "3x3")
