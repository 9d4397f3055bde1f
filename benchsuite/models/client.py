"""The HTTP side of a model call: one POST to ``/chat/completions``, its retries, and when to stop asking."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import math
import os
import random
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import aiohttp

from benchsuite.errors import EndpointError
from benchsuite.models.reply import ReplyError, one_line, parse_reply, server_words
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, WireImage

CLOSING_STATUSES = (401, 403, 404)
REFUSALS_TO_CLOSE = 3
BACKOFF_CAP_S = 30.0
IMAGE_MEMO_BYTES = 128 * 2**20
BODY_BYTES = 192 * 2**20  # of bodies with images, in flight from one process
PIECE = 2**18  # of a large body, which would else be copied whole into the socket's buffer
BUILDING = 2  # bodies that are put together at a time
_T = TypeVar("_T")


class Transport(Protocol):
    """Sends one request, retries included. Raises EndpointError when no answer came."""

    async def send(self, spec: ModelSpec, request: Request) -> Reply: ...


class Servers(Protocol):
    """Where launched servers are; both raise EndpointError ``launch`` when one does not start or died."""

    async def locate(self, spec: ModelSpec) -> str:
        """The base URL of a launched server, which is started at the first call."""

    async def check(self, spec: ModelSpec) -> None:
        """Return if the server lives. Asked after a failed connection."""


@dataclass(slots=True)
class _Endpoint:
    """What is known of one spec's endpoint in this process."""

    url: str
    headers: Mapping[str, str]
    secret: str
    timeout: aiohttp.ClientTimeout
    refusals: int = 0
    closed: EndpointError | None = None


@dataclass(slots=True)
class _Failure:
    """One failed try. ``again``: another may help; ``wait_s`` is what the server asked for."""

    kind: str
    problem: str
    status: int | None = None
    again: bool = True
    wait_s: float | None = None


class HttpTransport:
    """A Transport over one aiohttp session; use it from one event loop and close it there.

    ``image_bytes`` gives the bytes to send for an image and is called in a thread, once per digest while the
    memo (``IMAGE_MEMO_BYTES`` of base64) holds it. 429, 5xx, timeouts and transport faults are tried again,
    waiting for ``Retry-After`` up to the spec's cap, else ``backoff_s`` doubling with jitter. 401, 403, 404 or
    three refused connections in a row close the endpoint: later calls raise the same error, unsent. Bodies with
    images stay in memory until they are answered: one waits while it would go over ``BODY_BYTES``.
    """

    def __init__(
        self,
        image_bytes: Callable[[WireImage], bytes],
        servers: Servers | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        backoff_s: float = 0.5,
    ) -> None:
        self._servers, self._environ, self._backoff_s = servers, environ, backoff_s
        self._images = _ImageMemo(image_bytes, IMAGE_MEMO_BYTES)
        self._room = _Room(BODY_BYTES)
        self._building = asyncio.Semaphore(BUILDING)
        self._endpoints: dict[str, _Endpoint] = {}
        self._session: aiohttp.ClientSession | None = None

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        endpoint = self._endpoints.get(spec.name) or await self._open(spec)
        if endpoint.closed is not None:
            raise same_error(endpoint.closed)
        images = request.images
        if not images:
            return await self._send(spec, endpoint, _filled(request.pieces(), {}))
        data, size = await self._body(request, images)
        try:
            return await self._send(spec, endpoint, data)
        finally:
            self._room.give(size)

    async def _body(self, request: Request, images: Sequence[WireImage]) -> tuple[bytes, int]:
        """The body of a request with images, and the room that it takes, which is to be given back."""
        size = sum(image.size for image in images) * 4 // 3
        async with self._building:
            await self._room.take(size)
            try:
                uris = {image.sha256: await self._images.uri(image) for image in images}
                return await self._images.in_thread(lambda: _filled(request.pieces(), uris)), size
            except BaseException:
                self._room.give(size)
                raise

    async def _send(self, spec: ModelSpec, endpoint: _Endpoint, data: bytes) -> Reply:
        failure = None
        for attempt in range(1, spec.tries + 1):
            if endpoint.closed is not None:
                raise same_error(endpoint.closed)
            outcome = await self._try(endpoint, data, attempt)
            if isinstance(outcome, Reply):
                return outcome
            failure = outcome
            await self._note(spec, endpoint, failure)
            if not failure.again or endpoint.closed is not None:
                break
            if attempt < spec.tries:
                await asyncio.sleep(self._pause(spec, failure, attempt))
        assert failure is not None
        if endpoint.closed is not None:
            raise same_error(endpoint.closed)
        told = failure.again and failure.kind != "refused"  # which says the same where it closed the endpoint
        tries = f" (after {spec.tries} tries)" if told and spec.tries > 1 else ""
        raise EndpointError(failure.kind, spec.endpoint, failure.problem + tries, failure.status)

    async def close(self) -> None:
        self._images.close()
        if self._session is not None:
            await self._session.close()

    async def _open(self, spec: ModelSpec) -> _Endpoint:
        base = spec.base_url
        if not base:
            if self._servers is None:
                raise EndpointError("launch", spec.endpoint, "nothing here can launch it")
            base = await self._servers.locate(spec)
        key = spec.key(self._environ)
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        opened = _Endpoint(f"{base}/chat/completions", headers, key, aiohttp.ClientTimeout(total=spec.timeout_s))
        return self._endpoints.setdefault(spec.name, opened)

    async def _try(self, endpoint: _Endpoint, data: bytes, attempt: int) -> Reply | _Failure:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            )
        begun = time.perf_counter()
        content: bytes | AsyncIterator[bytes] = data
        headers = endpoint.headers
        if len(data) > PIECE:
            content, headers = _pieces(data), {**headers, "Content-Length": str(len(data))}
        try:
            async with self._session.post(
                endpoint.url, data=content, headers=headers, timeout=endpoint.timeout, allow_redirects=False
            ) as response:
                raw = await response.read()
        except aiohttp.ClientConnectorError as error:
            return _Failure("refused", one_line(f"cannot connect: {_reason(error)}"))
        except TimeoutError:
            return _Failure("timeout", f"no answer within {endpoint.timeout.total:g} s")
        except aiohttp.ClientPayloadError:
            return _Failure("transport", "the reply was cut off")
        except (aiohttp.ClientError, OSError) as error:
            return _Failure("transport", one_line(str(error)) or type(error).__name__)
        endpoint.refusals = 0
        status = response.status
        if status == 200:
            try:
                return parse_reply(raw, time.perf_counter() - begun, attempt)
            except ReplyError as bad:
                return _Failure("body", str(bad), again=bad.again)
        if 300 <= status < 400:
            return _Failure("http", "a redirect, which is not followed", status, again=False)
        return _Failure(
            "http",
            server_words(raw, endpoint.secret),
            status,
            again=status == 429 or status >= 500,
            wait_s=retry_after(response.headers.get("Retry-After")),
        )

    async def _note(self, spec: ModelSpec, endpoint: _Endpoint, failure: _Failure) -> None:
        """Close the endpoint where this failure says that no later call can succeed."""
        if spec.launch and self._servers is not None and failure.kind in ("refused", "transport"):
            try:
                await self._servers.check(spec)
            except EndpointError as dead:
                endpoint.closed = endpoint.closed or dead
                return
        if failure.kind == "refused":
            endpoint.refusals += 1
        if failure.status in CLOSING_STATUSES or endpoint.refusals >= REFUSALS_TO_CLOSE:
            endpoint.closed = endpoint.closed or EndpointError("closed", spec.endpoint, failure.problem, failure.status)

    def _pause(self, spec: ModelSpec, failure: _Failure, attempt: int) -> float:
        if failure.wait_s is not None:
            return min(failure.wait_s, spec.retry_after_cap_s)
        return min(self._backoff_s * 2.0 ** (attempt - 1), BACKOFF_CAP_S) * random.uniform(0.5, 1.0)


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, as seconds or as an HTTP date; None for none or nonsense."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def same_error(error: EndpointError) -> EndpointError:
    """A new exception that says the same: one that is raised again and again would gather tracebacks."""
    return EndpointError(error.kind, error.endpoint, error.problem, error.status)


def _reason(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    if isinstance(error.os_error, ConnectionRefusedError):
        return "connection refused"
    return error.os_error.strerror or str(error.os_error)


class _Room:
    """Bytes that may be in flight. Who comes first goes first; one that is larger than the room goes alone."""

    def __init__(self, limit: int) -> None:
        self._limit, self._used = limit, 0
        self._door = asyncio.Lock()
        self._freed = asyncio.Event()

    async def take(self, size: int) -> None:
        async with self._door:
            while self._used and self._used + size > self._limit:
                self._freed.clear()
                await self._freed.wait()
            self._used += size

    def give(self, size: int) -> None:
        self._used -= size
        self._freed.set()


class _ImageMemo:
    """Data URIs by digest: the least recently used go when the memo is full; one load per image in flight."""

    def __init__(self, image_bytes: Callable[[WireImage], bytes], limit: int) -> None:
        self._image_bytes, self._limit = image_bytes, limit
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._loading: dict[str, asyncio.Task[bytes]] = {}
        self._threads: ThreadPoolExecutor | None = None

    async def uri(self, image: WireImage) -> bytes:
        held = self._held.get(image.sha256)
        if held is not None:
            self._held.move_to_end(image.sha256)
            return held
        load = self._loading.get(image.sha256)
        if load is None:
            load = asyncio.get_running_loop().create_task(self._load(image))
            self._loading[image.sha256] = load
            load.add_done_callback(_retrieved)
        return await asyncio.shield(load)  # a cancelled request must not take the image from another

    def in_thread(self, work: Callable[[], _T]) -> Awaitable[_T]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(2, thread_name_prefix="benchsuite-image")
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _load(self, image: WireImage) -> bytes:
        try:
            uri = await self.in_thread(lambda: self._encode(image))
        finally:
            del self._loading[image.sha256]
        self._held[image.sha256] = uri
        self._size += len(uri)
        while self._size > self._limit and len(self._held) > 1:
            self._size -= len(self._held.popitem(last=False)[1])
        return uri

    def _encode(self, image: WireImage) -> bytes:
        return b"data:%s;base64,%s" % (image.mime.encode(), base64.b64encode(self._image_bytes(image)))


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]


def _filled(pieces: Iterable[bytes | WireImage], uris: Mapping[str, bytes]) -> bytes:
    """A body with the URIs in their places: what is large is copied once."""
    return b"".join(piece if isinstance(piece, bytes) else uris[piece.sha256] for piece in pieces)


def _retrieved(load: asyncio.Task[bytes]) -> None:
    if not load.cancelled():
        load.exception()
