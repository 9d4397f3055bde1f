"""Experiments that declare arms one by one instead of a product of axes, and all lengths of a corpus."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

Project = Any  # tests/plugin/conftest.py

CASE = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(
    arms=[
        {"retrieval": "recency", "delivery": "pixels"},
        {"retrieval": "none", "delivery": "noimg"},
        {"retrieval": "recency", "delivery": "noimg", "k": 1},
    ],
    repeat=[0, 1],
    SETTINGS
)
def test_arms(outcome):
    assert outcome.answered
"""


def write_case(project: Project, settings: str = "") -> None:
    (project.pytester.path / "cases" / "test_delivery.py").write_text(CASE.replace("SETTINGS", settings))


def arms(project: Project) -> Counter[tuple[str, str, int, int]]:
    rows = project.rows().values()
    return Counter((row["arm.retrieval"], row["arm.delivery"], row["arm.k"], row["arm.repeat"]) for row in rows)


def test_only_the_named_arms_are_planned_each_crossed_with_the_axes(project: Project) -> None:
    project.corpus(2)
    write_case(project)
    assert project.run().ret == 0
    named = [("recency", "pixels", 10), ("none", "noimg", 10), ("recency", "noimg", 1)]
    assert arms(project) == {(*arm, repeat): 2 for arm in named for repeat in (0, 1)}


def test_an_option_replaces_the_axis_in_every_arm_and_equal_arms_are_one(project: Project) -> None:
    project.corpus(2)
    write_case(project)
    assert project.run("--bench-axis", "delivery=noimg", "--bench-axis", "k=10").ret == 0
    assert arms(project) == {(name, "noimg", 10, repeat): 2 for name in ("recency", "none") for repeat in (0, 1)}


def test_an_axis_beside_arms_that_have_it_is_refused(project: Project) -> None:
    project.corpus(2)
    write_case(project, 'delivery=["pixels"],')
    result = project.run()
    assert result.ret == 4
    assert "axis 'delivery' stands in arms and beside them" in result.stdout.str() + result.stderr.str()


def test_an_unknown_value_in_an_arm_is_refused(project: Project) -> None:
    project.corpus(2)
    path = project.pytester.path / "cases" / "test_delivery.py"
    path.write_text(CASE.replace("SETTINGS", "").replace('"none"', '"nothing"'))
    result = project.run()
    assert result.ret == 4
    assert "retrieval has no value 'nothing'" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    ("length", "option"), [('length=["all"],', ()), ("", ("--bench-axis", "length=all")), ("", ())]
)
def test_all_lengths_of_the_corpus(project: Project, length: str, option: tuple[str, ...]) -> None:
    file = project.corpus(1)
    for name in ("128k", "64k"):
        file.with_name(f"dataset_{name}.json").write_bytes(file.read_bytes())
    write_case(project, length)
    assert project.run("--bench-corpus", "memlens=corpus", *option).ret == 0
    planned = Counter(row["arm.length"] for row in project.rows().values())
    assert planned == ({"32k": 6, "64k": 6, "128k": 6} if length or option else {"32k": 6})


def test_a_limit_keeps_the_same_questions_at_every_length(project: Project) -> None:
    """The order comes from the shortest history: a longer one has other content and would order them otherwise."""
    file = project.corpus(12)
    longer = json.loads(file.read_text())
    for each in longer:
        each["haystack_sessions"][1].append({"role": "user", "content": f"And later: {each['question']}"})
    file.with_name("dataset_64k.json").write_text(json.dumps(longer))
    write_case(project, 'length=["all"],')
    for cut in (("--bench-limit", "4"), ("--bench-shard", "1/3")):
        assert project.run("--bench-corpus", "memlens=corpus", *cut).ret == 0
        at = {
            length: {row["question"] for row in project.rows().values() if row["arm.length"] == length}
            for length in ("32k", "64k")
        }
        assert at["32k"] == at["64k"]
        assert 0 < len(at["32k"]) < 12


def test_arms_that_an_option_makes_equal_are_one_whatever_their_defaults(project: Project) -> None:
    project.corpus(1)
    path = project.pytester.path / "cases" / "test_delivery.py"
    same = CASE.replace('"k": 1', '"k": 10').replace("SETTINGS", "")
    path.write_text(same)
    assert project.run("--bench-axis", "retrieval=recency", "--bench-axis", "delivery=noimg").ret == 0
    assert arms(project) == {("recency", "noimg", 10, repeat): 1 for repeat in (0, 1)}
