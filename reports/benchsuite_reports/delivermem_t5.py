"""DeliverMem Table 5, the MemLens column: a verdict for each component, and what a null may come from (section 7).

The paper's rule: a component helps where what it supplies reaches the model, the question needs it, and the context
does not already carry it. Each has a rate here, as far as outcome rows can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchsuite_reports.arms import DELIVERMEM, Paired, cell
from benchsuite_reports.certified import ContrastCertificate
from benchsuite_reports.delivermem_t4 import LINES as COMPONENTS
from benchsuite_reports.delivermem_t4 import TEMPORAL, at_full_lengths
from benchsuite_reports.effects import ALPHA, EffectTable, Line, effect_row, everything
from benchsuite_reports.table import Number, Row, RunFacts, Table, TableSpec

ID = "delivermem_t5"
TITLE = "DeliverMem Table 5: verdict by component (MemLens column)"
COLUMNS = (
    "Component",
    "verdict",
    "n",
    "Delta",
    "W/L",
    "p",
    "reach",
    "need",
    "carried",
    "matched",
    "altered",
    "if null",
)
SHORT = {"d1": "D1 modality", "d2": "D2 tag", "d3": "D3 date", "binding": "Binding", "r1": "R1 region"}
NO_DATE = replace(DELIVERMEM, delivery="deployed+nodate")
LINES = tuple(
    found
    for line in COMPONENTS
    for found in (
        replace(line, label=SHORT[line.name]),
        *((Line("D3, no date", NO_DATE, DELIVERMEM, TEMPORAL, "d3_no_date"),) if line.name == "d3" else ()),
    )
)


def _count(row: Row, field: str) -> int:
    value = row[field]
    return value if isinstance(value, int) else 0


def _images(least: int) -> Callable[[Row, Row], bool]:
    return lambda control, component: bool(component["answerable"]) and _count(component, "n_images") >= least


# whether a question can need what the component supplies, from its rows under the control and with the component
NEEDS: Mapping[str, Callable[[Row, Row], bool]] = {
    "d1": _images(1),
    "d2": lambda control, component: _count(component, "n_images") >= 2,
    "d3": lambda control, component: TEMPORAL(component),
    "d3_no_date": lambda control, component: TEMPORAL(component),
    "binding": _images(2),
    "r1": lambda control, component: _count(control, "n_gold_delivered") < _count(control, "n_gold"),
}
RATES_NOTE = (
    "reach: of its questions with gold messages, those to which at least one was delivered with the component (under "
    "the control in brackets, where it differs). need: of all questions of the block, those that can need what the "
    "component supplies, an upper bound, since no row says what an answer takes: D1, answerable with an image "
    "delivered; D2, two images or more delivered, since one needs no name; D3, temporal reasoning; binding, "
    "answerable with two images or more; R1, gold messages that the whole-image index did not all deliver. carried: of "
    "its questions, those right under the control, so that the context carried enough without the component."
)
VERDICT_NOTE = (
    "verdict: positive or negative where the sign test gives p <= .05, null otherwise; each test by itself, not "
    "adjusted for their number. A null is no proof that there is no effect: 'if null' says what could have been found. "
    "Delta: the component minus its control, each as in Table 4: D1 pixels against randomised phase, D2 tags against "
    "one mark on all, D3 dates against permuted ones and against none, binding against images that follow other "
    "messages, R1 the region index against one vector an image."
)


def _verdict(paired: Paired, line: Line, among: Sequence[str]) -> str:
    effect = paired.difference(line.a.name, line.b.name, among)
    if effect is None:
        return "no question"
    if effect.p > ALPHA:
        return "null"
    return "positive" if effect.wins > effect.losses else "negative"


def _reached(paired: Paired, condition: str, among: Sequence[str]) -> float | None:
    rows = [row for row in (paired.rows[condition][question] for question in among) if _count(row, "n_gold")]
    return sum(_count(row, "n_gold_delivered") > 0 for row in rows) / len(rows) if rows else None


def _needed(paired: Paired, line: Line) -> float | None:
    control, component = paired.rows[line.a.name], paired.rows[line.b.name]
    needs = NEEDS[line.name]
    return sum(needs(control[q], component[q]) for q in paired.kept) / paired.n if paired.n else None


def _numbers(paired: Paired, line: Line) -> Mapping[str, Number]:
    among = paired.where(line.where)
    return {
        f"{line.key}.verdict": _verdict(paired, line, among),
        f"{line.key}.reached": _reached(paired, line.b.name, among),
        f"{line.key}.reached_by_control": _reached(paired, line.a.name, among),
        f"{line.key}.need": _needed(paired, line),
        f"{line.key}.carried": paired.accuracy(line.a.name, among),
    }


def _cells(paired: Paired, line: Line, among: Sequence[str], found: ContrastCertificate | None) -> tuple[str, ...]:
    label, n, carried, _, delta, counts, p, matched, altered, _, power = effect_row(paired, line, among, found)
    reached, by_control = (cell(_reached(paired, each.name, among)) for each in (line.b, line.a))
    return (
        label,
        _verdict(paired, line, among),
        n,
        delta,
        counts,
        p,
        reached if reached == by_control else f"{reached} ({by_control})",
        cell(_needed(paired, line)),
        carried,
        matched,
        altered,
        power,
    )


EFFECTS = EffectTable(
    id=ID,
    title=TITLE,
    lines=LINES,
    wanted=everything,
    notes=(VERDICT_NOTE, RATES_NOTE),
    columns=COLUMNS,
    cells=_cells,
    numbers=_numbers,
)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """As ``EffectTable.build``, at the lengths that have most of the contrasts."""
    return at_full_lengths(EFFECTS, rows, facts)


TABLE = TableSpec(ID, build, ("memlens",), conditions=EFFECTS.conditions)
