"""What the image indexes of a run cost: every process notes its share, the controller adds them up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchsuite.files import write_atomic

if TYPE_CHECKING:
    from benchsuite.retrieval.embed_images import IndexCosts

FOLDER = "costs"
_SHARES = ("embedded", "queries", "score_ms")  # of one process; the other fields are of the whole index


def note_costs(run: Path, worker: str, costs: Mapping[str, IndexCosts]) -> None:
    """Write ``costs/<worker>.json`` for the indexes that this process asked."""
    asked = {index: asdict(each) for index, each in costs.items() if each.queries or each.embedded}
    if asked:
        (run / FOLDER).mkdir(exist_ok=True)
        write_atomic(run / FOLDER / f"{worker}.json", json.dumps(asked))


def sum_costs(run: Path) -> dict[str, dict[str, Any]]:
    """The costs of a run by value of the index axis: the index as its last writer left it, the shares added."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((run / FOLDER).glob("*.json")):
        for index, costs in json.loads(file.read_text()).items():
            known = found.setdefault(index, costs)
            if known is not costs:
                shares = {name: round(known[name] + costs[name], 3) for name in _SHARES}
                found[index] = {**max(known, costs, key=lambda each: int(each["images"])), **shares}
    return found
