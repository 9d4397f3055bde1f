"""A small project of cases, a small corpus and a scripted endpoint: what the plugin's tests stand on."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image as PillowImage

CASES = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg", "pixels"], tables=["delivermem_t1"])
def test_delivery(outcome):
    assert outcome.answered
"""


def png(text: str) -> bytes:
    """A tiny PNG whose pixels differ by ``text``."""
    colour = tuple(base64.b16decode(f"{abs(hash_of(text)):06X}"[:6]))
    buffer = io.BytesIO()
    PillowImage.new("RGB", (64, 48), colour).save(buffer, "PNG")
    return buffer.getvalue()


def hash_of(text: str) -> int:
    import hashlib

    return int(hashlib.sha256(text.encode()).hexdigest()[:6], 16)


def item(number: int, **changes: Any) -> dict[str, Any]:
    """A MemLens question with a history of its own: two sessions, one image, gold in the first turn."""
    name = f"{hash_of(f'image {number}'):012x}"
    return {
        "question_id": f"q_{number:08x}",
        "question_type": "information_extraction",
        "question": f"What is fact {number}?",
        "answer": f"value{number}",
        "question_date": "2024/05/31 (Fri) 07:58",
        "haystack_dates": ["2024/05/06 (Mon) 17:17", "2024/05/07 (Tue) 09:00"],
        "haystack_session_ids": [f"s_{number}_a", f"s_{number}_b"],
        "haystack_sessions": [
            [
                {
                    "role": "user",
                    "content": f"Note {number}. <image>",
                    "images": [{"file": f"needle_images/{name}.png"}],
                    "has_answer": True,
                },
                {"role": "assistant", "content": "Thanks."},
            ],
            [{"role": "user", "content": f"Something else {number}."}, {"role": "assistant", "content": "Fine."}],
        ],
        "answer_session_ids": [f"s_{number}_a"],
        **changes,
    }


def write_corpus(folder: Path, items: list[dict[str, Any]], length: str = "32k") -> Path:
    """The dataset file of these items, with every image they name drawn."""
    for each in items:
        for session in each["haystack_sessions"]:
            for turn in session:
                for image in turn.get("images", ()):
                    path = folder / "release_images" / image["file"]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(png(image["file"]))
    (folder / "release_images").mkdir(parents=True, exist_ok=True)
    path = folder / f"dataset_{length}.json"
    path.write_text(json.dumps(items))
    return path


@dataclass
class Project:
    """A project folder in which pytest runs as a user would run it."""

    pytester: pytest.Pytester
    endpoint: Endpoint

    def corpus(self, count: int = 6, **changes: Any) -> Path:
        return write_corpus(self.pytester.path / "corpus", [item(number, **changes) for number in range(count)])

    def run(self, *args: str, workers: int = 0) -> pytest.RunResult:
        """pytest on the cases with the corpus and the scripted endpoint, unless ``args`` say otherwise."""
        given = [*args]
        if not any(arg.startswith("--bench-corpus") for arg in given):
            given += ["--bench-corpus", f"memlens={self.pytester.path / 'corpus' / 'dataset_32k.json'}"]
        if not any(arg.startswith("--bench-model") for arg in given):
            given += ["--bench-model", self.endpoint.model]
        return self.pytester.runpytest_subprocess("cases", "-p", "no:cacheprovider", "-n", str(workers), *given)

    def refused(self, *args: str, workers: int = 0) -> list[str]:
        """The problems of a run that must end before it begins: exit 4, nothing sent, no outcome, no other words."""
        result = self.run(*args, workers=workers)
        assert result.ret == 4, result.stdout.str() + result.stderr.str()
        assert self.endpoint.bodies == []
        assert self.runs == []
        lines = [line for line in result.stderr.lines if line]
        assert all(line.startswith("benchsuite: ") for line in lines), lines
        assert not result.stdout.str().strip()
        return [line.removeprefix("benchsuite: ") for line in lines]

    @property
    def runs(self) -> list[Path]:
        return sorted((self.pytester.path / ".bench" / "runs").glob("0*"))

    def rows(self, run: int = -1) -> dict[str, dict[str, Any]]:
        """Outcome rows of a run by cell, without the ``run`` block."""
        rows = [json.loads(line) for line in (self.runs[run] / "outcomes.jsonl").read_text().splitlines()]
        assert len({row["cell"] for row in rows}) == len(rows), "a cell stands twice"
        return {row["cell"]: {key: value for key, value in row.items() if key != "run"} for row in rows}


@dataclass
class Endpoint:
    """An OpenAI-compatible loopback endpoint that answers as ``script`` says and counts what it gets.

    ``script`` maps a request body to a reply text, or to an aiohttp response, or to an exception to drop the line.
    """

    script: Callable[[dict[str, Any]], Any] = lambda body: "value1"
    delay_s: float = 0.0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0
    port: int = 0

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self.port}#scripted"

    @property
    def times_asked(self) -> Counter[str]:
        """How often each distinct request body came."""
        return Counter(json.dumps(body, sort_keys=True) for body in self.bodies)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self.delay_s)
            reply = self.script(body)
        finally:
            self.in_flight -= 1
        if isinstance(reply, web.StreamResponse):
            return reply
        if isinstance(reply, Exception):
            cut = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
            await cut.prepare(request)
            await cut.write(b'{"choices": [')
            assert request.transport is not None
            request.transport.close()
            return cut
        return web.json_response(completion(reply))


def completion(text: str | None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Served in a thread of this process, on a port of its own."""
    served = Endpoint()
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", served.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        served.port = runner.addresses[0][1]
        started.set()
        return runner

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    yield served
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.fixture
def project(pytester: pytest.Pytester, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("BENCH_API_KEY", raising=False)
    pytester.makeconftest('pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]')
    pytester.makeini("[pytest]\nstrict = true\naddopts = --import-mode=importlib\n")
    (pytester.path / "cases").mkdir()
    (pytester.path / "cases" / "test_delivery.py").write_text(CASES)
    return Project(pytester, endpoint)
