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
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.models.embedded import EMBEDDED_VERSION, EMBEDDING_MODEL, FORCED_MODEL, REFUSING_MODEL
from benchsuite.models.embedded.bundled import MiniLm, OcrMiniLm
from benchsuite.models.embedded.context import Call, ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.http import ApiError, clean_text, error_handlers, parse_body, unknown_model
from benchsuite.models.embedded.ocr import ImageError, Page, PageReader
from benchsuite.models.embedded.reader import Reader, Turn
from benchsuite.models.embedded.tools import Offer, Tool
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


class _CalledFunction(BaseModel):
    name: str
    arguments: str = ""


class _Call(BaseModel):
    id: str = ""
    type: Literal["function"] = "function"
    function: _CalledFunction


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_TextBlock | _ImageBlock] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Function(BaseModel):
    name: str = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _OfferedTool(BaseModel):
    type: Literal["function"]
    function: _Function


class _ChosenFunction(BaseModel):
    name: str


class _Chosen(BaseModel):
    type: Literal["function"]
    function: _ChosenFunction


class _ChatBody(BaseModel):
    """The fields that are used; sampling parameters are accepted and change nothing."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    tools: list[_OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | _Chosen | None = None
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
        offer = _offer(body)
        _check_calls(body.messages)
        messages = await self._read_images(body.messages)
        loop = asyncio.get_running_loop()
        turn, usage = await loop.run_in_executor(self._text_pool, self._answer, messages, body, offer)
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if turn.call is not None:
            function = {"name": turn.call.name, "arguments": turn.call.arguments}
            call_id = "call_" + hashlib.sha256(raw).hexdigest()[:24]
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            }
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
                        "message": message,
                        "finish_reason": "stop" if turn.call is None else "tool_calls",
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
        return [
            ChatMessage(message.role, tuple(_parts(message, pages)), _calls(message), message.tool_call_id or "")
            for message in messages
        ]

    def _answer(self, messages: list[ChatMessage], body: _ChatBody, offer: Offer) -> tuple[Turn, dict[str, int]]:
        turn = self.reader.turn(messages, offer, body.model == FORCED_MODEL)
        prompt = sum(self._cost(part) for message in messages for part in message.parts)
        prompt += sum(self._call_cost(call) for message in messages for call in message.calls)
        if body.tools:
            prompt += self.encoder.wordpieces(json.dumps([tool.model_dump()["function"] for tool in body.tools]))
        completion = self.encoder.wordpieces(turn.text) if turn.call is None else self._call_cost(turn.call)
        return turn, {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def _cost(self, part: ChatPart) -> int:
        if part.page is None:
            return self.encoder.wordpieces(part.text)
        return math.ceil(part.page.width / PATCH) * math.ceil(part.page.height / PATCH)

    def _call_cost(self, call: Call) -> int:
        return self.encoder.wordpieces(f"{call.name} {call.arguments}")


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


def _calls(message: _Message) -> tuple[Call, ...]:
    return tuple(
        Call(call.id, clean_text(call.function.name), clean_text(call.function.arguments))
        for call in message.tool_calls or ()
    )


def _offer(body: _ChatBody) -> Offer:
    """The tools that may be called. Raises ApiError 400 for a choice or a schema that fits none of them."""
    if not body.tools or body.tool_choice == "none":
        return Offer()
    tools = tuple(_tool(tool.function, number) for number, tool in enumerate(body.tools))
    if isinstance(body.tool_choice, _Chosen):
        forced = body.tool_choice.function.name
        if forced not in [tool.name for tool in tools]:
            raise ApiError(400, f"tool_choice: no tool {forced!r} is offered", param="tool_choice")
        return Offer(tools, forced)
    return Offer(tools, required=body.tool_choice == "required")


def _tool(function: _Function, number: int) -> Tool:
    schema = function.parameters or {}
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    if not isinstance(properties, dict) or not isinstance(required, list):
        where = f"tools.{number}.function.parameters"
        raise ApiError(400, f"{where}: properties must be an object and required an array", param=where)
    return Tool(function.name, function.description or "", properties, tuple(map(str, required)))


def _check_calls(messages: Sequence[_Message]) -> None:
    """Raises ApiError 400 for a result that answers no call before it."""
    known: set[str] = set()
    for number, message in enumerate(messages):
        known.update(call.id for call in message.tool_calls or ())
        if message.role == "tool" and message.tool_call_id is not None and message.tool_call_id not in known:
            where = f"messages.{number}.tool_call_id"
            raise ApiError(400, f"{where}: {message.tool_call_id!r} answers no call before it", param=where)
