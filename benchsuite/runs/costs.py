"""What the image indexes of a run cost, from the share that every process noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchsuite.errors import DataError

COSTS = "costs"
_SHARES = ("embedded", "queries", "score_ms")  # of one process; the other fields are of the whole index


def sum_costs(run: Path) -> dict[str, dict[str, Any]]:
    """The costs of a run by value of the index axis: the index as its last writer left it, the shares added.

    Raises DataError for a file that holds no costs.
    """
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((run / COSTS).glob("*.json")):
        try:
            for index, costs in json.loads(file.read_bytes()).items():
                known = found.setdefault(index, costs)
                if known is not costs:
                    shares = {name: round(known[name] + costs[name], 3) for name in _SHARES}
                    found[index] = {**max(known, costs, key=lambda each: int(each["images"])), **shares}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(str(file), None, None, f"no index costs: {type(error).__name__}: {error}") from None
    return found
