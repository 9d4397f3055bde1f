"""Rows for other programs: flat CSV, JSON lines or Parquet, in the order of the cell ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from benchsuite.errors import ConfigError, DataError
from benchsuite.outcome_row import OutcomeRow
from benchsuite.runs.rows import Row, Run

FORMATS = ("csv", "jsonl", "parquet")
KINDS: Mapping[str, type] = {
    "run.id": str,
    "run.worker": str,
    "run.shard": int,
    "run.cached": bool,
    "run.latency_s": float,
    "run.ingest_s": float,
    "run.attempts": int,
    "run.cached_tokens": int,
    "run.t": float,
    "run.direct": bool,
}
"""What stands in the columns of the ``run`` block; other columns of it go by their values."""


def flat_rows(run: Run) -> list[Row]:
    """The rows by cell id, the ``run`` block as ``run.<name>``."""
    return [_flat(row) for row in run.rows.values()]


def _flat(row: Row) -> Row:
    block: Any = row["run"]
    return {**{key: value for key, value in row.items() if key != "run"}, **{f"run.{k}": v for k, v in block.items()}}


def columns(rows: Sequence[Row]) -> dict[str, type]:
    """Every column in the order of the row's schema, and what it holds: str, int, float, bool or list (of str).

    A field's kind is the schema's, whatever the rows hold. A column of a group, ``arm.``, ``scores.`` or ``run.``,
    is of the kind that all of its values are; otherwise its values stand as JSON in text.
    """
    found = dict.fromkeys(key for row in rows for key in row)
    kinds: dict[str, type] = {}
    for name, field in OutcomeRow.model_fields.items():
        key = field.alias or name
        if key == "status":
            kinds |= {each: _common(rows, each) for each in sorted(found) if each.startswith("arm.")}
        if key == "scorer":
            kinds |= {each: float for each in sorted(found) if each.startswith("scores.")}
        if key != "run":
            kinds[key] = _kind(field.annotation)
    kinds |= {each: _common(rows, each, KINDS.get(each)) for each in KINDS if each in found}
    kinds |= {each: _common(rows, each) for each in sorted(found) if each.startswith("run.") and each not in KINDS}
    return kinds


def _kind(annotation: Any) -> type:
    """str, int, float, bool or list from a field's annotation: Literal[1], str | None, list[str], ..."""
    kinds: Mapping[Any, type] = {str: str, int: int, float: float, bool: bool, list[str]: list}
    for each in (annotation, *get_args(annotation)):
        if each in kinds:
            return kinds[each]
        if type(each) in (str, int):  # of a Literal
            return type(each)
    raise TypeError(f"{annotation}: no kind of column")


def _common(rows: Sequence[Row], key: str, preferred: type | None = None) -> type:
    kinds = {type(row[key]) for row in rows if row.get(key) is not None}
    if preferred is not None and (kinds <= {preferred} or (preferred is float and kinds <= {int, float})):
        return preferred
    if kinds and kinds <= {int, float}:
        return int if kinds == {int} else float
    return kinds.pop() if kinds in ({str}, {bool}) else (str if not kinds else object)


def as_jsonl(rows: Sequence[Row]) -> Iterator[str]:
    """A line a row, ASCII; lists stay lists."""
    names = columns(rows)
    for row in rows:
        yield json.dumps({name: row[name] for name in names if name in row}, ensure_ascii=True, allow_nan=False) + "\n"


def as_csv(rows: Sequence[Row]) -> Iterator[str]:
    """A line a row under a header. Text is always quoted and otherwise as it is, lists are JSON in text, no value is
    an empty field without quotes, booleans are ``true`` and ``false``.

    Text is data for programs: a spreadsheet that takes ``=...`` for a formula must be told that columns are text.
    """
    names = columns(rows)
    yield ",".join(map(_quoted, names)) + "\n"
    for row in rows:
        yield ",".join(_csv_value(row.get(name), kind) for name, kind in names.items()) + "\n"


def _csv_value(value: object, kind: type) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _quoted(json.dumps(value) if kind is object else value)
    if kind in (list, object) or isinstance(value, list):
        return _quoted(json.dumps(value, ensure_ascii=False))
    return json.dumps(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def write_parquet(rows: Sequence[Row], file: Path) -> None:
    """A Parquet file whose columns are of the kinds of ``columns``. Raises ConfigError without pyarrow, DataError for
    a number that has no place in 64 bits."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ConfigError("Parquet needs pyarrow: pip install 'benchsuite[parquet]'") from None
    types: dict[type, Any] = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        list: pa.list_(pa.string()),
        object: pa.string(),
    }
    arrays = {}
    for name, kind in columns(rows).items():
        values = [row.get(name) for row in rows]
        if kind is object:
            values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        try:
            arrays[name] = pa.array(values, types[kind])
        except (pa.ArrowException, OverflowError, ValueError) as error:
            raise DataError(str(file), None, name, f"cannot stand in a Parquet column: {error}") from None
    pq.write_table(pa.table(arrays), file)


TEXT: Mapping[str, Callable[[Sequence[Row]], Iterable[str]]] = {"csv": as_csv, "jsonl": as_jsonl}
