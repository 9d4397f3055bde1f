"""MIRAGE Table 3: probes chosen from a run that show a mirage, and what retrieval pressure repairs (section 4.3).

The choice is by rule: the first questions by id that fit. The page of a question shows its probes as they were sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchsuite.scoring.mirage import parse_reply
from benchsuite_reports.mirage_base import (
    C0,
    CM,
    D0,
    D80K,
    S2,
    Agent,
    agents,
    axes_text,
    depth_facts,
    made,
    number_of,
    together,
)
from benchsuite_reports.site.question import FOLDER, page_name
from benchsuite_reports.table import Block, Row, RunFacts, Table, TableSpec

ID = "mirage_t3"
TITLE = "MIRAGE Table 3: case studies"
COLUMNS = ("Question", "Object", "Condition", "State", "Answerable", "Source", "Answer", "Gold", "GC")
CASES = 3
"""Questions of each kind that are shown."""
SHOWN = 32
"""Characters of a source or an answer."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case: ``label``, and what it means."""

    label: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a kind: the rows of each, and of how many questions they are."""

    kind: Kind
    found: Sequence[Sequence[Row]]
    probes: int


MIRAGE = Kind("Mirage", f"grounded at {D0}; later the same value is claimed without its source (YES, VC 1, GC 0)")
BOUNDARY = Kind("Cm boundary", f"not grounded under C0 at {D80K}; Cm repairs it there, and not at {S2}")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows of the first run, a block per length, model and kind of case whose states were run, without
    rows where there is no case. Raises BenchError when its rows mix corpora, protocols or renderers."""
    groups = together(agents(rows, condition=None), "condition")
    return made(
        (ID, TITLE, COLUMNS),
        [agent for group in groups for agent in group],
        [block for group in groups for block in _blocks({agent.condition: agent for agent in group})],
        facts,
        (
            f"{MIRAGE.label}: {MIRAGE.meaning}. {BOUNDARY.label}: {BOUNDARY.meaning}. The first {CASES} questions "
            "by id of each kind, of the first run; texts are cut, a question's page in the run's report shows its "
            "probes as they were sent. Cases show what the rates count, not how often.",
        ),
    )


TABLE = TableSpec(
    ID,
    build,
    ("mirage",),
    empty=f"no answerable question has parsed answers under C0 at {D0} and later, or at {D80K} under both conditions "
    f"and at {S2} under Cm",
)


def _blocks(conditions: Mapping[str, Agent]) -> Iterator[Block]:
    for cases in (_mirages(conditions), _boundaries(conditions)):
        if not cases.probes:
            continue
        any_agent = next(iter(conditions.values()))
        shown = cases.found[:CASES]
        pages = ", ".join(page_name(case[0]) for case in shown)
        yield Block(
            heading=f"length {any_agent.length}, model {any_agent.model}{any_agent.others}: {cases.kind.label}",
            facts=(
                ("axes", axes_text(any_agent)),
                ("questions that are such a case", f"{len(cases.found)} of {cases.probes} probes"),
                *depth_facts(conditions)[:1],
            ),
            rows=tuple(_row(row) for case in shown for row in case),
            left_out=None,
            notes=(f"Pages in the folder {FOLDER} of the run's report: {pages}.",)
            if shown
            else (f"0 cases of {cases.probes} answerable probes that parsed in these states.",),
            values={"cases": len(cases.found), "probes": cases.probes},
        )


def _mirages(conditions: Mapping[str, Agent]) -> Cases:
    """For each question the rows under C0 at the three states, where it is such a case."""
    if C0 not in conditions:
        return Cases(MIRAGE, (), 0)
    states = {state: _by_question(conditions[C0].first(state)) for state in (D0, D80K, S2)}
    found, probes = [], 0
    for question in sorted(states[D0]):
        later = [states[state][question] for state in (D80K, S2) if question in states[state]]
        probes += bool(later)
        if _grounded(states[D0][question]) and any(map(_kept_value, later)):
            found.append([states[D0][question], *later])
    return Cases(MIRAGE, found, probes)


def _boundaries(conditions: Mapping[str, Agent]) -> Cases:
    if C0 not in conditions or CM not in conditions:
        return Cases(BOUNDARY, (), 0)
    before = _by_question(conditions[C0].first(D80K))
    repaired, after = (_by_question(conditions[CM].first(state)) for state in (D80K, S2))
    asked = sorted(before.keys() & repaired.keys() & after.keys())
    return Cases(
        BOUNDARY,
        [
            [before[question], repaired[question], after[question]]
            for question in asked
            if not _grounded(before[question]) and _grounded(repaired[question]) and not _grounded(after[question])
        ],
        len(asked),
    )


def _by_question(rows: Sequence[Row]) -> dict[str, Row]:
    """The parsed answerable ones."""
    return {str(row["question"]): row for row in rows if row["answerable"] and row["status"] == "scored"}


def _grounded(row: Row) -> bool:
    return number_of(row, "gc") == 1


def _kept_value(row: Row) -> bool:
    return number_of(row, "yes") == 1 and number_of(row, "vc") == 1 and not _grounded(row)


def _row(row: Row) -> tuple[str, ...]:
    reply = parse_reply(str(row["answer"] or ""))
    said = ("?", "?", "?") if reply is None else ("YES" if reply.answerable else "NO", reply.source, reply.answer)
    return (
        str(row["question"]),
        str(row["cluster"]),
        str(row.get("arm.condition", C0)),
        str(row["arm.state"]),
        *(_cut(text) for text in said),
        _cut(str(row["gold"])),
        f"{number_of(row, 'gc') or 0:.0f}",
    )


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
