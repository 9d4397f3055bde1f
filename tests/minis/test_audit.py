"""The audits find what they are there to find: each planted fault is named."""

from __future__ import annotations

import copy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from benchsuite.corpus import minis
from benchsuite.corpus.minis import audit
from benchsuite.errors import DataError

ROOT = Path(minis.__file__).parent / "memlens_mini"


@pytest.fixture
def folder() -> audit.Folder:
    return audit.read_folder(ROOT)


def pictured(folder: audit.Folder, needs: str = "") -> dict:
    return next(
        item
        for item in folder.items
        if audit.is_pictured(folder, item) and needs in item["answer"] and audit.figures(item["answer"])
    )


@pytest.mark.parametrize("place", ["caption", "url", "file", "message", "reply", "question"])
def test_a_leaked_answer_is_found_wherever_it_stands(folder, place):
    item = pictured(folder)
    answer = item["answer"]
    turns = [turn for session in item["haystack_sessions"] for turn in session]
    shown = next(turn for turn in turns if turn["images"] and not turn["has_answer"])
    if place == "caption":
        shown["images"][0]["blip_caption"] = f"a receipt over {answer}"
    elif place == "url":
        shown["images"][0]["image_url"] = f"https://example.invalid/a?value={answer}"
    elif place == "file":
        shown["images"][0]["file_path"] = f"needle_images/total {answer}.png"
    elif place == "message":
        turns[0]["content"] = f"It was {answer}, I think."
    elif place == "reply":
        turns[1]["content"] = f"I read {answer} there."
    else:
        item["question"] += f" (not {answer})"
    problems = audit.leaks(folder)
    assert problems
    assert all(problem.startswith(item["question_id"]) for problem in problems)


@pytest.mark.parametrize(
    ("needs", "written"),
    [
        ("/", lambda answer: f"{int(answer[8:])} {audit.MONTHS[int(answer[5:7]) - 1].title()} {answer[:4]}"),
        ("/", lambda answer: f"{audit.MONTHS[int(answer[5:7]) - 1][:3].title()} {int(answer[8:])}, {answer[:4]}"),
        ("/", lambda answer: answer.replace("/", "-")),
        ("$", lambda answer: answer.replace("$", "") + "0 dollars"),
        (" km", lambda answer: answer.replace(" km", "km")),
        ("-", lambda answer: answer.lower()),
    ],
    ids=["day-month", "month-day", "dashes", "number", "unit", "code"],
)
def test_a_leak_in_another_spelling_is_found(folder, needs, written):
    item = pictured(folder, needs)
    item["haystack_sessions"][0][1]["content"] = f"Noted: {written(item['answer'])}."
    assert any(problem.startswith(item["question_id"]) for problem in audit.leaks(folder))


def test_a_leaked_operand_of_a_yes_or_no_question_is_found(folder):
    item = next(item for item in folder.items if item["answer"] in ("Yes", "No"))
    file = sorted(audit.gold_files(item))[0]
    value = next(text for role, text in reversed(folder.drawn[file]["lines"]) if role == "value")
    item["haystack_sessions"][0][0]["content"] = f"I paid {value}."
    assert any(value.lstrip("$") in problem for problem in audit.leaks(folder))


def test_the_day_of_a_session_counts_as_text(folder):
    item = pictured(folder, "/")
    item["haystack_dates"][0] = f"{item['answer']} (Mon) 10:00"
    assert any("haystack_dates" in problem for problem in audit.leaks(folder))


def test_figures_are_normalised():
    assert audit.figures("Total $1,234.50 on 6 May 2024 at 7:05, ref TC-2310") == {
        "1234.5",
        "2024-05-06",
        "07:05",
        "tc-2310",
        "2310",
    }
    assert audit.figures("needle_images/17ab3310c29f.png sess_4413abcd") == set()


def test_gold_marks_that_disagree_are_found(folder):
    item = pictured(folder)
    item["answer_session_ids"] = item["answer_session_ids"][:0]
    assert any(item["question_id"] in problem for problem in audit.evidence(folder))


def test_an_answer_that_another_image_shows_is_found(folder):
    item = next(item for item in folder.items if folder.labels[item["question_id"]]["stratum"] == "label")
    assert audit.is_pictured(folder, item)
    other = sorted(audit.image_files(item) - audit.gold_files(item))[0]
    folder.drawn[other]["lines"].append(["value", item["answer"]])
    assert any(other in problem for problem in audit.evidence(folder))


def test_a_missing_twin_is_found(folder):
    item = next(item for item in folder.items if folder.labels[item["question_id"]]["stratum"] == "paraphrase")
    group = folder.drawn[sorted(audit.gold_files(item))[0]]["group"]
    for drawn in folder.drawn.values():
        if drawn["group"] == group:
            drawn["lines"].append(["footer", str(id(drawn))])
    assert any(item["question_id"] in problem for problem in audit.twins(folder))


def test_shifted_type_shares_are_found(folder):
    for item in folder.items[:6]:
        item["question_type"] = "answer_refusal"
    assert any("answer_refusal" in problem for problem in audit.shares(folder))


@pytest.mark.parametrize(
    ("stamp", "words"),
    [("2024/05/06 (Tue) 10:00", "is a Mon"), ("6 May 2024", "malformed"), ("2026/05/04 (Mon) 10:00", "not in order")],
)
def test_a_bad_date_is_found(folder, stamp, words):
    folder.items[0]["haystack_dates"][0] = stamp
    assert any(words in problem for problem in audit.dates(folder))


def test_a_message_in_both_halves_is_found(folder):
    mine, other = folder.items[0], folder.items[-1]
    other["haystack_sessions"][0][0]["content"] = mine["haystack_sessions"][0][0]["content"]
    assert any(problem.startswith("message in both halves") for problem in audit.halves(folder))


def test_a_telling_name_and_a_missing_image_are_found(folder):
    items = copy.deepcopy(folder.items)
    items[0]["question_id"] = "q_receipt"
    image = next(turn for session in items[0]["haystack_sessions"] for turn in session if turn["images"])["images"][0]
    image["file"] = "needle_images/maple_total.png"
    problems = audit.names(replace(folder, items=items))
    assert any("q_receipt" in problem for problem in problems)
    assert any("maple_total.png: not both named and stored" in problem for problem in problems)


def test_ink_metadata_and_size_are_found(folder, tmp_path):
    kept, inked, told, large = sorted(folder.drawn)[:4]
    for file in (kept, inked, told, large):
        target = tmp_path / "release_images" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "release_images" / file, target)
    images = tmp_path / "release_images"
    with Image.open(images / inked) as image:
        image.putpixel((12, 30), (image.getpixel((12, 30)) + 1) % 2)
        image.save(images / inked)
    with Image.open(images / told) as image:
        info = PngImagePlugin.PngInfo()
        info.add_text("Comment", "the total")
        image.save(images / told, pnginfo=info)
    Image.new("RGB", (800, 90), "white").save(images / large)
    drawn = {file: folder.drawn[file] for file in (kept, inked, told, large)}
    problems = audit.pictures(replace(folder, root=tmp_path, drawn=drawn))
    assert len(problems) == 3
    assert any(inked in problem and "ink" in problem for problem in problems)
    assert any(told in problem and "tEXt" in problem for problem in problems)
    assert any(large in problem and "800x90" in problem for problem in problems)


def test_a_folder_without_sidecars_is_one_clear_error(tmp_path):
    (tmp_path / "dataset_1x.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.json: cannot be read"):
        audit.read_folder(tmp_path)
