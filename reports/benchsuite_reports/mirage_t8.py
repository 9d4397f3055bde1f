"""MIRAGE Table 8: what share of a context window the deep state is, with DS and Ret (appendix A.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchsuite_reports.mirage_base import (
    D80K,
    DASH,
    RUNS,
    Agent,
    agents,
    made,
    middle,
    models_block,
    rate,
    together,
)
from benchsuite_reports.mirage_t2 import diagnostics, percent_text
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_t8"
TITLE = "MIRAGE Table 8: depth as a share of the context window, under C0"
COLUMNS = ("Backbone", "Window", "d80k", "of window", "counted by", "DS", "Ret")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows and the context windows of model entries, a block per length with a row per model. Raises
    BenchError when its rows mix corpora, protocols, renderers, scorers or models as served."""
    groups = together([agent for agent in agents(rows) if D80K in agent.states], "model")
    return made(
        (ID, TITLE, COLUMNS),
        [agent for group in groups for agent in group],
        (_block(group, facts.windows, facts) for group in groups),
        facts,
        (
            f"Window: the context window of the model's entry, in tokens; {DASH} where it is not known. d80k: depth of "
            f"{D80K}, in the tokens that the provider reports at the probe (EIT; the median), else in the trunk's "
            f"reference tokens, which are no tokens of the model's own. DS and Ret in percent, as in Table 2. {RUNS}",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty=f"no model was asked at {D80K} under C0")


def _block(group: Sequence[Agent], known: Mapping[str, int], facts: RunFacts) -> Block:
    rows, notes = [], []
    values = dict[str, Number]()
    for agent in group:
        deep = [row for run in agent.runs(D80K) for row in run]
        reported, reference = middle(deep, "eit_probe"), middle(deep, "depth")
        depth, by = (reported, "provider") if reported is not None else (reference, "reference")
        window = known.get(agent.model)
        share = depth / window if depth is not None and window else None
        found = diagnostics(agent)
        rows.append(
            (
                agent.model,
                DASH if window is None else f"{window:,}",
                DASH if depth is None else f"{depth:,.0f}",
                DASH if share is None else f"{100 * share:.0f}%",
                DASH if depth is None else by,
                percent_text(found.ds),
                DASH if found.ret is None else rate(found.ret),
            )
        )
        notes += [f"{agent.model}, {name}: {why}." for name, why in found.why.items() if name in ("DS", "Ret")]
        numbers = {"window": window, "d80k": depth, "share": share, "ds": found.ds, "ret": found.ret}
        values.update({f"{name}.{agent.model}": value for name, value in numbers.items()})
    return models_block(ID, group, facts, rows, values, notes)
