"""Beside each test per question: the same contrast with whole clusters as what is independent.

Questions of one conversation, object or chain share what makes them hard, so a test per question may say too much.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.intervals import Interval
from benchsuite.stats.permutation import cluster_permutation
from benchsuite_reports.arms import NONE, Paired
from benchsuite_reports.table import Block, Number, p_value, signed

COLUMNS = ("Contrast", "difference", "95% by question", "95% by cluster", "clusters", "cluster p", "least p")


def clustered_block(heading: str, paired: Paired, contrasts: Mapping[str, Mapping[str, int]]) -> tuple[Block, ...]:
    """A block with a row for each contrast whose conditions were all run; none where no question is kept.

    ``contrasts`` are signs of conditions by label: the estimate is the mean over questions of the signed sum of
    scores. Intervals are percentile bootstraps; the p flips the signs of whole clusters, and the least p is what it
    could have been, had every cluster that differs gone one way.
    """
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for label, signs in contrasts.items():
        by_cluster = _differences(paired, signs)
        if not by_cluster:
            continue
        questions = [value for each in by_cluster.values() for value in each]
        test = cluster_permutation(by_cluster, weights="questions")
        wide = bootstrap(by_cluster, weights="questions") if len(by_cluster) > 1 else None
        narrow = bootstrap(questions) if len(questions) > 1 else None
        rows.append(
            (
                label,
                signed(sum(questions) / len(questions)),
                interval_text(narrow),
                interval_text(wide),
                str(len(by_cluster)),
                p_value(test.p) + ("" if test.exact else "*"),
                p_value(test.floor_with_ties),
            )
        )
        values.update({f"{label}.clusters": len(by_cluster), f"{label}.cluster_p": test.p})
        values.update({f"{label}.low": wide.low if wide else None, f"{label}.high": wide.high if wide else None})
    if not rows:
        return ()
    return (
        Block(
            heading=f"{heading}: by cluster",
            facts=(),
            rows=tuple(rows),
            left_out=None,
            notes=(
                "Percentile bootstrap, 10,000 seeded draws of questions or of whole clusters; the p flips the signs of "
                "whole clusters, exactly to 20 that differ, then by seeded draws (*). Least p: had all that differ "
                "gone one way; above 0.05 nothing could have been shown.",
            ),
            values=values,
            columns=COLUMNS,
        ),
    )


def interval_text(found: Interval | None) -> str:
    """In points: ``+2.99 to +15.28``."""
    return NONE if found is None else f"{signed(found.low)} to {signed(found.high)}"


def _differences(paired: Paired, signs: Mapping[str, int]) -> dict[str, list[float]]:
    """The signed sum of each kept question's scores, by its cluster; empty when a condition was not run."""
    scores = {condition: paired.scores(condition) for condition in signs}
    found: dict[str, list[float]] = {}
    for question in paired.kept:
        total = 0.0
        for condition, sign in signs.items():
            known = scores[condition]
            if known is None:
                return {}
            total += sign * known[question]
        cluster = str(paired.question(question)["cluster"]) or f"question {question}"
        found.setdefault(cluster, []).append(total)
    return found
