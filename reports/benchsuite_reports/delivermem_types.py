"""Effects of the delivered form by question type, each with its interval (DeliverMem sections 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.stats.bootstrap import bootstrap
from benchsuite_reports.arms import DELIVERMEM, Group, Paired, group_facts, group_rows, pair, table_facts
from benchsuite_reports.certified import certify_pairs
from benchsuite_reports.effects import Line, answerable, everything, full_lengths, of_type
from benchsuite_reports.figure import Chart, FigureSpec, Panel, Point, Series, Strip, facts_caption, group_caption
from benchsuite_reports.published import TYPES
from benchsuite_reports.table import Condition, Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "delivermem_types"
TITLE = "Effects of the delivered form by question type"
_ORACLE = "oracle, no tag, no date"
_REGION = "both channels, region index"
_PIXELS = Condition("pixels", "oracle", "pixels")
_WHOLE = Condition("images at their messages", "both", "deployed", "whole")
CONTRASTS: tuple[tuple[Line, str], ...] = (
    (Line("content: pixels minus withheld", Condition("withheld", "oracle", "noimg"), _PIXELS), _ORACLE),
    (Line("content: pixels minus phase-scrambled", Condition("phase", "oracle", "pixels+phase"), _PIXELS), _ORACLE),
    (
        Line(
            "time: dates minus permuted dates", Condition("permuted", "both", "deployed+dateperm", "region"), DELIVERMEM
        ),
        f"{_REGION}, tag",
    ),
    (
        Line("identity: tags minus one mark", Condition("one mark", "both", "deployed+tagconst", "region"), DELIVERMEM),
        f"{_REGION}, date",
    ),
    (
        Line("binding: intact minus shuffled", Condition("shuffled", "both", "deployed+bindshuf", "whole"), _WHOLE),
        "both channels, whole images, tag, date",
    ),
)
"""Each contrast with what both of its arms share."""
CONDITIONS = tuple({each.name: each for line, _ in CONTRASTS for each in (line.a, line.b)}.values())
CAPTION = (
    "Points: mean difference in points over the questions answered in both arms of a contrast (n beside it); bars: 95% "
    "percentile bootstrap, 10,000 seeded draws of whole clusters where questions have clusters (their number behind "
    "n), else of questions; no bar: fewer than two of them. A point without width shows no spread, not certainty."
)


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> Chart | None:
    """From outcome rows: a strip per length, model and judge, a panel per contrast of which both arms were run, at the
    lengths that have most of them.

    Raises BenchError when rows mix corpora, protocols, renderers, scorers or models as served.
    """
    lines = [line for line, _ in CONTRASTS]
    groups, partial = full_lengths([each for each in group_rows(rows, CONDITIONS) if _contrasts(each)], lines)
    mine = [row for group in groups for row in group.all_rows()]
    if not mine:
        return None
    about, corpus = table_facts(ID, mine, facts)
    strips, captions = [], []
    for group in groups:
        paired = pair(group)
        of_group = group_facts(ID, group, CONDITIONS, paired, facts)
        by_contrast = [(line, base, _only(group, line)) for line, base in _contrasts(group)]
        names = _types(group)
        strips.append(
            Strip(
                heading=group.heading,
                panels=tuple(_panel(line, base, each, names, facts) for line, base, each in by_contrast),
                facts=of_group,
                left_out=tuple(
                    (f"{question}: {line.label}", reason)
                    for line, _, each in by_contrast
                    for question, reason in each.left_out.items()
                ),
            )
        )
        captions.append(group_caption(group, of_group))
    if partial:
        captions.append(f"Lengths with fewer contrasts, not shown: {', '.join(partial)}.")
    return Chart(ID, TITLE, tuple(strips), (CAPTION, *captions, facts_caption(about)), about, corpus.bundled)


FIGURE = FigureSpec(ID, draw, ("memlens",), conditions=CONDITIONS)


def _contrasts(group: Group) -> list[tuple[Line, str]]:
    return [(line, base) for line, base in CONTRASTS if line.a.name in group.rows and line.b.name in group.rows]


def _only(group: Group, line: Line) -> Paired:
    """The pairs of one contrast: a fault in another's arm takes no question from it."""
    return pair(replace(group, rows={each.name: group.rows[each.name] for each in (line.a, line.b)}))


def _types(group: Group) -> list[str]:
    """The question types of a group: the paper's in its order, then others."""
    found = {str(row["type"]) for row in group.all_rows()}
    return [name for name in TYPES if name in found] + sorted(found - TYPES.keys())


def _panel(line: Line, base: str, paired: Paired, types: Sequence[str], facts: RunFacts) -> Panel:
    wanted = {
        "all": everything,
        "all but refusal questions": answerable,
        **{name.replace("_", " "): of_type(name) for name in types},
    }
    points = [_point(place, line, paired, paired.where(of)) for place, of in enumerate(wanted.values())]
    a, b = paired.rows[line.a.name], paired.rows[line.b.name]
    found = certify_pairs([(a[question], b[question]) for question in paired.kept], facts)
    matched = () if found is None else (f"matched {found.matched}/{found.n}, altered {found.altered}/{found.n}",)
    return Panel(
        heading=line.label,
        value_axis="difference (points)",
        series=(Series("", tuple(point for point in points if point is not None)),),
        names=tuple(wanted),
        levels=(("", 0.0),),
        notes=(base, *matched),
    )


def _point(place: int, line: Line, paired: Paired, among: Sequence[str]) -> Point | None:
    effect = paired.difference(line.a.name, line.b.name, among)
    a, b = paired.scores(line.a.name, among), paired.scores(line.b.name, among)
    if effect is None or not a or not b:
        return None
    clusters: dict[str, list[float]] = {}
    for question in among:
        name = str(paired.question(question)["cluster"]) or f"question {question}"
        clusters.setdefault(name, []).append(b[question] - a[question])
    is_clustered = any(paired.question(question)["cluster"] for question in among)
    found = bootstrap(clusters, weights="questions") if len(clusters) > 1 else None
    return Point(
        at=place,
        value=effect.estimate,
        n=effect.n,
        low=found.low if found else None,
        high=found.high if found else None,
        note=f"{effect.n} ({len(clusters)})" if is_clustered else str(effect.n),
    )
