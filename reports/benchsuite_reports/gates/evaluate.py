"""The verdict of every gate against every baseline, from rows alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from benchsuite.errors import ConfigError
from benchsuite.runs import load_run
from benchsuite.stats.family import holm, lowest_adjusted
from benchsuite_reports.gates.align import Aligned, align, select
from benchsuite_reports.gates.baseline import OPTION, Baseline
from benchsuite_reports.gates.grammar import EVERY_SUITE, Gate, listed
from benchsuite_reports.gates.measure import SAME, Measured, measure
from benchsuite_reports.gates.metrics import applies, differences, metrics_of, refused_over
from benchsuite_reports.table import Row

PASS = "pass"
FAIL = "fail"
NOT_JUDGED = "not judged"
NO_BASELINE = "no baseline"
TO_CONFIRM = "to confirm"
POWER = 0.8
RESAMPLES = 10_000
DRAWS = 100_000


@dataclass(frozen=True, slots=True)
class Against:
    """A baseline with its rows; none where there is no such run yet. ``trunk``: see ``evaluate``."""

    baseline: Baseline
    rows: Sequence[Row] = ()
    trunk: str = ""

    @classmethod
    def read(cls, baseline: Baseline) -> Against:
        """With what its run says. Raises BenchError for a run that cannot be read."""
        if baseline.path is None:
            return cls(baseline)
        run = load_run(baseline.path)
        return cls(baseline, list(run.rows.values()), trunk_of(run.info))


@dataclass(frozen=True, slots=True)
class Judgement:
    """One gate on one suite against one baseline.

    ``verdict`` is pass, fail, not judged (``reason`` says why; the run fails), no baseline (it does not) or to
    confirm: a loss whose ``again`` cells must be asked once more. ``adjusted`` is p after Holm over the ``family``.
    ``allowed`` are differences that were let through. ``detectable`` is the least loss, in the metric's unit, that
    the gate finds with a power of .8; None where it finds none. ``second`` is the same gate on the second asking.
    """

    gate: Gate
    suite: str
    baseline: Baseline
    verdict: str
    reason: str = ""
    measured: Measured | None = None
    change: float | None = None
    adjusted: float | None = None
    family: int = 0
    detectable: float | None = None
    allowed: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    corpus: str = ""
    second: Judgement | None = None

    @property
    def name(self) -> str:
        """``memlens.accuracy[type=x]``."""
        slices = f"[{','.join(map(str, self.gate.slices))}]" if self.gate.slices else ""
        return f"{self.suite}.{self.gate.metric}{slices}"


@dataclass(frozen=True, slots=True)
class GateReport:
    judgements: tuple[Judgement, ...]

    @property
    def failed(self) -> bool:
        """Whether the run fails: a loss, a gate that could not be judged, or a loss that nobody confirmed yet."""
        return any(each.verdict in (FAIL, NOT_JUDGED, TO_CONFIRM) for each in self.judgements)

    @property
    def again(self) -> tuple[str, ...]:
        """The cells to ask once more, each under its next repeat, before ``confirm``."""
        return tuple(sorted({cell for each in self.judgements for cell in each.again}))


@dataclass(frozen=True, slots=True)
class _Ways:
    """How every gate of a report is judged; see ``evaluate``."""

    across: Collection[str]
    trunk: str
    resamples: int
    draws: int


def trunk_of(info: Mapping[str, Any]) -> str:
    """Who wrote the trunks of a run, as its ``run.json`` says: a model, or ``none`` for the bank's own replies; empty
    for a run that does not say."""
    return str(info.get("digests", {}).get("trunk") or "")


def evaluate(
    gates: Sequence[Gate],
    rows: Sequence[Row],
    against: Sequence[Against],
    across: Collection[str] = (),
    *,
    trunk: str = "",
    resamples: int = RESAMPLES,
    draws: int = DRAWS,
) -> GateReport:
    """Judge a run's ``rows`` by every gate against every baseline; a gate on every suite is one of each suite.

    Rows are aligned by suite, arm and question. A gate over several arms judges the mean over questions of the mean
    over arms. It fails at a loss of its limit or more whose p, two-sided, by cluster and after Holm over all that is
    judged here, is below its own. ``across`` names what may differ (see ``metrics.ACROSS``);
    ``trunk`` is who wrote the run's conversation states (see ``trunk_of``).

    Raises ConfigError for gates without a baseline.
    """
    if gates and not against:
        raise ConfigError(f"a gate needs a baseline: {OPTION} RUN, or {OPTION} last-green")
    ways = _Ways(across, trunk, resamples, draws)
    drafts = [
        _draft(gate, suite, rows, each, ways) for gate in gates for suite in _suites(gate, rows) for each in against
    ]
    return GateReport(_verdicts(drafts))


def confirm(
    first: GateReport,
    again: Sequence[Row],
    against: Sequence[Against],
    across: Collection[str] = (),
    *,
    trunk: str = "",
    resamples: int = RESAMPLES,
    draws: int = DRAWS,
) -> GateReport:
    """The report once ``again``, the rows of a second asking alone, are there: a loss fails where both show it.

    ``against`` are the same baselines. The second asking meets the same bar: Holm over as many tests as the first,
    those that are not asked again at 1. Cells that were not asked again leave the gate not judged.
    """
    rows_of = {each.baseline: each for each in against}
    waiting = [each for each in first.judgements if each.verdict == TO_CONFIRM]
    ways = _Ways(across, trunk, resamples, draws)
    drafts = [_draft(each.gate, each.suite, again, rows_of[each.baseline], ways) for each in waiting]
    whole = [_all_asked(draft, each) for draft, each in zip(drafts, waiting, strict=True)]
    seconds = iter(_verdicts(whole, max((each.family for each in waiting), default=0)))
    return GateReport(
        tuple(_both(each, next(seconds)) if each.verdict == TO_CONFIRM else each for each in first.judgements)
    )


def _suites(gate: Gate, rows: Iterable[Row]) -> list[str]:
    if gate.suite != EVERY_SUITE:
        return [gate.suite]
    return sorted({str(row["suite"]) for row in rows}) or [EVERY_SUITE]


def _draft(gate: Gate, suite: str, rows: Sequence[Row], against: Against, ways: _Ways) -> Judgement:
    """The judgement before Holm: measured, and not judged or no baseline where it ends there."""
    draft = Judgement(gate, suite, against.baseline, PASS)
    if against.baseline.path is None:
        return replace(draft, verdict=NO_BASELINE, reason=against.baseline.reason)
    own = [row for row in rows if row["suite"] == suite]
    if not own:
        return _refused(draft, f"the run has no row of {suite}; it has {listed([str(row['suite']) for row in rows])}")
    draft = replace(draft, corpus=str(own[0]["corpus"]))
    theirs = [row for row in against.rows if row["suite"] == suite]
    if gate.metric not in (known := metrics_of([*own, *theirs])):
        return _refused(draft, f"no metric {gate.metric!r}; there are {listed(known)}")
    if not theirs:
        return replace(draft, verdict=NO_BASELINE, reason=f"it has no row of {suite}")
    sides = []
    for side, where in ((theirs, "the baseline"), (own, "the run")):
        chosen, problem = select(side, gate.slices)
        if problem:
            return _refused(draft, f"{where} has {problem}")
        sides.append([row for row in chosen if applies(row, gate.metric)])
    return _measured(draft, align(*sides), (against.trunk, ways.trunk), ways)


def _measured(draft: Judgement, aligned: Aligned, trunks: tuple[str, str], ways: _Ways) -> Judgement:
    gate = draft.gate
    if not aligned.pairs:
        some = [
            f"{side} {cells[0]}" for side, cells in (("baseline", aligned.only_a), ("run", aligned.only_b)) if cells
        ]
        return _refused(draft, f"no cell is in both runs; {', '.join(some) or 'neither has one'}")
    changed = differences(aligned.pairs, gate.metric, trunks)
    if problem := refused_over(changed, ways.across):
        return _refused(draft, problem)
    draft = replace(draft, allowed=tuple(f"{name}: {text}" for name, text in changed.items()))
    if aligned.reclustered:
        return _refused(draft, f"the clusters changed: {aligned.reclustered}")
    found = measure(aligned, gate.metric, resamples=ways.resamples, draws=ways.draws)
    if isinstance(found, str):
        return _refused(draft, found)
    draft = replace(draft, measured=found, again=tuple(str(pair.b[0]["cell"]) for pair in aligned.pairs))
    if not found.missing < gate.missing:
        return _refused(
            draft,
            f"{100 * found.missing:.3g}% of {found.cells} cells have no value on one side or the other; the gate "
            f"takes less than {100 * gate.missing:.3g}%",
        )
    if not gate.relative and not found.share:
        return _refused(draft, f"{gate.metric} is no share and has no points: use %")
    if gate.relative and abs(found.a) <= SAME:
        return _refused(draft, "the baseline's mean is 0, and nothing is a percentage of it: use pp")
    return replace(draft, change=found.difference / abs(found.a) if gate.relative else found.difference)


def _refused(draft: Judgement, reason: str) -> Judgement:
    return replace(draft, verdict=NOT_JUDGED, reason=reason, again=())


def _verdicts(drafts: Sequence[Judgement], family: int = 0) -> tuple[Judgement, ...]:
    """Holm over all that has a p, or over ``family`` tests where that is more, and what follows from it.

    A gate that could not fail is not judged.
    """
    tests = {
        str(place): each.measured.permutation
        for place, each in enumerate(drafts)
        if each.verdict == PASS and each.measured is not None
    }
    others = {f"other {number}": 1.0 for number in range(len(tests), family)}
    p_values = {place: each.p for place, each in tests.items()} | others
    lowest = lowest_adjusted(p_values, {place: min(each.floor, each.p) for place, each in tests.items()})
    adjusted = holm(p_values)
    found = []
    for place, each in enumerate(drafts):
        if (key := str(place)) in tests:
            each = _verdict(each, adjusted[key], lowest[key], len(p_values))
        found.append(each)
    return tuple(found)


def _verdict(draft: Judgement, adjusted: float, lowest: float, family: int) -> Judgement:
    """``lowest`` is the least that ``adjusted`` could have been, had every cluster moved one way."""
    gate = draft.gate
    if lowest >= gate.p and draft.measured is not None:
        units = f"{draft.measured.clusters} cluster{'' if draft.measured.clusters == 1 else 's'}"
        among = f" after Holm over {family}" if family > 1 else ""
        return _refused(
            replace(draft, adjusted=adjusted, family=family),
            f"{units} can give no p below {gate.p:g}{among}, whatever happens",
        )
    loss = gate.sign * (draft.change or 0.0)
    lost = loss >= gate.limit - SAME and adjusted < gate.p
    verdict = PASS if not lost else TO_CONFIRM if gate.confirm else FAIL
    return replace(
        draft,
        verdict=verdict,
        reason="the loss reaches the limit, but p does not show it" if _unshown(verdict, loss, gate) else "",
        adjusted=adjusted,
        family=family,
        detectable=_detectable(draft, family),
        again=draft.again if verdict == TO_CONFIRM else (),
    )


def _unshown(verdict: str, loss: float, gate: Gate) -> bool:
    return verdict == PASS and loss > SAME and loss >= gate.limit - SAME


def _detectable(draft: Judgement, family: int) -> float | None:
    """The least true loss that both reaches the limit and shows at p / ``family`` with a power of .8.

    By the normal approximation to the permutation test, at the spread that was seen. None where nothing differs, or
    where so few clusters do that no p below the gate's is possible.
    """
    gate, found = draft.gate, draft.measured
    if found is None or found.permutation.floor_with_ties >= gate.p / family:
        return None
    normal = NormalDist()
    reach = normal.inv_cdf(POWER) * found.spread
    limit = gate.limit * abs(found.a) if gate.relative else gate.limit
    return max(limit, normal.inv_cdf(1 - gate.p / family / 2) * found.spread) + reach


def _all_asked(draft: Judgement, first: Judgement) -> Judgement:
    asked, wanted = (each.measured.cells if each.measured is not None else 0 for each in (draft, first))
    if draft.measured is None or asked >= wanted:
        return draft
    return _refused(draft, f"{wanted - asked} of {wanted} cells were not asked again")


def _both(first: Judgement, second: Judgement) -> Judgement:
    verdict = FAIL if second.verdict == TO_CONFIRM else second.verdict
    reason = {
        FAIL: "both askings show the loss",
        PASS: "the second asking does not show the loss",
        NOT_JUDGED: f"second asking: {second.reason}",
    }.get(verdict, second.reason)
    return replace(first, verdict=verdict, reason=reason, again=(), second=second)
