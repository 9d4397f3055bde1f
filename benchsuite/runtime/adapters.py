"""Adapters: one model's tool tokens rewritten as Hermes blocks, every other character left alone (MIRAGE A.4).

They are our own reading of what such models write. A block that an adapter cannot read it leaves as it stands, and
the reply is then malformed. The tokens have to reach the client: a server that strips special tokens
(``skip_special_tokens``) strips ``<|im_start|>`` too.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchsuite.runtime.parsers import AdaptedParser, HermesParser

if TYPE_CHECKING:
    from benchsuite.registry import Registry

INTERNVL, GEMMA = "internvl", "gemma"
_LONGEST = 20_000  # characters of code that are read as a call
_BRACKETS = 20  # closing brackets at which a call in code may end

_HEADER = re.compile(r"<\|im_start\|>[ \t]*tool(?:_calls?)?\b[ \t]*\n?[ \t]*|<\|action_start\|>\s*<\|plugin\|>\s*")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_END = re.compile(r"\s*(?:<\|im_end\|>|<\|action_end\|>)")
_FENCE = re.compile(r"```[ \t]*tool_(?:code|call)s?[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def from_chat_tokens(text: str) -> str:
    """``<|im_start|>tool`` (or ``<|action_start|><|plugin|>``) before a call, as a Hermes block.

    The call is ``{"name": ..., "arguments": {...}}``, ``name {...}`` or ``name(key="value")``; ``<|im_end|>`` behind
    it goes with it.
    """
    pieces: list[str] = []
    at = 0
    for header in _HEADER.finditer(text):
        if header.start() < at:
            continue
        found = _call_at(text, header.end())
        if found is None:
            continue
        block, end = found
        closing = _END.match(text, end)
        pieces += [text[at : header.start()], block]
        at = closing.end() if closing else end
    return "".join((*pieces, text[at:]))


def from_code_fences(text: str) -> str:
    """A fence ``tool_code`` of nothing but calls with named literal arguments, each call as a Hermes block.

    ``print(...)`` around a call and a module before its name (``default_api.``) go with the tool tokens.
    """
    return _FENCE.sub(lambda fence: _from_code(fence[1]) or fence[0], text)


def _call_at(text: str, at: int) -> tuple[str, int] | None:
    """The call that begins at ``at`` as a block, and where it ends."""
    name = _NAME.match(text, at)
    start = at if name is None else name.end()
    while start < len(text) and text[start].isspace():
        start += 1
    if name is not None and text[start : start + 1] == "(":
        return _code_at(text, at, start)
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        if name is not None and isinstance(value, dict):
            return _block(name[0], value), end
    except (ValueError, RecursionError):
        return None
    named = isinstance(value, dict) and isinstance(value.get("name"), str)
    return (text[start:end].join(_TAGS), end) if named and name is None else None


def _code_at(text: str, at: int, opening: int) -> tuple[str, int] | None:
    """A call in code: up to the first bracket at which it is one."""
    end = opening
    for _ in range(_BRACKETS):
        end = text.find(")", end + 1)
        if end < 0:
            break
        if block := _from_code(text[at : end + 1]):
            return block, end + 1
    return None


def _from_code(code: str) -> str:
    """Blocks for code that is nothing but calls with named literal arguments; empty for any other."""
    if len(code) > _LONGEST:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in what a model wrote
            body = ast.parse(code.strip()).body
        blocks = [_from_statement(statement) for statement in body]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return ""
    return "\n".join(blocks)


def _from_statement(statement: ast.stmt) -> str:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print" and call.args:
        (call,) = call.args
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("not a call with named arguments")
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    arguments = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
    if not name or "" in arguments:
        raise ValueError("not a named function with named arguments")
    return _block(name, arguments)


_TAGS = ("<tool_call>", "</tool_call>")


def _block(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, allow_nan=False).join(_TAGS)


def register(registry: Registry) -> None:
    registry.tool_parser(INTERNVL, lambda: AdaptedParser(from_chat_tokens, HermesParser()))
    registry.tool_parser(GEMMA, lambda: AdaptedParser(from_code_fences, HermesParser()))
