"""Tool calls in a model's reply: read from the endpoint's own field, or from text in the form of Hermes.

A model that writes calls in tokens of its own is read through an *adapter* (``adapters``), which rewrites those
tokens as Hermes and leaves every other character alone; ``adapter_check`` proves that on replies (MIRAGE A.4).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from benchsuite.errors import ConfigError
from benchsuite.models.reply import clean_text
from benchsuite.models.wire import Reply, ToolCall

if TYPE_CHECKING:
    from benchsuite.registry import Registry

OPENAI, HERMES = "openai", "hermes"

_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_MARKUP = re.compile(
    r"</?tool_calls?>|<\|?/?tool_call(?:s_begin)?\|?>|<\|im_start\|>\s*tool(?:_calls?)?\b|<\|(?:plugin|action_start|python_tag)\|>"
    r"|\[TOOL_CALLS\]|<function[=_]|<tool_code>|```[ \t]*tool_(?:code|call)s?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """``text`` is what the reply says beside its calls. ``malformed``: it holds tool text that is no call.

    A call's id is the endpoint's, or ``call_<n>`` by its place in the reply, from 1.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    malformed: bool = False


class ToolParser(Protocol):
    """Reads the calls of one reply. Never raises for what a model wrote."""

    def parse(self, reply: Reply) -> Parsed: ...


class OpenAIParser:
    """The ``tool_calls`` of the reply; its text is left as it stands."""

    def parse(self, reply: Reply) -> Parsed:
        calls = [_listed(call, place) for place, call in enumerate(reply.tool_calls, 1)]
        found = tuple(call for call in calls if call is not None)
        return Parsed(reply.text, found, len(found) < len(calls) or has_tool_markup(reply.text))


class HermesParser:
    """``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` blocks, after the endpoint's own ``tool_calls``.

    A block that is no such JSON object stays in the text and makes the reply malformed; the last block need not be
    closed. What stands before ``</think>`` is reasoning: no call of it counts.
    """

    def parse(self, reply: Reply) -> Parsed:
        listed = OpenAIParser().parse(replace(reply, text=""))
        calls = list(listed.calls)
        thought, said = _reasoning_apart(reply.text)

        def taken(block: re.Match[str]) -> str:
            call = _from_json(block[1], len(calls) + 1)
            if call is None:
                return block[0]
            calls.append(call)
            return ""

        left = _BLOCK.sub(taken, said)
        text = thought + (left.strip() if len(calls) > len(listed.calls) else left)
        return Parsed(text, tuple(calls), listed.malformed or has_tool_markup(left))


@dataclass(frozen=True, slots=True)
class AdaptedParser:
    """The parser of a model whose tool tokens ``adapt`` rewrites in the form that ``inner`` reads.

    ``adapt`` gets what the model said after its reasoning.
    """

    adapt: Callable[[str], str]
    inner: ToolParser

    def parse(self, reply: Reply) -> Parsed:
        thought, said = _reasoning_apart(reply.text)
        return self.inner.parse(replace(reply, text=thought + self.adapt(said)))


def has_tool_markup(text: str) -> bool:
    """Whether what was said after the reasoning holds tokens that open a tool call, in any model's form."""
    return _MARKUP.search(_reasoning_apart(text)[1]) is not None


def is_pseudo_tool(parsed: Parsed, tools: Iterable[str]) -> bool:
    """Whether the reply holds tool text that yielded no call: tool tokens that no parser accepted, or, in a reply
    without any call, an offered tool in the form of a call (``name(query="x")``, JSON, ``Action: name``).

    A tool that is only talked about is none.
    """
    if parsed.malformed:
        return True
    names = "|".join(re.escape(tool) for tool in tools)
    return bool(names) and not parsed.calls and _call_like(names, _reasoning_apart(parsed.text)[1])


def check_parser(name: str, registry: Registry) -> None:
    """Raises ConfigError, in one line, when no parser is registered by that name."""
    if name not in registry.tool_parsers:
        raise ConfigError(f"tool_parser {name!r} is unknown; known: {', '.join(sorted(registry.tool_parsers))}")


@dataclass(frozen=True, slots=True)
class AdapterCheck:
    """Of ``replies``: how many turn from R_context to R_tool under the adapter (``to_tool``), and the positions of
    those whose other content it changed (``changed``; from 0)."""

    replies: int
    to_tool: int
    changed: tuple[int, ...]


def adapter_check(replies: Sequence[Reply], plain: ToolParser, adapted: ToolParser) -> AdapterCheck:
    """MIRAGE A.4: an adapter changes the access path that is recorded, and no content.

    What is left under ``adapted`` has to be what is left under ``plain`` less the calls' names, their arguments and
    tool tokens. The check reads both results and knows nothing of the adapter.
    """
    to_tool, changed = 0, []
    for place, reply in enumerate(replies):
        before, after = plain.parse(reply), adapted.parse(reply)
        to_tool += not before.calls and bool(after.calls)
        new = after.calls[len(before.calls) :] if after.calls[: len(before.calls)] == before.calls else None
        if new is None or not _same_content(before.text, after.text, new):
            changed.append(place)
    return AdapterCheck(len(replies), to_tool, tuple(changed))


def register(registry: Registry) -> None:
    registry.tool_parser(OPENAI, OpenAIParser)
    registry.tool_parser(HERMES, HermesParser)


def _listed(call: Any, place: int) -> ToolCall | None:
    """An entry of ``tool_calls``; arguments that a server gives as an object become its JSON."""
    function = call.get("function")
    if not isinstance(function, dict):
        return None
    return _call(call.get("id"), function.get("name"), function.get("arguments"), place)


def _from_json(text: str, place: int) -> ToolCall | None:
    value = _json(text.strip())
    if not isinstance(value, dict):
        return None
    return _call(value.get("id"), value.get("name"), value.get("arguments", value.get("parameters")), place)


def _json(text: str) -> Any:
    """What ``text`` is as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(call_id: Any, name: Any, arguments: Any, place: int) -> ToolCall | None:
    if not isinstance(name, str) or not name.strip():
        return None
    arguments = {} if arguments is None else arguments
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN and Infinity are no JSON, though Python reads them
        return None
    known = call_id if isinstance(call_id, str) and call_id else f"call_{place}"
    return ToolCall(clean_text(known), clean_text(name.strip()), clean_text(text))


def _reasoning_apart(text: str) -> tuple[str, str]:
    """The reasoning with its closing mark, and what is said after it; an unclosed reasoning says nothing."""
    head, mark, tail = text.rpartition("</think>")
    if not mark and tail.lstrip().startswith("<think>"):
        return text, ""
    return head + mark, tail


def _call_like(names: str, text: str) -> bool:
    forms = (
        rf"\b(?:{names})\s*\(\s*(?:\w+\s*[=:]|[\"'{{\[])",
        rf"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"'](?:\w+\.)?(?:{names})[\"']",
        rf"<(?:{names})(?:\s[^<>]*)?/?>",
        rf"\b(?:{names})[\"'`]?\s*[:=]?\s*\{{",
        rf"(?im)^\W*(?:action|tool[ _]?call|tool|call|function)\s*[:=]\W*(?:\w+\.)?(?:{names})\b",
        rf"(?im)^\s*(?:{names})\s+[\"']",
    )
    return any(re.search(form, text) for form in forms)


_PIECES = re.compile(r"[^\W_]+|[^\s]")
_TOOL_WORDS = frozenset((
    "tool", "tools", "call", "calls", "code", "im", "start", "end", "name", "arguments", "parameters", "args", "id",
    "function", "functions", "type", "print", "json", "action", "plugin", "default", "api",
))  # fmt: skip


def _same_content(before: str, after: str, calls: Sequence[ToolCall]) -> bool:
    if not calls:
        return before == after
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    rest = iter(old)
    if not all(piece in rest for piece in new):  # nothing is added, and what stays keeps its order
        return False
    gone = Counter(old) - Counter(new)
    for call in calls:
        said = _json(call.arguments)
        gone -= Counter(_PIECES.findall(" ".join((call.name, *_words(said)))))
    if any(piece.isalnum() and piece.lower() not in _TOOL_WORDS for piece in gone):
        return False
    lines = [line.strip() for line in before.splitlines()]
    return all(
        any(line.startswith(kept) or line.endswith(kept) for line in lines)
        for kept in (line.strip() for line in after.splitlines())
    )


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for key, inner in value.items() for word in (key, *_words(inner))]
    if isinstance(value, list):
        return [word for inner in value for word in _words(inner)]
    return [str(value)]
