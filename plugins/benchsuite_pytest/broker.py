"""The broker: one pool of slots and one set of launched servers for all processes of a run.

It lives in the controller, in a thread with a loop of its own. Workers talk to it over a Unix socket in a
private folder, a line of JSON per message; ``id`` is the sender's:

    {"op": "acquire", "id": 1, "endpoint": FAMILY}  -> {"id": 1} once the slot is theirs
    {"op": "release", "id": 1}                      gives it back, or withdraws the wait; no answer
    {"op": "endpoint", "id": 2, "spec": {...}}      -> {"id": 2, "url": URL} or {"id": 2, "error": [...]}
    {"op": "alive", "id": 3, "endpoint": FAMILY}    -> {"id": 3} or {"id": 3, "error": [...]}

A connection that ends, however its process died, gives all its slots back.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from benchsuite.errors import BenchError, EndpointError
from benchsuite.models.client import same_error
from benchsuite.models.slots import SlotPool
from benchsuite.models.spec import ModelSpec

_DEATH_WAIT_S = 0.5
_T = TypeVar("_T")


class Server(Protocol):
    """What the broker needs of a started server; benchsuite.models.launch.LaunchedServer is one."""

    base_url: str

    def wait_ready(self) -> None: ...
    def death(self, within_s: float = 0.0) -> str: ...
    def problem(self, what: str) -> EndpointError: ...
    def ask_to_stop(self) -> None: ...
    def stop(self) -> None: ...


class Broker:
    """``start`` begins a server, once per endpoint family, and returns at once; see ``Server``.

    ``total`` and ``per_endpoint`` (by family) bound the requests in flight of the whole run. ``path`` is the
    socket for workers (BrokerClient). A process without workers uses ``slots`` on its own loop and the broker
    itself as ``Servers``, from any loop; one run uses either the socket or ``slots``, never both.
    """

    def __init__(
        self,
        start: Callable[[ModelSpec], Server],
        total: int,
        per_endpoint: Mapping[str, int],
    ) -> None:
        self._start = start
        self.slots = SlotPool(total, per_endpoint)
        self._urls: dict[str, asyncio.Task[str]] = {}
        self._servers: dict[str, Server] = {}
        self._dead: dict[str, EndpointError] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._closing = threading.Event()
        self._servers_lock = threading.Lock()
        self._folder = _private_folder()
        self.path = self._folder / "broker"
        self._loop = asyncio.new_event_loop()
        self._listener: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="benchsuite-broker", daemon=True)
        self._thread.start()
        self._on_loop(self._listen()).result()

    async def locate(self, spec: ModelSpec) -> str:
        return await asyncio.wrap_future(self._on_loop(self._endpoint(spec)))

    async def check(self, spec: ModelSpec) -> None:
        await asyncio.wrap_future(self._on_loop(self._alive(spec.family)))

    def close(self) -> None:
        """End the servers, the socket and its folder; blocks, at most a few seconds. Twice is once."""
        if self._closing.is_set():
            return
        with self._servers_lock:
            self._closing.set()
            servers = list(self._servers.values())
        for server in servers:
            server.ask_to_stop()
        self._on_loop(self._hang_up()).result()
        for server in servers:
            server.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _on_loop(self, work: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_unix_server(self._talk, self.path)

    async def _hang_up(self) -> None:
        assert self._listener is not None
        self._listener.close()
        tasks = [*self._talks, *self._urls.values(), *self._checks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        line = _Line(self, writer)
        try:
            while message := await reader.readline():
                line.take(json.loads(message))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # a worker that broke off, perhaps within a line, or something that is no worker
        finally:
            line.drop()
            writer.close()
            self._talks.discard(task)

    async def _endpoint(self, spec: ModelSpec) -> str:
        """The URL of a family's server; the first to ask has it started, all others share the outcome."""
        family = spec.family
        if family in self._dead:
            raise same_error(self._dead[family])
        if family not in self._urls:
            self._urls[family] = self._loop.create_task(self._launch(spec))
        return await asyncio.shield(self._urls[family])

    async def _launch(self, spec: ModelSpec) -> str:
        family = spec.family
        ready: asyncio.Future[str] = self._loop.create_future()

        def deliver(url: str, error: EndpointError | None) -> None:
            if ready.done():
                return
            if error is None:
                ready.set_result(url)
            else:
                ready.set_exception(error)

        def work() -> None:
            url, problem = "", None
            try:
                url = self._start_now(spec)
            except EndpointError as error:
                problem = error
            except BenchError as error:
                problem = EndpointError("launch", family, str(error))
            except Exception as error:
                problem = EndpointError("launch", family, f"{type(error).__name__}: {error}")
            with suppress(RuntimeError):  # the broker was closed meanwhile
                self._loop.call_soon_threadsafe(deliver, url, problem)

        threading.Thread(target=work, name=f"benchsuite-launch-{family}", daemon=True).start()
        try:
            return await ready
        except EndpointError as error:
            self._dead[family] = error
            raise

    def _start_now(self, spec: ModelSpec) -> str:
        with self._servers_lock:
            if self._closing.is_set():
                raise EndpointError("launch", spec.family, "the run is ending")
            server = self._servers[spec.family] = self._start(spec)
        server.wait_ready()
        return server.base_url

    async def _alive(self, family: str) -> None:
        """Raises the one error of a family whose server is dead; it is not started again."""
        server = self._servers.get(family)
        if server is not None and family not in self._dead:
            if family not in self._checks:
                self._checks[family] = self._loop.create_task(self._look(family, server))
            await asyncio.shield(self._checks[family])
        if family in self._dead:
            raise same_error(self._dead[family])

    async def _look(self, family: str, server: Server) -> None:
        how = await asyncio.to_thread(server.death, _DEATH_WAIT_S)
        del self._checks[family]
        if how:
            self._dead.setdefault(family, server.problem(how))


class _Line:
    """One worker's connection, on the broker's loop: what it holds and what it waits for."""

    def __init__(self, broker: Broker, writer: asyncio.StreamWriter) -> None:
        self._broker, self._writer = broker, writer
        self._held: dict[int, str] = {}
        self._open: dict[int, asyncio.Task[None]] = {}

    def take(self, message: dict[str, Any]) -> None:
        op, number = message["op"], message["id"]
        if op == "release":
            self._release(number)
            return
        if op == "acquire":
            work = self._acquire(number, message["endpoint"])
        elif op == "endpoint":
            work = self._endpoint(number, ModelSpec(**message["spec"]))
        else:
            work = self._alive(number, message["endpoint"])
        task = asyncio.get_running_loop().create_task(work)
        self._open[number] = task
        task.add_done_callback(lambda done: self._open.pop(number, None))

    def drop(self) -> None:
        for number in [*self._open, *self._held]:
            self._release(number)

    def _release(self, number: int) -> None:
        endpoint = self._held.pop(number, None)
        if endpoint is not None:
            self._broker.slots.release(endpoint)
        elif number in self._open:
            self._open[number].cancel()

    async def _acquire(self, number: int, endpoint: str) -> None:
        await self._broker.slots.acquire(endpoint)
        self._held[number] = endpoint
        self._say({"id": number})

    async def _endpoint(self, number: int, spec: ModelSpec) -> None:
        try:
            self._say({"id": number, "url": await self._broker._endpoint(spec)})
        except EndpointError as error:
            self._say({"id": number, "error": _fields(error)})

    async def _alive(self, number: int, endpoint: str) -> None:
        try:
            await self._broker._alive(endpoint)
            self._say({"id": number})
        except EndpointError as error:
            self._say({"id": number, "error": _fields(error)})

    def _say(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")


class BrokerClient:
    """A worker's end, for one event loop: ``Slots`` and ``Servers`` both. Connects at first use.

    When the controller is gone every call raises EndpointError ``transport``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._connecting: asyncio.Task[asyncio.StreamWriter] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._gone = False

    def hold(self, endpoint: str) -> AbstractAsyncContextManager[None]:
        return _RemoteHold(self, endpoint)

    async def locate(self, spec: ModelSpec) -> str:
        answer = await self._call("endpoint", spec.family, spec=asdict(spec))
        url: str = answer["url"]
        return url

    async def check(self, spec: ModelSpec) -> None:
        await self._call("alive", spec.family)

    async def acquire(self, endpoint: str) -> int:
        """Wait for a slot; returns the number to ``release`` it by."""
        number = next(self._numbers)
        await self._call("acquire", endpoint, number=number)
        return number

    def release(self, number: int) -> None:
        """Give a slot back, or withdraw the wait for it."""
        if self._connecting is not None and self._connecting.done() and not self._gone:
            self._connecting.result().write(_message(op="release", id=number))

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def _call(self, op: str, endpoint: str, number: int | None = None, **more: Any) -> dict[str, Any]:
        if self._gone:
            raise _controller_gone(endpoint)
        number = next(self._numbers) if number is None else number
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())
        writer = await asyncio.shield(self._connecting)
        if self._gone:
            raise _controller_gone(endpoint)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        writer.write(_message(op=op, id=number, endpoint=endpoint, **more))
        try:
            reply: dict[str, Any] = await answer
        except asyncio.CancelledError:
            self.release(number)  # the broker knows whether it waits still or was granted meanwhile
            raise
        finally:
            self._waiting.pop(number, None)
        if self._gone and not reply:
            raise _controller_gone(endpoint)
        if "error" in reply:
            raise EndpointError(*reply["error"])
        return reply

    async def _connect(self) -> asyncio.StreamWriter:
        try:
            reader, writer = await asyncio.open_unix_connection(self._path)
        except OSError:
            self._gone = True
            raise _controller_gone(str(self._path)) from None
        self._listening = asyncio.get_running_loop().create_task(self._listen(reader, writer))
        return writer

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while message := await reader.readline():
                answer = json.loads(message)
                waiter = self._waiting.get(answer["id"])
                if waiter is not None and not waiter.done():
                    waiter.set_result(answer)
        except (OSError, ValueError):
            pass  # broken off: the same as the end
        finally:
            self._gone = True
            writer.close()
            for waiter in self._waiting.values():
                if not waiter.done():
                    waiter.set_result({})


class _RemoteHold:
    __slots__ = ("_client", "_endpoint", "_number")

    def __init__(self, client: BrokerClient, endpoint: str) -> None:
        self._client, self._endpoint = client, endpoint
        self._number = -1

    async def __aenter__(self) -> None:
        self._number = await self._client.acquire(self._endpoint)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.release(self._number)


def _private_folder() -> Path:
    """A new folder of mode 0700, with room for a socket's name (a path of about 100 characters at most)."""
    folder = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="benchsuite-", dir=folder if len(folder) < 70 else "/tmp"))


def _message(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _fields(error: EndpointError) -> list[Any]:
    return [error.kind, error.endpoint, error.problem, error.status]


def _controller_gone(what: str) -> EndpointError:
    return EndpointError("transport", what, "the controller of this run is gone")
