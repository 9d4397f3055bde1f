"""Runs are taken away whole, never caches: by what a person names, or by age with the newest ones kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchsuite.errors import ConfigError, DataError
from benchsuite.runs.folder import aside, gate, is_held, read_info, run_folders, sweep, try_lock
from benchsuite.runs.listing import LISTED, RunSummary, last_runs, list_runs


@dataclass(frozen=True, slots=True)
class Removed:
    """A run that was taken away, or would be, and what it held in bytes."""

    path: Path
    size: int


def runs_to_remove(bench_dir: Path, names: Sequence[str], keep: Sequence[str] = ()) -> list[Path]:
    """The folders of the runs that are named: each by number, folder name or path.

    Raises ConfigError, before anything is removed, for what is no run of ``bench_dir``, is being written, or is kept;
    a save name is refused as well: it does not say which run.
    """
    folders = run_folders(bench_dir / "runs")
    kept = _kept(bench_dir, folders, keep)
    found = []
    for name in dict.fromkeys(names):
        path = _named(bench_dir, folders, name)
        if path in kept:
            raise ConfigError(f"run {path.name} is kept by --keep {kept[path]}")
        if is_held(path):
            raise ConfigError(f"run {path.name} is being written")
        found.append(path)
    return list(dict.fromkeys(found))


def old_runs(bench_dir: Path, name: str, days: float, keep: Sequence[str] = ()) -> tuple[list[Path], list[str]]:
    """The runs of a save name that started over ``days`` ago, and a line for each other old one that stays.

    The newest run of the name and its newest with exit 0 always stay, as do those in ``keep`` and those being
    written. Runs whose ``run.json`` cannot be read have no name, and are not looked at.
    """
    runs = [run for run in list_runs(bench_dir) if run.name == name]
    kept = _kept(bench_dir, run_folders(bench_dir / "runs"), keep)
    reasons = {path: f"--keep {each}" for path, each in kept.items()}
    green = [run for run in runs if run.finished is not None and run.exit == 0]
    for run, why in [
        *((each, "the newest with exit 0") for each in green[-1:]),
        *((each, "the newest") for each in runs[-1:]),
    ]:
        reasons.setdefault(run.path, f"{why} of {name}")
    limit = datetime.now(UTC) - timedelta(days=days)
    found, stay = [], []
    for run in runs:
        if not _before(run, limit):
            continue
        why = reasons.get(run.path) or ("it is being written" if is_held(run.path) else "")
        if why:
            stay.append(f"{run.path.name}: {why}")
        else:
            found.append(run.path)
    return found, stay


def remove_runs(bench_dir: Path, paths: Iterable[Path]) -> list[Removed]:
    """Take the folders away; a kill at any moment leaves each whole or gone. Raises ConfigError where it cannot be."""
    runs = bench_dir / "runs"
    removed = []
    for path in paths:
        with gate(runs):
            sweep(runs)
            lock = try_lock(path)
            if lock is None:
                raise ConfigError(f"run {path.name} is being written")
            with lock:
                size = folder_size(path)
                gone = aside(runs, path.name)
                path.rename(gone)
                shutil.rmtree(gone)
        removed.append(Removed(path, size))
    return removed


def folder_size(path: Path) -> int:
    """Bytes of the files in a folder and below; links count for themselves."""
    return sum(
        os.lstat(Path(folder) / name).st_size for folder, _, names in os.walk(path, onerror=_raise) for name in names
    )


def _raise(error: OSError) -> None:
    raise error


def _named(bench_dir: Path, folders: Sequence[tuple[int, Path]], name: str) -> Path:
    by_name = {path.name: path for _, path in folders}
    numbered = [path for number, path in folders if name.isdecimal() and number == int(name)]
    if name in by_name or numbered:
        found = by_name.get(name) or numbered[-1]
    else:
        given = Path(name)
        there = {path.resolve(): path for _, path in folders}
        if given.is_dir() and given.resolve() not in there:
            raise ConfigError(f"{name}: not a run in {bench_dir / 'runs'}; --bench-dir says where the runs are")
        if not given.is_dir() and (saved := [path.name for _, path in folders if _save_name(path) == name]):
            raise ConfigError(f"{name!r} is the name of {len(saved)} runs: say which, of {', '.join(saved[-LISTED:])}")
        if not given.is_dir():
            raise ConfigError(
                f"no run {name!r} in {bench_dir}: give a number or the name of a folder; "
                + last_runs([path for _, path in folders])
            )
        found = there[given.resolve()]
    if found.is_symlink():
        raise ConfigError(f"{found}: a link; what it points to is not in {bench_dir / 'runs'}")
    return found


def _kept(bench_dir: Path, folders: Sequence[tuple[int, Path]], keep: Sequence[str]) -> dict[Path, str]:
    """The runs that a ``--keep`` names, by number, folder name or save name. Raises ConfigError for one without any."""
    kept: dict[Path, str] = {}
    for name in keep:
        found = [path for number, path in folders if name in (path.name, _save_name(path)) or name == str(number)]
        if not found:
            raise ConfigError(f"--keep {name}: no such run in {bench_dir}")
        kept.update(dict.fromkeys(found, name))
    return kept


def _save_name(path: Path) -> str:
    try:
        return str(read_info(path).get("name", ""))
    except DataError:
        return ""


def _before(run: RunSummary, limit: datetime) -> bool:
    try:
        started = datetime.fromisoformat(run.started)
    except ValueError:
        return False
    return (started if started.tzinfo else started.replace(tzinfo=UTC)) < limit
