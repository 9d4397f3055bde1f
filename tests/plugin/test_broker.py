from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from benchsuite.errors import ConfigError, EndpointError
from benchsuite.models.spec import ModelSpec
from benchsuite_pytest.broker import Broker, BrokerClient

ROOT = Path(__file__).parents[2]
SPEC = ModelSpec("embedded", "embedded", "", "embedded/1", launch="embedded")
OTHER = ModelSpec("embedded-forced", "embedded-forced", "", "embedded/1", launch="embedded")


class FakeServer:
    def __init__(self, problem: str = "", gate: threading.Event | None = None) -> None:
        self.base_url = ""
        self._problem, self._gate = problem, gate
        self.how = ""
        self.stops = 0
        self.asked = threading.Event()

    def wait_ready(self) -> None:
        if self._gate is not None:
            self._gate.wait(20)
        if self._problem:
            raise self.problem(self._problem)
        self.base_url = "http://127.0.0.1:1/v1"

    def death(self, within_s: float = 0.0) -> str:
        return self.how

    def problem(self, what: str) -> EndpointError:
        return EndpointError("launch", "embedded/1", what)

    def ask_to_stop(self) -> None:
        self.asked.set()
        if self._gate is not None:
            self._problem = "closed its stdout"
            self._gate.set()

    def stop(self) -> None:
        self.stops += 1


class Starts:
    """A start function that remembers its servers."""

    def __init__(self, problem: str = "", gate: threading.Event | None = None) -> None:
        self.servers: list[FakeServer] = []
        self._problem, self._gate = problem, gate

    def __call__(self, spec: ModelSpec) -> FakeServer:
        self.servers.append(FakeServer(self._problem, self._gate))
        return self.servers[-1]


def within(work: Coroutine[Any, Any, None], seconds: float = 30) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, seconds)

    asyncio.run(bounded())


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def broker(starts: Starts) -> Iterator[Broker]:
    broker = Broker(starts, 2, {"slow": 1})
    yield broker
    broker.close()


def test_the_socket_is_private_and_goes_away(starts: Starts) -> None:
    broker = Broker(starts, 1, {})
    folder = broker.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert broker.path.is_socket()
    broker.close()
    broker.close()
    assert not folder.exists()
    assert starts.servers == []


def test_slots_over_the_socket(broker: Broker) -> None:
    async def run() -> None:
        one, two = BrokerClient(broker.path), BrokerClient(broker.path)
        async with one.hold("slow"):
            blocked = asyncio.create_task(two.acquire("slow"))
            async with two.hold("fast"):
                third = asyncio.create_task(one.acquire("fast"))
                await one.check(SPEC)  # a round trip: the broker has seen it all
                assert not blocked.done()
                assert not third.done()
            number = await third
        two.release(await blocked)
        one.release(number)
        async with one.hold("fast"), two.hold("fast"):
            pass
        await one.close()
        await two.close()

    within(run())


def test_a_cancelled_wait_leaks_no_slot(broker: Broker) -> None:
    async def run() -> None:
        client = BrokerClient(broker.path)
        for delay in (0, 0, 0.001, 0.002, 0.005) * 4:
            async with client.hold("slow"):
                waiter = asyncio.create_task(client.acquire("slow"))
                await asyncio.sleep(delay)
            await asyncio.sleep(delay)  # the grant may be on its way
            waiter.cancel()
            results = await asyncio.gather(waiter, return_exceptions=True)
            if isinstance(results[0], int):
                client.release(results[0])
        async with client.hold("slow"):
            await client.check(SPEC)
            assert broker.slots.in_flight == 1
        await client.check(SPEC)
        assert broker.slots.in_flight == 0
        await client.close()

    within(run())


HOLDER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from benchsuite_pytest.broker import BrokerClient

    async def main():
        client = BrokerClient(Path(sys.argv[1]))
        await client.acquire("slow")
        await client.acquire("fast")
        waiting = asyncio.create_task(client.acquire("slow"))
        print("held", flush=True)
        await asyncio.sleep(100)

    asyncio.run(main())
""")


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "plugins")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_a_killed_worker_gives_all_its_slots_back(broker: Broker) -> None:
    worker = python(HOLDER, str(broker.path))
    assert worker.stdout is not None
    assert worker.stdout.readline() == "held\n"
    worker.send_signal(signal.SIGKILL)
    worker.wait(10)

    async def run() -> None:
        client = BrokerClient(broker.path)
        async with client.hold("slow"), client.hold("fast"):
            pass
        await client.close()

    within(run())


def test_a_server_starts_once_at_first_need(broker: Broker, starts: Starts) -> None:
    async def run() -> None:
        clients = [BrokerClient(broker.path) for _ in range(3)]
        async with clients[0].hold("embedded/1"):
            assert starts.servers == []
        urls = await asyncio.gather(*(c.locate(spec) for c in clients for spec in (SPEC, OTHER)), broker.locate(SPEC))
        assert set(urls) == {"http://127.0.0.1:1/v1"}
        assert len(starts.servers) == 1
        await broker.check(OTHER)
        for client in clients:
            await client.close()

    within(run())
    broker.close()
    assert starts.servers[0].stops == 1


@pytest.mark.parametrize("early", [True, False])
def test_a_failed_start_is_one_stored_error(early: bool) -> None:
    starts = Starts(problem="the server died (exit status 3); last log line: out of memory")
    count = 0

    def start(spec: ModelSpec) -> FakeServer:
        nonlocal count
        count += 1
        if early:
            raise ConfigError("vllm is not installed")
        return starts(spec)

    broker = Broker(start, 8, {})

    async def run() -> None:
        client = BrokerClient(broker.path)
        errors = await asyncio.gather(
            *(client.locate(SPEC) for _ in range(20)), broker.locate(SPEC), return_exceptions=True
        )
        errors += [
            *await asyncio.gather(client.locate(OTHER), client.check(SPEC), broker.locate(SPEC), return_exceptions=True)
        ]
        expected = "vllm is not installed" if early else "out of memory"
        assert all(isinstance(error, EndpointError) and expected in str(error) for error in errors)
        assert len({str(error) for error in errors}) == 1
        await client.close()

    within(run())
    assert count == 1
    broker.close()


def test_a_server_that_died_is_one_error_and_not_started_again(broker: Broker, starts: Starts) -> None:
    async def run() -> None:
        client = BrokerClient(broker.path)
        await client.locate(SPEC)
        await client.check(SPEC)
        starts.servers[0].how = "the server was killed (signal 9)"
        errors = await asyncio.gather(
            *(client.check(SPEC) for _ in range(10)), broker.check(SPEC), return_exceptions=True
        )
        errors += [*await asyncio.gather(client.locate(SPEC), broker.locate(OTHER), return_exceptions=True)]
        assert {str(error) for error in errors} == {"embedded/1: the server was killed (signal 9)"}
        assert len(starts.servers) == 1
        await client.close()

    within(run())


def test_closing_does_not_wait_for_a_server_that_is_still_starting() -> None:
    starts = Starts(gate=threading.Event())
    broker = Broker(starts, 8, {})

    async def run() -> None:
        client = BrokerClient(broker.path)
        waiting = asyncio.create_task(client.locate(SPEC))
        while not starts.servers:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(broker.close)
        results = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(results[0], EndpointError)
        with pytest.raises(EndpointError, match="controller of this run is gone"):
            await client.locate(SPEC)
        await client.close()

    within(run())
    assert starts.servers[0].stops == 1


def test_a_worker_without_a_controller_is_told_so(tmp_path: Path) -> None:
    async def run() -> None:
        client = BrokerClient(tmp_path / "nobody")
        for _ in range(2):
            with pytest.raises(EndpointError, match="controller of this run is gone"):
                await client.acquire("e")
        await client.close()

    within(run())


def test_nonsense_on_the_socket_ends_that_connection_only(broker: Broker) -> None:
    async def run() -> None:
        for words in (b"hello\n", b"{}\n", b'{"op": "acquire"\n', b'{"op": "x", "id": 1}\n', b"[1]\n"):
            reader, writer = await asyncio.open_unix_connection(broker.path)
            writer.write(words)
            assert await reader.read() == b""
            writer.close()
        client = BrokerClient(broker.path)
        async with client.hold("slow"):
            pass
        await client.close()

    within(run())


ASKER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from benchsuite.models.ask import Asker
    from benchsuite.models.client import HttpTransport
    from benchsuite.models.spec import ModelSpec
    from benchsuite.models.wire import Message, Part, Request
    from benchsuite_pytest.broker import BrokerClient

    async def main(path, url, name):
        client = BrokerClient(Path(path))
        transport = HttpTransport(lambda image: b"", client)
        asker = Asker(transport, client, None)
        spec = ModelSpec("m", "m", url, url)
        requests = [Request("m", (Message("user", (Part("text", f"{name} {n}"),)),), {}) for n in range(40)]
        answers = await asyncio.gather(*(asker.ask(spec, request) for request in requests))
        print(len({answer.reply.text for answer in answers}))
        await transport.close()
        await client.close()

    asyncio.run(main(*sys.argv[1:]))
""")


def test_four_processes_stay_within_the_budget(starts: Starts) -> None:
    budget = 6

    async def run() -> None:
        live = peak = served = 0

        async def answer(request: web.Request) -> web.Response:
            nonlocal live, peak, served
            live += 1
            served += 1
            peak = max(peak, live)
            await asyncio.sleep(0.005)
            live -= 1
            sent = (await request.json())["messages"][0]["content"]
            return web.json_response({"choices": [{"message": {"content": sent}}]})

        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        async with TestServer(app) as server:
            broker = Broker(starts, budget, {})
            workers = [python(ASKER, str(broker.path), str(server.make_url("/v1")), f"w{n}") for n in range(4)]
            outputs = await asyncio.gather(*(asyncio.to_thread(w.communicate, timeout=60) for w in workers))
            broker.close()
        assert [out for out, _ in outputs] == ["40\n"] * 4
        assert served == 160
        assert 2 <= peak <= budget

    within(run(), 90)


def test_the_broker_serves_a_loop_in_another_thread(broker: Broker, starts: Starts) -> None:
    urls: list[str] = []
    thread = threading.Thread(target=lambda: urls.append(asyncio.run(broker.locate(SPEC))))
    thread.start()
    thread.join(20)
    assert urls == ["http://127.0.0.1:1/v1"]
