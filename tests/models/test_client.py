from __future__ import annotations

import asyncio
import base64
import contextlib
import email.utils
import json
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from aiohttp import web

from benchsuite.errors import DataError, EndpointError
from benchsuite.models.client import HttpTransport, retry_after
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import WireImage

KEY = "sk-very-secret-0123456789"


def no_images(image: WireImage) -> bytes:
    raise AssertionError("no image was to be sent")


def within(work: Coroutine[Any, Any, None], seconds: float = 30) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, seconds)

    asyncio.run(bounded())


async def failure(transport: HttpTransport, spec: ModelSpec, request: Any) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        await transport.send(spec, request)
    assert "\n" not in str(caught.value)
    return caught.value


def text(body: str | bytes, status: int = 200, **headers: str) -> web.Response:
    raw = body if isinstance(body, bytes) else body.encode()
    return web.Response(body=raw, status=status, content_type="application/json", headers=headers)


def test_a_reply_is_read_whole(endpoint: Any, chat: Any, reply_body: Any) -> None:
    async def run() -> None:
        async with endpoint(lambda n, body: web.json_response(reply_body("the answer"))) as server:
            transport = HttpTransport(no_images, environ={"K": KEY})
            reply = await transport.send(server.spec(key_env="K"), chat("hi"))
            await transport.send(server.spec(name="other"), chat("hi"))
            await transport.close()
        assert (reply.text, reply.finish) == ("the answer", "stop")
        assert (reply.model_served, reply.fingerprint) == ("served-1", "fp")
        assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.attempts) == (7, 2, 3, 1)
        assert reply.latency_s > 0
        assert server.bodies[0] == {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "temperature": 0,
            "max_tokens": 16,
        }
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert "Authorization" not in server.headers[1]

    within(run())


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<!doctype html><html><title>Login</title></html>", "HTML"),
        ('{"choices": []}', "no choices"),
        ("{}", "no choices"),
        ('{"choices": {"0": 1}}', "choices is a object"),
        ('{"choices": [3]}', "the choice is a number"),
        ('{"choices": [{}]}', "message is a null"),
        ('{"choices": [{"message": {"content": null}}]}', "content is null"),
        ('{"choices": [{"message": {"content": 42}}]}', "content is a number"),
        ('{"choices": [{"message": {"content": [{"type": "image"}]}}]}', "other parts"),
        ('{"choices": [{"message": {"content": "x", "tool_calls": "y"}}]}', "tool_calls"),
        ('{"error": {"message": "model\\nis loading"}}', "model is loading"),
        ("[1, 2]", "JSON array"),
        ("null", "JSON null"),
        ("plain words", "not JSON"),
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
    ],
)
def test_a_body_without_an_answer_is_an_error_at_once(endpoint: Any, chat: Any, body: str, problem: str) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: text(body)) as server:
            transport = HttpTransport(no_images, backoff_s=0.001)
            error = await failure(transport, server.spec(), chat())
            await transport.close()
        assert error.kind == "body"
        assert problem in error.problem
        assert server.url in str(error)
        assert len(server.bodies) == 1

    within(run())


@pytest.mark.parametrize("body", ['{"choices": [{"message": {"content": "half', ""])
def test_half_a_json_is_tried_again(endpoint: Any, chat: Any, reply_body: Any, body: str) -> None:
    async def run() -> None:
        async with endpoint(
            lambda n, sent: (
                text(body) if n < 2 or sent["messages"][0]["content"] == "never" else web.json_response(reply_body())
            )
        ) as server:
            transport = HttpTransport(no_images, backoff_s=0.001)
            reply = await transport.send(server.spec(), chat())
            error = await failure(transport, server.spec(tries=3), chat("never"))
            await transport.close()
        assert (reply.text, reply.attempts) == ("fine", 3)
        assert (error.kind, error.problem) == ("body", "the reply is cut off JSON (after 3 tries)")
        assert len(server.bodies) == 6

    within(run())


@pytest.mark.parametrize(
    ("content", "message", "expected"),
    [
        ("caf\u00e9", {}, "caf\u00e9"),
        ("", {}, ""),
        ("x\ud800y", {}, "x\ufffdy"),
        ("\ud83d\ude00", {}, "\U0001f600"),
        ("visible", {"reasoning_content": "hidden"}, "visible"),
        (None, {"reasoning_content": "hidden"}, ""),
        ("", {"reasoning": "hidden"}, ""),
        (None, {"refusal": "I cannot"}, "I cannot"),
        ([{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}], {}, "two parts"),
    ],
)
def test_content_forms(
    endpoint: Any, chat: Any, reply_body: Any, content: Any, message: dict[str, str], expected: str
) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(reply_body(content, **message))) as server:
            transport = HttpTransport(no_images)
            reply = await transport.send(server.spec(), chat())
            await transport.close()
        assert reply.text == expected
        reply.text.encode()

    within(run())


def test_tool_calls_and_odd_usage(endpoint: Any, chat: Any, reply_body: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "\ud800"}'}}
    usage = {"prompt_tokens": "7", "completion_tokens": True}
    body = reply_body(None, tool_calls=[call]) | {"usage": usage, "model": 3}

    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(body)) as server:
            transport = HttpTransport(no_images)
            reply = await transport.send(server.spec(), chat())
            await transport.close()
        assert reply.tool_calls[0]["function"] == {"name": "f", "arguments": '{"a": "\ufffd"}'}
        assert (reply.text, reply.model_served) == ("", "")
        assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)

    within(run())


def test_bytes_that_are_no_utf8_are_replaced(endpoint: Any, chat: Any) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: text(b'{"choices":[{"message":{"content":"a\xffb"}}]}')) as server:
            transport = HttpTransport(no_images)
            reply = await transport.send(server.spec(), chat())
            await transport.close()
        assert reply.text == "a\ufffdb"

    within(run())


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_servers_are_tried_again(endpoint: Any, chat: Any, reply_body: Any, status: int) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: text("{}", status) if n < 3 else web.json_response(reply_body())) as server:
            transport = HttpTransport(no_images, backoff_s=0.001)
            assert (await transport.send(server.spec(), chat())).attempts == 4
        async with endpoint(lambda n, _: text('{"error": {"message": "over\\nload"}}', status)) as server:
            error = await failure(transport, server.spec(name="n", tries=2), chat())
            await transport.close()
        assert (error.kind, error.status, error.problem) == ("http", status, "over load (after 2 tries)")
        assert len(server.bodies) == 2

    within(run())


@pytest.mark.parametrize("status", [400, 402, 413, 422])
def test_other_faults_of_ours_fail_at_once_with_the_servers_words(endpoint: Any, chat: Any, status: int) -> None:
    async def run() -> None:
        words = f"bad\r\nthing for {KEY} " + "x" * 500
        async with endpoint(lambda n, _: text(json.dumps({"error": {"message": words}}), status)) as server:
            transport = HttpTransport(no_images, environ={"K": KEY})
            spec = server.spec(key_env="K")
            error = await failure(transport, spec, chat())
            assert (error.kind, error.status) == ("http", status)
            assert error.problem.startswith("bad thing for *** xxx")
            assert len(error.problem) == 300
            assert KEY not in str(error)
            await failure(transport, spec, chat())
            await transport.close()
        assert len(server.bodies) == 2  # a bad request closes nothing

    within(run())


def test_a_redirect_is_not_followed(endpoint: Any, chat: Any) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: text("", 307, Location="/v1/chat/completions")) as server:
            transport = HttpTransport(no_images)
            error = await failure(transport, server.spec(), chat())
            await transport.close()
        assert (error.kind, error.status, len(server.bodies)) == ("http", 307, 1)

    within(run())


@pytest.mark.parametrize("status", [401, 403, 404])
def test_closing_statuses_are_sent_once_in_flight_and_never_again(endpoint: Any, chat: Any, status: int) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: text('{"error": "no such thing"}', status)) as server:
            transport = HttpTransport(no_images)
            first = await failure(transport, server.spec(), chat())
            rest = await asyncio.gather(*(failure(transport, server.spec(), chat(str(n))) for n in range(50)))
            assert len(server.bodies) == 1
            other = await failure(transport, server.spec(name="other", model="o"), chat())
            await transport.close()
        assert (first.kind, first.status) == ("closed", status)
        assert {str(error) for error in rest} == {str(first)}
        assert len({id(error) for error in rest}) == 50
        assert len(server.bodies) == 2
        assert other.status == status

    within(run())


def test_three_refused_connections_close_the_endpoint(endpoint: Any, chat: Any, reply_body: Any) -> None:
    async def run() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        spec = ModelSpec("m", "m", f"http://127.0.0.1:{port}/v1", "f", timeout_s=5.0)
        transport = HttpTransport(no_images, backoff_s=0.001)
        first = await failure(transport, spec, chat())
        assert first.kind == "closed"
        assert "connection refused" in first.problem
        heard = []
        listener = await asyncio.start_server(lambda reader, writer: heard.append(writer), "127.0.0.1", port)
        later = await asyncio.gather(*(failure(transport, spec, chat(str(n))) for n in range(20)))
        listener.close()
        await transport.close()
        assert {str(error) for error in later} == {str(first)}
        assert heard == []

    within(run())


def test_refusals_that_are_not_in_a_row_do_not_close(chat: Any, reply_body: Any) -> None:
    body = json.dumps(reply_body()).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async def run() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        spec = ModelSpec("m", "m", f"http://127.0.0.1:{port}/v1", "f", tries=1)
        transport = HttpTransport(no_images)
        kinds = [(await failure(transport, spec, chat())).kind for _ in range(2)]
        async with await asyncio.start_server(answer, "127.0.0.1", port):
            assert (await transport.send(spec, chat())).text == "fine"
        kinds += [(await failure(transport, spec, chat())).kind for _ in range(3)]
        await transport.close()
        assert kinds == ["refused"] * 4 + ["closed"]

    within(run())


def test_a_silent_server_is_a_timeout(endpoint: Any, chat: Any, reply_body: Any) -> None:
    async def run() -> None:
        async def slow(n: int, _: Any) -> web.Response:
            await asyncio.sleep(5 if n == 0 else 0)
            return web.json_response(reply_body())

        async with endpoint(slow) as server:
            transport = HttpTransport(no_images, backoff_s=0.001)
            assert (await transport.send(server.spec(timeout_s=0.2), chat())).attempts == 2
            await transport.close()
        async with endpoint(lambda n, _: asyncio.sleep(5)) as server:
            transport = HttpTransport(no_images, backoff_s=0.001)
            error = await failure(transport, server.spec(timeout_s=0.1, tries=2), chat())
            await transport.close()
        assert (error.kind, error.problem) == ("timeout", "no answer within 0.1 s (after 2 tries)")

    within(run())


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "cut off"),
        (b"", "disconnected"),
        (b"\x16\x03\x01 not http at all\r\n\r\n", ""),
    ],
)
def test_broken_transport_is_tried_again(chat: Any, wire: bytes, problem: str) -> None:
    async def run() -> None:
        count = 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal count
            count += 1
            with contextlib.suppress(asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
            writer.write(wire)
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        transport = HttpTransport(no_images, backoff_s=0.001)
        error = await failure(transport, ModelSpec("m", "m", f"http://127.0.0.1:{port}/v1", "f", tries=3), chat())
        await transport.close()
        listener.close()
        assert error.kind == "transport"
        assert problem in error.problem.lower()
        assert count == 3

    within(run())


def test_retry_after_forms() -> None:
    assert retry_after("2") == 2.0
    assert retry_after("0.25") == 0.25
    assert retry_after("-3") == 0.0
    for nonsense in (None, "", "soon", "nan", "inf", "Wed, 99 Foo 2020"):
        assert retry_after(nonsense) is None
    in_an_hour = retry_after(email.utils.formatdate(time.time() + 3600, usegmt=True))
    assert in_an_hour is not None
    assert 3590 < in_an_hour <= 3600
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@pytest.mark.parametrize(("header", "cap", "waited"), [("7", 60.0, 7.0), ("7", 2.0, 2.0), ("0", 60.0, 0.0)])
def test_retry_after_is_honoured_up_to_the_cap(
    endpoint: Any,
    chat: Any,
    reply_body: Any,
    monkeypatch: pytest.MonkeyPatch,
    header: str,
    cap: float,
    waited: float,
) -> None:
    async def run() -> None:
        waits: list[float] = []
        real_sleep = asyncio.sleep

        async def sleep(delay: float) -> None:
            waits.append(delay)
            await real_sleep(0)

        async with endpoint(
            lambda n, _: text("{}", 429, **{"Retry-After": header}) if n == 0 else web.json_response(reply_body())
        ) as server:
            transport = HttpTransport(no_images)
            monkeypatch.setattr("benchsuite.models.client.asyncio.sleep", sleep)
            await transport.send(server.spec(retry_after_cap_s=cap), chat())
            monkeypatch.undo()
            await transport.close()
        assert waits == [waited]

    within(run())


def image(sha256: str, size: int = 0) -> WireImage:
    return WireImage(sha256=sha256, source=sha256, mime="image/png", width=2, height=2, size=size)


def test_images_are_loaded_off_the_loop_once_per_digest(endpoint: Any, chat: Any, reply_body: Any) -> None:
    loads: list[tuple[str, str]] = []

    def load(wanted: WireImage) -> bytes:
        loads.append((wanted.sha256, threading.current_thread().name))
        time.sleep(0.02)
        return wanted.sha256.encode()

    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(reply_body())) as server:
            transport = HttpTransport(load)
            three = [image("aa"), image("bb"), image("aa")]
            await asyncio.gather(*(transport.send(server.spec(), chat(str(n), *three)) for n in range(8)))
            await transport.close()
        assert sorted(sha for sha, _ in loads) == ["aa", "bb"]
        assert threading.main_thread().name not in {name for _, name in loads}
        urls = [block["image_url"]["url"] for block in server.bodies[0]["messages"][0]["content"][1:]]
        assert urls == [f"data:image/png;base64,{base64.b64encode(s).decode()}" for s in (b"aa", b"bb", b"aa")]

    within(run())


def test_the_image_memo_is_bounded(endpoint: Any, chat: Any, reply_body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchsuite.models.client.IMAGE_MEMO_BYTES", 300)
    loads: list[str] = []

    def load(wanted: WireImage) -> bytes:
        loads.append(wanted.sha256)
        return b"x" * 75  # 100 characters of base64

    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(reply_body())) as server:
            transport = HttpTransport(load)
            for sha in ("a", "b", "a", "c", "a", "b"):
                await transport.send(server.spec(), chat("q", image(sha)))
            await transport.close()
        assert loads == ["a", "b", "c", "b"]

    within(run())


def test_bodies_in_flight_are_bounded_by_their_bytes(
    endpoint: Any, chat: Any, reply_body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each image is 4,000 bytes as base64: two bodies fit, and one that is larger than all room goes alone."""
    monkeypatch.setattr("benchsuite.models.client.BODY_BYTES", 9000)

    async def run() -> None:
        async def slow(number: int, body: Any) -> web.Response:
            await asyncio.sleep(0.02)
            return web.json_response(reply_body())

        async with endpoint(slow) as served:
            transport = HttpTransport(lambda wanted: b"x" * 3000)
            small = [chat("q", image(f"{number}", 3000)) for number in range(6)]
            await asyncio.gather(*(transport.send(served.spec(), request) for request in small))
            assert len(served.bodies) == 6
            assert served.peak == 2
            served.peak = 0
            large = chat("q", image("a", 3000), image("b", 3000), image("c", 3000))
            replies = await asyncio.gather(*(transport.send(served.spec(), request) for request in (*small, large)))
            assert len(replies) == 7
            assert served.peak == 2
            with pytest.raises(EndpointError):
                await transport.send(served.spec(base_url="http://127.0.0.1:9/v1", name="gone", tries=1), large)
            await asyncio.wait_for(transport.send(served.spec(), large), 10)  # what failed gave its room back
            await transport.close()

    within(run())


def test_a_large_body_arrives_whole_with_its_length_and_again_after_a_fault(
    endpoint: Any, chat: Any, reply_body: Any
) -> None:
    content = bytes(range(256)) * 4000

    async def run() -> None:
        async with endpoint(lambda n, _: text("busy", 503) if n == 0 else web.json_response(reply_body())) as served:
            transport = HttpTransport(lambda wanted: content, backoff_s=0.001)
            await transport.send(served.spec(), chat("q", image("a", len(content)), image("a", len(content))))
            await transport.close()
        assert len(served.bodies) == 2
        for body, headers in zip(served.bodies, served.headers, strict=True):
            urls = [block["image_url"]["url"] for block in body["messages"][0]["content"][1:]]
            assert urls == ["data:image/png;base64," + base64.b64encode(content).decode()] * 2
            assert int(headers["Content-Length"]) > 2 * len(content)
            assert "Transfer-Encoding" not in headers

    within(run())


def test_an_image_that_cannot_be_read_fails_its_request_only(endpoint: Any, chat: Any, reply_body: Any) -> None:
    def load(wanted: WireImage) -> bytes:
        if wanted.sha256 == "bad":
            raise DataError("corpus.json", "q1", "image", "truncated")
        return b"x"

    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(reply_body())) as server:
            transport = HttpTransport(load)
            with pytest.raises(DataError, match="truncated"):
                await transport.send(server.spec(), chat("q", image("bad")))
            assert (await transport.send(server.spec(), chat("q", image("good")))).text == "fine"
            await transport.close()
        assert len(server.bodies) == 1

    within(run())


def test_cancelling_leaves_the_transport_usable(endpoint: Any, chat: Any, reply_body: Any) -> None:
    async def run() -> None:
        started = asyncio.Event()

        async def answer(n: int, _: Any) -> web.Response:
            if n == 0:
                started.set()
                await asyncio.sleep(20)
            return web.json_response(reply_body())

        async with endpoint(answer) as server:
            transport = HttpTransport(no_images)
            task = asyncio.create_task(transport.send(server.spec(), chat()))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await transport.send(server.spec(), chat())).text == "fine"
            await transport.close()

    within(run())


class FakeServers:
    def __init__(self, url: str, dead: EndpointError | None = None) -> None:
        self.url, self.dead, self.located = url, dead, 0

    async def locate(self, spec: ModelSpec) -> str:
        self.located += 1
        return self.url

    async def check(self, spec: ModelSpec) -> None:
        if self.dead is not None:
            raise self.dead


def test_a_launched_server_is_located_and_its_death_is_one_error(endpoint: Any, chat: Any, reply_body: Any) -> None:
    async def run() -> None:
        async with endpoint(lambda n, _: web.json_response(reply_body())) as server:
            servers = FakeServers(server.url)
            transport = HttpTransport(no_images, servers, backoff_s=0.001)
            spec = server.spec(base_url="", launch="embedded", family="embedded/1")
            for _ in range(3):
                assert (await transport.send(spec, chat())).text == "fine"
        servers.dead = EndpointError("launch", "embedded/1", "the server was killed (signal 9)")
        errors = await asyncio.gather(*(failure(transport, spec, chat(str(n))) for n in range(10)))
        await transport.close()
        assert servers.located == 1
        assert {str(error) for error in errors} == {"embedded/1: the server was killed (signal 9)"}
        assert {error.kind for error in errors} == {"launch"}
        assert len(server.bodies) == 3

    within(run())
