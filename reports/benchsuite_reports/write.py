"""Finding the tables and figures, filling them from a run's rows, and writing them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import benchsuite_reports
from benchsuite.errors import BenchError, ConfigError
from benchsuite.files import write_atomic
from benchsuite_reports.arms import group_rows
from benchsuite_reports.contents import Contents
from benchsuite_reports.figure import Figure, FigureSpec, MissingMatplotlibError, as_json
from benchsuite_reports.formats import FORMATS
from benchsuite_reports.table import Condition, Row, RunFacts, Table, TableSpec

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
            problems.append(f"table module {module.name}: {words_of(error)}")
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


@dataclass(frozen=True, slots=True)
class Filled:
    """What a run's tables and figures came to; ``unfilled`` has a line for each that has no row, ``problems`` one for
    each that was refused, is not known or has a fault, which never loses the others."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    unfilled: Sequence[str] = ()
    problems: Sequence[str] = ()


def fill(
    rows: Sequence[Row],
    facts: RunFacts,
    run: Path,
    caches: Sequence[Path],
    ids: Collection[str] | None = None,
    own: Mapping[str, TableSpec] = MappingProxyType({}),
) -> Filled:
    """The tables and figures named, or all, of the rows of ``run``; ``own`` are tables beside those of this package."""
    specs, problems = discover_tables()
    specs = {**specs, **own}
    figures = discover_figures()
    unknown = [name for name in ids or () if name not in specs and name not in figures]
    problems += [f"table {name}: no such table; there are {', '.join([*specs, *figures])}" for name in unknown]
    tables: list[Table] = []
    drawn: list[Figure] = []
    unfilled: list[str] = []
    for name, spec in specs.items():
        if _wanted(name, spec, rows, ids):
            try:
                table = spec.build(rows, facts)
            except Exception as error:
                problems.append(f"table {name}: {words_of(error)}")
                continue
            if not table.blocks:
                unfilled.append(f"table {name}: {lacking(spec, rows)}")
                continue
            tables.append(table)
            if spec.needs_tokens and facts.tokens is None:
                problems.append(f"table {name}: the run counted no tokens (tokens.json), so it shows none")
    with closing(Contents(caches)) as contents:
        for name, drawing in figures.items():
            if _wanted(name, drawing, rows, ids):
                try:
                    figure = drawing.draw(rows, facts, run, contents)
                except Exception as error:
                    problems.append(f"figure {name}: {words_of(error)}")
                    continue
                if figure is None:
                    unfilled.append(f"figure {name}: {lacking(drawing, rows)}")
                else:
                    drawn.append(figure)
    return Filled(tables, drawn, unfilled, problems)


def _wanted(name: str, spec: TableSpec | FigureSpec, rows: Sequence[Row], ids: Collection[str] | None) -> bool:
    """Whether it is named, or all are wanted and it is about a suite that the rows have."""
    if ids is not None:
        return name in ids
    return not spec.suites or any(row["suite"] in spec.suites for row in rows)


def lacking(spec: TableSpec | FigureSpec, rows: Sequence[Row]) -> str:
    """Why a table has no row: the arms that were not run, or what it says itself."""
    missing = missing_arms(spec.conditions, rows)
    return f"missing arms: {', '.join(missing)}" if missing else spec.empty


def missing_arms(conditions: Sequence[Condition], rows: Sequence[Row]) -> list[str]:
    there = {name for group in group_rows(rows, conditions) for name in group.rows}
    return [condition.name for condition in conditions if condition.name not in there]


def write_tables(
    folder: Path, tables: Iterable[Table], forms: Mapping[str, Callable[[Table], str]] = MappingProxyType(FORMATS)
) -> tuple[list[Table], list[str]]:
    """Write ``<id>.<form>`` for each. Returns those written and a line for each that cannot be shown in some form.
    Raises ConfigError for what cannot be written."""
    written: list[Table] = []
    problems: list[str] = []
    for table in tables:
        try:
            texts = {ending: form(table) for ending, form in forms.items()}
        except Exception as error:
            problems.append(f"table {table.id}: {words_of(error)}")
            continue
        written.append(table)
        for ending, text in texts.items():
            write_file(folder / f"{table.id}.{ending}", text)
    return written, problems


def write_figures(folder: Path, figures: Iterable[Figure]) -> tuple[list[str], list[str]]:
    """Write ``<id>.{json,svg,png}``, the data first: it needs no matplotlib. Returns the ids of those drawn and a line
    for each that could not be; without matplotlib one for all. Raises ConfigError for what cannot be written."""
    drawn: list[str] = []
    undrawn: list[str] = []
    problems: list[str] = []
    for figure in figures:
        write_file(folder / f"{figure.id}.json", as_json(figure))
        for old in ("svg", "png"):  # never an older picture beside newer data
            (folder / f"{figure.id}.{old}").unlink(missing_ok=True)
        try:
            pictures = figure.pictures()
        except MissingMatplotlibError:
            undrawn.append(figure.id)
        except Exception as error:
            problems.append(f"figure {figure.id}: {words_of(error)}")
        else:
            drawn.append(figure.id)
            for form, picture in pictures.items():
                write_file(folder / f"{figure.id}.{form}", picture)
    if undrawn:
        needs = "only their data is written, to draw them: pip install benchsuite[report]"
        problems.append(f"figures {', '.join(undrawn)}: {needs}")
    return drawn, problems


def write_file(path: Path, content: str | bytes) -> None:
    """Raises ConfigError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from None


def words_of(error: Exception) -> str:
    """What a fault says of itself; one that nobody foresaw says its kind too."""
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
