"""From templates to planned questions: which images they need, what is said with them, what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from benchsuite.corpus.minis.memlens_gen.specs import (
    Asked,
    Bridge,
    Compare,
    Content,
    Event,
    Fact,
    Field,
    Moment,
    Sheet,
    Shot,
    Template,
)
from benchsuite.corpus.minis.memlens_gen.values import Values, slashed

TIMED = ("day", "spelled", "past", "clock")
"""Styles, without their range, that answer a temporal question."""
TEXT = ("", "", "")  # no template, layout or face: the answer is in message text


def is_timed(style: str) -> bool:
    return style.partition(":")[0] in TIMED


def headline(entity: str) -> str:
    return entity[0].upper() + entity[1:]


class Author:
    """Writes the questions of one half; every draw comes from one seeded generator."""

    def __init__(self, content: Content, rng: Random, values: Values, names: Iterator[str]) -> None:
        self.content, self.rng, self.values, self._names = content, rng, values, names
        self._groups = 0

    # ---- images

    def series(self, template: Template) -> Sheet:
        """A sheet whose labels and values the images of one question share."""
        self._groups += 1
        return Sheet(
            template=template.id,
            kind=template.kind,
            layout=template.layout,
            face=self.rng.choice(self.content.faces),
            title=template.plain,
            subtitle=template.subtitle,
            rows=tuple((field.label, self.values.fresh(field.style)[0]) for field in template.fields),
            footer=template.footer,
            tone=self.rng.randrange(3),
            decor=self.rng.randrange(10_000),
            group=f"{self.content.split}-{self._groups:03d}",
        )

    def shot(self, template: Template, sheet: Sheet, *, needle: bool) -> Shot:
        folder = "needle_images" if needle else "haystack_images"
        return Shot(f"{folder}/{next(self._names)}.png", sheet, template.caption)

    def take(
        self,
        template: Template,
        sheet: Sheet,
        entity: str,
        label: str,
        mode: str,
        *,
        needle: bool,
        text: str = "",
    ) -> tuple[Event, str]:
        """One image of a series for one entity, in its message, and the answer that the image holds.

        ``mode``: the entity stands in the ``title``, in the message ``text``, or in ``both``.
        """
        printed, answer = self.values.fresh(style_of(template, label))
        rows = tuple((name, printed if name == label else value) for name, value in sheet.rows)
        title = template.plain if mode == "text" else headline(entity)
        message = text or self.message(template, entity, mode)
        shot = self.shot(template, replace(sheet, title=title, rows=rows), needle=needle)
        return Event(message.format(entity=entity), shot, gold=needle), answer

    def message(self, template: Template, entity: str, mode: str) -> str:
        if mode != "title":
            return self.rng.choice(template.tells)
        return self.rng.choice(template.hints if self.rng.random() < 0.5 else self.content.vague)

    def mode(self) -> str:
        return self.rng.choice(("both", "both", "text", "title"))

    # ---- questions

    def lookup(self, template: Template, field: Field, *, reword: bool) -> Asked:
        """One value of one image; a second image of the series shows another entity's value."""
        entity, other = self.rng.sample(template.entities, 2)
        sheet, mode = self.series(template), self.mode()
        needle, answer = self.take(template, sheet, entity, field.label, mode, needle=True)
        twin, _ = self.take(template, sheet, other, field.label, mode, needle=False)
        timed = is_timed(field.style)
        return Asked(
            type="temporal_reasoning" if timed else "information_extraction",
            subtype="temporal_info_extraction" if timed else "entity",
            stratum="paraphrase" if reword else "label",
            template=template.id,
            layout=template.layout,
            face=sheet.face,
            text=(field.reword if reword else field.ask).format(entity=entity),
            answer=answer,
            events=self.shuffled(needle, twin),
        )

    def update(self, template: Template, field: Field) -> Asked:
        """An old and a newer image of one entity, and a second entity."""
        entity, other = self.rng.sample(template.entities, 2)
        sheet = self.series(template)
        old, old_answer = self.take(template, sheet, entity, field.label, "both", needle=True, text=template.old)
        new, answer = self.take(template, sheet, entity, field.label, "both", needle=True, text=template.new)
        twin, _ = self.take(template, sheet, other, field.label, "both", needle=False)
        return Asked(
            type="knowledge_update",
            subtype="entity",
            stratum="label",
            template=template.id,
            layout=template.layout,
            face=sheet.face,
            text=field.current.format(entity=entity),
            answer=answer,
            events=self.rng.choice(((old, new, twin), (old, twin, new), (twin, old, new))),
            old_answer=old_answer,
        )

    def bridge(self, template: Template, bridge: Bridge) -> Asked:
        """A message names the entity's role; the value is in another session's image."""
        other = self.rng.choice([entity for entity in template.entities if entity != bridge.entity])
        sheet, mode = self.series(template), self.rng.choice(("both", "text"))
        needle, answer = self.take(template, sheet, bridge.entity, bridge.label, mode, needle=True)
        twin, _ = self.take(template, sheet, other, bridge.label, mode, needle=False)
        return Asked(
            type="multi_session_reasoning",
            subtype="entity",
            stratum="bridge",
            template=template.id,
            layout=template.layout,
            face=sheet.face,
            text=bridge.ask,
            answer=answer,
            events=self.shuffled(Event(bridge.said, gold=True), needle, twin),
        )

    def compare(self, template: Template, compare: Compare, how: str) -> Asked:
        """Two images of one series against each other, and a third entity."""
        first, second, other = self.rng.sample(template.entities, 3)
        sheet = self.series(template)
        one, left = self.take(template, sheet, first, compare.label, "both", needle=True)
        two, right = self.take(template, sheet, second, compare.label, "both", needle=True)
        twin, _ = self.take(template, sheet, other, compare.label, "both", needle=False)
        amounts = {answer: round(float(answer.lstrip("$")) * 100) for answer in (left, right)}
        cents = amounts[left] + amounts[right]
        answer = {
            "highest": max(amounts, key=lambda text: amounts[text]),
            "lowest": min(amounts, key=lambda text: amounts[text]),
            "total": f"${cents // 100}.{cents % 100:02d}",
            "higher": "Yes" if amounts[left] > amounts[right] else "No",
        }[how]
        self.values.reserve(answer)
        return Asked(
            type="multi_session_reasoning",
            subtype="entity_resolution" if how == "higher" else "arithmetic",
            stratum="compose",
            template=template.id,
            layout=template.layout,
            face=sheet.face,
            text=getattr(compare, how).format(a=first, b=second),
            answer=answer,
            events=self.shuffled(one, two, twin),
        )

    def order(self, template: Template, label: str) -> Asked:
        """Three tickets to be put in the order of their printed days, and a fourth one."""
        *entities, other = self.rng.sample(template.entities, 4)
        sheet = self.series(template)
        taken = [self.take(template, sheet, entity, label, "both", needle=True) for entity in entities]
        twin, _ = self.take(template, sheet, other, label, "both", needle=False)
        ranked = sorted(range(3), key=lambda index: taken[index][1])
        return Asked(
            type="temporal_reasoning",
            subtype="order_ranking",
            stratum="compose",
            template=template.id,
            layout=template.layout,
            face=sheet.face,
            text=self.content.order_ask.format(a=entities[0], b=entities[1], c=entities[2]),
            answer="".join(f"({index + 1})" for index in ranked),
            events=self.shuffled(*(event for event, _ in taken), twin),
        )

    def longer(self) -> Asked:
        """Two stays told in text; which one took longer."""
        spans = self.rng.sample((4, 9, 15, 23), 2)
        events = []
        for said, span in zip(self.content.longer_said, spans, strict=True):
            start = date(2023, 2, 1) + timedelta(days=self.rng.randrange(240))
            end = start + timedelta(days=span)
            events.append(Event(said.format(start=slashed(start), end=slashed(end)), gold=True))
        return Asked(
            "temporal_reasoning", "duration_comparison", "text", *TEXT,
            text=self.content.longer_ask,
            answer="A" if spans[0] > spans[1] else "B",
            events=self.shuffled(*events),
        )  # fmt: skip

    def moment(self, moment: Moment) -> Asked:
        """The day of a message; only a delivery with dates can tell it."""
        return Asked(
            "temporal_reasoning", "temporal_info_extraction", "date", *TEXT,
            text=moment.ask,
            answer="",
            events=(Event(moment.said, gold=True),),
            dated_by=0,
        )  # fmt: skip

    def fact(self, fact: Fact) -> Asked:
        """A value told in message text alone, beside a similar one."""
        said, other, later = (self.values.fresh(fact.style)[0] for _ in range(3))
        first = Event(fact.said.format(value=said), gold=True)
        twin = Event(fact.other.format(value=other))
        if fact.later:
            events: tuple[Event, ...] = (first, twin, Event(fact.later.format(value=later), gold=True))
        elif fact.link:
            events = self.shuffled(first, twin, Event(fact.link, gold=True))
        else:
            events = self.shuffled(first, twin)
        return Asked(
            fact.type, "temporal_info_extraction" if is_timed(fact.style) else "entity", "text", *TEXT,
            text=fact.ask,
            answer=later if fact.later else said,
            events=events,
            old_answer=said if fact.later else "",
        )  # fmt: skip

    def refusal(self, template: Template, beside: Asked, *, entity: bool, used: set[str]) -> Asked:
        """Nothing in the history answers it: an ``entity`` never shown, or a field never printed."""
        if entity:
            free = [name for name in template.entities if name not in used]
            asks = [field.reword or field.ask for field in template.fields if field.ask]
            text = self.rng.choice(asks).format(entity=self.rng.choice(free))
        else:
            shown = [name for name in template.entities if name in used]
            text = self.rng.choice(template.absent).format(entity=self.rng.choice(shown))
        return Asked(
            type="answer_refusal",
            subtype="",
            stratum="absent-entity" if entity else "absent-field",
            template=template.id,
            layout=template.layout,
            face=beside.face,
            text=text,
            answer="Insufficient information",
            events=(),
        )

    def haystack(self, template: Template, entity: str) -> Event:
        """An image that no question asks about."""
        sheet = self.series(template)
        shot = self.shot(template, replace(sheet, title=headline(entity)), needle=False)
        return Event(self.rng.choice((*template.tells, *template.hints)).format(entity=entity), shot)

    def shuffled(self, *events: Event) -> tuple[Event, ...]:
        order = list(events)
        self.rng.shuffle(order)
        return tuple(order)


def style_of(template: Template, label: str) -> str:
    return next(field.style for field in template.fields if field.label == label)


def mentions(asked: Asked, names: tuple[str, ...]) -> set[str]:
    """The names that a planned question uses, in its wording, its messages or its titles."""
    said = " ".join((asked.text, *(event.text for event in asked.events)))
    titles = {event.shot.sheet.title for event in asked.events if event.shot}
    return {name for name in names if name in said or headline(name) in titles}
