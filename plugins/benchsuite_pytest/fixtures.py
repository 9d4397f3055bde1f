"""Fixtures of cases: read-only views of what the engine uses, and the outcome."""

from __future__ import annotations

from typing import cast

import pytest

from benchsuite.corpus.model import Query
from benchsuite.delivery.spec import Delivery
from benchsuite.models.spec import ModelSpec
from benchsuite.outcome import Outcome
from benchsuite.plan import Cell
from benchsuite.registry import Component
from benchsuite.runtime.checkpoint import Checkpoint
from benchsuite.runtime.states import NO_STATE
from benchsuite_pytest.collect import report_row
from benchsuite_pytest.planned import ITEM_CELL
from benchsuite_pytest.session import SESSION, BenchSession

_NO_CELL = "this fixture belongs to functions marked `experiment`"
VIEWS = ("probe", "retriever", "delivery", "model", "checkpoint")


def _cell(request: pytest.FixtureRequest) -> Cell:
    cell: Cell | None = request.node.stash.get(ITEM_CELL, None)
    if cell is None:
        pytest.fail(_NO_CELL, pytrace=False)
    return cell


@pytest.fixture
def cell_id() -> str:
    """The id of the cell that a case shows; functions marked `experiment` get their own by parametrisation."""
    pytest.fail(_NO_CELL, pytrace=False)


@pytest.fixture
def probe(request: pytest.FixtureRequest, cell_id: str) -> Query:
    """What is asked: text, date, images, options; no type and no gold."""
    return cast(Query, _view("probe", request))


@pytest.fixture
def retriever(request: pytest.FixtureRequest, cell_id: str) -> Component:
    """The registered component on the cell's retrieval axis."""
    return cast(Component, _view("retriever", request))


@pytest.fixture
def delivery(request: pytest.FixtureRequest, cell_id: str) -> Delivery:
    """The cell's Delivery."""
    return cast(Delivery, _view("delivery", request))


@pytest.fixture
def model(request: pytest.FixtureRequest, cell_id: str) -> ModelSpec:
    """The answering model's spec; its key is not in it."""
    return cast(ModelSpec, _view("model", request))


@pytest.fixture
def checkpoint(request: pytest.FixtureRequest, cell_id: str) -> Checkpoint:
    """The conversation state that the cell is asked at; built if need be. A cell without a state has none."""
    if _cell(request).arm.text("state") == NO_STATE:
        pytest.fail(f"{_cell(request).id} is asked at no conversation state", pytrace=False)
    return cast(Checkpoint, _view("checkpoint", request))


@pytest.fixture
def outcome(pytestconfig: pytest.Config, cell_id: str) -> Outcome:
    """The scored answer of this case's cell. A call that gave no answer is this test's ERROR, never a score."""
    session = pytestconfig.stash[SESSION]
    request = session.request  # asking for the `request` fixture instead costs 0.1 ms a cell
    assert request is not None
    cell = _cell(request)
    _refuse_overridden_views(request, session, cell)
    result = session.outcome(request.session, cell)
    report_row(request.node, result)
    if not result.answered:
        pytest.fail(f"not answered: {result.error_message}", pytrace=False)
    return result


def _refuse_overridden_views(request: pytest.FixtureRequest, session: BenchSession, cell: Cell) -> None:
    for name in VIEWS:
        if name in request.fixturenames and request.getfixturevalue(name) is not session.view(
            name, cell, request.session
        ):
            pytest.fail(
                f"fixture {name!r} is overridden, but a declared cell is sent as its axes say; register a component "
                "and name it on the axis, or use bench.ask",
                pytrace=False,
            )


def _view(name: str, request: pytest.FixtureRequest) -> object:
    return _session(request).view(name, _cell(request), request.session)


def _session(request: pytest.FixtureRequest) -> BenchSession:
    return request.config.stash[SESSION]
