"""MIRAGE: by which route evidence was reached, GC given each, and who follows the tool contract (section 4.2.2, Figure
5, and the triage of section 4.2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.mirage import COMPLIANT_SHARE, EVALUABLE_SHARE, Rate, compliance, indicators, route_composition
from benchsuite_reports.arms import NONE, Facts, answered
from benchsuite_reports.mirage_base import (
    CM,
    RUNS,
    Agent,
    agents,
    count_text,
    left_out,
    made,
    mean,
    number_of,
    rate,
    shared_facts,
    together,
    traced,
)
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_routes"
TITLE = "MIRAGE: routes to the evidence and tool compliance"
COLUMNS = ("Condition", "Recall", "State", "calls", "R_context", "R_tool", "GC by context", "GC by tool")
TRIAGE = ("Condition", "Recall", "State", "executed", "faults", "pseudo", "limit", "PF", "Triage")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows of the main split, two blocks per length and model, with a row per condition, recall surface
    and state. Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served."""
    every = [agent for agent in agents(rows, condition=None, about=("recall",)) if traced(agent)]
    groups = together(every, "condition", "varied")
    return made(
        (ID, TITLE, COLUMNS),
        every,
        [block for group in groups for block in (_routes(group, facts), _triage(group))],
        facts,
        (
            f"R_context and R_tool: percent of all recorded calls, parse failures among them. GC by route: grounded of "
            f"the parsed answerable calls of the first run that took it. {RUNS}",
            "executed: tool calls carried out, in all; faults, pseudo, limit, PF: recorded calls of the first run with "
            "an unknown tool or arguments that are no JSON, with tool text that no parser took, that went on calling "
            "until the limit, and that did not parse. Triage: a model is compliant under Cm when at least "
            f"{100 * COMPLIANT_SHARE:.0f}% of its recorded calls, all states together, used a tool; a state can be "
            f"evaluated when at least {100 * EVALUABLE_SHARE:.0f}% of its calls parsed. Both bounds are this suite's.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no row of the main split says which route its call took")


def arm_name(agent: Agent) -> str:
    """``Cm compacted``: the condition, and the values of the axes that a table is about."""
    return " ".join([agent.condition, *(value for _, value in agent.varied)])


def group_facts(table: str, group: Sequence[Agent], facts: RunFacts) -> Facts:
    """The facts of agents of one model; what they do not share stands by arm."""
    return shared_facts(table, {arm_name(agent): agent for agent in group}, facts)


def group_heading(group: Sequence[Agent]) -> str:
    return f"length {group[0].length}, model {group[0].model}{group[0].others}"


def _routes(group: Sequence[Agent], facts: RunFacts) -> Block:
    rows = []
    values = dict[str, Number]()
    for agent in group:
        for state in agent.states:
            found = [route_composition(run) for run in agent.runs(state)]
            tool = mean(each.tool.value for each in found)
            context = mean(each.context.value for each in found)
            given = [_gc(agent.first(state), by_tool) for by_tool in (False, True)]
            key = f"{arm_name(agent)}.{state}"
            values.update({f"tool.{key}": tool, f"gc.context.{key}": given[0].value, f"gc.tool.{key}": given[1].value})
            rows.append(
                (
                    agent.condition,
                    dict(agent.varied)["recall"],
                    state,
                    count_text(mean(float(each.tool.n) for each in found)),
                    rate(context),
                    rate(tool),
                    *(f"{each.k}/{each.n}" if each.n else NONE for each in given),
                )
            )
    return Block(
        group_heading(group),
        group_facts(ID, group, facts),
        tuple(rows),
        tuple((f"{arm_name(agent)}: {what}", why) for agent in group for what, why in left_out(agent)),
        values=values,
    )


def _gc(rows: Sequence[Row], by_tool: bool) -> Rate:
    """GC of the calls that took one of the two routes."""
    return indicators(row for row in rows if answered(row) and (number_of(row, "tool") == 1) == by_tool).gc


def verdict(agent: Agent, state: str) -> str:
    """What the triage says of a state under Cm; empty where its deltas can be read."""
    whole = compliance(agent.all_rows())
    if not whole.compliant:
        return f"not compliant: {whole.tool.k} of {whole.tool.n} calls under {CM} used a tool"
    here = compliance(row for run in agent.runs(state) for row in run)
    if not here.evaluable:
        return f"not evaluable: {here.pf.k} of {here.pf.n} calls did not parse"
    return ""


def _triage(group: Sequence[Agent]) -> Block:
    rows = []
    values = dict[str, Number]()
    for agent in group:
        for state in agent.states:
            run = [row for row in agent.first(state) if answered(row)]
            found = route_composition(run)
            executed = int(sum(number_of(row, "tool_calls") or 0.0 for row in run))
            said = (verdict(agent, state) or "compliant") if agent.condition == CM else ""
            unparsed = sum(row["status"] == "unparsed" for row in run)
            counts = (executed, found.faulty.k, found.pseudo.k, found.limited.k, unparsed)
            rows.append((agent.condition, dict(agent.varied)["recall"], state, *map(str, counts), said))
            names = ("executed", "faults", "pseudo", "limit", "pf")
            key = f"{arm_name(agent)}.{state}"
            values.update({f"{name}.{key}": count for name, count in zip(names, counts, strict=True)})
    return Block(f"{group_heading(group)}: compliance", (), tuple(rows), None, values=values, columns=TRIAGE)
