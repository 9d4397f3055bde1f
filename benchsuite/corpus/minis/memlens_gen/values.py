"""Values to print: every one is fresh, so that no number answers two questions by accident."""

from __future__ import annotations

import re
from datetime import date, timedelta
from random import Random

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip


def slashed(day: date) -> str:
    """``2024/05/06``: how answers write a day."""
    return f"{day.year:04d}/{day.month:02d}/{day.day:02d}"


def spelled(day: date) -> str:
    """``6 May 2024``: how some tickets print a day."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


class Values:
    """Fresh values by style name; no two that it gives share their figures, whatever the unit.

    ``day`` lies within ``coming`` (first day, last day), ``past`` a year or more before.
    """

    def __init__(self, rng: Random, coming: tuple[date, date]) -> None:
        self._rng = rng
        self._given: set[str] = set()
        self._first, self._days = coming[0], (coming[1] - coming[0]).days

    def fresh(self, style: str) -> tuple[str, str]:
        """A pair (as printed, as an answer writes it). Raises ValueError when the style is unknown or used up."""
        for _ in range(10_000):
            printed, answer = self._draw(style)
            if style.startswith("one:") or self.reserve(answer):
                return printed, answer
        raise ValueError(f"no fresh value left for style {style!r}")

    def reserve(self, answer: str) -> bool:
        """Takes the figures of ``answer`` out of the pool; False when they were given before."""
        figures = re.sub(r"[^0-9.:/]", "", answer)
        if figures in self._given:
            return False
        self._given.add(figures)
        return True

    def _draw(self, style: str) -> tuple[str, str]:
        name, _, option = style.partition(":")
        number = self._rng.randrange
        match name:
            case "money":
                low, high = (int(part) for part in option.split("-"))
                text = f"${number(low, high)}.{number(1, 100):02d}"
            case "count":
                low, high = (int(part) for part in option.split("-"))
                text = str(number(low, high))
            case "unit":
                span, unit = option.split(" ")
                low, high = (int(part) for part in span.split("-"))
                text = f"{number(low, high)} {unit}"
            case "tenth":
                span, unit = option.split(" ")
                low, high = (int(part) for part in span.split("-"))
                text = f"{number(low, high)}.{number(1, 10)} {unit}"
            case "percent":
                text = f"{number(11, 99)}.{number(1, 10)}%"
            case "clock":
                low, high = (int(part) for part in option.split("-"))
                text = f"{number(low, high):02d}:{number(0, 60):02d}"
            case "pin":
                text = str(number(1_200, 9_900))
            case "code":
                letters = "".join(self._rng.choice("ACEHJKLMNPRTWXY") for _ in range(2))
                text = f"{letters}-{number(2_100, 9_900)}"
            case "seat":
                text = f"{self._rng.choice('ABCDEFGHJKLM')}{number(11, 99)}"
            case "version":
                text = f"v{number(2, 10)}.{number(1, 30)}.{number(1, 10)}"
            case "day" | "spelled" | "past":
                day = self._first + timedelta(days=number(self._days))
                if name == "past":
                    day -= timedelta(days=366 + number(30))
                return (spelled(day) if name == "spelled" else slashed(day)), slashed(day)
            case "one":
                text = self._rng.choice(option.split("|"))
            case _:
                raise ValueError(f"unknown value style {style!r}")
        return text, text
