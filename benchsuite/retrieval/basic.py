"""Retrievers that read no content: ``recency``, ``full`` and ``none``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchsuite.corpus.model import Item, Query

if TYPE_CHECKING:
    from benchsuite.registry import Ranking, Registry


class Recency:
    """The last k items; the newest ranks first (DeliverMem table 20, selection without the query)."""

    version = "1"

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        first = max(0, len(items) - k)
        return [(items[i].id, float(i)) for i in range(len(items) - 1, first - 1, -1)]


class Full:
    """The whole history, whatever k says, in conversation order."""

    version = "1"

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        return [(item.id, -float(i)) for i, item in enumerate(items)]


class Nothing:
    """No items: what the model knows without any memory."""

    version = "1"

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        return []


def register(registry: Registry) -> None:
    registry.retriever("recency", Recency)
    registry.retriever("full", Full)
    registry.retriever("none", Nothing)
