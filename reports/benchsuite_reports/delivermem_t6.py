"""DeliverMem Table 6: which stage acts (appendix A.2).

One query through both pipelines of this run, stage by stage: the baseline (whole-image index, no tag, no date) and
DeliverMem. A stage *acts* where the two differ; nothing here is written down beforehand.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict

from benchsuite_reports.arms import (
    BOTH_WHOLE,
    DELIVERMEM,
    NO_CONTEXT,
    NONE,
    Group,
    Paired,
    answered,
    cell,
    certified,
    group_facts,
    group_rows,
    pair,
    table_facts,
)
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.table import (
    Block,
    Condition,
    K,
    Number,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    signed,
    wins_losses,
)

ID = "delivermem_t6"
TITLE = "DeliverMem Table 6: which stage acts"
ARMS = (BOTH_WHOLE, DELIVERMEM)
CONDITIONS = (NO_CONTEXT, *ARMS)
COLUMNS = ("Stage", "Baseline", "DeliverMem", "Differs")
BASELINES = {"constant_refusal": "Constant refusal", NO_CONTEXT.name: "No context"}
CONTRASTS = {"DeliverMem minus baseline": {DELIVERMEM.name: 1, BOTH_WHOLE.name: -1}}
STORE = "every message of the history with its images"
FUSION = (
    "image scores min-max normalised within the question, averaged with the text score; a message without an image "
    "scores 0.5"
)
INDEXES = {
    "whole": "whole image",
    "region": "whole image plus 2x2 overlapping tiles, scored by MaxSim",
}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 6 from outcome rows and the run's facts, one block per length, model and judge.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = group_rows(rows, CONDITIONS)
    mine = [row for group in groups for row in group.all_rows()]
    if not any(_complete(group) for group in groups):
        return Table(ID, TITLE, COLUMNS, ())
    about, corpus = table_facts(ID, mine, facts)
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(block for group in groups for block in _blocks(group, facts)),
        facts=about,
        notes=(
            "Stages in pipeline order, each as this run had it. n: questions answered in both arms (and without "
            "context, where that was run), refusal questions included. Accuracy in percent, its difference in points. "
            "W/L: questions that DeliverMem won and lost; p: exact two-sided sign test on them. Items delivered are "
            "medians over questions. Constant refusal is computed: every unanswerable question right, every answerable "
            "one wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _blocks(group: Group, facts: RunFacts) -> tuple[Block, ...]:
    paired = pair(group)
    before, after = BOTH_WHOLE.name, DELIVERMEM.name
    change = paired.difference(before, after)
    arms = "both arms" if _complete(group) else "the arm that was run"
    baselines = {"constant_refusal": paired.constant_refusal(paired.kept)}
    if NO_CONTEXT.name in group.rows:
        baselines[NO_CONTEXT.name] = paired.accuracy(NO_CONTEXT.name)
    accuracies = [paired.accuracy(name) for name in (before, after)]
    values: dict[str, Number] = {
        "n": paired.n,
        f"accuracy.{before}": accuracies[0],
        f"accuracy.{after}": accuracies[1],
        **{f"accuracy.{name}": mean for name, mean in baselines.items()},
        "difference": change.estimate if change else None,
        "wins": change.wins if change else None,
        "losses": change.losses if change else None,
        "p": change.p if change else None,
    }
    block = Block(
        heading=group.heading,
        facts=(
            ("n", f"{paired.n} questions answered in {arms}"),
            *group_facts(ID, group, CONDITIONS, paired, facts, CONTRASTS),
            *certified(paired, CONTRASTS, facts),
        ),
        rows=(
            *_stages(group, paired, facts),
            *((BASELINES[name], cell(mean), cell(mean), "") for name, mean in baselines.items()),
            ("Accuracy", *map(cell, accuracies), signed(change.estimate) if change else NONE),
            (
                "W/L, p",
                "",
                "",
                f"{wins_losses(change.wins, change.losses)}, {p_value(change.p)}" if change else NONE,
            ),
        ),
        left_out=tuple(paired.left_out.items()),
        values=values,
    )
    return block, *clustered_block(group.heading, paired, CONTRASTS)


def _complete(group: Group) -> bool:
    return all(arm.name in group.rows for arm in ARMS)


def _stages(group: Group, paired: Paired, facts: RunFacts) -> list[tuple[str, ...]]:
    text, image = (
        facts.encoders[channel].shown if channel in facts.encoders else "encoder not recorded"
        for channel in ("text", "image")
    )
    served = sorted({str(row["model_served"]) for row in group.all_rows() if row["model_served"]})
    scorer = sorted({str(row["scorer"]) for row in group.all_rows() if answered(row)})
    judge = [] if group.judge == "none" else [f"judge {facts.models.get(group.judge, group.judge)}"]
    stages: dict[str, tuple[str, ...]] = {
        "Store": (STORE, STORE),
        "Text channel": (text, text),
        "Image channel": tuple(f"{image}, {INDEXES[arm.index]}" for arm in ARMS),
        "Fusion": (FUSION, FUSION),
        "Items delivered": tuple(_items(arm, paired) for arm in ARMS),
        "Delivery": _deliveries(),
        "Answering model": (", ".join(served) or NONE,) * 2,
        "Scoring": (", ".join([*scorer, *judge]) or NONE,) * 2,
    }
    return [(stage, *each, "differs" if len(set(each)) > 1 else "") for stage, each in stages.items()]


def _items(arm: Condition, paired: Paired) -> str:
    """K, and the delivered number where that is another."""
    rows = paired.rows.get(arm.name, {})
    counts = [rows[question]["n_items"] for question in paired.kept if question in rows]
    median = statistics.median(count for count in counts if isinstance(count, int)) if counts else None
    return f"K = {K}" if median in (None, K) else f"K = {K}, delivered {median:g}"


def _deliveries() -> tuple[str, ...]:
    """Each arm's modality and its values on the delivery axes on which the arms differ; the rest is the same."""
    from benchsuite import delivery
    from benchsuite.delivery.spec import parse_delivery
    from benchsuite.registry import Registry, discover

    registry = Registry()
    discover(delivery, registry)
    values = [asdict(parse_delivery(arm.delivery, registry.deliveries)) for arm in ARMS]
    axes = [axis for axis in values[0] if axis == "modality" or len({each[axis] for each in values}) > 1]
    return tuple(
        f"{arm.delivery}: {', '.join(f'{axis} {each[axis]}' for axis in axes)}"
        for arm, each in zip(ARMS, values, strict=True)
    )
