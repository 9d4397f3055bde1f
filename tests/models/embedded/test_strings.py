"""The reader knows nothing of the corpora: no import of them and none of their strings."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted((ROOT / "benchsuite/models/embedded").glob("*.py"))
MINI = ROOT / "benchsuite/corpus/minis/memlens_mini"

# Words of the wire format, of Python's codecs, and the reader's own refusal; none is a subject of a corpus.
PROTOCOL = {"system", "content", "message", "messages", "assistant", "object", "unknown", "replace", "string"}


def literals(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text.strip().lower() for text in found if len(text.strip()) >= 6}


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [str(value)]


@pytest.fixture(scope="module")
def corpus() -> str:
    files = sorted(MINI.glob("dataset_*.json"))
    assert files
    parts = [json.loads(path.read_text("utf-8")) for path in [*files, MINI / "drawn.json"]]
    return "\n".join(text for part in parts for text in texts(part)).lower()


def test_no_literal_of_the_reader_occurs_in_the_bundled_corpus(corpus: str) -> None:
    shared = {
        f"{path.name}: {text}" for path in SOURCES for text in literals(path) if text not in PROTOCOL and text in corpus
    }
    assert len(corpus) > 100_000
    assert shared == set()


def test_no_word_list_of_the_reader_hides_corpus_labels() -> None:
    """Nor inside longer literals: no label that the corpus draws stands in any literal but docstrings."""
    drawn = json.loads((MINI / "drawn.json").read_text("utf-8"))
    labels = {text.lower() for text in texts(drawn) if len(text) >= 6 and text.replace(" ", "").isalpha()}
    assert len(labels) > 50
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        documents = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if _documented(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in documents:
                held = {label for label in labels if label in node.value.lower()}
                assert held - PROTOCOL == set(), f"{path.name}:{node.lineno}"


def test_the_reader_imports_no_other_part_of_the_package() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            ours = [name for name in names if name.startswith("benchsuite")]
            assert all(name.startswith("benchsuite.models.embedded") for name in ours), path.name


def _documented(node: ast.AST) -> bool:
    return isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
