"""``benchsuite schema``: the JSON schema of an outcome row."""

from __future__ import annotations

import json

from benchsuite.commands.parser import Parser
from benchsuite.outcome_row import json_schema


def schema_command(argv: list[str]) -> int:
    parser = Parser(
        "benchsuite schema",
        "Print the JSON schema of a line of outcomes.jsonl.",
        "  benchsuite schema > outcome.schema.json",
    )
    parser.parse_args(argv)
    print(json.dumps(json_schema(), indent=2))
    return 0
