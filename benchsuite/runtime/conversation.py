"""The active context: messages as the runtime keeps them, and as chat messages of one delivery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchsuite.corpus.codec import image_row
from benchsuite.corpus.model import Image, Item, Turn
from benchsuite.delivery.arrange import Placed, arrange, seed_of
from benchsuite.delivery.images import ImageSlot
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.render import render_turns, system_message
from benchsuite.delivery.spec import CONTROLS, Delivery
from benchsuite.errors import ConfigError
from benchsuite.models.tokenizer import Counter, image_tokens
from benchsuite.models.wire import Message, Part, ToolCall, WireImage

SUMMARY, TOOL = "summary", "tool"
RETENTION = ("all", "recent3", "none")
RECENT = 3


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a conversation. ``id`` is that of its turn in the corpus, or says where the trunk got it from;
    ``kind`` is ``text``, ``summary`` for what a compaction wrote, or ``tool`` for what a tool returned.

    ``calls`` are tool calls of an assistant, ``call_id`` the call that a message of role ``tool`` answers.
    """

    id: str
    role: str
    text: str
    images: tuple[Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    kind: str = "text"

    @classmethod
    def of(cls, turn: Turn) -> Spoken:
        return cls(turn.id, turn.role, turn.text, turn.images)

    def item(self) -> Item:
        """As retrieval and rendering see it."""
        return Item(self.id, (self.id,), self.role, self.text, self.images)

    def to_json(self) -> list[Any]:
        images = [image_row(image) for image in self.images]
        calls = [[call.id, call.name, call.arguments] for call in self.calls]
        return [self.id, self.role, self.text, images, calls, self.call_id, self.kind]

    @classmethod
    def from_json(cls, row: Sequence[Any]) -> Spoken:
        id, role, text, images, calls, call_id, kind = row
        shown = tuple(Image(*image) for image in images)
        return cls(id, role, text, shown, tuple(ToolCall(*call) for call in calls), call_id, kind)


def exchanges(messages: Iterable[Spoken]) -> Iterator[tuple[Spoken, ...]]:
    """A conversation in turns of both: each begins with a message of the user that follows one of the assistant."""
    current: list[Spoken] = []
    for message in messages:
        if message.role == "user" and current and current[-1].role == "assistant" and not current[-1].calls:
            yield tuple(current)
            current = []
        current.append(message)
    if current:
        yield tuple(current)


def reference_tokens(messages: Iterable[Spoken], count: Counter) -> list[int]:
    """Tokens of each message by the trunk's reference count: text, calls and results by the tokenizer, 32x32 pixels
    a token of an image."""
    known = list(messages)
    texts = count(["\n".join([each.text, *(f"{c.name} {c.arguments}" for c in each.calls)]) for each in known])
    return [
        text + sum(image_tokens(image.width, image.height) for image in each.images if not image.missing)
        for text, each in zip(texts, known, strict=True)
    ]


def retained(messages: Sequence[Spoken], retention: str) -> list[frozenset[int]]:
    """Per message, the places of its images that the retention policy has taken out of the context.

    ``all`` keeps them until a compaction drops their message; ``recent3`` keeps those of the three newest turns;
    ``none`` keeps none. Raises ConfigError for another policy.
    """
    if retention not in RETENTION:
        raise ConfigError(f"retention has no value {retention!r}; known: {', '.join(RETENTION)}")
    newest = 0
    if retention == "recent3":
        newest = sum(len(each) for each in list(exchanges(messages))[-RECENT:])
    kept = len(messages) if retention == "all" else newest
    first = len(messages) - kept
    return [frozenset(range(len(each.images))) if at < first else frozenset() for at, each in enumerate(messages)]


@dataclass(frozen=True, slots=True)
class Context:
    """What the model sees before a probe, ready to be shared by all of them. ``missing`` counts images without
    bytes, ``turns`` are the ids of the messages that stand in it with all their images."""

    messages: tuple[Message, ...]
    missing: int
    turns: frozenset[str]


def context_delivery(delivery: Delivery) -> Delivery:
    """What of a delivery holds for the messages of a context: its images' modality, side, codec and labels.

    Raises ConfigError for counterfactual images, which belong to what is retrieved.
    """
    if delivery.modality in CONTROLS:
        raise ConfigError(
            f"{delivery.modality} images stand in for those of retrieved messages, not for a conversation's own"
        )
    return replace(delivery, identity="none", time="none", binding="intact", order="conv", form="sessions")


def context_slots(spoken: Sequence[Spoken], delivery: Delivery, retention: str) -> list[Placed]:
    """The messages with the images that are shown of each; the others have no slot."""
    placed = arrange([each.item() for each in spoken], context_delivery(delivery), seed_of("context"))
    gone = retained(spoken, retention)
    return [
        replace(each, slots=tuple(None if at in left else slot for at, slot in enumerate(each.slots)))
        for each, left in zip(placed, gone, strict=True)
    ]


def render_context(
    spoken: Sequence[Spoken],
    placed: Sequence[Placed],
    delivery: Delivery,
    retention: str,
    protocol: Protocol,
    persona: str,
    images: Mapping[str, WireImage],
) -> Context:
    """System message and conversation. An image that retention took out leaves the protocol's stub, one that the
    delivery withholds leaves nothing."""
    shown = context_delivery(delivery)
    gone = retained(spoken, retention)
    messages = [system_message(protocol, persona)]
    whole: set[str] = set()
    seen = [
        replace(place, item=_without(place.item, left), slots=_left_in(place.slots, left))
        for each, place, left in zip(spoken, placed, gone, strict=True)
        if not (each.calls or each.call_id)
    ]
    turns = {turn.parts[0].item: turn for turn in render_turns(seen, shown, protocol, images)}  # numbered over all
    for each, left in zip(spoken, gone, strict=True):
        if each.calls or each.call_id:
            parts = (Part("text", each.text, item=each.id),) if each.text else ()
            messages.append(Message(each.role, parts, each.calls, each.call_id))
            continue
        stubs = len(left) if shown.shows_images else 0
        rendered = turns.get(each.id, Message(each.role, ()))
        if stubs:
            stub = Part("note", protocol.template("image_stub") * stubs, item=each.id)
            rendered = Message(rendered.role, (*rendered.parts, stub))
        messages.append(rendered)
        if not stubs:
            whole.add(each.id)
    missing = sum(bool(image.missing) for each in spoken for image in each.images) if shown.shows_images else 0
    return Context(tuple(messages), missing, frozenset(whole))


def _without(item: Item, left: frozenset[int]) -> Item:
    return replace(item, images=tuple(image for at, image in enumerate(item.images) if at not in left))


def _left_in(slots: Sequence[ImageSlot | None], left: frozenset[int]) -> tuple[ImageSlot | None, ...]:
    return tuple(slot for at, slot in enumerate(slots) if at not in left)
