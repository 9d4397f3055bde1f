"""``benchsuite ls``: a line per run."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchsuite.commands.parser import Parser, add_bench_dir, add_json, check_bench_dir, in_columns, one_line
from benchsuite.runs import RunSummary, check_name, list_runs

HEADER = ("run", "name", "commit", "started", "cells", "errors", "exit")


def ls_command(argv: list[str]) -> int:
    """Print the runs, oldest first; one that cannot be read, or is half a run, says what is wrong with it."""
    parser = Parser("benchsuite ls", "List the runs, oldest first.", "  benchsuite ls --name nightly")
    parser.add_argument("--name", default="", help="only the runs that were saved under this name")
    add_json(parser)
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    check_bench_dir(options.bench_dir)
    if options.name:
        check_name(options.name)
    runs = [run for run in list_runs(options.bench_dir) if options.name in ("", run.name)]
    if options.json:
        print(json.dumps([{**asdict(run), "path": str(run.path)} for run in runs], indent=1))
    elif not runs:
        print(f"no runs in {options.bench_dir}" + (f" named {options.name}" if options.name else ""))
    else:
        for line in _lines(runs):
            print(line)
    return 0


def _lines(runs: list[RunSummary]) -> list[str]:
    lines = in_columns([HEADER, *map(_cells, runs)])
    for place, run in enumerate(runs, 1):
        if run.problem and not run.started:
            lines[place] = f"{run.number:04d}  unreadable: {one_line(run.problem)}"
        elif run.problem:
            lines[place] += f"  {one_line(run.problem)}"
    return lines


def _cells(run: RunSummary) -> tuple[str, ...]:
    if run.problem and not run.started:
        return (f"{run.number:04d}", *[""] * (len(HEADER) - 1))
    ended = "unfinished" if run.finished is None else str(run.exit)
    counts = (f"{run.cells}/{run.planned}", str(run.errors), ended)
    return (f"{run.number:04d}", run.name, run.commit, run.started, *counts)
