"""From planned questions to histories: who shares one, in which session a message falls, what is around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import TypeVar

from benchsuite.corpus.minis.memlens_gen.questions import Author, is_timed, mentions
from benchsuite.corpus.minis.memlens_gen.specs import Asked, Content, Event, Field, Template
from benchsuite.corpus.minis.memlens_gen.values import slashed

T = TypeVar("T")

FIRST_DAY, LAST_DAY = date(2024, 1, 8), date(2024, 6, 20)
COMING = (date(2024, 7, 1), date(2024, 12, 20))
"""Printed days lie outside the days on which sessions take place."""
CLOCK = "clock:7-23"
"""The style of the time of a session: fresh, so that no image prints it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many questions of each make a half has."""

    histories: int
    label: int
    reword: int
    timed_label: int
    timed_reword: int
    updates: int
    bridges: int
    compare: tuple[str, ...]
    order: int
    longer: int
    absent_entities: int
    absent_fields: int


PLANS = {
    "eval": Plan(26, 12, 5, 8, 4, 8, 5, ("highest", "highest", "lowest", "total", "higher"), 1, 1, 4, 4),
    "dev": Plan(13, 7, 2, 4, 2, 4, 2, ("highest", "total", "higher"), 0, 0, 2, 2),
}


@dataclass(frozen=True, slots=True)
class Round:
    """One user message, possibly with an image, and the assistant's reply."""

    event: Event
    reply: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """One session: its date as the corpus writes it, and its rounds."""

    date: str
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """One history, the questions asked about it, and the day they are asked.

    ``more`` are meetings of its longer forms, at first none.
    """

    split: str
    meetings: tuple[Meeting, ...]
    asked: tuple[Asked, ...]
    asked_on: str
    more: tuple[Meeting, ...] = ()


def write_half(author: Author) -> tuple[list[Story], list[Event]]:
    """All histories of one half, and the images that its questions do not ask about."""
    content = author.content
    groups = share(content, author, plan_questions(content, author))
    pool = [author.haystack(template, entity) for template in content.templates for entity in template.others]
    author.rng.shuffle(pool)
    supply = _cycle(pool)
    return [_story(content, author, group, supply) for group in groups], pool


def plan_questions(content: Content, author: Author) -> list[Asked]:
    """Every question of a half but the refusals, which need a history to be missing from."""
    plan, rng = PLANS[content.split], author.rng
    fields = [(template, field) for template in content.templates for field in template.fields]
    plain = [pair for pair in fields if not is_timed(pair[1].style)]
    timed = [pair for pair in fields if is_timed(pair[1].style)]
    asked = [
        *(author.lookup(t, f, reword=False) for t, f in _spread(rng, plain, plan.label, "ask")),
        *(author.lookup(t, f, reword=True) for t, f in _spread(rng, plain, plan.reword, "reword")),
        *(author.lookup(t, f, reword=False) for t, f in _spread(rng, timed, plan.timed_label, "ask")),
        *(author.lookup(t, f, reword=True) for t, f in _spread(rng, timed, plan.timed_reword, "reword")),
        *(author.update(t, f) for t, f in _spread(rng, fields, plan.updates, "current")),
    ]
    bridges = [(template, bridge) for template in content.templates for bridge in template.bridges]
    asked += [author.bridge(template, bridge) for template, bridge in rng.sample(bridges, plan.bridges)]
    comparable = _cycle([(t, t.compare) for t in content.templates if t.compare])
    for how in plan.compare:
        template, compare = next(comparable)
        asked.append(author.compare(template, compare, how))
    tickets = [(t, f) for t, f in timed if t.kind == "ticket" and f.style == "day"]
    asked += [author.order(template, field.label) for template, field in tickets[: plan.order]]
    asked += [author.longer() for _ in range(plan.longer)]
    asked += [author.fact(fact) for fact in content.facts]
    asked += [author.moment(moment) for moment in content.moments]
    rng.shuffle(asked)
    return asked


def share(content: Content, author: Author, asked: list[Asked]) -> list[tuple[Asked, ...]]:
    """Spreads the questions over the histories; no two of one history share a template.

    Refusals join a history that has their template. Raises ValueError when a question finds no place.
    """
    plan = PLANS[content.split]
    groups: list[list[Asked]] = [[] for _ in range(plan.histories)]
    for one in sorted(asked, key=lambda one: not one.template):  # those with images first: they are choosy
        taken = [{other.template for other in group} if one.template else set() for group in groups]
        free = [i for i, group in enumerate(groups) if len(group) < 3 and one.template not in taken[i]]
        if not free:
            raise ValueError(f"no history has room for {one.text!r}")
        groups[min(free, key=lambda i: (len(groups[i]), author.rng.random()))].append(one)
    by_id = {template.id: template for template in content.templates}
    kinds = [True] * plan.absent_entities + [False] * plan.absent_fields
    hosts = sorted(range(len(groups)), key=lambda i: (len(groups[i]), i))
    for entity, host in zip(kinds, hosts, strict=False):
        beside = next(one for one in groups[host] if one.template)
        template = by_id[beside.template]
        used = mentions(beside, template.entities)
        groups[host].append(author.refusal(template, beside, entity=entity, used=used))
    return [tuple(group) for group in groups]


def _spread(rng: Random, pairs: list[tuple[Template, Field]], count: int, wording: str) -> list[tuple[Template, Field]]:
    """``count`` pairs that have this wording, as many different templates as there are."""
    fit = [pair for pair in pairs if getattr(pair[1], wording)]
    rng.shuffle(fit)
    seen: dict[str, int] = {}
    ranked = []
    for position, pair in enumerate(fit):
        seen[pair[0].id] = seen.get(pair[0].id, 0) + 1
        ranked.append((seen[pair[0].id], position, pair))
    supply = _cycle([pair for _, _, pair in sorted(ranked, key=lambda entry: entry[:2])])
    return [next(supply) for _ in range(count)]


def _story(content: Content, author: Author, asked: tuple[Asked, ...], supply: Iterator[Event]) -> Story:
    """Places the events of some questions into sessions and fills up with other images and small talk."""
    rng = author.rng
    size = rng.randrange(10, 15)
    dates = _dates(author, size)
    slots: list[list[Round]] = [[] for _ in range(size)]
    settled = []
    for one in asked:
        places = sorted(rng.sample(range(size), len(one.events)))
        for place, event in zip(places, one.events, strict=True):
            slots[place].append(Round(event, rng.choice(content.seen if event.shot else content.noted)))
        settled.append(one if one.dated_by < 0 else _dated(one, dates[places[one.dated_by]]))
    lengths = [max(len(slot), 2) for slot in slots]
    images = sum(round_.event.shot is not None for slot in slots for round_ in slot)
    missing = max(rng.randrange(10, 16) - images, 3)
    chat = iter(rng.sample(content.chatter, min(len(content.chatter), sum(lengths))))
    gaps = [index for index, slot in enumerate(slots) for _ in range(lengths[index] - len(slot))]
    pictured = set(rng.sample(range(len(gaps)), min(missing, len(gaps))))
    for position, index in enumerate(gaps):
        if position in pictured:
            slots[index].append(Round(next(supply), rng.choice(content.seen)))
        else:
            said, reply = next(chat)
            slots[index].append(Round(Event(said), reply))
    for slot in slots:
        rng.shuffle(slot)
    asked_on = date(2025, 1, 2) + timedelta(days=rng.randrange(28))
    return Story(
        split=content.split,
        meetings=tuple(Meeting(day, tuple(slot)) for day, slot in zip(dates, slots, strict=True)),
        asked=tuple(settled),
        asked_on=_fresh_stamp(author, asked_on),
    )


def _dated(asked: Asked, stamp: str) -> Asked:
    return Asked(
        asked.type, asked.subtype, asked.stratum, asked.template, asked.layout, asked.face,
        asked.text, stamp.split(" ")[0], asked.events,
    )  # fmt: skip


def _dates(author: Author, count: int) -> list[str]:
    days = author.rng.sample(range((LAST_DAY - FIRST_DAY).days), count)
    return [_fresh_stamp(author, FIRST_DAY + timedelta(days=day)) for day in sorted(days)]


def _fresh_stamp(author: Author, day: date) -> str:
    return stamp(day, author.values.fresh(CLOCK)[0])


def stamp(day: date, time: str) -> str:
    """``2024/05/06 (Mon) 17:17``."""
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[day.weekday()]
    return f"{slashed(day)} ({weekday}) {time}"


def _cycle(pool: list[T]) -> Iterator[T]:
    while pool:
        yield from pool
