"""MIRAGE Table 5: source and grounded correctness at S2 under three forms of the compaction summary (appendix A.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    RUNS,
    S2,
    Agent,
    agents,
    axis_of,
    left_out,
    made,
    rate,
    shared_facts,
    together,
)
from benchsuite_reports.mirage_contrast import COLUMNS as PAIRED
from benchsuite_reports.mirage_contrast import NOTE, NOTHING, change
from benchsuite_reports.mirage_measure import over_runs
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t5"
TITLE = "MIRAGE Table 5: SC/GC at S2 by the form of the summary, under C0"
FORMS = {"verbatim": "Verbatim", "free": "Free form", "cited": "Per fact citations"}
COLUMNS = ("Answerer", "Summariser", *FORMS.values())
CONTRASTS = ("Contrast", "Indicator", *PAIRED)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows at S2, a block per length, answerer and summariser with two forms or more. Raises BenchError
    when its rows mix corpora, protocols, renderers, scorers or models as served."""
    every = agents(rows, about=("summary",), wanted=lambda row: axis_of(row, "state") == S2)
    groups = [{dict(agent.varied)["summary"]: agent for agent in group} for group in together(every, "varied")]
    shown = [by_form for by_form in groups if len(by_form) > 1]
    return made(
        (ID, TITLE, COLUMNS),
        [agent for by_form in shown for agent in by_form.values()],
        [block for by_form in shown for block in _blocks(by_form, facts)],
        facts,
        (f"SC / GC in percent over the parsed answerable questions. {RUNS}", NOTE),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="rows at S2 of two forms of the summary of one model are not there")


def _blocks(by_form: Mapping[str, Agent], facts: RunFacts) -> tuple[Block, Block]:
    first = next(iter(by_form.values()))
    heading = f"length {first.length}, model {first.model}, summariser {first.summariser}{first.others}"
    values = dict[str, Number]()
    cells = []
    for form in FORMS:
        found = [over_runs(by_form[form], S2, name) if form in by_form else None for name in ("sc", "gc")]
        values.update({f"sc.{form}": found[0], f"gc.{form}": found[1]})
        cells.append(" / ".join(map(rate, found)) if form in by_form else NONE)
    table = Block(
        heading=heading,
        facts=shared_facts(ID, by_form, facts),
        rows=((first.model, first.summariser, *cells),),
        left_out=tuple(each for agent in by_form.values() for each in left_out(agent)),
        values=values,
    )
    rows = []
    numbers = dict[str, Number]()
    base = by_form.get("verbatim")
    for form, agent in by_form.items():
        for name in ("sc", "gc"):
            if base is None or form == "verbatim":
                continue
            found_change = change(base.runs(S2), agent.runs(S2), name)
            rows.append((f"{form} minus verbatim", name.upper(), *(found_change.texts if found_change else NOTHING)))
            numbers.update(found_change.numbers(f"{name}.{form}-verbatim") if found_change else {})
    return table, Block(f"{heading}: paired", (), tuple(rows), None, values=numbers, columns=CONTRASTS)
