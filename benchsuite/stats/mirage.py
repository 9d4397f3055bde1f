"""MIRAGE's indicators over outcome rows: per state (section 3.5), between states (4.1), routes and triage (4.2).

A *recorded* call is a row that is scored or unparsed; errors are left out of everything and counted. AC, SC, VC, GC,
HR, WS and OG stand over the calls that parsed (Table 1 reproduces so alone), MI over all recorded answerable calls.
Rows are those of one run of one arm at one state, flat as in ``outcomes.jsonl``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchsuite.scoring.mirage import parse_reply

Row = Mapping[str, Any]

COMPLIANT_SHARE = 0.05
"""A model is tool-compliant when at least this share of its recorded Cm calls, all states together, made an
executable call. The paper's triage is all or nothing (0% or most of some state); the bound is ours."""
EVALUABLE_SHARE = 0.5
"""A cell can be evaluated when at least this share of its recorded calls parsed: the paper has one with 87% parse
failures that cannot. The bound is ours."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``k`` of ``n`` calls."""

    k: int
    n: int

    @property
    def value(self) -> float | None:
        """A fraction; None where there is nothing to count."""
        return self.k / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Indicators:
    """One state. ``recorded`` and ``parsed`` count calls, ``errors`` rows without one.

    ``mi`` is ``mi_outcome`` (YES, VC 1, GC 0) and ``mi_answer`` (YES, VC 0) together, parse failures in ``n`` and not
    in ``k``; ``og`` is VC - GC whatever ANSWERABLE says; ``yes`` and ``yes_unanswerable`` are the marginal rates of
    ANSWERABLE=YES over parsed answerable and unanswerable calls. ``failing`` has ac, sc, vc, gc, hr and ws over the
    recorded calls, a parse failure taken as failing: 0 in the first four, 1 in HR and WS.
    """

    recorded: int
    parsed: int
    errors: int
    pf: Rate
    ac: Rate
    sc: Rate
    vc: Rate
    gc: Rate
    hr: Rate
    ws: Rate
    og: Rate
    mi: Rate
    mi_outcome: Rate
    mi_answer: Rate
    yes: Rate
    yes_unanswerable: Rate
    failing: Mapping[str, Rate]


def indicators(rows: Iterable[Row]) -> Indicators:
    """Raises ValueError where a question comes twice (several runs, arms or states) and for a scored row without
    one of its metrics."""
    rows = _once(rows)
    recorded = [row for row in rows if _is_recorded(row)]
    parsed = [row for row in recorded if row["status"] == "scored"]
    asked = [row for row in recorded if row["answerable"]]
    answerable = [row for row in parsed if row["answerable"]]
    unanswerable = [row for row in parsed if not row["answerable"]]
    over = {"ac": parsed, "hr": unanswerable, **dict.fromkeys(("sc", "vc", "gc", "ws"), answerable)}
    found = {name: _rate(name, of) for name, of in over.items()}
    calls = {"ac": len(recorded), "hr": len(recorded) - len(asked)}
    failing = {}
    for name, rate in found.items():
        n = calls.get(name, len(asked))
        failing[name] = Rate(rate.k + (n - rate.n if name in ("hr", "ws") else 0), n)
    claimed = [row for row in answerable if _hit(row, "yes") and not _hit(row, "gc")]
    valued = sum(_hit(row, "vc") for row in claimed)
    return Indicators(
        recorded=len(recorded),
        parsed=len(parsed),
        errors=len(rows) - len(recorded),
        pf=Rate(len(recorded) - len(parsed), len(recorded)),
        **found,
        og=Rate(found["vc"].k - found["gc"].k, len(answerable)),
        mi=Rate(len(claimed), len(asked)),
        mi_outcome=Rate(valued, len(asked)),
        mi_answer=Rate(len(claimed) - valued, len(asked)),
        yes=_rate("yes", answerable),
        yes_unanswerable=_rate("yes", unanswerable),
        failing=failing,
    )


def depth_sensitivity(gc_d0: float | None, gc_d80k: float | None) -> float | None:
    """DS in percent: the share of GC at S1-d0 that is lost at S1-d80k; negative for a gain, None at GC 0 or none."""
    if not gc_d0 or gc_d80k is None:
        return None
    return 100 * (gc_d0 - gc_d80k) / gc_d0


def delta_comp(gc_s2: float | None, gc_d80k: float | None) -> float | None:
    """GC at S2 less GC at S1-d80k, in the unit of its arguments (the paper prints proportions)."""
    return None if gc_s2 is None or gc_d80k is None else gc_s2 - gc_d80k


def retention(rows_d0: Iterable[Row], rows_d80k: Iterable[Row]) -> Rate:
    """Ret: of the probes grounded in the first state, those grounded in the second; a parse failure is not.

    Probes without a recorded call in the second state are left out of both counts.
    """
    later = {row["question"]: row for row in _once(rows_d80k) if _is_recorded(row)}
    kept = [_grounded(later[row["question"]]) for row in _once(rows_d0) if _grounded(row) and row["question"] in later]
    return Rate(sum(kept), len(kept))


def source_drift(rows_a: Iterable[Row], rows_b: Iterable[Row]) -> Rate:
    """Of the probes grounded in both states, those whose SOURCE is written differently, before any canonical form."""
    first = {row["question"]: _source(row) for row in _once(rows_a) if _grounded(row)}
    pairs = [(first[row["question"]], row) for row in _once(rows_b) if _grounded(row) and row["question"] in first]
    return Rate(sum(source != _source(row) for source, row in pairs), len(pairs))


@dataclass(frozen=True, slots=True)
class Transitions:
    """``counts`` by whether a probe is grounded in each of ``states``; ``n`` answerable probes have a recorded call in
    all of them, ``left_out`` in some only."""

    states: tuple[str, ...]
    counts: Mapping[tuple[bool, ...], int]
    n: int
    left_out: int


def transitions(rows_by_state: Mapping[str, Iterable[Row]]) -> Transitions:
    """Figure 4: how answerable probes go through the states, in the order of the mapping. Parse failures are not
    grounded: the paper's 98 probes of a model with 85 parsed calls count them."""
    by_state = {
        state: {row["question"]: _grounded(row) for row in _once(rows) if row["answerable"] and _is_recorded(row)}
        for state, rows in rows_by_state.items()
    }
    seen = [set(found) for found in by_state.values()]
    shared = set.intersection(*seen) if seen else set()
    counts = Counter(tuple(found[question] for found in by_state.values()) for question in shared)
    everyone = set.union(*seen) if seen else set()
    return Transitions(tuple(by_state), dict(counts), len(shared), len(everyone) - len(shared))


@dataclass(frozen=True, slots=True)
class Routes:
    """Shares of all recorded calls, parse failures among them: ``tool`` (R_tool) and ``context`` (R_context) make up
    all; ``pseudo`` wrote tool text that is no call, ``faulty`` made a call that could not be executed, ``limited``
    went on calling until the limit."""

    tool: Rate
    context: Rate
    pseudo: Rate
    faulty: Rate
    limited: Rate


def route_composition(rows: Iterable[Row]) -> Routes:
    """Figure 5. Raises ValueError for a recorded row without a trace."""
    recorded = [row for row in _once(rows) if _is_recorded(row)]
    tool = _rate("tool", recorded)
    return Routes(
        tool=tool,
        context=Rate(tool.n - tool.k, tool.n),
        pseudo=_rate("pseudo_tool", recorded),
        faulty=_rate("tool_faults", recorded),
        limited=_rate("tool_limit", recorded),
    )


@dataclass(frozen=True, slots=True)
class Compliance:
    """Triage of a model under Cm: ``tool`` are its calls that used a tool, ``pf`` those that did not parse.

    ``compliant`` by COMPLIANT_SHARE; ``evaluable`` by EVALUABLE_SHARE. Cm deltas of a model that is not compliant,
    and of a cell that is not evaluable, are blank.
    """

    tool: Rate
    pf: Rate

    @property
    def compliant(self) -> bool:
        return (self.tool.value or 0.0) >= COMPLIANT_SHARE

    @property
    def evaluable(self) -> bool:
        return self.pf.n > 0 and 1 - self.pf.k / self.pf.n >= EVALUABLE_SHARE


def compliance(rows: Iterable[Row]) -> Compliance:
    """Of one model's rows, those under Cm; any states and runs together. Rows of C0 are passed over."""
    recorded = [row for row in rows if row["arm.condition"] == "Cm" and _is_recorded(row)]
    unparsed = sum(row["status"] == "unparsed" for row in recorded)
    return Compliance(_rate("tool", recorded), Rate(unparsed, len(recorded)))


def always_yes(answerable: Mapping[str, bool]) -> Indicators:
    """The baseline that says YES, NONE, NONE to every question: what AC and HR are worth. By question id."""
    return _constant(answerable, yes=True)


def always_no(answerable: Mapping[str, bool]) -> Indicators:
    """The baseline that says NO, NONE, NONE to every question."""
    return _constant(answerable, yes=False)


def _constant(answerable: Mapping[str, bool], yes: bool) -> Indicators:
    rows = []
    for question, gold in answerable.items():
        row: dict[str, Any] = {"question": question, "answerable": gold, "status": "scored", "scores.yes": float(yes)}
        row["scores.ac"] = float(yes == gold)
        row |= {"scores.sc": 0.0, "scores.vc": 0.0, "scores.gc": 0.0, "scores.ws": 1.0, "scores.hr": float(yes)}
        rows.append(row)
    return indicators(rows)


def _is_recorded(row: Row) -> bool:
    return row["status"] in ("scored", "unparsed")


def _grounded(row: Row) -> bool:
    return bool(row["status"] == "scored" and row["answerable"] and _hit(row, "gc"))


def _hit(row: Row, name: str) -> bool:
    value = row.get(f"scores.{name}")
    if value is None:
        raise ValueError(f"{row.get('cell') or row['question']}: the row has no scores.{name}")
    return bool(value)


def _rate(name: str, rows: Sequence[Row]) -> Rate:
    return Rate(sum(_hit(row, name) for row in rows), len(rows))


def _once(rows: Iterable[Row]) -> list[Row]:
    found = list(rows)
    for question, times in Counter(row["question"] for row in found).items():
        if times > 1:
            raise ValueError(f"question {question} comes {times} times: give the rows of one run, arm and state")
    return found


def _source(row: Row) -> str:
    reply = parse_reply(row["answer"] or "")
    if reply is None:
        raise ValueError(f"{row.get('cell') or row['question']}: its answer has no SOURCE")
    return reply.source
