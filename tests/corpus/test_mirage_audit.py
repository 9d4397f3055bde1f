"""The bundled bank passes every audit, and each audit finds the fault that it is there for."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage

from benchsuite.corpus import mirage_audit
from benchsuite.corpus.bank import Bank
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.minis.memlens_gen.write import made_with
from benchsuite.corpus.minis.mirage_gen.filler import library
from benchsuite.corpus.minis.mirage_gen.specs import opaque
from benchsuite.corpus.mirage import MINI_FOLDER, mirage_source
from benchsuite.corpus.mirage_audit import Drawn, read_drawn, words_of
from benchsuite.corpus.script import FillerTask
from benchsuite.errors import DataError

CORNER = (90, 50)
Raw = dict[str, Any]


def read(folder: Path) -> Bank:
    source = mirage_source(str(folder))
    return source.bank(ImageIndex(source.image_root))


@pytest.fixture(scope="module")
def bank() -> Bank:
    return read(MINI_FOLDER)


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return read_drawn(MINI_FOLDER / "drawn.json")


@pytest.fixture(scope="module")
def pieces() -> Callable[[str], int]:
    from benchsuite.models.embedded.encode import Encoder

    return Encoder().wordpieces


def test_the_bundled_bank_passes_every_audit(bank: Bank, drawn: Drawn) -> None:
    assert mirage_audit.audit(bank, drawn) == []


def test_the_bank_is_of_the_papers_design(bank: Bank) -> None:
    main, extension = bank.splits
    for split, counts in ((main, {True: 100, False: 100}), (extension, {True: 55, False: 54})):
        assert Counter(probe.answerable for probe in split.probes) == counts
        assert len(split.artifacts) == 6
        assert len({probe.family for probe in split.probes}) == 12
        assert {probe.difficulty for probe in split.probes} == {"lookup", "comparison", "layout"}
        assert min(Counter(probe.family for probe in split.probes).values()) >= 9
        assert all(artifact.records for artifact in split.artifacts)
        assert all(probe.id.startswith("mq_") and len(probe.id) == 11 for probe in split.probes)
    assert {artifact.kind for artifact in main.artifacts} == {
        "bar_chart", "line_chart", "grouped_chart", "orders_screen", "profile_view", "statistics_view",
    }  # fmt: skip
    assert {artifact.kind for artifact in extension.artifacts} == {
        "photo", "infographic", "code_file", "email", "invoice_pdf", "report_pdf",
    }  # fmt: skip
    assert len(bank.filler) == 20
    assert len({task.topic for task in bank.filler}) == 20


def test_the_depths_can_be_met(bank: Bank, pieces: Callable[[str], int]) -> None:
    """In the trunk's reference count: wordpieces, and an image's 32-pixel squares."""
    exchanges = [pieces(said) + pieces(reply) for task in bank.filler for said, reply in task.turns]
    assert sum(exchanges) >= 40_000
    assert max(exchanges) < 450
    for split in bank.splits:
        images = [image for turn in split.turns for image in turn.images]
        squares = [math.ceil(image.width / 32) * math.ceil(image.height / 32) for image in images]
        assert max(squares) <= 280
        planted = sum(squares) + sum(pieces(turn.text) for turn in split.turns)
        assert planted < 4600
        assert planted + bank.scales["paper"].rounds * sum(exchanges) > bank.scales["paper"].compaction


def test_a_second_writing_gives_the_committed_bytes(tmp_path: Path) -> None:
    """Under another hash seed. With other drawing libraries the PNGs are compared by their pixels instead."""
    command = [sys.executable, "-m", "benchsuite.corpus.minis.mirage_gen", str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"}, timeout=120)
    written, committed = (
        {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path, MINI_FOLDER)
    )
    assert set(written) == set(committed)
    same_libraries = json.loads((MINI_FOLDER / "drawn.json").read_text())["made_with"] == made_with()
    for name, path in written.items():
        if same_libraries or (name != "drawn.json" and not name.endswith(".png")):
            assert path.read_bytes() == committed[name].read_bytes(), name
        elif name.endswith(".png"):
            one, other = pixels(path), pixels(committed[name])
            assert one.shape == other.shape, name
            assert np.abs(one - other).mean() < 4, name


def pixels(path: Path) -> np.ndarray:
    with PillowImage.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def test_pictures_leave_the_corner_free_and_carry_nothing_else(bank: Bank) -> None:
    for path in sorted((MINI_FOLDER / "images").iterdir()):
        with PillowImage.open(path) as image:
            assert not image.info.get("Software"), path
            assert not image.getexif(), path
        corner = pixels(path)[: CORNER[1], : CORNER[0]].reshape(-1, 3)
        assert np.ptp(corner, axis=0).max() == 0, path


def test_ocr_reads_every_value_that_is_asked_for(bank: Bank, drawn: Drawn) -> None:
    """Counted things aside: no reader of text sees them."""
    from benchsuite.models.embedded.ocr import OcrEngine, decode

    engine = OcrEngine()
    for split in bank.splits:
        for artifact in split.artifacts:
            seen = ""
            for image in artifact.images:
                boxes = engine.read(decode((MINI_FOLDER / "images" / image.path).read_bytes())[1])
                seen += mirage_audit.as_line("\n".join(box.text for box in boxes))
            counted = {words_of(text)[0] for role, text in drawn.lines[artifact.id] if role == "things"}
            asked = {p.answer for p in split.probes if p.source == artifact.id and p.answer not in counted}
            if artifact.images:
                assert [answer for answer in asked if mirage_audit.as_line(answer) not in seen] == [], artifact.kind


def test_the_filler_never_draws_a_number_that_is_asked_for() -> None:
    said = {word for task in library([]) for pair in task.turns for text in pair for word in words_of(text)}
    numbers = sorted(word for word in said if word.isdigit() and len(word) > 2)[:40]
    avoided = {word for task in library(numbers) for pair in task.turns for text in pair for word in words_of(text)}
    assert not avoided.intersection(numbers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MINI_FOLDER, tmp_path / "copy"))


def spoilt(folder: Path, spoil: Callable[[Raw, Raw], object]) -> tuple[Bank, Drawn]:
    raw, drawn = (json.loads((folder / name).read_text()) for name in ("bank.json", "drawn.json"))
    spoil(raw, drawn)
    (folder / "bank.json").write_text(json.dumps(raw))
    (folder / "drawn.json").write_text(json.dumps(drawn))
    return read(folder), read_drawn(folder / "drawn.json")


def _main(raw: Raw) -> Raw:
    main: Raw = raw["splits"]["main"]
    return main


def _one(raw: Raw, answerable: bool) -> Raw:
    found: Raw = next(probe for probe in _main(raw)["probes"] if probe["answerable"] is answerable)
    return found


def _say(raw: Raw, text: str) -> None:
    raw["filler"][0]["turns"][1][1] += f" {text}"


def _rename(raw: Raw, drawn: Raw, new: str) -> None:
    artifact = _main(raw)["artifacts"][0]
    artifact["path"] = new


def _say_absent(raw: Raw, drawn: Raw) -> None:
    probe = _one(raw, False)
    record = next(a for a in _main(raw)["artifacts"] if a["id"] == probe["artifact"])["records"][0]
    record["text"] += f"also {drawn['absent'][probe['id']][0]}"


def _redraw(raw: Raw, drawn: Raw) -> None:
    for lines in drawn["images"].values():
        lines[:] = [line for line in lines if "214.6" not in line[1]]


def _draw_twice(raw: Raw, drawn: Raw) -> None:
    for lines in drawn["images"].values():
        lines += [["value", "214.60"] for line in lines if line[1] == "214.6"]


def _reply_all(raw: Raw, drawn: Raw) -> None:
    next(t for t in _main(raw)["turns"] if t["role"] == "assistant")["text"] += " 214.6, 187.3 and 243.9."


def _unpair(raw: Raw, drawn: Raw) -> None:
    lonely = _one(raw, False)
    _main(raw)["probes"] = [p for p in _main(raw)["probes"] if not (p["pair"] == lonely["pair"] and p["answerable"])]


FAULTS: dict[str, tuple[Callable[[Raw, Raw], object], str]] = {
    "text twice": (
        lambda raw, drawn: raw["filler"][3]["turns"].append(raw["filler"][2]["turns"][4]),
        "filler: stands 2 times",
    ),
    "topic of an artefact": (
        lambda raw, drawn: _say(
            raw, "apiary honey yield kilograms hive beekeepers bottled jar quarry lane sallow bank"
        ),
        "filler f01: shares with ax_",
    ),
    "topic of a question": (
        lambda raw, drawn: _say(raw, "the joiner's invoice has a bank code"),
        "filler f01: shares with mq_",
    ),
    "path says the topic": (
        lambda raw, drawn: _rename(raw, drawn, "artifacts/honey.png"),
        "artifacts/honey.png: says 'honey'",
    ),
    "path says the kind": (
        lambda raw, drawn: _rename(raw, drawn, "artifacts/ax_1_chart.png"),
        "artifacts/ax_1_chart.png: says 'chart'",
    ),
    "path says an answer": (
        lambda raw, drawn: _rename(raw, drawn, "artifacts/ax_hb_3372.png"),
        "says the answer 'hb3372'",
    ),
    "another difficulty": (
        lambda raw, drawn: _one(raw, False).update(
            difficulty="layout" if _one(raw, False)["difficulty"] != "layout" else "lookup"
        ),
        "difficulty differs",
    ),
    "another type": (lambda raw, drawn: _one(raw, True).update(query="colour"), "query differs"),
    "no partner": (_unpair, "no matched pair"),
    "family of another kind": (lambda raw, drawn: _one(raw, True).update(family="photo+"), "family 'photo+' is not"),
    "asked twice": (
        lambda raw, drawn: _main(raw)["probes"].append({**_one(raw, True), "id": "mq_1", "pair": "p"}),
        "main: asked 2 times",
    ),
    "not shown": (_redraw, "'214.6' is not shown"),
    "shown twice": (_draw_twice, "'214.6' is shown more than once"),
    "not absent": (_say_absent, "is not absent"),
    "nothing absent": (lambda raw, drawn: drawn["absent"].clear(), "nothing is said to be absent"),
    "absent but not asked": (
        lambda raw, drawn: drawn["absent"].update({_one(raw, False)["id"]: ["zebra"]}),
        "does not name 'zebra'",
    ),
    "reply gives values away": (_reply_all, "t2: the reply says 187.3, 214.6, 243.9"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, folder: Path) -> None:
    spoil, problem = FAULTS[fault]
    found = mirage_audit.audit(*spoilt(folder, spoil))
    assert any(problem in line for line in found), found


def test_the_audit_of_the_filler_finds_what_loading_would_refuse(bank: Bank) -> None:
    leak = FillerTask("f99", "leaks", (("The run took 214.60 s.", "Noted."),))
    assert mirage_audit.filler_clean(replace(bank, filler=(leak,)))[0].startswith(
        "f99: turns[0][0]: the filler says '214.6'"
    )
    named = FillerTask("f99", "leaks", (("Fine.", f"See {bank.splits[1].artifacts[0].path}."),))
    assert mirage_audit.filler_clean(replace(bank, filler=(named,)))[0].startswith("f99: turns[0][1]: the filler names")


def test_drawn_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"drawn\.json: cannot be read"):
        read_drawn(tmp_path / "drawn.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$1,284.50 kg", ("1284.5", "kg")),
        ("99ms, p99", ("99", "ms", "p99")),
        ("2026-03-02 at 08:40", ("2026-03-02", "at", "08:40")),
        ("v1.20.3 -0.50", ("v1.20.3", "0.5")),
        ("Café Rondo’s", ("café", "rondo", "s")),
        ("ax_01.png", ("ax", "1", "png")),
        ("１２", ("12",)),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


def test_ids_come_from_the_seed_alone() -> None:
    assert opaque("artifact", "honey") == opaque("artifact", "honey") != opaque("probe", "honey")
