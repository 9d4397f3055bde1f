"""What reached a model, as plain data, and how one request differs from another, segment by segment."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchsuite.delivery.certificates.certify import Certificate

SAME = ""
ADDED = "only here"
MISSING = "missing here"
CHANGED = "changed"
SEED_SHOWN = 8
"""Hex digits of a seed; the record has all."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as it was sent: ``sha256`` is of the bytes sent, ``source`` of the stored bytes; sizes are pixels.

    ``transform`` names what was done to the stored bytes (empty: nothing) with its parameters. ``data`` are the
    bytes sent; where it is None, ``problem`` says why.
    """

    sha256: str
    source: str
    mime: str
    width: int
    height: int
    transform: str = ""
    params: tuple[tuple[str, object], ...] = ()
    data: bytes | None = None
    problem: str = ""

    @property
    def treatment(self) -> str:
        """What was done to the stored bytes; what a decoy replaces is told by its place."""
        if not self.transform:
            return "as stored"
        shown = {name: value for name, value in self.params if name not in _UNSAID}
        if "seed" in shown:
            shown["seed"] = str(shown["seed"])[:SEED_SHOWN]
        return f"{self.transform} ({', '.join(f'{name} {value}' for name, value in shown.items())})"

    @property
    def replaces(self) -> str:
        """The sha256 of the stored image in whose place a decoy stands; empty for an image that is no decoy."""
        return str(dict(self.params).get("replaces", ""))


_UNSAID = ("control", "replaces", "width", "height")
"""Parameters that the name of the transform or the image's size and place already say."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One typed part of a message. ``text`` is None for an image, and where ``problem`` says what became of it.

    ``item`` is the id of the delivered item that it belongs to, empty for none. ``sha256`` is of what was sent.
    """

    kind: str
    sha256: str
    item: str = ""
    text: str | None = None
    picture: Picture | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    role: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A call: what was sent, in order, and the reply as it came (None where it is not stored).

    ``role`` is what the call was for (answer, judge); ``tools`` is the digest of the tools offered, empty for none.
    ``asked`` are the tools that the reply calls, each as name and arguments.
    """

    role: str
    key: str
    model: str
    messages: tuple[ShownMessage, ...]
    params: Mapping[str, object] = field(default_factory=dict)
    tools: str = ""
    reply: str | None = None
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(segment for message in self.messages for segment in message.segments)

    @property
    def items(self) -> list[str]:
        """The ids of the delivered items in the order in which they were sent."""
        return list(dict.fromkeys(segment.item for segment in self.segments if segment.item))


@dataclass(frozen=True, slots=True)
class ShownArm:
    """One condition: ``name`` is its arm key, ``axes`` its value on every axis, ``facts`` label and text.

    ``request`` is the first that the model was sent, None where ``problem`` says why there is none to show; ``rounds``
    are those that followed it, each with what came of tools since; ``further`` are other calls, those of judges.
    ``word`` says how it ended (right, wrong, refused, ...), ``score`` what it counts.
    ``certificate`` is that of this arm against the one that it is compared with, or why there is none.
    """

    name: str
    axes: Mapping[str, str]
    facts: tuple[tuple[str, str], ...]
    request: ShownRequest | None
    answer: str
    word: str
    score: str
    further: tuple[ShownRequest, ...] = ()
    problem: str = ""
    certificate: Certificate | str | None = None
    rounds: tuple[ShownRequest, ...] = ()

    @property
    def answering(self) -> tuple[ShownRequest, ...]:
        """The requests that the model was sent, the first first."""
        return (*([self.request] if self.request is not None else []), *self.rounds)


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question under several arms; ``gold_items`` are the ids of the items that support the answer.

    ``facts`` hold for all arms (run, corpus, wording). ``against`` is the position of the arm that the others are
    compared with. ``pipeline_check`` heads the page 'pipeline check, not evidence'.
    """

    id: str
    text: str
    gold: str
    type: str
    date: str
    arms: tuple[ShownArm, ...]
    facts: tuple[tuple[str, str], ...] = ()
    gold_items: frozenset[str] = frozenset()
    against: int = 0
    pipeline_check: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A segment beside another request: ``change`` is SAME, ADDED, MISSING (``segment`` is the other's) or CHANGED,
    where ``before`` is what stands for it there.

    Of an image, ``number_before`` is the number that ``before`` has among the images there, and ``number_there`` that
    of the first image there which was made of the same stored one; 0 for none.
    """

    segment: Segment
    change: str = SAME
    before: Segment | None = None
    number_before: int = 0
    number_there: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """What a message says of one item, or one segment of no item.

    ``place`` is the item's position in the request, from 1, and ``place_there`` its position in the other request;
    0 where it has none.
    """

    item: str
    marks: tuple[Mark, ...]
    place: int = 0
    place_there: int = 0

    @property
    def changed(self) -> bool:
        return self.place != self.place_there or any(mark.change for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request as sent, marked where it differs from another; ``messages`` are role and blocks.

    ``counts`` are segments by (change, kind). ``reordered``: items of both stand in another order.
    ``settings`` name what else was sent differently (model, tools, a sampling parameter). ``other`` is False where
    there was nothing to compare with.
    """

    messages: tuple[tuple[str, tuple[Block, ...]], ...]
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    reordered: bool = False
    settings: tuple[str, ...] = ()
    other: bool = False

    @property
    def kinds(self) -> list[str]:
        """The segment kinds that differ, sorted."""
        return sorted({kind for _, kind in self.counts})

    @property
    def sentence(self) -> str:
        """Everything that differs, in one line; empty when nothing does."""
        parts = []
        for change in (ADDED, MISSING, CHANGED):
            kinds = [
                f"{count} {kind}{'s' if count > 1 else ''}"
                for (how, kind), count in sorted(self.counts.items())
                if how == change
            ]
            if kinds:
                parts.append(f"{change}: {', '.join(kinds)}")
        if self.reordered:
            parts.append("items in another order")
        if self.settings:
            parts.append(f"sent with another {', '.join(self.settings)}")
        return "; ".join(parts)


def compare(request: ShownRequest, other: ShownRequest | None) -> Comparison:
    """``request`` with every difference from ``other`` marked; unmarked when there is no other.

    Segments are paired within (item, kind): equal bytes first, then images of one source, then in order. What only
    the other has stands, as MISSING, behind what precedes it there.
    """
    there = other.segments if other is not None else request.segments
    partners = _pair(request.segments, there)
    images = [position for position, segment in enumerate(there) if segment.picture is not None]
    numbers = {position: number for number, position in enumerate(images, 1)}
    sources = {_source(there[position]): numbers[position] for position in reversed(images)}
    rows: list[_Groups] = []
    spots: dict[int, _Spot] = {}
    number = 0
    for message in request.messages:
        groups: _Groups = []
        for group in _grouped(message.segments):
            marks = []
            for segment in group:
                partner = partners.get(number)
                mark = _mark(segment, None if partner is None else there[partner])
                if segment.picture is not None and partner is not None:
                    mark = replace(
                        mark, number_before=numbers[partner], number_there=sources.get(segment.picture.source, 0)
                    )
                marks.append(mark)
                if partner is not None:
                    spots[partner] = _Spot(groups, marks, marks[-1])
                number += 1
            groups.append(marks)
        rows.append(groups)
    _insert_missing(rows, there, spots)
    items, items_there = request.items, other.items if other is not None else request.items
    places, places_there = _places(items), _places(items_there)
    return Comparison(
        messages=tuple(
            (message.role, tuple(_block(group, places, places_there) for group in groups))
            for message, groups in zip(request.messages, rows, strict=True)
        ),
        counts=Counter(
            (mark.change, mark.segment.kind) for groups in rows for group in groups for mark in group if mark.change
        ),
        reordered=[item for item in items if item in places_there] != [item for item in items_there if item in places],
        settings=_settings(request, other) if other is not None else (),
        other=other is not None,
    )


_Groups = list[list[Mark]]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a segment of the other request has its place here."""

    groups: _Groups
    group: list[Mark]
    mark: Mark


def _grouped(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Runs of one item; a segment of no item stands alone."""
    group: list[Segment] = []
    for segment in segments:
        if group and segment.item and segment.item == group[0].item:
            group.append(segment)
            continue
        if group:
            yield group
        group = [segment]
    if group:
        yield group


def _pair(here: Sequence[Segment], there: Sequence[Segment]) -> dict[int, int]:
    """Positions of segments here to the positions of those that stand for them there."""
    pairs: dict[int, int] = {}
    steps: tuple[Callable[[Segment], str], ...] = (lambda each: each.sha256, _source, lambda each: "")
    for step in steps:
        taken = set(pairs.values())
        free: dict[tuple[str, str, str], deque[int]] = defaultdict(deque)
        for position, segment in enumerate(there):
            if position not in taken:
                free[segment.item, segment.kind, step(segment)].append(position)
        for position, segment in enumerate(here):
            waiting = free.get((segment.item, segment.kind, step(segment)))
            if position not in pairs and waiting:
                pairs[position] = waiting.popleft()
    return pairs


def _source(segment: Segment) -> str:
    return segment.picture.source if segment.picture is not None else segment.sha256


def _mark(segment: Segment, partner: Segment | None) -> Mark:
    if partner is None:
        return Mark(segment, ADDED)
    return Mark(segment) if partner.sha256 == segment.sha256 else Mark(segment, CHANGED, partner)


def _insert_missing(rows: list[_Groups], there: Sequence[Segment], spots: dict[int, _Spot]) -> None:
    """Give every segment that only the other request has its place among the marks."""
    first = {
        group[0].segment.item: _Spot(groups, group, group[0]) for groups in reversed(rows) for group in groups[::-1]
    }
    for position, segment in enumerate(there):
        if position in spots:
            continue
        mark = Mark(segment, MISSING)
        before = spots.get(position - 1)
        if before is not None and segment.item and before.mark.segment.item == segment.item:
            groups, group = before.groups, before.group
            group.insert(_index(group, before.mark) + 1, mark)
        elif segment.item in first and segment.item:
            groups, group = first[segment.item].groups, first[segment.item].group
            group.insert(0, mark)
        else:
            groups, group = before.groups if before is not None else rows[0], [mark]
            groups.insert(_index(groups, before.group) + 1 if before is not None else 0, group)
        spots[position] = _Spot(groups, group, mark)


def _index(values: Sequence[object], wanted: object) -> int:
    """The position of this very object: equal marks may stand side by side."""
    return next(position for position, value in enumerate(values) if value is wanted)


def _places(items: Sequence[str]) -> dict[str, int]:
    return {item: place for place, item in enumerate(items, 1)}


def _block(group: Sequence[Mark], places: Mapping[str, int], places_there: Mapping[str, int]) -> Block:
    item = group[0].segment.item
    return Block(item, tuple(group), places.get(item, 0), places_there.get(item, 0))


def _settings(request: ShownRequest, other: ShownRequest) -> tuple[str, ...]:
    """What is sent differently beside the messages."""
    here, there = request.params, other.params
    names = [
        name for name in sorted({*here, *there}) if (name in here, here.get(name)) != (name in there, there.get(name))
    ]
    return (
        *(["model"] if request.model != other.model else []),
        *(["tools"] if request.tools != other.tools else []),
        *names,
    )
