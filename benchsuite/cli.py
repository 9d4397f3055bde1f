"""The ``benchsuite`` command: subcommands come from the entry point group ``benchsuite.commands``."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from benchsuite.errors import BenchError, ConfigError
from benchsuite.outcome_row import json_schema
from benchsuite.runs import RunSummary, list_runs

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    from benchsuite.corpus.model import Image

GROUP = "benchsuite.commands"
USAGE_ERROR = 2
BENCH_ERROR = 4
FAULTY_DATA = 1
DELIVERED_SIDE = 768  # the longest side of the delivery presets that stamp


class _Parser(argparse.ArgumentParser):
    """argparse, with its complaint on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"benchsuite: {message} (see {self.prog} --help)\n")


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand. Exit 0; 2 for a wrong command line; 4 for what a BenchError names."""
    commands = _commands()
    parser = _Parser(
        prog="benchsuite",
        description="Look at and serve what the benchmark suite uses; the benchmarks themselves run by pytest.",
        epilog="benchsuite COMMAND --help says what a command does.",
    )
    parser.add_argument("command", metavar="COMMAND", help=", ".join(commands) or "none is installed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the command's own arguments")
    options = parser.parse_args(argv)
    if options.command not in commands:
        parser.error(f"no command {options.command!r}; there are {', '.join(commands)}")
    try:
        try:
            command = commands[options.command].load()
        except ImportError as error:  # an extra that is not installed
            raise ConfigError(f"command {options.command!r} cannot be loaded: {error}") from None
        return int(command(options.arguments))
    except BenchError as error:
        sys.stderr.write(f"benchsuite: {error}\n")
        return BENCH_ERROR


def _commands() -> dict[str, EntryPoint]:
    return {each.name: each for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)}


def ls_command(argv: list[str]) -> int:
    """``benchsuite ls``: a line per run."""
    parser = _Parser(prog="benchsuite ls", description="List the runs, oldest first.")
    parser.add_argument(
        "--bench-dir",
        type=Path,
        default=Path(".bench"),
        metavar="DIR",
        help="where runs and caches are kept (default: .bench)",
    )
    options = parser.parse_args(argv)
    if not options.bench_dir.is_dir():
        raise ConfigError(f"{options.bench_dir}: no such folder; --bench-dir says where the runs are")
    runs = list_runs(options.bench_dir)
    if not runs:
        print(f"no runs in {options.bench_dir}")
        return 0
    lines = [("run", "name", "commit", "started", "cells", "errors", "exit"), *map(_run_line, runs)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line, run in zip(lines, [None, *runs], strict=True):
        if run is not None and run.problem:
            print(f"{line[0].ljust(widths[0])}  unreadable: {run.problem}")
        else:
            print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _run_line(run: RunSummary) -> tuple[str, ...]:
    ended = "unfinished" if run.finished is None else str(run.exit)
    return (
        f"{run.number:04d}",
        run.name,
        run.commit,
        run.started,
        f"{run.cells}/{run.planned}",
        str(run.errors),
        "" if run.problem else ended,
    )


def data_command(argv: list[str]) -> int:
    """``benchsuite data check PATH``: what is in a corpus, and all that is wrong or odd in it. Exit 1 for errors."""
    parser = _Parser(prog="benchsuite data", description="Look into the data of a MemLens corpus.")
    parser.add_argument("action", choices=["check"], help="count, and list what is wrong (errors) or odd (notes)")
    parser.add_argument(
        "corpus", metavar="PATH", help="a dataset file, its folder, or memlens-mini; PATH#NAME also looks for NAME"
    )
    options = parser.parse_args(argv)
    import numpy as np  # and whatever else the other commands do without

    from benchsuite.corpus.check.checker import check_corpus
    from benchsuite.corpus.memlens import memlens_path
    from benchsuite.delivery.images import decode, scaled
    from benchsuite.delivery.stamp import Cover, audit_covers, stamp_cover

    covers: list[Cover] = []

    def look(data: bytes, image: Image) -> PillowImage.Image:
        picture = decode(data, image)
        covers.append(stamp_cover(np.asarray(scaled(picture, DELIVERED_SIDE))))
        return picture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about oddities of image files
        report = check_corpus(memlens_path(options.corpus), look)
    report.remarks.append(str(audit_covers(covers)))
    for line in report.lines():
        print(line)
    return FAULTY_DATA if report.errors.counts else 0


def schema_command(argv: list[str]) -> int:
    """``benchsuite schema``: the JSON schema of an outcome row."""
    parser = _Parser(prog="benchsuite schema", description="Print the JSON schema of a line of outcomes.jsonl.")
    parser.parse_args(argv)
    print(json.dumps(json_schema(), indent=2))
    return 0
