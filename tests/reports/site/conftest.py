"""A finished run of a real endpoint on loopback, with a judge, an error, odd texts and a long one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

QUESTION, BROKEN = "q_eb8f0316", "q_eb8f0317"
HOSTILE = '</script><script>alert(1)</script> & "red" *md* \u202e\x07 ' + "w" * 200
LONG = "A long message. " * 90
CASES = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], k=[3], delivery=["noimg", "pixels", "pixels+s32", "noimg+conv"])
def test_delivery(outcome):
    assert outcome.answered
"""


def picture(colour: str, size: tuple[int, int], kind: str) -> bytes:
    buffer = io.BytesIO()
    PillowImage.new("RGB", size, colour).save(buffer, kind)
    return buffer.getvalue()


PICTURES = {"door.png": picture("red", (64, 48), "PNG"), "gate.jpg": picture("green", (90, 60), "JPEG")}


def corpus_item(question: str) -> dict[str, Any]:
    turns = [
        {
            "role": "user",
            "content": f"The door <image> {question}",
            "images": [{"file": "door.png"}],
            "has_answer": True,
        },
        {"role": "user", "content": f"{HOSTILE} <image>", "images": [{"file": "gate.jpg"}]},
        {"role": "assistant", "content": LONG},
    ]
    return {
        "question_id": question,
        "question_type": "information_extraction",
        "question": f"Which colour has the <b>door</b> of {question}?",
        "answer": "red",
        "question_date": "2024/05/31 (Fri) 07:58",
        "haystack_dates": ["2024/05/06 (Mon) 17:17"],
        "haystack_session_ids": ["s_a"],
        "haystack_sessions": [turns],
        "answer_session_ids": ["s_a"],
    }


@dataclass
class Bench:
    """A project with one finished run, and the bodies that its endpoint got."""

    folder: Path
    bodies: list[dict[str, Any]]

    @property
    def dir(self) -> Path:
        return self.folder / ".bench"

    @property
    def run(self) -> Path:
        return next((self.dir / "runs").glob("0001*"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("site")
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if BROKEN in json.dumps(body):
                self.say(400, {"error": {"message": "no <i>such</i> thing"}})
                return
            bodies.append(body)
            seen = "image_url" in json.dumps(body)
            text = "VERDICT=1" if body["model"] == "grader" else "<b>red</b>" if seen else "Insufficient information"
            message = {"role": "assistant", "content": text}
            self.say(200, {"model": "scripted-1", "choices": [{"finish_reason": "stop", "message": message}]})

        def say(self, status: int, reply: dict[str, Any]) -> None:
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        run_cases(folder, "--bench-model", f"{url}#scripted", "--bench-judge", f"{url}#grader")
        yield Bench(folder, bodies)
        server.shutdown()
        thread.join(10)


def run_cases(folder: Path, *args: str) -> None:
    """A run of the two questions: one answered in all arms, one refused by the endpoint."""
    (folder / "cases").mkdir()
    (folder / "cases" / "test_delivery.py").write_text(CASES)
    (folder / "conftest.py").write_text('pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]')
    (folder / "pytest.ini").write_text("[pytest]\nstrict = true\naddopts = --import-mode=importlib\n")
    images = folder / "corpus" / "release_images"
    images.mkdir(parents=True)
    for name, data in PICTURES.items():
        (images / name).write_bytes(data)
    (folder / "corpus" / "dataset_32k.json").write_text(json.dumps([corpus_item(QUESTION), corpus_item(BROKEN)]))
    command = [sys.executable, "-m", "pytest", "cases", "-p", "no:cacheprovider", "-n", "0", *args]
    command += ["--bench-corpus", f"memlens={folder / 'corpus'}", "--bench-retries", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert "4 passed, 4 errors" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
