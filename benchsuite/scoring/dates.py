"""Dates and times of day in running text, rewritten in one form before tokens are cut.

A date becomes ``YYYY/MM/DD``. It is read where its writing leaves one reading: year first, a month by name, or
figures of which one can be no month (``15/01/2024``). ``03/04/2024`` and two-digit years are left as they stand.
A time with a.m. or p.m. becomes the 24-hour ``H:MM``; one without is taken as 24-hour already.

Texts are NFKC, case-folded, their dashes plain.
"""

from __future__ import annotations

import re
from datetime import date

_NAMES = (
    "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS = {form: i for i, name in enumerate(_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
_DAYS = "|".join(f"{name}day" for name in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"))
_DAY = rf"(?:{_DAYS}|(?:mon|tues?|wed|thu|thurs|fri|sat|sun)\b\.?)"
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_TH = r"(?:st|nd|rd|th)?"
_TO_MONTH = r"(?:\s*[-/.]\s*|\s+(?:of\s+)?)"
_TO_YEAR = r"(?:\s*[-/.,]\s*|\s+(?:of\s+)?)"
_BEFORE = rf"(?<![\w/.-])(?:{_DAY},?\s+(?:the\s+)?)?"
_AFTER = rf"(?:,?\s*\({_DAY}\)|,?\s+(?:{_DAYS})\b)?(?:,?\s+at(?=\s+\d\d?:\d\d))?"
_FULL = re.compile(
    rf"{_BEFORE}(?:"
    rf"(?P<y1>\d{{4}})(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})"
    rf"|(?P<d2>\d{{1,2}}){_TH}{_TO_MONTH}(?P<m2>{_MONTH}){_TO_YEAR}(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH}){_TO_MONTH}(?P<d3>\d{{1,2}}){_TH}{_TO_YEAR}(?P<y3>\d{{4}})"
    rf"|(?P<y4>\d{{4}}){_TO_YEAR}(?P<m4>{_MONTH}){_TO_MONTH}(?P<d4>\d{{1,2}}){_TH}"
    rf"|(?P<a>\d{{1,2}})(?P<s5>[-/.])(?P<b>\d{{1,2}})(?P=s5)(?P<y5>\d{{4}})"
    rf")(?:t(?=\d\d:\d\d)|(?![-/]?\w|\.\d)){_AFTER}"
)
_PARTIAL = re.compile(
    rf"{_BEFORE}(?:"
    rf"(?P<d2>\d{{1,2}}){_TH}{_TO_MONTH}(?P<m2>{_MONTH})"
    rf"|(?P<m3>{_MONTH}){_TO_MONTH}(?P<d3>\d{{1,2}}){_TH}"
    rf"|(?P<m4>{_MONTH}){_TO_YEAR}(?P<y4>\d{{4}})"
    rf")(?![-/]?\w|\.\d|\s+-\s+\d){_AFTER}"
)
_CLOCK = re.compile(r"(?<![\w.:/,-])(\d{1,2})(?::(\d\d))?\s?([ap])(?:m|\.\s?m)\b\.?")
_LEAP = 2000  # a year that has every day of every month: what a date without a year is checked in


def normal_times(text: str) -> str:
    """``4:22 p.m.`` as ``16:22``, ``10 AM`` as ``10:00``."""
    return _CLOCK.sub(_clock, text)


def normal_dates(text: str, *, partial: bool = False) -> str:
    """Full dates as ``YYYY/MM/DD``, weekdays beside them dropped.

    With ``partial`` also a day without a year (``0000/MM/DD``) and a month with one (``YYYY/MM/00``).
    """
    text = _FULL.sub(_full, text)
    return _PARTIAL.sub(_partial, text) if partial else text


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), match[2] or "00"
    if not 1 <= hour <= 12 or int(minute) > 59:
        return match[0]
    return f"{hour % 12 + (12 if match[3] == 'p' else 0)}:{minute}"


def _full(match: re.Match[str]) -> str:
    if match["a"]:
        first, second = int(match["a"]), int(match["b"])
        if first != second and max(first, second) <= 12:
            return match[0]
        day, month = (first, second) if second <= 12 else (second, first)
        return _written(match, int(match["y5"]), month, day)
    (n,) = (n for n in "1234" if match[f"y{n}"])
    return _written(match, int(match[f"y{n}"]), _month(match[f"m{n}"]), int(match[f"d{n}"]))


def _partial(match: re.Match[str]) -> str:
    if match["y4"]:
        return _written(match, int(match["y4"]), _month(match["m4"]), 0)
    n = "2" if match["m2"] else "3"
    return _written(match, 0, _month(match[f"m{n}"]), int(match[f"d{n}"]))


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS[text.rstrip(".")]


def _written(match: re.Match[str], year: int, month: int, day: int) -> str:
    """The date, or the text as it stood where the calendar has no such day."""
    try:
        date(year or _LEAP, month, day or 1)
    except ValueError:
        return match[0]
    return f"{year:04}/{month:02}/{day:02} "
