from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from benchsuite.errors import BenchError, EndpointError
from benchsuite.models.ask import Asker
from benchsuite.models.cache import AnswerCache, AnswerStore
from benchsuite.models.slots import SlotPool
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, request_key

SPEC = ModelSpec("m", "m", "http://h/v1", "http://h/v1")


class Scripted:
    """Answers when told to; counts what is sent and what is cancelled."""

    def __init__(self) -> None:
        self.sent = 0
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.failures: list[EndpointError] = []

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        self.sent += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failures:
            raise self.failures.pop()
        return Reply(f"answer {self.sent}", attempts=2)


class NoSlots:
    @asynccontextmanager
    async def hold(self, endpoint: str) -> AsyncIterator[None]:
        raise AssertionError("a slot was taken")
        yield


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_identical_requests_in_flight_are_one(chat: Any) -> None:
    async def run() -> None:
        transport, pool = Scripted(), SlotPool(4, {})
        asker = Asker(transport, pool, None)
        tasks = [asyncio.create_task(asker.ask(SPEC, chat("same"))) for _ in range(5)]
        other = asyncio.create_task(asker.ask(SPEC, chat("same"), 1))
        await settle()
        assert (transport.sent, pool.in_flight) == (2, 2)
        transport.gate.set()
        answers = await asyncio.gather(*tasks)
        assert len({answer.key for answer in answers}) == 1
        assert answers[0].key == request_key(SPEC.family, chat("same"), 0) != (await other).key
        assert {(answer.cached, answer.attempts) for answer in answers} == {(False, 2)}
        assert pool.in_flight == 0

    asyncio.run(run())


def test_a_failed_flight_is_asked_again_and_never_stored(chat: Any, tmp_path: Path) -> None:
    async def run() -> None:
        transport = Scripted()
        transport.gate.set()
        transport.failures = [EndpointError("http", "m", "overloaded", 503)]
        cache = AnswerCache(AnswerStore.create(tmp_path))
        asker = Asker(transport, SlotPool(1, {}), cache)
        both = await asyncio.gather(*(asker.ask(SPEC, chat()) for _ in range(2)), return_exceptions=True)
        assert [str(error) for error in both] == ["m: HTTP 503: overloaded"] * 2
        assert transport.sent == 1
        first = await asker.ask(SPEC, chat())
        again = await asker.ask(SPEC, chat())
        assert (first.cached, first.attempts, again.cached, again.attempts) == (False, 2, True, 0)
        assert first.reply == again.reply
        assert transport.sent == 2
        cache.close()

    asyncio.run(run())


def test_a_hit_takes_no_slot_and_sends_nothing(chat: Any, tmp_path: Path) -> None:
    async def run() -> None:
        cache = AnswerCache(AnswerStore.create(tmp_path))
        await cache.put(request_key(SPEC.family, chat()), SPEC.family, SPEC.model, Reply("stored", latency_s=1.5))
        transport = Scripted()
        answer = await Asker(transport, NoSlots(), cache).ask(SPEC, chat())
        assert (answer.cached, answer.reply.text, answer.reply.latency_s) == (True, "stored", 1.5)
        assert transport.sent == 0
        cache.close()

    asyncio.run(run())


def test_replay_sends_nothing(chat: Any, tmp_path: Path) -> None:
    async def run() -> None:
        cache = AnswerCache(AnswerStore.create(tmp_path), "readonly")
        transport = Scripted()
        with pytest.raises(EndpointError, match="no stored answer") as caught:
            await Asker(transport, NoSlots(), cache, replay=True).ask(SPEC, chat())
        assert caught.value.kind == "replay"
        assert transport.sent == 0
        cache.close()

    asyncio.run(run())


def test_cancelling_one_waiter_leaves_the_request_to_the_others(chat: Any) -> None:
    async def run() -> None:
        transport, pool = Scripted(), SlotPool(1, {})
        asker = Asker(transport, pool, None)
        first, second = (asyncio.create_task(asker.ask(SPEC, chat())) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        transport.gate.set()
        assert (await second).reply.text == "answer 1"
        assert first.cancelled()
        assert (transport.sent, transport.cancelled) == (1, 0)

    asyncio.run(run())


def test_cancelling_all_waiters_cancels_the_request_and_frees_its_slot(chat: Any) -> None:
    async def run() -> None:
        transport, pool = Scripted(), SlotPool(1, {})
        asker = Asker(transport, pool, None)
        tasks = [asyncio.create_task(asker.ask(SPEC, chat())) for _ in range(3)]
        await settle()
        for task in tasks:
            task.cancel()
        later = asyncio.create_task(asker.ask(SPEC, chat()))
        await settle()
        assert (transport.sent, transport.cancelled) == (2, 1)
        transport.gate.set()
        assert (await later).reply.text == "answer 2"
        assert pool.in_flight == 0

    asyncio.run(run())


def test_an_answer_that_cannot_be_stored_is_not_reported(chat: Any, tmp_path: Path) -> None:
    async def run() -> None:
        transport = Scripted()
        transport.gate.set()
        cache = AnswerCache(AnswerStore.create(tmp_path))
        cache.close()
        with pytest.raises(BenchError, match="closed"):
            await Asker(transport, SlotPool(1, {}), cache).ask(SPEC, chat())

    asyncio.run(run())
