"""A run that is killed, and the same command again: nothing is left, nothing is lost, nothing is paid twice."""

from __future__ import annotations

import os
import signal
import time

import pytest

QUESTIONS, CELLS, BUDGET, ANSWERED = 12, 24, 4, 8


def start_and_hold(site, endpoint, *args: str, workers: int):
    """A run in which some answers are in the cache and as many requests as may be are waiting for theirs."""
    site.corpus(QUESTIONS)
    endpoint.hold_after(ANSWERED)
    running = site.start("--bench-concurrency", str(BUDGET), *args, workers=workers)
    running.wait_for(lambda: endpoint.in_flight.total() == BUDGET and len(site.cached()) == ANSWERED, "held")
    assert len(endpoint.asked) == ANSWERED + BUDGET
    return running


def check_nothing_is_paid_twice(site, endpoint, asked_before: int, cached_before: set[str], ends: int = 1) -> None:
    """Every cell has a right answer, an end lost what was in flight at most, and nothing cached was asked again."""
    rows = site.rows()
    assert len(rows) == CELLS
    assert {row["word"] for row in rows.values()} == {"right"}
    assert len(endpoint.asked) <= CELLS + ends * BUDGET
    asked_again = endpoint.asked[asked_before:]
    assert not [ask for ask in asked_again if rows[ask]["requests"][0] in cached_before]
    assert set(endpoint.asked) == set(rows)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("ended_by", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_the_same_command_continues_a_run_whose_controller_was_ended(site, endpoint, ended_by, workers) -> None:
    running = start_and_hold(site, endpoint, workers=workers)
    begun = time.monotonic()
    if ended_by == "SIGINT":
        os.killpg(running.process.pid, signal.SIGINT)  # as a terminal sends Ctrl-C
    else:
        running.process.send_signal(signal.Signals[ended_by])
    assert site.left(begun) == []
    assert running.end() == (-signal.SIGKILL if ended_by == "SIGKILL" else pytest.ExitCode.INTERRUPTED)
    assert not running.lines("INTERNALERROR|Traceback")
    cached, asked = site.cached(), len(endpoint.asked)
    assert len(cached) == ANSWERED
    assert asked == ANSWERED + BUDGET
    assert site.info()["finished"] is None

    endpoint.release()
    code, again = site.run("--bench-concurrency", str(BUDGET), workers=workers)
    assert code == 0, again.text
    assert [path.name for path in site.runs] == ["0001_nogit_run"]
    assert len(again.lines("benchsuite: continuing .*0001_nogit_run: 24 cells")) == 1
    assert site.info()["finished"]
    check_nothing_is_paid_twice(site, endpoint, asked, cached)


def test_a_killed_worker_is_replaced(site, endpoint) -> None:
    running = start_and_hold(site, endpoint, workers=2)
    cached, asked = site.cached(), len(endpoint.asked)
    os.kill(site.pid("gw0"), signal.SIGKILL)
    endpoint.release()
    assert running.end() == 0, running.text
    assert len(running.lines("replacing crashed worker gw0")) == 1
    # a case whose reports had all arrived, but not the word that it was done, passes twice
    assert len(running.lines("2[45] passed, 1 rerun")) == 1, running.text
    assert site.info()["finished"]
    check_nothing_is_paid_twice(site, endpoint, asked, cached)


def test_a_killed_worker_that_may_not_be_replaced_leaves_cells_that_are_named(site, endpoint) -> None:
    running = start_and_hold(site, endpoint, "--max-worker-restart", "0", workers=2)
    cached, asked = site.cached(), len(endpoint.asked)
    os.kill(site.pid("gw0"), signal.SIGKILL)
    endpoint.release()
    assert running.end() == 11, running.text
    not_run = {cell for cells in site.info()["plan"].values() for cell in cells}
    not_run -= {row["cell"] for row in site.rows().values()}
    assert 0 < len(not_run) < CELLS
    assert len(running.lines(f"^benchsuite: {len(not_run)} cells were not run:$")) == 1
    named = {line.strip() for line in running.lines("^  memlens:")}
    assert named == set(sorted(not_run)[:10])

    code, again = site.run("--bench-concurrency", str(BUDGET), workers=2)
    assert code == 0, again.text
    check_nothing_is_paid_twice(site, endpoint, asked, cached, ends=2)  # gw1 was told to end early, too


def test_a_worker_may_die_before_it_has_collected_anything(site, endpoint) -> None:
    site.corpus(QUESTIONS)
    with (site.folder / "conftest.py").open("a") as conftest:
        conftest.write("""
def pytest_collection(session):
    if getattr(session.config, "workerinput", {}).get("workerid") in ("gw0", "gw1"):
        os._exit(9)
""")
    code, running = site.run(workers=2)
    assert code == 0, running.text
    assert len(site.rows()) == CELLS
    assert len(endpoint.asked) == CELLS


def test_a_case_that_kills_its_worker_twice_has_failed(site, endpoint) -> None:
    site.corpus(QUESTIONS)
    cases = site.folder / "cases" / "test_delivery.py"
    cases.write_text(cases.read_text() + "    if outcome.question == 'q_5': __import__('os')._exit(9)\n")
    code, running = site.run("--bench-concurrency", str(BUDGET), workers=2)
    assert code == 1, running.text
    assert len(running.lines("2 failed, 22 passed, 2 rerun")) == 1
    assert len(running.lines("^replacing crashed worker")) == 4
    assert len(running.lines("^worker 'gw.' crashed while running '.*-q_5")) == 2
    assert len(endpoint.asked) <= CELLS + 4 * BUDGET
