"""Endpoints that give no answer: pytest ERRORs, rows without a score, one line a cause, nothing in the cache."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing

import pytest
from aiohttp import web

WORKERS = [0, 2]
COUNT = 4  # questions, two cells each
KEY = "key-of-the-test"


def status(code: int, text: str = "", **headers: str):
    body = json.dumps({"error": {"message": text}})
    return lambda body_sent: web.Response(status=code, text=body, content_type="application/json", headers=headers)


def text(body: str, kind: str = "application/json"):
    return lambda body_sent: web.Response(text=body, content_type=kind)


def choices(*given: object):
    return text(json.dumps({"model": "scripted-1", "choices": list(given)}))


SOON = {"Retry-After": "0.01"}

# name: the script, the kind of error, what its message says after the endpoint, requests sent for each cell
FAULTS = {
    "429": (status(429, "over load", **SOON), "http", "HTTP 429: over load (after 2 tries)", 2),
    "500": (status(500, "out of order", **SOON), "http", "HTTP 500: out of order (after 2 tries)", 2),
    "400": (status(400, "too long"), "http", "HTTP 400: too long", 1),
    "html": (text("<html>Sign in</html>", "text/html"), "body", "the reply is an HTML page, not JSON", 1),
    "no-choice": (choices(), "body", "the reply has no choices", 1),
    "null-content": (choices({"message": {"role": "assistant", "content": None}}), "body", "content is null", 1),
    "half-json": (text('{"choices": [{"mess'), "body", "the reply is cut off JSON (after 2 tries)", 2),
    "dropped": (lambda body_sent: ConnectionResetError(), "transport", "the reply was cut off (after 2 tries)", 2),
}


def stored_answers(project) -> int:
    with closing(sqlite3.connect(project.pytester.path / ".bench" / "cache" / "answers.sqlite")) as db:
        return db.execute("SELECT count(*) FROM answers").fetchone()[0]


def cause_lines(result) -> list[str]:
    return [line for line in result.stdout.lines if line.startswith("benchsuite: ") and "not scored" in line]


def check_all_are_errors(project, result, message: str, kind: str) -> None:
    """Every cell is an ERROR with this message, which stands once in the terminal; nothing is stored."""
    assert result.ret == 1, result.stdout.str()
    result.assert_outcomes(errors=2 * COUNT)
    rows = list(project.rows().values())
    assert len(rows) == 2 * COUNT
    assert {(row["status"], row["word"], row["error.kind"], row["error.message"]) for row in rows} == {
        ("error", "error", kind, message)
    }
    assert {(row["score"], row["answer"], row["refused"]) for row in rows} == {(None, None, None)}
    assert not [key for row in rows for key in row if key.startswith("scores.")]
    assert cause_lines(result) == [f"benchsuite: {message} ({2 * COUNT} cells, not scored)"]
    assert stored_answers(project) == 0


def check_a_second_run_scores(project, endpoint, workers: int) -> None:
    """The endpoint is well again: every cell is asked anew and scored."""
    endpoint.script, before = lambda body: "value1", len(endpoint.bodies)
    result = project.run(workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert len(endpoint.bodies) == before + 2 * COUNT
    assert {row["status"] for row in project.rows().values()} == {"scored"}
    assert cause_lines(result) == []


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_call_without_an_answer_is_never_scored(project, endpoint, name, workers):
    endpoint.script, kind, words, tries = FAULTS[name]
    project.corpus(COUNT)
    result = project.run("--bench-retries", "2", workers=workers)
    check_all_are_errors(project, result, f"scripted (http://127.0.0.1:{endpoint.port}/v1): {words}", kind)
    assert set(endpoint.times_asked.values()) == {tries}
    if name in ("500", "null-content"):
        check_a_second_run_scores(project, endpoint, workers)


@pytest.mark.parametrize(("code", "workers"), [(401, 0), (401, 2), (403, 0), (404, 0)])
def test_an_endpoint_that_lets_nobody_in_is_closed(project, endpoint, monkeypatch, code, workers):
    """The cells that were not sent yet get the same error; the key is nowhere to be read."""
    monkeypatch.setenv("BENCH_API_KEY", KEY)
    endpoint.script = status(code, f"no entry for {KEY}")
    project.corpus(COUNT)
    result = project.run("--bench-concurrency", "2", workers=workers)
    message = f"scripted (http://127.0.0.1:{endpoint.port}/v1): HTTP {code}: no entry for ***"
    check_all_are_errors(project, result, message, "closed")
    assert len(endpoint.bodies) <= 4  # two slots; a worker's second request may leave before the first is answered
    assert KEY not in result.stdout.str() + result.stderr.str()
    kept = [path for path in (project.pytester.path / ".bench").rglob("*") if path.is_file()]
    assert project.runs[0] / "outcomes.jsonl" in kept
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
    if code == 401:
        check_a_second_run_scores(project, endpoint, workers)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_closed_port_is_one_cause(project, endpoint, workers):
    project.corpus(COUNT)
    with closing(socket.socket()) as held:  # bound, not listening: nobody else gets the port meanwhile
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        result = project.run("--bench-model", f"{url}#scripted", "--bench-retries", "2", workers=workers)
    check_all_are_errors(project, result, f"scripted ({url}/v1): cannot connect: connection refused", "closed")


@pytest.mark.parametrize("workers", WORKERS)
def test_a_down_endpoint_is_one_cause_where_few_cells_meet_it(project, workers):
    """Fewer cells in a process than it takes to close the endpoint: the words are the same."""
    project.corpus(COUNT)
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        result = project.run(
            "--bench-model",
            f"{url}#scripted",
            "--bench-retries",
            "2",
            "--bench-concurrency",
            "1",
            "--bench-limit",
            "1",
            workers=workers,
        )
    assert result.ret == 1
    assert cause_lines(result) == [
        f"benchsuite: scripted ({url}/v1): cannot connect: connection refused (2 cells, not scored)"
    ]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_lone_surrogate_is_cleaned_and_scored(project, endpoint, workers):
    endpoint.script = lambda body: "value1 \ud800 and so on"
    project.corpus(COUNT)
    result = project.run(workers=workers)
    assert result.ret == 0, result.stdout.str()
    rows = project.rows().values()
    assert {row["status"] for row in rows} == {"scored"}
    assert {row["answer"] for row in rows} == {"value1 \ufffd and so on"}
    assert {row["question"] for row in rows if row["word"] == "right"} == {"q_00000001"}
    assert project.run(workers=workers).ret == 0  # from the cache
    assert len(endpoint.bodies) == 2 * COUNT
    assert project.rows(0) == project.rows(1)


@pytest.mark.parametrize("workers", WORKERS)
def test_two_causes_are_two_lines_and_the_rest_is_scored(project, endpoint, workers):
    def script(body):
        text_sent = json.dumps(body["messages"][-1]["content"])
        if "What is fact 2?" in text_sent:
            return status(400, "no such thing")(body)
        return web.Response(text="<html>") if "What is fact 3?" in text_sent else "value1"

    endpoint.script = script
    project.corpus(COUNT)
    result = project.run("-v", workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=2 * COUNT - 4, errors=4)
    where = f"benchsuite: scripted (http://127.0.0.1:{endpoint.port}/v1)"
    assert cause_lines(result) == [
        f"{where}: HTTP 400: no such thing (2 cells, not scored)",
        f"{where}: the reply is an HTML page, not JSON (2 cells, not scored)",
    ]
    assert stored_answers(project) == 2 * COUNT - 4
    # the same command asks the failed cells alone
    endpoint.script, before = lambda body: "value1", len(endpoint.bodies)
    assert project.run(workers=workers).ret == 0
    assert len(endpoint.bodies) == before + 4
    assert len(project.rows()) == 2 * COUNT
