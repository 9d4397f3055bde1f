"""Retrievers that measure no likeness: ``recency``, ``random``, ``full`` and ``none``, and the oracle ``gold_only``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchsuite.corpus.model import Evidence, Item, Query
from benchsuite.models.wire import sha256_json

if TYPE_CHECKING:
    from benchsuite.registry import Ranking, Registry


class Recency:
    """The last k items; the newest ranks first (DeliverMem table 20, selection without the query)."""

    version = "1"

    async def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        first = max(0, len(items) - k)
        return [(items[i].id, float(i)) for i in range(len(items) - 1, first - 1, -1)]


class Random:
    """k items drawn without replacement (DeliverMem table 20, selection without the query); the first drawn ranks
    first, and a smaller k draws the first of the same.

    The draw is seeded by question text, question date and the history's content: roles, texts, dates, session
    positions and image digests. Ids and paths are not in it, so a renamed corpus draws the same places.
    """

    version = "1"

    def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking:
        content = [
            [item.role, item.text, item.date, item.session, [image.sha256 for image in item.images]] for item in items
        ]
        seed = sha256_json([query.text, query.date, content])
        draws = [hashlib.sha256(f"{seed} {position}".encode()).digest() for position in range(len(items))]
        order = sorted(range(len(items)), key=draws.__getitem__)[:k]
        return [(items[i].id, -float(rank)) for rank, i in enumerate(order)]


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


class GoldOnly:
    """The gold messages alone, in conversation order, cut to k (DeliverMem appendix C.1, ``goldonly``).

    A question without gold (a refusal) gets nothing.
    """

    version = "1"

    async def rank(self, query: Query, items: Sequence[Item], k: int, evidence: Evidence) -> Ranking:
        wanted = set(evidence.turn_ids)
        gold = [item for item in items if wanted.intersection(item.turn_ids)]
        return [(item.id, -float(rank)) for rank, item in enumerate(gold[:k])]


def register(registry: Registry) -> None:
    registry.retriever("recency", Recency)
    registry.retriever("random", Random)
    registry.retriever("full", Full)
    registry.retriever("none", Nothing)
    registry.oracle("gold_only", GoldOnly)
