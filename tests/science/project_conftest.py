"""Copied as `conftest.py` into the project whose runs these tests look at: responders with a known rule.

A responder sees a request and nothing else. What is right it looks up in `truth.json` beside this file, by the
question as it is worded in the request; whether it answers right follows from its rule for that question alone:
is an image in the request, and is the question's marker (the text of a gold message) in it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, sha256_json

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]

TRUTH = Path(__file__).with_name("truth.json")
WRONG = "zzyzx"
RULES: Mapping[str, Callable[[bool, bool], bool]] = {
    "always": lambda shown, found: True,
    "never": lambda shown, found: False,
    "shown": lambda shown, found: shown,
    "hidden": lambda shown, found: not shown,
    "found": lambda shown, found: found,
    "shown and found": lambda shown, found: shown and found,
    "not both": lambda shown, found: not (shown and found),
    "both or neither": lambda shown, found: shown == found,
}


class Responder:
    """Answers each question as `truth.json` says for the model that is asked."""

    def __init__(self) -> None:
        self._truth: dict[str, Any] = json.loads(TRUTH.read_text())

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        parts = [part for message in request.messages for part in message.parts]
        asked = next(part.text for part in parts if part.kind == "question")
        about = self._truth[asked.rpartition("Question: ")[2].strip() + asked.splitlines()[0].rpartition(" date: ")[2]]
        texts = [part.text.strip() for part in parts if part.kind == "text"]
        right = RULES[about["rules"][spec.name]](bool(request.images), about["marker"] in texts)
        return Reply(about["gold"] if right else WRONG, finish="stop", model_served=spec.model)


class Echo:
    """Answers with a digest of all that is sent, one time in four with the refusal phrase."""

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        await asyncio.sleep(0)
        digest = sha256_json([request.model, dict(request.params), [message.digest for message in request.messages]])
        text = "Insufficient information" if int(digest, 16) % 4 == 0 else digest
        return Reply(text, finish="stop", model_served=spec.model, prompt_tokens=int(digest[:4], 16))


def pytest_bench_register(registry: Any) -> None:
    registry.transport("echo", Echo)
    for name in ("pixels", "zero", "harm", "found", "mixed"):
        registry.transport(name, Responder)
