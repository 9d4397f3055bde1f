"""``benchsuite compare A [B]``: contrasts of the arms of one run or of two, paired question by question."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.files import whole_lines
from benchsuite.plan import parse_contrast
from benchsuite.runs import OUTCOMES, find_run, is_run, load_run
from benchsuite.stats.contrast import CLUSTERS, RISE_IS_WORSE, SCORE, analyse, is_asked
from benchsuite_reports.arms import Facts
from benchsuite_reports.certified import open_certificates, recorded_presets, run_of
from benchsuite_reports.comparison import (
    Family,
    Pairing,
    comparison_table,
    contrast_rows,
    labels_of,
    match_arms,
    once_each,
)
from benchsuite_reports.contents import caches_of
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.gates.evaluate import trunk_of
from benchsuite_reports.inspect import arm_name, select_arms
from benchsuite_reports.table import Row, RunFacts, Table

NEAREST = 5


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to take arms from: those of a run, or of a file. ``name`` says which, and that a run is not finished.

    ``path`` and ``info`` are the folder and ``run.json`` of a run; without them nothing can be certified.
    """

    name: str
    rows: tuple[Row, ...]
    facts: RunFacts
    path: Path | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> dict[str, Path]:
        """The folder by the run id of the rows."""
        return {} if self.path is None else dict.fromkeys((run_of(row) for row in self.rows), self.path)


def compare_command(argv: list[str]) -> int:
    """``benchsuite compare``: print the table of one contrast, or of a family of them."""
    parser = argparse.ArgumentParser(
        prog="benchsuite compare",
        description="Compare arms, paired question by question: B minus A. Without --a, --b or --contrast every arm "
        "of run A is compared with the same arm of run B.",
    )
    parser.add_argument("first", metavar="A", help="run (number, name or folder) or a file of outcome rows")
    parser.add_argument("second", metavar="B", nargs="?", default="", help="the same for b (default: A)")
    parser.add_argument("--a", default="", metavar="ARM", help="arms of A: 'retrieval=text,k=10', or 'text-pixels'")
    parser.add_argument("--b", default="", metavar="ARM", help="arms of B to compare them with")
    parser.add_argument(
        "--contrast",
        "--family",
        nargs="+",
        action="extend",
        default=[],
        metavar="TEXT",
        help="'axis: a -> b' or 'axis: a -> b @ axis=value', b from B; several are a family, corrected after Holm",
    )
    parser.add_argument("--primary", default="", metavar="TEXT", help="the contrast of the family to mark as primary")
    parser.add_argument("--metric", default=SCORE, metavar="NAME", help="score (default), subem, f1, judge, ...")
    parser.add_argument("--cluster", choices=CLUSTERS, default="cluster", help="what is independent (default: cluster)")
    parser.add_argument("--format", choices=["text", *FORMATS], default="text", help="(default: text)")
    parser.add_argument(
        "--bench-dir",
        "--dir",
        type=Path,
        default=Path(".bench"),
        metavar="DIR",
        help="where runs and caches are kept (default: .bench)",
    )
    options = parser.parse_args(argv)
    if (options.contrast or options.primary) and (options.a or options.b):
        raise ConfigError("--contrast and --a/--b both say what to compare; give one of them")
    first = load_source(options.bench_dir, options.first)
    second = _apart(load_source(options.bench_dir, options.second), first) if options.second else first
    pairings, lone = find_pairings(first, second, options.a, options.b, options.contrast, options.primary)
    runs = first.runs | second.runs
    caches = caches_of(options.bench_dir, runs.values())
    with open_certificates(runs, caches, recorded_presets(first.info, second.info)) as certificates:
        facts = replace(_both(first.facts, second.facts), certificates=certificates)
        table = compare(first, second, pairings, lone, options.metric, options.cluster, facts)
    print({"text": as_text, **FORMATS}[options.format](table), end="")
    return 0


def load_source(bench_dir: Path, name: str) -> Source:
    """A run by number, name (the newest of it) or folder, or a file of rows, each checked.

    Raises ConfigError where there is none and DataError naming file, cell and field of a row that is broken.
    """
    path = Path(name)
    if path.is_file() and not (is_run(path.parent) and path.name == OUTCOMES):
        return _file_source(path)
    return _run_source(path.parent if path.is_file() else find_run(bench_dir, name))


def _run_source(path: Path) -> Source:
    run = load_run(path)
    name = f"run {run.path.resolve().name}" + ("" if run.info.get("finished") else ", not finished")
    found = _source(name, list(run.rows.values()), RunFacts.from_info(run.info))
    return replace(found, path=run.path, info=run.info)


def _apart(source: Source, other: Source) -> Source:
    """A run of another folder that has the id of the first one, as every first run has, gets its path for an id."""
    if source.path is None or other.path is None or source.path.resolve() == other.path.resolve():
        return source
    taken, path = other.runs, str(source.path.resolve())
    if not taken.keys() & source.runs.keys():
        return source
    rows: list[Row] = []
    for row in source.rows:
        run: Any = row["run"]
        rows.append({**row, "run": {**run, "id": path}} if run_of(row) in taken else row)
    return replace(source, name=f"{source.name} in {source.path.resolve().parent}", rows=tuple(rows))


def _file_source(path: Path) -> Source:
    from benchsuite.outcome_row import validate_row  # it needs pydantic

    rows: dict[str, Row] = {}
    try:
        for number, line in whole_lines(path):
            where = f"{path}:{number}"
            try:
                row = validate_row(json.loads(line), where)
            except ValueError as error:
                raise DataError(where, None, None, f"not JSON: {error}") from None
            cell = str(row["cell"])
            if cell in rows:
                raise DataError(where, cell, None, "a second row of this cell")
            rows[cell] = row
    except OSError as error:
        raise DataError(str(path), None, None, error.strerror or str(error)) from None
    return _source(f"file {path.name}", list(rows.values()), RunFacts({}))


def _source(name: str, rows: Sequence[Row], facts: RunFacts) -> Source:
    if not rows:
        raise ConfigError(f"{name}: it has no outcome rows")
    return Source(name, tuple(rows), facts)


def find_pairings(
    first: Source, second: Source, a: str = "", b: str = "", contrasts: Sequence[str] = (), primary: str = ""
) -> tuple[list[Pairing], list[str]]:
    """What to compare: the contrasts, or the arms that ``a`` and ``b`` select, or every arm with its like.

    Returns the pairings and the arms without a partner. Raises ConfigError where nothing can be paired, or arms of
    one run would be compared with themselves.
    """
    texts = list(dict.fromkeys(text for text in (primary, *contrasts) if text))
    if texts:
        found = [_of_contrast(text, first, second, text == primary) for text in texts]
        pairings = once_each([pairing for each, _ in found for pairing in each])
        lone = [arm for _, left in found for arm in left]
    else:
        pairings, lone = match_arms(_selected(first, a), _selected(second, b))
        if not pairings:
            raise ConfigError(f"no arm of a has a partner in b: {'; '.join(lone[:NEAREST])}")
    if any(pairing.a == pairing.b for pairing in pairings):
        raise ConfigError("an arm would be compared with itself: give a second run, --a and --b, or --contrast")
    return pairings, lone


def _of_contrast(text: str, first: Source, second: Source, primary: bool) -> tuple[list[Pairing], list[str]]:
    contrast = parse_contrast(text)
    try:
        found = contrast_rows(contrast, first.rows, second.rows)
    except ConfigError as error:
        raise ConfigError(f"contrast {text!r}: {error}") from None
    pairings, lone = match_arms(*found, primary=primary)
    if not pairings:
        raise ConfigError(f"contrast {text!r}: its arms differ in other axes too: {'; '.join(lone[:NEAREST])}")
    return pairings, lone


def _selected(source: Source, selection: str) -> list[Row]:
    if not selection:
        return list(source.rows)
    arms = {arm_name(row): row for row in source.rows}
    names = {arm_name(row) for row in select_arms(list(arms.values()), [selection])[0]}
    return [row for row in source.rows if arm_name(row) in names]


def compare(
    first: Source,
    second: Source,
    pairings: Sequence[Pairing],
    lone: Sequence[str] = (),
    metric: str = SCORE,
    by: str = "cluster",
    facts: RunFacts | None = None,
) -> Table:
    """The table of the pairings; ``facts`` are those of both sources unless they are given. Raises BenchError naming
    the contrast that cannot be made."""
    analyses = {}
    for label, pairing in zip(labels_of(pairings), pairings, strict=True):
        try:
            analyses[label] = analyse(pairing.a, pairing.b, metric=metric, by=by)
        except (BenchError, ValueError) as error:
            raise BenchError(f"{label}: {error}") from None
    sources: Facts = (("a and b", first.name),) if first is second else (("a", first.name), ("b", second.name))
    trunks = trunk_of(first.info), trunk_of(second.info)
    if all(trunks) and trunks[0] != trunks[1]:
        sources = (*sources, ("trunk written by", f"a {trunks[0]}, b {trunks[1]}: not the same"))
    if metric in RISE_IS_WORSE and metric != "yes":
        sources = (*sources, ("to be read", f"more {metric} is worse: W counts questions that got worse"))
    about = facts or _both(first.facts, second.facts)
    asked = [
        replace(
            each,
            a=tuple(row for row in each.a if is_asked(row, metric)),
            b=tuple(row for row in each.b if is_asked(row, metric)),
        )
        for each in pairings
    ]
    return comparison_table(Family.of(asked, analyses, about), about, sources, lone)


def _both(first: RunFacts, second: RunFacts) -> RunFacts:
    return RunFacts({**first.corpora, **second.corpora}, first.embedded_models | second.embedded_models)
