"""What a run is and how it ended, as plain values: ``benchsuite show`` prints them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchsuite.plan import safe_id
from benchsuite.runs.folder import is_held, planned_cells
from benchsuite.runs.rows import Row, Run

_TABLE, _FIGURE = ".md", (".svg", ".png")
_FACTS = (
    "number",
    "name",
    "commit",
    "argv",
    "started",
    "continued",
    "finished",
    "exit",
    "versions",
    "corpora",
    "digests",
    "protocols",
    "models",
    "models_served",
    "encoders",
    "merged_from",
    "merged",
)


def describe(run: Run) -> dict[str, Any]:
    """The facts of ``run.json`` without plan and presets; ``state`` (finished, unfinished, being written); ``cells``
    planned, with a row and missing; ``arms``, ``direct`` (rows of ``bench.ask``), ``errors`` by cause, and the files
    ``tables``, ``figures`` and ``pages``."""
    facts: dict[str, Any] = {"path": str(run.path), **{key: run.info[key] for key in _FACTS if key in run.info}}
    state = "unfinished" if run.info.get("finished") is None else "finished"
    facts["state"] = "being written" if state == "unfinished" and is_held(run.path) else state
    rows = list(run.rows.values())
    direct = [row for row in rows if _is_direct(row)]
    planned = planned_cells(run.info)
    facts["scorers"] = sorted({str(row["scorer"]) for row in rows if row["scorer"]})
    facts["experiments"] = {
        node: {"cells": len(set(cells)), "missing": len(set(cells) - run.rows.keys())}
        for node, cells in run.info["plan"].items()
    }
    facts["cells"] = {
        "planned": len(planned),
        "rows": len(rows) - len(direct),
        "missing": len(planned - run.rows.keys()),
    }
    facts["arms"] = arms([row for row in rows if not _is_direct(row)])
    facts["direct"] = len(direct)
    causes = Counter((str(row["error.kind"]), str(row["error.message"])) for row in rows if row["status"] == "error")
    facts["errors"] = [{"kind": kind, "message": text, "cells": n} for (kind, text), n in causes.most_common()]
    return facts | files(run.path)


def arms(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Counts of each arm in the order of its cells: ``n``, each word that occurs anywhere, and ``accuracy``, the mean
    score of the cells that have one (None where none has)."""
    words = [word for word in _WORDS if any(row["word"] == word for row in rows)]
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(arm_key(row), []).append(row)
    table = []
    for key, cells in found.items():
        scores: list[Any] = [row["score"] for row in cells if row["score"] is not None]
        counts = Counter(row["word"] for row in cells)
        table.append(
            {
                "arm": key,
                "n": len(cells),
                **{word: counts[word] for word in words},
                "accuracy": round(sum(scores) / len(scores), 4) if scores else None,
            }
        )
    return table


_WORDS = ("right", "wrong", "refused", "grounded", "mirage", "unparsed", "error")


def arm_key(row: Row) -> str:
    """``suite:arm key``: a cell's id without its question."""
    return str(row["cell"]).removesuffix(f"-{safe_id(str(row['question']))}")


def files(path: Path) -> dict[str, list[str]]:
    """The ids of tables and figures, and the pages, that lie in a run's folder."""
    made = sorted(file for file in (path / "tables").glob("*.*") if not file.name.startswith("."))
    figures = sorted({file.stem for file in made if file.suffix in _FIGURE})
    return {
        "tables": sorted({file.stem for file in made if file.suffix == _TABLE}),
        "figures": figures,
        "pages": sorted(
            str(file.relative_to(path)) for file in (*path.glob("pages/*.html"), *path.glob("report/*.html"))
        ),
    }


def _is_direct(row: Row) -> bool:
    block: Any = row["run"]
    return bool(block.get("direct"))
