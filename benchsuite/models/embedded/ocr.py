"""Pixels to text boxes: image decoding, the OCR engine, and a pool that reads each distinct image once."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from benchsuite.models.embedded.lru import Lru
from benchsuite.models.embedded.tags import TAG, find_box, without_box

Pixels = npt.NDArray[np.uint8]

MAX_PIXELS = 50_000_000
MIN_SCORE = 0.5  # recogniser confidence below which a box is noise


class ImageError(ValueError):
    """Bytes that are no image the reader can decode; ``str()`` is one clear line."""


@dataclass(frozen=True, slots=True)
class Box:
    """One line of text found in an image; coordinates in pixels, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def cx(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def cy(self) -> float:
        return (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class Page:
    """What OCR saw in one image. ``digest`` is the sha256 of size and RGB pixels as they were read.

    ``tag`` was read in a stamp in the top left corner, which is not among the boxes; empty without a stamp.
    """

    digest: str
    width: int
    height: int
    boxes: tuple[Box, ...]
    tag: str = ""


def decode(data: bytes) -> tuple[str, Pixels]:
    """Digest and RGB pixels (height, width, 3) of an encoded image; transparency becomes white.

    Raises ImageError for anything that is not a whole image of at most ``MAX_PIXELS``.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ImageError(f"image of {image.width}x{image.height} pixels is over the limit of {MAX_PIXELS}")
            if image.has_transparency_data:
                layer = image.convert("RGBA")
                flat = Image.new("RGBA", layer.size, "white")
                flat.alpha_composite(layer)
                pixels = np.asarray(flat.convert("RGB"))
            else:
                pixels = np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"image of {len(data)} bytes cannot be decoded: {type(error).__name__}") from error
    return _digest(pixels), pixels


def _digest(pixels: Pixels) -> str:
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


class OcrEngine:
    """One RapidOCR instance with the settings of the reader. Not for use by two threads at once.

    The detector is kept from enlarging small images, and the angle classifier stays off: both cost time and
    read upright text no better.
    """

    def __init__(self) -> None:
        import cv2
        from rapidocr import RapidOCR

        cv2.setNumThreads(1)
        self._engine: Any = RapidOCR(
            params={
                "Global.log_level": "critical",
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                "Det.limit_type": "max",
                "Det.limit_side_len": 960,
            }
        )

    def read(self, pixels: Pixels) -> tuple[Box, ...]:
        """Text boxes in reading order of the engine (top to bottom)."""
        bgr = np.ascontiguousarray(pixels[:, :, ::-1])
        # the engine remembers these switches from call to call, so each call states all of them
        found = self._engine(bgr, use_det=True, use_cls=False, use_rec=True)
        if getattr(found, "boxes", None) is None or found.txts is None:
            return ()
        boxes = []
        for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
            if float(score) < MIN_SCORE or not text.strip():
                continue
            xs, ys = corners[:, 0], corners[:, 1]
            boxes.append(Box(float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max()), text.strip()))
        return tuple(boxes)

    def read_line(self, pixels: Pixels) -> str:
        """The text of pixels that are one line and nothing else, by the recogniser alone; empty when unsure."""
        found = self._engine(np.ascontiguousarray(pixels[:, :, ::-1]), use_det=False, use_cls=False, use_rec=True)
        text, score = (found.txts or ("",))[0], (found.scores or (0.0,))[0]
        return text.strip() if float(score) >= MIN_SCORE else ""


class PageReader:
    """Reads encoded images on a few threads; one distinct image costs one OCR call, however often it is sent.

    A stamp in the top left corner is read on its own and taken off first, so that an image costs one call under
    all its tags, and without one, wherever the corner under the stamp is blank. All coroutines must run on one
    event loop. ``ocr_calls`` counts engine calls on whole images.
    """

    def __init__(self, threads: int = 2, pages: int = 4096) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ocr")
        self._local = threading.local()
        self._seen: Lru[bytes, tuple[str, str]] = Lru(8 * pages)  # encoded image to digest and tag
        self._lines: Lru[str, str] = Lru(pages)
        self._pages: Lru[str, Page] = Lru(pages)
        self._in_flight: dict[str, asyncio.Future[Page]] = {}
        self.ocr_calls = 0

    async def read(self, data: bytes) -> Page:
        """The page of one encoded image. Raises ImageError."""
        encoded = hashlib.sha256(data).digest()
        known = self._seen.get(encoded)
        page = self._pages.get(known[0]) if known else None
        if known and page is not None:
            return replace(page, tag=known[1])
        loop = asyncio.get_running_loop()
        digest, tag, pixels = await loop.run_in_executor(self._pool, self._look, data)
        self._seen.put(encoded, (digest, tag))
        page = self._pages.get(digest)
        if page is not None:
            return replace(page, tag=tag)
        reading = self._in_flight.get(digest)
        if reading is None:
            self.ocr_calls += 1
            reading = loop.run_in_executor(self._pool, self._ocr, digest, pixels)
            self._in_flight[digest] = reading
            reading.add_done_callback(lambda _: self._in_flight.pop(digest, None))
        page = await asyncio.shield(reading)  # a caller that goes away does not take the page from the others
        return replace(page, tag=tag)

    def _look(self, data: bytes) -> tuple[str, str, Pixels]:
        """Digest, tag and pixels without their stamp."""
        digest, pixels = decode(data)
        box = find_box(pixels)
        tag = self._tag(pixels[: box[1], : box[0]]) if box else ""
        clean = without_box(pixels, box if tag else None)
        return (digest if clean is pixels else _digest(clean)), tag, clean

    def _tag(self, stamp: Pixels) -> str:
        digest = _digest(stamp)
        line = self._lines.get(digest)
        if line is None:
            line = self._engine().read_line(stamp)
            self._lines.put(digest, line)
        return line if TAG.fullmatch(line) else ""

    def _ocr(self, digest: str, pixels: Pixels) -> Page:
        height, width = pixels.shape[:2]
        page = Page(digest, width, height, self._engine().read(pixels))
        self._pages.put(digest, page)
        return page

    def _engine(self) -> OcrEngine:
        """This thread's own."""
        if not hasattr(self._local, "engine"):
            self._local.engine = OcrEngine()
        engine: OcrEngine = self._local.engine
        return engine
