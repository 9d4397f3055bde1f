"""The OpenAI-compatible HTTP face of the reader (Starlette)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.models.embedded import EMBEDDED_VERSION, EMBEDDING_MODEL, FORCED_MODEL, REFUSING_MODEL
from benchsuite.models.embedded.bundled import MiniLm, OcrMiniLm
from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.http import ApiError, clean_text, error_handlers, parse_body, unknown_model
from benchsuite.models.embedded.ocr import ImageError, Page, PageReader
from benchsuite.models.embedded.reader import Reader
from benchsuite.models.embedded.vectors import EncoderService

FINGERPRINT = f"embedded/{EMBEDDED_VERSION}"
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
        body = parse_body(_ChatBody, raw)
        if body.model not in (REFUSING_MODEL, FORCED_MODEL):
            raise unknown_model(body.model)
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
                raise ApiError(400, str(page), param="messages")
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


def build_app(service: ReaderService) -> Starlette:
    """The ASGI app; ``service`` holds its models and threads."""
    text, images = MiniLm(service.encoder), OcrMiniLm(service.encoder)
    return Starlette(
        routes=[
            Route("/health", service.health),
            Route("/v1/models", service.models),
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
            *EncoderService({EMBEDDING_MODEL: text, text.name: text, images.name: images}).routes(),
        ],
        exception_handlers=error_handlers(),
    )


def _image_bytes(url: str, where: str) -> bytes:
    head, comma, payload = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise ApiError(400, f"{where}: only base64 data URIs are read, nothing is fetched", param="messages")
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise ApiError(400, f"{where}: the data URI is not base64", param="messages") from None


def _parts(message: _Message, pages: dict[str, Page]) -> list[ChatPart]:
    if message.content is None:
        return []
    if isinstance(message.content, str):
        return [ChatPart(text=clean_text(message.content))]
    return [
        ChatPart(text=clean_text(block.text))
        if isinstance(block, _TextBlock)
        else ChatPart(page=pages[block.image_url.url])
        for block in message.content
    ]
