"""The run store: one numbered folder a run, written so that a kill at any moment loses no finished row."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.files import AppendFile, whole_lines, write_atomic
from benchsuite.models.wire import sha256_json
from benchsuite.outcome import row_json

Row = dict[str, object]
Plan = Mapping[str, Sequence[str]]
"""Cell ids by experiment."""

OUTCOMES = "outcomes.jsonl"
_INFO = "run.json"
_LISTED = 5  # runs that an error names
_LOCK = ".lock"
_FOLDER = re.compile(r"(\d{4,})_.+")
_NAME = re.compile(r"[\w.+-]+")


@dataclass(frozen=True, slots=True)
class Run:
    """A run read from its folder: ``run.json`` and its rows by cell id."""

    path: Path
    info: Mapping[str, Any]
    rows: Mapping[str, Row]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run at a glance. ``problem`` says why the rest is empty when the folder cannot be read."""

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


@dataclass(slots=True)
class RunStore:
    """The open folder of the run in progress; its one writer holds the folder's lock until ``close``.

    ``cells`` maps the id of every cell that has a row to that row's status. Rows themselves stay on disk.
    """

    path: Path
    info: dict[str, Any]
    continued: bool
    cells: dict[str, str] = field(default_factory=dict)
    _served: dict[str, set[str]] = field(default_factory=dict)
    _lock: IO[str] | None = None
    _outcomes: AppendFile | None = None
    _repeated: bool = False

    @classmethod
    def open(
        cls, bench_dir: Path, name: str, plan: Plan, info: Mapping[str, Any], rootdir: Path | None = None
    ) -> RunStore:
        """Continue the newest unfinished run of the same plan, name and commit, or start the next number.

        ``info`` goes into ``run.json`` (argv, versions, digests, seeds, ...); its ``digests`` (corpora, protocol,
        scoring) are part of what makes a plan the same. A run that another process holds is never continued.
        The commit is that of ``rootdir`` (default: the parent of ``bench_dir``). Raises ConfigError for an
        unusable name or folder, DataError when a row of the continued run is broken.
        """
        name = check_name(name)
        commit = git_commit(rootdir or bench_dir.parent)
        runs = bench_dir / "runs"
        identity = {"name": name, "commit": commit, "plan_digest": plan_digest(plan, info)}
        try:
            runs.mkdir(parents=True, exist_ok=True)
            with (runs / _LOCK).open("w") as gate:  # one opening at a time: numbers are unique, locks are taken
                fcntl.flock(gate, fcntl.LOCK_EX)
                for _, folder in sorted(_folders(runs), reverse=True):
                    if store := cls._continue(folder, identity):
                        return store
                return cls._create(runs, identity, plan, info)
        except OSError as error:
            raise ConfigError(f"{runs}: {error.strerror or error}") from None

    @classmethod
    def _create(cls, runs: Path, identity: Mapping[str, str], plan: Plan, info: Mapping[str, Any]) -> RunStore:
        number = max((number for number, _ in _folders(runs)), default=0) + 1
        path = runs / f"{number:04d}_{identity['commit']}_{identity['name']}"
        path.mkdir()
        lock = _try_lock(path)
        facts = {
            **info,
            "number": number,
            **identity,
            "plan": {key: list(cells) for key, cells in plan.items()},
            "started": _now(),
            "continued": [],
            "finished": None,
            "exit": None,
        }
        store = cls(path, facts, continued=False, _lock=lock)
        store._start()
        return store

    @classmethod
    def _continue(cls, folder: Path, identity: Mapping[str, str]) -> RunStore | None:
        if not (folder / _LOCK).exists() or not _same_unfinished(folder, identity):
            return None
        lock = _try_lock(folder)
        if lock is None:
            return None
        if not _same_unfinished(folder, identity):  # its holder finished it meanwhile
            lock.close()
            return None
        store = cls(folder, read_info(folder), continued=True, _lock=lock)
        try:
            store._start()
        except BaseException:
            lock.close()
            raise
        return store

    def _start(self) -> None:
        for sub in ("calls", "tables"):
            (self.path / sub).mkdir(exist_ok=True)
        self._outcomes = AppendFile(self.path / OUTCOMES)
        for row in _read_rows(self.path / OUTCOMES):
            cell = str(row["cell"])
            self._repeated |= cell in self.cells
            if _replaces(self.cells.get(cell), row):
                self._note(row)
        if self.continued:
            self.info["continued"].append(_now())
        self._write_info()

    def append(self, row: Mapping[str, object], line: str = "") -> bool:
        """Write the row of a cell; a later row of the same cell replaces it, but no error replaces an answer.

        ``line`` is the row's JSON, where it has been made already. Returns whether the row now stands for its
        cell. Raises BenchError after ``close``. The row is one that an Outcome made, which has checked it.
        """
        if self._outcomes is None:
            raise BenchError(f"{self.path}: the run is closed")
        cell = str(row["cell"])
        if not _replaces(self.cells.get(cell), row):
            return False
        self._outcomes.append(line or row_json(row))
        self._repeated |= cell in self.cells
        self._note(row)
        return True

    def _note(self, row: Mapping[str, object]) -> None:
        self.cells[str(row["cell"])] = str(row["status"])
        if row["model_served"]:
            self._served.setdefault(str(row.get("arm.model", "")), set()).add(str(row["model_served"]))

    def missing(self) -> list[str]:
        """The planned cells that have no row, sorted."""
        return sorted({cell for cells in self.info["plan"].values() for cell in cells} - self.cells.keys())

    def rows(self) -> dict[str, Row]:
        """The standing rows by cell id, sorted by it: those of this run, so they are not checked again."""
        return _standing(_read_rows(self.path / OUTCOMES, checked=True))

    def finish(self, exit_code: int) -> None:
        """Mark the run finished, so that it is never continued, and release it.

        ``outcomes.jsonl`` is rewritten, sorted by cell id, when a cell has several lines. ``run.json`` gets the
        models as served, the counts and the exit code.
        """
        if self._repeated:
            write_atomic(self.path / OUTCOMES, "".join(row_json(row) + "\n" for row in self.rows().values()))
        self.info.update(
            models_served={model: sorted(ids) for model, ids in sorted(self._served.items())},
            cells=len(self.cells),
            errors=sum(status == "error" for status in self.cells.values()),
            finished=_now(),
            exit=exit_code,
        )
        self._write_info()
        self.close()
        (self.path / _LOCK).unlink(missing_ok=True)  # a run without it is finished: no need to read its plan

    def close(self) -> None:
        """Release the folder without finishing: the same plan continues it later."""
        for each in (self._outcomes, self._lock):
            if each is not None:
                each.close()
        self._outcomes = self._lock = None

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_info(self) -> None:
        text = json.dumps(self.info, ensure_ascii=True, allow_nan=False, indent=1)
        write_atomic(self.path / _INFO, text + "\n")


def check_name(name: str) -> str:
    """The name of a run as its folder has it, ``run`` if empty. Raises ConfigError for an unusable one."""
    if name and not _NAME.fullmatch(name):
        raise ConfigError(f"run name {name!r}: use letters, digits, '_', '.', '+' and '-' only")
    return name or "run"


def load_run(path: Path) -> Run:
    """A run with every row checked. Raises DataError naming file, cell and field.

    A last line cut by a kill, or still being written, is left out: its cell has no row yet.
    """
    info = read_info(path)
    outcomes = path / OUTCOMES
    return Run(path, info, _standing(_read_rows(outcomes)) if outcomes.exists() else {})


def list_runs(bench_dir: Path) -> list[RunSummary]:
    """All runs, oldest first; a folder that cannot be read is listed with its problem."""
    return [_summary(number, folder) for number, folder in sorted(_folders(bench_dir / "runs"))]


def find_run(bench_dir: Path, name: str) -> Path:
    """The folder of a run by number, by name (the newest of it), or by path.

    Raises ConfigError where there is none, or none that can be read.
    """
    if is_run(Path(name)):
        return Path(name)
    if not bench_dir.is_dir():
        raise ConfigError(f"{bench_dir}: no such folder; --bench-dir says where the runs are")
    runs = list_runs(bench_dir)
    found = [run for run in runs if name in (run.path.name, run.name) or (name.isdigit() and run.number == int(name))]
    if not found:
        there = ", ".join(run.path.name for run in runs[-_LISTED:])
        raise ConfigError(f"no run {name!r} in {bench_dir}; " + (f"the last are: {there}" if there else "it has none"))
    if found[-1].problem:
        raise ConfigError(found[-1].problem)
    return found[-1].path


def is_run(path: Path) -> bool:
    return (path / _INFO).is_file()


def read_info(path: Path) -> dict[str, Any]:
    """``run.json`` of a run folder. Raises DataError when it is absent or broken."""
    file = path / _INFO
    try:
        info = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(str(file), None, None, error.strerror or str(error)) from None
    except ValueError as error:
        raise DataError(str(file), None, None, f"not JSON: {error}") from None
    if not isinstance(info, dict) or not isinstance(info.get("plan"), dict):
        raise DataError(str(file), None, "plan", "a run's facts must be an object with a plan")
    return info


def plan_digest(plan: Plan, info: Mapping[str, Any]) -> str:
    """What makes two plans the same: the cells of each experiment in any order, and ``info['digests']``."""
    return sha256_json([{key: sorted(cells) for key, cells in plan.items()}, info.get("digests", {})])


def git_commit(rootdir: Path) -> str:
    """Seven hex digits of the commit that ``rootdir`` is at; ``nogit`` outside a repository or without git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=7", "HEAD"], cwd=rootdir, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return "nogit"
    return done.stdout.strip()[:7] if done.returncode == 0 else "nogit"


def _folders(runs: Path) -> Iterator[tuple[int, Path]]:
    if runs.is_dir():
        for folder in runs.iterdir():
            if (match := _FOLDER.fullmatch(folder.name)) and folder.is_dir():
                yield int(match[1]), folder


def _same_unfinished(folder: Path, identity: Mapping[str, str]) -> bool:
    try:
        info = read_info(folder)
    except DataError:
        return False
    return info.get("finished") is None and all(info.get(key) == value for key, value in identity.items())


def _try_lock(folder: Path) -> IO[str] | None:
    """The folder's lock, freed by the system when this process dies; None when another holds it."""
    lock = (folder / _LOCK).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _read_rows(path: Path, checked: bool = False) -> Iterator[Row]:
    """Every whole line of ``outcomes.jsonl``; each is checked unless this process wrote it."""
    for number, line in whole_lines(path):
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(where, None, None, f"not JSON: {error}") from None
        if not checked:
            # imported here: it needs pydantic, which a run that reads no other run's rows does without
            from benchsuite.outcome_row import validate_row

            row = validate_row(row, where)
        yield row


def _standing(rows: Iterable[Row]) -> dict[str, Row]:
    standing: dict[str, Row] = {}
    for row in rows:
        cell = str(row["cell"])
        if cell not in standing or _replaces(str(standing[cell]["status"]), row):
            standing[cell] = row
    return dict(sorted(standing.items()))


def _replaces(old_status: str | None, row: Mapping[str, object]) -> bool:
    """The last row of a cell stands, but an error never takes the place of an answer."""
    return old_status in (None, "error") or row["status"] != "error"


def _summary(number: int, folder: Path) -> RunSummary:
    try:
        info = read_info(folder)
        if info.get("finished") is None:
            rows = load_run(folder).rows
            cells, errors = len(rows), sum(row["status"] == "error" for row in rows.values())
        else:
            cells, errors = info["cells"], info["errors"]
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
            planned=len({cell for ids in info["plan"].values() for cell in ids}),
        )
    except (BenchError, KeyError) as error:
        problem = f"run.json has no {error}" if isinstance(error, KeyError) else str(error)
        return RunSummary(number, folder, problem=problem)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
