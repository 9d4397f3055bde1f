"""One cell at a conversation state: a probe on a fresh copy of a checkpoint, with tools (MIRAGE section 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchsuite.corpus.model import Image, Item, Question
from benchsuite.delivery.arrange import all_slots
from benchsuite.delivery.images import ImageSlot
from benchsuite.delivery.render import missing_images, render
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import EndpointError
from benchsuite.models.ask import Answered
from benchsuite.models.spec import ModelSpec
from benchsuite.models.tokenizer import image_tokens
from benchsuite.models.wire import Message, Part, Reply, Request, WireImage
from benchsuite.plan import Arm
from benchsuite.runtime.agent import Hands, Talk, converse
from benchsuite.runtime.conversation import Context, Spoken, context_slots, render_context
from benchsuite.runtime.parsers import Parsed, is_pseudo_tool
from benchsuite.runtime.tools import ARTIFACT_RECALL, NAMES, TOOLS
from benchsuite.scoring.tokens import contains
from benchsuite.workbench import Scene, Stimulus, Workbench, call, place, prepare, retrieve

RENDERER = "conversation/1"


@dataclass(frozen=True, slots=True)
class Probed:
    """How a probe ended. ``reply`` is the last one, its ``text`` what the agent said without its calls; ``row`` is what
    an outcome says of the requests, ``trace`` what its ``scores`` say of depth, route and recall."""

    reply: Reply
    row: Mapping[str, Any]
    trace: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Opening:
    """What is put to the model before it acts. ``row`` is what an outcome says of what was delivered."""

    messages: tuple[Message, ...]
    row: Mapping[str, Any]


async def open_probe(stimulus: Stimulus, scene: Scene, arm: Arm, delivery: Delivery, bench: Workbench) -> Opening:
    """Context, retrieved memory and question of a cell."""
    context = await _context(stimulus, scene, arm, delivery, bench)
    memory, items = await _memory(stimulus, arm, delivery, bench)
    messages = (*context.messages, _probe_message(stimulus, memory, arm.text("condition")))
    images = [block for message in messages for block in message.blocks if isinstance(block, WireImage)]
    seen = context.turns.union(turn for item in items for turn in item.turn_ids)
    row = {
        "renderer": RENDERER,
        "items": [item.id for item in items],
        "n_items": len(items),
        "n_missing": context.missing + missing_images(items, delivery),
        "n_gold_delivered": len(seen.intersection(stimulus.question.evidence.turn_ids)),
        "n_images": len(images),
        "image_tokens": sum(image_tokens(image.width, image.height) for image in images),
    }
    return Opening(messages, row)


async def ask_at_state(
    stimulus: Stimulus, scene: Scene, arm: Arm, delivery: Delivery, bench: Workbench, calls: list[Answered]
) -> Probed:
    """Restore, ask, and run tools until there is an answer. Raises EndpointError where a call failed."""
    spec = bench.model(arm.text("model"))
    restored = scene.store.restore(scene.checkpoint)
    opening = await open_probe(stimulus, scene, arm, delivery, bench)
    replies: list[Reply] = []

    async def ask(messages: tuple[Message, ...]) -> Reply:
        request = Request(spec.model, messages, spec.params, TOOLS)
        answered = await call(bench, stimulus.cell, "answer", spec, request, int(arm["repeat"]), calls)
        replies.append(answered.reply)
        return answered.reply

    async def show(images: Sequence[Image]) -> tuple[Part, ...]:
        return await _pictures(scene, bench, delivery, images)

    hands = Hands(ask, bench.parser(spec), restored.surface, show, stimulus.protocol)
    talk = await converse(opening.messages, hands)
    row = {
        **opening.row,
        "usage_prompt": _sum(reply.prompt_tokens for reply in replies),
        "usage_completion": _sum(reply.completion_tokens for reply in replies),
    }
    trace = {
        **_depths(scene, replies[0]),
        **await _captured(stimulus, scene, arm, delivery, spec, bench),
        **trace_of(talk, stimulus.question, scene),
    }
    return Probed(replace(replies[-1], text=talk.text), row, trace)


def trace_of(talk: Talk, question: Question, scene: Scene) -> dict[str, float]:
    """Which route was taken and what came back on it. Gold is looked at here alone, after the answer was given."""
    done = [(made, result) for made, result in talk.results if not result.fault]
    recalls = [result for made, result in done if made.name == ARTIFACT_RECALL]
    gold = {i.sha256 for a in scene.artifacts if a.id in question.evidence.sources for i in a.images}
    shown = [block for message in talk.messages for block in message.blocks if isinstance(block, WireImage)]
    return {
        "tool": float(bool(done)),
        "tool_calls": float(len(done)),
        "tool_faults": float(len(talk.results) - len(done)),
        "pseudo_tool": float(not talk.results and is_pseudo_tool(Parsed(talk.text, (), talk.malformed), NAMES)),
        "tool_limit": float(talk.limited),
        "recall_calls": float(len(recalls)),
        "recall_hits": float(sum(bool(result.paths) for result in recalls)),
        "recall_empty": float(sum(not result.paths for result in recalls)),
        "gold_text": float(question.answerable and any(contains(result.text, question.gold) for _, result in done)),
        "gold_pixels": float(any(image.source in gold for image in shown)),
    }


def _probe_message(stimulus: Stimulus, memory: Sequence[Part], condition: str) -> Message:
    protocol, question = stimulus.protocol, stimulus.question
    pressure = (Part("instruction", protocol.template("pressure")),) if condition == "Cm" else ()
    asked = protocol.question.format(date=question.date, question=question.text)
    return Message(
        "user", (*memory, *pressure, Part("question", asked), Part("tail", protocol.template("reply_format")))
    )


async def _context(stimulus: Stimulus, scene: Scene, arm: Arm, delivery: Delivery, bench: Workbench) -> Context:
    """The active context under an arm's delivery and retention, rendered once for all probes of a process."""
    retention = arm.text("retention")
    spoken = scene.checkpoint.spoken
    return await _rendered(stimulus, scene, spoken, arm.text("delivery"), retention, delivery, bench)


async def _rendered(
    stimulus: Stimulus,
    scene: Scene,
    spoken: tuple[Spoken, ...],
    name: str,
    retention: str,
    delivery: Delivery,
    bench: Workbench,
) -> Context:
    async def make() -> Context:
        placed = context_slots(spoken, delivery, retention)
        images = await prepare(bench.desk, all_slots(placed), delivery, scene.store.image_bytes)
        persona = scene.checkpoint.persona
        return render_context(spoken, placed, delivery, retention, stimulus.protocol, persona, images)

    key = ("context", scene.checkpoint.id, len(spoken), spoken[-1].id, name, retention, stimulus.protocol.label)
    return await bench.shared(key, make)


async def _memory(
    stimulus: Stimulus, arm: Arm, delivery: Delivery, bench: Workbench
) -> tuple[Sequence[Part], Sequence[Item]]:
    """What retrieval brings, as parts before the probe, and its items."""
    if arm.text("retrieval") == "none":
        return (), ()
    shown = replace(delivery, form="items")
    items = await retrieve(stimulus, arm, shown, bench)
    placed = await place(stimulus, items, shown)
    images = await prepare(bench.desk, all_slots(placed), shown, stimulus.image_bytes)
    user = render(placed, stimulus.question.query(), shown, stimulus.protocol, images, len(stimulus.items))[-1]
    return [part for part in user.parts if part.kind != "question" and (part.text or part.image)], items


async def _pictures(scene: Scene, bench: Workbench, delivery: Delivery, images: Sequence[Image]) -> tuple[Part, ...]:
    """Pictures that a tool returned, under the delivery; none where it shows none."""
    if not delivery.shows_images:
        return ()
    slots = [ImageSlot(image) for image in images if not image.missing]
    ready = await prepare(bench.desk, slots, delivery, scene.store.image_bytes)
    return tuple(Part("image", image=ready[slot.key]) for slot in slots)


def _depths(scene: Scene, first: Reply) -> dict[str, float]:
    checkpoint = scene.checkpoint
    found = {"depth": checkpoint.depth, "active": checkpoint.active, "compactions": checkpoint.compactions}
    if first.prompt_tokens is not None:
        found["eit_probe"] = first.prompt_tokens
    return {name: float(value) for name, value in found.items()}


async def _captured(
    stimulus: Stimulus, scene: Scene, arm: Arm, delivery: Delivery, spec: ModelSpec, bench: Workbench
) -> dict[str, float]:
    """The provider's count of the last request before the capture, asked for once per model and checkpoint.

    Nothing where the provider reports no usage; a call that failed is said, and no probe fails for it.
    """
    checkpoint, retention = scene.checkpoint, arm.text("retention")

    async def make() -> dict[str, float]:
        spoken = tuple(checkpoint.transcript[at] for at in checkpoint.captured)
        context = await _rendered(stimulus, scene, spoken, arm.text("delivery"), retention, delivery, bench)
        limit = {name: 1 if name.startswith("max_") else value for name, value in spec.params.items()}
        request = Request(spec.model, context.messages, limit, TOOLS)
        try:
            answered = await call(bench, f"checkpoint:{checkpoint.id}", "capture", spec, request, 0, [])
        except EndpointError:
            return {"eit_capture_failed": 1.0}
        found = answered.reply.prompt_tokens
        return {} if found is None else {"eit_capture": float(found)}

    key = ("capture", checkpoint.id, spec.name, arm.text("delivery"), retention, stimulus.protocol.label)
    return await bench.shared(key, make)


def _sum(counts: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
