"""``benchsuite show``: what a run is, and how it ended."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from benchsuite.commands.parser import Parser, add_bench_dir, add_json, in_columns, one_line
from benchsuite.runs import find_run, load_run
from benchsuite.runs.describe import describe

CAUSES = 10


def show_command(argv: list[str]) -> int:
    """Print one run: how it was made, its arms, its errors by cause, and what there is to read."""
    parser = Parser(
        "benchsuite show",
        "Show what a run is: command, corpora, models, scorers, versions; outcomes by arm; causes of errors; tables, "
        "figures and pages. Accuracy is the mean score of the cells that have one.",
        "  benchsuite show nightly\n  benchsuite show 12 --json",
    )
    parser.add_argument("run", metavar="RUN", help="number, name (the newest of it) or folder")
    add_json(parser)
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    facts = describe(load_run(find_run(options.bench_dir, options.run)))
    if options.json:
        print(json.dumps(facts, indent=1))
    else:
        for line in _lines(facts):
            print(line)
    return 0


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    labelled = [(label, text) for label, texts in _facts(facts) for text in texts]
    yield from in_columns(labelled)
    if facts["arms"]:
        yield ""
        header = tuple(facts["arms"][0])
        yield from in_columns([header, *(tuple(_cell(value) for value in arm.values()) for arm in facts["arms"])])
    if facts["errors"]:
        yield ""
        yield "errors"
        for cause in facts["errors"][:CAUSES]:
            yield f"{cause['cells']:>6}  {cause['kind']}: {one_line(cause['message'])}"
        if more := facts["errors"][CAUSES:]:
            yield f"{sum(cause['cells'] for cause in more):>6}  {len(more)} other causes"


def _facts(facts: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    yield "run", [facts["path"]]
    yield "command", [shlex.join(map(str, facts.get("argv", [])))]
    yield "commit", [str(facts.get("commit", ""))]
    yield "started", [str(facts.get("started", "")), *(f"continued {when}" for when in facts.get("continued", []))]
    ended = f"{facts.get('finished')}, exit {facts.get('exit')}" if facts["state"] == "finished" else facts["state"]
    yield "finished", [ended]
    cells = facts["cells"]
    yield "cells", [f"{cells['planned']} planned, {cells['rows']} with an outcome, {cells['missing']} missing"]
    if facts["direct"]:
        yield "direct", [f"{facts['direct']} outcomes of bench.ask, in no table"]
    yield (
        "corpora",
        [f"{each['suite']}: {each['name']} {digest[:12]}" for digest, each in facts.get("corpora", {}).items()],
    )
    yield "models", [_model(name, each, facts) for name, each in facts.get("models", {}).items()]
    yield "encoders", [f"{channel}: {each['name']}" for channel, each in facts.get("encoders", {}).items()]
    yield "scorers", facts["scorers"]
    yield "protocols", sorted(facts.get("protocols", {}).values())
    yield "versions", [", ".join(f"{name} {version}" for name, version in facts.get("versions", {}).items())]
    yield "merged from", [_merged(each) for each in facts.get("merged_from", [])]
    for kind in ("tables", "figures", "pages"):
        yield kind, [", ".join(facts[kind])] if facts[kind] else []


def _model(name: str, asked: dict[str, Any], facts: dict[str, Any]) -> str:
    served = ", ".join(facts.get("models_served", {}).get(name, [])) or "nothing"
    return f"{name}: asked {asked['model']} of {asked['family']}, served {served}"


def _merged(source: dict[str, Any]) -> str:
    return f"{source['run']}: {source['cells']} cells, exit {source.get('exit')}"


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
