"""Pixels to text boxes: image decoding, the OCR engine, and a pool that reads each distinct image once."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from benchsuite.models.embedded.lru import Lru

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
    """What OCR saw in one image. ``digest`` is the sha256 of size and decoded RGB pixels."""

    digest: str
    width: int
    height: int
    boxes: tuple[Box, ...]


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
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest(), pixels


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


class PageReader:
    """Reads encoded images on a few threads; one distinct image costs one OCR call, however often it is sent.

    All coroutines must run on one event loop. ``ocr_calls`` counts engine calls.
    """

    def __init__(self, threads: int = 2, pages: int = 4096) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ocr")
        self._local = threading.local()
        self._pixel_digests: Lru[bytes, str] = Lru(8 * pages)
        self._pages: Lru[str, Page] = Lru(pages)
        self._in_flight: dict[str, asyncio.Future[Page]] = {}
        self.ocr_calls = 0

    async def read(self, data: bytes) -> Page:
        """The page of one encoded image. Raises ImageError."""
        encoded = hashlib.sha256(data).digest()
        known = self._pixel_digests.get(encoded)
        page = self._pages.get(known) if known else None
        if page is not None:
            return page
        loop = asyncio.get_running_loop()
        digest, pixels = await loop.run_in_executor(self._pool, decode, data)
        self._pixel_digests.put(encoded, digest)
        page = self._pages.get(digest)
        if page is not None:
            return page
        reading = self._in_flight.get(digest)
        if reading is None:
            self.ocr_calls += 1
            reading = loop.run_in_executor(self._pool, self._ocr, digest, pixels)
            self._in_flight[digest] = reading
            reading.add_done_callback(lambda _: self._in_flight.pop(digest, None))
        return await asyncio.shield(reading)  # a caller that goes away does not take the page from the others

    def _ocr(self, digest: str, pixels: Pixels) -> Page:
        engine = getattr(self._local, "engine", None)
        if engine is None:
            engine = self._local.engine = OcrEngine()
        height, width = pixels.shape[:2]
        page = Page(digest, width, height, engine.read(pixels))
        self._pages.put(digest, page)
        return page
