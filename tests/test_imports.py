"""The import rule: cases -> plugins -> reports -> benchsuite, and inside benchsuite downstream only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = 600

# folder: the project packages that it may import
ROOMS = {
    "cases": ("benchsuite_pytest", "benchsuite_reports", "benchsuite"),
    "plugins": ("benchsuite_pytest", "benchsuite_reports", "benchsuite"),
    "reports": ("benchsuite_reports", "benchsuite"),
    "benchsuite": ("benchsuite",),
}
PROJECT = ("cases", "tests", "benchsuite_pytest", "benchsuite_reports", "benchsuite")
BASE = ("errors", "files", "plan", "registry")
# room of benchsuite: the rooms that it may import besides itself and BASE
DOWNSTREAM = {
    "corpus": (),
    "models": (),
    "retrieval": ("corpus", "models"),
    "delivery": ("corpus", "models", "retrieval"),
    "runtime": ("corpus", "models", "retrieval", "delivery"),
    "memory": ("corpus", "models", "retrieval", "delivery", "runtime"),
    "scoring": ("corpus", "models", "retrieval", "delivery", "runtime", "memory"),
    "stats": ("corpus", "models", "retrieval", "delivery", "runtime", "memory", "scoring"),
}
READER = "benchsuite.models.embedded"
TYPES_OF_ALL = ("plan", "registry")  # they name types of rooms that import them


def problems(root: Path) -> list[str]:
    """What breaks the rule under ``root``, one line each."""
    found: list[str] = []
    for room, allowed in ROOMS.items():
        for path in sorted((root / room).rglob("*.py")):
            where = path.relative_to(root)
            module = ".".join(where.with_suffix("").parts).removesuffix(".__init__")
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            for line, target, only_types in imports(ast.parse(path.read_text(encoding="utf-8")), package):
                problem = _problem(room, allowed, module, target, only_types)
                if problem:
                    found.append(f"{where}:{line}: imports {target}: {problem}")
    for room in (*ROOMS, "tests", "examples"):
        for path in sorted((root / room).rglob("*.py")):
            lines = path.read_text(encoding="utf-8").count("\n")
            if lines > LINES:
                found.append(f"{path.relative_to(root)}: {lines} lines, at most {LINES}")
    return found


def imports(tree: ast.Module, package: str) -> Iterator[tuple[int, str, bool]]:
    """(line, dotted name, whether only type checkers see it) of every import, wherever it stands."""
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, id(node) in hidden
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{start}.{alias.name}", id(node) in hidden


def _problem(room: str, allowed: tuple[str, ...], module: str, target: str, only_types: bool) -> str:
    top = target.split(".")[0]
    if room == "benchsuite" and top in ("pytest", "_pytest", "xdist", "pluggy"):
        return "the library knows no pytest"
    if top not in PROJECT:
        return ""
    if top not in allowed:
        return f"{room} may import {', '.join(allowed)}"
    if room != "benchsuite" or target == "benchsuite":
        return ""
    if module.startswith(READER) and not target.startswith(READER):
        return "the embedded reader knows its request and nothing else of benchsuite"
    own, other = (f"{name}..".split(".")[1] for name in (module, target))
    if own in TYPES_OF_ALL and only_types:
        return ""
    if own in BASE:
        return "" if other in BASE else "a base module imports base modules only"
    if own in DOWNSTREAM and other not in (own, *BASE, *DOWNSTREAM[own]):
        return f"{own} may import {', '.join([*DOWNSTREAM[own], *BASE])}"
    return ""


def test_the_rule_holds():
    assert problems(ROOT) == []


def test_every_room_is_looked_at():
    """A renamed folder must not make the rule pass by finding nothing."""
    assert all(any((ROOT / room).rglob("*.py")) for room in ROOMS)
    known = {*DOWNSTREAM, *BASE}
    tops = {"cli", "commands", "episode", "estimate", "outcome", "outcome_row", "probe", "runs", "workbench"}
    assert {path.stem for path in (ROOT / "benchsuite").iterdir() if path.name[0] != "_"} <= known | tops


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("benchsuite/corpus/a.py", "from benchsuite.retrieval.text import TextChannel", "corpus may import"),
        ("benchsuite/corpus/a.py", "from ..models import wire", "corpus may import"),
        ("benchsuite/models/a.py", "def f():\n    import benchsuite.corpus.model", "models may import"),
        ("benchsuite/scoring/a.py", "from benchsuite import stats", "scoring may import"),
        ("benchsuite/delivery/a.py", "from benchsuite.episode import run_episode", "delivery may import"),
        ("benchsuite/plan.py", "from benchsuite.corpus.model import Outline", "base modules only"),
        (
            "benchsuite/stats/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from benchsuite.outcome import Outcome",
            "stats may import",
        ),
        ("benchsuite/models/embedded/a.py", "from benchsuite.plan import safe_id", "knows its request"),
        ("benchsuite/episode.py", "import pytest", "knows no pytest"),
        ("benchsuite/runs.py", "from benchsuite_reports.table import Table", "benchsuite may import benchsuite"),
        ("reports/benchsuite_reports/a.py", "import benchsuite_pytest.session", "reports may import"),
        ("plugins/benchsuite_pytest/a.py", "from cases.memlens import test_delivery", "plugins may import"),
        ("tests/test_long.py", "\n" * 601, "601 lines"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, path, text, complaint):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text)
    (found,) = problems(tmp_path)
    assert found.startswith(path)
    assert complaint in found


def test_what_is_allowed_is_not_found(tmp_path):
    for path, text in [
        ("benchsuite/registry.py", "import benchsuite.plan\nif TYPE_CHECKING:\n    import benchsuite.scoring"),
        ("benchsuite/delivery/a.py", "from benchsuite.models.wire import Part\nfrom . import spec"),
        ("benchsuite/episode.py", "from benchsuite.scoring.judge import JUDGE\nimport numpy"),
        ("plugins/benchsuite_pytest/a.py", "import pytest\nfrom benchsuite_reports.table import Table"),
        ("tests/test_short.py", "\n" * 600),
    ]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert problems(tmp_path) == []
