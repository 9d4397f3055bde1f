"""MIRAGE indicators by difficulty, query type and shortcut risk of the questions, at every state under C0 (A.3)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.arms import NONE, labels_of
from benchsuite_reports.mirage_base import (
    DENOMINATORS,
    RUNS,
    Agent,
    agent_facts,
    agents,
    count_text,
    left_out,
    made,
    mean,
    rate,
)
from benchsuite_reports.mirage_measure import rate_of, spread
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_labels"
TITLE = "MIRAGE: SC, GC, HR and MI by difficulty, query type and shortcut risk under C0"
KINDS = {"difficulty": "Difficulty", "query": "Query type", "risk": "Shortcut risk"}
ORDER = ("lookup", "comparison", "layout", "none", "prior", "filename", "template", "lexical")
"""Values as the paper names them; others follow by name."""
SHOWN = ("sc", "gc", "hr", "mi")
COLUMNS = ("Label", "State", "n+", "n-", *(name.upper() for name in SHOWN), "GC 95%", "objects")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, a block per length, model and kind of label. Raises BenchError when its rows mix corpora,
    protocols, renderers, scorers or models as served."""
    found = agents(rows)
    return made(
        (ID, TITLE, COLUMNS),
        found,
        [block for agent in found for block in _blocks(agent, facts)],
        facts,
        (
            f"n+, n-: parsed calls of the label. {DENOMINATORS} GC 95%: Wilson, over the questions of one run; "
            f"objects: the planted ones that they ask about. {RUNS}",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no row of the main split with labels stands at a state under C0")


def label_of(row: Row, kind: str) -> str:
    """``lookup`` of ``difficulty:lookup``; empty for a question without that label."""
    return next((label.partition(":")[2] for label in labels_of(row) if label.startswith(f"{kind}:")), "")


def _blocks(agent: Agent, facts: RunFacts) -> list[Block]:
    about = agent_facts(ID, agent, facts)
    found: list[Block] = []
    for kind, heading in KINDS.items():
        labels = {label for row in agent.all_rows() if (label := label_of(row, kind))}
        values = dict[str, Number]()
        rows = [
            _row(agent, state, kind, label, values) for label in sorted(labels, key=_place) for state in agent.states
        ]
        if rows:
            columns = (heading, *COLUMNS[1:])
            first = not found
            found.append(
                Block(
                    f"{agent.heading}: {heading.lower()}",
                    about if first else (),
                    tuple(rows),
                    left_out(agent) if first else None,
                    values=values,
                    columns=columns,
                )
            )
    return found


def _place(label: str) -> tuple[int, str]:
    return (ORDER.index(label) if label in ORDER else len(ORDER)), label


def _row(agent: Agent, state: str, kind: str, label: str, values: dict[str, Number]) -> tuple[str, ...]:
    runs = [[row for row in rows if label_of(row, kind) == label] for rows in agent.runs(state)]
    means = {name: mean(rate_of(rows, name).value for rows in runs) for name in SHOWN}
    sizes = [mean(float(rate_of(rows, name).n) for rows in runs) for name in ("gc", "hr")]
    gc = spread(runs[0], "gc")
    values.update({f"{name}.{kind}:{label}.{state}": value for name, value in means.items()})
    ends = (gc.question_text, str(gc.objects)) if gc else (NONE, "0")
    return (label, state, *map(count_text, sizes), *(rate(value) for value in means.values()), *ends)
