"""``benchsuite export``: the rows of a run for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchsuite.commands.parser import Parser, add_bench_dir
from benchsuite.errors import ConfigError
from benchsuite.runs import Row, find_run, load_run
from benchsuite.runs.export import FORMATS, TEXT, flat_rows, write_parquet


def export_command(argv: list[str]) -> int:
    """Print or write the rows, flat, in the order of the cell ids."""
    parser = Parser(
        "benchsuite export",
        "Write the outcome rows of a run, flat, sorted by cell. CSV quotes all text and changes none of it: tell a "
        "spreadsheet that columns are text, or it may take one for a formula.",
        "  benchsuite export nightly --format csv --out rows.csv",
    )
    parser.add_argument("run", metavar="RUN", help="number, name (the newest of it) or folder")
    parser.add_argument("--format", choices=FORMATS, required=True, help="parquet needs benchsuite[parquet] and --out")
    parser.add_argument("--out", type=Path, metavar="FILE", help="replaced if it is there (default: print)")
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    if options.format == "parquet" and options.out is None:
        parser.error("--format parquet needs --out FILE")
    rows = flat_rows(load_run(find_run(options.bench_dir, options.run)))
    if options.out is None:
        for line in TEXT[options.format](rows):
            sys.stdout.write(line)
        return 0
    _write(rows, options.format, options.out)
    print(f"{options.out}: {len(rows)} rows")
    return 0


def _write(rows: Sequence[Row], form: str, out: Path) -> None:
    """Replace the file whole. Raises ConfigError where it cannot be written."""
    temp = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        try:
            if form == "parquet":
                write_parquet(rows, temp)
            else:
                with temp.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(TEXT[form](rows))
            temp.replace(out)
        finally:
            temp.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written: {error.strerror or error}") from None
