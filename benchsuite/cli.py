"""The ``benchsuite`` command: subcommands come from the entry point group ``benchsuite.commands``."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import EntryPoint, entry_points

from benchsuite.commands.parser import Parser
from benchsuite.errors import BenchError, ConfigError

GROUP = "benchsuite.commands"
BENCH_ERROR = 4
CLOSED_PIPE = 141


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand. Exit 0; 2 for a wrong command line; 4 for what a BenchError names; 141 for a closed pipe."""
    commands = _commands()
    parser = Parser(
        "benchsuite",
        "Look at and serve what the benchmark suite uses; the benchmarks themselves run by pytest. "
        "benchsuite COMMAND --help says what a command does.",
        "  benchsuite ls --help",
    )
    parser.add_argument("command", metavar="COMMAND", help=", ".join(commands) or "none is installed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the command's own arguments")
    options = parser.parse_args(argv)
    if options.command not in commands:
        parser.error(f"no command {options.command!r}; there are {', '.join(commands)}")
    try:
        try:
            command = commands[options.command].load()
        except (ImportError, AttributeError) as error:  # an extra that is not installed, or another version
            raise ConfigError(f"command {options.command!r} cannot be loaded: {error}") from None
        code = int(command(options.arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has had enough, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except BenchError as error:
        text = " ".join(str(error).splitlines())  # a file's name may hold line ends
        sys.stderr.write(f"benchsuite: {text}\n")
        return BENCH_ERROR


def _commands() -> dict[str, EntryPoint]:
    return {each.name: each for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)}
