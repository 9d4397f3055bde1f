"""Dates in the form that a question asks for."""

from __future__ import annotations

import pytest

from benchsuite.models.embedded.dates import in_asked_form, parse_date


@pytest.mark.parametrize(
    "printed",
    ["2024/03/05", "2024-3-5", "5 March 2024", "5th Mar. 2024", "Tue, 5 Mar 2024", "Mar 5, 2024",
     "March 5th 2024", "05.03.2024", "5/3/2024", "Use by 05-03-2024"],
)  # fmt: skip
def test_printed_dates(printed: str) -> None:
    assert parse_date(printed) == (2024, 3, 5)
    assert in_asked_form(printed, "Answer as YYYY/MM/DD.") == "2024/03/05"
    assert in_asked_form(printed, "Write DD-MM-YY.") == "05-03-24"
    assert in_asked_form(printed, "") == printed


@pytest.mark.parametrize("text", ["", "14:30", "$20.24", "March", "99/99/2024", "Gate 12 2024", "1234 5678 90"])
def test_other_text_is_left_alone(text: str) -> None:
    assert parse_date(text) is None
    assert in_asked_form(text, "Answer as YYYY/MM/DD.") == text


def test_the_only_possible_reading_is_taken() -> None:
    assert parse_date("12/25/2024") == (2024, 12, 25)
