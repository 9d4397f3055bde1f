"""All runs at a glance, and how a run is found by what a person calls it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.runs.folder import OUTCOMES, is_run, planned_cells, read_info, run_folders
from benchsuite.runs.rows import check_complete, count_lines, count_statuses

LISTED = 5  # runs that an error names


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run at a glance. ``problem`` says why the rest is empty, or not to be relied on."""

    number: int
    path: Path
    name: str = ""
    commit: str = ""
    started: str = ""
    finished: str | None = None
    exit: int | None = None
    planned: int = 0
    cells: int = 0
    errors: int = 0
    problem: str = ""


def list_runs(bench_dir: Path) -> list[RunSummary]:
    """All runs, oldest first; a folder that cannot be read is listed with its problem.

    The rows of unfinished runs are counted, none is checked: ``load_run`` does that.
    """
    return [_summary(number, folder) for number, folder in run_folders(bench_dir / "runs")]


def find_run(bench_dir: Path, name: str) -> Path:
    """The folder of a run by number, by name (the newest of it), or by path.

    Raises ConfigError where there is none, or none that can be read.
    """
    if is_run(Path(name)):
        return Path(name)
    if not bench_dir.is_dir():
        raise ConfigError(f"{bench_dir}: no such folder; --bench-dir says where the runs are")
    folders = run_folders(bench_dir / "runs")
    for number, folder in reversed(folders):
        try:
            if folder.name == name or (name.isdecimal() and number == int(name)):
                read_info(folder)
                return folder
            if read_info(folder).get("name") == name:
                return folder
        except DataError as error:
            if folder.name == name or (name.isdecimal() and number == int(name)):
                raise ConfigError(str(error)) from None
    raise ConfigError(f"no run {name!r} in {bench_dir}; {last_runs([folder for _, folder in folders])}")


def last_runs(folders: list[Path]) -> str:
    """What an error says of the runs that there are."""
    there = ", ".join(folder.name for folder in folders[-LISTED:])
    return f"the last are: {there}" if there else "it has none"


def _summary(number: int, folder: Path) -> RunSummary:
    try:
        info = read_info(folder)
        cells, errors, problem = _counts(folder, info)
        return RunSummary(
            number,
            folder,
            name=info["name"],
            commit=info["commit"],
            started=info["started"],
            finished=info["finished"],
            exit=info["exit"],
            cells=cells,
            errors=errors,
            planned=len(planned_cells(info)),
            problem=problem,
        )
    except KeyError as error:
        return RunSummary(number, folder, problem=f"{folder / 'run.json'} has no {error}")
    except (BenchError, OSError, TypeError) as error:
        return RunSummary(number, folder, problem=str(error))


def _counts(folder: Path, info: dict[str, Any]) -> tuple[int, int, str]:
    """Cells with a row, those of them that are errors, and what is wrong with the rows."""
    outcomes = folder / OUTCOMES
    if info.get("finished") is None:
        statuses = count_statuses(outcomes) if outcomes.exists() else {}
        return sum(statuses.values()), statuses.get("error", 0), ""
    try:
        check_complete(folder, info, count_lines(outcomes))
    except DataError as error:
        return info["cells"], info["errors"], str(error)
    return info["cells"], info["errors"], ""
