"""``benchsuite report``: a run's tables and figures in every form, and its pages, made from its folder alone."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from benchsuite.errors import ConfigError
from benchsuite.registry import Registry
from benchsuite.runs import Run, find_run, list_runs, load_run
from benchsuite_reports.certified import Certificates, open_certificates, recorded_presets, run_of
from benchsuite_reports.contents import caches_of
from benchsuite_reports.figure import as_json as figure_json
from benchsuite_reports.formats import FORMATS, as_latex_document, as_text
from benchsuite_reports.site.build import REPORT, write_site
from benchsuite_reports.site.flips import Flips, find_flips
from benchsuite_reports.site.tables import table_page
from benchsuite_reports.table import Row, RunFacts, Table, TableSpec
from benchsuite_reports.tokens import read_tokens
from benchsuite_reports.write import (
    Filled,
    discover_figures,
    discover_tables,
    fill,
    lacking,
    missing_arms,
    own_tables,
    words_of,
    write_figures,
    write_file,
    write_tables,
)

EXAMPLES = """examples:
  benchsuite report                                            what the newest finished run can fill, and what not
  benchsuite report --table delivermem_t4 --format latex       one table, for a document that loads booktabs
  benchsuite report --run nightly --format html --against 12   the pages of a run, changes against another marked
  benchsuite report --all --out paper                          every table and figure that can be filled, and the pages
"""
PRINTED: Mapping[str, Callable[[Table], str]] = {
    "text": as_text,
    **{"latex" if name == "tex" else name: form for name, form in FORMATS.items()},
    "html": table_page,
}
ENDINGS = {"text": "txt", "latex": "tex"}
"""Of the forms whose files do not end in their name."""


def report_command(argv: list[str]) -> int:
    """``benchsuite report``: print, write or list. Raises ConfigError where nothing asked for can be made."""
    options = _parser().parse_args(argv)
    if options.standalone and options.format != "latex":
        raise ConfigError("--standalone goes with --format latex")
    run = load_run(_find(options.bench_dir, options.run))
    own = plugin_tables(options.plugin)
    if options.table:
        problems = _tables(run, options, own)
    elif options.all or options.format == "html":
        problems = _everything(run, options, own)
    elif options.format or options.out:
        raise ConfigError("--format and --out need --table ID or --all: say what to write")
    else:
        problems = _list(run, own)
    for problem in problems:
        sys.stderr.write(f"benchsuite: {problem}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchsuite report",
        description="Make the tables, figures and pages of a run from its folder. Without --table, --all or "
        "--format html it lists which of them the run can fill.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", default="", help="number, name or folder (default: the newest finished one)")
    parser.add_argument("--table", nargs="+", action="extend", default=[], metavar="ID", help="tables or figures")
    parser.add_argument("--format", choices=list(PRINTED), help="(default: text; with --all: every form)")
    parser.add_argument(
        "--all", action="store_true", help="every table and figure that the run can fill, and its pages"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR|FILE", help="where to write (default: print; with --all: the run's folder)"
    )
    parser.add_argument("--against", default="", metavar="RUN", help="the baseline whose changes the pages show")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE|MODULE",
        help="pytest plugin or conftest.py that registers tables of its own (pytest_bench_register)",
    )
    parser.add_argument("--standalone", action="store_true", help="of latex: a whole document, not the table alone")
    parser.add_argument(
        "--bench-dir",
        "--dir",
        type=Path,
        default=Path(".bench"),
        metavar="DIR",
        help="where runs and caches are kept (default: .bench)",
    )
    return parser


def _find(bench_dir: Path, name: str) -> Path:
    if name:
        return find_run(bench_dir, name)
    if not bench_dir.is_dir():
        raise ConfigError(f"{bench_dir}: no such folder; --bench-dir says where the runs are")
    finished = [run.path for run in list_runs(bench_dir) if run.finished is not None]
    if not finished:
        raise ConfigError(f"{bench_dir}: no finished run; --run names one that is not finished")
    return finished[-1]


@dataclass(frozen=True, slots=True)
class Source:
    """A run with what its tables are made of; ``caches`` are the folders of caches to look in."""

    run: Run
    rows: tuple[Row, ...]
    facts: RunFacts
    caches: tuple[Path, ...]
    certificates: Certificates

    def fill(self, ids: Collection[str] | None, own: Mapping[str, TableSpec]) -> Filled:
        """The tables and figures named, or all."""
        return fill(self.rows, self.facts, self.run.path, self.caches, ids, own)


@contextmanager
def open_source(run: Run, bench_dir: Path) -> Iterator[Source]:
    """Raises DataError for token counts that cannot be read."""
    rows = tuple(run.rows.values())
    caches = caches_of(bench_dir, [run.path])
    ids = dict.fromkeys((run_of(row) for row in rows), run.path)
    name = run.path.resolve().name
    with open_certificates(ids, caches, recorded_presets(run.info)) as certificates:
        facts = RunFacts.from_info(run.info, name, read_tokens(run.path), certificates)
        yield Source(run, rows, facts, caches, certificates)


def plugin_tables(plugins: Sequence[str]) -> dict[str, TableSpec]:
    """The tables that pytest plugins register, by id. Raises ConfigError for one that cannot be loaded."""
    registry = Registry()
    for name in plugins:
        try:
            module = _load(name)
            module.pytest_bench_register(registry)
        except Exception as error:
            raise ConfigError(f"--plugin {name}: {words_of(error)}") from None
    return own_tables(registry.tables.values())


def _load(name: str) -> ModuleType:
    if not name.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))  # as pytest -p does
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(f"benchsuite_report_{Path(name).stem}", Path(name).resolve())
    if spec is None or spec.loader is None:
        raise ConfigError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tables(run: Run, options: argparse.Namespace, own: Mapping[str, TableSpec]) -> list[str]:
    """Print the tables that were asked for, or write them to ``--out``."""
    form: str = options.format or "text"
    with open_source(run, options.bench_dir) as source:
        filled = source.fill(options.table, own)
    problems = [*filled.problems, *filled.unfilled]
    render = as_latex_document if options.standalone else PRINTED[form]
    texts = {table.id: render(table) for table in filled.tables}
    if form == "json":
        texts.update({figure.id: figure_json(figure) for figure in filled.figures})
    out: Path | None = options.out
    if out is None:
        if form != "json":
            problems += [f"figure {each.id}: no {form}; --format json, or --out DIR" for each in filled.figures]
        if not texts:
            raise ConfigError("; ".join(problems))
        print(_joined(list(texts.values()), form), end="")
        return problems
    if len(texts) == 1 and not filled.figures and out.suffix and not out.is_dir():
        write_file(out, next(iter(texts.values())))
        return problems
    for name, text in texts.items():
        write_file(out / f"{name}.{ENDINGS.get(form, form)}", text)
    written, faults = write_figures(out, filled.figures)
    if not texts and not written:
        raise ConfigError("; ".join([*problems, *faults]))
    return [*problems, *faults]


def _joined(texts: Sequence[str], form: str) -> str:
    if form == "json" and len(texts) > 1:
        return json.dumps([json.loads(text) for text in texts], indent=2, ensure_ascii=False) + "\n"
    return "\n".join(texts)


def _everything(run: Run, options: argparse.Namespace, own: Mapping[str, TableSpec]) -> list[str]:
    """Write what ``--all`` and ``--format`` ask for."""
    flips = _flips(run, options)
    forms = {options.format: PRINTED[options.format]} if options.format else _FILES
    with open_source(run, options.bench_dir) as source:
        filled = source.fill(None, own)
        problems = [*filled.problems]
        if options.all and options.format != "html":
            out: Path = options.out or run.path / "tables"
            endings = {ENDINGS.get(name, name): form for name, form in forms.items()}
            tables, faults = write_tables(out, filled.tables, endings)
            drawn, undrawn = write_figures(out, filled.figures)
            problems += [*faults, *undrawn]
            if options.out is None:
                source.certificates.write(run.path)
            print(f"{out}: {len(tables)} tables, {len(drawn)} figures of run {source.facts.run}")
            for line in filled.unfilled:
                print(f"not filled: {line}")
            if not filled.tables and not filled.figures and options.format:
                raise ConfigError("; ".join(problems) or f"run {source.facts.run} fills no table")
        if options.format in (None, "html"):
            pages = (options.out / REPORT if options.all else options.out) if options.out else run.path / REPORT
            site = write_site(run, pages, source.caches, filled, source.facts, flips)
            smaller = f", {site.smaller} images shown smaller" if site.smaller else ""
            print(f"{site.index}: {len(run.rows)} cells, {site.files} files, {site.bytes / 1e6:.1f} MB{smaller}")
    return problems


_FILES = {name: form for name, form in PRINTED.items() if name not in ("text", "html")}


def _flips(run: Run, options: argparse.Namespace) -> Flips | None:
    if not options.against:
        return None
    other = load_run(find_run(options.bench_dir, options.against))
    if other.path.resolve() == run.path.resolve():
        raise ConfigError(f"--against {options.against}: that is the run itself")
    return find_flips(f"run {other.path.resolve().name}", other.path, other.rows, run.rows)


def _list(run: Run, own: Mapping[str, TableSpec]) -> list[str]:
    """What the run can fill, by a look at its rows alone: nothing is certified."""
    facts = RunFacts.from_info(run.info, run.path.resolve().name, read_tokens(run.path))
    rows = tuple(run.rows.values())
    specs, problems = discover_tables()
    specs = {**specs, **own}
    print(f"run {facts.run}: {len(rows)} cells")
    for name, spec in specs.items():
        try:
            table = spec.build(rows, facts)
        except Exception as error:
            print(f"  {name}: refused: {words_of(error)}")
            continue
        if not table.blocks:
            print(f"  {name}: no: {lacking(spec, rows)}")
            continue
        partly = missing_arms(spec.conditions, rows)
        print(f"  {name}: {table.title}" + (f" (without {', '.join(partly)})" if partly else ""))
    for name, drawing in discover_figures().items():
        absent = missing_arms(drawing.conditions, rows)
        print(f"  {name}: figure" + (f" (missing arms: {', '.join(absent)})" if absent else ""))
    return problems
