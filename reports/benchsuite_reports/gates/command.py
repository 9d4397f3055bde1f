"""``benchsuite gates RUN``: judge a run that is there, say one that was merged from shards. Exit 10: a loss."""

from __future__ import annotations

import argparse

from benchsuite.commands.parser import Parser, add_bench_dir
from benchsuite.errors import ConfigError
from benchsuite.runs import find_run, load_run
from benchsuite_reports.gates import EXIT_GATE
from benchsuite_reports.gates.baseline import LAST_GREEN, resolve
from benchsuite_reports.gates.evaluate import Against, evaluate, trunk_of
from benchsuite_reports.gates.grammar import parse_gate
from benchsuite_reports.gates.metrics import ACROSS
from benchsuite_reports.gates.summary import as_json, as_lines, as_markdown, write_report


def gates_command(argv: list[str]) -> int:
    """Print the verdict of every gate against every baseline, and write it into the run's folder."""
    parser = Parser(
        "benchsuite gates",
        "Judge a finished run by gates, from its rows alone. A loss of which confirmation is asked counts: nothing is "
        "asked again here. Writes gates.json and summary.md into the run's folder.",
        "  benchsuite gates nightly --compare anchor --fail 'memlens.accuracy:-3pp@p<0.05'",
    )
    parser.add_argument("run", metavar="RUN", help="number, name (the newest of it) or folder")
    parser.add_argument(
        "--compare", action="append", required=True, metavar="RUN", help=f"baseline, {LAST_GREEN} for one; repeat"
    )
    parser.add_argument("--fail", action="append", required=True, metavar="GATE", help="a gate; repeat for several")
    parser.add_argument(
        "--across", action="append", default=[], choices=ACROSS, help="a difference to compare across all the same"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for scripts")
    form.add_argument("--markdown", action="store_true", help="print the summary for a CI page")
    add_bench_dir(parser)
    options: argparse.Namespace = parser.parse_args(argv)
    run = load_run(find_run(options.bench_dir, options.run))
    if run.info.get("finished") is None:
        raise ConfigError(f"{run.path}: the run is not finished")
    gates = [parse_gate(text) for text in options.fail]
    against = []
    for name in options.compare:
        baseline = resolve(name, options.bench_dir, str(run.info["name"]), run.path)
        against.append(Against.read(baseline))
    planned = {cell for cells in run.info["plan"].values() for cell in cells}
    rows = [row for cell, row in run.rows.items() if cell in planned]
    report = evaluate(gates, rows, against, options.across, trunk=trunk_of(run.info))
    write_report(run.path, report, rows)
    shown = as_json(report) if options.json else as_markdown(report) if options.markdown else None
    print(shown if shown is not None else "\n".join(as_lines(report)), end="" if shown is not None else "\n")
    return EXIT_GATE if report.failed else 0
