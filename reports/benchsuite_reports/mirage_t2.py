"""MIRAGE Table 2: what changes between states under C0 (section 4.1: DS, Delta_comp, Ret, MI, OG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchsuite.stats.mirage import delta_comp, depth_sensitivity, retention
from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import (
    D0,
    D80K,
    DASH,
    PAPER_STATES,
    RUNS,
    S2,
    Agent,
    agents,
    made,
    mean,
    models_block,
    printed,
    rate,
    together,
)
from benchsuite_reports.mirage_measure import over_runs
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t2"
TITLE = "MIRAGE Table 2: indicators across states under C0"
COLUMNS = ("Model", "DS", "Delta_comp", "Ret", "MI_d80k")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows, a block per length with a row per model. Raises BenchError when its rows mix corpora,
    protocols, renderers, scorers or models as served."""
    groups = together([agent for agent in agents(rows) if len(agent.states) > 1], "model")
    return made(
        (ID, TITLE, COLUMNS),
        [agent for group in groups for agent in group],
        (_block(group, facts) for group in groups),
        facts,
        (
            f"DS: the share of GC at {D0} that is lost at {D80K}; Ret: of the questions grounded at {D0}, those still "
            f"grounded at {D80K}; MI_d80k: MI at {D80K}, over all recorded answerable calls; all three in percent. "
            f"OG is printed at {', '.join(PAPER_STATES)} where all of these were run, and else at each state. "
            f"Delta_comp: GC at {S2} less GC at {D80K}; OG: VC less GC over the parsed answerable calls, whatever was "
            f"judged; both as proportions. {RUNS} DS and Delta_comp are of the mean rates.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no model was asked at two states under C0")


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """An agent's figures across states; None where ``why`` says by name that one is not defined.

    ``ds`` is in percent, the others are fractions.
    """

    ds: float | None
    delta: float | None
    ret: float | None
    mi_d80k: float | None
    og: dict[str, float | None]
    why: dict[str, str] = field(default_factory=dict)


def diagnostics(agent: Agent) -> Diagnostics:
    gc = {state: over_runs(agent, state, "gc") for state in agent.states}
    early, deep, after = gc.get(D0), gc.get(D80K), gc.get(S2)
    pairs = list(zip(agent.runs(D0), agent.runs(D80K), strict=False))
    found = Diagnostics(
        ds=depth_sensitivity(early, deep),
        delta=delta_comp(after, deep),
        ret=mean(retention(first, later).value for first, later in pairs),
        mi_d80k=over_runs(agent, D80K, "mi"),
        og={state: over_runs(agent, state, "og") for state in agent.states},
    )
    needs = {"DS": (D0, D80K), "Ret": (D0, D80K), "Delta_comp": (D80K, S2), "MI_d80k": (D80K,)}
    for name, value in (("DS", found.ds), ("Ret", found.ret), ("Delta_comp", found.delta), ("MI_d80k", found.mi_d80k)):
        if value is None:
            found.why[name] = _reason(agent, gc, needs[name])
    return found


def _reason(agent: Agent, gc: dict[str, float | None], states: Sequence[str]) -> str:
    absent = [state for state in states if state not in agent.states]
    if absent:
        return f"{' and '.join(absent)} {'was' if len(absent) == 1 else 'were'} not run"
    empty = [state for state in states if gc[state] is None]
    if empty:
        return f"no answerable call parsed at {' and '.join(empty)}"
    return f"GC at {D0} is 0" if not gc[D0] else "no question was recorded in both states"


def percent_text(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}"


def _block(group: Sequence[Agent], facts: RunFacts) -> Block:
    states = tuple(dict.fromkeys(state for agent in group for state in agent.states))
    shown = printed(states)
    rows, notes = [], []
    values = dict[str, Number]()
    for agent in group:
        found = diagnostics(agent)
        rows.append(
            (
                agent.model,
                percent_text(found.ds),
                DASH if found.delta is None else f"{found.delta:+.2f}",
                DASH if found.ret is None else rate(found.ret),
                DASH if found.mi_d80k is None else rate(found.mi_d80k),
                *(NONE if (og := found.og.get(state)) is None else f"{og:.2f}" for state in shown),
            )
        )
        notes += [f"{agent.model}, {name}: {why}." for name, why in found.why.items()]
        numbers = {"ds": found.ds, "delta_comp": found.delta, "ret": found.ret, "mi_d80k": found.mi_d80k}
        values.update({f"{name}.{agent.model}": value for name, value in numbers.items()})
        values.update({f"og.{agent.model}.{state}": value for state, value in found.og.items()})
    return models_block(ID, group, facts, rows, values, notes, (*COLUMNS, *(f"OG {state}" for state in shown)))
