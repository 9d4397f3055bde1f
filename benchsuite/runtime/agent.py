"""The agent loop: ask, run the tools that were called, ask again, until there is an answer (MIRAGE section 3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from benchsuite.corpus.model import Image
from benchsuite.delivery.protocol import Protocol
from benchsuite.models.wire import Message, Part, Reply, ToolCall
from benchsuite.runtime.parsers import ToolParser
from benchsuite.runtime.tools import Surface, ToolResult

ROUNDS = 6
"""Requests of one turn. A model that still calls tools in the last of them has given no answer."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What an agent works with: its model (``ask``), how its calls are read, its tools, how it sees pictures.

    ``ask`` raises EndpointError where no answer came; ``show`` gives the parts of pictures, none where the delivery
    withholds them.
    """

    ask: Callable[[tuple[Message, ...]], Awaitable[Reply]]
    parser: ToolParser
    surface: Surface
    show: Callable[[Sequence[Image]], Awaitable[tuple[Part, ...]]]
    protocol: Protocol


@dataclass(slots=True)
class Talk:
    """One turn of an agent. ``messages`` are what it added to the context, its answer not included.

    ``limited``: it went on calling until the limit, and ``text`` is empty. ``malformed``: it wrote what looks like a
    call and is none.
    """

    text: str = ""
    messages: list[Message] = field(default_factory=list)
    results: list[tuple[ToolCall, ToolResult]] = field(default_factory=list)
    malformed: bool = False
    limited: bool = False


async def converse(context: tuple[Message, ...], hands: Hands) -> Talk:
    """The turn that follows ``context``. Raises what ``ask`` raises; every fault in a call is told to the model.

    Calls are numbered by their place in the turn: the ids that endpoints give are random, and what is sent must not be.
    """
    talk = Talk()
    for _ in range(ROUNDS):
        reply = await hands.ask((*context, *talk.messages))
        parsed = hands.parser.parse(reply)
        talk.malformed = talk.malformed or parsed.malformed
        if not parsed.calls:
            talk.text = parsed.text
            return talk
        said = (Part("text", parsed.text),) if parsed.text else ()
        made = len(talk.results)
        calls = tuple(replace(call, id=f"call_{made + place}") for place, call in enumerate(parsed.calls, start=1))
        talk.messages.append(Message("assistant", said, calls))
        pictures: list[Part] = []
        for call in calls:
            result = hands.surface.call(call)
            talk.results.append((call, result))
            talk.messages.append(Message("tool", (Part("text", result.text),), call_id=call.id))
            shown = await hands.show(result.images) if result.images else ()
            if shown:
                pictures += [Part("note", hands.protocol.template("tool_images").format(tool=call.name)), *shown]
        if pictures:
            talk.messages.append(Message("user", tuple(pictures)))
    talk.limited = True
    return talk
