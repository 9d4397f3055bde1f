"""Which run a gate compares with: ``last-green``, or a run by number, name or path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchsuite.errors import ConfigError
from benchsuite.runs import check_name, find_run, is_run, list_runs, read_info

OPTION = "--bench-compare"
LAST_GREEN = "last-green"
USABLE = (0, 1, 10)
"""Exit codes of runs whose rows are whole: all well, wrong or failed cases, a gate."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """``name`` as it was asked for; ``path`` is the run's folder, None where ``reason`` says why there is none yet."""

    name: str
    path: Path | None
    reason: str = ""

    @property
    def shown(self) -> str:
        run = self.path.name if self.path is not None else ""
        return f"{self.name} ({run})" if run and run != self.name else self.name


def resolve(name: str, bench_dir: Path, save: str = "", current: Path | None = None) -> Baseline:
    """The baseline that ``name`` means for a run saved as ``save``; ``current``, that run's folder, is never one.

    ``last-green`` is the newest finished run of that name with exit 0; the first night has none, which is no fault.
    A name is the newest finished run of it. Raises ConfigError where no run has the number, name or path, and for a
    run that is not finished, was cut short or lacks rows (exit 2, 3, 11).
    """
    if name == LAST_GREEN:
        return _last_green(bench_dir, check_name(save), current)
    runs = list_runs(bench_dir) if bench_dir.is_dir() and not is_run(Path(name)) else []
    named = [run for run in runs if run.name == name and not run.problem and not _same_folder(run.path, current)]
    finished = [run for run in named if run.finished is not None]
    if found := finished or named:
        return Baseline(name, _usable(name, found[-1].path))
    path = find_run(bench_dir, name)
    if _same_folder(path, current):
        raise ConfigError(f"{OPTION}: {name!r} is the run itself; name an earlier one")
    return Baseline(name, _usable(name, path))


def _last_green(bench_dir: Path, save: str, current: Path | None) -> Baseline:
    runs = list_runs(bench_dir) if bench_dir.is_dir() else []
    green = [run for run in runs if run.name == save and run.exit == 0 and not _same_folder(run.path, current)]
    if not green:
        return Baseline(LAST_GREEN, None, f"no finished run {save!r} with exit 0 yet")
    return Baseline(LAST_GREEN, green[-1].path)


def _usable(name: str, path: Path) -> Path:
    info = read_info(path)
    if info.get("finished") is None:
        raise ConfigError(f"{OPTION}: {name!r}: run {path.name} is not finished")
    if info.get("exit") not in USABLE:
        raise ConfigError(
            f"{OPTION}: {name!r}: run {path.name} ended with exit {info.get('exit')}: its rows are not whole"
        )
    return path


def _same_folder(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()
