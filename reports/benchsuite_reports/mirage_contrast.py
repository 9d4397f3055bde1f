"""One indicator under two arms, paired question by question: what a delta of rates cannot say of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.intervals import Interval
from benchsuite.stats.missing import Bounds, worst_case
from benchsuite.stats.paired import Effect, effect
from benchsuite_reports.arms import NONE
from benchsuite_reports.clustered import interval_text
from benchsuite_reports.effects import power_text
from benchsuite_reports.mirage_measure import is_about, values
from benchsuite_reports.table import Number, Row, p_value, signed, wins_losses

COLUMNS = ("pairs", "difference", "W/L", "p", "95% by object", "if null")
NOTE = (
    "Differences in points, over the questions parsed in both arms (pairs); with several runs a question counts its "
    "mean over runs. W/L: questions whose indicator rose and fell, for HR and WS too, where a rise is the worse; p: "
    "exact two-sided sign test on them. By object: percentile bootstrap of whole planted objects. If null: the least "
    "difference that the test finds with a power of .8; 'insensitive' where it could find none."
)


@dataclass(frozen=True, slots=True)
class Change:
    """``b`` minus ``a`` of one indicator; ``bounds`` are those of the first run, None where nothing is missing."""

    effect: Effect
    by_object: Interval | None
    objects: int
    bounds: Bounds | None

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells under COLUMNS."""
        found = self.effect
        is_open = " (sign open)" if self.bounds is not None and self.bounds.sign_can_flip else ""
        return (
            str(found.n),
            signed(found.estimate) + is_open,
            wins_losses(found.wins, found.losses),
            p_value(found.p),
            interval_text(self.by_object),
            power_text(found),
        )

    def numbers(self, name: str) -> dict[str, Number]:
        found = self.effect
        return {
            name: found.estimate,
            f"{name}.n": found.n,
            f"{name}.wins": found.wins,
            f"{name}.losses": found.losses,
            f"{name}.p": found.p,
            f"{name}.low": self.by_object.low if self.by_object else None,
            f"{name}.high": self.by_object.high if self.by_object else None,
        }


NOTHING = ("0", *(NONE for _ in COLUMNS[1:]))
"""The cells where no question is parsed in both arms."""


def change(a: Sequence[Sequence[Row]], b: Sequence[Sequence[Row]], name: str) -> Change | None:
    """Of the rows of each run, paired run by run; None where no question is parsed in both arms."""
    by_question: dict[str, list[float]] = {}
    clusters: dict[str, str] = {}
    for first, second in zip(a, b, strict=False):
        known = {str(row["question"]): value for row, value in values(first, name)}
        for row, value in values(second, name):
            question = str(row["question"])
            if question in known:
                by_question.setdefault(question, []).append(value - known[question])
                clusters[question] = str(row["cluster"]) or f"question {question}"
    if not by_question:
        return None
    differences = {question: sum(each) / len(each) for question, each in by_question.items()}
    by_cluster: dict[str, list[float]] = {}
    for question, value in differences.items():
        by_cluster.setdefault(clusters[question], []).append(value)
    return Change(
        effect=effect(list(differences.values())),
        by_object=bootstrap(by_cluster, weights="questions") if len(by_cluster) > 1 else None,
        objects=len(by_cluster),
        bounds=_bounds(a[0], b[0], name),
    )


def _bounds(a: Sequence[Row], b: Sequence[Row], name: str) -> Bounds | None:
    """Had every error and parse failure been anything from 0 to 1, over the questions that both arms were asked."""
    asked = [{str(row["question"]) for row in rows if is_about(row, name)} for rows in (a, b)]
    both = asked[0] & asked[1]
    known = [
        {str(row["question"]): value for row, value in values(rows, name) if str(row["question"]) in both}
        for rows in (a, b)
    ]
    missing = [both - scores.keys() for scores in known]
    return worst_case(*known, *missing) if missing[0] or missing[1] else None
