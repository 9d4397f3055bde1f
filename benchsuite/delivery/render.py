"""The one renderer: (items, Delivery, protocol) to chat messages of typed parts."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from benchsuite.corpus.model import Image, Item, Query, plain_text
from benchsuite.delivery.arrange import Placed
from benchsuite.delivery.images import ImageSlot
from benchsuite.delivery.protocol import Protocol, head_tags
from benchsuite.delivery.spec import Delivery
from benchsuite.models.wire import Message, Part, WireImage

RENDERER = "memory/1"


def missing_images(items: Sequence[Item], delivery: Delivery) -> int:
    """How many images this delivery would have shown but cannot: no bytes, or no caption where captions stand."""
    images = [image for item in items for image in item.images]
    if delivery.modality == "caption":
        return sum(not image.caption for image in images)
    return sum(bool(image.missing) for image in images) if delivery.shows_images else 0


def render(
    placed: Sequence[Placed],
    query: Query,
    delivery: Delivery,
    protocol: Protocol,
    images: Mapping[str, WireImage],
    history: int = 0,
) -> tuple[Message, ...]:
    """A system message and one user message; in session form a message per turn between the two.

    ``placed`` stand in the order of delivery (see ``arrange``); ``images`` maps the key of each of their slots to what
    is sent; ``history`` is how many items there are in all. A withheld image leaves no placeholder and no caption.
    Outgoing numbers are positions in the request or the history, never corpus ids. Raises ConfigError for a template
    that the protocol lacks.
    """
    room = _Room(delivery, protocol, images, history)
    system = system_message(protocol)
    question = Part("question", protocol.question.format(date=query.date, question=query.text))
    if not placed:
        return system, Message("user", (Part("head", protocol.empty), question))
    if delivery.form == "sessions":
        return system, *room.turns(placed), Message("user", (question,))
    body = [part for rank, each in enumerate(placed, start=1) for part in room.item(rank, each)]
    return system, Message("user", (Part("head", protocol.head), *room.head(), *body, question))


def render_turns(
    placed: Sequence[Placed], delivery: Delivery, protocol: Protocol, images: Mapping[str, WireImage]
) -> list[Message]:
    """A message per item in its own role, as in session form; an item of which nothing is left is left out."""
    return list(_Room(delivery, protocol, images, 0).turns(placed))


def system_message(protocol: Protocol, persona: str = "") -> Message:
    """``persona`` is whose assistant the model is, where the suite says so."""
    text = protocol.system.format(refusal=protocol.refusal, persona=persona)
    return Message("system", (Part("instruction", text.strip()),))


@dataclass(slots=True)
class _Room:
    """One request while it is rendered; ``labelled`` counts the images so far."""

    delivery: Delivery
    protocol: Protocol
    images: Mapping[str, WireImage]
    history: int
    labelled: int = 0

    def head(self) -> Iterator[Part]:
        """What the head says of tags and of ordinals."""
        for field in head_tags(self.delivery):
            yield Part("tag", self.protocol.template(field))
        if self.delivery.time == "ordinal":
            yield Part("date", self.protocol.template("ordinals"))

    def item(self, rank: int, placed: Placed) -> Iterator[Part]:
        """Role line, date, tag, text, note on the tag, images: whatever the delivery has of these."""
        item, in_text = placed.item, self.delivery.identity == "tag_in_text"
        yield Part("role", self.protocol.role.format(rank=rank, role=item.role), item=item.id)
        if placed.date:
            yield Part("date", self.protocol.template("date").format(date=placed.date), item=item.id)
        if placed.place:
            ordinal = self.protocol.template("ordinal").format(place=placed.place, total=self.history)
            yield Part("date", ordinal, item=item.id)
        if placed.tag and in_text:
            yield Part("tag", self.protocol.template("tag").format(tag=placed.tag), item=item.id)
        if text := plain_text(item.text):
            yield Part("text", text + "\n", item=item.id)
        if placed.tag and not in_text:
            yield Part("tag", self.protocol.template("tag_note").format(tag=placed.tag), item=item.id)
        for image, slot in zip(item.images, placed.slots, strict=True):
            yield from self._image(image, slot, item)

    def turns(self, placed: Sequence[Placed]) -> Iterator[Message]:
        """A message per item, a header before the first of each session; an item of which nothing is left is
        left out."""
        session = 0
        for each in placed:
            item, parts = each.item, list(self._turn(each))
            if not parts:
                continue
            if item.session and item.session != session:
                parts = [*self._session_header(item), *parts]
                session = item.session
            yield Message(item.role, tuple(parts))

    def _turn(self, placed: Placed) -> Iterator[Part]:
        """Text with its images at their markers, surplus images after it; without markers the images come first.

        An image takes the marker of its own number, also where one before it is missing.
        """
        item = placed.item
        shown = [list(self._image(*each, item)) for each in zip(item.images, placed.slots, strict=True)]
        pieces = item.text.split("<image>")
        if len(pieces) == 1 or not any(shown):
            order = [*shown, _text(plain_text(item.text), item)]
        else:
            marked, surplus = shown[: len(pieces) - 1], shown[len(pieces) - 1 :]
            texts = [_text(piece, item) for piece in pieces]
            order = [*chain.from_iterable(zip_longest(texts, marked, fillvalue=[])), *surplus]
        before = ""
        for part in chain.from_iterable(order):
            breaks = part.kind == "note" and before and not before.endswith("\n")
            yield replace(part, text=f"\n{part.text}") if breaks else part
            before = part.text

    def _session_header(self, item: Item) -> Iterator[Part]:
        """The header in parts, its date apart: without dates nothing else in it changes.

        An unknown date is said to be unknown, as the public harness does.
        """
        header = self.protocol.template("session")
        for literal, name, _, _ in string.Formatter().parse(header):
            if literal:
                yield Part("note", literal, item=item.id)
            if name == "session":
                yield Part("note", str(item.session), item=item.id)
            elif name == "date" and self.delivery.time == "date" and item.date:
                yield Part("date", self.protocol.template("session_date").format(date=item.date), item=item.id)

    def _image(self, image: Image, slot: ImageSlot | None, item: Item) -> Iterator[Part]:
        """What stands in an image's place: its label and pixels, its caption, or nothing."""
        if self.delivery.modality == "caption":
            caption = " ".join(image.caption.split())
            template = self.protocol.template("caption" if caption else "no_caption")
            yield Part("note", template.format(caption=caption), item=item.id)
        elif slot is not None:
            if self.delivery.label_images:
                self.labelled += 1
                template = self.protocol.template("image_label")
                yield Part("note", template.format(number=self.labelled), item=item.id)
            yield Part("image", image=self.images[slot.key], item=item.id)


def _text(piece: str, item: Item) -> list[Part]:
    return [Part("text", piece, item=item.id)] if piece.strip() else []
