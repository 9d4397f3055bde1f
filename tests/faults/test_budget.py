"""What is in flight at once: within a run, of one request, and with two runs in one folder."""

from __future__ import annotations

BUDGET = 8


def test_workers_share_one_budget_and_one_request_is_in_flight_once(site, endpoint) -> None:
    site.corpus(24, pictures=12)  # without an image both deliveries send the same request
    endpoint.hold_after(0)
    running = site.start("--bench-concurrency", str(BUDGET), workers=4)
    running.wait_for(lambda: endpoint.in_flight.total() >= BUDGET, "the budget is used")
    endpoint.release()
    assert running.end() == 0, running.text
    assert endpoint.peak == BUDGET
    assert endpoint.peak_of_one == 1
    assert len(endpoint.asked) == len(set(endpoint.asked)) == 36
    assert len(site.rows()) == 48


def test_two_runs_at_once_have_folders_of_their_own(site, endpoint) -> None:
    site.corpus(6)
    endpoint.hold_after(0)
    runs = [site.start("--bench-concurrency", "4", workers=workers) for workers in (0, 2)]
    for running in runs:
        running.wait_for(lambda: endpoint.in_flight.total() == 8, "both run")
    endpoint.release()
    for running in runs:
        assert running.end() == 0, running.text
    assert [path.name for path in site.runs] == ["0001_nogit_run", "0002_nogit_run"]
    assert len(site.rows(0)) == 12
    assert site.rows(0) == site.rows(1)
    assert all(site.info(run)["finished"] and not site.info(run)["continued"] for run in (0, 1))
