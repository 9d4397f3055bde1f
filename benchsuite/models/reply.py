"""What an endpoint said: a 200 body becomes a Reply or a named fault, an error body becomes one clear line."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from benchsuite.models.wire import Reply

WORDS_LIMIT = 300
_SURROGATES = re.compile("[\ud800-\udfff]")


class ReplyError(Exception):
    """A body that holds no answer. ``again``: it looks cut off, so another try may help."""

    def __init__(self, problem: str, again: bool = False) -> None:
        super().__init__(problem)
        self.again = again


def clean_text(text: str) -> str:
    """The text with lone surrogates as U+FFFD, so that it can be encoded anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def parse_reply(raw: bytes, latency_s: float, attempts: int) -> Reply:
    """The first choice of a ``/chat/completions`` body. Raises ReplyError; never invents an answer.

    Empty content beside reasoning or tool calls is an empty text; reasoning itself is never the answer.
    """
    body = _load(raw)
    if not isinstance(body, dict):
        raise ReplyError(f"the reply is a JSON {_kind(body)}, not an object")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        if body.get("error"):
            raise ReplyError(f"an error in a 200 reply: {one_line(_message(body))}")
        raise ReplyError(
            "the reply has no choices"
            if isinstance(choices, list) or choices is None
            else f"choices is a {_kind(choices)}, not an array"
        )
    choice = choices[0]
    if not isinstance(choice, dict):
        raise ReplyError(f"the choice is a {_kind(choice)}, not an object")
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ReplyError(f"the choice's message is a {_kind(message)}, not an object")
    calls = _tool_calls(message.get("tool_calls"))
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    return Reply(
        text=_content(message, bool(calls)),
        finish=_string(choice.get("finish_reason")),
        model_served=_string(body.get("model")),
        fingerprint=_string(body.get("system_fingerprint")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        latency_s=latency_s,
        attempts=attempts,
        tool_calls=calls,
    )


def server_words(raw: bytes, secret: str) -> str:
    """What an error body says: one line of at most 300 characters, the key taken out."""
    text = raw.decode("utf-8", "replace")
    if _is_html(text):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = "an HTML page" + (f": {title[1]}" if title else "")
    else:
        with contextlib.suppress(ValueError, RecursionError):
            text = _message(json.loads(text)) or text
    return one_line(text.replace(secret, "***") if secret else text) or "no message"


def one_line(text: str, limit: int = WORDS_LIMIT) -> str:
    """Printable words on one line, cut at ``limit`` characters."""
    words = " ".join("".join(c if c.isprintable() else " " for c in clean_text(text)).split())
    return words if len(words) <= limit else words[: limit - 1] + "\u2026"


def _load(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise ReplyError("the reply is nested too deeply") from None
    except ValueError:
        pass
    if _is_html(text):
        raise ReplyError("the reply is an HTML page, not JSON")
    begun = text.lstrip()[:1] in ("", "{", "[")
    raise ReplyError("the reply is cut off JSON" if begun else "the reply is not JSON", again=begun)


def _is_html(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def _content(message: Mapping[str, Any], has_calls: bool) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return clean_text(content)
    if isinstance(content, list):  # some servers answer in typed parts
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if len(texts) != len(content) or not all(isinstance(text, str) for text in texts):
            raise ReplyError("content is an array with other parts than text")
        return clean_text("".join(text for text in texts if text))
    if content is not None:
        raise ReplyError(f"content is a {_kind(content)}, not a string")
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return clean_text(refusal)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if has_calls or reasoning:
        return ""
    raise ReplyError("content is null")


def _tool_calls(value: Any) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(call, dict) for call in value):
        raise ReplyError("tool_calls is not an array of objects")
    return tuple(_clean(call) for call in value)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ReplyError("tool_calls holds a number that is not finite")
    return value


def _message(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    for value in (body.get("error"), body.get("message"), body.get("detail")):
        value = value.get("message") if isinstance(value, dict) else value
        if isinstance(value, str) and value:
            return value
    return json.dumps(body["error"]) if body.get("error") else ""


def _string(value: Any) -> str:
    return clean_text(value) if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
