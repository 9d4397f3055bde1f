"""A project that runs the core experiment on the bundled corpus; its runs share vectors, so that few are computed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchsuite.corpus.memlens import MINI_FOLDER

CASES = Path(__file__).parents[2] / "cases" / "memlens" / "test_delivery.py"
INI = "[pytest]\nstrict = true\naddopts = --import-mode=importlib\n"
Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, and what stood in the terminal."""

    folder: Path
    text: str

    @property
    def rows(self) -> list[Row]:
        """The outcome rows, without what depends on worker and clock."""
        lines = (self.folder / "outcomes.jsonl").read_text().splitlines()
        rows = [{key: value for key, value in json.loads(line).items() if key != "run"} for line in lines]
        assert len({row["cell"] for row in rows}) == len(rows), "a cell stands twice"
        return rows

    @property
    def by_arm(self) -> dict[tuple[str, str], dict[str, Row]]:
        """(retrieval, delivery) to rows by question."""
        arms: dict[tuple[str, str], dict[str, Row]] = {}
        for row in self.rows:
            arms.setdefault((row["arm.retrieval"], row["arm.delivery"]), {})[row["question"]] = row
        return arms

    @property
    def calls(self) -> dict[str, Row]:
        """The one call of each cell, as its skeleton was recorded."""
        lines = [json.loads(line) for file in (self.folder / "calls").iterdir() for line in file.open()]
        calls = {line["cell"]: line for line in lines}
        assert len(calls) == len(lines)
        return calls

    @property
    def blocks(self) -> dict[str, dict[str, Any]]:
        """The blocks of D-T1's JSON form by model."""
        table = json.loads((self.folder / "tables" / "delivermem_t1.json").read_text())
        return {block["heading"].rpartition(" model ")[2]: block for block in table["blocks"]}


@dataclass(frozen=True)
class Project:
    folder: Path
    bench: Path

    def run(self, name: str, workers: int = 0, only: str = "", **options: str | Sequence[str]) -> Run:
        """pytest in a process of its own, on the core experiment; fails here when that run fails.

        ``only`` is what ``-k`` takes.
        ``options`` are those that begin with ``--bench-``, repeated where several values are given; no answer
        comes from the cache unless they say so.
        """
        command = [sys.executable, "-m", "pytest", "cases", "-p", "no:cacheprovider", "-n", str(workers)]
        command += ["-k", only] if only else []
        for option, given in {"dir": str(self.bench), "save": name, "cache": "off", **options}.items():
            values = [given] if isinstance(given, str) else given
            command += [part for value in values for part in (f"--bench-{option}", value)]
        hidden = ("PYTEST_", "BENCH_", "COV_")
        environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        done = subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        found = re.findall(r"^run: (.+)$", done.stdout, re.MULTILINE)
        assert found, done.stdout[-4000:]
        return Run(self.folder / found[-1], done.stdout)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # vectors are computed once over all workers
    folder = tmp_path_factory.mktemp("project")
    (folder / "cases").mkdir()
    shutil.copy(CASES, folder / "cases" / "test_delivery.py")
    shutil.copy(Path(__file__).with_name("project_conftest.py"), folder / "conftest.py")
    (folder / "truth.json").write_text("{}")
    (folder / "pytest.ini").write_text(INI)
    return Project(folder, shared / "science-bench")


@pytest.fixture(scope="session")
def echo(project: Project) -> Run:
    """The four core arms, answered by a digest of each request."""
    return project.run("echo", model="echo")


@pytest.fixture(scope="session")
def corpus() -> dict[str, Row]:
    """The items of the bundled corpus that the core experiment asks, as its file has them, by question id."""
    items = json.loads((MINI_FOLDER / "dataset_1x.json").read_text())
    labels = json.loads((MINI_FOLDER / "labels.json").read_text())
    return {item["question_id"]: item for item in items if labels[item["question_id"]]["split"] == "eval"}


@dataclass
class Logged:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Endpoint:
    """A chat endpoint that keeps all it gets."""

    port: int
    requests: list[Logged] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    reply = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "zzyzx"}}]}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            served.requests.append(Logged(self.path, dict(self.headers.items()), body))
            content = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        served = Endpoint(server.server_port)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield served
        server.shutdown()
        thread.join(10)
