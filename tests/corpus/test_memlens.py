"""The MemLens loader: every tolerated shape is read, every fault names file, item and field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource, memlens_source
from benchsuite.corpus.store import Record
from benchsuite.errors import ConfigError, DataError

TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"
Item = dict[str, Any]


def item(question_id: str = "q_1", **changes: Any) -> Item:
    made: Item = {
        "question_id": question_id,
        "question_type": "information_extraction",
        "question": "What colour is it?",
        "answer": "teal",
        "question_date": "2024/05/31 (Fri) 07:58",
        "haystack_dates": ["2024/05/06 (Mon) 17:17", "2024/05/07 (Tue) 09:00"],
        "haystack_session_ids": ["sess_a", "sess_b"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Look <image>", "images": [{"file": "n/a.png"}], "has_answer": True},
                {"role": "assistant", "content": "Nice.", "images": [], "has_answer": False},
            ],
            [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": ""}],
        ],
        "answer_session_ids": ["sess_a"],
    }
    return {**made, **changes}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "release_images" / "n"
    folder.mkdir(parents=True)
    PillowImage.new("RGB", (40, 30), "teal").save(folder / "a.png")
    return tmp_path


def write(folder: Path, items: object, name: str = "dataset_32k.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(items))
    return path


def read(path: Path, **options: str) -> list[Record]:
    source = MemLensSource(path, **options)
    images = ImageIndex(source.image_root)
    return [record for length in source.lengths for record in source.records(length, images)]


def read_one(folder: Path, **changes: Any) -> Record:
    (record,) = read(write(folder, [item(**changes)]))
    return record


def test_a_plain_item(corpus: Path) -> None:
    question, history, links = (getattr(read_one(corpus), f) for f in ("question", "history", "links"))
    assert (question.id, question.type, question.gold) == ("q_1", "information_extraction", "teal")
    assert question.answerable
    assert question.history_id == history.id
    assert question.evidence.turn_ids == ("s1t1",)
    assert question.evidence.session_ids == ("s1",)
    assert links == ("sess_a",)
    assert [turn.id for turn in history.turns] == ["s1t1", "s1t2", "s2t1", "s2t2"]
    assert [turn.role for turn in history.turns] == ["user", "assistant"] * 2
    assert history.turns[0].images[0].path == "n/a.png"
    assert history.turns[0].date == history.sessions[0].date == "2024/05/06 (Mon) 17:17"


def test_sessions_as_objects_are_the_same_history(corpus: Path) -> None:
    plain = item()
    sessions = [
        {"session_id": known, "date": date, "session": turns}
        for known, date, turns in zip(
            plain["haystack_session_ids"], plain["haystack_dates"], plain["haystack_sessions"], strict=True
        )
    ]
    told = item("q_2", haystack_sessions=sessions)
    bare = {key: value for key, value in told.items() if key not in ("haystack_dates", "haystack_session_ids")}
    records = read(write(corpus, {"data": [plain, told, {**bare, "question_id": "q_3"}]}))
    assert len({record.history.id for record in records}) == 1
    assert len({record.question.evidence for record in records}) == 1


@pytest.mark.parametrize(
    "image",
    [
        "n/a.png",
        {"file": "n/a.png"},
        {"path": "n/a.png"},
        {"file_path": "n/a.png"},
        {"img_file": ["n/a.png", "n/other.png"]},
        {"file": "", "path": None, "file_path": [], "img_file": "n/a.png", "image_url": "https://x.invalid/a"},
    ],
)
def test_image_shapes(corpus: Path, image: object) -> None:
    record = read_one(corpus, haystack_sessions=[[{"role": "user", "content": "", "images": [image]}], []])
    assert record.history.turns[0].images[0].width == 40


@pytest.mark.parametrize(
    ("image", "missing"),
    [
        ("n/none.png", "absent"),
        ({"file": "n/none.png", "image_url": "https://x.invalid/a.png"}, "absent"),
        ("https://x.invalid/a.png", "remote"),
        ({"image_url": "https://x.invalid/a.png"}, "remote"),
        ({"image_hf_url": "not a url", "image_url": "http://x.invalid/a.png"}, "remote"),
    ],
)
def test_missing_images_keep_their_place(corpus: Path, image: object, missing: str) -> None:
    record = read_one(corpus, haystack_sessions=[[{"role": "user", "content": "", "images": [image]}], []])
    assert record.history.turns[0].images[0].missing == missing
    assert record.history.turns[0].images[0].sha256 == ""


def test_roles_and_dates_fall_back(corpus: Path) -> None:
    turns = [[{"role": role, "content": role} for role in ("assistant", "AI Assistant", "system", "user")], []]
    record = read_one(corpus, haystack_sessions=turns, haystack_dates=["", None], question_date=None)
    assert [turn.role for turn in record.history.turns] == ["assistant", "user", "user", "user"]
    assert {session.date for session in record.history.sessions} == {"unknown"}
    assert record.question.date == "unknown"


def test_without_marks_every_said_turn_of_the_answer_sessions_is_gold(corpus: Path) -> None:
    unmarked = [
        [{"role": "user", "content": "one"}],
        [{"role": "user", "content": "two"}, {"role": "user", "content": " <image> "}],
    ]
    record = read_one(corpus, haystack_sessions=unmarked, answer_session_ids=["sess_b", "sess_a"])
    assert record.question.evidence.turn_ids == ("s1t1", "s2t1")
    assert record.question.evidence.session_ids == ("s1", "s2")


def test_refusals_are_unanswerable_and_linked_to_nothing(corpus: Path) -> None:
    record = read_one(corpus, question_type="answer_refusal", answer="Insufficient information")
    assert not record.question.answerable
    assert record.links == ()


@pytest.mark.parametrize(("answer", "text"), [(5, "5"), (2.5, "2.5"), ("7", "7")])
def test_numeric_answers_become_text(corpus: Path, answer: object, text: str) -> None:
    assert read_one(corpus, answer=answer).question.gold == text


@pytest.mark.parametrize("where", [{"old_answer": "blue"}, {"question_content": {"old_answer": "blue"}}])
def test_optional_fields(corpus: Path, where: dict[str, object]) -> None:
    question = read_one(corpus, question_subtype="entity", **where).question
    assert (question.subtype, question.outdated) == ("entity", "blue")


def sessions_with(**turn: object) -> list[object]:
    return [[{"role": "user", "content": "x", **turn}], []]


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"question_id": 7}, "question_id", "a string is needed, not a number"),
    ({"question_id": None}, "question_id", "missing"),
    ({"question": " "}, "question", "empty"),
    ({"question": ["x"]}, "question", "a string is needed, not a list"),
    ({"question_type": "riddle"}, "question_type", "unknown type 'riddle'"),
    ({"answer": None}, "answer", "missing"),
    ({"answer": True}, "answer", "a string is needed, not a boolean"),
    ({"answer": ""}, "answer", "empty"),
    ({"question_date": 2024}, "question_date", "a string is needed"),
    ({"haystack_dates": ["one"]}, "haystack_dates", "1 entries for 2 sessions"),
    ({"haystack_session_ids": ["a", "b", "c"]}, "haystack_session_ids", "3 entries for 2 sessions"),
    ({"haystack_dates": "x"}, "haystack_dates", "a list is needed, not a string"),
    ({"haystack_dates": [1, 2]}, "haystack_dates[0]", "a string is needed"),
    ({"haystack_sessions": None}, "haystack_sessions", "missing"),
    ({"haystack_sessions": {}}, "haystack_sessions", "a list is needed, not an object"),
    ({"haystack_sessions": [[], 5]}, "haystack_sessions[1]", "neither a list of turns nor"),
    ({"haystack_sessions": [{"session": 1}, []]}, "haystack_sessions[0].session", "not a list"),
    (
        {"haystack_sessions": [{"session_id": "other", "session": []}, []]},
        "haystack_session_ids[0]",
        "the session itself says 'other'",
    ),
    ({"haystack_sessions": [["x"], []]}, "haystack_sessions[0][0]", "not a JSON object"),
    ({"haystack_sessions": sessions_with(role=None)}, "haystack_sessions[0][0].role", "missing"),
    ({"haystack_sessions": sessions_with(content=3)}, "haystack_sessions[0][0].content", "a string is needed"),
    ({"haystack_sessions": sessions_with(content="\ud83d")}, "haystack_sessions[0][0].content", "surrogate"),
    ({"haystack_sessions": sessions_with(has_answer="yes")}, "haystack_sessions[0][0].has_answer", "neither"),
    ({"haystack_sessions": sessions_with(images={})}, "haystack_sessions[0][0].images", "not a list"),
    ({"haystack_sessions": sessions_with(images=[3])}, "haystack_sessions[0][0].images[0]", "neither a string"),
    ({"haystack_sessions": sessions_with(images=[{}])}, "haystack_sessions[0][0].images[0]", "no image path"),
    (
        {"haystack_sessions": sessions_with(images=[{"file": "../a.png"}])},
        "haystack_sessions[0][0].images[0].file",
        "leaves the image folder",
    ),
    ({"answer_session_ids": "sess_a"}, "answer_session_ids", "a list is needed"),
    ({"answer_session_ids": ["sess_x"]}, "answer_session_ids", "session 'sess_x' is not among the sessions"),
    ({"haystack_session_ids": ["sess_a", "sess_a"]}, "answer_session_ids", "is twice among the sessions"),
]


@pytest.mark.parametrize(("changes", "field", "problem"), FAULTS)
def test_faults_name_file_item_and_field(corpus: Path, changes: dict[str, Any], field: str, problem: str) -> None:
    path = write(corpus, [item("q_0"), {**item(), **changes}])
    with pytest.raises(DataError) as caught:
        read(path)
    error = caught.value
    assert error.file == str(path)
    assert error.item == ("#2" if "question_id" in changes else "q_1")
    assert error.field == field
    assert problem in error.problem
    assert "\n" not in str(error)


def test_other_faults_of_a_file(corpus: Path) -> None:
    with pytest.raises(DataError, match="item q_1: question_id: the question id occurs twice"):
        read(write(corpus, [item(), item()]))
    with pytest.raises(DataError, match="item #1: the item is not a JSON object"):
        read(write(corpus, ["q_1"]))
    path = write(corpus, [item()])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"dataset_32k\.json: truncated JSON"):
        read(path)


def test_a_missing_image_root(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no image folder"):
        read(write(tmp_path, [item()]))


def test_lengths_are_sorted_by_size(corpus: Path) -> None:
    for length in ("1m", "256k", "32k", "other", "1x", "128k"):
        write(corpus, [item()], f"dataset_{length}.json")
    assert MemLensSource(corpus).lengths == ("1x", "32k", "128k", "256k", "1m", "other")
    odd = write(corpus, [item()], "my data.json")
    (length,) = MemLensSource(odd).lengths
    assert length.startswith("my_data")
    assert len(length) == len("my_data") + 4


LABELS = {
    "q_1": {"split": "eval", "stratum": "label", "cluster": "c1", "layout": "x"},
    "q_2": {"split": "dev"},
}


@pytest.mark.parametrize(
    ("split", "kept"), [("", ["q_1"]), ("eval", ["q_1"]), ("dev", ["q_2"]), ("all", ["q_1", "q_2"])]
)
def test_splits(corpus: Path, split: str, kept: list[str]) -> None:
    write(corpus, LABELS, "labels.json")
    path = write(corpus, [item("q_1"), item("q_2")])
    records = read(path, split=split)
    assert [record.question.id for record in records] == kept
    if "q_1" in kept:
        question = records[0].question
        assert (question.split, question.labels, question.cluster) == ("eval", ("label",), "c1")


def test_faulty_labels(corpus: Path) -> None:
    path = write(corpus, [item("q_1"), item("q_3")])
    labels = write(corpus, LABELS, "labels.json")
    with pytest.raises(ConfigError, match="no split 'train'; there is: dev, eval, all"):
        MemLensSource(path, split="train")
    with pytest.raises(DataError, match=r"labels\.json: item q_3: the question has no label"):
        read(path)
    faults: list[tuple[Callable[[Any], object], str]] = [
        (lambda good: [good], "not a JSON object of question ids"),
        (lambda good: {**good, "q_1": 3}, "item q_1: not a JSON object"),
        (lambda good: {**good, "q_1": {"split": 3}}, "item q_1: split: not a string"),
    ]
    for spoil, problem in faults:
        write(corpus, spoil(copy.deepcopy(LABELS)), "labels.json")
        with pytest.raises(DataError, match=problem):
            read(path)
    labels.write_text("{")
    with pytest.raises(DataError, match=r"labels\.json: malformed JSON"):
        read(path)


def test_specs(corpus: Path) -> None:
    write(corpus, LABELS, "labels.json")
    path = write(corpus, [item("q_1"), item("q_2")])
    assert memlens_source(str(path)).name == "dataset_32k.json"
    assert memlens_source(str(corpus)).name == corpus.name
    dev = memlens_source(f"{corpus}#dev")
    assert (dev.name, dev.split, dev.bundled) == (f"{corpus.name}#dev", "dev", False)
    odd = corpus / "a#b"
    odd.mkdir()
    write(odd, [item()])
    assert memlens_source(str(odd)).name == "a#b"
    for spec in ("no/such/path", str(corpus / "release_images")):
        with pytest.raises(ConfigError, match="memlens corpus"):
            memlens_source(spec)


@pytest.mark.parametrize("name", ["dataset_32k.json", "dataset_wrapped.json"])
def test_the_tiny_corpus_loads_whole(name: str) -> None:
    records = read(TINY / name)
    assert len(records) == 10
    assert len({record.history.id for record in records}) == 1
    first = records[0].history
    assert [len(session.turns) for session in first.sessions] == [2, 3, 4]
    assert [[i.missing or i.mime for i in turn.images] for turn in first.turns if turn.images] == [
        ["image/jpeg"],
        ["image/jpeg", "image/webp"],
        ["image/png", "image/jpeg"],
        ["absent"],
    ]
    by_id = {record.question.id: record.question for record in records}
    assert by_id["0x2000001"].outdated == "sourdough"
    assert by_id["0x3000001"].evidence.turn_ids == ("s1t1", "s1t2")
    assert by_id["0x1000002"].evidence.turn_ids == ("s2t1", "s2t3")
    assert [question.id for question in by_id.values() if not question.answerable] == ["0x5000001"]


def test_the_bundled_corpus() -> None:
    source = memlens_source("memlens-mini")
    assert (source.name, source.split, source.bundled) == ("memlens-mini", "eval", True)
    assert source.lengths[0] == "1x"
    records = list(source.records("1x", ImageIndex(source.image_root)))
    assert len(records) >= 64
    assert all(record.question.evidence.turn_ids for record in records if record.question.answerable)
    assert not any(i.missing for record in records for turn in record.history.turns for i in turn.images)
