"""What happens for one cell: retrieve, render, ask, score. An async function of (stimulus, arm, workbench)."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchsuite.corpus.model import Item, Question
from benchsuite.delivery.arrange import Placed, all_slots, arrange, seed_of, with_decoys
from benchsuite.delivery.decoys import Decoys
from benchsuite.delivery.images import ImageDesk, ImageReader, ImageSlot
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.render import RENDERER, missing_images, render
from benchsuite.delivery.spec import Delivery, parse_delivery
from benchsuite.errors import BenchError, ConfigError, DataError, EndpointError
from benchsuite.models.ask import Answered, Asker
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Request, WireImage, skeleton
from benchsuite.outcome import Outcome
from benchsuite.plan import Arm
from benchsuite.registry import Component, Ranking, Registry, Scorer, Services
from benchsuite.scoring.judge import JUDGE, is_judged, judge_messages, parse_verdict, tally


@dataclass(frozen=True, slots=True)
class Stimulus:
    """Everything about a question that does not depend on the arm."""

    cell: str
    suite: str
    corpus: str
    question: Question
    items: tuple[Item, ...]
    image_bytes: ImageReader
    protocol: Protocol
    scorer: Scorer
    decoys: Decoys | None = None


@dataclass(slots=True)
class Workbench:
    """What episodes of one process share. ``record`` takes a call's skeleton line and its request; ``readers``
    gives the stored bytes of an image, by its sha256, to whatever retrieves by pixels."""

    registry: Registry
    models: Mapping[str, ModelSpec]
    asker: Asker
    desk: ImageDesk
    services: Services
    record: Callable[[dict[str, Any], Request], None]
    readers: dict[str, ImageReader] = field(default_factory=dict)
    judge_votes: int = 1
    run: Mapping[str, Any] = field(default_factory=dict)
    _axes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each component
    _components: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _deliveries: dict[str, Delivery] = field(default_factory=dict)

    def component(self, component: Component, arm: Arm) -> Any:
        """The one instance of a registered component in this process, for the arm's values of the axes it uses."""
        axes = self._axes.get(component.name)
        if axes is None:
            axes = self._axes[component.name] = component.uses(self.registry.suite_axes)
        values = {axis: arm[axis] for axis in axes}
        key = (component.name, *values.values())
        if key not in self._components:
            self._components[key] = component.build(self.services, values)
        return self._components[key]

    def delivery(self, text: str) -> Delivery:
        if text not in self._deliveries:
            self._deliveries[text] = parse_delivery(text, self.registry.deliveries)
        return self._deliveries[text]

    def model(self, name: str) -> ModelSpec:
        if name not in self.models:
            raise ConfigError(f"model {name!r} is not configured; known: {', '.join(self.models)}")
        return self.models[name]


async def run_episode(stimulus: Stimulus, arm: Arm, bench: Workbench) -> Outcome:
    """Answer and score one cell. Never raises for a failed call: the outcome then has status ``error``."""
    row = _opening_row(stimulus, arm, bench)
    calls: list[Answered] = []
    try:
        await _answer_and_score(stimulus, arm, bench, row, calls)
        return Outcome(**row, **_account(calls, bench))
    except Exception as error:  # a call without an answer, or a fault of a component: this cell's error, no score
        row.update(status="error", word="error", answer=None, score=None, refused=None, scores={})
        row.update(metric="", scorer=stimulus.scorer.version)  # what a faulty scorer left may not fit a row either
        row.update(error_kind=_kind(error), error_message=_message(error))
        return Outcome(**row, **_account(calls, bench))


def _account(calls: Sequence[Answered], bench: Workbench) -> dict[str, Any]:
    """What an outcome says of its calls."""
    return {
        "n_calls": len(calls),
        "requests": [call.key for call in calls],
        "run": {
            **bench.run,
            "cached": bool(calls) and all(call.cached for call in calls),
            "latency_s": round(sum(call.reply.latency_s for call in calls), 4),
            "attempts": sum(call.attempts for call in calls),
            "cached_tokens": _total([call.reply.cached_tokens for call in calls]),
            "t": round(time.time(), 3),
        },
    }


async def _answer_and_score(
    stimulus: Stimulus, arm: Arm, bench: Workbench, row: dict[str, Any], calls: list[Answered]
) -> None:
    question, protocol = stimulus.question, stimulus.protocol
    delivery = bench.delivery(arm.text("delivery"))
    spec = bench.model(arm.text("model"))
    items = await retrieve(stimulus, arm, delivery, bench)
    gold = set(question.evidence.turn_ids)
    row.update(
        items=[item.id for item in items],
        n_items=len(items),
        n_missing=missing_images(items, delivery),
        n_gold_delivered=len(gold.intersection(turn for item in items for turn in item.turn_ids)),
    )
    placed = await place(stimulus, items, delivery)
    images = await _prepare(bench.desk, all_slots(placed), delivery, stimulus.image_bytes)
    messages = render(placed, question.query(), delivery, protocol, images, len(stimulus.items))
    request = Request(spec.model, messages, spec.params)
    row["n_images"] = len(request.images)
    row["image_tokens"] = sum(math.ceil(i.width / 32) * math.ceil(i.height / 32) for i in request.images)

    answered = await _call(bench, stimulus.cell, "answer", spec, request, int(arm["repeat"]), calls)
    reply = answered.reply
    row.update(
        usage_prompt=reply.prompt_tokens,
        usage_completion=reply.completion_tokens,
        model_served=reply.model_served,
        fingerprint=reply.fingerprint,
        finish=reply.finish,
    )
    size = {"output_tokens": reply.completion_tokens} if stimulus.scorer.takes_tokens else {}
    score = stimulus.scorer.score(question, reply.text, protocol.refusal, **size)
    row.update(
        status="unparsed" if score.word == "unparsed" else "scored",
        word=score.word,
        answer=score.answer,
        refused=score.refused,
        metric=score.metric,
        score=score.score,
        scores={} if score.score is None else {score.metric: score.score, **score.extra},
        scorer=score.scorer,
    )
    judge = arm.text("judge")
    if judge != "none" and is_judged(question, score, stimulus.scorer.mode):
        await _judge(stimulus, bench, bench.model(judge), row, calls)


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


async def _prepare(
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


async def _judge(
    stimulus: Stimulus, bench: Workbench, spec: ModelSpec, row: dict[str, Any], calls: list[Answered]
) -> None:
    messages = judge_messages(stimulus.question, row["answer"], stimulus.protocol.refusal)
    request = Request(spec.model, messages, spec.params)
    verdicts: list[float | None] = []
    for vote in range(bench.judge_votes):  # one after the other: their order is that of the row's requests
        reply = (await _call(bench, stimulus.cell, "judge", spec, request, vote, calls)).reply
        verdicts.append(parse_verdict(reply.text, reply.finish))
    found = tally(verdicts)
    row.update(metric="judge", score=found.verdict, scorer=JUDGE, scores={**row["scores"], **found.scores()})
    if found.verdict is None:  # a judge without a verdict has judged nothing
        row.update(status="unparsed", word="unparsed")
    elif found.verdict or row["word"] != "refused":
        row.update(word="right" if found.verdict else "wrong")


async def _call(
    bench: Workbench, cell: str, role: str, spec: ModelSpec, request: Request, repeat: int, calls: list[Answered]
) -> Answered:
    answered = await bench.asker.ask(spec, request, repeat)
    calls.append(answered)
    bench.record({"cell": cell, "role": role, **skeleton(answered.key, request)}, request)
    return answered


def _opening_row(stimulus: Stimulus, arm: Arm, bench: Workbench) -> dict[str, Any]:
    question = stimulus.question
    component = bench.registry.retrievals.get(arm.text("retrieval"))
    return {
        "cell": stimulus.cell,
        "suite": stimulus.suite,
        "corpus": stimulus.corpus,
        "question": question.id,
        "type": question.type,
        "split": question.split,
        "cluster": question.cluster,
        "labels": [*question.labels, *stimulus.scorer.labels(question)],
        "answerable": question.answerable,
        "arm": arm.as_dict(),
        "status": "error",
        "word": "error",
        "answer": None,
        "gold": question.gold,
        "refused": None,
        "metric": "",
        "score": None,
        "scores": {},
        "scorer": stimulus.scorer.version,
        "protocol": stimulus.protocol.label,
        "renderer": RENDERER,
        "items": [],
        "n_items": 0,
        "n_images": 0,
        "n_missing": 0,
        "n_gold": len(question.evidence.turn_ids),
        "n_gold_delivered": 0,
        "sees_gold": bool(component and component.oracle),
        "usage_prompt": None,
        "usage_completion": None,
        "image_tokens": None,
        "model_served": "",
        "fingerprint": "",
        "finish": "",
        "ingest_calls": 0,
        "ingest_tokens": 0,
        "ingest_bytes": 0,
        "error_kind": "",
        "error_message": "",
    }


def _kind(error: Exception) -> str:
    if isinstance(error, EndpointError):
        return error.kind
    if isinstance(error, DataError):
        return "data"
    return "config" if isinstance(error, BenchError) else "internal"


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
