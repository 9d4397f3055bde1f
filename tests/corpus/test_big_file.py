"""The file that stands for a large corpus is a real one: the loader takes it, and it has the size that was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource
from tests.corpus.big_file import write_big


def test_it_has_its_size_and_its_questions_and_the_loader_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "dataset_256k.json"
    write_big(path, 3, 24, 6)
    assert abs(path.stat().st_size - 3_000_000) < 50_000
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 24
    source = MemLensSource(path)
    records = list(source.records("256k", ImageIndex(source.image_root)))
    assert len({record.history.id for record in records}) == 24
    assert {record.question.type for record in records} >= {"information_extraction", "answer_refusal"}
    for record in records:
        images = [image for turn in record.history.turns for image in turn.images]
        assert images
        assert not any(image.missing for image in images)
        gold = {turn.id: turn.text for turn in record.history.turns}
        if record.question.answerable:
            (turn_id,) = record.question.evidence.turn_ids
            assert record.question.gold in gold[turn_id]
        else:
            assert record.question.evidence.turn_ids == ()
        dates = [session.date for session in record.history.sessions]
        assert [*dates, record.question.date] == sorted([*dates, record.question.date])


def test_the_subset_names_some_of_its_questions_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "dataset_256k.json"
    write_big(path, 1, 20, 7)
    ids = [item["question_id"] for item in json.loads(path.read_text(encoding="utf-8"))]
    subset = json.loads((tmp_path / "agent_subset_7.json").read_text(encoding="utf-8"))
    assert subset["n_questions"] == len(set(subset["question_ids"])) == sum(subset["by_type"].values()) == 7
    assert subset["question_ids"] == [name for name in ids if name in subset["question_ids"]]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_big(tmp_path / folder / "dataset_256k.json", 1, 5, 2)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / folder).rglob("*.*")} for folder in ("one", "two"))
    assert one == two


def test_a_subset_larger_than_the_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a subset of 6 of 5 questions"):
        write_big(tmp_path / "dataset_256k.json", 1, 5, 6)
