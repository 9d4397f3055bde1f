"""A run's folder: its number and name, its lock, and the facts in ``run.json``."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from benchsuite.errors import ConfigError, DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import sha256_json

Plan = Mapping[str, Sequence[str]]
"""Cell ids by experiment."""

OUTCOMES = "outcomes.jsonl"
INFO = "run.json"
LOCK = ".lock"
SCHEMA = 1
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By schema of ``run.json``: the facts as the next schema has them."""

_FOLDER = re.compile(r"(\d{4,})_.+", re.DOTALL)
_NAME = re.compile(r"[\w.+-]+")
_ASIDE = ".aside-"  # a folder that is being merged or removed: no run


def check_name(name: str) -> str:
    """The name of a run as its folder has it, ``run`` if empty. Raises ConfigError for an unusable one."""
    if name and not _NAME.fullmatch(name):
        raise ConfigError(f"run name {name!r}: use letters, digits, '_', '.', '+' and '-' only")
    return name or "run"


def is_run(path: Path) -> bool:
    return (path / INFO).is_file()


def read_info(path: Path) -> dict[str, Any]:
    """``run.json`` of a run folder, as this version's schema has it.

    Raises DataError when it is absent or broken, or a newer version of benchsuite wrote it.
    """
    file = path / INFO
    try:
        info = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(str(file), None, None, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise DataError(str(file), None, None, f"not JSON: {error}") from None
    if not isinstance(info, dict) or not isinstance(info.get("plan"), dict):
        raise DataError(str(file), None, "plan", "a run's facts must be an object with a plan")
    dated = {"schema": 1, **info}  # the first ones had none
    return dated if dated["schema"] == SCHEMA else migrate(dated, SCHEMA, MIGRATIONS, str(file))


def migrate(
    found: Mapping[str, Any],
    schema: int,
    migrations: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]],
    file: str,
    item: str | None = None,
) -> dict[str, Any]:
    """What was written in an older schema as ``schema`` has it, one step a version.

    Raises DataError naming both versions for a newer one, and for one that no step begins at.
    """
    given = found.get("schema")
    if type(given) is int and given > schema:
        problem = f"{given}: a newer benchsuite wrote this, and this one reads up to {schema}: install the newer one"
        raise DataError(file, item, "schema", problem)
    now = dict(found)
    while now.get("schema") != schema:
        step = migrations.get(now["schema"]) if type(now.get("schema")) is int else None
        if step is None:
            raise DataError(file, item, "schema", f"{given!r}: this version reads schema {schema}")
        try:
            now = {**step(dict(now)), "schema": now["schema"] + 1}
        except (KeyError, TypeError, ValueError) as error:
            problem = f"written in schema {given}, cannot be brought to {schema}: {type(error).__name__}: {error}"
            raise DataError(file, item, None, problem) from None
    return now


def write_info(path: Path, info: Mapping[str, Any]) -> None:
    write_atomic(path / INFO, json.dumps(info, ensure_ascii=True, allow_nan=False, indent=1) + "\n")


def plan_digest(plan: Plan, info: Mapping[str, Any]) -> str:
    """What makes two plans the same: the cells of each experiment in any order, and ``info['digests']``."""
    return sha256_json([{key: sorted(cells) for key, cells in plan.items()}, info.get("digests", {})])


def planned_cells(info: Mapping[str, Any]) -> set[str]:
    return {cell for cells in info["plan"].values() for cell in cells}


def git_commit(rootdir: Path) -> str:
    """Seven hex digits of the commit that ``rootdir`` is at; ``nogit`` outside a repository or without git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=7", "HEAD"], cwd=rootdir, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return "nogit"
    return done.stdout.strip()[:7] if done.returncode == 0 else "nogit"


def run_folders(runs: Path) -> list[tuple[int, Path]]:
    """The run folders with their numbers, oldest first. Raises ConfigError when they cannot be listed."""
    try:
        return sorted(_folders(runs))
    except OSError as error:
        raise ConfigError(f"{runs}: {error.strerror or error}") from None


def _folders(runs: Path) -> Iterator[tuple[int, Path]]:
    if runs.is_dir():
        for folder in runs.iterdir():
            if (match := _FOLDER.fullmatch(folder.name)) and folder.is_dir():
                yield int(match[1]), folder


def next_folder(runs: Path, commit: str, name: str) -> tuple[int, Path]:
    """The number after the highest, and the path of its folder. Call under ``gate``."""
    number = max((number for number, _ in run_folders(runs)), default=0) + 1
    return number, runs / f"{number:04d}_{commit}_{name}"


@contextmanager
def gate(runs: Path) -> Iterator[None]:
    """One process at a time opens, merges in or removes run folders: numbers are unique, locks are taken.

    Raises ConfigError where ``runs`` cannot be written, or what is done inside raises an OSError.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with (runs / LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise ConfigError(f"{error.filename or runs}: {error.strerror or error}") from None


def try_lock(folder: Path) -> IO[str] | None:
    """The folder's lock, freed by the system when this process dies; None when another holds it."""
    lock = (folder / LOCK).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def is_held(folder: Path) -> bool:
    """Whether a process writes this run now; nothing is written to find out."""
    try:
        with (folder / LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock: it is finished, or was never opened
        return False
    return False


def aside(runs: Path, name: str) -> Path:
    """Where a folder stands while it is made or taken away: no command takes it for a run."""
    return runs / f"{_ASIDE}{name}"


def sweep(runs: Path) -> None:
    """Take away what a killed merge or removal left aside. Call under ``gate``."""
    for folder in runs.glob(f"{_ASIDE}*"):
        if not is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
