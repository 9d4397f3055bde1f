"""The text channel and the oracle that is padded by it (DeliverMem section 4, appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchsuite.corpus.model import Evidence, Item, Query, plain_text

if TYPE_CHECKING:
    from benchsuite.registry import Ranking, Registry, Services


def best(items: Sequence[Item], scores: Sequence[float], k: int) -> Ranking:
    """The k items with the highest scores; ties stand in conversation order."""
    order = sorted(range(len(items)), key=lambda i: (-scores[i], i))
    return [(items[i].id, scores[i]) for i in order[:k]]


class TextChannel:
    """Cosine of question and message text under the served text encoder.

    A message without text scores 0. Ties stand in conversation order.
    """

    version = "1"

    def __init__(self, services: Services) -> None:
        self._services = services

    async def scores(self, query: Query, items: Sequence[Item]) -> list[float]:
        """One score per item, in item order."""
        texts = [plain_text(item.text) for item in items]
        vectors = await self._services.embed([query.text, *(text for text in texts if text)])
        similar = iter((vectors[1:] @ vectors[0]).round(6))
        return [float(next(similar)) if text else 0.0 for text in texts]

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        return best(items, await self.scores(query, items), k)


class OracleChannel:
    """The gold messages, cut to k, padded with the text channel's best others; text-channel scores for all."""

    version = "1"

    def __init__(self, services: Services) -> None:
        self._text = TextChannel(services)

    async def rank(self, query: Query, items: Sequence[Item], k: int, evidence: Evidence) -> Ranking:
        scores = await self._text.scores(query, items)
        wanted = set(evidence.turn_ids)
        gold = [i for i, item in enumerate(items) if wanted.intersection(item.turn_ids)][:k]
        others = sorted(set(range(len(items))) - set(gold), key=lambda i: (-scores[i], i))
        chosen = gold + others[: k - len(gold)]
        return [(items[i].id, scores[i]) for i in sorted(chosen, key=lambda i: (-scores[i], i))]


def register(registry: Registry) -> None:
    registry.retriever("text", TextChannel)
    registry.oracle("oracle", OracleChannel)
