"""MaxSim on the device that encodes: the best of each image's vectors, over an index that lies on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.models.embedded.http import ApiError, clean_text, parse_body, read_body
from benchsuite.models.embedded.lru import Lru
from benchsuite.models.embedded.vectors import EncoderService

MAX_BODY_BYTES = 64_000_000
_INDEXES = 4  # kept on the device


class _MaxSimBody(BaseModel):
    """``rows[n]`` are the images to score for ``queries[n]``, by their row in the index."""

    model: str
    index: str
    queries: list[str] = Field(min_length=1)
    rows: list[list[int]]


class MaxSim:
    """``POST /v1/maxsim``: cosines of texts with images of an index folder, best of tiles (DeliverMem section 5).

    The folder's ``index.json`` gives ``width`` and ``tiles``, its ``vectors.f32`` holds ``tiles`` vectors an image.
    A file is put onto the device again when it has grown.
    """

    def __init__(self, service: EncoderService) -> None:
        self._service = service
        self._loaded: Lru[Path, tuple[tuple[int, int], Any]] = Lru(_INDEXES)

    def route(self) -> Route:
        return Route("/v1/maxsim", self.score, methods=["POST"])

    async def score(self, request: Request) -> JSONResponse:
        body = parse_body(_MaxSimBody, await read_body(request, MAX_BODY_BYTES))
        queue = self._service.queue(body.model)
        if len(body.rows) != len(body.queries):
            raise ApiError(400, f"rows: {len(body.rows)} lists for {len(body.queries)} queries", param="rows")
        queries = await queue.texts([clean_text(text) for text in body.queries])
        folder, device = Path(body.index), queue.encoder.device
        scores = await queue.run(lambda: self._scores(folder, device, queries, body.rows))
        return JSONResponse({"scores": scores, "model": body.model, "device": device})

    def _scores(self, folder: Path, device: str, queries: Any, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        import torch

        vectors = self._vectors(folder, device, queries.shape[1])
        highest = max((row for part in rows for row in part), default=-1)
        lowest = min((row for part in rows for row in part), default=0)
        if lowest < 0 or highest >= len(vectors):
            raise ApiError(400, f"rows: {lowest} to {highest} asked for, {folder} has {len(vectors)}", param="rows")
        found: list[list[float]] = []
        with torch.inference_mode():
            for query, part in zip(torch.from_numpy(queries).to(device), rows, strict=True):
                picked = vectors[torch.tensor(part, dtype=torch.long, device=device)]
                found.append((picked @ query).amax(dim=1).tolist())
        return found

    def _vectors(self, folder: Path, device: str, width: int) -> Any:
        """Shape (images, tiles, width), on the device."""
        import torch

        try:
            facts = json.loads((folder / "index.json").read_bytes())
            shape = facts["tiles"], facts["width"]
            found = (folder / "vectors.f32").stat()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ApiError(400, f"index: {folder} is no index: {type(error).__name__}", param="index") from None
        if shape[1] != width:
            raise ApiError(400, f"index: {folder} has vectors of {shape[1]}, the encoder gives {width}", param="index")
        stamp = found.st_size, found.st_mtime_ns
        kept = self._loaded.get(folder)
        if kept is None or kept[0] != stamp:
            whole = found.st_size // (4 * shape[0] * shape[1])  # the last image may be half written
            count = whole * shape[0] * shape[1]
            flat = np.fromfile(folder / "vectors.f32", "<f4", count)
            kept = stamp, torch.from_numpy(flat.reshape(whole, *shape)).to(device)
            self._loaded.put(folder, kept)
        return kept[1]
