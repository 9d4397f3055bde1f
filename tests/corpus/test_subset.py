"""Subset files: `#NAME` keeps the questions that NAME.json names, and every fault of such a file is one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource, memlens_source
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.corpus.subset import MAX_BYTES, read_subset
from benchsuite.errors import ConfigError, DataError

IDS = [f"q_{number}" for number in range(9)]


def question(question_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "question_type": "knowledge_update",
        "question": "?x",
        "answer": "y",
        "haystack_session_ids": ["a"],
        "haystack_sessions": [[{"role": "user", "content": question_id}]],
        "answer_session_ids": ["a"],
        **changes,
    }


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "dataset_32k.json", [question(name) for name in IDS])
    return tmp_path


def kept(spec: str) -> list[str]:
    source = memlens_source(spec)
    images = ImageIndex(source.image_root)
    return [record.question.id for length in source.lengths for record in source.records(length, images)]


@pytest.mark.parametrize("beside", ["", "/dataset_32k.json"])
def test_a_subset_keeps_its_questions_in_the_order_of_the_dataset(folder: Path, beside: str) -> None:
    subset = {"n_questions": 3, "question_ids": ["q_7", "q_0", "q_3"], "seed": 42}
    write(folder, "agent_subset_3.json", subset)
    assert kept(f"{folder}{beside}#agent_subset_3") == ["q_0", "q_3", "q_7"]
    assert kept(f"{folder}{beside}") == IDS
    source = memlens_source(f"{folder}{beside}#agent_subset_3")
    assert source.split == "agent_subset_3"
    assert source.name.endswith("#agent_subset_3")


def test_a_subset_counts_over_all_splits_of_the_labels(folder: Path) -> None:
    labels = {name: {"split": "dev" if name < "q_5" else "eval"} for name in IDS}
    write(folder, "labels.json", labels)
    write(folder, "mine.json", {"question_ids": ["q_1", "q_8"]})
    assert kept(f"{folder}#mine") == ["q_1", "q_8"]
    assert kept(str(folder)) == IDS[5:]
    write(folder, "dev.json", {"question_ids": ["q_1"]})
    with pytest.raises(ConfigError, match=r"dev\.json: 'dev' is also a split of .*labels\.json: rename the file"):
        kept(f"{folder}#dev")
    write(folder, "all.json", {"question_ids": ["q_1"]})
    assert kept(f"{folder}#all") == IDS


def test_a_name_that_is_neither_split_nor_file(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"no split 'mine'; there is: all; nor is there a file mine\.json"):
        kept(f"{folder}#mine")
    outside = write(folder, "mine.json", {"question_ids": ["q_1"]})
    (folder / "sub").mkdir()
    write(folder / "sub", "dataset_32k.json", [question("q_1")])
    with pytest.raises(ConfigError, match="no split"):
        kept(f"{folder / 'sub'}#../{outside.stem}")


FAULTS: list[tuple[object, str]] = [
    ("{", "malformed JSON"),
    ("[" * 100_000, "malformed JSON"),
    ([], "no object with a 'question_ids' list"),
    ({"questions": ["q_1"]}, "no object with a 'question_ids' list"),
    ({"question_ids": "q_1"}, "no object with a 'question_ids' list"),
    ({"question_ids": []}, "question_ids: empty"),
    ({"question_ids": ["q_1", 2]}, "question_ids[1]: not a string"),
    (
        {"question_ids": ["q_1", "q_2", "q_1", "q_2", "q_2", "q_3"]},
        "question_ids: 2 questions are named twice: q_1, q_2",
    ),
    ({"question_ids": ["q_1", "q_2"], "n_questions": 3}, "n_questions: says 3, but 2 questions are named"),
    ({"question_ids": ["q_1"], "n_questions": True}, "n_questions: says true, but 1 questions are named"),
    ({"question_ids": ["q_1"], "n_questions": "1"}, 'n_questions: says "1", but 1 questions are named'),
]


@pytest.mark.parametrize(("content", "problem"), FAULTS)
def test_faulty_subset_files(folder: Path, content: object, problem: str) -> None:
    file = write(folder, "mine.json", content)
    with pytest.raises(DataError) as caught:
        kept(f"{folder}#mine")
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dataset_or_labels_are_no_subset(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dataset_32k\.json: not a subset file"):
        kept(f"{folder}#dataset_32k")
    with (tmp_path / "large.json").open("wb") as handle:
        handle.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError, match=r"large\.json: not a subset file: over 16 MB"):
        kept(f"{folder}#large")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match=r"folder\.json: cannot be read"):
        read_subset(tmp_path / "folder.json")


def test_unknown_questions_are_counted_and_the_first_named(folder: Path) -> None:
    write(folder, "dataset_64k.json", [question(name) for name in IDS[:2]])
    write(folder, "mine.json", {"question_ids": IDS})
    source = memlens_source(f"{folder}#mine")
    assert len(list(source.records("32k", ImageIndex(source.image_root)))) == len(IDS)
    with pytest.raises(DataError) as caught:
        list(source.records("64k", ImageIndex(source.image_root)))
    assert caught.value.file == str(folder / "mine.json")
    assert caught.value.field == "question_ids"
    assert caught.value.problem == ("7 of 9 questions are not in dataset_64k.json: q_2, q_3, q_4, q_5, q_6 and 2 more")


def test_what_is_not_kept_is_read_for_its_id_alone(folder: Path) -> None:
    """Its content is not built, so a fault in it is left to `benchsuite data check`; a doubled id is not."""
    write(folder, "mine.json", {"question_ids": ["q_1"]})
    items = [question("q_0", haystack_sessions=7), question("q_1")]
    write(folder, "dataset_32k.json", items)
    assert kept(f"{folder}#mine") == ["q_1"]
    with pytest.raises(DataError, match="item q_0: haystack_sessions: a list is needed"):
        kept(str(folder))
    for bad, problem in ((question("q_0"), "occurs twice"), ({}, "question_id: missing"), (7, "not a JSON object")):
        write(folder, "dataset_32k.json", [*items, bad])
        with pytest.raises(DataError, match=problem):
            kept(f"{folder}#mine")


def test_a_subset_is_a_corpus_of_its_own_and_follows_its_file(folder: Path, tmp_path: Path) -> None:
    def indexed() -> tuple[str, list[str]]:
        corpus = open_corpus(index_corpus(MemLensSource(folder, split="mine"), tmp_path / "cache"))
        return corpus.digest, [outline.id for outline in corpus.outline("32k")]

    write(folder, "mine.json", {"question_ids": ["q_1"]})
    first, ids = indexed()
    assert ids == ["q_1"]
    write(folder, "mine.json", {"question_ids": ["q_1", "q_2"]})
    second, ids = indexed()
    assert ids == ["q_1", "q_2"]
    assert len({first, second, index_corpus(MemLensSource(folder), tmp_path / "cache").name}) == 3
