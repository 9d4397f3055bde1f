"""A scripted OpenAI-compatible endpoint on loopback, and requests to send to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Message, Part, Request, WireImage

Answer = Callable[[int, dict[str, Any]], "web.StreamResponse | Awaitable[web.StreamResponse]"]


@dataclass
class Endpoint:
    """``answer(n, body)`` gives the response to request n (from 0); everything received is kept."""

    answer: Answer
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    live: int = 0
    peak: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        number = len(self.bodies)
        self.headers.append(dict(request.headers))
        self.bodies.append(json.loads(await request.read()))
        self.live += 1
        self.peak = max(self.peak, self.live)
        try:
            response = self.answer(number, self.bodies[number])
            return response if isinstance(response, web.StreamResponse) else await response
        finally:
            self.live -= 1

    def spec(self, **changes: Any) -> ModelSpec:
        fields = {"name": "m", "model": "m", "base_url": self.url, "family": self.url, "timeout_s": 20.0}
        return ModelSpec(**{**fields, **changes})


def completion(content: Any = "fine", **message: Any) -> dict[str, Any]:
    answer = {"role": "assistant", "content": content, **message}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": "stop", "message": answer}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
    }


def chat_request(text: str = "hello", *images: WireImage) -> Request:
    parts = [Part("text", text), *(Part("image", image=image) for image in images)]
    return Request("m", (Message("user", tuple(parts)),), {"temperature": 0, "max_tokens": 16})


@asynccontextmanager
async def serve(answer: Answer) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(answer)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", endpoint.handle)
    async with TestServer(app) as server:
        endpoint.url = str(server.make_url("/v1"))
        yield endpoint


@pytest.fixture
def endpoint() -> Callable[[Answer], AbstractAsyncContextManager[Endpoint]]:
    return serve


@pytest.fixture
def reply_body() -> Callable[..., dict[str, Any]]:
    return completion


@pytest.fixture
def chat() -> Callable[..., Request]:
    return chat_request
