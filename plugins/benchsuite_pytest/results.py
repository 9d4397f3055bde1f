"""The controller's end of a run: rows come in with reports, tables and the exit status go out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from benchsuite.errors import BenchError
from benchsuite_pytest.collect import REFUSED
from benchsuite_pytest.gate import Gatekeeper, Verdict
from benchsuite_pytest.session import EXIT_INCOMPLETE, BenchSession
from benchsuite_pytest.tables import Reported
from benchsuite_pytest.terminal import DIRECT_ROW, ROW, WORD, status, write_causes, write_missing
from benchsuite_reports.gates import EXIT_GATE

PRINTED_TABLES = 4
"""Tables up to which the terminal shows them whole; all of them stand in the run's folder."""


class Results:
    """Registered in the controller only. Takes rows off the reports, so that JUnit gets one word a cell."""

    def __init__(self, session: BenchSession) -> None:
        self._session = session
        self._reported = Reported()
        self._problems: list[str] = []
        self._causes: Counter[str] = Counter()
        self._gate_lines: Sequence[str] = ()
        self._unplanned: Sequence[str] = ()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A cell's row comes with its setup report, rows of the direct lane with the teardown report."""
        for name, value in report.user_properties:
            if (name, report.when) in ((ROW, "setup"), (DIRECT_ROW, "teardown")):
                self._session.receive(str(value))
        report.user_properties = [pair for pair in report.user_properties if pair[0] not in (ROW, DIRECT_ROW)]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # see Bridge.pytest_handlecrashitem
            return "rerun", "R", ("RERUN", {"yellow": True})
        if report.when == "call" and report.passed:
            return status(next((str(value) for name, value in report.user_properties if name == WORD), ""))
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Find what was not run, write the tables, hand all rows to third parties."""
        bench = self._session
        bench.complete(interrupted=_cut_short(session))
        self._unplanned = bench.nothing_planned(session)
        if bench.store is not None:
            rows = list(bench.store.rows().values())
            self._causes = Counter(str(row["error.message"]) for row in rows if row["status"] == "error")
            self._reported = bench.report(rows)
            self._problems += self._reported.problems
            if bench.gatekeeper is not None and not _cut_short(session):
                self._judge(bench, bench.gatekeeper, rows)
            try:
                session.config.hook.pytest_bench_finish(config=session.config, outcomes=rows, run=bench.store.path)
            except Exception as error:  # the tables and the run are whole: show them, and say what failed
                self._problems.append(f"pytest_bench_finish: {type(error).__name__}: {error}")
                session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _judge(self, bench: BenchSession, gatekeeper: Gatekeeper, rows: list[dict[str, Any]]) -> None:
        """A gate that cannot be judged for a fault of its baseline fails, like one that is not met."""
        assert bench.store is not None
        try:
            verdict = gatekeeper.judge(bench.store, rows, bench.prepared.planner, bench.ask_again)
        except BenchError as error:
            verdict = Verdict([str(error)], failed=True)
        self._gate_lines = verdict.lines
        bench.gate_failed = verdict.failed

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        bench = self._session
        if bench.store is None:
            for line in self._unplanned:
                terminalreporter.write_line(f"benchsuite: {line}", red=True)
            return
        from benchsuite_reports.formats import as_text

        terminalreporter.section("benchsuite")
        tables = self._reported.tables
        if len(tables) <= PRINTED_TABLES:
            for table in tables:
                terminalreporter.write_line(as_text(table))
        else:
            for table in tables:
                terminalreporter.write_line(f"{table.id}: {table.heading}")
            terminalreporter.write_line(f"tables, in {bench.run_path}/tables; benchsuite report --table ID prints one")
        if self._reported.figures:
            terminalreporter.write_line(f"figures, in {bench.run_path}/tables: {', '.join(self._reported.figures)}")
        if self._reported.certified:
            terminalreporter.write_line(f"pairs of requests: {self._reported.certified} (certificates.jsonl)")
        for line in self._gate_lines:
            terminalreporter.write_line(line, red=bench.gate_failed)
        for problem in self._problems:
            terminalreporter.write_line(f"benchsuite: {problem}", yellow=True)
        words = ", ".join(f"{count} {word}" for word, count in sorted(bench.pace.words.items()) if count)
        if words:
            terminalreporter.write_line(f"outcomes: {words}")
        terminalreporter.write_line(f"run: {bench.run_path}")
        write_causes(terminalreporter, self._causes)
        write_missing(terminalreporter, bench.missing)


class ExitStatus:
    """Registered so as to speak last: pytest's 1 to 5 stand, then 11 for cells that were not run, then 10 for a gate.

    A declaration that was refused is a usage error: 4, also where pytest calls it a failed collection.
    """

    def __init__(self, session: BenchSession) -> None:
        self._session = session

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and str(report.longrepr).startswith(REFUSED):
            self._session.refused = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        bench = self._session
        if bench.refused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and bench.nothing_planned(session):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and bench.settings.shard is not None:
            session.exitstatus = pytest.ExitCode.OK  # an empty shard is no fault
        if session.exitstatus == pytest.ExitCode.OK and bench.missing:
            session.exitstatus = EXIT_INCOMPLETE
        if session.exitstatus == pytest.ExitCode.OK and bench.gate_failed:
            session.exitstatus = EXIT_GATE
        bench.finish(int(session.exitstatus), interrupted=_cut_short(session))


def _cut_short(session: pytest.Session) -> bool:
    return bool(session.shouldstop or session.shouldfail) or session.exitstatus in (2, 3)
