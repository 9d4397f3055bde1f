"""DeliverMem Table 7: accuracy by question type (appendix A.4), and by task key and stratum where rows carry them.

The conditions stand on two image indexes: whole image above, region below.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from benchsuite_reports.arms import (
    BOTH_WHOLE,
    DELIVERMEM,
    NO_CONTEXT,
    NONE,
    TEXT_CHANNEL,
    UNSTAMPED,
    WITHHELD,
    Group,
    Paired,
    cell,
    group_facts,
    group_rows,
    labels_of,
    pair,
    table_facts,
)
from benchsuite_reports.published import TYPES, PublishedRow, published, published_or_reason, sources, standing
from benchsuite_reports.table import Block, CorpusFacts, Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_t7"
TITLE = "DeliverMem Table 7: accuracy by question type"
CONDITIONS = (NO_CONTEXT, WITHHELD, TEXT_CHANNEL, BOTH_WHOLE, UNSTAMPED, DELIVERMEM)
OWN = frozenset((BOTH_WHOLE.name, UNSTAMPED.name, DELIVERMEM.name))
"""The conditions without which there is nothing of this table's own."""
LABELS = {
    NO_CONTEXT.name: "No context",
    WITHHELD.name: "Default index: images withheld",
    TEXT_CHANNEL.name: "Default index: text channel",
    BOTH_WHOLE.name: "Default index: text and image channels",
    UNSTAMPED.name: "Region index: without tag or date",
    DELIVERMEM.name: "Region index: DeliverMem",
}
SHORT = {
    NO_CONTEXT.name: "no context",
    WITHHELD.name: "withheld",
    TEXT_CHANNEL.name: "text",
    BOTH_WHOLE.name: "both, whole",
    UNSTAMPED.name: "both, region",
    DELIVERMEM.name: "DeliverMem",
}


def _of_type(name: str) -> Callable[[Row], bool]:
    return lambda row: row["type"] == name


COLUMNS: Mapping[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "non-AR": lambda row: bool(row["answerable"]),
    **{short: _of_type(name) for name, short in TYPES.items()},
}
TASK, INFERRED = "task:", "task-inferred"


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 7 from outcome rows, per length, model and judge.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = group_rows(rows, CONDITIONS)
    mine = [row for group in groups for row in group.all_rows()]
    columns = ("Condition", *COLUMNS)
    if not any(OWN & group.rows.keys() for group in groups):
        return Table(ID, TITLE, columns, ())
    about, corpus = table_facts(ID, mine, facts)
    return Table(
        id=ID,
        title=TITLE,
        columns=columns,
        blocks=tuple(block for group in groups for block in _blocks(group, corpus, facts)),
        facts=about,
        notes=(
            "n: questions answered in every condition that was run, refusal questions included. Accuracy in percent. "
            "IE, MSR, TR, KU, AR: information extraction, multi-session reasoning, temporal reasoning, knowledge "
            "update, answer refusal. Default index: one vector an image, no tag, no date; the text channel reads no "
            "image index. Constant refusal is computed: every unanswerable question right, every answerable wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _blocks(group: Group, corpus: CorpusFacts, facts: RunFacts) -> list[Block]:
    paired = pair(group)
    names = [condition.name for condition in CONDITIONS if condition.name in group.rows]
    among = {column: set(paired.where(wanted)) for column, wanted in COLUMNS.items()}
    others = paired.n - sum(len(among[short]) for short in TYPES.values())
    rows, values = _grid(paired, names, among)
    shown, reason = published_or_reason(ID, standing(group, paired, corpus, facts))
    block = Block(
        heading=group.heading,
        facts=(
            ("n", f"{paired.n} questions, {len(among['non-AR'])} without refusal questions"),
            *group_facts(ID, group, CONDITIONS, paired, facts),
            *((("questions of no such type, in 'all' alone", str(others)),) if others else ()),
            *((("published figures not shown", reason),) if reason else sources(shown)),
        ),
        rows=(*rows, *_published_rows(shown)),
        left_out=tuple(paired.left_out.items()),
        notes=_sums(shown),
        values=values,
    )
    return [block, *_by_label(group, paired, names)]


def _grid(
    paired: Paired, names: Sequence[str], among: Mapping[str, Collection[str]]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Number]]:
    values: dict[str, Number] = {f"n.{column}": len(questions) for column, questions in among.items()}
    rows = [("n", *(str(len(questions)) for questions in among.values()))]
    refusing = [paired.constant_refusal(questions) for questions in among.values()]
    rows.append(("Constant refusal (by rule)", *map(cell, refusing)))
    values.update({f"accuracy.constant_refusal.{c}": each for c, each in zip(among, refusing, strict=True)})
    for name in names:
        found = {column: paired.accuracy(name, questions) for column, questions in among.items()}
        rows.append((LABELS[name], *map(cell, found.values())))
        values.update({f"accuracy.{name}.{column}": accuracy for column, accuracy in found.items()})
    return tuple(rows), values


def _published_rows(shown: Sequence[PublishedRow]) -> list[tuple[str, ...]]:
    marked = unsummed(shown)
    rows = []
    for row in shown:
        backbone = f" ({row.backbone})" if row.backbone else ""
        values = [row.values.get(column) for column in COLUMNS]
        texts = [NONE if value is None else f"{value:.2f}" for value in values]
        rows.append((f"Published: {row.system}{backbone}{' *' if row.name in marked else ''}", *texts))
    return rows


def _sums(shown: Sequence[PublishedRow]) -> tuple[str, ...]:
    systems = {row.name: row.system for row in shown}
    parts = [f"{systems[name]} ({by_type} against {overall})" for name, (by_type, overall) in unsummed(shown).items()]
    if not parts:
        return ()
    return (f"* Right answers by type do not sum to the overall figure; both stand as published: {', '.join(parts)}.",)


def unsummed(rows: Sequence[PublishedRow]) -> dict[str, tuple[int, int]]:
    """The names of rows whose types do not sum to the overall figure: right answers by type, and overall."""
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        sizes = published().types[row.provenance.labels]
        by_type = sum(round((row.values[short] or 0) * sizes[name] / 100) for name, short in TYPES.items())
        overall = round((row.values["all"] or 0) * row.provenance.n / 100)
        if by_type != overall:
            found[row.name] = by_type, overall
    return found


def _by_label(group: Group, paired: Paired, names: Sequence[str]) -> list[Block]:
    """Blocks by task key and by stratum, where the rows carry such labels."""
    keys: dict[str, dict[str, set[str]]] = {"task key": {}, "stratum": {}}
    inferred = 0
    for question in paired.kept:
        labels = labels_of(paired.question(question))
        inferred += INFERRED in labels
        for label in labels:
            if label.startswith(TASK):
                keys["task key"].setdefault(label.removeprefix(TASK), set()).add(question)
            elif label != INFERRED:
                keys["stratum"].setdefault(label, set()).add(question)
    blocks = []
    for kind, by_value in keys.items():
        if not by_value:
            continue
        values: dict[str, Number] = {}
        rows = []
        for value, questions in sorted(by_value.items()):
            found = {name: paired.accuracy(name, questions) for name in names}
            rows.append((value, str(len(questions)), *map(cell, found.values())))
            values[f"n.{value}"] = len(questions)
            values.update({f"accuracy.{name}.{value}": accuracy for name, accuracy in found.items()})
        note = f"Task keys inferred from the question, since the data has no subtype: {inferred} of {paired.n}."
        blocks.append(
            Block(
                heading=f"{group.heading}: by {kind}",
                facts=(),
                rows=tuple(rows),
                left_out=None,
                notes=(note,) if kind == "task key" and inferred else (),
                values=values,
                columns=(kind.capitalize(), "n", *(SHORT[name] for name in names)),
            )
        )
    return blocks
