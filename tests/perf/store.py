"""`make perf`: 100,000 outcomes listed and loaded (every row checked), with their bars.

The runs are made in a temporary folder; a row is as long as those of memlens-mini. Listing is measured over four runs,
finished and not; loading over one run that holds all, in a process that does nothing else. Each is run ROUNDS times.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchsuite.outcome import Outcome
from benchsuite.runs import RunStore

OUTCOMES, RUNS, ROUNDS = 100_000, 4, 3
LIST_BAR_S, LOAD_BAR_S = 2.0, 5.0
TIMED = """
import re, sys, time
from pathlib import Path
from benchsuite.runs import list_runs, load_run
begun = time.perf_counter()
if sys.argv[1] == "list":
    found = sum(run.cells for run in list_runs(Path(sys.argv[2])) if not run.problem)
else:
    found = len(load_run(Path(sys.argv[2])).rows)
taken = time.perf_counter() - begun
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])  # of this process alone
print(found, taken, peak_kib / 1024)
"""


def outcome(number: int) -> Outcome:
    error = number % 100 == 0
    ended = {"status": "error", "word": "error", "error_kind": "timeout", "error_message": "no answer in 300 s"}
    scored = {"status": "scored", "word": "right", "score": 1.0, "scores": {"subem": 1.0, "f1": 1.0}}
    retrieval = ("text", "image", "both", "oracle")[number % 4]
    axes = {"length": "1x", "state": "none", "method": "none", "retrieval": retrieval, "k": 10, "delivery": "pixels"}
    return Outcome(
        cell=f"memlens:1x-{retrieval}-pixels-embedded-q_{number:08x}",
        suite="memlens",
        corpus=f"{7:064x}",
        question=f"q_{number:08x}",
        type="temporal_reasoning",
        split="eval",
        cluster=f"c_{number % 60:02d}",
        labels=("label", "task:TR_DateExtraction"),
        answerable=True,
        arm={**axes, "model": "embedded", "judge": "none", "repeat": 0},
        answer=f"2024/08/{number % 28 + 1:02d}",
        gold="2024/08/16",
        refused=False,
        metric="subem",
        scorer="memlens-strict/2",
        protocol="memlens/1",
        renderer="memory/1",
        items=tuple(f"s{place}t{number % 5}" for place in range(10)),
        n_items=10,
        n_images=6,
        n_gold=1,
        n_gold_delivered=1,
        n_calls=1,
        requests=(f"{number:064x}",),
        usage_prompt=1489,
        usage_completion=6,
        image_tokens=1255,
        model_served="embedded",
        fingerprint="embedded/2",
        finish="stop",
        run={"id": "0001_nogit_run", "worker": "gw0", "shard": 0, "cached": False, "latency_s": 0.0822, "t": 1.5},
        **(ended if error else scored),
    )


def make_runs(bench_dir: Path, runs: int, finished: bool) -> Path:
    share = OUTCOMES // runs
    for run in range(runs):
        outcomes = [outcome(number) for number in range(run * share, (run + 1) * share)]
        with RunStore.open(bench_dir, f"part{run}", {"test": [each.cell for each in outcomes]}, {}) as store:
            for each in outcomes:
                store.append(each.to_row())
            if finished:
                store.finish(0)
    return store.path


def timed(what: str, path: Path) -> tuple[float, float, float]:
    """Median and longest seconds, and peak MiB of the process."""
    taken, peak = [], 0.0
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", TIMED, what, str(path)]
        found, seconds, peak_mib = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        if int(found) != OUTCOMES:
            sys.exit(f"store: {what}: {found} of {OUTCOMES} outcomes")
        taken.append(float(seconds))
        peak = max(peak, float(peak_mib))
    return statistics.median(taken), max(taken), peak


def main() -> None:
    broken = False
    with tempfile.TemporaryDirectory() as folder:
        places = {state: Path(folder) / state for state in ("finished", "unfinished", "one")}
        make_runs(places["finished"], RUNS, finished=True)
        make_runs(places["unfinished"], RUNS, finished=False)
        one = make_runs(places["one"], 1, finished=True)
        for name, what, path, bar in [
            (f"list {RUNS} finished runs", "list", places["finished"], LIST_BAR_S),
            (f"list {RUNS} unfinished runs", "list", places["unfinished"], LIST_BAR_S),
            ("load one run, every row checked", "load", one, LOAD_BAR_S),
        ]:
            median, most, peak = timed(what, path)
            broken |= median > bar
            print(
                f"store, {name}, {OUTCOMES:,} outcomes: {median:.2f} s (most {most:.2f}), bar {bar:.0f} s; "
                f"process peak {peak:.0f} MiB"
            )
    if broken:
        sys.exit("store: over the bar")


if __name__ == "__main__":
    main()
