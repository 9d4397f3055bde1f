"""Finding the tables and figures and writing them into a run's folder."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import benchsuite_reports
from benchsuite.errors import BenchError, ConfigError
from benchsuite.files import write_atomic
from benchsuite_reports.figure import FigureSpec
from benchsuite_reports.formats import FORMATS
from benchsuite_reports.table import Row, RunFacts, Table, TableSpec

Spec = TypeVar("Spec", TableSpec, FigureSpec)


def discover_tables() -> tuple[dict[str, TableSpec], list[str]]:
    """Every module-level ``TABLE`` of this package by id, in the order of their numbers, and a line per module that
    cannot be imported."""
    return _discover("TABLE", TableSpec)


def discover_figures() -> dict[str, FigureSpec]:
    """Every module-level ``FIGURE``, as ``discover_tables``, which names the modules that cannot be imported."""
    return _discover("FIGURE", FigureSpec)[0]


def _discover(name: str, kind: type[Spec]) -> tuple[dict[str, Spec], list[str]]:
    found: dict[str, Spec] = {}
    problems = []
    for module in sorted(pkgutil.iter_modules(benchsuite_reports.__path__), key=lambda each: each.name):
        try:
            spec = getattr(importlib.import_module(f"benchsuite_reports.{module.name}"), name, None)
        except Exception as error:  # one broken module must not lose the others
            problems.append(f"table module {module.name}: {_words(error)}")
            continue
        if isinstance(spec, kind):
            found[spec.id] = spec
    return dict(sorted(found.items(), key=lambda each: _natural(each[0]))), problems


def needs_tokens(ids: Collection[str], own: Mapping[str, TableSpec] = MappingProxyType({})) -> bool:
    """Whether one of these tables shows token counts, which have to be taken first (``tokens.count_tokens``)."""
    specs = {**discover_tables()[0], **own}
    return any(specs[name].needs_tokens for name in ids if name in specs)


def own_tables(registered: Iterable[object]) -> dict[str, TableSpec]:
    """What third parties registered, by id. Raises ConfigError for what is no TableSpec."""
    found: dict[str, TableSpec] = {}
    for spec in registered:
        if not isinstance(spec, TableSpec):
            raise ConfigError(f"registry.table: {type(spec).__name__} is no TableSpec")
        found[spec.id] = spec
    return found


def _natural(table: str) -> list[tuple[str, int]]:
    """So that table 2 stands before table 18."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"(\D*)(\d*)", table)]


def write_tables(
    run_dir: Path,
    rows: Sequence[Row],
    facts: RunFacts,
    ids: Collection[str] | None = None,
    own: Mapping[str, TableSpec] = MappingProxyType({}),
) -> tuple[list[Table], list[str]]:
    """Build and write ``tables/<id>.{md,csv,json,tex}``: the tables named, or all that have rows.

    ``own`` are tables beside those of this package. Returns the tables written and a line per table that could not be:
    a fault in one never loses the others.
    """
    specs, problems = discover_tables()
    specs = {**specs, **own}
    figures = discover_figures()
    unknown = [name for name in ids or () if name not in specs and name not in figures]
    problems += [f"table {name}: no such table; there are {', '.join([*specs, *figures])}" for name in unknown]
    folder = run_dir / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, spec in specs.items():
        if ids is not None and name not in ids:
            continue
        try:
            table = spec.build(rows, facts)
            if not table.blocks:
                problems += [f"table {name}: no row of its arms"] if ids is not None else []
                continue
            forms = {ending: form(table) for ending, form in FORMATS.items()}
            for ending, text in forms.items():
                write_atomic(folder / f"{name}.{ending}", text)
        except Exception as error:
            problems.append(f"table {name}: {_words(error)}")
        else:
            written.append(table)
    return written, problems


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
