"""LaTeX as a paper takes it: every table compiles in a document that loads booktabs alone, and fits its line."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchsuite_reports.formats import as_latex_document
from benchsuite_reports.table import Block, Table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex"),
]
ODD = r"a\b{c}$d$ & #1 50% m_1 ~x^2 <tag> |é ~ \input{x} 漢字"


def compiled(table: Table, folder: Path) -> str:
    """The log of a run that made a PDF."""
    (folder / "doc.tex").write_text(as_latex_document(table))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "doc.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "doc.pdf").stat().st_size > 1000
    return done.stdout


def too_wide(log: str) -> list[float]:
    """Points by which lines stand out."""
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]


def test_odd_text_compiles(tmp_path):
    block = Block(ODD, ((ODD, ODD),), ((ODD, "-0.58", "1.2e-4"), ("[x]", "*", "")), ((ODD, ODD),), (ODD,))
    compiled(Table("demo", ODD, ("a", "b", ODD), (block,), ((ODD, ODD),), (ODD,)), tmp_path)


@pytest.mark.parametrize("rows", [1, 200])
def test_a_wide_and_a_long_table_fit(tmp_path, rows):
    row = (
        "delivery deployed+dateperm -> deployed @ length 1x, index region, retrieval both",
        *("68", "52.94", "54.41", "+1.47", "24/0", "1.5e-5", "1.8e-4", "68/68", "68/68"),
    )
    columns = ("b minus a", "n", "a", "b", "difference", "W/L", "p", "Holm p", "matched", "altered")
    log = compiled(Table("demo", "Demo", columns, (Block("block", (), (row,) * rows),)), tmp_path)
    assert all(points < 5 for points in too_wide(log)), too_wide(log)
    assert "Float too large" not in log
