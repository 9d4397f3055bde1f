"""The generator writes what is committed, and the images can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image

from benchsuite.corpus import minis
from benchsuite.corpus.minis import audit
from benchsuite.corpus.minis.memlens_gen.canvas import load_font
from benchsuite.corpus.minis.memlens_gen.content_dev import DEV
from benchsuite.corpus.minis.memlens_gen.histories import COMING, write_half
from benchsuite.corpus.minis.memlens_gen.longer import lengthen
from benchsuite.corpus.minis.memlens_gen.questions import Author
from benchsuite.corpus.minis.memlens_gen.values import Values
from benchsuite.corpus.minis.memlens_gen.write import image_names, made_with

ROOT = Path(minis.__file__).parent / "memlens_mini"


def files(root: Path) -> dict[str, Path]:
    return {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def test_a_second_writing_gives_the_committed_bytes(tmp_path):
    """Under another hash seed. With other drawing libraries the PNGs are compared by their pixels instead."""
    command = [sys.executable, "-m", "benchsuite.corpus.minis.memlens_gen", str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"}, timeout=300)
    written, committed = files(tmp_path), files(ROOT)
    assert set(written) == set(committed)
    same_libraries = json.loads((ROOT / "drawn.json").read_text(encoding="utf-8"))["made_with"] == made_with()
    for name, path in written.items():
        if same_libraries or (name != "drawn.json" and not name.endswith(".png")):
            assert path.read_bytes() == committed[name].read_bytes(), name
        elif name.endswith(".png"):
            assert pixels(path).shape == pixels(committed[name]).shape, name
            assert np.abs(pixels(path) - pixels(committed[name])).mean() < 4, name
    assert audit.read_folder(tmp_path).drawn == audit.read_folder(ROOT).drawn


def test_values_never_share_their_figures():
    values = Values(Random(3), (date(2024, 7, 1), date(2024, 12, 20)))
    styles = ("money:3-90", "unit:110-190 g", "tenth:11-19 kg", "code", "pin", "day", "clock:7-22", "percent", "seat")
    given = [values.fresh(style)[1] for _ in range(20) for style in styles]
    seen: set[str] = set()
    for answer in given:
        assert not seen & audit.figures(answer), answer
        seen |= audit.figures(answer)


def test_a_used_up_or_unknown_style_is_an_error():
    values = Values(Random(3), (date(2024, 7, 1), date(2024, 7, 3)))
    assert values.fresh("day")[1] != values.fresh("day")[1]
    with pytest.raises(ValueError, match="no fresh value left for style 'day'"):
        values.fresh("day")
    with pytest.raises(ValueError, match="unknown value style 'colour'"):
        values.fresh("colour")


def test_spelled_days_are_printed_and_answered_differently():
    values = Values(Random(3), (date(2024, 5, 6), date(2024, 5, 7)))
    assert values.fresh("spelled") == ("6 May 2024", "2024/05/06")


def test_a_longer_history_that_lacks_small_talk_is_an_error():
    content = replace(DEV, filler=replace(DEV.filler, phrases=(), asides=()))
    rng = Random(5)
    author = Author(content, rng, Values(rng, COMING), image_names("dev"))
    stories, pictures = write_half(author)
    with pytest.raises(ValueError, match=r"\d+ rounds are needed for a longer history, \d+ are left"):
        lengthen(author, stories, pictures)


def test_every_committed_font_opens_and_differs():
    widths = {
        face: load_font(face, 22).getlength("Total 48.37")
        for face in ("aileron", "inconsolata", "cabin", "junction", "liberation-mono")
    }
    assert len(set(widths.values())) == len(widths)


def test_ocr_reads_the_deciding_values_exactly():
    """Real OCR over a gold image of every layout, fonts taken in turn: at least 95% of the drawn values."""
    from rapidocr import RapidOCR

    folder = audit.read_folder(ROOT)
    gold = sorted({file for item in folder.lengths["1x"] for file in audit.gold_files(item)})
    looks: dict[str, dict[str, str]] = {}
    for file in gold:
        looks.setdefault(folder.drawn[file]["layout"], {})[folder.drawn[file]["font"]] = file
    assert len(looks) == 14
    sample = [list(fonts.values())[turn % len(fonts)] for turn, fonts in enumerate(looks.values())]
    threads = {f"EngineConfig.onnxruntime.{pool}_op_num_threads": 1 for pool in ("intra", "inter")}
    engine = RapidOCR(
        params={"Det.limit_type": "max", "Det.limit_side_len": 960, "Global.log_level": "error", **threads}
    )
    total, missed = 0, []
    for file in sample:
        image = np.ascontiguousarray(pixels(ROOT / "release_images" / file).astype(np.uint8)[:, :, ::-1])
        read = " ".join(engine(image, use_det=True, use_cls=False, use_rec=True).txts or ())
        for role, text in folder.drawn[file]["lines"]:
            value = text.split(": ")[-1].split(" - ")[-1] if role == "pair" else text
            if role in ("pair", "value"):
                total += 1
                if value.replace(" ", "") not in read.replace(" ", ""):
                    missed.append((file, value))
    assert len(missed) <= 0.05 * total, missed
