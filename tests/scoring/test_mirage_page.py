"""The tables of docs/mirage-scoring.md are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchsuite.scoring.mirage import SCORER, canonical_source
from benchsuite.scoring.mirage_values import values_equal

PAGE = (Path(__file__).parents[2] / "docs" / "mirage-scoring.md").read_text()
ALIASES = {
    "obj_1a2b": "obj_1a2b",
    "shots/obj_1a2b.png": "obj_1a2b",
    "tables/fitness.csv": "obj_1a2b",
    "obj_9c8d": "obj_9c8d",
    "shots/obj_9c8d.png": "obj_9c8d",
}


def rows(section: str) -> list[list[str]]:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines][1:]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


@pytest.mark.parametrize(("source", "verdict"), [(row[0], row[1]) for row in rows("SOURCE") if quoted(row[0])])
def test_a_source_of_the_page(source, verdict):
    for raw in quoted(source):
        found = canonical_source(raw, ALIASES)
        assert found == (verdict.strip("`") if verdict != "wrong" else "")


@pytest.mark.parametrize(("gold", "answers", "verdict", "why"), rows("ANSWER"))
def test_a_value_of_the_page(gold, answers, verdict, why):
    named = re.search(r"if the question says \*(\w+)\*", why)
    for answer in quoted(answers):
        (value,) = quoted(gold)
        assert values_equal(value, answer, f"How many {named[1]}?" if named else "") is (verdict == "right")
        if named:
            assert not values_equal(value, answer)


def test_the_page_names_the_scorer_and_has_its_tables():
    assert f"`{SCORER}`" in PAGE
    assert (len(rows("SOURCE")), len(rows("ANSWER")), len(rows("Indicators"))) == (12, 14, 8)
