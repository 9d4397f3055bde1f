"""Cells as ordinary pytest items: parametrisation, marks, and what each item shows."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from benchsuite.errors import BenchError
from benchsuite.outcome import Outcome, row_json
from benchsuite_pytest.cells import MarkMaker
from benchsuite_pytest.planned import ITEM_CELL, ITEM_EXPERIMENT
from benchsuite_pytest.session import SESSION, BenchSession
from benchsuite_pytest.terminal import ROW, WORD

CELL_ID = "cell_id"
REFUSED = "benchsuite: "  # how the collection error of a faulty declaration begins
_MARKERS = (
    "experiment(**axes, contrasts, tables, family, primary, core, split): declares an experiment over axes",
    "cell(**axes, type, split): the axis values of one cell; applied automatically, for -m",
    "core: the frozen arms that `make bench` runs",
)


def add_markers(config: pytest.Config) -> None:
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    session = config.stash.get(SESSION, None)
    for suite in session.registry.corpora if session is not None else ():
        config.addinivalue_line("markers", f"{suite}: cases of the {suite} suite")


def generate(metafunc: pytest.Metafunc) -> None:
    """Parametrise a function marked ``experiment`` with its cells; ids are the part after the cell id's colon."""
    declared = metafunc.definition.get_closest_marker("experiment")
    session = metafunc.config.stash.get(SESSION, None)
    if declared is None or session is None or not session.is_bench_project:
        return
    nodeid = metafunc.definition.nodeid
    suites = [mark.name for mark in metafunc.definition.iter_markers() if mark.name in session.registry.corpora]
    if CELL_ID not in metafunc.fixturenames or not suites:
        needs = "the outcome fixture" if suites else f"a suite's marker ({', '.join(session.registry.corpora)})"
        refuse(session, f"{nodeid}: an experiment needs {needs}")
    try:
        planner = session.prepared.planner
        experiment = planner.experiment(nodeid, suites[0], declared.kwargs)
        cells = planner.expand(experiment)
    except BenchError as error:
        refuse(session, f"{nodeid}: {error}")
    session.experiments[nodeid] = experiment
    marks = MarkMaker()
    metafunc.parametrize(
        CELL_ID,
        [
            pytest.param(
                cell.id, id=cell.bracket, marks=[marks.mark(cell), pytest.mark.core] if core else marks.mark(cell)
            )
            for cell, core in cells
        ],
    )


def refuse(session: BenchSession, problem: str) -> NoReturn:
    """An experiment that cannot be planned. Its one line is a collection error, which the controller finds again."""
    session.refused = True
    raise pytest.Collector.CollectError(f"{REFUSED}{problem}")


def attach(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every item its cell and experiment; an experiment without any cell is deselected, not skipped.

    Nothing is left to run when a declaration was refused: a worker, unlike a plain session, would go on.
    """
    session = config.stash.get(SESSION, None)
    if session is None or not session.is_bench_project:
        return
    if session.refused:
        items.clear()
    empty: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("experiment") is None:
            continue
        cell_id = item.callspec.params.get(CELL_ID) if hasattr(item, "callspec") else None
        cell = session.prepared.planner.cells.get(cell_id) if isinstance(cell_id, str) else None
        if cell is None:
            empty.append(item)
            continue
        item.stash[ITEM_CELL] = cell
        item.stash[ITEM_EXPERIMENT] = session.experiments[item.nodeid.partition("[")[0]]
    if empty:
        config.hook.pytest_deselected(items=empty)
        gone = set(empty)
        items[:] = [item for item in items if item not in gone]


def report_row(item: pytest.Item, outcome: Outcome) -> None:
    """Send a cell's row to the controller with its setup report; a rerun replaces it. Its word stays for JUnit."""
    item.user_properties[:] = [pair for pair in item.user_properties if pair[0] not in (WORD, ROW)]
    item.user_properties += [(WORD, outcome.word), (ROW, row_json(outcome.to_row()))]


def drop_row(item: pytest.Item) -> None:
    """Once the setup report is made, the later reports need not carry the row again."""
    item.user_properties[:] = [pair for pair in item.user_properties if pair[0] != ROW]


def hold_to_strict(item: pytest.Function) -> None:
    """``--bench-strict``: a cell that was not answered right fails its case."""
    session: BenchSession | None = item.config.stash.get(SESSION, None)
    outcome: Any = item.funcargs.get("outcome")
    if session is None or not session.settings.strict or not isinstance(outcome, Outcome):
        return
    if outcome.word not in ("right", "grounded"):
        pytest.fail(f"{outcome.word}: answered {outcome.answer!r}, gold {outcome.gold!r}", pytrace=False)
