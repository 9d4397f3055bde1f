"""Accuracy against the tokens that reach the model (DeliverMem, appendix E.6)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite_reports.arms import (
    BOTH_WHOLE,
    DELIVERMEM,
    DIRECT,
    NO_CONTEXT,
    TEXT_CHANNEL,
    UNSTAMPED,
    WITHHELD,
    Group,
    Paired,
    by_key,
    group_facts,
    group_rows,
    pair,
    table_facts,
)
from benchsuite_reports.figure import (
    ACCURACY_NOTE,
    Chart,
    FigureSpec,
    Panel,
    Series,
    Strip,
    accuracy_point,
    facts_caption,
    group_caption,
    group_lines,
    refusal_level,
)
from benchsuite_reports.table import Condition, K, Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "delivermem_cost"
TITLE = "Accuracy against input tokens"
FIXED = (
    NO_CONTEXT,
    Condition("Most recent", "recency", "deployed"),
    Condition("At random", "random", "deployed"),
    WITHHELD,
    TEXT_CHANNEL,
    BOTH_WHOLE,
    UNSTAMPED,
    DELIVERMEM,
    Condition("Gold messages, padded to K", "oracle", "pixels"),
    Condition("Gold messages alone", "gold_only", "pixels"),
    DIRECT,
)
CAPTION = (
    "Points: median input tokens and accuracy over the questions answered in every condition of a panel, "
    f"{ACCURACY_NOTE} Points of nearly the same size are drawn side by side; the data has their sizes."
)
SERVED = "as the endpoint reports its prompt"
COUNTED = "text of the request by {tokenizer} and one for every 32x32 pixels; the whole history with images of {side}"


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> Chart | None:
    """From outcome rows and token counts: a strip per model and judge, a panel per length, a point per condition.

    All points of a panel are counted in one way: by tokenizer where every one of them was, else as served. Raises
    BenchError when rows mix corpora, protocols, renderers, scorers or models as served.
    """
    conditions = _conditions(rows)
    groups = [group for group in group_rows(rows, conditions) if len(group.rows) > 1]
    paired = {group.heading: pair(group) for group in groups}
    sizes = {group.heading: _sizes(group, paired[group.heading], facts) for group in groups}
    groups = [group for group in groups if len(sizes[group.heading][1]) > 1]
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return None
    about, corpus = table_facts(ID, mine, facts)
    asked = [each for each in conditions if any(each.name in group.rows for group in groups)]
    strips, captions = [], []
    for by_length in by_key(groups).values():
        panels, every = [], []
        for group in by_length.values():
            each = paired[group.heading]
            how, tokens = sizes[group.heading]
            unsized = [one.label for one in asked if one.name in group.rows and one.name not in tokens]
            of_group = group_facts(ID, group, asked, each, facts)
            every.append((group, each, (*of_group, ("input tokens", how), ("not counted", ", ".join(unsized)))))
            panels.append(_panel(group, each, asked, tokens))
        strips.append(Strip(f"{next(iter(by_length.values())).who}", tuple(panels), *group_lines(every)))
        captions += [group_caption(group, lines, each) for group, each, lines in every]
    return Chart(ID, TITLE, tuple(strips), (CAPTION, *captions, facts_caption(about)), about, corpus.bundled)


FIGURE = FigureSpec(
    ID, draw, ("memlens",), conditions=FIXED, empty="no two of its arms have token counts of a question in common"
)


def _conditions(rows: Sequence[Row]) -> tuple[Condition, ...]:
    """The fixed ones, and the deployed configuration at every K that was run."""
    sizes = sorted({k for row in rows if isinstance(k := row.get("arm.k", K), int) and k != K})
    swept = [replace(DELIVERMEM, label=f"{DELIVERMEM.label}, K = {k}", k=k) for k in sizes]
    return (*FIXED, *swept)


def _panel(group: Group, paired: Paired, asked: Sequence[Condition], tokens: dict[str, float]) -> Panel:
    series = [
        Series(each.label, (point,))
        for each in asked
        if each.name in tokens and (point := accuracy_point(tokens[each.name], paired, each.name))
    ]
    return Panel(
        heading=f"length {group.length}, n {paired.n}",
        value_axis="accuracy (%)",
        series=tuple(series),
        other_axis="input tokens (median)",
        levels=refusal_level([paired]),
        log=True,
    )


def _sizes(group: Group, paired: Paired, facts: RunFacts) -> tuple[str, dict[str, float]]:
    """How the kept questions' input was counted, and its median by condition; one without counts is not there."""
    counted = {
        name: _median([_counted(rows[q], name, facts) for q in paired.kept]) for name, rows in group.rows.items()
    }
    if facts.tokens is not None and all(size is not None for size in counted.values()):
        how = COUNTED.format(tokenizer=facts.tokens.tokenizer, side=f"at most {facts.tokens.side} pixels")
    else:
        how = SERVED
        counted = {name: _median([_served(rows[q]) for q in paired.kept]) for name, rows in group.rows.items()}
    return how, {name: size for name, size in counted.items() if size}


def _median(sizes: Sequence[float | None]) -> float | None:
    """None where a question has no count: a median over fewer would stand beside an accuracy over all."""
    known = [size for size in sizes if size is not None]
    return statistics.median(known) if known and len(known) == len(sizes) else None


def _counted(row: Row, condition: str, facts: RunFacts) -> float | None:
    if facts.tokens is None:
        return None
    if condition == DIRECT.name:
        full = facts.tokens.full.get((str(row["corpus"]), str(row.get("arm.length")), str(row["question"])))
        return None if full is None else full.tokens
    text, images = facts.tokens.delivered.get(str(row["cell"])), row["image_tokens"]
    return text + images if text is not None and isinstance(images, int) else None


def _served(row: Row) -> float | None:
    prompt = row["usage.prompt"]
    return float(prompt) if isinstance(prompt, int) else None
