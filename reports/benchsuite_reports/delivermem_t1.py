"""DeliverMem Table 1: delivery against retrieval, the 2x2 of retrieved set and pixels (section 3, appendix C.1).

Rows are what is retrieved (gold messages; the text channel), columns whether the items keep their pixels.
Delta_D is pixels minus withheld in a row, Delta_R gold minus text channel in a column, the interaction is
Delta_D of the gold row minus Delta_D of the text row, unhalved. Base condition: K = 10, no tag, no date.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.paired import Effect, two_by_two
from benchsuite_reports.arms import NONE, Group, Paired, answered, cell, group_facts, group_rows, pair, table_facts
from benchsuite_reports.bases import base_of
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.delivermem_decomposition import decomposition, further_groups
from benchsuite_reports.effects import NOTE
from benchsuite_reports.table import (
    Block,
    Condition,
    Number,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    signed,
    wins_losses,
)

ID = "delivermem_t1"
TITLE = "DeliverMem Table 1: delivery against retrieval"
RETRIEVALS = {"oracle": "Gold messages (oracle)", "text": "Text channel (text)"}
DELIVERIES = {"pixels": "Pixels delivered", "noimg": "Pixels withheld"}
ARMS = tuple(
    Condition(f"{retrieval}-{delivery}", retrieval, delivery) for retrieval in RETRIEVALS for delivery in DELIVERIES
)
COLUMNS = ("Retrieved set", *DELIVERIES.values(), "Delta_D", "W/L", "p")
CONTRASTS = {
    **{f"Delta_D {r}": {f"{r}-pixels": 1, f"{r}-noimg": -1} for r in RETRIEVALS},
    **{f"Delta_R {d}": {f"oracle-{d}": 1, f"text-{d}": -1} for d in DELIVERIES},
    "interaction": {"oracle-pixels": 1, "oracle-noimg": -1, "text-pixels": -1, "text-noimg": 1},
}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 1 from outcome rows, one block per length, model and judge; rows of other arms are not its own.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = group_rows(rows, ARMS)
    further = further_groups(rows)
    shown = [each for group in groups for each in (group, *further.get(group.heading, ()))]
    mine = [row for group in shown for row in group.all_rows()]
    if not mine:
        return Table(ID, TITLE, COLUMNS, ())
    about, corpus = table_facts(ID, mine, facts)
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(block for group in groups for block in _blocks(group, further.get(group.heading, ()), facts)),
        facts=(("base condition", base_of(ID)), *about),
        notes=(
            "n: answerable questions answered in all arms shown. Accuracy in percent, differences in points. W/L: "
            "questions won and lost; p: exact two-sided sign test on them. The interaction is the unhalved "
            "difference of differences; its estimate sums magnitudes, its W/L counts signs.",
            f"Contrasts one by one: {NOTE}",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=ARMS)


def _blocks(group: Group, further: Sequence[Group], facts: RunFacts) -> tuple[Block, ...]:
    paired = pair(group, lambda row: bool(row["answerable"]))
    grid, values = _grid(paired)
    block = Block(
        heading=group.heading,
        facts=(
            ("n", f"{paired.n} answerable questions answered in {_arms_word(len(group.rows))}"),
            *group_facts(ID, group, ARMS, paired, facts, CONTRASTS),
        ),
        rows=grid,
        left_out=tuple(paired.left_out.items()),
        notes=_refusals(group),
        values=values,
    )
    return (
        block,
        *clustered_block(group.heading, paired, CONTRASTS),
        *decomposition(ID, group, paired, further, facts),
    )


def _arms_word(count: int) -> str:
    return "all four arms" if count == len(ARMS) else f"the {count} of {len(ARMS)} arms that were run"


def _refusals(group: Group) -> tuple[str, ...]:
    """The refusal rate on unanswerable questions, where such rows were run; it is not part of Table 1's n."""
    parts = []
    for arm in ARMS:
        rows = [row for row in group.rows.get(arm.name, {}).values() if not row["answerable"] and answered(row)]
        if rows:
            parts.append(f"{arm.name} {sum(row['refused'] is True for row in rows)}/{len(rows)}")
    return (f"Refused among answered unanswerable questions (not in n): {', '.join(parts)}.",) if parts else ()


def _grid(paired: Paired) -> tuple[tuple[tuple[str, ...], ...], dict[str, Number]]:
    """The printed rows, and the numbers behind them by name."""
    values: dict[str, Number] = {"n": paired.n}
    rows = []
    for retrieval, label in RETRIEVALS.items():
        accuracies = []
        for delivery in DELIVERIES:
            mean = paired.accuracy(f"{retrieval}-{delivery}")
            values[f"accuracy.{retrieval}.{delivery}"] = mean
            accuracies.append(cell(mean))
        delta = paired.difference(f"{retrieval}-noimg", f"{retrieval}-pixels")
        values.update(_numbers(f"delta_d.{retrieval}", delta))
        rows.append((label, *accuracies, *_estimate_cells(delta)))
    columns = {delivery: paired.difference(f"text-{delivery}", f"oracle-{delivery}") for delivery in DELIVERIES}
    for delivery, delta in columns.items():
        values.update(_numbers(f"delta_r.{delivery}", delta))
    interaction = _interaction(paired)
    values.update(_numbers("interaction", interaction))
    estimate, counts, p = _estimate_cells(interaction)
    rows.append(
        ("Delta_R", *(_estimate_cells(delta)[0] for delta in columns.values()), f"interaction {estimate}", counts, p)
    )
    rows.append(
        (
            "Delta_R W/L, p",
            *(", ".join(_estimate_cells(delta)[1:]) if delta else NONE for delta in columns.values()),
            "",
            "",
            "",
        )
    )
    return tuple(rows), values


def _interaction(paired: Paired) -> Effect | None:
    """None when an arm is missing or no question is kept."""
    scores = [paired.scores(name) for name in ("text-noimg", "text-pixels", "oracle-noimg", "oracle-pixels")]
    known = [each for each in scores if each]
    return two_by_two(*known).interaction if len(known) == len(scores) else None


def _estimate_cells(found: Effect | None) -> tuple[str, str, str]:
    if found is None:
        return NONE, NONE, NONE
    return signed(found.estimate), wins_losses(found.wins, found.losses), p_value(found.p)


def _numbers(name: str, found: Effect | None) -> dict[str, Number]:
    if found is None:
        return {name: None}
    return {name: found.estimate, f"{name}.wins": found.wins, f"{name}.losses": found.losses, f"{name}.p": found.p}
