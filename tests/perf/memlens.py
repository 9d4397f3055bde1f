"""`make perf-memlens`: every case of cases/memlens against a 50 ms endpoint, beside the same run without requests.

The run without requests is answered by an in-process responder. Images, indexes and vectors are prepared before, in a
run that is not measured: it takes a quarter of an hour on two cores from nothing. The bar is on the ratio of wall time
to (requests x latency / slots + the run without requests).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LATENCY_S, SLOTS, BAR = 0.05, 64, 1.3
CONFTEST = """
from benchsuite.models.wire import Reply

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]


class Constant:
    async def send(self, spec, request):
        return Reply("The answer is 42.", finish="stop", model_served=spec.model, prompt_tokens=900)


def pytest_bench_register(registry):
    registry.transport("constant", Constant)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bench-dir", type=Path, help="caches to use (default: made from nothing)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        shutil.copytree(ROOT / "cases", project / "cases")
        (project / "conftest.py").write_text(CONFTEST)
        (project / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
        bench = (options.bench_dir or project / "bench").resolve()
        command = [sys.executable, "-m", "pytest", "cases", "-q", "-p", "no:cacheprovider", "-n", str(options.workers)]
        command += ["--bench-dir", str(bench), "--bench-concurrency", str(SLOTS)]
        run([*command, "--bench-model", "constant"], project)
        server = subprocess.Popen(
            [sys.executable, str(HERE / "endpoint.py"), str(LATENCY_S), str(SLOTS)],
            stdin=subprocess.PIPE,  # it ends with it
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            off = ["--bench-cache", "off"]
            alone = run([*command, *off, "--bench-model", "constant"], project)
            with_requests = run([*command, *off, "--bench-model", f"{url}#mock"], project)
            with urllib.request.urlopen(f"{url}/stats", timeout=10) as reply:
                stats = json.load(reply)
        finally:
            server.kill()
            server.wait()
    served, ideal = stats["served"], stats["served"] * LATENCY_S / SLOTS
    ratio = with_requests / (ideal + alone)
    print(f"{served} requests at {LATENCY_S * 1000:.0f} ms, {stats['peak']} at once: {ideal:.1f} s of waiting")
    print(f"without requests {alone:.1f} s, with them {with_requests:.1f} s: {ratio:.2f} x their sum (bar {BAR})")
    return int(ratio > BAR)


def run(command: list[str], project: Path) -> float:
    """Wall seconds of a whole run. Raises CalledProcessError when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:])
    done.check_returncode()
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
