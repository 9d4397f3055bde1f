"""DeliverMem appendix E.1: delivery, retrieval and their ratio under every metric that the rows carry."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite.stats.contrast import JUDGE, SCORE, analyse
from benchsuite_reports.arms import (
    NONE,
    TEXT_CHANNEL,
    Group,
    Paired,
    cell,
    certified,
    group_facts,
    group_rows,
    pair,
    table_facts,
)
from benchsuite_reports.bases import base_of
from benchsuite_reports.clustered import interval_text
from benchsuite_reports.delivermem_t15 import ORACLE, ORACLE_WITHHELD, QUANTITIES, ratio_of
from benchsuite_reports.effects import Line, answerable, power_text, runs_of
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec, p_value, signed, wins_losses

ID = "delivermem_metrics"
TITLE = "DeliverMem E.1: delivery and retrieval by metric"
CONDITIONS = (ORACLE, ORACLE_WITHHELD, TEXT_CHANNEL)
LINES = QUANTITIES[:2]
NAMES = {"subem": "SubEM", "f1": "F1", JUDGE: "judge", SCORE: "score"}
"""Metrics that have a name and a place; others follow under their own."""
BY_RULE = "refusal"
"""The score of a question without an answer, none of the answerable ones."""
COLUMNS = ("Metric", "n", "a", "b", "difference", "W/L", "p", "95% by cluster", "cluster p", "if null")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Both quantities under each metric, a block per length, model and judge.

    Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served, and when a scored
    row lacks a metric that others have.
    """
    groups = [group for group in group_rows(rows, CONDITIONS) if _lines(group)]
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return Table(ID, TITLE, COLUMNS, ())
    about, corpus = table_facts(ID, mine, facts)
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(_block(group, facts) for group in groups),
        facts=(("base condition", base_of(ID)), *about),
        notes=(
            "The same answers of the same questions under each metric; a, b in percent, differences in points. "
            "Delivery: gold messages, pixels (b) minus withheld (a). Retrieval: gold messages (b) minus the text "
            f"channel (a), both with pixels. Ratio: delivery over retrieval; {NONE} where retrieval gains nothing. "
            "W/L: questions that score higher and lower. p: exact two-sided sign test, or the permutation test on "
            "sizes (+) where the metric is graded. By cluster: percentile bootstrap of whole clusters, and the "
            "permutation test that flips their signs. If null: the least difference that the sign test finds with a "
            "power of .8 on so many discordant questions; 'insensitive' where it could find none.",
        ),
        pipeline_check=corpus.bundled,
    )


TABLE = TableSpec(ID, build, ("memlens",), conditions=CONDITIONS)


def _lines(group: Group) -> list[Line]:
    return [line for line in LINES if line.a.name in group.rows and line.b.name in group.rows]


def _block(group: Group, facts: RunFacts) -> Block:
    paired = pair(group, answerable)
    lines = _lines(group)
    contrasts = {line.label: {line.b.name: 1, line.a.name: -1} for line in lines}
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {"n": paired.n}
    for metric in _metrics(paired):
        for line in lines:
            shown, numbers = _contrast(paired, line, metric)
            rows.append(shown)
            values |= numbers
        ratio = ratio_of(values.get(f"delivery.{metric}"), values.get(f"retrieval.{metric}"))
        values[f"ratio.{metric}"] = ratio
        text = NONE if ratio is None else f"{ratio:.2f}x"
        rows.append((f"{_name(metric)}: ratio", str(paired.n), "", "", text, *[""] * (len(COLUMNS) - 5)))
    return Block(
        heading=group.heading,
        facts=(
            ("n", f"{paired.n} answerable questions answered in the {len(group.rows)} conditions that were run"),
            ("runs", runs_of(group.all_rows())),
            *group_facts(ID, group, CONDITIONS, paired, facts, contrasts),
            *certified(paired, contrasts, facts),
        ),
        rows=tuple(rows),
        left_out=tuple(paired.left_out.items()),
        values=values,
    )


def _name(metric: str) -> str:
    return NAMES.get(metric, metric)


def _metrics(paired: Paired) -> list[str]:
    """What the kept rows carry; what they were scored by where they carry nothing else; none without a question."""
    kept = [paired.rows[name][question] for name in paired.rows for question in paired.kept]
    carried = {key.removeprefix("scores.") for row in kept for key in row if key.startswith("scores.")} - {BY_RULE}
    if not carried and kept:
        return [SCORE]
    return [*(each for each in NAMES if each in carried), *sorted(carried - NAMES.keys())]


def _contrast(paired: Paired, line: Line, metric: str) -> tuple[tuple[str, ...], dict[str, Number]]:
    a, b = ([paired.rows[each.name][question] for question in paired.kept] for each in (line.a, line.b))
    plain, clustered = (analyse(a, b, metric=metric, by=by) for by in ("question", "cluster"))
    effect, wide = plain.effect, clustered.cluster_interval
    key = f"{line.key}.{metric}"
    return (
        f"{_name(metric)}: {line.label.lower()}",
        str(effect.n),
        cell(plain.a.mean),
        cell(plain.b.mean),
        signed(effect.estimate),
        wins_losses(effect.wins, effect.losses),
        p_value(plain.p) + ("+" if plain.graded else ""),
        interval_text(wide),
        p_value(clustered.p),
        power_text(effect),
    ), {
        key: effect.estimate,
        f"{key}.a": plain.a.mean,
        f"{key}.b": plain.b.mean,
        f"{key}.wins": effect.wins,
        f"{key}.losses": effect.losses,
        f"{key}.p": plain.p,
        f"{key}.low": wide.low if wide else None,
        f"{key}.high": wide.high if wide else None,
        f"{key}.cluster_p": clustered.p,
    }
