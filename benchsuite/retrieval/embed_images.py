"""The served image encoder over an index on disk: every distinct image is embedded once, then scored by MaxSim."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchsuite.corpus.model import Image
from benchsuite.errors import BenchError, ConfigError, DataError, EndpointError
from benchsuite.models.embedded.tiling import TILE_COUNTS, TILING_VERSIONS
from benchsuite.models.wire import sha256_text
from benchsuite.retrieval.embed import TextEncoder, VectorStore
from benchsuite.retrieval.index import Flight, VectorIndex

if TYPE_CHECKING:
    from benchsuite.retrieval.embed import Vectors

BATCH_IMAGES = 8
BATCH_BYTES = 16_000_000  # of stored files in one request; a larger file goes alone
IN_FLIGHT = 2  # requests of one process: the next is read and decoded while the server computes
POLL_S = 0.1  # between looks at what others are embedding
_INDEX_IN_WORDS = re.compile(r"images[.\[](\d+)")


@dataclass(frozen=True, slots=True)
class IndexCosts:
    """What one index cost (DeliverMem table 18). Up to ``device`` it is of the whole index, whoever built it and
    when (IndexFacts); ``embedded`` images, ``queries`` and ``score_ms`` (summed over the queries) are of this
    process."""

    encoder: str
    tiling: str
    width: int
    tiles: int
    images: int
    bytes: int
    encode_s: float
    device: str
    embedded: int
    queries: int
    score_ms: float


@dataclass(slots=True)
class _Kept:
    """The index of one tiling, and what this process did with it."""

    index: VectorIndex
    embedded: int = 0
    queries: int = 0
    score_s: float = 0.0


class ImageEncoder:
    """Cosines of a text with images under one image encoder, whose text tower embeds the text.

    ``name`` is what the server calls the encoder, ``identity`` what its vectors are keyed by. ``reader`` gives an
    image's stored bytes. ``locate`` gives the server's base URL, starting it if needed; it is not called when all
    vectors are there. Runs on one event loop; file work, image bytes and scoring do not happen on it.
    """

    def __init__(
        self,
        name: str,
        identity: str,
        cache: Path,
        locate: Callable[[], Awaitable[str]],
        reader: Callable[[Image], bytes],
    ) -> None:
        self._name, self._reader = name, reader
        self._texts = TextEncoder(name, VectorStore(cache / "embedding" / sha256_text(identity)), locate)
        self._kept = {
            tiling: _Kept(VectorIndex(cache / "index", name, identity, version))
            for tiling, version in TILING_VERSIONS.items()
        }
        self._slots = asyncio.Semaphore(IN_FLIGHT)

    async def scores(self, text: str, images: Sequence[Image], index: str) -> list[float]:
        """The cosine of ``text`` with each image, in order: the best of its vectors in the ``whole`` or ``region``
        index.

        Raises EndpointError when the encoder does not answer, DataError for an image that has no bytes or does not
        decode and for a damaged index, ConfigError for another ``index``.
        """
        kept = self._kept.get(index)
        if kept is None:
            raise ConfigError(f"index has no value {index!r}; known: {', '.join(self._kept)}")
        for image in images:
            if image.missing:
                raise DataError(image.path or "image", None, None, f"there are no bytes: {image.missing}")
        if not images:
            return []
        await self._ensure(kept, index, images)
        (query,) = await self._texts.embed([text])
        found, seconds = await self._score(kept.index, text, query, [image.sha256 for image in images])
        kept.queries += 1
        kept.score_s += seconds
        return found

    def costs(self) -> dict[str, IndexCosts]:
        """By index value, of those that exist."""
        found: dict[str, IndexCosts] = {}
        for value, kept in self._kept.items():
            facts = kept.index.facts()
            if facts is not None:
                found[value] = IndexCosts(
                    encoder=facts.encoder,
                    tiling=facts.tiling,
                    width=facts.width,
                    tiles=facts.tiles,
                    images=facts.images,
                    bytes=facts.bytes,
                    encode_s=facts.encode_s,
                    device=facts.device,
                    embedded=kept.embedded,
                    queries=kept.queries,
                    score_ms=round(1000 * kept.score_s, 3),
                )
        return found

    async def close(self) -> None:
        await self._texts.close()

    async def _score(
        self, index: VectorIndex, text: str, query: Vectors, digests: list[str]
    ) -> tuple[list[float], float]:
        """Scores, and the seconds that they took: on the server where it has said that it runs on CUDA, else here
        over the memory map.

        A run that finds every vector on disk starts no server and scores here.
        """
        if not self._texts.server.device.startswith("cuda"):
            return await asyncio.to_thread(_score_here, index, query, digests)
        asked = {"model": self._name, "index": str(index.folder.absolute()), "queries": [text]}
        body = json.dumps({**asked, "rows": [index.rows(digests)]}).encode()
        begun = time.perf_counter()
        url, reply = await self._texts.server.post("/maxsim", body)
        seconds = time.perf_counter() - begun
        try:
            (found,) = reply["scores"]
            scores = [float(score) for score in found]
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointError("body", url, f"not a maxsim reply: {type(error).__name__}: {error}") from None
        if len(scores) != len(digests):
            raise EndpointError("body", url, f"{len(scores)} scores for {len(digests)} images")
        return scores, seconds

    async def _ensure(self, kept: _Kept, tiling: str, images: Sequence[Image]) -> None:
        """Embed what nobody has embedded, a batch at a time; wait for what others embed now."""
        wanted = {image.sha256: image for image in images}
        while await asyncio.to_thread(kept.index.absent, list(wanted)):
            async with self._slots:
                claim = kept.index.claim(list(wanted), BATCH_IMAGES)
                mine = await asyncio.to_thread(claim.__enter__)
                try:
                    if mine:
                        await self._embed(kept, tiling, [wanted[digest] for digest in mine])
                finally:
                    claim.__exit__(None, None, None)
            if not mine:
                await asyncio.sleep(POLL_S)

    async def _embed(self, kept: _Kept, tiling: str, images: list[Image]) -> None:
        """Those of ``images`` that fit into one request."""
        part, body = await asyncio.to_thread(self._request, tiling, images)
        begun = time.time()
        try:
            url, reply = await self._texts.server.post("/image_embeddings", body)
        except EndpointError as error:
            raise _blame(error, part) from None
        flight = Flight(begun, time.time(), self._texts.server.device)
        try:
            vectors = await asyncio.to_thread(_vectors, reply, part, TILE_COUNTS[tiling])
        except (KeyError, TypeError, ValueError) as error:
            problem = f"not an image_embeddings reply: {type(error).__name__}: {error}"
            raise EndpointError("body", url, problem) from None
        await asyncio.to_thread(kept.index.append, vectors, flight)
        kept.embedded += len(part)

    def _request(self, tiling: str, images: list[Image]) -> tuple[list[Image], bytes]:
        """As many of the images as a request may hold, one at least, and the request's body."""
        part: list[Image] = []
        coded: list[str] = []
        total = 0
        for image in images:
            if part and total + image.size > BATCH_BYTES:
                break
            content = self._reader(image)
            total += len(content)
            part.append(image)
            coded.append(base64.b64encode(content).decode())
        return part, json.dumps({"model": self._name, "tiling": tiling, "images": coded}).encode()


def _score_here(index: VectorIndex, query: Vectors, digests: list[str]) -> tuple[list[float], float]:
    begun = time.perf_counter()
    scores = index.scores(query, digests).tolist()
    return scores, time.perf_counter() - begun


def _vectors(reply: dict[str, Any], images: Sequence[Image], tiles: int) -> dict[str, Vectors]:
    """Each image's (tiles, width) by digest. Raises ValueError for what are no unit vectors of that shape."""
    import numpy as np

    width = int(reply["width"])
    coded = {int(row["index"]): row["vectors"] for row in reply["data"]}
    if sorted(coded) != list(range(len(images))):
        raise ValueError(f"vectors of images {sorted(coded)} for {len(images)} images")
    found: dict[str, Vectors] = {}
    for place, image in enumerate(images):
        vectors = np.frombuffer(base64.b64decode(coded[place], validate=True), "<f4").reshape(tiles, width)
        norms = np.linalg.norm(vectors, axis=1)
        if not np.all((np.abs(norms - 1) < 0.01) | (norms == 0)):  # all zeros: an image in which nothing is seen
            raise ValueError(f"image {place} has a vector of length {norms.max():.3g}")
        found[image.sha256] = vectors
    return found


def _blame(error: EndpointError, images: Sequence[Image]) -> BenchError:
    """An error that names the image by its file, where the server named one of the request's."""
    named = _INDEX_IN_WORDS.search(error.problem) if error.status == 400 else None
    with suppress(IndexError):
        if named is not None:
            return DataError(images[int(named[1])].path, None, None, f"the image encoder says: {error}")
    return error
