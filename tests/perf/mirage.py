"""`make perf-mirage`: 800 probes at four states against a 50 ms endpoint, scaled and at the paper's depths.

The bars are on how long the endpoint was busy, from the first request to the last reply, against the waiting alone
(requests x latency / slots). The whole run stands beside it, and the same run answered in process. At the end a
checkpoint of 100,000 tokens is restored 800 times.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from project import LATENCY_S, ROOT, SLOTS, make_project, run, serving, stats

BARS = {"tenth": 1.5, "paper": 4.0}
RESTORES, RESTORE_S, RESTORE_MB = 800, 5.0, 300
REPLY = "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE"


def main() -> int:
    over = False
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), ROOT / "cases" / "mirage", REPLY)
        with serving(REPLY) as url:
            for length, bar in BARS.items():
                over |= measured(project, url, length) > bar
        deep = [sys.executable, "-m", "pytest", "cases/test_states.py", "-q", "-n", "0", "--bench-model", "constant"]
        deep += ["--bench-dir", str(project / "bench"), "--bench-axis", "length=paper", "--bench-limit", "1"]
        run([*deep, "--bench-axis", "state=S1-d99k"], project)
        over |= restored(project / "bench")
    return int(over)


def measured(project: Path, url: str, length: str) -> float:
    """How many times its ideal the run at one scale takes."""
    command = [sys.executable, "-m", "pytest", "cases/test_states.py", "-q", "-p", "no:cacheprovider", "-n", "2"]
    command += ["--bench-dir", str(project / "bench"), "--bench-axis", f"length={length}", "--bench-cache", "off"]
    command += ["--bench-axis", "summariser=constant", "--bench-concurrency", str(SLOTS)]
    run([*command, "--bench-model", "constant"], project)  # builds the checkpoints
    alone = run([*command, "--bench-model", "constant"], project)
    stats(url)
    asked = run([*command, "--bench-model", f"{url}#mock"], project)
    seen = stats(url)
    waiting = seen["served"] * LATENCY_S / SLOTS
    ratio = seen["span_s"] / waiting
    print(
        f"{length}: {seen['served']} requests, {seen['peak']} at once: the endpoint was busy for "
        f"{seen['span_s']:.2f} s, {ratio:.1f} x the waiting (bar {BARS[length]}); "
        f"the run took {asked:.1f} s, without requests {alone:.1f} s"
    )
    return ratio


def restored(bench: Path) -> bool:
    """Whether restoring the deepest checkpoint takes more than its bars."""
    code = f"""
import resource, sys, time
from pathlib import Path
from benchsuite.runtime.checkpoint import CheckpointStore
store = CheckpointStore(Path({str(bench / "cache")!r}))
deepest = max((store.load(each) for each in store.ids()), key=lambda each: each.active)
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
copies = [store.restore(deepest) for _ in range({RESTORES})]
took = time.perf_counter() - begun
print(deepest.active, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tokens, took, peak = (float(each) for each in done.stdout.split())
    print(
        f"a checkpoint of {tokens:,.0f} tokens restored {RESTORES} times: {took:.3f} s (bar {RESTORE_S}), the process "
        f"holds {peak:.0f} MB in all (bar {RESTORE_MB})"
    )
    return took > RESTORE_S or peak > RESTORE_MB


if __name__ == "__main__":
    sys.exit(main())
