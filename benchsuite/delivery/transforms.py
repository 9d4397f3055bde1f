"""Controls in the pixels (DeliverMem, appendix D.3): other pictures for the places of the delivered ones.

``scramble`` keeps whole objects and loses their positions, ``phase`` keeps the image's statistics and loses every
object, ``decoy`` is another question's photograph. Each is a function of pixels, seed and size alone: a rerun sends the
same picture, on another machine too (``phase`` says how surely).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

SCRAMBLE_VERSION = "scramble/1"
PHASE_VERSION = "phase/1"
DECOY_VERSION = "decoy/1"
VERSIONS: Mapping[str, str] = MappingProxyType(
    {"scramble": SCRAMBLE_VERSION, "phase": PHASE_VERSION, "decoy": DECOY_VERSION}
)
"""The version of each control's pixels, by the control's name."""

GRID = 4  # tiles along each side: a quarter of the image's width and height
LEVELS = 1 << 15  # keys that pixels are ranked by; no fraction of it with a small divisor is halfway between two
LEAST_PHASE_DIFFERENCE = 0.5
"""Grey levels, of 255, by which a phase image must differ from its original to count as altered.

A phase image differs as much as a random order of the same values does: by 1.13 standard deviations where those are
normal, by 2p(1 - p) of the contrast where a share p of the pixels stands out from a plain ground. A black word on 0.1%
of a white page suffices. A flat image has no other order and stays as it is.
"""

Bytes = npt.NDArray[np.uint8]


def control(picture: PillowImage.Image, name: str, seed: str, size: tuple[int, int]) -> PillowImage.Image:
    """The picture under the control called ``name``: a key of ``VERSIONS``. Only a decoy takes ``size`` (width,
    height), only the others draw from ``seed``. Raises ValueError for another name."""
    if name == "scramble":
        return scramble(picture, seed)
    if name == "phase":
        return phase(picture, seed)
    if name == "decoy":
        return decoy(picture, size)
    raise ValueError(f"no control of pixels is called {name!r}: known are {', '.join(VERSIONS)}")


def plain(picture: PillowImage.Image) -> PillowImage.Image:
    """Eight bits a channel: L, RGB, or RGBA where there is transparency; the picture itself if it is so already.

    Of sixteen bits the upper eight are kept. An EXIF orientation turns nothing.
    """
    if picture.mode.startswith("I"):
        return _upper_bits(picture)
    opaque = "L" if picture.mode in ("1", "L", "F") else "RGB"
    mode = "RGBA" if picture.has_transparency_data else opaque
    if picture.mode == mode:
        return picture
    converted = picture.convert(mode)
    if picture.mode == "CMYK":
        converted.info.pop("icc_profile", None)  # it describes inks
    return converted


def scramble(picture: PillowImage.Image, seed: str) -> PillowImage.Image:
    """Sixteen tiles, each a quarter as wide and as high, change places, and none stays where it was.

    Tiles are equally large: what is left over, at most 3 pixels at the right and at the bottom, stays. An image of
    fewer than 4 pixels along a side has so many tiles there, and a single pixel remains itself. Alpha moves along.
    """
    picture = plain(picture)
    pixels = np.asarray(picture)
    columns, rows = min(GRID, picture.width), min(GRID, picture.height)
    wide, tall = picture.width // columns, picture.height // rows
    tiles = [
        (slice(row * tall, (row + 1) * tall), slice(column * wide, (column + 1) * wide))
        for row in range(rows)
        for column in range(columns)
    ]
    moved = pixels.copy()
    for tile, origin in zip(tiles, _derangement(len(tiles), seed), strict=True):
        moved[tile] = pixels[tiles[origin]]
    return _picture(moved, picture)


def phase(picture: PillowImage.Image, seed: str) -> PillowImage.Image:
    """Each colour channel with its Fourier phases shifted at random, then rank-remapped to the channel's own values.

    The result has the histogram of each channel exactly, and its amplitude spectrum to within the remapping. All
    channels are shifted alike, so that colours which went together still do. Alpha stays as it is and where it is:
    an outline drawn in transparency is kept, and the histogram is that of all pixels, transparent ones too.

    Pixels are ranked by keys of 15 bits, equal keys in reading order. The steps between keys are ten billion times
    what two implementations of the transform differ by, so that both give the same picture, but for a chance below
    one in a thousand (at 768 x 768 RGB) that a wave lies so close to a step that a few pixels change places.
    """
    picture = plain(picture)
    pixels = np.asarray(picture)
    shifts = _phase_shifts(picture.height, picture.width, seed)
    mixed = pixels.copy()
    for channel in [...] if pixels.ndim == 2 else [(..., colour) for colour in range(3)]:
        values = pixels[channel]
        waves = np.fft.irfft2(np.fft.rfft2(values) * shifts, s=values.shape)
        mixed[channel] = _remapped(waves, values)
    return _picture(mixed, picture)


def decoy(picture: PillowImage.Image, size: tuple[int, int]) -> PillowImage.Image:
    """The picture at exactly this width and height (Lanczos)."""
    picture = plain(picture)
    return picture if picture.size == size else picture.resize(size, PillowImage.Resampling.LANCZOS)


def difference(a: PillowImage.Image, b: PillowImage.Image) -> float:
    """Mean absolute difference, 0 to 255, over the pixels' colours; alpha does not count.

    Raises ValueError for pictures of two sizes.
    """
    if a.size != b.size:
        raise ValueError(f"pictures of {a.width}x{a.height} and {b.width}x{b.height} pixels cannot be compared")
    first, second = (np.asarray(plain(picture).convert("RGB"), np.int16) for picture in (a, b))
    return float(np.abs(first - second).mean())


def _upper_bits(picture: PillowImage.Image) -> PillowImage.Image:
    """Sixteen-bit grey as L, or as RGBA where one grey is declared transparent. Pillow's own conversion clips."""
    deep = np.asarray(picture).astype(np.int32).clip(0, 0xFFFF)
    grey = (deep >> 8).astype(np.uint8)
    transparent = picture.info.get("transparency")
    if transparent is None:
        return _picture(grey, picture)
    return _picture(np.dstack([grey, grey, grey, np.where(deep == transparent, 0, 255).astype(np.uint8)]), picture)


def _derangement(count: int, seed: str) -> list[int]:
    """For each place the place that its content comes from, never the same; drawn evenly from all such orders."""
    places = range(count)
    attempt = 0
    while True:  # about one order in three leaves nothing where it was
        draws = [hashlib.sha256(f"{SCRAMBLE_VERSION} {seed} {attempt} {place}".encode()).digest() for place in places]
        order = sorted(places, key=draws.__getitem__)
        if count < 2 or all(place != origin for place, origin in enumerate(order)):
            return order
        attempt += 1


def _phase_shifts(height: int, width: int, seed: str) -> npt.NDArray[np.complex128]:
    """Factors of length 1 for ``numpy.fft.rfft2``, those of white noise: a real image times them is a real image.

    The mean's factor is 1, for the noise is nowhere negative; so is that of any wave which it happens not to contain.
    """
    entropy = int.from_bytes(hashlib.sha256(f"{PHASE_VERSION} {seed}".encode()).digest())
    count = height * width
    words = np.random.PCG64(entropy).random_raw(-(-count // 4))  # a bit stream that no release of numpy changes
    noise = words.astype("<u8", copy=False).view("<u2")[:count].reshape(height, width)
    spectrum = np.fft.rfft2(noise)
    length = np.abs(spectrum)
    return np.divide(spectrum, length, out=np.ones_like(spectrum), where=length > 0.5)


def _remapped(waves: npt.NDArray[np.float64], values: Bytes) -> Bytes:
    """The ``values``, each as often as it is there, in the order of the ``waves``; both of shape (height, width)."""
    if values.min() == values.max():
        return values
    low = waves.min()
    keys = np.rint((waves - low) * (LEVELS / (waves.max() - low))).astype(np.uint16)
    ordered = np.repeat(np.arange(256, dtype=np.uint8), np.bincount(values.ravel(), minlength=256))
    remapped = np.empty_like(ordered)
    remapped[np.argsort(keys, axis=None, kind="stable")] = ordered
    return remapped.reshape(values.shape)


def _picture(pixels: Bytes, origin: PillowImage.Image) -> PillowImage.Image:
    """Pixels as a picture in the colours of their origin."""
    picture = PillowImage.fromarray(pixels)
    if "icc_profile" in origin.info:
        picture.info["icc_profile"] = origin.info["icc_profile"]
    return picture
