"""What episodes of one process share, and the steps that they are made of: retrieve, place, prepare, call."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from benchsuite.corpus.model import Item, Question
from benchsuite.corpus.script import Artifact
from benchsuite.delivery.arrange import Placed, all_slots, arrange, seed_of, with_decoys
from benchsuite.delivery.decoys import Decoys
from benchsuite.delivery.images import ImageDesk, ImageReader, ImageSlot
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.spec import Delivery, parse_delivery
from benchsuite.errors import ConfigError
from benchsuite.models.ask import Answered, Asker
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Request, WireImage, skeleton_line
from benchsuite.plan import Arm
from benchsuite.registry import Component, Ranking, Registry, Scorer, Services
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.parsers import ToolParser, check_parser

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scene:
    """The conversation state that a cell is asked at. ``artifacts`` are what was planted in it."""

    checkpoint: Checkpoint
    store: CheckpointStore
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class Stimulus:
    """Everything about a question that does not depend on the arm, but for the state that it is asked at.

    ``items`` are what retrieval ranks: the history, or at a state all that was said until then. ``aliases`` are the
    names of artefacts (id or path to id), where the suite has some.
    """

    cell: str
    suite: str
    corpus: str
    question: Question
    items: tuple[Item, ...]
    image_bytes: ImageReader
    protocol: Protocol
    scorer: Scorer
    decoys: Decoys | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    scene: Scene | None = None


@dataclass(slots=True)
class Workbench:
    """What episodes of one process share. ``record`` takes a call's skeleton line and its request; ``readers``
    gives the stored bytes of an image, by its sha256, to whatever retrieves by pixels."""

    registry: Registry
    models: Mapping[str, ModelSpec]
    asker: Asker
    desk: ImageDesk
    services: Services
    record: Callable[[str, Request], None]
    readers: dict[str, ImageReader] = field(default_factory=dict)
    judge_votes: int = 1
    run: Mapping[str, Any] = field(default_factory=dict)
    _axes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each component
    _components: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _deliveries: dict[str, Delivery] = field(default_factory=dict)
    _shared: dict[tuple[Any, ...], asyncio.Future[Any]] = field(default_factory=dict)

    def component(self, component: Component, arm: Arm) -> Any:
        """The one instance of a registered component in this process, for the arm's values of the axes it uses."""
        axes = self._axes.get(component.name)
        if axes is None:
            axes = self._axes[component.name] = component.uses(self.registry.suite_axes)
        known = arm.as_dict()
        values = {axis: known[axis] for axis in axes if axis in known}
        key = (component.name, *values.values())
        if key not in self._components:
            self._components[key] = component.build(self.services, values)
        return self._components[key]

    def delivery(self, text: str) -> Delivery:
        if text not in self._deliveries:
            self._deliveries[text] = parse_delivery(text, self.registry.deliveries)
        return self._deliveries[text]

    async def shared(self, key: tuple[Any, ...], make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What ``make`` gives, made once for all episodes of this process; its error is theirs too."""
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = asyncio.ensure_future(make())
        result: T = found.result() if found.done() else await asyncio.shield(found)
        return result

    def parser(self, spec: ModelSpec) -> ToolParser:
        """How the tool calls of a model are read. Raises ConfigError for a parser that is not registered."""
        check_parser(spec.tool_parser, self.registry)
        return self.registry.tool_parsers[spec.tool_parser]()

    def model(self, name: str) -> ModelSpec:
        if name not in self.models:
            raise ConfigError(f"model {name!r} is not configured; known: {', '.join(self.models)}")
        return self.models[name]


async def retrieve(stimulus: Stimulus, arm: Arm, delivery: Delivery, bench: Workbench) -> list[Item]:
    """The items of an arm in the order of delivery; ties stand in conversation order."""
    name = arm.text("retrieval")
    component = bench.registry.retrievals.get(name)
    if component is None:
        raise ConfigError(f"retrieval has no value {name!r}; known: {', '.join(bench.registry.retrievals)}")
    retriever = bench.component(component, arm)
    bench.readers.update((image.sha256, stimulus.image_bytes) for item in stimulus.items for image in item.images)
    arguments: list[Any] = [stimulus.question.query(), stimulus.items, int(arm["k"])]
    if component.oracle:
        arguments.append(stimulus.question.evidence)
    if inspect.iscoroutinefunction(retriever.rank):
        ranking: Ranking = await retriever.rank(*arguments)
    else:
        ranking = await asyncio.to_thread(retriever.rank, *arguments)
    return order_items(stimulus.items, ranking, delivery.order, name)


async def place(stimulus: Stimulus, items: Sequence[Item], delivery: Delivery) -> list[Placed]:
    """The delivered items with what each shows. Raises ConfigError where there is nothing to draw decoys from."""
    question = stimulus.question
    seed = seed_of(question.text, question.date, question.history_id)
    placed = arrange(items, delivery, seed, stimulus.items)
    slots = all_slots(placed)
    if delivery.modality != "decoy" or not slots:
        return placed
    if stimulus.decoys is None:
        raise ConfigError("decoys are drawn from other questions of a corpus, and this question is of none")
    drawn = await asyncio.to_thread(stimulus.decoys.draw, question, stimulus.items, len(slots), seed)
    return with_decoys(placed, drawn)


def order_items(items: Sequence[Item], ranking: Ranking, order: str, name: str) -> list[Item]:
    """Raises ConfigError for an item named twice, one that the history has not, or a score that is no number."""
    position = {item.id: i for i, item in enumerate(items)}
    scores = dict(ranking)
    if len(scores) != len(ranking):
        raise ConfigError(f"retrieval {name!r} returned an item twice")
    for item_id, score in scores.items():
        if item_id not in position:
            raise ConfigError(f"retrieval {name!r} returned {item_id!r}, which is no item of the history")
        if not math.isfinite(score):
            raise ConfigError(f"retrieval {name!r} gave item {item_id!r} the score {score}")
    if order == "conv":
        chosen = sorted(scores, key=lambda item_id: position[item_id])
    else:
        chosen = sorted(scores, key=lambda item_id: (-scores[item_id], position[item_id]))
    return [items[position[item_id]] for item_id in chosen]


async def prepare(
    desk: ImageDesk, slots: Sequence[ImageSlot], delivery: Delivery, reader: ImageReader
) -> dict[str, WireImage]:
    prepared: dict[str, WireImage] = {}
    for slot in slots:
        if slot.key not in prepared:
            wire = desk.ready(slot, delivery, reader)
            if wire is None:
                wire = await asyncio.to_thread(desk.prepare, slot, delivery, reader)
            prepared[slot.key] = wire
    return prepared


async def call(
    bench: Workbench, cell: str, role: str, spec: ModelSpec, request: Request, repeat: int, calls: list[Answered]
) -> Answered:
    answered = await bench.asker.ask(spec, request, repeat)
    calls.append(answered)
    bench.record(skeleton_line(answered.key, request, cell=cell, role=role), request)
    return answered
