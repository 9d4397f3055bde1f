"""What the image indexes of a run cost: every process notes its share (``runs.costs`` adds them up)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.files import write_atomic
from benchsuite.runs.costs import COSTS

if TYPE_CHECKING:
    from benchsuite.retrieval.embed_images import IndexCosts


def note_costs(run: Path, worker: str, costs: Mapping[str, IndexCosts]) -> None:
    """Write ``costs/<worker>.json`` for the indexes that this process asked."""
    asked = {index: asdict(each) for index, each in costs.items() if each.queries or each.embedded}
    if asked:
        (run / COSTS).mkdir(exist_ok=True)
        write_atomic(run / COSTS / f"{worker}.json", json.dumps(asked))
