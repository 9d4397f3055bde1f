"""Which run is a baseline, on run folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchsuite.errors import ConfigError
from benchsuite.runs import RunStore
from benchsuite_reports.gates.baseline import Baseline, resolve


@pytest.fixture
def bench(tmp_path) -> Path:
    return tmp_path / ".bench"


@pytest.fixture
def save(bench):
    """Writes a run; ``exit_code`` None leaves it unfinished. Returns its folder."""

    def write(name: str, exit_code: int | None = 0) -> Path:
        count = len(list((bench / "runs").glob("*"))) if bench.exists() else 0
        with RunStore.open(bench, name, {"experiment": [f"cell-{count}"]}, {}) as store:
            if exit_code is not None:
                store.finish(exit_code)
        return store.path

    return write


def test_last_green_is_the_newest_finished_run_of_the_name_with_exit_0(bench, save):
    save("nightly")
    green = save("nightly")
    for exit_code in (1, 10, None):
        save("nightly", exit_code)
    save("other")
    current = save("nightly")
    assert resolve("last-green", bench, "nightly", current).path == green
    assert resolve("last-green", bench, "nightly").path == current
    assert resolve("last-green", bench, "nightly", current).shown == f"last-green ({green.name})"


def test_a_run_without_a_name_is_called_run(bench, save):
    green = save("run")
    assert resolve("last-green", bench, "").path == green


def test_the_first_night_has_no_last_green_and_that_is_said(bench, save):
    expected = Baseline("last-green", None, "no finished run 'nightly' with exit 0 yet")
    assert resolve("last-green", bench, "nightly") == expected
    save("nightly", 10)
    save("other")
    assert resolve("last-green", bench, "nightly") == expected


def test_a_run_is_named_by_number_name_folder_or_path(bench, save):
    first, second = save("anchor"), save("anchor")
    save("anchor", None)
    assert resolve("1", bench).path == first
    assert resolve("anchor", bench).path == second  # the newest finished one
    assert resolve(first.name, bench).path == first
    assert resolve(str(first), bench / "elsewhere").path == first


def test_the_run_itself_is_no_baseline(bench, save):
    first = save("nightly", 10)
    current = save("nightly", None)
    assert resolve("nightly", bench, "nightly", current).path == first
    for name in ("2", current.name, str(current)):
        with pytest.raises(ConfigError, match=f"'{name}' is the run itself"):
            resolve(name, bench, "nightly", current)


def test_a_name_that_only_the_run_itself_has_is_no_baseline(bench, save):
    current = save("nightly", None)
    with pytest.raises(ConfigError, match="'nightly' is the run itself; name an earlier one"):
        resolve("nightly", bench, "nightly", current)


@pytest.mark.parametrize("exit_code", [2, 3, 5, 11])
def test_a_run_whose_rows_are_not_whole_is_refused(bench, save, exit_code):
    path = save("anchor", exit_code)
    with pytest.raises(ConfigError, match=f"'anchor': run {path.name} ended with exit {exit_code}: its rows are not"):
        resolve("anchor", bench)


@pytest.mark.parametrize("exit_code", [0, 1, 10])
def test_wrong_answers_and_a_gate_leave_the_rows_whole(bench, save, exit_code):
    path = save("anchor", exit_code)
    assert resolve("anchor", bench).path == path


def test_an_unfinished_run_is_refused(bench, save):
    path = save("anchor", None)
    for name in ("anchor", "1", str(path)):
        with pytest.raises(ConfigError, match=f"run {path.name} is not finished"):
            resolve(name, bench)


def test_an_anchor_that_is_not_there_is_an_error(bench, save):
    save("nightly")
    with pytest.raises(ConfigError, match=r"no run 'anchor' in .*; the last are: 0001_nogit_nightly"):
        resolve("anchor", bench)
    with pytest.raises(ConfigError, match="no such folder"):
        resolve("anchor", bench / "none")
