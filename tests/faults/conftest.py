"""A folder of cases that is run as processes of its own, to be killed, and an endpoint that can hold its answers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image, ImageDraw

CASES = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg", "pixels"])
def test_delivery(outcome):
    assert outcome.answered
"""
CONFTEST = """
import os
from pathlib import Path

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]

def pytest_configure(config):
    name = getattr(config, "workerinput", {}).get("workerid", "controller")
    (Path(__file__).parent / f"{name}.pid").write_text(str(os.getpid()))
"""
MARK = "BENCH_TEST_PROCESSES"
LEFT_S = 4.0  # nothing of a run is left after 2 s, 4 on a busy machine; what nobody ends stays for 5 or more
PATIENCE_S = 90.0
Ask = tuple[int, str]  # a question's number and how it was delivered: one cell, one request


@dataclass
class Endpoint:
    """Answers every question right; after ``hold_after(n)`` the first n at once, the others once it is released."""

    port: int = 0
    asked: list[Ask] = field(default_factory=list)
    in_flight: Counter[Ask] = field(default_factory=Counter)
    peak: int = 0
    peak_of_one: int = 0
    _answers: float = float("inf")
    _released: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self.port}#scripted"

    def hold_after(self, answers: int) -> None:
        self._answers = answers

    def release(self) -> None:
        self._answers = float("inf")
        self._loop.call_soon_threadsafe(self._released.set)

    async def answer(self, request: web.Request) -> web.Response:
        content = (await request.json())["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        number = int(text.rsplit("What is fact ", 1)[1].split("?")[0])
        ask = (number, "noimg" if isinstance(content, str) else "pixels")
        self.asked.append(ask)
        self.in_flight[ask] += 1
        self.peak = max(self.peak, self.in_flight.total())
        self.peak_of_one = max(self.peak_of_one, self.in_flight[ask])
        if len(self.asked) > self._answers:
            await self._released.wait()
        else:
            await asyncio.sleep(0.001)
        self.in_flight[ask] -= 1
        return web.json_response(
            {
                "model": "scripted-1",
                "usage": {"prompt_tokens": 10, "completion_tokens": 2},
                "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": f"value{number}"}}],
            }
        )

    async def serve(self) -> web.AppRunner:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        return runner


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    loop = served._loop
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(served.serve(), loop).result(10)
    yield served
    served.release()
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@dataclass
class Running:
    """One pytest of the folder, in a session of its own."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def lines(self, pattern: str) -> list[str]:
        return [line for line in self.text.splitlines() if re.search(pattern, line)]

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Until ``condition`` holds, while the process lives."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, f"ended before {what}:\n{self.text}"
            assert time.monotonic() < deadline, f"never {what}:\n{self.text}"
            time.sleep(0.01)

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)


@dataclass
class Site:
    """A folder with cases and a corpus; everything that is started in it carries ``mark`` in its environment."""

    folder: Path
    endpoint: Endpoint
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[Running] = field(default_factory=list)

    def corpus(self, count: int, pictures: int | None = None, size: tuple[int, int] = (64, 48)) -> None:
        """``count`` questions with a history of their own; the first ``pictures`` (all) of them have an image."""
        folder = self.folder / "corpus"
        (folder / "release_images").mkdir(parents=True)
        items = []
        for number in range(count):
            turn: dict[str, Any] = {"role": "user", "content": f"Note {number}.", "has_answer": True}
            if pictures is None or number < pictures:
                turn["images"] = [{"file": f"{number}.png"}]
                turn["content"] += " <image>"
                picture = Image.new("RGB", size, (number, 255 - number, 128))
                ImageDraw.Draw(picture).text((8, 8), f"Total {number}.50")
                picture.save(folder / "release_images" / f"{number}.png")
            items.append(
                {
                    "question_id": f"q_{number}",
                    "question_type": "information_extraction",
                    "question": f"What is fact {number}?",
                    "answer": f"value{number}",
                    "question_date": "2024/05/31 (Fri) 07:58",
                    "haystack_dates": ["2024/05/06 (Mon) 17:17"],
                    "haystack_session_ids": [f"s_{number}"],
                    "answer_session_ids": [f"s_{number}"],
                    "haystack_sessions": [[turn, {"role": "assistant", "content": "Thanks."}]],
                }
            )
        (folder / "dataset_32k.json").write_text(json.dumps(items))

    def start(self, *args: str, workers: int = 0) -> Running:
        """pytest with the corpus and the scripted endpoint, unless ``args`` name another model."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "cases",
            "-p",
            "no:cacheprovider",
            "-n",
            str(workers),
            "--bench-corpus",
            "memlens=corpus/dataset_32k.json",
            *args,
        ]
        if "--bench-model" not in args:
            command += ["--bench-model", self.endpoint.model]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BENCH_"))}
        output = self.folder / f"output{len(self.started)}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**environment, MARK: self.mark},
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.started.append(Running(process, output))
        return self.started[-1]

    def run(self, *args: str, workers: int = 0) -> tuple[int, Running]:
        running = self.start(*args, workers=workers)
        return running.end(), running

    def pid(self, name: str) -> int:
        """Of ``gw0``, ``gw1`` and so on, or of what wrote another such file."""
        return int((self.folder / f"{name}.pid").read_text())

    def processes(self) -> list[int]:
        """What was started in this folder, or by what was started in it, and still runs."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes():  # empty for a process that nobody has waited for
                    found.append(int(entry.name))
        return found

    def left(self, since: float) -> list[str]:
        """The command lines of what still runs ``LEFT_S`` after ``since``."""
        while self.processes() and time.monotonic() < since + LEFT_S:
            time.sleep(0.02)
        commands = []
        for pid in self.processes():
            with suppress(OSError):
                commands.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        return commands

    def cached(self) -> set[str]:
        """Keys of the requests whose answers are in the cache."""
        file = self.folder / ".bench" / "cache" / "answers.sqlite"
        if not file.exists():
            return set()
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db, suppress(sqlite3.OperationalError):
            return {row[0] for row in db.execute("SELECT key FROM answers")}
        return set()

    @property
    def runs(self) -> list[Path]:
        return sorted((self.folder / ".bench" / "runs").glob("0*"))

    def info(self, run: int = -1) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.runs[run] / "run.json").read_text())
        return content

    def rows(self, run: int = -1) -> dict[Ask, dict[str, Any]]:
        """The rows of a run without their ``run`` block; no cell may stand there twice."""
        rows = [json.loads(line) for line in (self.runs[run] / "outcomes.jsonl").read_text().splitlines()]
        assert len({row["cell"] for row in rows}) == len(rows), "a cell stands twice"
        return {
            (int(row["question"].removeprefix("q_")), row["arm.delivery"]): {
                name: value for name, value in row.items() if name != "run"
            }
            for row in rows
        }


@pytest.fixture
def site(tmp_path: Path, endpoint: Endpoint) -> Iterator[Site]:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nstrict = true\naddopts = --import-mode=importlib\n")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "test_delivery.py").write_text(CASES)
    made = Site(tmp_path, endpoint)
    yield made
    for pid in made.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for running in made.started:
        running.process.wait(10)
