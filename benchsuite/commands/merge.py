"""``benchsuite merge``: shards of one plan become one run."""

from __future__ import annotations

import json

from benchsuite.commands.parser import Parser, add_bench_dir, add_json
from benchsuite.runs import find_run, read_info
from benchsuite.runs.merge import KINDS, merge_runs


def merge_command(argv: list[str]) -> int:
    """Merge runs into a new one, and say what was counted once and what disagrees. Exit 0 whatever the run's own."""
    parser = Parser(
        "benchsuite merge",
        "Merge shards of one plan into a new run. A cell in several is counted once: an answer beats an error, the "
        "later answer the earlier. Runs that differ in corpora, scorers, protocols, models, judge, ... are refused.",
        "  benchsuite merge shard1/runs/0001_* shard2/runs/0001_* --name nightly",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="number, name (the newest of it) or folder")
    parser.add_argument("--name", default="", help="the new run's name (default: run)")
    parser.add_argument("--across", action="append", default=[], choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--unfinished", action="store_true", help="merge also what a run has that is not finished")
    add_json(parser)
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    paths = [find_run(options.bench_dir, name) for name in options.runs]
    path = merge_runs(paths, options.bench_dir, options.name, options.across, options.unfinished)
    info = read_info(path)
    merged = info["merged"]
    if options.json:
        print(
            json.dumps(
                {"run": str(path), **{key: info[key] for key in ("cells", "errors", "exit")}, **merged}, indent=1
            )
        )
        return 0
    print(f"{path}: {info['cells']} cells of {len(paths)} runs, {info['errors']} errors, exit {info['exit']}")
    if merged["repeated"]:
        print(f"in several runs, counted once: {merged['repeated']}")
    for kind, words in (
        ("contradictions", "answered to different requests"),
        ("changed", "answered differently to one request"),
    ):
        found = merged[kind]
        if found["cells"]:
            more = found["cells"] - len(found["named"])
            print(f"{words}: {found['cells']}: {', '.join(found['named'])}" + (f" and {more} more" if more else ""))
    for line in merged["across"]:
        print(f"differs: {line}")
    return 0
