"""The run in progress: one writer, one line a finished cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from benchsuite.errors import BenchError, DataError
from benchsuite.files import AppendFile, write_atomic
from benchsuite.outcome import row_json
from benchsuite.runs.folder import (
    LOCK,
    OUTCOMES,
    SCHEMA,
    Plan,
    check_name,
    gate,
    git_commit,
    next_folder,
    now,
    plan_digest,
    planned_cells,
    read_info,
    run_folders,
    try_lock,
    write_info,
)
from benchsuite.runs.rows import Row, read_rows, replaces, standing


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
        with gate(runs):
            for _, folder in reversed(run_folders(runs)):
                if store := cls._continue(folder, identity):
                    return store
            return cls._create(runs, identity, plan, info)

    @classmethod
    def _create(cls, runs: Path, identity: Mapping[str, str], plan: Plan, info: Mapping[str, Any]) -> RunStore:
        number, path = next_folder(runs, identity["commit"], identity["name"])
        path.mkdir()
        lock = try_lock(path)
        facts = {
            "schema": SCHEMA,
            **info,
            "number": number,
            **identity,
            "plan": {key: list(cells) for key, cells in plan.items()},
            "started": now(),
            "continued": [],
            "finished": None,
            "exit": None,
        }
        store = cls(path, facts, continued=False, _lock=lock)
        store._start()
        return store

    @classmethod
    def _continue(cls, folder: Path, identity: Mapping[str, str]) -> RunStore | None:
        if not (folder / LOCK).exists() or not _same_unfinished(folder, identity):
            return None
        lock = try_lock(folder)
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
        for row in read_rows(self.path / OUTCOMES):
            cell = str(row["cell"])
            self._repeated |= cell in self.cells
            if replaces(self.cells.get(cell), row):
                self._note(row)
        if self.continued:
            self.info["continued"].append(now())
        write_info(self.path, self.info)

    def append(self, row: Mapping[str, object], line: str = "") -> bool:
        """Write the row of a cell; a later row of the same cell replaces it, but no error replaces an answer.

        ``line`` is the row's JSON, where it has been made already. Returns whether the row now stands for its
        cell. Raises BenchError after ``close``. The row is one that an Outcome made, which has checked it.
        """
        if self._outcomes is None:
            raise BenchError(f"{self.path}: the run is closed")
        cell = str(row["cell"])
        if not replaces(self.cells.get(cell), row):
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
        return sorted(planned_cells(self.info) - self.cells.keys())

    def rows(self) -> dict[str, Row]:
        """The standing rows by cell id, sorted by it: those of this run, so they are not checked again."""
        return standing(read_rows(self.path / OUTCOMES, checked=True))

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
            finished=now(),
            exit=exit_code,
        )
        write_info(self.path, self.info)
        self.close()
        (self.path / LOCK).unlink(missing_ok=True)  # a run without it is finished: no need to read its plan

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


def _same_unfinished(folder: Path, identity: Mapping[str, str]) -> bool:
    try:
        info = read_info(folder)
    except DataError:
        return False
    return info.get("finished") is None and all(info.get(key) == value for key, value in identity.items())
