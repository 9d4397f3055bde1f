"""The Outcome: the flat, versioned record of one cell, which reports, statistics and gates read."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from benchsuite.errors import BenchError
from benchsuite.models.reply import clean_text as clean_text

SCHEMA = 1
STATUSES = ("scored", "unparsed", "error")
WORDS = {
    "scored": ("right", "wrong", "refused", "grounded", "mirage"),
    "unparsed": ("unparsed",),
    "error": ("error",),
}
"""The words a row may carry, by its status."""

_DOTTED = {
    "usage_prompt": "usage.prompt",
    "usage_completion": "usage.completion",
    "ingest_calls": "ingest.calls",
    "ingest_tokens": "ingest.tokens",
    "ingest_bytes": "ingest.bytes",
    "error_kind": "error.kind",
    "error_message": "error.message",
}
_GROUPS = ("arm", "scores")
_AS_IS = frozenset((type(None), bool, int))


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return kind in _AS_IS or (kind is str and value.isascii()) or (kind is float and math.isfinite(value))


def plain(value: Any, name: str) -> Any:
    """The value as exact builtins that JSON holds: text cleaned, floats finite, enums and numpy scalars unwrapped.

    Raises BenchError naming the field for anything else (a Path, a Decimal, NaN).
    """
    if _is_plain(value):  # most fields: not worth the tests below
        return value
    kind = type(value)
    if kind is dict and all(_is_plain(key) and _is_plain(inner) for key, inner in value.items()):
        return value
    if kind is dict or isinstance(value, Mapping):
        return {clean_text(str(key)): plain(inner, f"{name}.{key}") for key, inner in value.items()}
    if kind is list or kind is tuple:
        return [plain(inner, name) for inner in value]
    if isinstance(value, Enum):
        value = value.value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BenchError(f"outcome: {name}: {value} is not a finite number")
        return float(value)
    raise BenchError(f"outcome: {name}: a {type(value).__name__} cannot stand in a row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened to one cell; the field order is the row's.

    ``corpus`` is the corpus digest; ``scorer``, ``protocol`` and ``renderer`` are ``name/version``; counts are
    whole numbers, token counts are None where the endpoint gave none, ``ingest_bytes`` is bytes. ``items``
    are the delivered ids in order (one digest of them when over 100). ``score`` is set exactly when ``status``
    is ``scored``; ``error_kind`` is not empty exactly when it is ``error``. Whatever depends on
    the worker, the clock or the cache stands in ``run`` alone (id, worker, shard, cached, latency_s, ingest_s,
    attempts, cached_tokens, t, direct), so that equal runs have equal rows without it.

    Raises BenchError when a value cannot stand in a row or status, word, score and error contradict each other.
    """

    schema: int = SCHEMA
    cell: str
    suite: str
    corpus: str
    question: str
    type: str
    split: str = ""
    cluster: str = ""
    labels: Sequence[str] = ()
    answerable: bool
    arm: Mapping[str, str | int]
    status: str
    word: str
    answer: str | None = None
    gold: str | None = None
    refused: bool | None = None
    metric: str = ""
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    scorer: str = ""
    protocol: str = ""
    renderer: str = ""
    items: Sequence[str] = ()
    n_items: int = 0
    n_images: int = 0
    n_missing: int = 0
    n_gold: int = 0
    n_gold_delivered: int = 0
    sees_gold: bool = False
    n_calls: int = 0
    requests: Sequence[str] = ()
    usage_prompt: int | None = None
    usage_completion: int | None = None
    image_tokens: int | None = None
    model_served: str = ""
    fingerprint: str = ""
    finish: str = ""
    ingest_calls: int = 0
    ingest_tokens: int = 0
    ingest_bytes: int = 0
    error_kind: str = ""
    error_message: str = ""
    run: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _NAMES:
            given = getattr(self, name)
            value = plain(given, name)
            if value is not given:
                object.__setattr__(self, name, value)
        if problem := contradiction(self.status, self.word, self.score, self.error_kind):
            raise BenchError(f"outcome {self.cell}: {problem}")

    @property
    def answered(self) -> bool:
        """True when the model answered, right, wrong or unparsed; an error is never scored."""
        return self.status in ("scored", "unparsed")

    def to_row(self) -> dict[str, object]:
        """The flat row (``arm.<axis>``, ``scores.<name>``, ``usage.prompt``, ...)."""
        row: dict[str, object] = {}
        for name in _NAMES:
            value = getattr(self, name)
            if name in _GROUPS:
                row.update({f"{name}.{key}": inner for key, inner in value.items()})
            else:
                row[_DOTTED.get(name, name)] = value
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> Outcome:
        """The inverse of ``to_row``. Raises BenchError for an unknown key or another schema version."""
        if row.get("schema") != SCHEMA:
            raise BenchError(f"outcome {row.get('cell')}: schema {row.get('schema')}, this version reads {SCHEMA}")
        names = {_DOTTED.get(each.name, each.name): each.name for each in fields(cls) if each.name not in _GROUPS}
        values: dict[str, Any] = {}
        groups: dict[str, Any] = {name: {} for name in _GROUPS}
        for key, value in row.items():
            group, _, rest = key.partition(".")
            if group in groups and rest:
                groups[group][rest] = value
            elif key in names:
                values[names[key]] = value
            else:
                raise BenchError(f"outcome {row.get('cell')}: {key}: unknown field")
        try:
            return cls(**values, **groups)  # types are checked by outcome_row where rows are read
        except TypeError as error:
            raise BenchError(f"outcome {row.get('cell')}: {error}") from None


_NAMES = tuple(each.name for each in fields(Outcome))


def contradiction(status: str, word: str, score: float | None, error_kind: str) -> str:
    """What is wrong between the fields that say how a cell ended; empty when nothing is."""
    if status not in WORDS:
        return f"status: {status!r} is not one of {', '.join(STATUSES)}"
    if word not in WORDS[status]:
        return f"word: {word!r} does not go with status {status} ({', '.join(WORDS[status])})"
    if (score is not None) != (status == "scored"):
        return f"score: {'missing in' if score is None else 'given for'} a row of status {status}"
    if bool(error_kind) != (status == "error"):
        return f"error.kind: {'given for' if error_kind else 'missing in'} a row of status {status}"
    return ""


def row_json(row: Mapping[str, object]) -> str:
    """The row on one ASCII line. Raises BenchError when a value is not JSON (NaN, an object)."""
    try:
        return json.dumps(row, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BenchError(f"outcome {row.get('cell')}: cannot be written as JSON: {error}") from None
