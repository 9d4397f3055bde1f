"""MIRAGE Table 4: source correctness on the original objects and on those of other kinds, under C0 (appendix A.1)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    EXTENSION,
    MAIN,
    RUNS,
    Agent,
    agents,
    left_out,
    made,
    printed,
    rate,
    shared_facts,
    together,
)
from benchsuite_reports.mirage_measure import over_runs, spread
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t4"
TITLE = "MIRAGE Table 4: SC on the main and the extension objects under C0"
COLUMNS = ("Evidence set",)
SETS = {MAIN: "Main", EXTENSION: "Extension"}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, a block per length and model that was asked the extension. Raises BenchError when its rows
    mix corpora, protocols, renderers, scorers or models as served."""
    groups = [
        {agent.split: agent for agent in group if agent.split in SETS}
        for group in together(agents(rows, split=None), "split")
    ]
    shown = [by_set for by_set in groups if EXTENSION in by_set]
    found = [agent for by_set in shown for agent in by_set.values()]
    return made(
        (ID, TITLE, COLUMNS),
        found,
        (_block(by_set, facts) for by_set in shown),
        facts,
        (f"SC in percent over the parsed answerable questions of a set; brackets: Wilson 95% of one run. {RUNS}",),
        split=" and ".join(split for split in SETS if any(agent.split == split for agent in found)),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no row of the extension split at a state under C0")


def _block(by_set: dict[str, Agent], facts: RunFacts) -> Block:
    states = tuple(dict.fromkeys(state for name in SETS if name in by_set for state in by_set[name].states))
    shown = printed(states)
    rows, values = [], dict[str, Number]()
    for name, label in SETS.items():
        if name not in by_set:
            continue
        agent = by_set[name]
        cells, brackets = [], []
        for state in states:  # the values have all, the rows those that have a column
            value, found = over_runs(agent, state, "sc"), spread(agent.first(state), "sc")
            values[f"sc.{name}.{state}"] = value
            if state in shown:
                cells.append(rate(value))
                brackets.append(f"{found.question_text} of {found.rate.n}" if found else NONE)
        rows += [(label, *cells), (f"{label}, 95%", *brackets)]
    first = next(iter(by_set.values()))
    return Block(
        heading=first.heading,
        facts=shared_facts(ID, by_set, facts),
        rows=tuple(rows),
        left_out=tuple(each for agent in by_set.values() for each in left_out(agent)),
        values=values,
        columns=(*COLUMNS, *shown),
    )
