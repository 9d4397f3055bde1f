"""The OpenAI-compatible HTTP face of the reader (Starlette)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.models.embedded import EMBEDDED_VERSION, EMBEDDING_MODEL, FORCED_MODEL, REFUSING_MODEL
from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.ocr import ImageError, Page, PageReader
from benchsuite.models.embedded.reader import Reader

FINGERPRINT = f"embedded/{EMBEDDED_VERSION}"
BodyT = TypeVar("BodyT", bound=BaseModel)
PATCH = 32  # pixels; one image token per 32 x 32 patch


class _ImageUrl(BaseModel):
    url: str


class _TextBlock(BaseModel):
    type: Literal["text"]
    text: str


class _ImageBlock(BaseModel):
    type: Literal["image_url"]
    image_url: _ImageUrl


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_TextBlock | _ImageBlock] | None = None


class _ChatBody(BaseModel):
    """The fields that are used; sampling parameters and tools are accepted and change nothing."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    stream: Literal[False] | None = False
    n: Literal[1] | None = 1


class _EmbeddingBody(BaseModel):
    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: Literal[384] | None = None


class _ApiError(Exception):
    """An answer in OpenAI's error shape."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param

    def response(self) -> JSONResponse:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return JSONResponse({"error": error}, status_code=self.status)


class ReaderService:
    """The parts behind the routes: OCR on its own threads, text work on ``threads`` more."""

    def __init__(self, nonce: str = "", threads: int = 2) -> None:
        self.nonce = nonce
        self.encoder = Encoder()
        self.pages = PageReader(threads)
        self.reader = Reader(self.encoder)
        self._text_pool = ThreadPoolExecutor(threads, thread_name_prefix="text")

    async def health(self, request: Request) -> JSONResponse:
        return JSONResponse({"nonce": self.nonce, "version": EMBEDDED_VERSION})

    async def models(self, request: Request) -> JSONResponse:
        ids = (REFUSING_MODEL, FORCED_MODEL, EMBEDDING_MODEL)
        data = [{"id": i, "object": "model", "created": 0, "owned_by": "benchsuite"} for i in ids]
        return JSONResponse({"object": "list", "data": data})

    async def chat(self, request: Request) -> JSONResponse:
        raw = await request.body()
        body = _parse(_ChatBody, raw)
        if body.model not in (REFUSING_MODEL, FORCED_MODEL):
            raise _unknown_model(body.model)
        messages = await self._read_images(body.messages)
        loop = asyncio.get_running_loop()
        forced = body.model == FORCED_MODEL
        text, usage = await loop.run_in_executor(self._text_pool, self._answer, messages, forced)
        return JSONResponse(
            {
                "id": "chatcmpl-" + hashlib.sha256(raw).hexdigest()[:24],
                "object": "chat.completion",
                "created": 0,
                "model": body.model,
                "system_fingerprint": FINGERPRINT,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": "stop",
                        "logprobs": None,
                    }
                ],
                "usage": usage,
            }
        )

    async def embeddings(self, request: Request) -> JSONResponse:
        body = _parse(_EmbeddingBody, await request.body())
        if body.model != EMBEDDING_MODEL:
            raise _unknown_model(body.model)
        texts = [_clean(text) for text in ([body.input] if isinstance(body.input, str) else body.input)]
        if not texts:
            raise _ApiError(400, "input: an empty list has no embedding", param="input")
        loop = asyncio.get_running_loop()
        data, pieces = await loop.run_in_executor(self._text_pool, self._embed, texts, body.encoding_format)
        usage = {"prompt_tokens": pieces, "total_tokens": pieces}
        return JSONResponse({"object": "list", "data": data, "model": body.model, "usage": usage})

    async def _read_images(self, messages: Sequence[_Message]) -> list[ChatMessage]:
        """The messages with every image replaced by the page that was read from it."""
        encoded: dict[str, bytes] = {}
        for number, message in enumerate(messages):
            for place, block in enumerate(message.content if isinstance(message.content, list) else []):
                if isinstance(block, _ImageBlock) and block.image_url.url not in encoded:
                    where = f"messages.{number}.content.{place}"
                    encoded[block.image_url.url] = _image_bytes(block.image_url.url, where)
        read = await asyncio.gather(*map(self.pages.read, encoded.values()), return_exceptions=True)
        pages: dict[str, Page] = {}
        for url, page in zip(encoded, read, strict=True):
            if isinstance(page, ImageError):
                raise _ApiError(400, str(page), param="messages")
            if isinstance(page, BaseException):
                raise page
            pages[url] = page
        return [ChatMessage(message.role, tuple(_parts(message, pages))) for message in messages]

    def _answer(self, messages: list[ChatMessage], forced: bool) -> tuple[str, dict[str, int]]:
        text = self.reader.answer(messages).reply(forced)
        prompt = sum(self._cost(part) for message in messages for part in message.parts)
        completion = self.encoder.wordpieces(text)
        return text, {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def _cost(self, part: ChatPart) -> int:
        if part.page is None:
            return self.encoder.wordpieces(part.text)
        return math.ceil(part.page.width / PATCH) * math.ceil(part.page.height / PATCH)

    def _embed(self, texts: list[str], encoding: str | None) -> tuple[list[dict[str, Any]], int]:
        vectors = self.encoder.encode(texts)
        pieces = sum(self.encoder.wordpieces(text) for text in texts)
        data = []
        for index, vector in enumerate(vectors):
            if encoding == "base64":
                value: Any = base64.b64encode(vector.astype("<f4").tobytes()).decode()
            else:
                value = np.round(vector.astype(np.float64), 5).tolist()
            data.append({"object": "embedding", "index": index, "embedding": value})
        return data, pieces


def build_app(service: ReaderService) -> Starlette:
    """The ASGI app; ``service`` holds its models and threads."""
    return Starlette(
        routes=[
            Route("/health", service.health),
            Route("/v1/models", service.models),
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
            Route("/v1/embeddings", service.embeddings, methods=["POST"]),
        ],
        exception_handlers={_ApiError: _on_api_error, HTTPException: _on_http_error, Exception: _on_fault},
    )


def _parse(kind: type[BodyT], raw: bytes) -> BodyT:
    try:
        return kind.model_validate(json.loads(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise _ApiError(400, f"{where or 'body'}: {first['msg']}", param=where or None) from None
    except (ValueError, RecursionError) as error:
        raise _ApiError(400, f"body: not JSON: {error}") from None


def _unknown_model(name: str) -> _ApiError:
    return _ApiError(404, f"the model {name!r} does not exist here", code="model_not_found", param="model")


def _image_bytes(url: str, where: str) -> bytes:
    head, comma, payload = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise _ApiError(400, f"{where}: only base64 data URIs are read, nothing is fetched", param="messages")
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise _ApiError(400, f"{where}: the data URI is not base64", param="messages") from None


def _parts(message: _Message, pages: dict[str, Page]) -> list[ChatPart]:
    if message.content is None:
        return []
    if isinstance(message.content, str):
        return [ChatPart(text=_clean(message.content))]
    return [
        ChatPart(text=_clean(block.text))
        if isinstance(block, _TextBlock)
        else ChatPart(page=pages[block.image_url.url])
        for block in message.content
    ]


def _clean(text: str) -> str:
    """JSON can carry half a surrogate pair; no tokenizer and no UTF-8 reply can."""
    return text.encode("utf-8", "replace").decode()


async def _on_api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, _ApiError)
    return error.response()


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _ApiError(error.status_code, f"{request.method} {request.url.path}: {error.detail}").response()


async def _on_fault(request: Request, error: Exception) -> JSONResponse:
    # the server logs the traceback; the caller gets the kind alone
    return _ApiError(500, f"{type(error).__name__} in the reader; its log says more").response()
