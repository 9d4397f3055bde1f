"""Faulty corpora: known before anything is sent, one line that names file, item and field; exit 4."""

from __future__ import annotations

import binascii
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

WORKERS = [0, 2]
COUNT = 4
BAD = "q_00000002"  # the third question carries the fault, so the others must not hide it

Items = list[dict[str, Any]]


def png_header(width: int, height: int) -> bytes:
    """The start of a PNG: its size and an empty data chunk, no pixels."""
    signature = b"\x89PNG\r\n\x1a\n"
    chunks = b""
    for kind, data in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", b"")):
        chunks += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", binascii.crc32(kind + data))
    return signature + chunks


def image_of(folder: Path, items: Items) -> Path:
    """The stored image of the faulty question."""
    return folder / "release_images" / items[2]["haystack_sessions"][0][0]["images"][0]["file"]


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path, Items], None]:
    """A fault in the third question itself."""

    def write(folder: Path, items: Items) -> None:
        change(items[2])
        (folder / "dataset_32k.json").write_text(json.dumps(items))

    return write


def replaced(content: Callable[[], bytes]) -> Callable[[Path, Items], None]:
    """A fault in the stored image of the third question."""
    return lambda folder, items: void(image_of(folder, items).write_bytes(content()))


def void(_: object) -> None:
    return None


def cut_dataset(folder: Path, items: Items) -> None:
    path = folder / "dataset_32k.json"
    path.write_text(path.read_text()[:-200])


def too_many_bytes(folder: Path, items: Items) -> None:
    with image_of(folder, items).open("r+b") as handle:
        handle.truncate(20_000_001)


def linked_out(folder: Path, items: Items) -> None:
    image = image_of(folder, items)
    outside = folder.parent / "outside.png"
    image.rename(outside)
    image.symlink_to(outside)


def linked_folder(folder: Path, items: Items) -> None:
    shutil.move(folder / "release_images" / "needle_images", folder.parent / "elsewhere")
    (folder / "release_images" / "needle_images").symlink_to(folder.parent / "elsewhere")


def labelled(text: str) -> Callable[[Path, Items], None]:
    return lambda folder, items: void((folder / "labels.json").write_text(text))


def first_turn(item: dict[str, Any]) -> dict[str, Any]:
    turn: dict[str, Any] = item["haystack_sessions"][0][0]
    return turn


IMAGE_FIELD = "haystack_sessions[0][0].images[0].file"
LABELS = {f"q_{number:08x}": {"split": "eval"} for number in range(COUNT)}

# name: what is done to a sound corpus of four questions, and what the one line must name
FAULTS: dict[str, tuple[Callable[[Path, Items], None], tuple[str, ...]]] = {
    "truncated": (cut_dataset, ("dataset_32k.json: truncated JSON", "after 3 complete items")),
    "not-json": (
        lambda folder, items: void((folder / "dataset_32k.json").write_text("[{]" + " " * 40 + "}")),
        ("dataset_32k.json: malformed JSON", "after 0 complete items"),
    ),
    "empty-list": (
        lambda folder, items: void((folder / "dataset_32k.json").write_text("[]")),
        ("dataset_32k.json", "no questions"),
    ),
    "item-is-text": (
        lambda folder, items: void((folder / "dataset_32k.json").write_text(json.dumps([items[0], "x"]))),
        ("dataset_32k.json: item #2: the item is not a JSON object",),
    ),
    "question-is-number": (changed(lambda item: item.update(question=7)), (f"item {BAD}: question:", "string")),
    "answer-missing": (changed(lambda item: item.pop("answer")), (f"item {BAD}: answer: missing",)),
    "type-unknown": (
        changed(lambda item: item.update(question_type="riddle")),
        (f"item {BAD}: question_type:", "'riddle'"),
    ),
    "sessions-is-text": (
        changed(lambda item: item.update(haystack_sessions="none")),
        (f"item {BAD}: haystack_sessions: a list is needed, not a string",),
    ),
    "content-is-list": (
        changed(lambda item: first_turn(item).update(content=["x"])),
        (f"item {BAD}: haystack_sessions[0][0].content:", "not a list"),
    ),
    "has-answer-is-text": (
        changed(lambda item: first_turn(item).update(has_answer="yes")),
        (f"item {BAD}: haystack_sessions[0][0].has_answer:",),
    ),
    "lone-surrogate": (
        changed(lambda item: first_turn(item).update(content="half \ud800")),
        (f"item {BAD}: haystack_sessions[0][0].content:", "surrogate"),
    ),
    "duplicate-id": (
        changed(lambda item: item.update(question_id="q_00000001")),
        ("item q_00000001: question_id:", "twice"),
    ),
    "dates-unequal": (
        changed(lambda item: item["haystack_dates"].pop()),
        (f"item {BAD}: haystack_dates: 1 entries for 2 sessions",),
    ),
    "ids-unequal": (
        changed(lambda item: item["haystack_session_ids"].append("s_more")),
        (f"item {BAD}: haystack_session_ids: 3 entries for 2 sessions",),
    ),
    "answer-session-unknown": (
        changed(lambda item: item.update(answer_session_ids=["s_none"])),
        (f"item {BAD}: answer_session_ids:", "'s_none'"),
    ),
    "image-dots": (
        changed(lambda item: first_turn(item)["images"][0].update(file="needle_images/../../../x.png")),
        (f"item {BAD}: {IMAGE_FIELD}:", "leaves the image folder"),
    ),
    "image-absolute": (
        changed(lambda item: first_turn(item)["images"][0].update(file="/x.png")),
        (f"item {BAD}: {IMAGE_FIELD}:", "leaves the image folder"),
    ),
    "image-link": (linked_out, (f"item {BAD}: {IMAGE_FIELD}:", "leaves the image folder through a link")),
    "image-folder-link": (linked_folder, (f"{IMAGE_FIELD}:", "leaves the image folder through a link")),
    "image-root-missing": (
        lambda folder, items: shutil.rmtree(folder / "release_images"),
        (f"item q_00000000: {IMAGE_FIELD}:", "there is no image folder", "release_images"),
    ),
    "image-bytes": (too_many_bytes, (f"item {BAD}: {IMAGE_FIELD}:", "over 20 MB")),
    "image-pixels": (
        replaced(lambda: png_header(10_000, 5_001)),
        (f"item {BAD}: {IMAGE_FIELD}:", "over 50 megapixels"),
    ),
    "image-bomb": (replaced(lambda: png_header(60_000, 60_000)), (f"item {BAD}: {IMAGE_FIELD}:", "over 50 megapixels")),
    "image-no-header": (
        replaced(lambda: b"not an image at all"),
        (f"item {BAD}: {IMAGE_FIELD}:", "header is broken"),
    ),
    "image-half-header": (
        replaced(lambda: png_header(64, 48)[:20]),
        (f"item {BAD}: {IMAGE_FIELD}:", "header"),
    ),
    "labels-cut": (labelled(json.dumps(LABELS)[:-9]), ("labels.json: malformed JSON",)),
    "labels-split-number": (
        labelled(json.dumps({**LABELS, BAD: {"split": 3}})),
        (f"labels.json: item {BAD}: split: not a string",),
    ),
    "labels-lack-one": (
        labelled(json.dumps({key: value for key, value in LABELS.items() if key != BAD})),
        (f"labels.json: item {BAD}: the question has no label",),
    ),
}


def faulty_corpus(project, fault: Callable[[Path, Items], None]) -> None:
    path = project.corpus(COUNT)
    fault(path.parent, json.loads(path.read_text()))


# one fault of each kind is also tried with workers; the others differ in the loader alone
DISTRIBUTED = (
    "truncated",
    "question-is-number",
    "sessions-is-text",
    "duplicate-id",
    "dates-unequal",
    "image-dots",
    "image-link",
    "image-root-missing",
    "image-bytes",
    "image-pixels",
    "image-no-header",
    "labels-cut",
)


@pytest.mark.parametrize(("name", "workers"), [*((name, 0) for name in FAULTS), *((name, 2) for name in DISTRIBUTED)])
def test_a_faulty_corpus_is_refused_in_one_line(project, name, workers):
    fault, named = FAULTS[name]
    faulty_corpus(project, fault)
    problems = project.refused(workers=workers)
    assert len(problems) == 1
    for words in named:
        assert words in problems[0]


@pytest.mark.parametrize("workers", WORKERS)
def test_the_sound_corpus_of_these_faults_runs(project, endpoint, workers):
    faulty_corpus(project, labelled(json.dumps(LABELS)))
    folder = project.pytester.path / "corpus"
    image = image_of(folder, json.loads((folder / "dataset_32k.json").read_text()))
    inside = image.with_name("other_name.png")  # a link that stays inside is no fault
    image.rename(inside)
    image.symlink_to(inside)
    result = project.run(workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert len(project.rows()) == 2 * COUNT


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    ("corpus", "named"),
    [
        ("nowhere/dataset_32k.json", ("nowhere/dataset_32k.json", "no such file or folder")),
        ("empty", ("empty", "no dataset_<length>.json")),
        ("corpus/dataset_32k.json#nosplit", ("labels.json", "no split 'nosplit'", "eval, all")),
    ],
)
def test_a_corpus_that_is_not_there_is_refused(project, corpus, named, workers):
    faulty_corpus(project, labelled(json.dumps(LABELS)))
    (project.pytester.path / "empty").mkdir()
    problems = project.refused("--bench-corpus", f"memlens={project.pytester.path / corpus}", workers=workers)
    assert len(problems) == 1
    for words in named:
        assert words in problems[0]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_fault_that_comes_after_a_good_run_is_seen(project, endpoint, workers):
    """The index of the sound corpus must not stand in for the files as they are now."""
    path = project.corpus(COUNT)
    assert project.run(workers=workers).ret == 0
    sent = len(endpoint.bodies)
    image_of(path.parent, json.loads(path.read_text())).write_bytes(b"broken")
    result = project.run(workers=workers)
    assert result.ret == 4
    assert [line for line in result.stderr.lines if BAD in line and IMAGE_FIELD in line]
    assert len(endpoint.bodies) == sent
    assert len(project.runs) == 1


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("size", [(64, 48), (900, 40)], ids=["sent-as-stored", "resized"])
def test_an_image_cut_after_its_header_is_the_error_of_the_cell_that_shows_it(project, endpoint, size, workers):
    path = project.corpus(COUNT)
    image = image_of(path.parent, json.loads(path.read_text()))
    PillowImage.effect_noise(size, 50).save(image)
    image.write_bytes(image.read_bytes()[:-200])
    result = project.run(workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=2 * COUNT - 1, errors=1)
    rows = list(project.rows().values())
    (bad,) = [row for row in rows if row["status"] == "error"]
    assert (bad["question"], bad["arm.delivery"], bad["error.kind"]) == (BAD, "pixels", "data")
    assert (bad["score"], bad["answer"]) == (None, None)
    assert not [key for key in bad if key.startswith("scores.")]
    assert image.name in bad["error.message"]
    assert {row["status"] for row in rows if row is not bad} == {"scored"}
    assert len(endpoint.bodies) == 2 * COUNT - 1
    causes = [line for line in result.stdout.lines if line.startswith("benchsuite: ") and "not scored" in line]
    assert causes == [f"benchsuite: {bad['error.message']} (1 cell, not scored)"]


@pytest.mark.parametrize("workers", WORKERS)
def test_absent_images_are_counted_in_the_rows_that_would_have_shown_them(project, endpoint, workers):
    path = project.corpus(COUNT)
    image_of(path.parent, json.loads(path.read_text())).unlink()
    assert project.run(workers=workers).ret == 0
    rows = project.rows().values()
    missing = {(row["question"], row["arm.delivery"]): (row["n_missing"], row["n_images"]) for row in rows}
    assert missing.pop((BAD, "pixels")) == (1, 0)
    assert all(counts[0] == 0 for counts in missing.values())
    assert {counts for (_, delivery), counts in missing.items() if delivery == "pixels"} == {(0, 1)}
