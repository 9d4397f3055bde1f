"""DeliverMem Table 8: models reading the whole history, beside DeliverMem (appendix A.5)."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.arms import (
    DELIVERMEM,
    DIRECT,
    NO_CONTEXT,
    NONE,
    Facts,
    Group,
    Paired,
    cell,
    group_facts,
    group_rows,
    lengths_of,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.published import published_by_length, published_grid, standing
from benchsuite_reports.table import Block, CorpusFacts, Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_t8"
TITLE = "DeliverMem Table 8: direct inference over the whole history"
CONDITIONS = (NO_CONTEXT, DIRECT, DELIVERMEM)
SHOWN = {NO_CONTEXT.name: "no context", DIRECT.name: "whole history", DELIVERMEM.name: "DeliverMem"}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 8 from outcome rows: models as rows, lengths as columns, a block per judge.

    Raises BenchError when its rows mix corpora, protocols, scorers or, within a model, models as served.
    """
    groups = group_rows(rows, CONDITIONS)
    mine = [row for group in groups for row in group.all_rows()]
    if not any(DIRECT.name in group.rows for group in groups):
        return Table(ID, TITLE, ("Model",), ())
    about, corpus = table_facts(ID, mine, facts)
    lengths = lengths_of(groups)
    runs = dict.fromkeys((group.judge, group.others) for group in groups)
    return Table(
        id=ID,
        title=TITLE,
        columns=("Model", *lengths),
        blocks=tuple(
            _block([group for group in groups if (group.judge, group.others) == run], lengths, corpus, facts)
            for run in sorted(runs)
        ),
        facts=about,
        notes=(
            "Whole history: every session with its header and its images as stored, nothing retrieved. n: questions "
            "answered in every condition by that model at that length, refusal questions included. Accuracy in "
            "percent. Constant refusal is computed: every unanswerable question right, every answerable one wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _block(groups: Sequence[Group], lengths: Sequence[str], corpus: CorpusFacts, facts: RunFacts) -> Block:
    models: dict[str, dict[str, Group]] = {}
    for group in groups:
        models.setdefault(group.model, {})[group.length] = group
    paired = {(group.model, group.length): pair(group) for group in groups}
    values: dict[str, Number] = {}
    rows: list[tuple[str, ...]] = []
    lines: list[tuple[str, str]] = []
    for model, by_length in sorted(models.items()):
        own = {length: paired[model, length] for length in by_length}
        rows.append((f"{model}: n", *(str(own[length].n) if length in own else NONE for length in lengths)))
        values.update({f"n.{model}.{length}": each.n for length, each in own.items()})
        refusing = {length: each.constant_refusal(each.kept) for length, each in own.items()}
        rows.append((f"{model}: constant refusal (by rule)", *(cell(refusing.get(length)) for length in lengths)))
        values.update({f"accuracy.{model}.constant_refusal.{length}": each for length, each in refusing.items()})
        for name, label in SHOWN.items():
            if name == NO_CONTEXT.name and not any(name in group.rows for group in by_length.values()):
                continue
            found = {length: each.accuracy(name) for length, each in own.items()}
            rows.append((f"{model}: {label}", *(cell(found.get(length)) for length in lengths)))
            values.update({f"accuracy.{model}.{name}.{length}": each for length, each in found.items()})
        merged_facts = merged({length: _facts(group, own[length], facts) for length, group in by_length.items()})
        lines += [(f"{model}, {label}" if len(models) > 1 else label, text) for label, text in merged_facts]
    standings = [standing(group, paired[group.model, group.length], corpus, facts) for group in groups]
    shown, published_facts = published_by_length(ID, standings)
    published, published_values = published_grid(shown, lengths)
    judge, others = groups[0].judge, groups[0].others
    return Block(
        heading=f"{'no judge' if judge == 'none' else f'judge {judge}'}{others}: all questions",
        facts=(*lines, *published_facts),
        rows=(*rows, *published),
        left_out=tuple(
            (f"{question} at {length} by {model}", reason)
            for (model, length), each in paired.items()
            for question, reason in each.left_out.items()
        ),
        values={**values, **published_values},
    )


def _facts(group: Group, paired: Paired, facts: RunFacts) -> Facts:
    return group_facts(ID, group, CONDITIONS, paired, facts)
