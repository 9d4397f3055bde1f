from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.models.slots import SlotPool


def test_first_come_first_served() -> None:
    async def run() -> list[int]:
        pool, order = SlotPool(1, {}), []

        async def one(n: int) -> None:
            async with pool.hold("e"):
                order.append(n)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(n) for n in range(10)))
        return order

    assert asyncio.run(run()) == list(range(10))


def test_an_endpoint_at_its_limit_does_not_block_another() -> None:
    async def run() -> None:
        pool = SlotPool(3, {"slow": 1})
        async with pool.hold("slow"):
            second = asyncio.create_task(pool.acquire("slow"))
            await asyncio.sleep(0)
            async with asyncio.timeout(5):
                async with pool.hold("fast"), pool.hold("fast"):
                    assert pool.in_flight == 3
            assert not second.done()
        await second
        assert pool.in_flight == 1

    asyncio.run(run())


def test_total_bounds_all_endpoints_and_the_oldest_waiter_is_next() -> None:
    async def run() -> None:
        pool = SlotPool(1, {})
        order: list[str] = []

        async def one(endpoint: str) -> None:
            async with pool.hold(endpoint):
                assert pool.in_flight == 1
                order.append(endpoint)

        await pool.acquire("x")
        tasks = []
        for endpoint in ("b", "a", "b", "c", "a"):
            tasks.append(asyncio.create_task(one(endpoint)))
            await asyncio.sleep(0)
        pool.release("x")
        await asyncio.gather(*tasks)
        assert order == ["b", "a", "b", "c", "a"]
        assert pool.in_flight == 0

    asyncio.run(run())


def test_cancelled_with_the_slot_already_granted() -> None:
    async def run() -> None:
        pool = SlotPool(1, {})
        await pool.acquire("e")
        waiter = asyncio.create_task(pool.acquire("e"))
        await asyncio.sleep(0)
        pool.release("e")  # grants to the waiter, which has not run yet
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert pool.in_flight == 0
        async with asyncio.timeout(5):
            await pool.acquire("e")

    asyncio.run(run())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), total=st.integers(1, 4), limit=st.integers(1, 3))
def test_random_schedules_with_cancellation_leak_nothing(seed: int, total: int, limit: int) -> None:
    random_ = random.Random(seed)

    async def run() -> None:
        pool = SlotPool(total, {"a": limit})
        live = {"a": 0, "b": 0}

        async def one(endpoint: str, turns: int) -> None:
            async with pool.hold(endpoint):
                live[endpoint] += 1
                try:
                    assert sum(live.values()) <= total
                    assert live["a"] <= limit
                    for _ in range(turns):
                        await asyncio.sleep(0)
                finally:
                    live[endpoint] -= 1

        tasks = []
        for _ in range(40):
            tasks.append(asyncio.create_task(one(random_.choice("ab"), random_.randrange(4))))
            if random_.random() < 0.5:
                random_.choice(tasks).cancel()
            if random_.random() < 0.5:
                await asyncio.sleep(0)
        async with asyncio.timeout(20):
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [r for r in results if r is not None and not isinstance(r, asyncio.CancelledError)] == []
        assert pool.in_flight == 0
        async with asyncio.timeout(5):  # every slot can be had again
            for _ in range(total):
                await pool.acquire("b")

    asyncio.run(run())


def test_a_pool_without_slots_is_refused() -> None:
    with pytest.raises(ValueError):
        SlotPool(0, {})
    with pytest.raises(ValueError):
        SlotPool(4, {"e": 0})
