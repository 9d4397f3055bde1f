"""Probes in process: a checkpoint of the tiny conversation, a model that is a function, real episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchsuite.corpus.model import Question
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.protocol import Protocol
from benchsuite.episode import run_episode
from benchsuite.models.ask import Asker
from benchsuite.models.slots import SlotPool
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request
from benchsuite.plan import make_arm
from benchsuite.runtime.checkpoint import CheckpointStore
from benchsuite.workbench import Scene, Stimulus, Workbench
from benchsuite_pytest.preflight import build_registry, session_scorer

from .world import ARTIFACTS, CHART, GOLD, PROTOCOL, Teller, build_one, script, summing_up, wanted

MODEL = ModelSpec("scripted", "scripted", "", "inprocess/scripted")
RIGHT = f"ANSWERABLE=YES\nSOURCE={CHART}\nANSWER={GOLD}"
NOTHING = "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE"
Says = Callable[[Request], str | Reply | Awaitable[str | Reply]]


class Newest:
    """The newest k items."""

    version = "newest/1"

    def rank(self, query: object, items: Any, k: int) -> list[tuple[str, float]]:
        return [(item.id, float(place)) for place, item in enumerate(items)][-k:]


def asked_at(request: Request) -> int | None:
    """Where the probe stands among the messages; None for the count at the capture."""
    places = [at for at, m in enumerate(request.messages) if any(part.kind == "question" for part in m.parts)]
    return places[-1] if places else None


def is_probe(request: Request) -> bool:
    return asked_at(request) is not None


def rounds_of(request: Request) -> int:
    """How many tool results stand after the probe."""
    return sum(message.role == "tool" for message in request.messages[asked_at(request) :])


@dataclass
class Lab:
    """``says`` answers every request, captures among them; ``sent`` are the requests and ``calls`` their records."""

    folder: Path
    says: Says
    state: str = "S1-d16k"
    recall: str = "intact"
    protocol: Protocol = PROTOCOL
    store_class: type[CheckpointStore] = CheckpointStore
    sent: list[Request] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registry = build_registry()
        self.registry.retriever("newest", Newest)
        made = build_one(self.folder, Teller(summing_up), wanted(self.state, recall=self.recall))
        self.store = self.store_class(self.folder)
        self.scene = Scene(self.store.load(made.id), self.store, ARTIFACTS)
        asker = Asker(self, SlotPool(64, {}), None)
        self.bench = Workbench(
            self.registry,
            {MODEL.name: MODEL},
            asker,
            ImageDesk(self.folder / "image"),
            None,  # nothing here embeds
            lambda line, request: self.calls.append(line),
            run={"id": "here"},
        )

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        self.sent.append(request)
        said = self.says(request)
        if isinstance(said, Awaitable):
            said = await said
        return said if isinstance(said, Reply) else Reply(said, finish="stop", model_served=spec.model)

    @property
    def probes(self) -> list[Request]:
        return [request for request in self.sent if is_probe(request)]

    @property
    def captures(self) -> list[Request]:
        return [request for request in self.sent if not is_probe(request)]

    def arm(self, **values: Any):
        given = {
            "length": "tiny",
            "state": self.state,
            "recall": self.recall,
            "delivery": "direct",
            "model": MODEL.name,
            **values,
        }
        return make_arm(given, self.registry.axis_order, self.registry.defaults)

    def stimulus(self, question: Question) -> Stimulus:
        return Stimulus(
            cell=f"mirage:x-{question.id}",
            suite="mirage",
            corpus="d1",
            question=question,
            items=self.store.items(self.scene.checkpoint),
            image_bytes=self.store.image_bytes,
            protocol=self.protocol,
            scorer=session_scorer(self.registry, "mirage", "strict"),
            aliases=script().aliases,
            scene=self.scene,
        )

    def run(self, questions: Iterable[Question], **values: Any) -> list[dict[str, Any]]:
        """The rows of all questions, asked at once; ``scores`` of a row gathers its scores."""
        arm = self.arm(**values)

        async def every():
            return await asyncio.gather(*(run_episode(self.stimulus(each), arm, self.bench) for each in questions))

        return [{**outcome.to_row(), "scores": dict(outcome.scores)} for outcome in asyncio.run(every())]
