"""DeliverMem appendix E.6: what the delivered request is made of, text and images, as the history grows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.arms import (
    DELIVERMEM,
    NONE,
    TEXT_CHANNEL,
    Facts,
    Group,
    answered,
    by_key,
    group_rows,
    lengths_of,
    merged,
    only,
    table_facts,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.table import EMBEDDED_READER, Block, Condition, Number, Row, RunFacts, Table, TableSpec, percent

ID = "delivermem_e6"
TITLE = "DeliverMem E.6: input cost by composition"
ORACLE = Condition("Gold messages", "oracle", "pixels")
SHOWN = {
    DELIVERMEM: "DeliverMem",
    TEXT_CHANNEL: "Text channel",
    ORACLE: "Gold messages",
}


@dataclass(frozen=True, slots=True)
class _Sent:
    """An answering request: its text and image tokens, and its images."""

    text: int
    visual: int
    images: int

    @property
    def tokens(self) -> int:
        return self.text + self.visual

    @property
    def share(self) -> float:
        return self.visual / self.tokens if self.tokens else 0.0


MEASURES: Mapping[str, tuple[str, Callable[[_Sent], float]]] = {
    "tokens": ("tokens", lambda sent: sent.tokens),
    "text": ("text tokens", lambda sent: sent.text),
    "visual": ("image tokens", lambda sent: sent.visual),
    "share": ("image share in %", lambda sent: sent.share),
    "images": ("images", lambda sent: sent.images),
}


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Medians by length from outcome rows and token counts, a block per model and judge.

    Raises BenchError when its rows mix corpora, protocols, renderers or, within a model, models as served.
    """
    groups = group_rows(rows, tuple(SHOWN))
    every = by_key(groups)
    kept = {key: found for key, found in every.items() if any(DELIVERMEM.name in each.rows for each in found.values())}
    groups = [group for by_length in kept.values() for group in by_length.values()]
    mine = [row for group in groups for row in group.all_rows()]
    lengths = lengths_of(groups)
    columns = ("Median over questions", *lengths, *([f"{lengths[0]} to {lengths[-1]}"] if len(lengths) > 1 else []))
    if not mine:
        return Table(ID, TITLE, columns, ())
    about, corpus = table_facts(ID, mine, facts)
    counts = facts.tokens
    return Table(
        id=ID,
        title=TITLE,
        columns=columns,
        blocks=tuple(_block(by_length, lengths, facts) for by_length in kept.values()),
        facts=(
            ("base condition", base_of(ID)),
            *about,
            ("tokens of text", f"by {counts.tokenizer}" if counts else "not counted in this run"),
        ),
        notes=(
            "The answering request as sent: its text by the tokenizer, an image as one token for every 32x32 pixels. "
            "A condition's medians are over the questions that were counted at each of its lengths, so that its "
            "lengths compare; the image share is the median of each question's. The last column is the change from "
            "the shortest length to the longest, of the share in points. Gold messages are padded to as many items.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), needs_tokens=True, conditions=tuple(SHOWN))


def _block(by_length: Mapping[str, Group], lengths: Sequence[str], facts: RunFacts) -> Block:
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    left_out: dict[str, str] = {}
    for condition, label in SHOWN.items():
        asked_at = {x: group.rows[condition.name] for x, group in by_length.items() if condition.name in group.rows}
        sent = {x: _sent(questions, facts) for x, questions in asked_at.items()}
        if not sent:
            continue
        asked = {question for questions in asked_at.values() for question in questions}
        kept = sorted(question for question in asked if all(question in each for each in sent.values()))
        left_out |= {
            f"{question} in {condition.name}": f"not counted at {', '.join(x for x in sent if question not in sent[x])}"
            for question in sorted(asked - set(kept))
        }
        more = [""] if len(lengths) > 1 else []
        rows.append((f"{label}: questions", *(str(len(kept)) if x in sent else NONE for x in lengths), *more))
        values[f"n.{condition.name}"] = len(kept)
        for name, (what, of) in MEASURES.items():
            found = {x: statistics.median(of(each[q]) for q in kept) for x, each in sent.items()} if kept else {}
            values |= {f"{name}.{condition.name}.{x}": median for x, median in found.items()}
            texts = [NONE if x not in found else _text(name, found[x]) for x in lengths]
            if more:
                texts.append(_change(name, found.get(lengths[0]), found.get(lengths[-1])))
            rows.append((f"  {what}", *texts))
    return Block(
        heading=next(iter(by_length.values())).who,
        facts=merged({length: _facts(group, facts) for length, group in by_length.items()}),
        rows=tuple(rows),
        left_out=tuple(left_out.items()),
        values=values,
    )


def _sent(rows: Mapping[str, Row], facts: RunFacts) -> dict[str, _Sent]:
    """The requests of a condition that were counted, by question."""
    found = {}
    for question, row in rows.items():
        text = facts.tokens.delivered.get(str(row["cell"])) if facts.tokens else None
        visual, images = row["image_tokens"], row["n_images"]
        if answered(row) and text is not None and isinstance(visual, int) and isinstance(images, int):
            found[question] = _Sent(text, visual, images)
    return found


def _text(name: str, median: float) -> str:
    return percent(median) if name == "share" else f"{median:g}" if name == "images" else f"{median:,.0f}"


def _change(name: str, first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return NONE
    if name == "share":
        return f"{100 * (last - first):+.2f}"
    return f"{100 * (last - first) / first:+.0f}%" if first else NONE


def _facts(group: Group, facts: RunFacts) -> Facts:
    rows = group.all_rows()
    served = only(ID, "models as served", [row for row in rows if row["model_served"]], "model_served")
    label = f" ({EMBEDDED_READER})" if group.model in facts.embedded_models else ""
    missing = [condition.name for condition in SHOWN if condition.name not in group.rows]
    gone = sum(n for row in rows if isinstance(n := row["n_missing"], int))
    return (
        *((("missing arms", ", ".join(missing)),) if missing else ()),
        ("model as served", served + label),
        ("errors", str(sum(not answered(row) for row in rows))),
        ("missing images, which cost nothing", str(gone)),
    )
