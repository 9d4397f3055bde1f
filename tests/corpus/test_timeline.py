"""The dates of a corpus: every form that is read, and every contradiction by its kind."""

from __future__ import annotations

from datetime import date

import pytest

from benchsuite.corpus.check.timeline import Stamp, Timeline, read_date


@pytest.mark.parametrize(
    ("text", "day", "minute"),
    [
        ("2024/05/31 (Fri) 07:58", date(2024, 5, 31), 478),
        ("2024/05/31 07:58", date(2024, 5, 31), 478),
        ("2024-05-31T07:58:01", date(2024, 5, 31), 478),
        ("2024/05/31 (Friday)", date(2024, 5, 31), -1),
        ("2024/5/1", date(2024, 5, 1), -1),
    ],
)
def test_forms_that_are_read(text: str, day: date, minute: int) -> None:
    assert read_date(text) == Stamp(day, minute)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unknown",
        "31 May 2024",
        "2024/13/01",
        "2023/02/29",
        "2024/05/31 25:00",
        "2024/05/31 07:58 UTC",
        "0000/01/01",
    ],
)
def test_forms_that_are_not(text: str) -> None:
    assert read_date(text) is None


def kinds(question: str, *sessions: str) -> tuple[list[str], list[str]]:
    timeline = Timeline(sessions, question)
    return [kind for kind, _ in timeline.faults()], [kind for kind, _ in timeline.notes()]


def test_what_fits_together() -> None:
    assert kinds("2024/05/31 (Fri) 07:58", "2024/05/06 (Mon) 17:17", "2024/05/07 (Tue) 09:00") == ([], [])
    assert kinds("2024/05/07", "2024/05/07 23:59") == ([], [])  # the same day is all that is known
    assert Timeline(["2024/05/06 (Mon) 17:17", "unknown"], "").days() == {"2024-05-06"}


def test_contradictions() -> None:
    assert kinds("2024/05/07 09:00", "2024/05/07 09:01")[0] == ["question asked before a session"]
    assert kinds("2024/05/06", "2024/05/07 09:01")[0] == ["question asked before a session"]
    assert kinds("2024/05/31 (Thu)", "2024/05/07 (Wed)")[0] == ["weekday that does not fit its date"] * 2
    assert kinds("soon", "2024/02/30")[0] == ["date that cannot be read"] * 2
    assert kinds("unknown", "unknown") == ([], ["no date", "no date"])
    assert kinds("2024/05/31", "2024/05/07", "unknown", "2024/05/06", "2024/05/07")[1] == [
        "no date",
        "sessions not in the order of their dates",
        "two sessions of one date",
    ]
