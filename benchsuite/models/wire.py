"""A chat request before it is sent: typed parts, its wire form, its skeleton and its cache key.

Parts carry a *kind*, so that a certificate can later say which part of two requests differs; the wire form
and the key see only roles, text and image bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

SCHEMA = 1
PART_KINDS = ("head", "instruction", "note", "tag", "date", "role", "text", "image", "question", "tail", "call")
PIECE = 2000
"""Bytes hashed at a time: for more, hashlib hands the interpreter to another thread, which costs more than the hash."""


@lru_cache(maxsize=2048)  # a history's texts and the protocol's come back in every arm
def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_json(value: object) -> str:
    """sha256 of the canonical JSON form (sorted keys, no spaces, ASCII)."""
    data = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    digest = hashlib.sha256()
    for start in range(0, len(data), PIECE):
        digest.update(data[start : start + PIECE])
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class WireImage:
    """An image as it will be sent. ``sha256`` is of the bytes sent, ``source`` of the stored bytes.

    ``transform`` names what was done to the stored bytes (empty: nothing) with its parameters. ``size`` is the
    number of bytes sent, which the digest has already pinned: it is for whoever must hold them.
    """

    sha256: str
    source: str
    mime: str
    width: int
    height: int
    transform: str = ""
    params: tuple[tuple[str, str | int | float], ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One typed segment. Exactly one of ``text`` and ``image`` is set; text carries its own separators.

    ``item`` is the id of the delivered item it belongs to (empty for none); it is never sent.
    """

    kind: str
    text: str = ""
    image: WireImage | None = None
    item: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model made: ``arguments`` is JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str

    def body(self) -> dict[str, Any]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message as it is written, made once however many requests share it.

    ``pieces`` are its JSON, with an image where its data URI goes; ``record`` is its JSON in a skeleton; ``texts`` are
    its text parts by sha256.
    """

    pieces: tuple[bytes | WireImage, ...]
    record: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Message:
    """A role and its parts. ``blocks`` is the content as sent: neighbouring text joined as it stands, images in
    place. ``digest`` covers role, blocks, calls and ``call_id`` alone: kinds and item ids are not in it.

    ``calls`` are tool calls of an assistant; ``call_id`` names the call that a message of role ``tool`` answers.
    """

    role: str
    parts: tuple[Part, ...]
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    blocks: tuple[str | WireImage, ...] = field(init=False)
    digest: str = field(init=False)
    _encoded: Encoded | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        blocks: list[str | WireImage] = []
        texts: list[str] = []
        for part in self.parts:
            if part.image is None:
                texts.append(part.text)
                continue
            if text := "".join(texts):
                blocks.append(text)
            texts = []
            blocks.append(part.image)
        if text := "".join(texts):
            blocks.append(text)
        object.__setattr__(self, "blocks", tuple(blocks))
        content = [["image", b.mime, b.sha256] if isinstance(b, WireImage) else ["text", b] for b in blocks]
        tools = [[[c.id, c.name, c.arguments] for c in self.calls], self.call_id] if self.calls or self.call_id else []
        object.__setattr__(self, "digest", sha256_json([self.role, content, *tools]))

    @property
    def encoded(self) -> Encoded:
        if self._encoded is None:
            records = [_part_record(part) for part in self.parts]
            texts = {sha256_text(part.text): part.text for part in self.parts if part.image is None}
            for call in self.calls:
                text = json.dumps(call.body())
                texts[sha256_text(text)] = text
                records.append({"kind": "call", "item": "", "sha256": sha256_text(text), "n": len(text)})
            record = json.dumps([self.role, records], separators=(",", ":"))
            object.__setattr__(self, "_encoded", Encoded(tuple(self._pieces()), record, texts))
        assert self._encoded is not None
        return self._encoded

    def _pieces(self) -> Iterator[bytes | WireImage]:
        """A message without images is a plain string, which every server accepts."""
        text = f'{{"role": {json.dumps(self.role)}, '
        if self.call_id:
            text += f'"tool_call_id": {json.dumps(self.call_id)}, '
        if self.calls:
            text += f'"tool_calls": {json.dumps([call.body() for call in self.calls])}, '
        if not any(isinstance(block, WireImage) for block in self.blocks):
            whole = "".join(block for block in self.blocks if isinstance(block, str))
            content = json.dumps(whole) if whole or not self.calls else "null"
            yield f'{text}"content": {content}}}'.encode()
            return
        text += '"content": ['
        for place, block in enumerate(self.blocks):
            text += ", " if place else ""
            if isinstance(block, str):
                text += f'{{"type": "text", "text": {json.dumps(block)}}}'
            else:
                yield (text + '{"type": "image_url", "image_url": {"url": "').encode()
                yield block
                text = '"}}'
        yield (text + "]}").encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One chat request. ``params`` are sampling parameters as sent (temperature, max_tokens, extra body)."""

    model: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any]
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def images(self) -> list[WireImage]:
        return [block for message in self.messages for block in message.blocks if isinstance(block, WireImage)]

    def pieces(self) -> Iterator[bytes | WireImage]:
        """The JSON body of ``/chat/completions``, an image where its data URI goes."""
        lead = f'{{"model": {json.dumps(self.model)}, "messages": ['.encode()
        for message in self.messages:
            yield lead
            yield from message.encoded.pieces
            lead = b", "
        rest = {**self.params, **({"tools": list(self.tools)} if self.tools else {})}
        yield (
            b"]" + "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in rest.items()).encode() + b"}"
        )


def request_key(family: str, request: Request, repeat: int = 0) -> str:
    """The cache key: everything that is sent and who is asked, never a task name, a port or a credential.

    ``family`` is the endpoint family (base URL without credentials, ``embedded/<version>``,
    ``vllm/<id>``). ``repeat`` is in the key, so an A/A arm is never answered by the first arm's entry.
    """
    return sha256_json(
        [
            SCHEMA,
            family,
            request.model,
            dict(request.params),
            [m.digest for m in request.messages],
            list(request.tools),
            repeat,
        ]
    )


def skeleton(key: str, request: Request) -> dict[str, Any]:
    """The compact record of a request as sent: digests and sizes, no text and no pixels."""
    record: dict[str, Any] = json.loads(skeleton_line(key, request))
    return record


def skeleton_line(key: str, request: Request, **about: str) -> str:
    """The skeleton on one line of JSON, after whatever else is to be said of the call."""
    head = {
        **about,
        "key": key,
        "model": request.model,
        "params": dict(request.params),
        "tools": sha256_json(list(request.tools)) if request.tools else "",
    }
    messages = ",".join(message.encoded.record for message in request.messages)
    return f'{json.dumps(head, separators=(",", ":"))[:-1]},"messages":[{messages}]}}'


def _part_record(part: Part) -> dict[str, Any]:
    if part.image is None:
        return {"kind": part.kind, "item": part.item, "sha256": sha256_text(part.text), "n": len(part.text)}
    image = part.image
    return {
        "kind": part.kind,
        "item": part.item,
        "sha256": image.sha256,
        "n": 1,
        "source": image.source,
        "w": image.width,
        "h": image.height,
        "mime": image.mime,
        "transform": image.transform,
        "params": dict(image.params),
    }


@dataclass(frozen=True, slots=True)
class Reply:
    """An endpoint's answer. Token counts are None where the server gave none; ``latency_s`` is seconds."""

    text: str
    finish: str = ""
    model_served: str = ""
    fingerprint: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float = 0.0
    attempts: int = 1
    tool_calls: Sequence[Mapping[str, Any]] = ()
