"""`make perf`: 2,000 cells against a 50 ms endpoint, the whole pytest process beside a bare aiohttp client.

Both sides run in turn in one go; quote the ratio, not one side's seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LATENCY_S, BUDGET = 0.05, 64
WORDS = ("the", "a", "plan", "trip", "garden", "meeting", "paper", "kitchen", "window", "train", "report", "weather")


def write_corpus(folder: Path, questions: int) -> Path:
    """A text corpus in the MemLens format: every question has a history of its own, 12 turns in 3 sessions."""
    dice = random.Random(7)
    items = []
    for number in range(questions):
        sessions = [
            [{"role": role, "content": " ".join(dice.choices(WORDS, k=25))} for role in ("user", "assistant") * 2]
            for _ in range(3)
        ]
        items.append(
            {
                "question_id": f"q_{number:08x}",
                "question_type": "information_extraction",
                "question": f"What is fact {number}?",
                "answer": "42",
                "question_date": "2024/05/31 (Fri) 07:58",
                "haystack_dates": ["2024/05/06 (Mon) 17:17"] * 3,
                "haystack_session_ids": [f"s_{number}_{session}" for session in range(3)],
                "haystack_sessions": sessions,
                "answer_session_ids": [f"s_{number}_0"],
            }
        )
    (folder / "release_images").mkdir()
    path = folder / "dataset_32k.json"
    path.write_text(json.dumps(items))
    return path


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command and everything it started."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cells", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = write_corpus(Path(temporary), given.cells)
        server = subprocess.Popen(
            [sys.executable, str(HERE / "endpoint.py"), str(LATENCY_S), str(BUDGET)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        port = int(server.stdout.readline())
        pytest = [
            sys.executable,
            "-m",
            "pytest",
            "cases/memlens/test_delivery.py",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",  # which no user's run loads
            "--bench-corpus",
            f"memlens={corpus}",
            "--bench-model",
            f"http://127.0.0.1:{port}#mock",
            "--bench-axis",
            "retrieval=recency",
            "--bench-axis",
            "delivery=noimg",
            "--bench-cache",
            "off",
            "--bench-dir",
            f"{temporary}/bench",
        ]
        bare = [sys.executable, str(HERE / "bare.py"), str(port), str(given.cells), str(BUDGET)]
        timed([*pytest, "--collect-only"])  # indexes the corpus once
        commands = {"bare aiohttp": bare, "pytest -n 0": [*pytest, "-n", "0"], "pytest -n 4": [*pytest, "-n", "4"]}
        sides: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
        for _ in range(given.rounds):
            for name, command in commands.items():
                wall, cpu = timed(command)
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
                    stats = json.load(answer)
                assert stats["served"] == given.cells, (name, stats)
                assert stats["peak"] <= BUDGET, (name, stats)
                sides[name].append((wall, cpu, stats["peak"]))
        server.stdin.close()
        server.wait(timeout=5)
    ideal = given.cells * LATENCY_S / BUDGET
    print(f"{given.cells} cells, {LATENCY_S * 1000:.0f} ms a request, {BUDGET} at once: ideal {ideal:.2f} s")
    limit = statistics.median(wall for wall, _, _ in sides["bare aiohttp"])
    for name, runs in sides.items():
        wall = statistics.median(w for w, _, _ in runs)
        cpu = statistics.median(c for _, c, _ in runs)
        print(
            f"{name:13} {wall:6.2f} s wall ({wall / limit:.2f}x bare)  {given.cells / wall:6.0f} cells/s"
            f"  {1000 * cpu / given.cells:5.2f} ms CPU a cell  peak in flight {max(p for _, _, p in runs)}"
        )


if __name__ == "__main__":
    main()
