"""Hooks that third parties implement, in any pytest plugin or conftest. None stands on the request path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from benchsuite.models.launch import LaunchedServer
    from benchsuite.models.spec import ModelSpec
    from benchsuite.plan import Cell
    from benchsuite.registry import Registry
    from benchsuite.scoring.answers import Score


@pytest.hookspec(historic=True)
def pytest_bench_register(registry: Registry) -> None:
    """Add named components to axes.

    Example::

        def pytest_bench_register(registry):
            registry.retriever("bm25", BM25)
    """


@pytest.hookspec(firstresult=True)
def pytest_bench_score_cell(cell: Cell, answer: str) -> Score | None:
    """Score one answer instead of the suite's scorer; None leaves it to the next. Runs in the main thread.

    Example::

        def pytest_bench_score_cell(cell, answer):
            if cell.outline.type == "temporal_reasoning":
                return my_date_score(answer)
    """


@pytest.hookspec(firstresult=True)
def pytest_bench_launch_model(config: pytest.Config, spec: ModelSpec) -> LaunchedServer | None:
    """Start the server of a launched model, once, at its first use, in the controller; None: the built-in way."""


@pytest.hookspec
def pytest_bench_finish(config: pytest.Config, outcomes: Sequence[Mapping[str, Any]], run: Path) -> None:
    """All outcome rows of the run and its folder: once, in the controller, after the last cell.

    Example::

        def pytest_bench_finish(config, outcomes, run):
            (run / "mine.txt").write_text(str(len(outcomes)))
    """
