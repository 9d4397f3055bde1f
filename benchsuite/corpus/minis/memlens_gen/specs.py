"""What the generator is told (templates, texts) and what it hands on (sheets, planned questions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """One labelled value of a template.

    ``style`` names a value generator (``values.Values``). ``ask`` repeats the printed label, ``reword`` does
    not; both take ``{entity}``. ``current`` asks for the newest value. Empty: never asked that way.
    """

    label: str
    style: str
    ask: str = ""
    reword: str = ""
    current: str = ""


@dataclass(frozen=True, slots=True)
class Bridge:
    """Two-session evidence: ``said`` names the entity's role, ``ask`` uses the role, the value is in the image."""

    entity: str
    said: str
    ask: str
    label: str


@dataclass(frozen=True, slots=True)
class Compare:
    """Questions over two images of one template; ``{a}`` and ``{b}`` are their entities."""

    label: str
    highest: str
    lowest: str
    total: str
    higher: str


@dataclass(frozen=True, slots=True)
class Template:
    """A family of images that share layout and labels and differ in entity and values.

    ``entities`` are for questions and their distractors, ``others`` for unrelated images. ``plain`` is the
    title where only the message says which entity is shown. ``tells`` are messages that name the entity,
    ``hints`` are messages that do not. ``absent`` are questions about a field that is never printed.
    """

    id: str
    kind: str
    layout: str
    caption: str
    plain: str
    subtitle: str
    footer: str
    fields: tuple[Field, ...]
    entities: tuple[str, ...]
    others: tuple[str, ...]
    tells: tuple[str, ...]
    hints: tuple[str, ...]
    old: str = ""
    new: str = ""
    absent: tuple[str, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    compare: Compare | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact told in message text alone. ``said``, ``other`` take ``{value}``; ``later`` makes it an update."""

    type: str
    style: str
    said: str
    other: str
    ask: str
    later: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something mentioned once; the answer is the date of the message."""

    said: str
    ask: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Small talk with a gap ``{it}`` and what may stand in it."""

    said: str
    reply: str
    its: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """A message with a figure that no question asks about; ``said`` takes ``{value}``."""

    style: str
    said: str


@dataclass(frozen=True, slots=True)
class Filler:
    """What only longer histories say and show. ``entities`` are further unrelated ones, by template id."""

    entities: Mapping[str, tuple[str, ...]]
    phrases: tuple[Phrase, ...]
    asides: tuple[Aside, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """Everything one half is written from; the halves share none of it."""

    split: str
    templates: tuple[Template, ...]
    faces: tuple[str, ...]
    facts: tuple[Fact, ...]
    moments: tuple[Moment, ...]
    chatter: tuple[tuple[str, str], ...]
    vague: tuple[str, ...]
    seen: tuple[str, ...]
    noted: tuple[str, ...]
    order_ask: str
    longer_ask: str
    longer_said: tuple[str, ...]
    filler: Filler


@dataclass(frozen=True, slots=True)
class Sheet:
    """The words of one image, before it is drawn. ``tone`` picks the colours, ``decor`` seeds ornaments."""

    template: str
    kind: str
    layout: str
    face: str
    title: str
    subtitle: str
    rows: tuple[tuple[str, str], ...]
    footer: str
    tone: int
    decor: int
    group: str


@dataclass(frozen=True, slots=True)
class Shot:
    """A sheet with the file it is drawn into (``needle_images/<12 hex>.png``)."""

    file: str
    sheet: Sheet
    caption: str


@dataclass(frozen=True, slots=True)
class Event:
    """One user turn that a question needs in its history, with or without an image."""

    text: str
    shot: Shot | None = None
    gold: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A planned question and its events, in the order in which they must happen."""

    type: str
    subtype: str
    stratum: str
    template: str
    layout: str
    face: str
    text: str
    answer: str
    events: tuple[Event, ...]
    old_answer: str = ""
    dated_by: int = -1
