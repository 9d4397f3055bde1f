"""What stands below the 2x2 of Table 1: each of its contrasts with its power, the further conditions, the noise floor,
what withholding does to an answer, and the retrieval's own recall (DeliverMem sections 3 and 4, appendices D.2, D.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from benchsuite_reports.arms import (
    BOTH_WHOLE,
    NONE,
    TEXT_CHANNEL,
    WITHHELD,
    Group,
    Paired,
    answered,
    cell,
    group_facts,
    group_rows,
    pair,
    score_of,
)
from benchsuite_reports.effects import (
    COLUMNS,
    Line,
    answerable,
    answers_changed,
    clustered_effects,
    difference_bounds,
    effect_rows,
    runs_of,
)
from benchsuite_reports.table import Block, Condition, Number, Row, RunFacts, percent, wins_losses

ORACLE = Condition("Gold messages (oracle)", "oracle", "pixels")
ORACLE_WITHHELD = Condition("Gold messages, withheld", "oracle", "noimg")
AGAIN = replace(ORACLE, label="Gold messages, asked again", repeat=1)
GOLD_ONLY = Condition("Gold messages alone", "gold_only", "pixels")

CROSSED = (
    Line("Delta_D, gold messages", ORACLE_WITHHELD, ORACLE, name="crossed.delta_d.oracle"),
    Line("Delta_D, text channel", WITHHELD, TEXT_CHANNEL, name="crossed.delta_d.text"),
    Line("Delta_R, pixels", TEXT_CHANNEL, ORACLE, name="crossed.delta_r.pixels"),
    Line("Delta_R, withheld", WITHHELD, ORACLE_WITHHELD, name="crossed.delta_r.noimg"),
)
GAP = Line("Delta_D - Delta_R", ORACLE_WITHHELD, TEXT_CHANNEL, name="gap")
"""(A(R*,D) - A(R*,D0)) - (A(R*,D) - A(R,D)) leaves A(R,D) - A(R*,D0): the text channel with pixels against the gold
messages without."""
GAP_NOTE = "Delta_D - Delta_R is one contrast: text channel with pixels minus gold messages withheld."
FURTHER = (
    Line("gold only - oracle", ORACLE, GOLD_ONLY, name="gold_only - oracle"),
    Line("both - text channel", TEXT_CHANNEL, BOTH_WHOLE, name="both - text"),
    Line("gold only - both", BOTH_WHOLE, GOLD_ONLY, name="gold_only - both"),
)
NOISE = Line("repeat 1 - repeat 0", ORACLE, AGAIN, name="a/a")
FURTHER_CONDITIONS = (ORACLE, TEXT_CHANNEL, GOLD_ONLY, BOTH_WHOLE)
NOISE_CONDITIONS = (ORACLE, AGAIN)
RETRIEVALS = {
    "oracle": "Gold messages (oracle)",
    "text": "Text channel (text)",
    "both": "Both channels, whole image (both)",
    "gold_only": "Gold messages alone (gold_only)",
}
WITHHOLDING_COLUMNS = (
    "Withheld from",
    "n",
    "answers changed",
    "W/L",
    "W: refused",
    "W: wrong",
    "W: partly right",
    "W: unparsed",
)
RECALL_COLUMNS = ("Retrieved set", "n", "some gold", "mean share of gold", "median gold", "of it delivered")


def further_groups(rows: Sequence[Row]) -> dict[str, tuple[Group, ...]]:
    """The groups of the further conditions and of the noise floor that show a contrast, by heading."""
    found: dict[str, tuple[Group, ...]] = {}
    for conditions, lines in ((FURTHER_CONDITIONS, FURTHER), (NOISE_CONDITIONS, (NOISE,))):
        for group in group_rows(rows, conditions):
            if _shown(lines, group.rows):
                found[group.heading] = (*found.get(group.heading, ()), group)
    return found


def decomposition(table: str, group: Group, paired: Paired, further: Sequence[Group], facts: RunFacts) -> list[Block]:
    """The blocks below a group's 2x2, whose answerable questions are ``paired``; ``further`` are its groups of
    ``further_groups``."""
    crossed = _shown((*CROSSED, GAP), paired.rows)
    blocks = [_crossed(group, paired, crossed, facts)] if crossed else []
    clustered = list(clustered_effects(group, paired, [line for line in crossed if line is GAP]))
    sets = dict(paired.rows)
    for each in further:
        noise = AGAIN.name in each.rows
        own = pair(each, answerable)
        blocks.append(_further(table, each, own, noise, facts))
        if not noise:
            clustered += clustered_effects(each, own, _shown(FURTHER, own.rows))
            sets.update({name: rows for name, rows in own.rows.items() if name not in sets})
    blocks += [each for each in (_withholding(group, paired), _recall(group, paired, sets)) if each.rows]
    if clustered:
        rows = tuple(row for block in clustered for row in block.rows)
        values = {key: number for block in clustered for key, number in block.values.items()}
        heading = f"{group.heading}: further contrasts by cluster"
        blocks.append(replace(clustered[0], heading=heading, rows=rows, values=values))
    return blocks


def _shown(lines: Sequence[Line], conditions: Mapping[str, object]) -> list[Line]:
    return [line for line in lines if line.a.name in conditions and line.b.name in conditions]


def _crossed(group: Group, paired: Paired, lines: Sequence[Line], facts: RunFacts) -> Block:
    found = effect_rows(paired, lines, facts, group.model)
    return Block(
        heading=f"{group.heading}: contrasts of the 2x2 one by one",
        facts=(
            ("runs", runs_of(group.all_rows())),
            *difference_bounds(paired, [line for line in lines if line is GAP]),
        ),
        rows=found.rows,
        left_out=None,
        notes=(*found.notes, *((GAP_NOTE,) if GAP in lines else ())),
        values=found.values,
        columns=COLUMNS,
    )


def _further(table: str, group: Group, paired: Paired, noise: bool, facts: RunFacts) -> Block:
    """The further contrasts over the questions that all of their conditions answered, or the noise floor."""
    lines, conditions = ((NOISE,), NOISE_CONDITIONS) if noise else (FURTHER, FURTHER_CONDITIONS)
    shown = _shown(lines, group.rows)
    found = effect_rows(paired, shown, facts, group.model)
    return Block(
        heading=f"{group.heading}: {'noise floor (A/A)' if noise else 'further contrasts'}",
        facts=(
            ("n", f"{paired.n} answerable questions answered in the {len(group.rows)} conditions of this block"),
            ("runs", runs_of(group.all_rows())),
            *group_facts(table, group, conditions, paired, facts),
            *difference_bounds(paired, shown),
        ),
        rows=found.rows,
        left_out=tuple(paired.left_out.items()),
        notes=(*found.notes, _noise_note(paired) if noise else FURTHER_NOTE),
        values={"n": paired.n, **found.values},
        columns=COLUMNS,
    )


FURTHER_NOTE = (
    "All with pixels, no tag, no date. gold only - oracle removes every distractor; both - text channel adds the image "
    "channel (whole-image index); gold only - both is the headroom that retrieval has left."
)


def _noise_note(paired: Paired) -> str:
    effect = paired.difference(ORACLE.name, AGAIN.name)
    flips = effect.wins + effect.losses if effect else 0
    changed = answers_changed(paired, NOISE, paired.kept)
    return (
        f"The gold messages with pixels, asked twice: {_of(flips, paired.n)} of the scores flip and "
        f"{_of(changed, paired.n)} of the answers change by noise alone."
    )


def _of(count: int, n: int) -> str:
    return f"{count}/{n}" + (f" ({percent(count / n)}%)" if n else "")


OUTCOMES: Mapping[str, Callable[[Row], bool]] = {
    "refused": lambda row: row["refused"] is True,
    "unparsed": lambda row: row["status"] == "unparsed",
    "partly_right": lambda row: score_of(row) > 0,
    "wrong": lambda row: True,
}
"""What an answer without pixels is, the first that holds."""


def _withholding(group: Group, paired: Paired) -> Block:
    """Each question that withholding breaks by what the model says without the pixels."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for retrieval, line in zip(("oracle", "text"), CROSSED, strict=False):
        effect = paired.difference(line.a.name, line.b.name)
        if effect is None:
            continue
        with_pixels, without = paired.rows[line.b.name], paired.rows[line.a.name]
        broken = [without[q] for q in paired.kept if score_of(with_pixels[q]) > score_of(without[q])]
        kinds = [next(kind for kind, holds in OUTCOMES.items() if holds(row)) for row in broken]
        counts = {kind: kinds.count(kind) for kind in ("refused", "wrong", "partly_right", "unparsed")}
        changed = answers_changed(paired, line, paired.kept)
        rows.append(
            (
                RETRIEVALS[retrieval],
                str(effect.n),
                f"{changed} ({percent(changed / effect.n)}%)",
                wins_losses(effect.wins, effect.losses),
                *map(str, counts.values()),
            )
        )
        values.update({f"broken.{retrieval}.{kind}": count for kind, count in counts.items()})
        values.update({f"broken.{retrieval}": len(broken), f"changed.{retrieval}": changed})
    return Block(
        heading=f"{group.heading}: what withholding does to the answers",
        facts=(),
        rows=tuple(rows),
        left_out=None,
        notes=(
            "W: questions with a higher score with pixels than without, as in Delta_D, by what the model says without "
            "them: it refuses, it answers wrong with confidence, or its answer is partly right or cannot be parsed.",
        ),
        values=values,
        columns=WITHHOLDING_COLUMNS,
    )


def _recall(group: Group, paired: Paired, sets: Mapping[str, Mapping[str, Row]]) -> Block:
    """How much of the gold each retrieval delivered, over the questions of the 2x2 that name their gold messages."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for retrieval, label in RETRIEVALS.items():
        names = [name for name in sets if name.split("-")[0] == retrieval]
        if not names:
            continue
        mine = sets[names[0]]
        known = [mine[question] for question in paired.kept if question in mine and answered(mine[question])]
        counts = [(_count(row, "n_gold"), _count(row, "n_gold_delivered")) for row in known]
        counts = [each for each in counts if each[0]]
        some = sum(delivered > 0 for _, delivered in counts) / len(counts) if counts else None
        share = fmean(delivered / gold for gold, delivered in counts) if counts else None
        needed = median(gold for gold, _ in counts) if counts else None
        found = median(delivered for _, delivered in counts) if counts else None
        medians = (NONE if number is None else f"{number:g}" for number in (needed, found))
        rows.append((label, str(len(counts)), cell(some), cell(share), *medians))
        values[f"recall.{retrieval}.n"] = len(counts)
        values.update({f"recall.{retrieval}.some": some, f"recall.{retrieval}.share": share})
        values.update({f"recall.{retrieval}.median_gold": needed, f"recall.{retrieval}.median_delivered": found})
    return Block(
        heading=f"{group.heading}: recall of the retrieval itself",
        facts=(),
        rows=tuple(rows),
        left_out=None,
        notes=(
            "n: questions of the 2x2 that name gold messages. Some gold: questions to which at least one of them was "
            "delivered, in percent; mean share: of a question's gold messages, in percent; medians are messages.",
        ),
        values=values,
        columns=RECALL_COLUMNS,
    )


def _count(row: Row, field: str) -> int:
    count = row[field]
    return count if isinstance(count, int) else 0
