"""One answer for one request: cache, single flight, slot, transport, in that order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from benchsuite.errors import EndpointError
from benchsuite.models.cache import AnswerCache
from benchsuite.models.client import Transport
from benchsuite.models.slots import Slots
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, request_key


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply and where it came from. ``attempts`` counts what this call sent: 0 for a stored answer."""

    reply: Reply
    key: str
    cached: bool
    attempts: int


def _always(reply: Reply) -> bool:
    return True


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[Answered]
    waiting: int = 0


class Asker:
    """Asks models for one event loop. Identical requests in flight are one request.

    A stored answer takes no slot and starts no server. An answer is committed to the cache before it is
    returned; what failed is not stored, and asked again by whoever asks later. With ``replay`` nothing is
    ever sent: a miss raises EndpointError ``replay``.
    """

    def __init__(self, transport: Transport, slots: Slots, cache: AnswerCache | None, *, replay: bool = False) -> None:
        self._transport, self._slots, self._cache, self._replay = transport, slots, cache, replay
        self._flights: dict[str, _Flight] = {}

    async def ask(
        self, spec: ModelSpec, request: Request, repeat: int = 0, keep: Callable[[Reply], bool] = _always
    ) -> Answered:
        """The answer to ``request``. Raises EndpointError where none came, BenchError where it cannot be stored.

        One that ``keep`` refuses is not stored, and asked for again by whoever asks later. Cancelling it cancels the
        request only when nobody else waits for it.
        """
        key = request_key(spec.family, request, repeat)
        flight = self._flights.get(key)
        if flight is None or flight.task.done():
            task = asyncio.get_running_loop().create_task(self._fly(spec, request, key, keep))
            flight = self._flights[key] = _Flight(task)
            task.add_done_callback(lambda done: self._land(key, done))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1 and not flight.task.done():
                self._land(key, flight.task)
                flight.task.cancel()
            raise
        finally:
            flight.waiting -= 1

    async def _fly(self, spec: ModelSpec, request: Request, key: str, keep: Callable[[Reply], bool]) -> Answered:
        if self._cache is not None:
            stored = await self._cache.get(key)
            if stored is not None:
                return Answered(stored.reply, key, cached=True, attempts=0)
        if self._replay:
            raise EndpointError("replay", spec.endpoint, "no stored answer to this request, and replay sends none")
        async with self._slots.hold(spec.family):
            reply = await self._transport.send(spec, request)
        if self._cache is not None and keep(reply):
            await self._cache.put(key, spec.family, spec.model, reply)
        return Answered(reply, key, cached=False, attempts=reply.attempts)

    def _land(self, key: str, task: asyncio.Task[Answered]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        if task.done() and not task.cancelled():
            task.exception()  # nobody may be left to hear of it
