"""Do the dates of a history and of its question fit together: pairs of a kind of problem and what was seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from benchsuite.corpus.model import UNKNOWN_DATE

Found = Iterator[tuple[str, str]]
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATE = re.compile(
    r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?: ?\((?P<weekday>[A-Za-z]{3})[a-z]*\))?"
    r"(?:[ T](?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d)?)?"
)


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """A day, and the minute of the day where one is given (-1: none)."""

    day: date
    minute: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The dates of a question's sessions, in their order, and its own, as the corpus writes them."""

    sessions: Sequence[str]
    question: str

    def faults(self) -> Found:
        """Dates that cannot be read, wrong weekdays, a question that is asked before a session."""
        for name, text in self._named():
            match = _DATE.fullmatch(text)
            if text != UNKNOWN_DATE and read_date(text) is None:
                yield "date that cannot be read", f"{name}: {text!r}"
            elif match and match["weekday"]:
                right = WEEKDAYS[_day(match).weekday()]
                if match["weekday"].capitalize() != right:
                    yield "weekday that does not fit its date", f"{name}: {text!r} is a {right}"
        asked = read_date(self.question)
        for name, text in list(self._named())[:-1]:
            held = read_date(text)
            if asked and held and _is_before(asked, held):
                yield "question asked before a session", f"question_date {self.question!r}, {name} {text!r}"

    def notes(self) -> Found:
        """Absent dates, sessions out of order, two sessions of one minute."""
        for name, text in self._named():
            if text == UNKNOWN_DATE:
                yield "no date", name
        stamps = [stamp for text in self.sessions if (stamp := read_date(text))]
        for number, (one, two) in enumerate(pairwise(stamps), start=1):
            if _is_before(two, one):
                yield (
                    "sessions not in the order of their dates",
                    f"session {number + 1} is of {two.day}, after {one.day}",
                )
        seen: dict[str, int] = {}
        for number, text in enumerate(self.sessions, start=1):
            if text != UNKNOWN_DATE and seen.setdefault(text, number) != number:
                yield "two sessions of one date", f"sessions {seen[text]} and {number}: {text!r}"

    def days(self) -> set[str]:
        """The days of the sessions as ``2024-05-06``."""
        return {stamp.day.isoformat() for text in self.sessions if (stamp := read_date(text))}

    def _named(self) -> Iterator[tuple[str, str]]:
        for number, text in enumerate(self.sessions, start=1):
            yield f"session {number}", text
        yield "question_date", self.question


def read_date(text: str) -> Stamp | None:
    """``2024/05/31 (Fri) 07:58``, also without weekday or time, or with dashes; None for anything else."""
    match = _DATE.fullmatch(text)
    try:
        day = _day(match) if match else None
    except ValueError:  # no such day
        day = None
    if match is None or day is None:
        return None
    return Stamp(day, 60 * int(match["hour"]) + int(match["minute"]) if match["hour"] else -1)


def _day(match: re.Match[str]) -> date:
    return date(int(match[1]), int(match[2]), int(match[3]))


def _is_before(one: Stamp, two: Stamp) -> bool:
    """By the minute where both have one, else by the day."""
    return one < two if min(one.minute, two.minute) >= 0 else one.day < two.day
