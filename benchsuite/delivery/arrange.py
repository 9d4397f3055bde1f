"""What stands where in a request: which image, tag and date each delivered item gets (DeliverMem, appendix C.1).

The controls that change places draw from a seed of the question's content alone, so a rerun sends the same bytes.
Whatever can change places does: nothing stays where it was unless there is nowhere else for it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchsuite.corpus.model import UNKNOWN_DATE, Image, Item
from benchsuite.delivery.images import ImageSlot
from benchsuite.delivery.spec import CONTROLS, Delivery

DRAWN = ("scramble", "phase")
"""The controls that draw from a seed."""
MARK = "M*"
"""What the constant tag stamps on every image: two characters, as in M1, and no number."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An item in its place. ``slots`` are its images as they are to be sent, None for one that is not shown;
    ``tag`` is what the text calls it by, ``date`` the date it is given and ``place`` its number in the history, from
    1 (empty, 0: none)."""

    item: Item
    slots: tuple[ImageSlot | None, ...] = ()
    tag: str = ""
    date: str = ""
    place: int = 0


def seed_of(*content: str) -> str:
    """Sixteen hex digits that follow from content alone."""
    return hashlib.sha256("\0".join(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def arrange(items: Sequence[Item], delivery: Delivery, seed: str, history: Sequence[Item] = ()) -> list[Placed]:
    """The delivered ``items``, in their order, as this delivery shows them. ``history`` gives ordinals their place.

    A tag is the item's place in the order of delivery, and all its images carry it; an item of which no image is
    shown has none. Shuffled tags, dates and images change places among the items that have some.
    """
    shown = [[image for image in item.images if not image.missing] for item in items]
    tags = _tags(shown, delivery, seed) if delivery.shows_images else {}
    dates = _dates(items, delivery, seed)
    places = {item.id: number for number, item in enumerate(history, start=1)} if delivery.time == "ordinal" else {}
    images = _bound(shown, delivery, seed)
    return [
        Placed(
            item=item,
            slots=tuple(
                None
                if image.missing or not delivery.shows_images
                else _slot(next(images), delivery, tags, number, seed)
                for image in item.images
            ),
            tag=_named(tags, delivery, number),
            date=dates[number],
            place=places.get(item.id, 0),
        )
        for number, item in enumerate(items)
    ]


def with_decoys(placed: Sequence[Placed], decoys: Sequence[Image]) -> list[Placed]:
    """The same slots with a decoy in each, one after the other."""
    left = iter(decoys)
    return [
        replace(
            each,
            slots=tuple(slot and replace(slot, image=next(left), replaces=slot.image) for slot in each.slots),
        )
        for each in placed
    ]


def all_slots(placed: Sequence[Placed]) -> list[ImageSlot]:
    """Every image to send, in the order of the request."""
    return [slot for each in placed for slot in each.slots if slot is not None]


def change_places(groups: Sequence[Hashable], seed: str) -> list[int]:
    """For each place the place that its new content comes from: of another group wherever there are enough of them.

    A place keeps its group only when more than half of all places are of that group. One group alone stays as it is.
    """
    if len(set(groups)) < 2:
        return list(range(len(groups)))
    draw = random.Random(seed)
    sizes = Counter(groups)
    names = list(dict.fromkeys(groups))
    draw.shuffle(names)
    ranks = {name: rank for rank, name in enumerate(names)}
    order = list(range(len(groups)))
    draw.shuffle(order)
    order.sort(key=lambda place: ranks[groups[place]])  # each group's places stand together, in drawn order
    step = max(sizes.values())  # so far that no group that is small enough lands on itself
    source = [0] * len(groups)
    for position, place in enumerate(order):
        source[place] = order[(position + step) % len(order)]
    return source


def _tags(shown: Sequence[Sequence[Image]], delivery: Delivery, seed: str) -> Mapping[int, tuple[str, str]]:
    """By item: the tag that its text names, and the one that its images carry; items without images have none."""
    if delivery.identity == "none":
        return {}
    tagged = [number for number, images in enumerate(shown) if images]
    own = {number: f"M{number + 1}" for number in tagged}
    if delivery.identity == "constant":
        return dict.fromkeys(tagged, (MARK, MARK))
    if not delivery.identity.startswith("shuffled"):
        return {number: (tag, tag) for number, tag in own.items()}
    source = change_places(tagged, f"{seed} tags")
    stamped = {number: own[tagged[place]] for number, place in zip(tagged, source, strict=True)}
    named = own if delivery.identity == "shuffled_pixels_only" else stamped
    return {number: (named[number], stamped[number]) for number in tagged}


def _named(tags: Mapping[int, tuple[str, str]], delivery: Delivery, number: int) -> str:
    return tags[number][0] if delivery.names_tags and number in tags else ""


def _slot(image: Image, delivery: Delivery, tags: Mapping[int, tuple[str, str]], number: int, seed: str) -> ImageSlot:
    tag = tags[number][1] if delivery.stamps else ""
    control = delivery.modality if delivery.modality in CONTROLS else ""
    return ImageSlot(
        image,
        tag=tag,
        frame=f"M{number + 1}" if tag == MARK else "",
        control=control,
        seed=seed_of(seed, image.sha256) if control in DRAWN else "",
    )


def _bound(shown: Sequence[Sequence[Image]], delivery: Delivery, seed: str) -> Iterator[Image]:
    """The image of every slot in turn."""
    images = [image for each in shown for image in each]
    if delivery.binding == "shuffled":
        groups = [number for number, each in enumerate(shown) for _ in each]
        images = [images[place] for place in change_places(groups, f"{seed} binding")]
    return iter(images)


def _dates(items: Sequence[Item], delivery: Delivery, seed: str) -> list[str]:
    """The date that each item is given; empty for one that has none."""
    if delivery.form == "sessions" or delivery.time not in ("date", "permuted"):
        return [""] * len(items)
    dates = ["" if item.date == UNKNOWN_DATE else item.date for item in items]
    if delivery.time == "permuted":
        dated = [number for number, date in enumerate(dates) if date]
        source = change_places([dates[number] for number in dated], f"{seed} dates")
        moved = [dates[dated[place]] for place in source]
        for number, date in zip(dated, moved, strict=True):
            dates[number] = date
    return dates
