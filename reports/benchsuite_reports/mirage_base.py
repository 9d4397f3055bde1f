"""What the MIRAGE tables share: rows of one agent by state and run, and what a heading must say of them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.arms import NONE, Facts, answered, length_order, merged, only
from benchsuite_reports.table import EMBEDDED_READER, Block, CorpusFacts, K, Number, Row, RunFacts, Table

SUITE = "mirage"
MAIN, EXTENSION = "main", "extension"
C0, CM = "C0", "Cm"
D0, D80K, S2 = "S1-d0", "S1-d80k", "S2"
"""The states that the paper's diagnostics are defined on; names are roles, headings print the measured depths."""
PAPER_STATES = (D0, "S1-d50k", D80K, S2)
"""The states that the paper's tables print."""
DEFAULTS: Mapping[str, str | int] = {
    "recall": "intact",
    "summary": "verbatim",
    "retention": "all",
    "method": "none",
    "retrieval": "none",
    "k": K,
    "delivery": "direct",
    "judge": "none",
}
"""What a table stands on unless it is about that axis."""
DASH = "-"
PUBLISHED = (
    "No published figure stands beside these: the planted objects, the questions and the filler are this project's "
    "own, made in the paper's design, so the corpora differ."
)
DENOMINATORS = (
    "AC is over all parsed calls, SC, VC, GC and WS over the parsed answerable ones, HR over the parsed unanswerable "
    "ones, in percent; PF counts parse failures, which none of these rates has. MI is over all recorded answerable "
    "calls, a parse failure adding nothing. An error is no recorded call."
)
RUNS = (
    "With several runs, rates and counts are means over runs; an interval is that of the first run alone, never of "
    "all pooled."
)
_SAID = ("recall", "summary", "retention", "retrieval", "delivery")
_FREE = ("length", "state", "condition", "model", "repeat", "summariser")


@dataclass(frozen=True, slots=True)
class Agent:
    """The rows of one model under one condition, by state and by run (the repeat index), errors among them.

    ``varied`` are the values of the axes that the table is about, ``others`` what stands on further axes.
    """

    length: str
    model: str
    condition: str
    split: str
    summariser: str
    varied: tuple[tuple[str, str], ...]
    others: str
    rows: Mapping[str, Mapping[int, tuple[Row, ...]]]

    @property
    def who(self) -> str:
        varied = "".join(f", {axis} {value}" for axis, value in self.varied)
        return f"model {self.model}, condition {self.condition}{varied}{self.others}"

    @property
    def heading(self) -> str:
        return f"length {self.length}, {self.who}"

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(self.rows)

    def key(self, *but: str) -> tuple[str, ...]:
        """What it is, as texts, but for the named parts (``split``, ``condition``, ``varied``, ...)."""
        names = ("length", "model", "condition", "split", "summariser", "varied", "others")
        return tuple(str(getattr(self, name)) for name in names if name not in but)

    def runs(self, state: str) -> tuple[tuple[Row, ...], ...]:
        """The rows of each run at a state, the first run first; empty for a state that was not run."""
        return tuple(rows for _, rows in sorted(self.rows.get(state, {}).items()))

    def first(self, state: str) -> tuple[Row, ...]:
        """The rows of the first run at a state."""
        return next(iter(self.runs(state)), ())

    def all_rows(self) -> list[Row]:
        return [row for runs in self.rows.values() for rows in runs.values() for row in rows]


def agents(
    rows: Iterable[Row],
    *,
    condition: str | None = C0,
    split: str | None = MAIN,
    about: Collection[str] = (),
    wanted: Callable[[Row], bool] = lambda row: True,
) -> list[Agent]:
    """The suite's rows that stand on the defaults of all axes but those the table is ``about``, by all but state and
    run, shortest length first; other rows are dropped. None: every condition, every split."""
    fixed = {axis: value for axis, value in DEFAULTS.items() if axis not in about}
    known = {*DEFAULTS, *_FREE}
    found: dict[_Key, dict[str, dict[int, dict[str, Row]]]] = {}
    for row in rows:
        if row["suite"] != SUITE or any(row.get(f"arm.{axis}", value) != value for axis, value in fixed.items()):
            continue
        if condition is not None and row.get("arm.condition", C0) != condition:
            continue
        if (split is not None and row["split"] != split) or not wanted(row):
            continue
        others = sorted(axis for axis in row if axis.startswith("arm.") and axis.removeprefix("arm.") not in known)
        key = (
            axis_of(row, "length"),
            axis_of(row, "model"),
            axis_of(row, "condition", C0),
            str(row["split"]),
            axis_of(row, "summariser"),
            tuple((axis, axis_of(row, axis)) for axis in about),
            "".join(f", {axis.removeprefix('arm.')} {row[axis]}" for axis in others),
        )
        runs = found.setdefault(key, {}).setdefault(axis_of(row, "state"), {})
        runs.setdefault(run_index(row), {})[str(row["question"])] = row
    return [
        Agent(*key, rows={state: _sorted(states[state]) for state in in_order(states)})
        for key, states in sorted(found.items(), key=lambda each: (length_order(each[0][0]), each[0]))
    ]


_Key = tuple[str, str, str, str, str, tuple[tuple[str, str], ...], str]


def _sorted(runs: Mapping[int, Mapping[str, Row]]) -> dict[int, tuple[Row, ...]]:
    return {run: tuple(row for _, row in sorted(rows.items())) for run, rows in sorted(runs.items())}


def axis_of(row: Row, axis: str, missing: str = "none") -> str:
    return str(row.get(f"arm.{axis}", DEFAULTS.get(axis, missing)))


def run_index(row: Row) -> int:
    run = row.get("arm.repeat", 0)
    return run if isinstance(run, int) else 0


def number_of(row: Row, name: str) -> float | None:
    """What stands under ``scores``; None where there is nothing."""
    value = row.get(f"scores.{name}")
    return float(value) if isinstance(value, int | float) else None


def traced(agent: Agent) -> bool:
    """Whether its rows say which route their calls took."""
    return any(number_of(row, "tool") is not None for row in agent.all_rows())


def in_order(states: Mapping[str, Mapping[int, Mapping[str, Row]]]) -> list[str]:
    """States by their compactions, then by measured depth, then by name with its numbers in order."""

    def place(state: str) -> tuple[float, float, list[tuple[str, int]]]:
        rows = [row for runs in states[state].values() for row in runs.values()]
        return middle(rows, "compactions") or 0.0, middle(rows, "depth") or 0.0, natural(state)

    return sorted(states, key=place)


def printed(states: Sequence[str]) -> Sequence[str]:
    """The states that have a column of their own: the paper's where all of them were run, else all."""
    return PAPER_STATES if set(PAPER_STATES) <= set(states) else states


def natural(name: str) -> list[tuple[str, int]]:
    """So that S1-d8k stands before S1-d50k."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"(\D*)(\d*)", name)]


def middle(rows: Iterable[Row], name: str) -> float | None:
    """The median of a score over the rows that have it."""
    found = [value for row in rows if (value := number_of(row, name)) is not None]
    return statistics.median(found) if found else None


def mean(values: Iterable[float | None]) -> float | None:
    """Over runs; None where no run has a value."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def together(found: Iterable[Agent], *but: str) -> list[list[Agent]]:
    """Agents that are alike but for the named parts, in the order of their first."""
    groups: dict[tuple[str, ...], list[Agent]] = {}
    for agent in found:
        groups.setdefault(agent.key(*but), []).append(agent)
    return list(groups.values())


def by_cluster(valued: Iterable[tuple[Row, float]]) -> dict[str, list[float]]:
    """The values by the planted object that a row's question asks about."""
    found: dict[str, list[float]] = {}
    for row, value in valued:
        found.setdefault(str(row["cluster"]) or f"question {row['question']}", []).append(value)
    return found


def about_run(table: str, rows: Sequence[Row], facts: RunFacts, split: str = MAIN) -> tuple[Facts, bool]:
    """What a table says of its rows as a whole, and whether it is a pipeline check: a bundled corpus or the embedded
    reader. Raises BenchError when they mix corpora, protocols or renderers."""
    digest = only(table, "corpora", rows, "corpus")
    corpus = facts.corpora.get(digest, CorpusFacts("unknown corpus", bundled=False))
    renderers = [row for row in rows if row["renderer"]]
    return (
        ("corpus", f"{corpus.name}, digest {digest[:12]}{', bundled' if corpus.bundled else ''}"),
        *((("split", split),) if split else ()),
        ("protocol", only(table, "protocols", rows, "protocol")),
        ("renderer", only(table, "renderers", renderers, "renderer")),
        *((("run", facts.run),) if facts.run else ()),
    ), corpus.bundled or any(axis_of(row, "model") in facts.embedded_models for row in rows)


def made(
    table: tuple[str, str, tuple[str, ...]],
    found: Sequence[Agent],
    blocks: Iterable[Block],
    facts: RunFacts,
    notes: tuple[str, ...],
    split: str = MAIN,
) -> Table:
    """The table (id, title, columns) of these agents; without blocks where there is none. Raises as ``about_run``."""
    name, title, columns = table
    blocks = tuple(blocks)
    mine = [row for agent in found for row in agent.all_rows()]
    if not mine or not blocks:
        return Table(name, title, columns, ())
    about, check = about_run(name, mine, facts, split)
    return Table(name, title, columns, blocks, about, (*notes, PUBLISHED), check)


def axes_text(agent: Agent) -> str:
    """The values that an agent's rows share on the axes that decide the result."""
    about = {axis for axis, _ in agent.varied}
    said = [f"{axis} {DEFAULTS[axis]}" for axis in _SAID if axis not in about]
    return ", ".join([*said, *([f"summariser {agent.summariser}"] if agent.summariser != "none" else [])])


def agent_facts(table: str, agent: Agent, facts: RunFacts) -> Facts:
    """What a table says of an agent: axes, model, scorer, runs, depths, errors, parse failures, bounds.

    Raises BenchError when models as served or scorers are mixed.
    """
    rows = agent.all_rows()
    replied = [row for row in rows if answered(row)]
    served = only(table, "models as served", [row for row in replied if row["model_served"]], "model_served")
    label = f" ({EMBEDDED_READER})" if agent.model in facts.embedded_models else ""
    scored = [row for row in replied if row["status"] == "scored"]
    asked = {state: max(len(rows) for rows in agent.runs(state)) for state in agent.states}
    most = max(len(agent.runs(state)) for state in agent.states)
    return (
        ("axes", axes_text(agent)),
        ("model as served", served + label),
        ("scorer", only(table, "scorers", scored, "scorer")),
        ("questions asked", _shared(asked)),
        *((("runs", f"{most}: means over runs, intervals of the first"),) if most > 1 else ()),
        *depth_facts({"": agent}),
        ("errors (all runs)", _counts(agent, lambda row: not answered(row))),
        (
            "parse failures (all runs)",
            _counts(agent, lambda row: row["status"] == "unparsed"),
        ),
        *gc_bounds(agent),
    )


def shared_facts(table: str, by_name: Mapping[str, Agent], facts: RunFacts) -> Facts:
    """What a table says of several agents: a text that all share once, others by name; depths once a state where they
    are equal. Raises as ``agent_facts``."""
    depths = dict(depth_facts(by_name))
    shared = merged({name: agent_facts(table, agent, facts) for name, agent in by_name.items()})
    return tuple((label, depths.get(label, text)) for label, text in shared)


def depth_facts(by_name: Mapping[str, Agent]) -> Facts:
    """Measured depth of each state: at capture in the trunk's reference tokens, of the context that a probe sees, and
    the effective input tokens that the provider reports. What all agents that have a state share is said once."""
    longest = max(by_name.values(), key=lambda agent: len(agent.states))
    states = dict.fromkeys([*longest.states, *(state for agent in by_name.values() for state in agent.states)])
    lines = []
    for label, name in _DEPTHS.items():
        parts = [(state, _by_text(by_name, state, name)) for state in states]
        known = any(text != _NOT for _, names in parts for text in names)
        lines.append((label, "; ".join(f"{state} {_alike(names)}" for state, names in parts) if known else _NOT))
    return tuple(lines)


def _by_text(by_name: Mapping[str, Agent], state: str, name: str) -> dict[str, list[str]]:
    """What was measured at a state, with the names of the agents that have it."""
    found: dict[str, list[str]] = {}
    for who, agent in by_name.items():
        if state in agent.states:
            found.setdefault(_measured(agent, state, name), []).append(who)
    return found


def _alike(names: Mapping[str, Sequence[str]]) -> str:
    """``967``, or ``967 for verbatim, 972 for free and cited``."""
    if len(names) == 1:
        return next(iter(names))
    return ", ".join(f"{text} for {' and '.join(who)}" for text, who in names.items())


_NOT = "not reported"
_DEPTHS = {
    "depth at capture (reference tokens)": "depth",
    "active context at the probe (reference tokens)": "active",
    "compactions": "compactions",
    "EIT at capture": "eit_capture",
    "EIT at the probe": "eit_probe",
}


def _measured(agent: Agent, state: str, name: str) -> str:
    """``23,184``; the median with its range where probes differ."""
    rows = [row for run in agent.runs(state) for row in run]
    found = [value for row in rows if (value := number_of(row, name)) is not None]
    if not found:
        failed = name == "eit_capture" and any(number_of(row, "eit_capture_failed") for row in rows)
        return "the call failed" if failed else _NOT
    low, high = min(found), max(found)
    if low == high:
        return f"{low:,.0f}"
    return f"{statistics.median(found):,.0f} ({low:,.0f} to {high:,.0f})"


def gc_bounds(agent: Agent) -> Facts:
    """GC of the first run had every answerable question without a score been wrong, or right."""
    parts = []
    for state in agent.states:
        asked = [row for row in agent.first(state) if row["answerable"]]
        missing = sum(row["status"] != "scored" for row in asked)
        right = sum(number_of(row, "gc") or 0.0 for row in asked if row["status"] == "scored")
        if missing:
            parts.append(f"{state} {rate(right / len(asked))} to {rate((right + missing) / len(asked))}")
    label = "worst case bounds of GC of the first run, errors and parse failures all wrong to all right"
    return ((label, "; ".join(parts)),) if parts else ()


def models_block(
    table: str,
    group: Sequence[Agent],
    facts: RunFacts,
    rows: Sequence[tuple[str, ...]],
    values: Mapping[str, Number],
    notes: Sequence[str] = (),
    columns: tuple[str, ...] = (),
) -> Block:
    """A block with a row for each model of a group, which has one length and one condition."""
    first = group[0]
    return Block(
        heading=f"length {first.length}, condition {first.condition}{first.others}",
        facts=shared_facts(table, {agent.model: agent for agent in group}, facts),
        rows=tuple(rows),
        left_out=tuple((f"{agent.model}: {what}", why) for agent in group for what, why in left_out(agent)),
        notes=tuple(notes),
        values=values,
        columns=columns,
    )


def left_out(agent: Agent) -> tuple[tuple[str, str], ...]:
    """The questions without an answer, by state and run, with the reason."""
    return tuple(
        (f"{row['question']} at {state}" + (f" r{run}" if run else ""), f"{row['error.kind']} error")
        for state, runs in agent.rows.items()
        for run, rows in runs.items()
        for row in rows
        if not answered(row)
    )


def _counts(agent: Agent, of: Callable[[Row], bool]) -> str:
    counts = {state: sum(of(row) for rows in agent.runs(state) for row in rows) for state in agent.states}
    return ", ".join(f"{state} {count}" for state, count in counts.items() if count) or "0"


def _shared(counts: Mapping[str, int]) -> str:
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} at each state"
    return ", ".join(f"{state} {count}" for state, count in counts.items())


def rate(fraction: float | None) -> str:
    """In percent with one digit, as the paper prints it."""
    return NONE if fraction is None else f"{100 * fraction:.1f}"


def count_text(count: float | None) -> str:
    """A count, or the mean of several."""
    return NONE if count is None else f"{count:.0f}" if count == int(count) else f"{count:.1f}"


def limits(low: float, high: float) -> str:
    """``[31.9, 50.8]``, in percent."""
    return f"[{100 * low:.1f}, {100 * high:.1f}]"
