"""``benchsuite rm``: take runs away."""

from __future__ import annotations

import json

from benchsuite.commands.parser import Parser, add_bench_dir, add_json, check_bench_dir
from benchsuite.errors import ConfigError
from benchsuite.runs.remove import Removed, folder_size, old_runs, remove_runs, runs_to_remove


def rm_command(argv: list[str]) -> int:
    """Remove the runs that are named, or old ones of a name, and print what that freed. Caches stay."""
    parser = Parser(
        "benchsuite rm",
        "Remove runs; caches stay. A run that is being written is refused. With --older-than the newest run of the "
        "name and its newest with exit 0 always stay.",
        "  benchsuite rm 3 0004_nogit_try\n  benchsuite rm --older-than 30 --name nightly --keep anchor --dry-run",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="number, name of the folder, or path")
    parser.add_argument("--older-than", type=float, metavar="DAYS", help="instead of RUN: by the day they started")
    parser.add_argument("--name", default="", help="with --older-than: of the runs that were saved under this name")
    parser.add_argument("--keep", action="append", default=[], metavar="NAME", help="runs to leave alone: baselines")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    add_json(parser)
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    check_bench_dir(options.bench_dir)
    if bool(options.runs) == (options.older_than is not None):
        parser.error("give runs, or --older-than DAYS --name NAME")
    if (options.older_than is not None) != bool(options.name):
        parser.error("--older-than and --name go together")
    stay: list[str] = []
    if options.runs:
        paths = runs_to_remove(options.bench_dir, options.runs, options.keep)
    else:
        if not options.older_than >= 0:
            raise ConfigError(f"--older-than {options.older_than:g}: not a number of days")
        paths, stay = old_runs(options.bench_dir, options.name, options.older_than, options.keep)
    if options.dry_run:
        removed = [Removed(path, folder_size(path)) for path in paths]
    else:
        removed = remove_runs(options.bench_dir, paths)
    _print(removed, stay, options.dry_run, options.json)
    return 0


def _print(removed: list[Removed], stay: list[str], dry_run: bool, as_json: bool) -> None:
    total = sum(each.size for each in removed)
    if as_json:
        gone = [{"run": each.path.name, "bytes": each.size} for each in removed]
        print(json.dumps({"removed": gone, "bytes": total, "dry_run": dry_run, "stay": stay}, indent=1))
        return
    word = "would remove" if dry_run else "removed"
    for each in removed:
        print(f"{word} {each.path.name}: {_size(each.size)}")
    for line in stay:
        print(f"stays {line}")
    runs = "run" if len(removed) == 1 else "runs"
    print(f"{'would free' if dry_run else 'freed'} {_size(total)} in {len(removed)} {runs}")


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
