"""A chat request before it is sent: typed parts, its wire form, its skeleton and its cache key.

Parts carry a *kind*, so that a certificate can later say which part of two requests differs; the wire form
and the key see only roles, text and image bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

SCHEMA = 1
PART_KINDS = ("head", "instruction", "note", "tag", "date", "role", "text", "image", "question", "tail")


@lru_cache(maxsize=2048)  # a history's texts and the protocol's come back in every arm
def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_json(value: object) -> str:
    """sha256 of the canonical JSON form (sorted keys, no spaces, ASCII)."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    ).hexdigest()


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
class Message:
    """A role and its parts. ``blocks`` is the content as sent: neighbouring text joined as it stands, images in
    place. ``digest`` covers role and blocks alone: kinds and item ids are not in it."""

    role: str
    parts: tuple[Part, ...]
    blocks: tuple[str | WireImage, ...] = field(init=False)
    digest: str = field(init=False)

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
        object.__setattr__(self, "digest", sha256_json([self.role, content]))


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

    def body(self, image_url: Callable[[WireImage], str]) -> dict[str, Any]:
        """The JSON body of ``/chat/completions``; ``image_url`` gives the data URI of an image.

        A message without images is a plain string, which every server accepts.
        """
        messages: list[dict[str, Any]] = []
        for message in self.messages:
            blocks = message.blocks
            if any(isinstance(b, WireImage) for b in blocks):
                content: Any = [
                    {"type": "text", "text": b}
                    if isinstance(b, str)
                    else {"type": "image_url", "image_url": {"url": image_url(b)}}
                    for b in blocks
                ]
            else:
                content = "".join(b for b in blocks if isinstance(b, str))
            messages.append({"role": message.role, "content": content})
        body: dict[str, Any] = {"model": self.model, "messages": messages, **self.params}
        if self.tools:
            body["tools"] = list(self.tools)
        return body


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
    return {
        "key": key,
        "model": request.model,
        "params": dict(request.params),
        "tools": sha256_json(list(request.tools)) if request.tools else "",
        "messages": [[m.role, [_part_record(p) for p in m.parts]] for m in request.messages],
    }


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
