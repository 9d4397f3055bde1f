"""The indicators of an agent at a state as the tables show them: the mean over runs, the intervals of the first run.

What each indicator counts is said in ``benchsuite.stats.mirage`` alone (MIRAGE section 3.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.intervals import Interval, wilson
from benchsuite.stats.mirage import Rate, indicators
from benchsuite_reports.arms import NONE
from benchsuite_reports.mirage_base import Agent, by_cluster, limits, mean
from benchsuite_reports.table import Row

GC_FAILING = "failing gc"
"""GC with parse failures as failures."""


def rate_of(rows: Iterable[Row], name: str) -> Rate:
    """An indicator over the rows of one run at one state; ``failing gc`` is GC with parse failures as failures."""
    found = indicators(rows)
    failing, _, which = name.partition(" ")
    rate: Rate = found.failing[which] if failing == "failing" else getattr(found, name)
    return rate


def over_runs(agent: Agent, state: str, name: str) -> float | None:
    """The mean over runs of an indicator at a state, a fraction."""
    return mean(rate_of(rows, name).value for rows in agent.runs(state))


def calls(agent: Agent, state: str, name: str) -> float | None:
    """How many calls an indicator stands on, the mean over runs."""
    return mean(float(rate_of(rows, name).n) for rows in agent.runs(state))


def failures(agent: Agent, state: str) -> float | None:
    """Parse failures, the mean over runs."""
    return mean(float(rate_of(rows, "pf").k) for rows in agent.runs(state))


def values(rows: Iterable[Row], name: str) -> list[tuple[Row, float]]:
    """What each row counts for an indicator; rows that it does not stand on are left out."""
    found = ((row, rate_of((row,), name)) for row in rows)
    return [(row, float(rate.k)) for row, rate in found if rate.n]


def is_about(row: Row, name: str) -> bool:
    """Whether an indicator would stand on the row, had it parsed."""
    return name == "ac" or bool(row["answerable"]) == (name != "hr")


@dataclass(frozen=True, slots=True)
class Spread:
    """The intervals of an indicator in one run: ``rate`` by question, and by planted object (None: there are fewer
    than two)."""

    rate: Rate
    by_question: Interval
    by_object: Interval | None
    objects: int

    @property
    def question_text(self) -> str:
        return limits(self.by_question.low, self.by_question.high)

    @property
    def object_text(self) -> str:
        return NONE if self.by_object is None else limits(self.by_object.low, self.by_object.high)


def spread(rows: Sequence[Row], name: str) -> Spread | None:
    """Of the rows of one run; None where no row has the indicator."""
    found = rate_of(rows, name)
    if not found.n:
        return None
    clusters = by_cluster(values(rows, name))
    return Spread(
        rate=found,
        by_question=wilson(found.k, found.n),
        by_object=bootstrap(clusters, weights="questions") if len(clusters) > 1 else None,
        objects=len(clusters),
    )
