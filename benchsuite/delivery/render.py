"""The one renderer: (items, Delivery, protocol) to chat messages of typed parts."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from benchsuite.corpus.model import UNKNOWN_DATE, Image, Item, Query, plain_text
from benchsuite.delivery.images import ImageSlot
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.spec import Delivery
from benchsuite.models.wire import Message, Part, WireImage

RENDERER = "memory/1"


def image_slots(items: Sequence[Item], delivery: Delivery) -> list[ImageSlot]:
    """The images that this delivery puts before the model, in order, each with the tag to stamp on it (empty:
    none); missing ones left out. All images of one item share its tag."""
    if not delivery.shows_images:
        return []
    return [
        ImageSlot(image, f"M{rank}" if delivery.stamps else "")
        for rank, item in enumerate(items, start=1)
        for image in item.images
        if not image.missing
    ]


def missing_images(items: Sequence[Item], delivery: Delivery) -> int:
    """How many images this delivery would have shown but cannot: no bytes, or no caption where captions stand."""
    images = [image for item in items for image in item.images]
    if delivery.modality == "caption":
        return sum(not image.caption for image in images)
    return sum(bool(image.missing) for image in images) if delivery.shows_images else 0


def render(
    items: Sequence[Item],
    query: Query,
    delivery: Delivery,
    protocol: Protocol,
    images: Mapping[str, WireImage],
) -> tuple[Message, ...]:
    """A system message and one user message; in session form a message per turn between the two.

    ``items`` stand in the order of delivery; ``images`` maps the key of each of :func:`image_slots` to what is sent. A
    withheld image leaves no placeholder and no caption. Outgoing numbers are positions in the request or the
    history, never corpus ids. Raises ConfigError for a template that the protocol lacks.
    """
    room = _Room(delivery, protocol, images)
    system = Message("system", (Part("instruction", protocol.system.format(refusal=protocol.refusal).strip()),))
    question = Part("question", protocol.question.format(date=query.date, question=query.text))
    if not items:
        return system, Message("user", (Part("head", protocol.empty), question))
    if delivery.form == "sessions":
        return system, *room.turns(items), Message("user", (question,))
    body = [part for rank, item in enumerate(items, start=1) for part in room.item(rank, item)]
    return system, Message("user", (Part("head", protocol.head), *room.tags(), *body, question))


@dataclass(slots=True)
class _Room:
    """One request while it is rendered; ``labelled`` counts the images so far."""

    delivery: Delivery
    protocol: Protocol
    images: Mapping[str, WireImage]
    labelled: int = 0

    def tags(self) -> list[Part]:
        """What the head says of tags: nothing where the text must not know of them or no pixels are shown."""
        if not self._names_tags:
            return []
        where = "tags_in_pixels" if self.delivery.identity == "tag" else "tags_in_text"
        order = "by_rank" if self.delivery.order == "rank" else "by_time"
        return [Part("tag", self.protocol.template(name)) for name in (where, order)]

    def item(self, rank: int, item: Item) -> Iterator[Part]:
        """Role line, date, tag, text, note on the tag, images: whatever the delivery has of these."""
        tag = f"M{rank}" if any(not image.missing for image in item.images) else ""
        yield Part("role", self.protocol.role.format(rank=rank, role=item.role), item=item.id)
        if self.delivery.time == "date" and _has_date(item):
            yield Part("date", self.protocol.template("date").format(date=item.date), item=item.id)
        if tag and self._names_tags and self.delivery.identity == "tag_in_text":
            yield Part("tag", self.protocol.template("tag").format(tag=tag), item=item.id)
        if text := plain_text(item.text):
            yield Part("text", text + "\n", item=item.id)
        if tag and self._names_tags and self.delivery.identity == "tag":
            yield Part("note", self.protocol.template("tag_note").format(tag=tag), item=item.id)
        for image in item.images:
            yield from self._image(image, item, tag if self.delivery.stamps else "")

    def turns(self, items: Sequence[Item]) -> Iterator[Message]:
        """A message per item, a header before the first of each session; an item of which nothing is left is
        left out."""
        session = 0
        for item in items:
            parts = list(self._turn(item))
            if not parts:
                continue
            if item.session and item.session != session:
                parts = [*self._session_header(item), *parts]
                session = item.session
            yield Message(item.role, tuple(parts))

    def _turn(self, item: Item) -> Iterator[Part]:
        """Text with its images at their markers, surplus images after it; without markers the images come first.

        An image takes the marker of its own number, also where one before it is missing.
        """
        shown = [list(self._image(image, item, "")) for image in item.images]
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

    def _image(self, image: Image, item: Item, tag: str) -> Iterator[Part]:
        """What stands in an image's place: its label and pixels, its caption, or nothing."""
        if self.delivery.modality == "caption":
            caption = " ".join(image.caption.split())
            template = self.protocol.template("caption" if caption else "no_caption")
            yield Part("note", template.format(caption=caption), item=item.id)
        elif self.delivery.shows_images and not image.missing:
            if self.delivery.label_images:
                self.labelled += 1
                template = self.protocol.template("image_label")
                yield Part("note", template.format(number=self.labelled), item=item.id)
            yield Part("image", image=self.images[ImageSlot(image, tag).key], item=item.id)

    @property
    def _names_tags(self) -> bool:
        return self.delivery.shows_images and self.delivery.identity in ("tag", "tag_in_text")


def _text(piece: str, item: Item) -> list[Part]:
    return [Part("text", piece, item=item.id)] if piece.strip() else []


def _has_date(item: Item) -> bool:
    return item.date not in ("", UNKNOWN_DATE)
