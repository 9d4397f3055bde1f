"""DeliverMem Table 18: input cost and accuracy against direct inference, and what the index cost (appendix E.6).

Text is counted by a named tokenizer, an image by the rule of one token for every 32x32 pixels.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.arms import (
    DELIVERMEM,
    DIRECT,
    NO_CONTEXT,
    NONE,
    Group,
    by_key,
    cell,
    group_facts,
    group_rows,
    left_out_by_length,
    lengths_of,
    merged,
    pair,
    table_facts,
)
from benchsuite_reports.clustered import clustered_block
from benchsuite_reports.published import PublishedRow, published_by_length, published_grid, standing
from benchsuite_reports.table import (
    Block,
    CorpusFacts,
    Number,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    signed,
    wins_losses,
)

ID = "delivermem_t18"
TITLE = "DeliverMem Table 18: input cost and accuracy against direct inference"
CONDITIONS = (NO_CONTEXT, DELIVERMEM, DIRECT)
SHOWN = (("No context", NO_CONTEXT), ("DeliverMem", DELIVERMEM), ("Direct inference, same model", DIRECT))
CONTRASTS = {"DeliverMem minus direct": {DELIVERMEM.name: 1, DIRECT.name: -1}}
INDEX_COLUMNS = ("Index", "Encoder", "Images", "Vectors", "MB", "Encode s", "ms a query")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 18 from outcome rows, token counts and index costs: lengths as columns, a block per model and judge.

    Raises BenchError when its rows mix corpora, protocols, scorers or models as served.
    """
    groups = group_rows(rows, CONDITIONS)
    mine = [row for group in groups for row in group.all_rows()]
    if not any(DELIVERMEM.name in group.rows for group in groups):
        return Table(ID, TITLE, ("Measure",), ())
    about, corpus = table_facts(ID, mine, facts)
    lengths = lengths_of(groups)
    blocks = [block for by_length in by_key(groups).values() for block in _blocks(by_length, lengths, corpus, facts)]
    counts = facts.tokens
    return Table(
        id=ID,
        title=TITLE,
        columns=("Measure", *lengths),
        blocks=(*blocks, *_index_costs(facts)),
        facts=(*about, ("tokens of text", f"by {counts.tokenizer}" if counts else "not counted in this run")),
        notes=(
            "Delivered: the answering request as sent. Full context: the text of every message and the question, "
            f"images shrunk to a longest side of {counts.side if counts else 768} pixels; an image is one token for "
            "every 32x32 pixels. Medians over questions; input ratio: median full over median delivered. n: questions "
            "answered in every condition, refusal questions included. Accuracy in percent, its difference in points. "
            "W/L: questions that DeliverMem won and lost; p: exact two-sided sign test on them. Constant refusal is "
            "computed: every unanswerable question right, every answerable one wrong.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), needs_tokens=True, conditions=CONDITIONS)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Tokens of the questions of one length that could be counted: text and images delivered, and the whole."""

    n: int
    text: float
    images: float
    delivered: float
    full: float

    @property
    def ratio(self) -> float | None:
        return self.full / self.delivered if self.delivered else None


def _sizes(group: Group, facts: RunFacts) -> _Sizes | None:
    """Medians over the questions that DeliverMem answered; None where none was counted."""
    text, images, whole = [], [], []
    for question, row in group.rows.get(DELIVERMEM.name, {}).items():
        if facts.tokens is None:
            return None
        sent = facts.tokens.delivered.get(str(row["cell"]))
        full = facts.tokens.full.get((str(row["corpus"]), group.length, question))
        pixels = row["image_tokens"]
        if sent is not None and full is not None and isinstance(pixels, int):
            text.append(sent)
            images.append(pixels)
            whole.append(full.tokens)
    if not text:
        return None
    both = [a + b for a, b in zip(text, images, strict=True)]
    middle = statistics.median
    return _Sizes(len(text), middle(text), middle(images), middle(both), middle(whole))


def _blocks(
    by_length: Mapping[str, Group], lengths: Sequence[str], corpus: CorpusFacts, facts: RunFacts
) -> tuple[Block, ...]:
    paired = {length: pair(group) for length, group in by_length.items()}
    sizes = {length: found for length, group in by_length.items() if (found := _sizes(group, facts))}
    changes = {length: each.difference(DIRECT.name, DELIVERMEM.name) for length, each in paired.items()}
    values: dict[str, Number] = {}
    rows: list[tuple[str, ...]] = []

    def add(label: str, name: str, numbers: Mapping[str, float | None], text: str = "{:,.0f}") -> None:
        values.update({f"{name}.{length}": number for length, number in numbers.items()})
        texts = (NONE if (number := numbers.get(length)) is None else text.format(number) for length in lengths)
        rows.append((label, *texts))

    add("Delivered input (tokens, median)", "delivered", {each: sizes[each].delivered for each in sizes})
    add("  of it text", "delivered.text", {each: sizes[each].text for each in sizes})
    add("  of it images", "delivered.images", {each: sizes[each].images for each in sizes})
    add("Full context (tokens, median)", "full", {each: sizes[each].full for each in sizes})
    add("Input ratio", "ratio", {each: sizes[each].ratio for each in sizes}, "{:.1f}x")
    add("Questions counted", "n.tokens", {each: sizes[each].n for each in sizes})
    add("n of the accuracies", "n", {each: paired[each].n for each in paired})
    refusing = {length: each.constant_refusal(each.kept) for length, each in paired.items()}
    values.update({f"accuracy.constant_refusal.{length}": mean for length, mean in refusing.items()})
    rows.append(("Constant refusal (by rule)", *(cell(refusing.get(length)) for length in lengths)))
    for label, condition in SHOWN:
        if condition is NO_CONTEXT and not any(condition.name in group.rows for group in by_length.values()):
            continue
        means = {length: each.accuracy(condition.name) for length, each in paired.items()}
        values.update({f"accuracy.{condition.name}.{length}": mean for length, mean in means.items()})
        rows.append((label, *(cell(means.get(length)) for length in lengths)))
    known = {length: change for length, change in changes.items() if change}
    rows.append(("Accuracy difference", *(signed(known[x].estimate) if x in known else NONE for x in lengths)))
    rows.append(("W/L", *(wins_losses(known[x].wins, known[x].losses) if x in known else NONE for x in lengths)))
    rows.append(("p", *(p_value(known[x].p) if x in known else NONE for x in lengths)))
    for length, change in changes.items():
        values[f"difference.{length}"] = change.estimate if change else None
        values[f"p.{length}"] = change.p if change else None
    shown, published_facts = published_by_length(
        ID, [standing(group, paired[length], corpus, facts) for length, group in by_length.items()]
    )
    published, published_values = published_grid(shown, lengths, _text)
    about = {x: group_facts(ID, each, CONDITIONS, paired[x], facts, CONTRASTS) for x, each in by_length.items()}
    block = Block(
        heading=f"{next(iter(by_length.values())).who}: all questions",
        facts=(*merged(about), *published_facts),
        rows=(*rows, *published),
        left_out=left_out_by_length(paired),
        values={**values, **published_values},
    )
    clustered = [clustered_block(group.heading, paired[length], CONTRASTS) for length, group in by_length.items()]
    return block, *itertools.chain.from_iterable(clustered)


def _text(row: PublishedRow, length: str, value: float) -> str:
    forms = {"delivered": "{:,.0f}", "full": "{:,.0f}", "ratio": "{:.1f}x", "difference": "{:+.2f}"}
    return forms.get(row.name, "{:.2f}").format(value)


def _index_costs(facts: RunFacts) -> tuple[Block, ...]:
    if not facts.index_costs:
        return ()
    rows = []
    values: dict[str, Number] = {}
    for index, cost in sorted(facts.index_costs.items()):
        query = cost.score_ms / cost.queries if cost.queries else None
        rows.append(
            (
                index,
                cost.encoder + (f" on {cost.device}" if cost.device else ""),
                f"{cost.images:,}",
                f"{cost.images * cost.tiles:,}",
                f"{cost.bytes / 1e6:.2f}",
                f"{cost.encode_s:.1f}",
                NONE if query is None else f"{query:.2f}",
            )
        )
        numbers = {"images": cost.images, "bytes": cost.bytes, "encode_s": cost.encode_s, "ms_a_query": query}
        values.update({f"{name}.{index}": number for name, number in numbers.items()})
    return (
        Block(
            heading="image index on disk: each distinct image embedded once, over all lengths and runs",
            facts=(),
            rows=tuple(rows),
            left_out=None,
            values=values,
            columns=INDEX_COLUMNS,
        ),
    )
