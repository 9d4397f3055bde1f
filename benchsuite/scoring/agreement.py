"""How far two metrics agree on the same answers, and a judge with itself. Pure functions of outcome rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Answers by what the judge and SubEM say of them: the 2x2 of counts."""

    both_right: int
    both_wrong: int
    judge_only: int
    subem_only: int

    @property
    def n(self) -> int:
        return self.both_right + self.both_wrong + self.judge_only + self.subem_only

    @property
    def share(self) -> float | None:
        """Share of answers on which they agree; None without any."""
        return (self.both_right + self.both_wrong) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Consistency:
    """How many answers a judge was asked about several times, and on how many all its votes agreed."""

    n: int
    unanimous: int


def agreement(rows: Iterable[Mapping[str, object]]) -> Agreement:
    """Over the rows that have both scores: answers that the judge gave a verdict on. Each score is right from .5 up.

    What was not judged is not in it: refusals, which rules decide, errors, and answers without a verdict.
    """
    counts = {(judged, contained): 0 for judged in (True, False) for contained in (True, False)}
    for row in rows:
        judge, subem = row.get("scores.judge"), row.get("scores.subem")
        if isinstance(judge, float | int) and isinstance(subem, float | int):
            counts[judge >= 0.5, subem >= 0.5] += 1
    return Agreement(counts[True, True], counts[False, False], counts[True, False], counts[False, True])


def consistency(rows: Iterable[Mapping[str, object]]) -> Consistency:
    """Over the rows with several votes; a vote without a verdict agrees with none."""
    n = unanimous = 0
    for row in rows:
        votes = [row.get(f"scores.judge_votes_{name}") for name in ("for", "against", "missing")]
        if all(isinstance(vote, float | int) for vote in votes):
            n += 1
            unanimous += sum(vote != 0 for vote in votes) == 1 and votes[2] == 0
    return Consistency(n, unanimous)
