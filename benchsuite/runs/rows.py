"""The rows of a run: read from ``outcomes.jsonl``, checked, one for each cell."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.errors import DataError
from benchsuite.files import whole_lines
from benchsuite.outcome import SCHEMA
from benchsuite.runs.folder import OUTCOMES, read_info

Row = dict[str, object]

_HEAD = re.compile(rb'\{"schema": %d, "cell": ("[^"\\]+"), ' % SCHEMA)  # as row_json writes it
_STATUS = re.compile(rb', "status": "(scored|unparsed|error)", ')  # in text the quotes would be escaped


@dataclass(frozen=True, slots=True)
class Run:
    """A run read from its folder: ``run.json`` and its rows by cell id."""

    path: Path
    info: Mapping[str, Any]
    rows: Mapping[str, Row]


def load_run(path: Path) -> Run:
    """A run with every row checked. Raises DataError naming file, cell and field.

    A last line cut by a kill, or still being written, is left out: its cell has no row yet. A finished run must have
    as many rows as its ``run.json`` counts.
    """
    info = read_info(path)
    outcomes = path / OUTCOMES
    collecting = gc.isenabled()
    gc.disable()  # rows have no cycles, and walking 100,000 of them over and over takes a quarter of the time
    try:
        rows = standing(read_rows(outcomes)) if outcomes.exists() else {}
    finally:
        if collecting:
            gc.enable()
    check_complete(path, info, len(rows))
    return Run(path, info, rows)


def check_complete(path: Path, info: Mapping[str, Any], rows: int) -> None:
    """Raises DataError when a finished run has fewer rows than it counted at its end."""
    counted = info.get("cells")
    if info.get("finished") is not None and type(counted) is int and rows < counted:
        problem = f"half a run: {rows} of the {counted} rows that run.json counts"
        raise DataError(str(path / OUTCOMES), None, None, problem)


def read_rows(path: Path, checked: bool = False) -> Iterator[Row]:
    """Every whole line of ``outcomes.jsonl``; each is checked unless this process wrote it.

    Raises DataError naming file, line, cell and field.
    """
    if checked:
        yield from _own_rows(path)
        return
    # imported here: they need pydantic, which a run that reads no other run's rows does without
    from pydantic_core import from_json

    from benchsuite.outcome_row import validate_row

    try:
        for number, line in whole_lines(path):
            where = f"{path}:{number}"
            try:
                row = from_json(line)
            except ValueError as error:
                raise DataError(where, None, None, f"not JSON: {error}") from None
            yield validate_row(row, where)
    except OSError as error:
        raise DataError(str(path), None, None, error.strerror or str(error)) from None


def _own_rows(path: Path) -> Iterator[Row]:
    for number, line in whole_lines(path):
        row = json.loads(line)
        if row["schema"] != SCHEMA:  # of a run that an older version began
            from benchsuite.outcome_row import validate_row

            row = validate_row(row, f"{path}:{number}")
        yield row


def standing(rows: Iterable[Row]) -> dict[str, Row]:
    """The row that stands for each cell, sorted by cell id."""
    found: dict[str, Row] = {}
    for row in rows:
        cell = str(row["cell"])
        if cell not in found or replaces(str(found[cell]["status"]), row):
            found[cell] = row
    return dict(sorted(found.items()))


def replaces(old_status: str | None, row: Mapping[str, object]) -> bool:
    """The last row of a cell stands, but an error never takes the place of an answer."""
    return old_status in (None, "error") or row["status"] != "error"


def count_statuses(path: Path) -> Counter[str]:
    """How many cells of an ``outcomes.jsonl`` stand as scored, unparsed and error; the rows are not checked.

    Raises DataError for a line that is not a row.
    """
    statuses: dict[bytes | str, str] = {}
    for number, line in whole_lines(path):
        head, status = _HEAD.match(line), _STATUS.search(line)
        if head and status and line.endswith(b"}\n"):
            cell, ended = head[1], status[1].decode()
        else:
            cell, ended = _status_of(line, f"{path}:{number}")
        if statuses.get(cell) in (None, "error") or ended != "error":
            statuses[cell] = ended
    return Counter(statuses.values())


def _status_of(line: bytes, where: str) -> tuple[bytes, str]:
    """The cell, as JSON, and the status of a line that is not as this version writes it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(where, None, None, f"not JSON: {error}") from None
    if not isinstance(row, dict) or not isinstance(row.get("cell"), str):
        raise DataError(where, None, "cell", "a row must be an object with a cell")
    return json.dumps(row["cell"]).encode(), str(row.get("status"))


def count_lines(path: Path) -> int:
    """The whole lines of a file; 0 where there is none."""
    lines = 0
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                lines += block.count(b"\n")
    except FileNotFoundError:
        return 0
    return lines
