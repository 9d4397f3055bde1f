"""Compaction: a summary takes the place of the older turns (MIRAGE sections 3.3 and A.2).

The summariser sees text alone. ``verbatim`` is what it writes of the conversation; ``free`` and ``cited`` rewrite that
summary, with the same paths and values.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchsuite.delivery.protocol import Protocol
from benchsuite.errors import BenchError
from benchsuite.files import write_atomic
from benchsuite.models.reply import clean_text
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Message, Part, Reply, Request, request_key
from benchsuite.runtime.conversation import Spoken

SUMMARIES = ("verbatim", "free", "cited")
Send = Callable[[ModelSpec, Request], Awaitable[Reply]]


class Summariser:
    """Summaries by one model, each written once: they are kept in ``folder`` by the request that asked for them."""

    def __init__(self, spec: ModelSpec, protocol: Protocol, send: Send, folder: Path) -> None:
        self._spec, self._protocol, self._send, self._folder = spec, protocol, send, folder

    async def summary(self, spoken: Sequence[Spoken], form: str, words: int) -> str:
        """The summary of these messages in at most ``words`` words.

        Raises EndpointError where the call failed and BenchError where nothing came back: there is no such state then.
        """
        text = self._protocol.template("conversation") + "\n".join(map(_line, spoken))
        written = await self._ask("summarise", text, words)
        if form != "verbatim":
            written = await self._ask(f"rewrite_{form}", written, words)
        return written

    async def _ask(self, instruction: str, text: str, words: int) -> str:
        system = self._protocol.template(instruction).format(words=words).strip()
        messages = (
            Message("system", (Part("instruction", system),)),
            Message("user", (Part("text", text),)),
        )
        request = Request(self._spec.model, messages, self._spec.params)
        file = self._folder / f"{request_key(self._spec.family, request)}.json"
        if file.exists():
            return str(json.loads(file.read_text())["summary"])
        reply = await self._send(self._spec, request)
        written = clean_text(reply.text).rpartition("</think>")[2].strip()
        if not written:
            raise BenchError(
                f"compaction: {self._spec.endpoint} returned no summary (finish: {reply.finish or 'not said'})"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        facts = {"model": self._spec.model, "served": reply.model_served, "finish": reply.finish}
        write_atomic(file, json.dumps({**facts, "summary": written}))
        return written


def _line(each: Spoken) -> str:
    calls = "".join(f"\n  {call.name} {call.arguments}" for call in each.calls)
    return f"{each.role}: {each.text.strip()}{calls}"
