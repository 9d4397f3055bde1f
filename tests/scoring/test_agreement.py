"""Judge against SubEM, and a judge against itself."""

from __future__ import annotations

from typing import Any

from benchsuite.scoring.agreement import Agreement, Consistency, agreement, consistency


def row(judge: float | None = None, subem: float | None = None, **votes: float) -> dict[str, Any]:
    scores = {"judge": judge, "subem": subem} | {f"judge_votes_{name}": n for name, n in votes.items()}
    return {"cell": "c"} | {f"scores.{name}": value for name, value in scores.items() if value is not None}


def test_the_four_counts():
    rows = [row(1.0, 1.0)] * 4 + [row(0.0, 0.0)] * 3 + [row(1.0, 0.0)] * 2 + [row(0.0, 1.0)]
    found = agreement(rows)
    assert found == Agreement(both_right=4, both_wrong=3, judge_only=2, subem_only=1)
    assert (found.n, found.share) == (10, 0.7)


def test_what_was_not_judged_is_not_in_it():
    found = agreement([row(subem=1.0), row(judge=1.0), row(), row(0.0, 0.0)])
    assert (found.n, found.both_wrong) == (1, 1)
    assert agreement([]).share is None


def test_votes_that_agree():
    rows = [
        row(**{"for": 3.0, "against": 0.0, "missing": 0.0}),
        row(**{"for": 0.0, "against": 3.0, "missing": 0.0}),
        row(**{"for": 2.0, "against": 1.0, "missing": 0.0}),
        row(**{"for": 2.0, "against": 0.0, "missing": 1.0}),
        row(**{"for": 0.0, "against": 0.0, "missing": 3.0}),
        row(1.0),
    ]
    assert consistency(rows) == Consistency(n=5, unanimous=2)
    assert consistency([]) == Consistency(0, 0)
