"""Two recorded requests laid side by side: their parts by place, and what the declared variables let differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from benchsuite.delivery.spec import CONTROLS, Delivery, differing
from benchsuite.errors import BenchError

Deliveries = Callable[[str], Delivery]
Part = Mapping[str, Any]
"""A part of a recorded request (``benchsuite.models.wire.skeleton``)."""
Message = Sequence[Any]
"""A message of a recorded request: its role and its parts."""
NO_STATE = "none"
ITEM_AXES = ("length", "state", "index", "method", "retrieval", "k")
"""Axes that change which items are delivered."""
AXES = (*ITEM_AXES, "model", "judge", "repeat", *(field.name for field in fields(Delivery)))
"""Every variable for which there is a certificate."""
STATE_AXES = ("condition", "recall", "summary", "summariser", "retention")
"""Axes that have one between requests at conversation states alone."""
# by identity, the origin of the tags that the text names and of those in the pixels
_NAMED = {"tag": "own", "shuffled_pixels_only": "own", "shuffled": "moved", "constant": "mark", "tag_in_text": "text"}
_STAMPED = {"shuffled": "moved", "shuffled_pixels_only": "moved", "constant": "mark"}


@dataclass(frozen=True, slots=True)
class Sent:
    """The record of the first answer call of a cell, and the outcome row that came of it; ``last`` is the record of
    the last one, where it is asked for."""

    call: Mapping[str, Any]
    row: Mapping[str, Any]
    last: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A recorded request by place.

    ``frame`` holds what belongs to no item, in order: message role, kind, sha256. ``places`` names the item of each
    place, ``items`` gives its parts and ``speakers`` the role of its message; ``images`` are all image parts in order.
    At a conversation state ``conversation`` holds the messages between the first and the last one, of which nothing
    else speaks: the rest is system message and probe.
    """

    roles: list[str]
    frame: list[tuple[str, str, str]]
    places: list[str]
    items: dict[str, list[Part]]
    speakers: dict[str, str]
    images: list[Part]
    conversation: Sequence[Message] = field(default_factory=list)

    def number(self, image: Part) -> int:
        """The number of an image in the request, from 1."""
        return next(number for number, each in enumerate([*self.spoken_images(), *self.images], 1) if each is image)

    def spoken_images(self) -> Iterator[Part]:
        """The images of the conversation."""
        return (part for _, parts in self.conversation for part in parts if part["kind"] == "image")

    def digests(self, kind: str) -> list[list[str]]:
        """For each place the sha256 of its parts of one kind."""
        return [[part["sha256"] for part in self.items[item] if part["kind"] == kind] for item in self.places]

    def images_of(self, item: str) -> list[Part]:
        return [part for part in self.items[item] if part["kind"] == "image"]

    def tags(self) -> Iterator[str]:
        """What is stamped on each image; empty for nothing."""
        return (part["params"].get("tag", "") for part in self.images)


def read_request(call: Mapping[str, Any], at_state: bool = False) -> SentRequest:
    """``at_state``: a conversation stands between the system message and the probe."""
    messages = call["messages"]
    talk = messages[1:-1] if at_state else []
    request = SentRequest([], [], [], {}, {}, [], talk)
    current = ""
    for role, parts in (messages[0], *messages[-1:]) if talk else messages:
        request.roles.append(role)
        for part in parts:
            item, kind = part["item"], part["kind"]
            if not item:
                request.frame.append((role, kind, part["sha256"]))
            elif item == current:
                request.items[item].append(part)
            else:
                current = item
                request.places.append(item)
                request.items.setdefault(item, []).append(part)
                request.speakers.setdefault(item, role)
            if kind == "image":
                request.images.append(part)
    return request


@dataclass(frozen=True, slots=True)
class Rules:
    """What the declared variables let differ between the requests of two rows under deliveries ``a`` and ``b``.

    ``axes``: those that change the items. ``moved``: an item may stand in another place, so that what goes by place
    follows it and what changes places is drawn anew. ``undeclared``: fields on which the deliveries differ although
    nobody declared them. ``reseeded``: another history, another seed. ``rebound``: an image may follow another item.
    ``named`` and ``stamped`` say how the tags in text and pixels compare: ``equal``, ``permuted`` (in the same places),
    ``counted`` (as many, in the same places) or ``free``. ``at_state``: both ask at a conversation state, where the
    conversation has one form and retrieved items the other, whatever the deliveries say.
    """

    declared: frozenset[str]
    a: Delivery
    b: Delivery
    rows: tuple[Mapping[str, Any], Mapping[str, Any]]
    undeclared: tuple[str, ...]
    axes: tuple[str, ...]
    moved: bool
    reseeded: bool
    rebound: bool
    named: str
    stamped: str
    at_state: bool = False

    @property
    def both_show(self) -> bool:
        return self.a.shows_images and self.b.shows_images

    @property
    def identities(self) -> frozenset[str]:
        return frozenset((self.a.identity, self.b.identity))

    @property
    def times(self) -> frozenset[str]:
        return frozenset((self.a.time, self.b.time))

    def declares(self, *names: str) -> bool:
        """Whether any of these is declared."""
        return not self.declared.isdisjoint(names)


def rules_of(a: Mapping[str, Any], b: Mapping[str, Any], declared: Sequence[str], deliveries: Deliveries) -> Rules:
    """Raises BenchError for a declared axis that has no certificate."""
    at_state = all(row.get("arm.state", NO_STATE) != NO_STATE for row in (a, b))
    for name in declared:
        if name not in AXES and not (at_state and name in STATE_AXES):
            raise BenchError(f"no certificate for axis {name}")
    first, second = deliveries(str(a["arm.delivery"])), deliveries(str(b["arm.delivery"]))
    undeclared = tuple(name for name in _differing(first, second) if name not in declared)
    if at_state:
        first, second = replace(first, form="items"), replace(second, form="items")
    axes = tuple(axis for axis in ITEM_AXES if axis in declared)
    moved = bool(axes) or "order" in declared
    named, stamped = "equal", "equal"
    if "identity" in declared:
        named = _comparison(_origin(first, _NAMED), _origin(second, _NAMED))
        stamped = _comparison(_origin(first, _STAMPED), _origin(second, _STAMPED))
    return Rules(
        declared=frozenset(declared).difference(("form",) if at_state else ()),
        a=first,
        b=second,
        rows=(a, b),
        undeclared=undeclared,
        axes=axes,
        moved=moved,
        reseeded="length" in axes or "state" in axes,
        rebound="binding" in declared or (moved and "shuffled" in (first.binding, second.binding)),
        named=named,
        stamped=stamped,
        at_state=at_state,
    )


_differing = lru_cache(maxsize=1024)(differing)


def _origin(delivery: Delivery, origins: Mapping[str, str]) -> str:
    if not delivery.shows_images:
        return ""
    if origins is _STAMPED:
        return origins.get(delivery.identity, "own") if delivery.stamps else ""
    return origins.get(delivery.identity, "")


def _comparison(a: str, b: str) -> str:
    if a == b:
        return "equal"
    if {a, b} == {"own", "moved"}:
        return "permuted"
    return "counted" if "mark" in (a, b) and {a, b} <= {"own", "moved", "mark"} else "free"


@lru_cache(maxsize=256)
def steps_of(transform: str) -> tuple[str, str, str, tuple[str, ...]]:
    """The codec, the name of the control and the stamp in a recorded transform, and what else there is."""
    steps = transform.split("+") if transform else []
    codec = next((step for step in steps if step.startswith("png/")), "")
    control = next((step for step in steps if step.partition("/")[0] in CONTROLS), "")
    stamp = next((step for step in steps if step.startswith("stamp/")), "")
    further = tuple(step for step in steps if step not in (codec, control, stamp))
    return codec, control.partition("/")[0], stamp, further


def shown(part: Part) -> str:
    """The sha256 of the image whose slot this is, whether or not a decoy stands there."""
    return str(part["params"].get("replaces", part["source"]))


def framed(params: Mapping[str, Any]) -> str:
    """The tag in whose box an image is stamped."""
    return str(params.get("frame", params["tag"]))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
