"""What the commands share: a parser that complains on one line, and the folder that holds the runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from benchsuite.errors import ConfigError

USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """argparse, with its complaint on one line and an example where it is given one."""

    def __init__(self, prog: str, description: str, example: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=example and f"example:\n{example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"benchsuite: {message} (see {self.prog} --help)\n")


def add_bench_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bench-dir",
        "--dir",
        type=Path,
        default=Path(".bench"),
        metavar="DIR",
        help="where runs and caches are kept (default: .bench)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def check_bench_dir(bench_dir: Path) -> None:
    """Raises ConfigError where there is no such folder."""
    if not bench_dir.is_dir():
        raise ConfigError(f"{bench_dir}: no such folder; --bench-dir says where the runs are")


def one_line(text: str) -> str:
    """Text from models and file names as a terminal can take it: on one line, without control characters."""
    return "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))


def in_columns(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Texts in columns, two spaces apart, each on one line."""
    cells = [tuple(map(one_line, line)) for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
