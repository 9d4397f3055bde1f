"""From a history to its longer forms: the same sessions, with others between, before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from benchsuite.corpus.minis.memlens_gen.histories import CLOCK, FIRST_DAY, LAST_DAY, Meeting, Round, Story, stamp
from benchsuite.corpus.minis.memlens_gen.questions import Author
from benchsuite.corpus.minis.memlens_gen.specs import Event
from benchsuite.corpus.minis.memlens_gen.values import slashed

FACTORS = (1, 2, 4, 8)
"""How many times the sessions of the shortest length a history has at each length; the file says ``2x``."""
CLOCKS = 120


def lengthen(author: Author, stories: Sequence[Story], pictures: Sequence[Event]) -> list[Story]:
    """The stories of one half with the meetings of their longer forms.

    ``pictures`` are the images that no question asks about. They, the further ones that are made here and the
    small talk are shared between the histories; none comes twice in one. What is added names none of the
    entities that are asked about, and every figure in it is fresh. Raises ValueError when there is too little.
    """
    content, rng = author.content, author.rng
    filler = content.filler
    further = [author.haystack(t, entity) for t in content.templates for entity in filler.entities[t.id]]
    talk = [
        *(Round(Event(said), reply) for said, reply in content.chatter),
        *(Round(Event(phrase.said.format(it=it)), phrase.reply) for phrase in filler.phrases for it in phrase.its),
        *(
            Round(Event(aside.said.format(value=author.values.fresh(aside.style)[0])), rng.choice(content.noted))
            for aside in filler.asides
        ),
    ]
    clocks = [author.values.fresh(CLOCK)[0] for _ in range(CLOCKS)]
    shown = [Round(event, rng.choice(content.seen)) for event in (*pictures, *further)]
    return [replace(story, more=_more(author, story, shown, talk, clocks)) for story in stories]


def at_factor(story: Story, factor: int) -> list[tuple[int, Meeting]]:
    """The meetings of one length in the order of their dates, each with its number within the story."""
    count = (factor - 1) * len(story.meetings)
    numbered = enumerate((*story.meetings, *story.more[:count]))
    return sorted(numbered, key=lambda pair: pair[1].date)


def _more(
    author: Author, story: Story, shown: list[Round], talk: list[Round], clocks: list[str]
) -> tuple[Meeting, ...]:
    """What the longest form adds, in portions that each have as many sessions, turns and images as the shortest."""
    rng = author.rng
    said = {round_.event.text for meeting in story.meetings for round_ in meeting.rounds}
    files = {round_.event.shot.file for meeting in story.meetings for round_ in meeting.rounds if round_.event.shot}
    pictures = [round_ for round_ in shown if round_.event.shot and round_.event.shot.file not in files]
    remarks = [round_ for round_ in talk if round_.event.text not in said]
    rng.shuffle(pictures)
    rng.shuffle(remarks)
    lengths = [len(meeting.rounds) for meeting in story.meetings]
    taken = {meeting.date.split(" ")[0] for meeting in story.meetings}
    days = [FIRST_DAY + timedelta(days=day) for day in range((LAST_DAY - FIRST_DAY).days)]
    portions = FACTORS[-1] - 1
    free = rng.sample([day for day in days if slashed(day) not in taken], portions * len(lengths))
    times = rng.sample(clocks, len(free))
    dates = [stamp(day, time) for day, time in zip(free, times, strict=True)]
    meetings = []
    for _ in range(portions):
        rounds = _take(pictures, len(files)) + _take(remarks, sum(lengths) - len(files))
        rng.shuffle(rounds)
        rng.shuffle(lengths)
        meetings += [Meeting(dates.pop(), tuple(_take(rounds, length))) for length in lengths]
    return tuple(meetings)


def _take(rounds: list[Round], count: int) -> list[Round]:
    """Removes and returns the last ``count``. Raises ValueError when there are fewer."""
    if count > len(rounds):
        raise ValueError(f"{count} rounds are needed for a longer history, {len(rounds)} are left")
    taken = rounds[len(rounds) - count :]
    del rounds[len(rounds) - count :]
    return taken
