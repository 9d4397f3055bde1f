"""Servers that a run launches: killed, not needed, and gone with the run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

QUESTIONS, CELLS, BUDGET, ANSWERED = 8, 16, 4, 5
SLOTS = min(BUDGET, os.cpu_count() or 1)  # a launched reader gets one request a processor

# a server of the launch contract that holds its answers after the first ones until there is a file `go`
SERVER = """
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder, nonce, answered = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
lock, asked = threading.Lock(), 0

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.reply({"nonce": nonce})
    def do_POST(self):
        global asked
        self.rfile.read(int(self.headers["content-length"]))
        with lock:
            asked += 1
            mine = asked
            with (folder / "asked").open("a") as log:
                log.write("x")
        while mine > answered and not (folder / "go").exists():
            time.sleep(0.01)
        self.reply({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "value1"}}]})
    def reply(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

def until_stdin_ends():
    while os.read(0, 100):
        pass
    os._exit(0)

threading.Thread(target=until_stdin_ends, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(folder / "server.pid").write_text(str(os.getpid()))
print(json.dumps({"ready": True, "port": server.server_address[1], "nonce": nonce}), flush=True)
server.serve_forever()
"""
LAUNCH = """
import sys
from benchsuite.models.launch import launch

def pytest_bench_launch_model(config, spec):
    here = Path(__file__).parent
    with (here / "started").open("a") as log:
        log.write("x")
    return launch(spec.family, [sys.executable, str(here / "server.py"), str(here), "n1", "ANSWERED"],
                  here / "server.log", "n1", 30.0)
"""


def length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.fixture
def launched(site):
    """The site with a server of its own in the embedded reader's place."""
    site.corpus(QUESTIONS)
    (site.folder / "server.py").write_text(SERVER)
    with (site.folder / "conftest.py").open("a") as conftest:
        conftest.write(LAUNCH.replace("ANSWERED", str(ANSWERED)))
    return site


def held(site, workers: int):
    """A run in which some answers are in the cache and as many requests as may be are waiting for theirs."""
    running = site.start("--bench-model", "embedded", "--bench-concurrency", str(BUDGET), workers=workers)
    asked = ANSWERED + SLOTS
    running.wait_for(lambda: length(site.folder / "asked") == asked and len(site.cached()) == ANSWERED, "held")
    return running


def test_a_server_ends_with_its_killed_controller(launched) -> None:
    running = held(launched, workers=2)
    assert len(launched.processes()) == 4
    running.process.kill()
    assert launched.left(time.monotonic()) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_server_is_one_error_for_what_was_open_and_a_rerun_completes_it(launched, workers) -> None:
    site, asked = launched, launched.folder / "asked"
    running = held(site, workers)
    os.kill(site.pid("server"), signal.SIGKILL)
    assert running.end() == 1, running.text
    assert len(running.lines("^benchsuite: ")) >= 3
    causes = running.lines("^benchsuite: .* not scored")
    assert len(causes) == 1, running.text
    assert "the server was killed (signal 9)" in causes[0]
    assert f"({CELLS - ANSWERED} cells, not scored)" in causes[0]
    assert len(running.lines("^benchsuite: starting ")) == 1
    assert length(site.folder / "started") == 1
    rows = site.rows().values()
    assert len(rows) == CELLS
    assert sum(row["status"] == "error" for row in rows) == CELLS - ANSWERED
    assert all(row["score"] is None for row in rows if row["status"] == "error")
    cached = site.cached()

    (site.folder / "go").touch()
    code, again = site.run("--bench-model", "embedded", "--bench-concurrency", str(BUDGET), workers=workers)
    assert code == 0, again.text
    rows = site.rows().values()
    assert len(rows) == CELLS
    assert {row["status"] for row in rows} == {"scored"}
    assert cached < site.cached()
    assert length(asked) == ANSWERED + SLOTS + CELLS - ANSWERED
    assert length(site.folder / "started") == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_a_cached_run_starts_no_server_and_sends_nothing(launched, workers) -> None:
    site, asked = launched, launched.folder / "asked"
    (site.folder / "go").touch()
    model = ("--bench-model", "embedded")

    code, empty = site.run(*model, "--bench-replay", workers=workers)
    assert code == 1, empty.text
    rows = site.rows()
    assert len(rows) == CELLS
    assert {row["error.kind"] for row in rows.values()} == {"replay"}
    causes = empty.lines("^benchsuite: .* not scored")
    assert len(causes) == 1, empty.text
    assert f"({CELLS} cells, not scored)" in causes[0]
    assert length(site.folder / "started") == length(asked) == 0

    code, first = site.run(*model, workers=workers)
    assert code == 0, first.text
    assert len(first.lines("^benchsuite: starting ")) == length(site.folder / "started") == 1
    assert length(asked) == CELLS
    rows = site.rows()
    for more in ([], ["--bench-replay"]):
        code, again = site.run(*model, *more, workers=workers)
        assert code == 0, again.text
        assert site.rows() == rows
        assert not again.lines("^benchsuite: starting ")
        assert length(site.folder / "started") == 1
        assert length(asked) == CELLS
    assert len(site.runs) == 4


@pytest.mark.slow
def test_the_embedded_reader_ends_with_its_run_and_is_not_started_again(site) -> None:
    """The built-in server: its controller is killed, then it is, then all cells are completed."""
    site.corpus(8, size=(700, 500))
    args = ["--bench-model", "embedded", "-m", "memlens and cell(delivery='pixels')"]

    def mid_run():
        known = len(site.cached())
        running = site.start(*args)
        running.wait_for(lambda: len(site.cached()) > known, "answering")
        readers = [pid for pid in site.processes() if b"embedded.serve" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(readers) == 1
        return running, readers[0]

    running, _ = mid_run()
    running.process.kill()
    assert site.left(time.monotonic()) == []

    running, reader = mid_run()
    os.kill(reader, signal.SIGKILL)
    assert running.end() == 1, running.text
    causes = running.lines("^benchsuite: .* not scored")
    assert len(causes) == 1, running.text
    assert "the server was killed (signal 9)" in causes[0]
    assert len(running.lines("^benchsuite: starting ")) == 1

    code, again = site.run(*args)
    assert code == 0, again.text
    assert len(site.rows()) == 8
    assert "error" not in {row["status"] for row in site.rows().values()}
    assert site.left(time.monotonic()) == []
