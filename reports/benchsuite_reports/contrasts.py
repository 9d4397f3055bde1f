"""The contrasts that a run's experiments declare, whatever their suite: a block a family, with Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchsuite.errors import BenchError
from benchsuite.plan import Contrast, parse_contrast
from benchsuite.stats.contrast import Analysis, analyse
from benchsuite_reports.arms import NONE, Facts
from benchsuite_reports.comparison import (
    NOTE,
    STATE_NOTE,
    Family,
    Pairing,
    certified_text,
    contrast_rows,
    footnotes,
    labels_of,
    match_arms,
    once_each,
    values_of,
)
from benchsuite_reports.table import (
    Block,
    DeclaredContrast,
    Row,
    RunFacts,
    Table,
    TableSpec,
    p_value,
    percent,
    signed,
    wins_losses,
)

ID = "contrasts"
TITLE = "Declared contrasts"
COLUMNS = ("b minus a", "n", "a", "b", "difference", "W/L", "p", "Holm p", "matched", "altered")
P_NOTE = "p: the one that counts, not corrected; Holm p: corrected over the block's contrasts."


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From the outcome rows of any suites, a block per suite and family.

    A contrast is made at every setting of its other axes of which the run has both arms; one without both anywhere, or
    whose arms cannot be compared, is a row that says why. Raises BenchError when a family mixes corpora.
    """
    families: dict[tuple[str, str], list[DeclaredContrast]] = {}
    for declared in facts.contrasts:
        families.setdefault((declared.suite, declared.family), []).append(declared)
    made: list[_Declared] = []
    for (suite, family), contrasts in families.items():
        mine = [row for row in rows if row["suite"] == suite]
        if mine:
            made.append(_declared(f"{suite}, family {family}" if family else suite, contrasts, mine, facts))
    about = [each.family.facts(facts) for each in made if each.family]
    common = tuple(fact for fact in about[0] if all(fact in each for each in about)) if about else ()
    at_state = any(declared.family.at_state for declared in made if declared.family)
    analyses = [each for declared in made if declared.family for each in declared.family.analyses.values()]
    return Table(
        id=ID,
        title=TITLE,
        columns=COLUMNS,
        blocks=tuple(each.block(facts, common) for each in made),
        facts=(*((("run", facts.run),) if facts.run else ()), *common),
        notes=(NOTE, *((STATE_NOTE,) if at_state else ()), P_NOTE, *footnotes(analyses)) if analyses else (),
        pipeline_check=any(
            corpus.bundled for each in made if each.family for corpus in each.family.corpora(facts).values()
        ),
    )


TABLE = TableSpec(ID, build, empty="the experiments of the run declare no contrast")


@dataclass(frozen=True, slots=True)
class _Declared:
    """The contrasts of one family; ``absent`` are those that could not be made, each with why."""

    name: str
    family: Family | None
    absent: Sequence[str]

    def block(self, facts: RunFacts, common: Facts) -> Block:
        absent = tuple((text, "0", *[NONE] * (len(COLUMNS) - 2)) for text in self.absent)
        if self.family is None:
            return Block(self.name, (), absent, left_out=None)
        return Block(
            heading=self.name,
            facts=tuple(fact for fact in self.family.facts(facts) if fact not in common),
            rows=(*(_row(self.family, label) for label in self.family.analyses), *absent),
            left_out=self.family.left_out,
            notes=(*self.family.notes, *self.family.blocked_notes, *self.family.certificate_notes),
            values=dict(values_of(self.family)),
        )


def _row(family: Family, label: str) -> tuple[str, ...]:
    each = family.analyses[label]
    _, matched, altered = certified_text(family.certificates[label])
    return (
        label,
        str(each.effect.n),
        percent(each.a.mean),
        percent(each.b.mean),
        signed(each.effect.estimate),
        wins_losses(each.effect.wins, each.effect.losses),
        p_value(each.p) + ("" if each.permutation.exact else "*"),
        family.holm_text(label),
        matched,
        altered,
    )


def _declared(name: str, declared: Sequence[DeclaredContrast], rows: Sequence[Row], facts: RunFacts) -> _Declared:
    found: list[Pairing] = []
    absent: list[str] = []
    for each in sorted(declared, key=lambda each: not each.primary):
        try:
            contrast = parse_contrast(each.text)
            pairings = [] if _absent(contrast, rows) else _pairings(contrast, each.primary, rows)
            absent += [] if pairings else [f"{each.text}: {_why(contrast, rows)}"]
            found += pairings
        except BenchError as error:
            absent.append(f"{each.text}: {error}")
    pairings = once_each(found)
    analyses: dict[str, Analysis] = {}
    kept: list[Pairing] = []
    for label, pairing in zip(labels_of(pairings) if pairings else (), pairings, strict=True):
        try:
            analyses[label] = analyse(pairing.a, pairing.b)
            kept.append(pairing)
        except BenchError as error:
            absent.append(f"{label}: {error}")
    return _Declared(name, Family.of(kept, analyses, facts) if kept else None, absent)


def _pairings(contrast: Contrast, primary: bool, rows: Sequence[Row]) -> list[Pairing]:
    """The arms that differ in the contrast's axes alone."""
    return match_arms(*contrast_rows(contrast, rows, rows), primary=primary, axes=contrast.axes)[0]


def _why(contrast: Contrast, rows: Sequence[Row]) -> str:
    absent = _absent(contrast, rows)
    return f"missing arms: {'; '.join(absent)}" if absent else "its arms differ in other axes too"


def _absent(contrast: Contrast, rows: Sequence[Row]) -> list[str]:
    """The sides of which there is no row, by their values."""
    absent = []
    for values in (contrast.before, contrast.after):
        wanted = [*zip(contrast.axes, values, strict=True), *contrast.fixed]
        if not any(all(str(row.get(f"arm.{axis}", "none")) == value for axis, value in wanted) for row in rows):
            absent.append(", ".join(f"{axis}={value}" for axis, value in wanted))
    return absent
