"""The image channel, and its fusion with the text channel (DeliverMem appendix A.2, table 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchsuite.corpus.model import Item, Query
from benchsuite.retrieval.text import TextChannel, best

if TYPE_CHECKING:
    from benchsuite.registry import Ranking, Registry, Services

INDEXES = ("region", "whole")
"""What is encoded of an image: the whole and 2x2 overlapping tiles (R1), or the whole alone."""
NEUTRAL = 0.5
"""The image score of a message without an image (A.2), and of every message where no two differ."""


class ImageChannel:
    """Cosine of question and image under the served image encoder, as table 6 has it.

    A message with several images takes the maximum. These scores are min-max normalised over the messages of the
    history that show an image; a message without one scores 0.5, and so do all when the span is zero (a single
    message with an image, or equal scores). An image without bytes counts as none. Ties stand in conversation
    order.
    """

    version = "1"

    def __init__(self, services: Services, index: str = "region") -> None:
        self._services, self._index = services, index

    async def scores(self, query: Query, items: Sequence[Item]) -> list[float]:
        """One score from 0 to 1 per item, in item order."""
        images = [image for item in items for image in item.images if not image.missing]
        if not images:
            return [NEUTRAL] * len(items)
        cosines = iter(await self._services.image_scores(query.text, images, self._index))
        own = [[round(next(cosines), 6) for image in item.images if not image.missing] for item in items]
        return _normalised([max(scores, default=None) for scores in own])

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        return best(items, await self.scores(query, items), k)


class BothChannels:
    """The mean of the text channel's raw cosine and the image channel's normalised score (table 6, 'Fusion').

    Ties stand in conversation order.
    """

    version = "1"

    def __init__(self, services: Services, index: str = "region") -> None:
        self._text, self._image = TextChannel(services), ImageChannel(services, index)

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        text, image = await self._text.scores(query, items), await self._image.scores(query, items)
        return best(items, [(t + i) / 2 for t, i in zip(text, image, strict=True)], k)


def _normalised(scores: Sequence[float | None]) -> list[float]:
    known = [score for score in scores if score is not None]
    low, high = min(known), max(known)
    if low == high:
        return [NEUTRAL] * len(scores)
    return [NEUTRAL if score is None else (score - low) / (high - low) for score in scores]


def register(registry: Registry) -> None:
    registry.axis("index", INDEXES, default=INDEXES[0])
    registry.retriever("image", ImageChannel)
    registry.retriever("both", BothChannels)
