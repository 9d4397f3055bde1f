"""A folder of cases that performance runs are made in, and the endpoint that they ask."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LATENCY_S, SLOTS = 0.05, 64
CONFTEST = """
from benchsuite.models.wire import Reply

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]


class Constant:
    async def send(self, spec, request):
        return Reply({reply!r}, finish="stop", model_served=spec.model, prompt_tokens=900)


def pytest_bench_register(registry):
    registry.transport("constant", Constant)
"""


def make_project(folder: Path, cases: Path, reply: str) -> Path:
    """A project of these cases, in which the model ``constant`` gives one reply in process."""
    shutil.copytree(cases, folder / "cases")
    (folder / "conftest.py").write_text(CONFTEST.format(reply=reply))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    return folder


@contextmanager
def serving(reply: str) -> Iterator[str]:
    """The address of an endpoint that gives one reply after ``LATENCY_S``."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "endpoint.py"), str(LATENCY_S), str(SLOTS), reply],
        stdin=subprocess.PIPE,  # it ends with it
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()


def stats(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as reply:
        read: dict[str, float] = json.load(reply)
        return read


def run(command: list[str], project: Path) -> float:
    """Wall seconds of a whole run. Raises CalledProcessError when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:])
    done.check_returncode()
    return time.perf_counter() - begun
