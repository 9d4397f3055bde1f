"""Slots: how many requests may be in flight, in all and per endpoint; first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol


class Slots(Protocol):
    """Whatever lends slots to the requests of one process."""

    def hold(self, endpoint: str) -> AbstractAsyncContextManager[None]:
        """``async with``: one request to ``endpoint`` (an endpoint family) may be in flight inside."""


class SlotPool:
    """One pool for one event loop. An endpoint at its own limit does not block the others.

    ``per_endpoint`` names limits below ``total``; an endpoint that is not in it may use the whole pool. A
    cancelled waiter never keeps a slot.
    """

    def __init__(self, total: int, per_endpoint: Mapping[str, int]) -> None:
        if total < 1 or any(limit < 1 for limit in per_endpoint.values()):
            raise ValueError("a pool needs at least one slot, in all and per endpoint")
        self.total = total
        self.in_flight = 0
        self._limits = dict(per_endpoint)
        self._used: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}
        self._tickets = 0

    def hold(self, endpoint: str) -> AbstractAsyncContextManager[None]:
        return _Hold(self, endpoint)

    async def acquire(self, endpoint: str) -> None:
        """Take a slot, waiting for one if need be. Pair it with ``release``; ``hold`` does so."""
        if self._has_room(endpoint):  # then nobody waits for this endpoint: see _grant
            self._take(endpoint)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tickets += 1
        self._waiting.setdefault(endpoint, deque()).append((self._tickets, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came together with the cancellation
                self.release(endpoint)
            raise

    def release(self, endpoint: str) -> None:
        self.in_flight -= 1
        self._used[endpoint] -= 1
        self._grant()

    def _has_room(self, endpoint: str) -> bool:
        used = self._used.get(endpoint, 0)
        return self.in_flight < self.total and used < self._limits.get(endpoint, self.total)

    def _take(self, endpoint: str) -> None:
        self.in_flight += 1
        self._used[endpoint] = self._used.get(endpoint, 0) + 1

    def _grant(self) -> None:
        """Give free slots to the waiters that came first among those whose endpoint has room."""
        while self.in_flight < self.total:
            first: tuple[int, str] | None = None
            for endpoint, queue in list(self._waiting.items()):
                while queue and queue[0][1].done():  # cancelled while it waited
                    queue.popleft()
                if not queue:
                    del self._waiting[endpoint]
                elif self._has_room(endpoint) and (first is None or queue[0][0] < first[0]):
                    first = (queue[0][0], endpoint)
            if first is None:
                return
            endpoint = first[1]
            self._take(endpoint)
            self._waiting[endpoint].popleft()[1].set_result(None)


class _Hold:
    __slots__ = ("_endpoint", "_pool")

    def __init__(self, pool: SlotPool, endpoint: str) -> None:
        self._pool, self._endpoint = pool, endpoint

    async def __aenter__(self) -> None:
        await self._pool.acquire(self._endpoint)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.release(self._endpoint)
