"""Copied as `conftest.py` into the project of `test_planted_states.py`: responders that depend on one thing alone.

A responder sees a request and nothing else. What is right it looks up in `truth.json` beside this file, by the
question as it is worded in the request. A question of its kind *flips* is answered right exactly where its rule holds
of the request: how many messages stand before the probe, whether a summary does, whether a tool brought the artefact.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]

TRUTH = Path(__file__).with_name("truth.json")
NOTHING = "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE"


def depth_holds(request: Request, about: dict[str, Any]) -> bool:
    return len(request.messages) <= about["messages"]


def compaction_holds(request: Request, about: dict[str, Any]) -> bool:
    texts = (block for message in request.messages[1:] for block in message.blocks if isinstance(block, str))
    return not any(text.startswith("Summary of our conversation") for text in texts)


def recall_holds(request: Request, about: dict[str, Any]) -> bool:
    results = ["".join(map(str, m.blocks)) for m in request.messages if m.role == "tool"]
    return any(f"[{about['artifact']}]" in text for text in results)


def always(request: Request, about: dict[str, Any]) -> bool:
    return True


class Responder:
    rule = staticmethod(always)
    calls = False

    def __init__(self) -> None:
        self._truth: dict[str, Any] = json.loads(TRUTH.read_text())

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        tokens = 10 * len(request.messages)
        parts = [part for message in request.messages for part in message.parts]
        asked = [part.text for part in parts if part.kind == "question"]
        if not asked:  # the count at the capture
            return Reply(NOTHING, finish="length", model_served=spec.model, prompt_tokens=tokens)
        question = asked[-1].removeprefix("Question: ").strip()
        about = self._truth[question]
        if self.calls and request.messages[-1].role == "user" and not any(m.role == "tool" for m in request.messages):
            arguments = json.dumps({"query": about["artifact"]})
            call = {"id": "call_1", "type": "function", "function": {"name": "artifact_recall", "arguments": arguments}}
            return Reply("", finish="tool_calls", model_served=spec.model, prompt_tokens=tokens, tool_calls=(call,))
        kind = about["kind"]
        holds = kind == "right" or (kind == "flips" and self.rule(request, about))
        if about["answerable"]:
            source, value = (about["artifact"], about["gold"]) if holds else ("NONE", "zzyzx")
            text = f"ANSWERABLE=YES\nSOURCE={source}\nANSWER={value}"
        else:
            text = NOTHING if holds else f"ANSWERABLE=YES\nSOURCE={about['artifact']}\nANSWER=zzyzx"
        return Reply(text, finish="stop", model_served=spec.model, prompt_tokens=tokens)


class ByDepth(Responder):
    rule = staticmethod(depth_holds)


class ByCompaction(Responder):
    rule = staticmethod(compaction_holds)


class ByRecall(Responder):
    rule = staticmethod(recall_holds)
    calls = True


class Recalling(Responder):
    """Calls the tool and does not depend on what it brings: the null of the recall axis."""

    calls = True


class Scribe:
    """A summariser."""

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        return Reply("We worked on several things.", finish="stop", model_served=spec.model)


def pytest_bench_register(registry: Any) -> None:
    registry.transport("by-depth", ByDepth)
    registry.transport("by-compaction", ByCompaction)
    registry.transport("by-recall", ByRecall)
    registry.transport("recalling", Recalling)
    registry.transport("steady", Responder)
    registry.transport("scribe", Scribe)
