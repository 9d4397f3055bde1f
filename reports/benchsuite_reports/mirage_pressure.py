"""MIRAGE: what retrieval pressure changes, Cm minus C0 at every state (section 4.2.3, Figure 6 with its tests)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchsuite_reports.certified import certify_pairs
from benchsuite_reports.effects import certificate_notes
from benchsuite_reports.mirage_base import C0, CM, RUNS, Agent, agents, left_out, made, rate, together
from benchsuite_reports.mirage_contrast import COLUMNS as PAIRED
from benchsuite_reports.mirage_contrast import NOTE, NOTHING, Change, change
from benchsuite_reports.mirage_measure import over_runs
from benchsuite_reports.mirage_routes import group_facts, group_heading, verdict
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_pressure"
TITLE = "MIRAGE: retrieval pressure, Cm minus C0"
INDICATORS = ("gc", "sc", "ac", "hr")
COLUMNS = ("State", "Indicator", C0, CM, *PAIRED)
BLANK = ""


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows of the main split, a block per length and model asked under both conditions. Raises BenchError
    when its rows mix corpora, protocols, renderers, scorers or models as served."""
    found = pressed(rows)
    return made(
        (ID, TITLE, COLUMNS),
        [agent for each in found for agent in (each.free, each.pressed)],
        (_block(each, facts) for each in found),
        facts,
        (
            f"{C0} and {CM}: rates in percent over the parsed calls of each. {NOTE} {RUNS} A state whose deltas cannot "
            "be read has none: where the model does not call tools under Cm, or too few of its calls parse.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no model was asked under both C0 and Cm at one state")


@dataclass(frozen=True, slots=True)
class Pressed:
    """One model under both conditions, and the states at which it was asked under both."""

    free: Agent
    pressed: Agent
    states: tuple[str, ...]

    def why_blank(self, state: str) -> str:
        """Why no delta of the state can be read; empty where it can."""
        return verdict(self.pressed, state)

    def change(self, state: str, name: str) -> Change | None:
        return change(self.free.runs(state), self.pressed.runs(state), name)


def pressed(rows: Sequence[Row]) -> list[Pressed]:
    """Every model that was asked under C0 and Cm at one state or more."""
    found = []
    for group in together(agents(rows, condition=None), "condition"):
        by_condition = {agent.condition: agent for agent in group}
        if C0 in by_condition and CM in by_condition:
            free, under = by_condition[C0], by_condition[CM]
            states = tuple(state for state in free.states if state in under.states)
            if states:
                found.append(Pressed(free, under, states))
    return found


def _block(pair: Pressed, facts: RunFacts) -> Block:
    values = dict[str, Number]()
    rows = []
    blank: dict[str, list[str]] = {}
    for state in pair.states:
        why = pair.why_blank(state)
        if why:
            blank.setdefault(why, []).append(state)
        for name in INDICATORS:
            rates = [over_runs(agent, state, name) for agent in (pair.free, pair.pressed)]
            found = None if why else pair.change(state, name)
            cells = tuple(BLANK for _ in PAIRED) if why else found.texts if found else NOTHING
            rows.append((state, name.upper(), *map(rate, rates), *cells))
            values.update({f"{name}.{C0}.{state}": rates[0], f"{name}.{CM}.{state}": rates[1]})
            values.update(found.numbers(f"{name}.{state}") if found else {f"{name}.{state}": None})
    both = (pair.free, pair.pressed)
    return Block(
        heading=f"{group_heading(both)}, {CM} minus {C0}",
        facts=(*group_facts(ID, both, facts), *_certificates(pair, facts)),
        rows=tuple(rows),
        left_out=tuple((f"{agent.condition}: {what}", why) for agent in both for what, why in left_out(agent)),
        notes=(
            *(f"{', '.join(states)}: deltas are blank: {why}." for why, states in blank.items()),
            *(note for _, lines in _certified(pair, facts) for note in lines),
        ),
        values=values,
    )


def _certificates(pair: Pressed, facts: RunFacts) -> tuple[tuple[str, str], ...]:
    found = [f"{state} {text}" for (state, text), _ in _certified(pair, facts)]
    return (("certificates", "; ".join(found) if found else "not certified"),)


def _certified(pair: Pressed, facts: RunFacts) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """For each state what its certificate counts, and what it says beyond that."""
    for state in pair.states:
        before = {str(row["question"]): row for row in pair.free.first(state) if row["status"] == "scored"}
        after = {str(row["question"]): row for row in pair.pressed.first(state) if row["status"] == "scored"}
        both = sorted(before.keys() & after.keys())
        found = certify_pairs([(before[question], after[question]) for question in both], facts)
        if found is not None:
            yield (
                (state, f"matched {found.matched}/{found.n}, altered {found.altered}/{found.n}"),
                certificate_notes(state, found),
            )
