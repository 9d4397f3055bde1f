"""DeliverMem Table 15: delivery and retrieval on several models, and what each declines to answer (appendix E.1).

Delivery is the gold messages with pixels minus without, retrieval the gold messages minus the text channel, both with
pixels; their difference is a paired contrast of its own, A(text, pixels) - A(gold, withheld).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchsuite_reports.arms import (
    BOTH_WHOLE,
    NONE,
    TEXT_CHANNEL,
    Facts,
    Group,
    Paired,
    cell,
    group_facts,
    group_rows,
    merged,
    pair,
    score_of,
    table_facts,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.certified import certify_pairs
from benchsuite_reports.effects import (
    COLUMNS,
    NOTE,
    Line,
    answerable,
    certificate_notes,
    clustered_effects,
    difference_bounds,
    effect_rows,
    runs_of,
)
from benchsuite_reports.table import Block, Condition, Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_t15"
TITLE = "DeliverMem Table 15: delivery and retrieval by model"
ORACLE = Condition("Gold messages", "oracle", "pixels")
ORACLE_WITHHELD = Condition("Gold messages, images withheld", "oracle", "noimg")
GOLD_ALONE = Condition("Gold messages alone", "gold_only", "pixels")
QUANTITIES = (
    Line("Delivery", ORACLE_WITHHELD, ORACLE, name="delivery"),
    Line("Retrieval", TEXT_CHANNEL, ORACLE, name="retrieval"),
    Line("Gap", ORACLE_WITHHELD, TEXT_CHANNEL, name="gap"),
)
ABSTAINING = {
    ORACLE.name: "gold messages",
    GOLD_ALONE.name: "gold messages alone",
    TEXT_CHANNEL.name: "text channel",
    BOTH_WHOLE.name: "both channels, whole image",
}
CROSSED = (BOTH_WHOLE.name, TEXT_CHANNEL.name)
"""The condition on which models are held against each other: the first that both were asked."""
CONDITIONS = (ORACLE, ORACLE_WITHHELD, TEXT_CHANNEL, GOLD_ALONE, BOTH_WHOLE)
ABSTENTION_COLUMNS = ("Abstention", "n", "declined", "% of n", "accuracy", "accuracy on attempted")
CROSS_COLUMNS = ("Declines / attempts", "n", "questions", "right by the latter", "matched", "altered")


@dataclass(frozen=True, slots=True)
class _Side:
    """A model at one length: its rows, paired over the quantities' conditions and over those of abstention."""

    group: Group
    quantities: Paired
    abstention: Paired

    @property
    def model(self) -> str:
        return self.group.model

    @property
    def lines(self) -> list[Line]:
        """The contrasts whose two sides were run."""
        asked = self.quantities.rows
        return [
            replace(line, label=f"{self.model}: {line.label}", name=f"{line.name}.{self.model}")
            for line in QUANTITIES
            if line.a.name in asked and line.b.name in asked
        ]


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 15 from outcome rows: per length and judge a block with the models as rows, then abstention.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or, within a model, models as served.
    """
    groups = [
        group
        for group in group_rows(rows, CONDITIONS)
        if any(line.a.name in group.rows and line.b.name in group.rows for line in QUANTITIES)
    ]
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return Table(ID, TITLE, COLUMNS, ())
    about, corpus = table_facts(ID, mine, facts)
    joined: dict[tuple[str, str, str], list[_Side]] = {}
    for group in groups:
        joined.setdefault((group.length, group.judge, group.others), []).append(_side(group))
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(block for sides in joined.values() for block in _blocks(sides, facts)),
        facts=(("base condition", base_of(ID)), *about),
        notes=(
            NOTE,
            "Delivery: gold messages, pixels minus withheld. Retrieval: gold messages minus the text channel, both "
            "with pixels. Gap: delivery minus retrieval, which is the text channel with pixels minus gold messages "
            f"without. Ratio: delivery over retrieval; {NONE} where retrieval gains nothing. Absolute scores "
            "of models asked in different runs do not compare.",
            "Abstention is over answerable questions, where declining is wrong; an unparsed answer counts as attempted "
            "and not correct. In the cross-table n is the questions that both models were asked and answered or "
            "declined; matched: pairs whose requests are equal outside the model.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _side(group: Group) -> _Side:
    def over(names: Sequence[str]) -> Paired:
        some = {name: rows for name, rows in group.rows.items() if name in names}
        return pair(replace(group, rows=some), answerable)

    quantities = [each.name for line in QUANTITIES for each in (line.a, line.b)]
    return _Side(group, over(quantities), over(list(ABSTAINING)))


def _blocks(sides: Sequence[_Side], facts: RunFacts) -> list[Block]:
    first = sides[0].group
    judge = f", judge {first.judge}" if first.judge != "none" else ""
    where = f"length {first.length}{judge}{first.others}"
    blocks = [_quantities(where, sides, facts)]
    blocks += [block for side in sides for block in clustered_effects(side.group, side.quantities, side.lines)]
    return [*blocks, _abstention(where, sides), *_crossed(where, sides, facts)]


def _quantities(where: str, sides: Sequence[_Side], facts: RunFacts) -> Block:
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    notes: list[str] = []
    about: dict[str, Facts] = {}
    for side in sides:
        found = effect_rows(side.quantities, side.lines, facts, side.model)
        ratio = ratio_of(*(found.values.get(f"{name}.{side.model}") for name in ("delivery", "retrieval")))
        text = NONE if ratio is None else f"{ratio:.2f}x"
        n = str(side.quantities.n)
        rows += [*found.rows, (f"{side.model}: ratio", n, "", "", text, *[""] * (len(COLUMNS) - 5))]
        values |= {f"n.{side.model}": side.quantities.n, **found.values, f"ratio.{side.model}": ratio}
        notes += found.notes
        about[side.model] = (
            ("n", f"{side.quantities.n} answerable questions"),
            ("runs", runs_of(side.group.all_rows())),
            *group_facts(ID, side.group, CONDITIONS, side.quantities, facts),
            *difference_bounds(side.quantities, side.lines),
        )
    return Block(
        heading=where,
        facts=merged(about),
        rows=tuple(rows),
        left_out=_left_out({side.model: side.quantities for side in sides}),
        notes=tuple(notes),
        values=values,
    )


def ratio_of(delivery: Number, retrieval: Number) -> float | None:
    """Delivery over retrieval; None where one was not measured or retrieval gains nothing."""
    if not isinstance(delivery, float) or not isinstance(retrieval, float) or retrieval <= 0:
        return None
    return delivery / retrieval


def _abstention(where: str, sides: Sequence[_Side]) -> Block:
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for side in sides:
        for name, label in ABSTAINING.items():
            if name not in side.abstention.rows:
                continue
            asked = [side.abstention.rows[name][question] for question in side.abstention.kept]
            attempted = [score_of(row) for row in asked if not _declined(row)]
            declined = len(asked) - len(attempted)
            share = declined / len(asked) if asked else None
            right = sum(attempted) / len(attempted) if attempted else None
            overall = side.abstention.accuracy(name)
            rows.append(
                (f"{side.model}: {label}", str(len(asked)), str(declined), cell(share), cell(overall), cell(right))
            )
            values |= {
                f"declined.{name}.{side.model}": share,
                f"accuracy.{name}.{side.model}": overall,
                f"accuracy_attempted.{name}.{side.model}": right,
            }
    return Block(
        heading=f"{where}: abstention on answerable questions",
        facts=(),
        rows=tuple(rows),
        left_out=_left_out({side.model: side.abstention for side in sides}),
        values=values,
        columns=ABSTENTION_COLUMNS,
    )


def _crossed(where: str, sides: Sequence[_Side], facts: RunFacts) -> tuple[Block, ...]:
    """What one model declines and another attempts, both ways, for each pair of models."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    notes: list[str] = []
    for one, other in itertools.combinations(sides, 2):
        name = next((each for each in CROSSED if each in one.abstention.rows and each in other.abstention.rows), "")
        if not name:
            continue
        asked = [question for question in one.abstention.kept if question in other.abstention.kept]
        pairs = [(one.abstention.rows[name][q], other.abstention.rows[name][q]) for q in asked]
        found = certify_pairs(pairs, facts)
        legs = (NONE, NONE) if found is None else (f"{found.matched}/{found.n}", f"{found.altered}/{found.n}")
        notes += certificate_notes(f"{one.model} and {other.model}", found)
        for a, b, held in ((one, other, pairs), (other, one, [(y, x) for x, y in pairs])):
            scores = [score_of(y) for x, y in held if _declined(x) and not _declined(y)]
            right = f"{sum(scores):g}"
            label = f"{a.model} / {b.model}, {ABSTAINING[name]}"
            rows.append((label, str(len(held)), str(len(scores)), right, *legs))
            values |= {f"{a.model}.declines.{b.model}": len(scores), f"{a.model}.declines.{b.model}.right": sum(scores)}
    if not rows:
        return ()
    return (
        Block(
            heading=f"{where}: what one model declines and another attempts",
            facts=(),
            rows=tuple(rows),
            left_out=None,
            notes=tuple(notes),
            values=values,
            columns=CROSS_COLUMNS,
        ),
    )


def _declined(row: Row) -> bool:
    return row["refused"] is True


def _left_out(paired: Mapping[str, Paired]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"{question} by {model}" if len(paired) > 1 else question, reason)
        for model, each in paired.items()
        for question, reason in each.left_out.items()
    )
