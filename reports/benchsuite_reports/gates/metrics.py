"""What a row is worth under a metric, and what must be the same on both sides for that to be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

from benchsuite.stats.contrast import JUDGE, SCORE, checkpoint_of, is_asked, score_under, unparsed_under
from benchsuite_reports.gates.align import Pair, names_under
from benchsuite_reports.gates.grammar import ACCURACY, AMOUNTS, BUILT_IN, RATES
from benchsuite_reports.table import Row

ACROSS = ("corpus", "protocol", "renderer", "trunk", "judge", "judge prompt", "scorer", "metric")
"""What a gate refuses to compare across, in the order in which it is looked at."""
_UNSCORED = ("errors", *AMOUNTS)
_UNJUDGED = ("subem", "f1", "refused")
_USAGE = {"prompt_tokens": "usage.prompt", "completion_tokens": "usage.completion"}


def metrics_of(rows: Iterable[Row]) -> list[str]:
    """Every metric that a gate may name over these rows; MI is made of the words of rows that have GC."""
    names = names_under("scores.", rows)
    return [*BUILT_IN, *names, *(["mi"] if "gc" in names and "mi" not in names else [])]


def applies(row: Row, metric: str) -> bool:
    """Whether the row is asked about at all: a refusal is counted where there was something to answer, an indicator of
    MIRAGE over the questions that have it."""
    return is_asked(row, metric) and (metric != "refused" or bool(row["answerable"]))


def value_of(row: Row, metric: str) -> float | None:
    """The row's value: a fraction, tokens or seconds; None where there is none.

    Errors have no value but under ``errors``. An unparsed answer is not correct, but see ``unparsed_under``. A question
    without an answer has its refusal score for each score, an answer that no judge is asked about the rule's, as in
    ``analyse``. The time of a reply from the cache is not one.
    """
    if metric == "errors":
        return float(row["status"] == "error")
    if row["status"] == "error":
        return None
    run: Any = row["run"]
    found: Any
    if metric == "unparsed":
        return float(row["status"] == "unparsed")
    if metric == "refused":
        found = row["refused"]
    elif metric in _USAGE:
        found = row[_USAGE[metric]]
    elif metric == "latency":
        found = None if run.get("cached") else run.get("latency_s")
    elif row["status"] == "unparsed":
        found = unparsed_under(row, metric)[0]
    else:
        found = score_under(row, SCORE if metric == ACCURACY else metric)
    return None if found is None else float(found)


def is_open(row: Row, metric: str) -> bool:
    """Whether the worst case may give the row any value: it has none, or its answer could not be read."""
    if value_of(row, metric) is None:
        return True
    return row["status"] == "unparsed" and metric not in (*RATES, *AMOUNTS) and not unparsed_under(row, metric)[1]


def differences(pairs: Sequence[Pair], metric: str, trunks: tuple[str, str] = ("", "")) -> dict[str, str]:
    """What is not the same on both sides, by name of ``ACROSS``, each with the first cell where it shows.

    ``trunks`` are who wrote the trunks of the baseline and of the run; empty: not known.
    """
    found: dict[str, str] = {}
    prompts: list[dict[str, None]] = [{}, {}]
    for pair in pairs:
        for a, b in product(pair.a, pair.b):
            for name, values in _looked_at(a, b, metric):
                if values[0] != values[1]:
                    found.setdefault(name, f"{_short(values[0])} -> {_short(values[1])} (first: {b['cell']})")
        for side, rows in zip(prompts, (pair.a, pair.b), strict=True):
            side.update((str(row["scorer"]), None) for row in rows if _judged(row))
    a_prompts, b_prompts = (sorted(side) for side in prompts)
    if a_prompts and b_prompts and a_prompts != b_prompts and metric not in (*_UNSCORED, *_UNJUDGED):
        found["judge prompt"] = f"{', '.join(a_prompts)} -> {', '.join(b_prompts)}"
    at_state = any(row.get("arm.state", "none") != "none" for pair in pairs for row in pair.b)
    if at_state and all(trunks) and trunks[0] != trunks[1]:
        found["trunk"] = f"written by {_writer(trunks[0])} -> by {_writer(trunks[1])}"
    return {name: found[name] for name in ACROSS if name in found}


def _writer(trunk: str) -> str:
    return "the bank itself" if trunk == "none" else trunk


def _looked_at(a: Row, b: Row, metric: str) -> Iterable[tuple[str, tuple[str, str]]]:
    yield "corpus", (str(a["corpus"]), str(b["corpus"]))
    yield "protocol", (str(a["protocol"]), str(b["protocol"]))
    if a["renderer"] and b["renderer"]:
        yield "renderer", (str(a["renderer"]), str(b["renderer"]))
    if all(said := (checkpoint_of(a), checkpoint_of(b))):
        yield "trunk", said
    if metric in _UNSCORED:
        return
    if metric not in _UNJUDGED:
        yield "judge", (str(a.get("arm.judge", "none")), str(b.get("arm.judge", "none")))
    if a["status"] == b["status"] == "scored" and not (_judged(a) or _judged(b)):
        yield "scorer", (str(a["scorer"]), str(b["scorer"]))
        yield "metric", (str(a["metric"]), str(b["metric"]))


def _judged(row: Row) -> bool:
    return row["metric"] == JUDGE and row["status"] == "scored"


def _short(value: str) -> str:
    """Digests by their first twelve digits."""
    return value[:12] if len(value) == 64 else value or "none"


def refused_over(found: dict[str, str], across: Collection[str]) -> str:
    """The first difference that was not allowed, in words; empty when all were."""
    first = next((name for name in found if name not in across), None)
    return "" if first is None else f"the {first} changed: {found[first]}"
