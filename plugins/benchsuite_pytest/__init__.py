"""The pytest plugin: its hooks, which only delegate. The controller's own stand in results.py and xdist_bridge.py.

As an entry point it adds options, hooks and the `bench` fixture; `benchsuite_pytest.fixtures`, named by the
root conftest of a project of cases, adds the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from benchsuite.errors import BenchError
from benchsuite_pytest import collect, hookspecs
from benchsuite_pytest.direct import bench
from benchsuite_pytest.options import add_options, read_settings
from benchsuite_pytest.planned import ours, regroup
from benchsuite_pytest.preflight import PreflightError, build_registry
from benchsuite_pytest.results import ExitStatus, Results
from benchsuite_pytest.session import SESSION, BenchSession
from benchsuite_pytest.terminal import Progress

__all__ = ["bench"]

EXIT_USAGE = 4


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Check everything that needs no model call; a fault ends the session here: exit 4, one line a cause."""
    if config.option.help or config.option.version:
        return None
    try:
        registry = build_registry()
        config.hook.pytest_bench_register.call_historic(kwargs={"registry": registry})
        session = config.stash[SESSION] = BenchSession(config, read_settings(config), registry)
        session.check()
    except PreflightError as error:
        return _refuse(error.problems)
    except BenchError as error:
        return _refuse([str(error)])
    return None


def _refuse(problems: Any) -> int:
    for problem in problems:
        sys.stderr.write(f"benchsuite: {' '.join(str(problem).splitlines())}\n")
    return EXIT_USAGE


def pytest_configure(config: pytest.Config) -> None:
    collect.add_markers(config)
    config.pluginmanager.register(_Order(), "benchsuite_order")
    session = config.stash.get(SESSION, None)
    if session is None:
        return
    if session.is_worker:
        if session.is_bench_project:
            session.end_with_controller()
        return
    session.progress = Progress(session.pace.describe)
    config.pluginmanager.register(Results(session), "benchsuite_results")
    config.pluginmanager.register(ExitStatus(session), "benchsuite_exit_status")
    if session.settings.dry_run:
        from benchsuite_pytest.dry_run import DryRun

        config.pluginmanager.register(DryRun(session), "benchsuite_dry_run")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Join pytest-xdist, in the controller of a distributed session."""
    config = session.config
    if config.pluginmanager.hasplugin("dsession") and SESSION in config.stash:
        from benchsuite_pytest.xdist_bridge import Bridge

        config.pluginmanager.register(Bridge(config.stash[SESSION]), "benchsuite_xdist")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    collect.generate(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tell every item which cell it shows, and drop the empty shells of experiments that were cut to nothing."""
    collect.attach(config, items)


class _Order:
    """Last of all: cells of one history next to each other, whatever another plugin did to the order."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        regroup(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if SESSION in session.config.stash:
        session.config.stash[SESSION].write_items(session)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    if fixturedef.argname == "outcome" and ours(fixturedef) and SESSION in request.config.stash:
        request.config.stash[SESSION].request = request


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if SESSION in session.config.stash:
            session.config.stash[SESSION].stop_engine()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    collect.drop_row(pyfuncitem)
    result = yield
    collect.hold_to_strict(pyfuncitem)
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].shut_down()
