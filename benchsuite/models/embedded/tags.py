"""A stamp in the top left corner of an image, found in the pixels alone: a flat box at (0, 0) with a line of text."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Size = tuple[int, int]  # width and height in pixels

TAG = re.compile(r"M[1-9]\d{0,3}")
CORNER = (90, 50)  # width and height in which a stamp of an image of usual size lies
FOOT = 10  # rows at the foot of the corner, below any such stamp
CALM = 24  # of 255: a corner with no larger difference than this holds nothing to read
_HEIGHTS = range(10, 101)
_ASPECTS = (1.2, 5.0)  # of a box that holds one short line
_INK = (0.03, 0.6)  # share of the box that is not its own colour


def find_box(pixels: Pixels) -> Size | None:
    """Width and height of a box at (0, 0) with a rim of one exact colour and something inside; None without one.

    ``pixels`` are RGB, shape (height, width, 3).
    """
    width, height = _run(pixels[0]), _run(pixels[:, 0])
    if width >= pixels.shape[1] or height >= pixels.shape[0] or height not in _HEIGHTS:
        return None
    if not _ASPECTS[0] <= width / height <= _ASPECTS[1]:
        return None
    own = (pixels[:height, :width] == pixels[0, 0]).all(axis=2)
    if not (own[-1].all() and own[:, -1].all()):
        return None
    return (width, height) if _INK[0] <= 1 - own.mean() <= _INK[1] else None


def without_box(pixels: Pixels, box: Size | None) -> Pixels:
    """The image with the box painted over; the same array where nothing changes.

    Where the rest of the corner is calm all of it gets the colour of its foot, also without a box, so that an
    image with a box and without one become equal; else the box alone gets the mean colour beside it.
    """
    wide, tall = box or (0, 0)
    height, width = pixels.shape[:2]
    if wide <= CORNER[0] < width and tall <= CORNER[1] - FOOT and CORNER[1] < height:
        corner = pixels[: CORNER[1], : CORNER[0]]
        beside = np.ones(corner.shape[:2], bool)
        beside[:tall, :wide] = False
        if np.ptp(corner[beside], axis=0).max() <= CALM:
            return _filled(pixels, CORNER, corner[-FOOT:].reshape(-1, 3))
    if box is None:
        return pixels
    rim = np.concatenate([pixels[tall, : wide + 1], pixels[:tall, wide]])
    return _filled(pixels, box, rim)


def _run(line: Pixels) -> int:
    """How many pixels from the start have the first one's colour."""
    other = (line != line[0]).any(axis=1)
    return int(np.argmax(other)) if other.any() else len(line)


def _filled(pixels: Pixels, size: Size, colours: Pixels) -> Pixels:
    """The top left corner of this size in the mean of ``colours``, shape (n, 3)."""
    wide, tall = size
    colour = colours.mean(axis=0).round().astype(np.uint8)
    if (pixels[:tall, :wide] == colour).all():
        return pixels
    filled = pixels.copy()
    filled[:tall, :wide] = colour
    return filled
