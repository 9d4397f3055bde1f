"""MIRAGE Table 1: the indicators of every model at every conversation state under C0 (sections 3.5 and 4.2).

A second block of each model has what the paper's table leaves out: MI with its two parts, the rate of claimed
answerability, GC with parse failures as failures, and GC's interval by question and by planted object.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.mirage import always_no, always_yes
from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    DENOMINATORS,
    RUNS,
    Agent,
    agent_facts,
    agents,
    count_text,
    left_out,
    made,
    rate,
)
from benchsuite_reports.mirage_measure import GC_FAILING, calls, failures, over_runs, spread
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t1"
TITLE = "MIRAGE Table 1: evidence use by conversation state under C0"
RATES = ("AC", "SC", "VC", "GC", "HR", "WS")
COLUMNS = ("State", "n+", "n-", *RATES, "PF")
MIRAGES = ("State", "calls", "MI", "VC 1", "VC 0", "YES", "GC, PF wrong", "GC 95%", "GC 95% by object", "objects")
EMPTY = "no row of the main split at a state under C0 stands on the defaults of the other axes"


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, two blocks per length and model. Raises BenchError when its rows mix what must not be mixed:
    corpora, protocols, renderers, scorers or models as served."""
    found = agents(rows)
    return made(
        (ID, TITLE, COLUMNS),
        found,
        [*(_rates(agent, facts) for agent in found), *(_mirages(agent) for agent in found)],
        facts,
        (
            f"n+, n-: parsed calls on answerable and unanswerable questions. {DENOMINATORS} Always YES and always NO "
            "are computed: every question judged alike, with no source and no value.",
            "VC 1 and VC 0 are the two parts of MI: the value right without its source, and the value wrong. YES: "
            "parsed answerable calls that claim to be answerable. GC, PF wrong: over all recorded calls. GC 95%: "
            "Wilson, over the parsed questions of one run; by object: percentile bootstrap of whole planted objects, "
            f"which is too narrow for so few. {RUNS}",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty=EMPTY)


def _rates(agent: Agent, facts: RunFacts) -> Block:
    rows, values = [], dict[str, Number]()
    for state in agent.states:
        found = {name: over_runs(agent, state, name.lower()) for name in RATES}
        unparsed = failures(agent, state)
        sizes = {sign: calls(agent, state, name) for sign, name in (("n+", "gc"), ("n-", "hr"))}
        rows.append(
            (state, *map(count_text, sizes.values()), *(rate(found[name]) for name in RATES), count_text(unparsed))
        )
        values.update({f"{name.lower()}.{state}": value for name, value in found.items()})
        values.update({f"pf.{state}": unparsed, f"n+.{state}": sizes["n+"], f"n-.{state}": sizes["n-"]})
    asked = {str(row["question"]): bool(row["answerable"]) for row in agent.first(agent.states[0])}
    for label, baseline in (("always YES", always_yes(asked)), ("always NO", always_no(asked))):
        constant = {name: getattr(baseline, name.lower()).value for name in RATES}
        rows.append((label, NONE, NONE, *(rate(constant[name]) for name in RATES), "0"))
        values.update({f"{name.lower()}.{label}": value for name, value in constant.items()})
    return Block(agent.heading, agent_facts(ID, agent, facts), tuple(rows), left_out(agent), values=values)


def _mirages(agent: Agent) -> Block:
    rows, values = [], dict[str, Number]()
    names = ("mi", "mi_outcome", "mi_answer", "yes", GC_FAILING)
    for state in agent.states:
        found = {name: over_runs(agent, state, name) for name in names}
        gc = spread(agent.first(state), "gc")
        values.update({f"{name}.{state}": value for name, value in found.items()})
        if gc is not None:
            values.update({f"gc.low.{state}": gc.by_question.low, f"gc.high.{state}": gc.by_question.high})
            if gc.by_object is not None:
                values.update(
                    {f"gc.object.low.{state}": gc.by_object.low, f"gc.object.high.{state}": gc.by_object.high}
                )
        rows.append(
            (
                state,
                count_text(calls(agent, state, "mi")),
                *(rate(value) for value in found.values()),
                *((gc.question_text, gc.object_text, str(gc.objects)) if gc else (NONE, NONE, "0")),
            )
        )
    return Block(f"{agent.heading}: mirages and intervals", (), tuple(rows), None, values=values, columns=MIRAGES)
