"""DeliverMem Table 2: accuracy at every length of the corpus (section 6).

The rows 'images withheld' and 'text-channel retrieval' are retrieved over text alone and carry neither tag nor date:
they differ from DeliverMem in up to four variables. Refusal questions count, so the two baselines that need no
memory stand first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from benchsuite_reports.arms import (
    DELIVERMEM,
    NO_CONTEXT,
    NONE,
    TEXT_CHANNEL,
    WITHHELD,
    Facts,
    Group,
    Paired,
    by_key,
    cell,
    group_facts,
    group_rows,
    labels_of,
    left_out_by_length,
    lengths_of,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.published import PublishedRow, published_by_length, published_grid, standing
from benchsuite_reports.table import Block, CorpusFacts, Number, Row, RunFacts, Table, TableSpec, signed

ID = "delivermem_t2"
TITLE = "DeliverMem Table 2: accuracy by length"
CONDITIONS = (NO_CONTEXT, WITHHELD, TEXT_CHANNEL, DELIVERMEM)
CONSTANT_REFUSAL = "Constant refusal (by rule, no model)"
LABELS = {
    NO_CONTEXT.name: "No context (retrieval none)",
    WITHHELD.name: "Images withheld (text channel, no tag or date)",
    TEXT_CHANNEL.name: "Text-channel retrieval (no tag or date)",
    DELIVERMEM.name: "DeliverMem (both channels, tag and date)",
}
PARAPHRASE = "paraphrase"
STRATA: Mapping[str, Callable[[Row], bool]] = {
    "answerable questions only": lambda row: bool(row["answerable"]),
    "paraphrase stratum only": lambda row: PARAPHRASE in labels_of(row),
    "without the paraphrase stratum": lambda row: PARAPHRASE not in labels_of(row),
}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 2 from outcome rows: per model and judge a block of all questions, then the strata.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served.
    """
    groups = group_rows(rows, CONDITIONS)
    mine = [row for group in groups for row in group.all_rows()]
    if not any(DELIVERMEM.name in group.rows for group in groups):
        return Table(ID, TITLE, ("Condition",), ())
    about, corpus = table_facts(ID, mine, facts)
    lengths = lengths_of(groups)
    return Table(
        id=ID,
        title=TITLE,
        columns=("Condition", *lengths),
        blocks=tuple(
            block for by_length in by_key(groups).values() for block in _blocks(by_length, lengths, corpus, facts)
        ),
        facts=about,
        notes=(
            "n: questions answered in every condition that was run at that length, refusal questions included. "
            "Accuracy in percent. Images withheld and text-channel retrieval use the text channel alone, without tag "
            "or date: they differ from DeliverMem in up to four variables (channels, tag, date, and pixels where "
            "withheld). Constant refusal is computed: every unanswerable question right, every answerable one wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _blocks(
    by_length: Mapping[str, Group], lengths: Sequence[str], corpus: CorpusFacts, facts: RunFacts
) -> list[Block]:
    paired = {length: pair(group) for length, group in by_length.items()}
    names = [each.name for each in CONDITIONS if any(each.name in group.rows for group in by_length.values())]
    shown, published_facts = published_by_length(
        ID, [standing(group, paired[length], corpus, facts) for length, group in by_length.items()]
    )
    grid, values = _grid(paired, lengths, names, {length: set(each.kept) for length, each in paired.items()})
    published, published_values = published_grid(shown, lengths, _with_agent)
    margin, margin_values = _margin(published_values, paired, lengths)
    who = next(iter(by_length.values())).who
    blocks = [
        Block(
            heading=f"{who}: all questions",
            facts=(
                *merged({length: _facts(group, paired[length], facts) for length, group in by_length.items()}),
                *published_facts,
            ),
            rows=(*grid, *published, *((margin,) if published else ())),
            left_out=left_out_by_length(paired),
            values={**values, **published_values, **(margin_values if published else {})},
        )
    ]
    for heading, wanted in STRATA.items():
        among = {length: set(each.where(wanted)) for length, each in paired.items()}
        if not any(among.values()) or all(len(among[length]) == each.n for length, each in paired.items()):
            continue  # nothing of it, or nothing else
        grid, values = _grid(paired, lengths, names, among)
        blocks.append(Block(heading=f"{who}: {heading}", facts=(), rows=grid, left_out=None, values=values))
    return blocks


def _facts(group: Group, paired: Paired, facts: RunFacts) -> Facts:
    unanswerable = len(paired.where(lambda row: not row["answerable"]))
    return (
        ("n", f"{paired.n} questions, {paired.n - unanswerable} without refusal questions"),
        *group_facts(ID, group, CONDITIONS, paired, facts),
    )


def _grid(
    paired: Mapping[str, Paired], lengths: Sequence[str], names: Sequence[str], among: Mapping[str, Collection[str]]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Number]]:
    """The measured rows over some of the kept questions, by length."""
    values: dict[str, Number] = {}
    rows = [("n", *(str(len(among[length])) if length in paired else NONE for length in lengths))]
    refusing = {length: each.constant_refusal(among[length]) for length, each in paired.items()}
    rows.append((CONSTANT_REFUSAL, *(cell(refusing.get(length)) for length in lengths)))
    for length in paired:
        values[f"n.{length}"] = len(among[length])
        values[f"accuracy.constant_refusal.{length}"] = refusing[length]
    for name in names:
        found = {length: each.accuracy(name, among[length]) for length, each in paired.items()}
        rows.append((LABELS[name], *(cell(found.get(length)) for length in lengths)))
        values.update({f"accuracy.{name}.{length}": accuracy for length, accuracy in found.items()})
    return tuple(rows), values


def _with_agent(row: PublishedRow, length: str, value: float) -> str:
    return f"{value:.2f} ({row.agents[length]})" if length in row.agents else f"{value:.2f}"


def _margin(
    published: Mapping[str, Number], paired: Mapping[str, Paired], lengths: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, Number]]:
    """DeliverMem minus the best published agent, at the lengths where that is shown."""
    values: dict[str, Number] = {}
    texts = []
    for length in lengths:
        best, own = published.get(f"published.best_agent.{length}"), None
        if isinstance(best, float):
            own = paired[length].accuracy(DELIVERMEM.name)
        margin = own - best / 100 if own is not None and isinstance(best, float) else None
        values[f"margin.{length}"] = margin
        texts.append(NONE if margin is None else signed(margin))
    return ("DeliverMem minus the best published agent", *texts), values
