"""The two encoders whose weights come with packages: MiniLM, and MiniLM over the text that OCR reads.

There is no image-text encoder without weights of the user's own. ``ocr-minilm`` stands in for one where the evidence
is text: it sees nothing else in an image.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

from benchsuite.models.embedded import OCR_ENCODER, TEXT_ENCODER
from benchsuite.models.embedded.encode import WIDTH, Encoder, Vectors
from benchsuite.models.embedded.ocr import OcrEngine, Pixels
from benchsuite.models.embedded.vectors import TextOnlyError

VIEW = 384  # pixels of the longest side of what is read, of an image and of a tile alike


class MiniLm:
    """all-MiniLM-L6-v2 on texts; 256 wordpieces of each."""

    name = TEXT_ENCODER
    width = WIDTH
    device = "cpu"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def texts(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        raise TextOnlyError(f"{self.name} encodes texts, not images")

    def tokens(self, text: str) -> int:
        return self._encoder.wordpieces(text)


class OcrMiniLm:
    """An image's vector is MiniLM's of the text that OCR reads in its 384-pixel view, line by line.

    The view has its longest side scaled to ``VIEW``, up or down, as an image encoder of that input size would see
    it. An image in which nothing is read has the zero vector: its cosine with every text is 0, below any text that
    has to do with the question.
    """

    name = OCR_ENCODER
    width = WIDTH
    device = "cpu"

    def __init__(self, encoder: Encoder, threads: int = 2) -> None:
        self._encoder = encoder
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._local = threading.local()

    def texts(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="ocr-view")
        read = list(self._pool.map(self._read, pixels))
        vectors = self._encoder.encode(read)
        vectors[[not text for text in read]] = 0
        return vectors

    def tokens(self, text: str) -> int:
        return self._encoder.wordpieces(text)

    def _read(self, pixels: Pixels) -> str:
        engine = getattr(self._local, "engine", None)
        if engine is None:
            engine = self._local.engine = OcrEngine()
        return "\n".join(box.text for box in engine.read(_view(pixels)))


def _view(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = VIEW / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))
