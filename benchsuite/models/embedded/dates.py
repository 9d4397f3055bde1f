"""Calendar dates as people print them, rewritten when a question asks for a form such as YYYY-MM-DD."""

from __future__ import annotations

import re

_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_YEAR_FIRST = re.compile(r"\b(\d{4})[-/. ](\d{1,2})[-/. ](\d{1,2})\b")
_DAY_MONTH_YEAR = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?[ .-]*([a-z]{3})[a-z]*[ .,-]*(\d{4})\b", re.I)
_MONTH_DAY_YEAR = re.compile(r"\b([a-z]{3})[a-z]*\.?\s*(\d{1,2})(?:st|nd|rd|th)?[ ,.]+(\d{4})\b", re.I)
_NUMBERS = re.compile(r"\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b")
_FORM = re.compile(r"\b[YMD]{1,4}(?:[-/. ][YMD]{1,4}){1,2}\b")


def parse_date(text: str) -> tuple[int, int, int] | None:
    """The first full date in ``text`` as (year, month, day); None when there is none.

    Between two numbers before a year the first is the day, unless only the other reading is a date.
    """
    if match := _YEAR_FIRST.search(text):
        return _checked(int(match[1]), int(match[2]), int(match[3]))
    if match := _DAY_MONTH_YEAR.search(text):
        return _checked(int(match[3]), _month(match[2]), int(match[1]))
    if match := _MONTH_DAY_YEAR.search(text):
        return _checked(int(match[3]), _month(match[1]), int(match[2]))
    if match := _NUMBERS.search(text):
        first, second, year = int(match[1]), int(match[2]), int(match[3])
        return _checked(year, second, first) or _checked(year, first, second)
    return None


def in_asked_form(answer: str, request: str) -> str:
    """``answer`` with its date in the form that ``request`` spells (``YYYY/MM/DD``), else as it stands."""
    form = _FORM.search(request)
    date = parse_date(answer) if form else None
    if form is None or date is None:
        return answer
    return re.sub(r"Y+|M+|D+", lambda field: _field(field[0], date), form[0])


def _field(letters: str, date: tuple[int, int, int]) -> str:
    number = date["YMD".index(letters[0])]
    return str(number).zfill(len(letters))[-len(letters) if letters[0] == "Y" else 0 :]


def _month(name: str) -> int:
    position = _MONTHS.find(name.lower())
    return position // 3 + 1 if position % 3 == 0 else 0


def _checked(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
