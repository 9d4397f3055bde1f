"""`core` is frozen for good: what `make bench` runs must stay comparable from version to version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

CORE_ARMS = {
    "1x-text-noimg-embedded",
    "1x-text-pixels-embedded",
    "1x-oracle-noimg-embedded",
    "1x-oracle-pixels-embedded",
}


def collected(*args: str, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "cases", "-k", "memlens", "--collect-only", "-q", *args]
    command += ["--bench-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    return [line.partition("[")[2].rstrip("]") for line in done.stdout.splitlines() if "::" in line]


def test_core_is_four_arms_of_every_question_of_the_eval_half(tmp_path):
    cells = collected("-m", "core", folder=tmp_path)
    arms, questions = zip(*(cell.rsplit("-", 1) for cell in cells), strict=True)
    assert set(arms) == CORE_ARMS
    assert len(set(questions)) == 68
    assert len(cells) == len(set(cells)) == 4 * 68


def test_other_models_lengths_and_values_are_not_core(tmp_path):
    wider = ("--bench-model", "embedded,embedded-forced", "--bench-axis", "k=5,10")
    assert len(collected(*wider, folder=tmp_path)) > 4 * 4 * 68
    arms = {cell.rsplit("-", 1)[0] for cell in collected("-m", "core", *wider, folder=tmp_path)}
    assert arms == CORE_ARMS
