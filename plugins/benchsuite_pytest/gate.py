"""``--bench-compare`` and ``--bench-compare-fail``: the run against earlier ones, judged in the controller by rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsuite.errors import BenchError, ConfigError
from benchsuite.plan import Cell, make_arm, make_cell
from benchsuite_pytest.cells import LABEL_KEYS, Planner
from benchsuite_pytest.options import Settings

if TYPE_CHECKING:
    from benchsuite.runs import RunStore
    from benchsuite_reports.gates.baseline import Baseline
    from benchsuite_reports.gates.grammar import Gate

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run says of its gates: ``lines`` for the terminal, and whether it ``failed``."""

    lines: Sequence[str] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """The gates and baselines of a session, read before it starts."""

    settings: Settings
    gates: tuple[Gate, ...]
    baselines: tuple[Baseline, ...]

    @classmethod
    def of(cls, settings: Settings, planner: Planner) -> tuple[Gatekeeper | None, list[str]]:
        """None where neither option is given; with a line for each fault that can be known before the run."""
        if not (settings.compare or settings.compare_fail):
            return None, []
        # imported here: a run without a baseline does without the statistics
        from benchsuite_reports.gates.baseline import resolve
        from benchsuite_reports.gates.grammar import check, parse_gate
        from benchsuite_reports.gates.metrics import ACROSS

        problems: list[str] = []
        gates: list[Gate] = []
        baselines: list[Baseline] = []
        for text in settings.compare_fail:
            try:
                gates.append(parse_gate(text))
            except ConfigError as error:
                problems.append(str(error))
        for name in settings.compare:
            try:
                baselines.append(resolve(name, settings.folder, settings.save))
            except BenchError as error:
                problems.append(str(error))
        if gates and not settings.compare:
            problems.append("--bench-compare-fail needs a baseline: --bench-compare RUN, or --bench-compare last-green")
        for name in settings.across:
            if name not in ACROSS:
                problems.append(f"--bench-compare-across: no difference {name!r}; there are {', '.join(ACROSS)}")
        known = {name: planner.known_values(name) for name in (*planner.registry.axis_order, *LABEL_KEYS)}
        axes = {
            name: [] if name == "delivery" else [str(value) for value in values or ()] for name, values in known.items()
        }
        problems += check(gates, list(planner.corpora), None, axes)
        return cls(settings, tuple(gates), tuple(baselines)), problems

    def judge(
        self, store: RunStore, rows: Iterable[Row], planner: Planner, ask: Callable[[Sequence[Cell]], list[Row]]
    ) -> Verdict:
        """The verdict on the run's planned cells; writes ``gates.json`` and ``summary.md`` into its folder.

        ``ask`` answers cells anew, for gates that want a loss confirmed. Raises BenchError for a baseline that cannot
        be read.
        """
        from benchsuite_reports.gates.evaluate import Against, confirm, evaluate, trunk_of
        from benchsuite_reports.gates.summary import as_lines, write_report

        planned = {cell for cells in store.info["plan"].values() for cell in cells}
        mine = [row for row in rows if row["cell"] in planned]
        against, trunk = [Against.read(each) for each in self.baselines], trunk_of(store.info)
        lines = [_against(each.baseline, each.rows, mine) for each in against if each.baseline.path]
        if not self.gates:
            return Verdict([*lines, *(f"{each.name}: {each.reason}" for each in self.baselines if not each.path)])
        report = evaluate(self.gates, mine, against, self.settings.across, trunk=trunk)
        if report.again:
            by_cell = {row["cell"]: row for row in mine}
            again = [_next_repeat(planner, by_cell[cell], self.settings.repeats) for cell in report.again]
            report = confirm(report, ask(again), against, self.settings.across, trunk=trunk)
        lines += as_lines(report)
        write_report(store.path, report, mine)
        return Verdict(lines, report.failed)


def _against(baseline: Baseline, before: Iterable[Any], rows: Sequence[Row]) -> str:
    """One line on a baseline: how many cells both have, and how many of their scores and answers moved."""
    known = {row["cell"]: row for row in before}
    pairs = [(known[row["cell"]], row) for row in rows if row["cell"] in known]
    scored = [(a["score"], b["score"]) for a, b in pairs if a["score"] is not None and b["score"] is not None]
    better, worse = sum(a < b for a, b in scored), sum(a > b for a, b in scored)
    changed = sum((a["answer"] or "") != (b["answer"] or "") for a, b in pairs)
    return (
        f"{baseline.shown}: {len(pairs)} of {len(rows)} cells in both; {better} better, {worse} worse, {changed} with "
        f"another answer (benchsuite compare shows them by arm)"
    )


def _next_repeat(planner: Planner, row: Row, repeats: int) -> Cell:
    """The same question under the same arm, asked as no planned cell is; a controller of workers has rows alone."""
    axes = planner.registry.axes_of(row["suite"])
    values = {axis: row[f"arm.{axis}"] for axis in axes if f"arm.{axis}" in row}
    arm = make_arm({**values, "repeat": values["repeat"] + repeats}, axes, planner.registry.defaults)
    outlines = planner.corpora[row["suite"]].outline(arm.text("length"))
    return make_cell(row["suite"], arm, next(each for each in outlines if each.id == row["question"]))
