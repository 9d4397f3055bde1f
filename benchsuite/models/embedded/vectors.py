"""Texts and images to vectors over HTTP: one Protocol for every encoder, and the routes that serve it."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.models.embedded.encode import DECIMALS, Vectors
from benchsuite.models.embedded.http import ApiError, clean_text, parse_body, read_body, unknown_model
from benchsuite.models.embedded.ocr import ImageError, Pixels, decode
from benchsuite.models.embedded.tiling import TILE_COUNTS, tiles

MAX_TEXT_BYTES = 64_000_000
MAX_IMAGES = 64
MAX_IMAGE_BYTES = 20_000_000  # of one image as stored
MAX_BODY_BYTES = 512_000_000
_TEXTS = 64  # in one call of the encoder
_CROPS = {"cpu": 20, "cuda": 80}
_DECODED = 16  # images held as pixels at a time


class TextOnlyError(ValueError):
    """An image was given to an encoder of texts; ``str()`` is one clear line."""


class VectorEncoder(Protocol):
    """Texts and images in one space. Called by one thread at a time, ``tokens`` by any.

    ``width`` is the length of a vector, ``device`` is ``cpu`` or ``cuda``. What else is in a call changes no
    component of a vector by more than 1e-5: a last bit may differ with the batch, so vectors are rounded.
    """

    name: str
    width: int
    device: str

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32 (len(texts), width), rounded to ``DECIMALS`` places."""

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        """Unit vectors, float32 (len(pixels), width), of RGB arrays (height, width, 3) of any sizes.

        Rounded to ``DECIMALS`` places. Raises TextOnlyError where the encoder has no images.
        """

    def tokens(self, text: str) -> int:
        """Tokens of a text, without special ones and without a limit: what ``usage`` counts."""


class EncoderQueue:
    """One thread in front of an encoder: what waits goes together, up to a limit; texts go before images.

    All coroutines must run on one event loop. A job is never cut: an image's crops share one forward pass.
    """

    def __init__(self, encoder: VectorEncoder) -> None:
        self.encoder = encoder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"encode-{encoder.name}")
        self._texts: deque[_Job] = deque()
        self._crops: deque[_Job] = deque()
        self._draining: asyncio.Task[None] | None = None

    async def texts(self, texts: Sequence[str]) -> Vectors:
        parts = [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]
        return np.concatenate(await asyncio.gather(*(self._submit(self._texts, part) for part in parts)))

    async def images(self, crops: Sequence[Pixels]) -> Vectors:
        return await self._submit(self._crops, crops)

    async def run(self, work: Callable[[], Any]) -> Any:
        """Other work of the model, on its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _submit(self, jobs: deque[_Job], inputs: Sequence[Any]) -> Vectors:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Vectors] = loop.create_future()
        jobs.append((inputs, done))
        if self._draining is None or self._draining.done():
            self._draining = loop.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        while self._texts or self._crops:
            encode: Callable[[Sequence[Any]], Vectors] = self.encoder.images
            if self._texts:
                batch, encode = _take(self._texts, _TEXTS), self.encoder.texts
            else:
                batch = _take(self._crops, _CROPS[self.encoder.device])
            inputs = [value for values, _ in batch for value in values]
            if not inputs:
                continue
            try:
                vectors = await asyncio.get_running_loop().run_in_executor(self._thread, encode, inputs)
            except Exception as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                continue
            start = 0
            for values, done in batch:
                if not done.done():  # its caller may have gone away
                    done.set_result(vectors[start : start + len(values)])
                start += len(values)


_Job = tuple[Sequence[Any], "asyncio.Future[Vectors]"]


def _take(jobs: deque[_Job], limit: int) -> list[_Job]:
    """The first job, and those behind it that fit; without those whose caller has gone away."""
    batch: list[_Job] = []
    size = 0
    while jobs and (not batch or size + len(jobs[0][0]) <= limit):
        job = jobs.popleft()
        if not job[1].done():
            batch.append(job)
            size += len(job[0])
    return batch


class _EmbeddingBody(BaseModel):
    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None


class _ImageBody(BaseModel):
    model: str
    tiling: Literal["whole", "region"]
    images: list[str] = Field(min_length=1, max_length=MAX_IMAGES)


class _EmbeddingReply(BaseModel):
    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    model: str
    usage: dict[str, int]
    device: str


class _ImageVectors(BaseModel):
    """``vectors`` is base64 of little-endian float32, ``tiles`` rows of ``width`` numbers."""

    index: int
    vectors: str


class _ImageReply(BaseModel):
    data: list[_ImageVectors]
    model: str
    width: int
    tiles: int
    device: str


class EncoderService:
    """The vector routes of encoders by the model id that a request names; several ids may name one encoder."""

    def __init__(self, encoders: Mapping[str, VectorEncoder]) -> None:
        queues = {id(encoder): EncoderQueue(encoder) for encoder in encoders.values()}
        self._queues = {model: queues[id(encoder)] for model, encoder in encoders.items()}
        self._pixels = asyncio.Semaphore(_DECODED)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="decode")

    def routes(self) -> list[Route]:
        return [
            Route("/v1/embeddings", self.embeddings, methods=["POST"]),
            Route("/v1/image_embeddings", self.image_embeddings, methods=["POST"]),
        ]

    def queue(self, model: str) -> EncoderQueue:
        """Raises ApiError 404 for a model that is not served here."""
        if model not in self._queues:
            raise unknown_model(model)
        return self._queues[model]

    async def embeddings(self, request: Request) -> JSONResponse:
        body = parse_body(_EmbeddingBody, await read_body(request, MAX_TEXT_BYTES))
        queue = self.queue(body.model)
        width = queue.encoder.width
        if body.dimensions not in (None, width):
            raise ApiError(400, f"dimensions: {body.model} gives {width}, nothing else", param="dimensions")
        texts = [clean_text(text) for text in ([body.input] if isinstance(body.input, str) else body.input)]
        if not texts:
            raise ApiError(400, "input: an empty list has no embedding", param="input")
        vectors = await queue.texts(texts)
        pieces = await asyncio.to_thread(lambda: sum(map(queue.encoder.tokens, texts)))
        packed = body.encoding_format == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": pack(vector) if packed else _decimal(vector)}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": pieces, "total_tokens": pieces}
        reply = _EmbeddingReply(data=data, model=body.model, usage=usage, device=queue.encoder.device)
        return JSONResponse(reply.model_dump())

    async def image_embeddings(self, request: Request) -> JSONResponse:
        """Vectors of stored image files, base64 coded; a file that does not decode is 400 and named by its place."""
        body = parse_body(_ImageBody, await read_body(request, MAX_BODY_BYTES))
        queue = self.queue(body.model)
        found = await asyncio.gather(
            *(self._image(queue, body.tiling, index, image) for index, image in enumerate(body.images)),
            return_exceptions=True,
        )
        data = []
        for index, vectors in enumerate(found):
            if isinstance(vectors, TextOnlyError):
                raise ApiError(400, str(vectors), param="model")
            if isinstance(vectors, BaseException):
                raise vectors
            data.append(_ImageVectors(index=index, vectors=pack(vectors)))
        reply = _ImageReply(
            data=data,
            model=body.model,
            width=queue.encoder.width,
            tiles=TILE_COUNTS[body.tiling],
            device=queue.encoder.device,
        )
        return JSONResponse(reply.model_dump())

    async def _image(self, queue: EncoderQueue, tiling: str, index: int, image: str) -> Vectors:
        async with self._pixels:
            loop = asyncio.get_running_loop()
            pixels = await loop.run_in_executor(self._pool, _pixels, image, index)
            height, width = pixels.shape[:2]
            crops = [pixels[top:bottom, left:right] for left, top, right, bottom in tiles(width, height, tiling)]
            return await queue.images(crops)


def pack(vectors: Vectors) -> str:
    """Base64 of little-endian float32, row by row."""
    return base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode()


def _decimal(vector: Vectors) -> list[float]:
    values: list[float] = np.round(vector.astype(np.float64), DECIMALS).tolist()
    return values


def _pixels(image: str, index: int) -> Pixels:
    where = f"images.{index}"
    try:
        content = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        raise ApiError(400, f"{where}: not base64", param=where) from None
    if len(content) > MAX_IMAGE_BYTES:
        raise ApiError(400, f"{where}: {len(content)} bytes is over the limit of {MAX_IMAGE_BYTES}", param=where)
    try:
        return decode(content)[1]
    except ImageError as error:
        raise ApiError(400, f"{where}: {error}", param=where) from None
