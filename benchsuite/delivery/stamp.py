"""The identity tag in the pixels (DeliverMem D2, appendix C.3): a flat box in the top left corner, and what it covers.

The box lies at (0, 0); its size is arithmetic over the image's size and the tag's length, whatever a font
measures. Outside the box no pixel changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]

STAMP_VERSION = "stamp/1"
MIN_HEIGHT, MAX_HEIGHT = 14, 96  # pixels of the box; in between 1/22 of the long side, at most 1/6 of the short one
BOX, INK = (160, 0, 90), (255, 255, 255)
WIDEST_TAG = "M10"
STEP = 40  # of 255 luminance between neighbours: an edge that somebody may have to read
DETAIL = 0.01  # share of the covered neighbours with such a step, from which on detail counts as hidden


def stamp_box(width: int, height: int, tag: str) -> tuple[int, int]:
    """Width and height of the box in pixels on an image of this size.

    An image smaller than the smallest box is covered whole: the box ends at the image's edges.
    """
    tall = round(min(max(width, height) / 22, min(width, height) / 6))
    tall = max(MIN_HEIGHT, min(tall, MAX_HEIGHT))
    letters = sum(0.62 if char.isdigit() else 0.9 for char in tag)
    wide = round(0.4 * tall + _font_size(tall) * letters)
    return min(wide, width), min(tall, height)


def stamp(picture: PillowImage.Image, tag: str, frame: str = "") -> PillowImage.Image:
    """A copy with the tag, RGB or, where the picture has transparency, RGBA; in the box of the tag ``frame``."""
    picture = eight_bits(picture)
    stamped = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    if stamped is picture:
        stamped = picture.copy()
    wide, tall = stamp_box(*picture.size, frame or tag)
    box = PillowImage.new("RGB", (wide, tall), BOX)
    # drawn in a picture of its own, so that no ink leaves the box
    ImageDraw.Draw(box).text((wide / 2, tall / 2), tag, INK, _font(_font_size(tall)), anchor="mm")
    stamped.paste(box, (0, 0))
    return stamped


def eight_bits(picture: PillowImage.Image) -> PillowImage.Image:
    """A grey picture of 16 bits in 8; Pillow's own conversion would cut all that is bright. Others as they are."""
    if not picture.mode.startswith("I"):
        return picture
    from benchsuite.delivery.transforms import plain  # numpy, which a run without such a picture does without

    return plain(picture)


@dataclass(frozen=True, slots=True)
class Cover:
    """What a stamp lies on. ``share`` of the image's area; ``detail``: share of the covered neighbouring pixels
    that differ by ``STEP`` or more in luminance."""

    width: int
    height: int
    share: float
    detail: float

    @property
    def hides(self) -> bool:
        """Whether text-like detail lies under the stamp."""
        return self.detail >= DETAIL


@dataclass(frozen=True, slots=True)
class CoverAudit:
    """Over ``n`` images: how many have detail under the stamp, and the largest share of an area it takes."""

    n: int
    hidden: int
    largest_share: float

    def __str__(self) -> str:
        return (
            f"the stamp covers text-like detail in {self.hidden} of {self.n} images, "
            f"at most {100 * self.largest_share:.1f}% of an image"
        )


def stamp_cover(pixels: Pixels, tag: str = WIDEST_TAG) -> Cover:
    """What the stamp would cover of an unstamped image as delivered: uint8, shape (height, width[, channels])."""
    import numpy as np

    height, width = pixels.shape[:2]
    wide, tall = stamp_box(width, height, tag)
    under = pixels[:tall, :wide].astype(np.int16)
    grey = under[:, :, :3].mean(axis=2) if under.ndim == 3 else under
    steps = [np.abs(np.diff(grey, axis=axis)) >= STEP for axis in (0, 1)]
    pairs = sum(step.size for step in steps)
    edges = sum(int(step.sum()) for step in steps)
    return Cover(wide, tall, wide * tall / (width * height), edges / pairs if pairs else 0.0)


def audit_covers(covers: Iterable[Cover]) -> CoverAudit:
    found = list(covers)
    return CoverAudit(
        len(found), sum(cover.hides for cover in found), max((cover.share for cover in found), default=0.0)
    )


def _font_size(tall: int) -> int:
    return round(0.78 * tall)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that ships inside Pillow."""
    return ImageFont.load_default(size)
