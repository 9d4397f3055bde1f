"""The audits find what they are there to find: each planted fault is named."""

from __future__ import annotations

import re
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


def pictured(folder: audit.Folder, needs: str = "", length: str = "1x") -> dict:
    return next(
        item
        for item in folder.lengths[length]
        if audit.is_pictured(folder, item) and needs in item["answer"] and audit.figures(item["answer"])
    )


def one_of(folder: audit.Folder, length: str, stratum: str) -> dict:
    labels = folder.labels
    return next(item for item in folder.lengths[length] if labels[item["question_id"]]["stratum"] == stratum)


def of(item: dict, folder: audit.Folder) -> audit.Folder:
    """The folder with this question alone, at all lengths."""
    name = item["question_id"]
    lengths = {length: [one for one in items if one["question_id"] == name] for length, items in folder.lengths.items()}
    return replace(folder, lengths=lengths)


def added_turns(folder: audit.Folder, item: dict) -> list[dict]:
    """The turns of a longer form that are not in the shortest."""
    base = next(one for one in folder.lengths["1x"] if one["question_id"] == item["question_id"])
    kept = audit.sessions(base)
    return [turn for key, (_, turns) in audit.sessions(item).items() if key not in kept for turn in turns]


@pytest.mark.parametrize("length", ["1x", "8x"])
@pytest.mark.parametrize("place", ["caption", "url", "file", "message", "reply", "question"])
def test_a_leaked_answer_is_found_wherever_it_stands(folder, place, length):
    item = pictured(folder, length=length)
    answer = item["answer"]
    turns = [turn for session in item["haystack_sessions"] for turn in session]
    shown = next(turn for turn in reversed(turns) if turn["images"] and not turn["has_answer"])
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
    problems = audit.leaks(of(item, folder))
    assert problems
    assert all(problem.startswith(f"{length} {item['question_id']}: ") for problem in problems)


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
    assert any(problem.startswith(f"1x {item['question_id']}") for problem in audit.leaks(of(item, folder)))


def test_a_leaked_operand_of_a_yes_or_no_question_is_found(folder):
    item = next(item for item in folder.lengths["4x"] if item["answer"] in ("Yes", "No"))
    file = sorted(audit.gold_files(item))[0]
    value = next(text for role, text in reversed(folder.drawn[file]["lines"]) if role == "value")
    item["haystack_sessions"][0][0]["content"] = f"I paid {value}."
    assert any(value.lstrip("$") in problem for problem in audit.leaks(of(item, folder)))


def test_the_day_of_a_session_counts_as_text(folder):
    item = pictured(folder, "/")
    item["haystack_dates"][0] = f"{item['answer']} (Mon) 10:00"
    assert any("haystack_dates" in problem for problem in audit.leaks(of(item, folder)))


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
    assert any(item["question_id"] in problem for problem in audit.evidence(of(item, folder)))


@pytest.mark.parametrize("length", ["1x", "2x"])
def test_an_answer_that_another_image_shows_is_found(folder, length):
    item = one_of(folder, length, "label")
    assert audit.is_pictured(folder, item)
    other = sorted(audit.image_files(item) - audit.gold_files(item))[0]
    folder.drawn[other]["lines"].append(["value", item["answer"]])
    assert any(other in problem for problem in audit.evidence(of(item, folder)))


def test_a_missing_twin_is_found(folder):
    item = one_of(folder, "8x", "paraphrase")
    group = folder.drawn[sorted(audit.gold_files(item))[0]]["group"]
    for drawn in folder.drawn.values():
        if drawn["group"] == group:
            drawn["lines"].append(["footer", str(id(drawn))])
    assert any(item["question_id"] in problem for problem in audit.twins(of(item, folder)))


def test_shifted_type_shares_are_found(folder):
    for item in folder.lengths["4x"][:6]:
        item["question_type"] = "answer_refusal"
    assert any(problem.startswith("4x eval: answer_refusal is") for problem in audit.shares(folder))


@pytest.mark.parametrize(
    ("stamp", "words"),
    [("2024/05/06 (Tue) 10:00", "is a Mon"), ("6 May 2024", "malformed"), ("2026/05/04 (Mon) 10:00", "not in order")],
)
def test_a_bad_date_is_found(folder, stamp, words):
    folder.lengths["8x"][0]["haystack_dates"][0] = stamp
    assert any(words in problem for problem in audit.dates(folder))


def test_a_message_in_both_halves_is_found(folder):
    mine, other = folder.lengths["1x"][0], folder.lengths["8x"][-1]
    other["haystack_sessions"][0][0]["content"] = mine["haystack_sessions"][0][0]["content"]
    assert any(problem.startswith("message in both halves") for problem in audit.halves(folder))


def test_a_telling_name_and_a_missing_image_are_found(folder):
    item = folder.lengths["8x"][0]
    item["question_id"] = "q_receipt"
    item["haystack_session_ids"][3] = "sess_gold"
    image = next(turn for session in item["haystack_sessions"] for turn in session if turn["images"])["images"][0]
    image["file"] = "needle_images/maple_total.png"
    problems = audit.names(folder)
    assert "8x q_receipt: not q_ and 8 hex digits" in problems
    assert any("sess_gold" in problem for problem in problems)
    assert any("maple_total.png: not both named and stored" in problem for problem in problems)


@pytest.mark.parametrize(
    ("length", "stratum", "place"),
    [
        ("2x", "label", "image"),
        ("4x", "paraphrase", "message"),
        ("8x", "compose", "reply"),
        ("8x", "bridge", "caption"),
        ("2x", "text", "message"),
        ("8x", "text", "image"),
        ("8x", "absent-entity", "message"),
        ("4x", "absent-entity", "image"),
        ("8x", "absent-field", "reply"),
    ],
)
def test_what_a_longer_history_says_of_the_asked_thing_is_found(folder, length, stratum, place):
    """Its name for a pixel question or a refusal, its value for one that a message answers."""
    item = next(
        item
        for item in folder.lengths[length]
        if folder.labels[item["question_id"]]["stratum"] == stratum
        and (folder.asked[item["question_id"]] or audit.answer_figures(item))
    )
    told = (folder.asked[item["question_id"]] or [item["answer"]])[0]
    turns = added_turns(folder, item)
    shown = next(turn for turn in turns if turn["images"])
    if place == "message":
        turns[0]["content"] = f"By the way, {told}."
    elif place == "reply":
        turns[-1]["content"] = f"Ah, {told}."
    elif place == "caption":
        shown["images"][0]["blip_caption"] = f"a photo of {told}"
    else:
        folder.drawn[shown["images"][0]["file"]]["lines"].append(["title", told])
    words = "names what is asked about" if folder.asked[item["question_id"]] else "holds the answer"
    found = [
        problem for problem in audit.rivals(of(item, folder)) if problem.startswith(f"{length} {item['question_id']}: ")
    ]
    assert found
    assert all(problem.endswith(words) for problem in found)


def test_a_second_value_for_a_told_fact_is_found(folder):
    item = next(
        item
        for item in folder.lengths["4x"]
        if folder.labels[item["question_id"]]["stratum"] == "text" and audit.answer_figures(item)
    )
    gold = re.sub(r"\d", "7", audit.gold_messages(item)[0])
    added_turns(folder, item)[0]["content"] = f"I have to correct myself: {gold}"
    found = [problem for problem in audit.rivals(of(item, folder)) if problem.startswith(f"4x {item['question_id']}: ")]
    assert found
    assert all(problem.endswith("is about what is asked") for problem in found)


def test_an_absent_entity_is_found_in_the_shortest_history_too(folder):
    item = one_of(folder, "1x", "absent-entity")
    (name,) = folder.asked[item["question_id"]]
    item["haystack_sessions"][2][0]["content"] = f"I wonder about {name.upper()}."
    assert [problem for problem in audit.rivals(of(item, folder)) if problem.startswith(f"1x {item['question_id']}: ")]


def test_a_field_that_is_otherwise_never_printed_is_found(folder):
    item = one_of(folder, "8x", "absent-field")
    template = folder.labels[item["question_id"]]["template"]
    files = [file for file in sorted(folder.drawn) if folder.drawn[file]["template"] == template]
    assert audit.labelled(folder) == []
    folder.drawn[files[-1]]["lines"].append(["label", "Voucher number"])
    assert [problem for problem in audit.labelled(folder) if problem.startswith(files[-1])]


def changed_question(item: dict) -> str:
    item["answer"] += "1"
    return "answer differs from 2x"


def changed_session(item: dict) -> str:
    item["haystack_sessions"][0][0]["content"] += " And more."
    return f"session {item['haystack_session_ids'][0]} of 2x is not there unchanged"


def moved_session(item: dict) -> str:
    item["haystack_dates"][0] = "2023/01/02 (Mon) 10:00"
    return f"session {item['haystack_session_ids'][0]} of 2x is not there unchanged"


def lost_sessions(item: dict) -> str:
    for key in ("haystack_dates", "haystack_session_ids", "haystack_sessions"):
        del item[key][-10:]
    return " sessions, wanted "


def lost_images(item: dict) -> str:
    for session in item["haystack_sessions"][-12:]:
        for turn in session:
            turn["images"] = []
    return " images, wanted "


def repeated_image(item: dict) -> str:
    turns = [turn for session in item["haystack_sessions"] for turn in session if turn["images"]]
    turns[-1]["images"] = turns[0]["images"]
    return f"{turns[0]['images'][0]['file']} is shown 2 times"


@pytest.mark.parametrize(
    "change", [changed_question, changed_session, moved_session, lost_sessions, lost_images, repeated_image]
)
def test_a_longer_form_that_asks_another_thing_or_grows_otherwise_is_found(folder, change):
    item = folder.lengths["4x"][7]
    if change in (changed_session, moved_session):  # of what the shorter form has too
        kept = set(folder.lengths["2x"][7]["haystack_session_ids"])
        while item["haystack_session_ids"][0] not in kept:
            for key in ("haystack_dates", "haystack_session_ids", "haystack_sessions"):
                del item[key][0]
    words = change(item)
    assert any(
        problem.startswith(f"4x {item['question_id']}: ") and words in problem for problem in audit.growth(folder)
    )


def test_a_length_without_some_question_is_found(folder):
    del folder.lengths["8x"][3]
    assert audit.growth(folder) == ["8x: not the questions of 4x in their order"]
    assert any(problem.startswith("labels.json and 8x differ in ['q_") for problem in audit.names(folder))


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
    with pytest.raises(DataError, match=r"drawn\.json: cannot be read"):
        audit.read_folder(tmp_path)


def test_a_folder_without_a_dataset_is_one_clear_error(tmp_path):
    with pytest.raises(DataError, match=r"dataset_1x\.json: cannot be read: no such file"):
        audit.read_folder(tmp_path)
