"""The one renderer: (items, Delivery, protocol) to chat messages of typed parts (CANON 'Rendering')."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchsuite.corpus.model import Image, Item, Query, plain_text
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.spec import Delivery
from benchsuite.models.wire import Message, Part, WireImage

RENDERER = "memory/1"


def shown_images(items: Sequence[Item], delivery: Delivery) -> list[Image]:
    """The images that this delivery puts before the model, in order; missing ones left out."""
    if not delivery.shows_images:
        return []
    return [image for item in items for image in item.images if not image.missing]


def missing_images(items: Sequence[Item], delivery: Delivery) -> int:
    """How many images this delivery would have shown but cannot."""
    return sum(bool(image.missing) for item in items for image in item.images) if delivery.shows_images else 0


def render(
    items: Sequence[Item],
    query: Query,
    delivery: Delivery,
    protocol: Protocol,
    images: Mapping[str, WireImage],
) -> tuple[Message, ...]:
    """A system message and one user message.

    ``items`` stand in the order of delivery; ``images`` maps the sha256 of stored bytes to what is sent. A
    withheld image leaves no placeholder and no caption. Outgoing numbers are positions in the request, never
    corpus ids.
    """
    system = Message("system", (Part("instruction", protocol.system.format(refusal=protocol.refusal).strip()),))
    parts = [Part("head", protocol.head if items else protocol.empty)]
    for rank, item in enumerate(items, start=1):
        parts.append(Part("role", protocol.role.format(rank=rank, role=item.role), item=item.id))
        text = plain_text(item.text)
        if text:
            parts.append(Part("text", text + "\n", item=item.id))
        if delivery.shows_images:
            parts += [Part("image", image=images[i.sha256], item=item.id) for i in item.images if not i.missing]
    parts.append(Part("question", protocol.question.format(date=query.date, question=query.text)))
    return system, Message("user", tuple(parts))
