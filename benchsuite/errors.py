"""Errors that a person reads: one line each, naming where the fault is."""

from __future__ import annotations


class BenchError(Exception):
    """Base of every error that benchsuite raises on purpose; ``str()`` is one clear line."""


class ConfigError(BenchError):
    """A model, axis, option or path that cannot be used; known before any model call (exit 4)."""


class DataError(BenchError):
    """A corpus file that cannot be used; names file, item and field (exit 4)."""

    def __init__(self, file: str, item: str | None, field: str | None, problem: str) -> None:
        self.file, self.item, self.field, self.problem = file, item, field, problem
        where = file + (f": item {item}" if item else "") + (f": {field}" if field else "")
        super().__init__(f"{where}: {problem}")


class EndpointError(BenchError):
    """A model call that gave no answer: never scored, never cached.

    ``kind`` is one of ``refused``, ``timeout``, ``transport``, ``http``, ``body``, ``closed``, ``launch``,
    ``replay``; ``status`` is the HTTP status where there was one.
    """

    def __init__(self, kind: str, endpoint: str, problem: str, status: int | None = None) -> None:
        self.kind, self.endpoint, self.problem, self.status = kind, endpoint, problem, status
        code = f": HTTP {status}" if status is not None else ""
        super().__init__(f"{endpoint}{code}: {problem}")
