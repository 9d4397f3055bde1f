"""`benchsuite data check`: each planted fault is found, named and counted, and the check goes on behind it."""

from __future__ import annotations

import hashlib
import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage
from PIL.PngImagePlugin import PngInfo

from benchsuite.corpus.check import checker
from benchsuite.corpus.check.checker import check_corpus
from benchsuite.corpus.check.report import EXAMPLES, Report
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource, memlens_path
from benchsuite.delivery.images import decode
from benchsuite.errors import ConfigError, DataError
from tests.corpus.big_file import write_big

Item = dict[str, Any]
DATASET = "dataset_32k.json"


def item(number: int = 1, **changes: Any) -> Item:
    return {
        "question_id": f"q_{number}",
        "question_type": "information_extraction",
        "question": "How much did I pay?",
        "answer": "$48.50",
        "question_date": "2024/05/31 (Fri) 07:58",
        "haystack_dates": ["2024/05/06 (Mon) 17:17", "2024/05/07 (Tue) 09:00"],
        "haystack_session_ids": ["sess_a", "sess_b"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Look <image>", "images": [image("a.png")], "has_answer": True},
                {"role": "assistant", "content": "Nice.", "images": [], "has_answer": False},
            ],
            [{"role": "user", "content": "Hello", "images": [image("b.png")]}, {"role": "assistant", "content": "Hi."}],
        ],
        "answer_session_ids": ["sess_a"],
        **changes,
    }


def image(file: str, caption: str = "a receipt") -> dict[str, str]:
    return {"file": file, "blip_caption": caption}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "release_images").mkdir()
    for name, colour in (("a.png", "teal"), ("b.png", "red")):
        PillowImage.new("RGB", (40, 30), colour).save(tmp_path / "release_images" / name)
    return tmp_path


def checked(folder: Path, *items: object, spec: str = "", name: str = DATASET) -> Report:
    if items:
        (folder / name).write_text(json.dumps(items))
    return check_corpus(memlens_path(spec or str(folder)), decode)


def test_a_clean_corpus(folder: Path) -> None:
    other = item(2, question_type="answer_refusal", answer="Insufficient information", answer_session_ids=[])
    other["haystack_sessions"][0][0]["has_answer"] = False
    report = checked(folder, item(), other)
    assert not report.errors.counts
    assert not report.notes.counts
    facts = report.lengths["32k"]
    assert facts.questions == {"information_extraction": 1, "answer_refusal": 1}
    assert (facts.sessions, facts.turns, facts.references, len(facts.images)) == (4, 8, 4, 2)
    assert len(facts.histories) == 1
    (file,) = report.files
    assert (file.name, file.remark) == (DATASET, "not a known release file")
    assert file.sha256 == hashlib.sha256((folder / DATASET).read_bytes()).hexdigest()
    text = "\n".join(report.lines())
    assert re.search(r"^image references +4$", text, re.MULTILINE)
    assert text.endswith("\n0 errors, 0 notes")


def sessions(**first_turn: Any) -> list[Any]:
    made = item()["haystack_sessions"]
    made[0][0].update(first_turn)
    return list(made)


def in_second_session(**turn: Any) -> list[Any]:
    made = item()["haystack_sessions"]
    made[1][0].update(turn)
    return list(made)


ERRORS: list[tuple[Item, str, str]] = [
    ({"haystack_dates": ["2024/05/06 (Mon) 17:17"]}, "haystack_dates", "1 entries for 2 sessions of haystack_sessions"),
    ({"haystack_session_ids": ["a", "b", "c"]}, "haystack_session_ids", "3 entries for 2 sessions"),
    ({"answer_session_ids": ["sess_x"]}, "answer_session_ids", "session 'sess_x' is not among the sessions"),
    ({"question_type": "riddle"}, "question_type", "unknown type 'riddle'"),
    ({"haystack_sessions": sessions(content=7)}, "haystack_sessions[][].content", "a string is needed, not a number"),
    ({"question_date": "31 May"}, "date that cannot be read", "question_date: '31 May'"),
    ({"haystack_dates": ["2024/05/06", "2024/02/30"]}, "date that cannot be read", "session 2: '2024/02/30'"),
    (
        {"haystack_dates": ["2024/05/06 (Tue) 17:17", "2024/05/07 (Wed) 09:00"]},
        "weekday that does not fit its date",
        "session 1: '2024/05/06 (Tue) 17:17' is a Mon (and 1 more in this item)",
    ),
    (
        {"question_date": "2024/05/07 (Tue) 08:59"},
        "question asked before a session",
        "question_date '2024/05/07 (Tue) 08:59', session 2 '2024/05/07 (Tue) 09:00'",
    ),
    (
        {"haystack_sessions": in_second_session(has_answer=True)},
        "has_answer outside the answer sessions",
        "has_answer in s2, not in answer_session_ids",
    ),
    (
        {"haystack_sessions": sessions(images=[image("a.png", "a bill of 48.5 dollars")])},
        "gold answer in a caption of the evidence",
        "'$48.50': s1t1: 'a bill of 48.5 dollars'",
    ),
    ({"haystack_sessions": in_second_session(images=["n/../../a.png"])}, "image", "leaves the image folder"),
]


@pytest.mark.parametrize(("changes", "kind", "example"), ERRORS)
def test_an_error_is_found_and_nothing_else(folder: Path, changes: Item, kind: str, example: str) -> None:
    report = checked(folder, item(1), item(2, **changes), item(3))
    assert report.errors.counts == {kind: 1}
    (line,) = report.errors.examples[kind]
    assert "item q_2: " in line
    assert example in line
    assert f"  {kind}: 1" in report.lines()


NOTES: list[tuple[Item, str, str]] = [
    (
        {"haystack_dates": ["2024/05/07 (Tue) 09:00", "2024/05/06 (Mon) 17:17"]},
        "sessions not in the order of their dates",
        "session 2 is of 2024-05-06, after 2024-05-07",
    ),
    ({"haystack_dates": ["2024/05/06 (Mon) 17:17"] * 2}, "two sessions of one date", "sessions 1 and 2"),
    ({"haystack_dates": None}, "no date", "session 1 (and 1 more in this item)"),
    (
        {"question_type": "temporal_reasoning", "answer": "2024/05/08"},
        "answer that is a day without a session",
        "'2024/05/08'",
    ),
    ({"answer_session_ids": ["sess_a", "sess_b"]}, "answer session without has_answer", "s2"),
    (
        {"answer_session_ids": [], "haystack_sessions": sessions(has_answer=False)},
        "answerable question without evidence",
        "q_2",
    ),
    (
        {"haystack_sessions": in_second_session(images=[image("b.png", "48.50 dollars")])},
        "gold answer in a caption outside the evidence",
        "s2t1: '48.50 dollars'",
    ),
    (
        {"haystack_sessions": in_second_session(role="assistant", content="You paid $48.50.")},
        "gold answer in an assistant message outside the evidence",
        "s2t1",
    ),
]


@pytest.mark.parametrize(("changes", "kind", "example"), NOTES)
def test_a_note_is_found_and_nothing_else(folder: Path, changes: Item, kind: str, example: str) -> None:
    report = checked(folder, item(1), item(2, **changes), item(3))
    assert not report.errors.counts
    assert report.notes.counts == {kind: 1}
    assert "item q_2" in report.notes.examples[kind][0]
    assert example in report.notes.examples[kind][0]


def test_several_faults_of_one_item_and_a_doubled_id(folder: Path) -> None:
    faulty = item(
        2,
        haystack_dates=["2024/05/06 (Mon) 17:17"],
        answer_session_ids=["sess_x"],
        haystack_sessions=sessions(images=["broken.png", "a.png"]),
    )
    (folder / "release_images" / "broken.png").write_bytes(b"no image")
    report = checked(folder, item(1), faulty, item(2))
    kinds = {"haystack_dates": 1, "answer_session_ids": 1, "image": 1, "question_id": 1}
    assert {kind: report.errors.counts[kind] for kind in kinds} == kinds
    assert report.errors.examples["question_id"][0].endswith("item q_2: question_id: the question id occurs twice")
    assert report.lengths["32k"].missing == {"faulty": 1}


@pytest.mark.parametrize(("changes", "kind", "_"), [case for case in ERRORS if " " not in case[1]])
def test_a_fault_has_the_words_of_the_loader(folder: Path, changes: Item, kind: str, _: str) -> None:
    report = checked(folder, item(2, **changes))
    source = MemLensSource(folder)
    with pytest.raises(DataError) as caught:
        list(source.records("32k", ImageIndex(source.image_root)))
    assert report.errors.examples[kind] == [str(caught.value)]


def test_items_that_cannot_be_read_and_a_file_that_is_cut(folder: Path) -> None:
    report = checked(folder, 7, {"question": "?"}, item(3))
    assert report.errors.counts == {DATASET: 1, "question_id": 1}
    assert report.lengths["32k"].questions.total() == 1
    path = folder / DATASET
    path.write_bytes(path.read_bytes()[:-40])
    report = checked(folder)
    assert "truncated JSON" in report.errors.examples[DATASET][1]
    assert "after 2 complete items" in report.errors.examples[DATASET][1]


def test_images(folder: Path) -> None:
    root = folder / "release_images"
    note = PngInfo()
    note.add_text("Comment", "total 48.50")
    PillowImage.new("RGB", (8, 8), "blue").save(root / "said.png", pnginfo=note)
    exif = PillowImage.Exif()
    exif[0x010E] = "Sum: 48,50 or 48.5"  # ImageDescription
    exif[0x0112] = 6  # orientation
    PillowImage.new("RGB", (8, 8), "green").save(root / "told.jpg", exif=exif)
    PillowImage.new("RGB", (8, 8), "white").save(root / "bill-48.50.png")
    whole = (root / "a.png").read_bytes()
    (root / "cut.png").write_bytes(whole[: len(whole) // 2])
    frames = [PillowImage.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(root / "moves.gif", save_all=True, append_images=frames[1:])
    names = ["a.png", "said.png", "bill-48.50.png", "cut.png", "moves.gif", "none.png", "https://x.invalid/a.png"]
    named = sessions(images=[image(name) for name in names])
    named[1][0]["images"] = ["told.jpg"]
    report = checked(folder, item(1, haystack_sessions=named), item(2, haystack_sessions=named))
    assert report.errors.counts == {
        "image": 2,  # each once, however many questions show it
        "gold answer in the metadata of an image": 2,
        "gold answer in the name of an image": 2,
    }
    assert [problem.partition(": ")[2][:24] for problem in report.errors.examples["image"]] == [
        "image does not decode: i",
        "image is animated: 2 fra",
    ]
    assert report.notes.counts == {
        "image with an EXIF orientation, shown as it is stored": 1,
        "gold answer in the metadata of an image": 2,
    }
    assert "s2t1: told.jpg" in report.notes.examples["gold answer in the metadata of an image"][0]
    facts = report.lengths["32k"]
    assert facts.missing == {"faulty": 4, "absent": 2, "remote": 2}
    assert facts.references == 16
    assert facts.images == {"a.png", "said.png", "bill-48.50.png", "told.jpg"}


def test_an_absent_image_folder_is_one_fault(tmp_path: Path) -> None:
    report = checked(tmp_path, item(1), item(2))
    assert report.errors.counts == {"image": 1}
    assert "there is no image folder" in report.errors.examples["image"][0]
    assert report.lengths["32k"].missing == {"faulty": 4}


def test_lengths_are_compared(folder: Path) -> None:
    checked(folder, item(1), item(2), item(3))
    report = checked(folder, item(1), item(2, answer="$3.00"), item(4), name="dataset_64k.json")
    assert report.errors.counts == {"question that differs between lengths": 1}
    assert (
        "item q_2: type, text or answer at 64k are not those at 32k"
        in report.errors.examples["question that differs between lengths"]
    )
    assert report.notes.examples["question that is not at every length"] == ["item q_3: at 32k", "item q_4: at 64k"]
    report = checked(folder, item(1), item(2), item(3), name="dataset_64k.json")
    assert "the same 3 question ids at 32k, 64k" in report.remarks
    assert not report.errors.counts


def test_examples_are_limited_and_counted(folder: Path) -> None:
    many = EXAMPLES + 5
    report = checked(folder, *(item(number, haystack_dates=[]) for number in range(many)))
    lines = list(report.lines())
    assert f"  haystack_dates: {many}" in lines
    assert sum("item q_" in line and "haystack_dates" in line for line in lines) == EXAMPLES
    assert "    and 5 more" in lines
    assert lines[-1].startswith(f"{many} errors, ")


def test_release_files_and_twins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked(folder, item())
    (folder / "dataset_32k.parquet").write_bytes(b"not read")
    known = hashlib.sha256((folder / DATASET).read_bytes()).hexdigest()
    monkeypatch.setitem(checker.RELEASED, known, DATASET)
    remarks = {file.name: file.remark for file in checked(folder).files}
    assert remarks == {
        DATASET: f"matches the public release ({DATASET})",
        "dataset_32k.parquet": "not a known release file; not read: its JSON twin is",
    }
    assert [file.name for file in checked(folder, spec=str(folder / DATASET)).files] == [DATASET]


def test_labels_and_subsets_beside_the_dataset(folder: Path) -> None:
    (folder / "labels.json").write_text(json.dumps({"q_1": {"split": "eval"}}))
    (folder / "agent_subset_2.json").write_text(json.dumps({"question_ids": ["q_1", "q_9"]}))
    (folder / "broken_subset.json").write_text(json.dumps({"question_ids": ["q_1"], "n_questions": 2}))
    (folder / "mine.json").write_text(json.dumps({"question_ids": ["q_2"]}))
    report = checked(folder, item(1), item(2), spec=f"{folder}#mine")
    assert report.errors.counts == {"n_questions": 1, "labels.json": 1, "question_ids": 1}
    assert "1 of 2 questions are not in dataset_32k.json: q_9" in report.errors.examples["question_ids"][0]
    assert "item q_2: the question has no label" in report.errors.examples["labels.json"][0]
    assert "agent_subset_2.json keeps 1 questions at 32k: 1 information_extraction" in report.remarks
    assert "mine.json keeps 1 questions at 32k: 1 information_extraction" in report.remarks
    names = [file.name for file in report.files]
    assert names == [DATASET, "labels.json", "agent_subset_2.json", "broken_subset.json", "mine.json"]
    (folder / "labels.json").write_text("{")
    assert "malformed JSON" in checked(folder, spec=f"{folder}#mine").errors.examples["labels.json"][0]
    with pytest.raises(ConfigError, match="no split 'other'"):
        checked(folder, spec=f"{folder}#other")


def test_the_bundled_corpus_has_no_errors() -> None:
    report = check_corpus(memlens_path("memlens-mini"), decode)
    assert not report.errors.counts, list(report.lines())
    questions = {facts.questions.total() for facts in report.lengths.values()}
    assert questions == {102}
    assert any(remark.startswith("the same 102 question ids at 1x") for remark in report.remarks)
    assert not any(facts.missing for facts in report.lengths.values())


@pytest.fixture
def peak(tmp_path: Path) -> Callable[[int], float]:
    """Peak MB while a file of so many megabytes, of questions of 100 kB, is checked."""

    def measure(megabytes: int) -> float:
        folder = tmp_path / str(megabytes)
        write_big(folder / DATASET, megabytes, 10 * megabytes, 3)
        tracemalloc.start()
        report = check_corpus(memlens_path(str(folder)), decode)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.lengths["32k"].questions.total() == 10 * megabytes
        return top / 1e6

    return measure


def test_memory_does_not_grow_with_the_file(peak: Callable[[int], float]) -> None:
    small, large = peak(2), peak(6)
    assert large < small + 1
