"""`make perf-memlens`: every case of cases/memlens against a 50 ms endpoint, beside the same run without requests.

The run without requests is answered by an in-process responder. Images, indexes and vectors are prepared before, in a
run that is not measured: it takes a quarter of an hour on two cores from nothing. The bar is on the ratio of wall time
to (requests x latency / slots + the run without requests).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from project import LATENCY_S, ROOT, SLOTS, make_project, run, serving, stats

BAR = 1.3
REPLY = "The answer is 42."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bench-dir", type=Path, help="caches to use (default: made from nothing)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), ROOT / "cases" / "memlens", REPLY)
        bench = (options.bench_dir or project / "bench").resolve()
        command = [sys.executable, "-m", "pytest", "cases", "-q", "-p", "no:cacheprovider", "-n", str(options.workers)]
        command += ["--bench-dir", str(bench), "--bench-concurrency", str(SLOTS)]
        run([*command, "--bench-model", "constant"], project)
        with serving(REPLY) as url:
            off = ["--bench-cache", "off"]
            alone = run([*command, *off, "--bench-model", "constant"], project)
            with_requests = run([*command, *off, "--bench-model", f"{url}#mock"], project)
            seen = stats(url)
    served, ideal = seen["served"], seen["served"] * LATENCY_S / SLOTS
    ratio = with_requests / (ideal + alone)
    print(f"{served} requests at {LATENCY_S * 1000:.0f} ms, {seen['peak']} at once: {ideal:.1f} s of waiting")
    print(f"without requests {alone:.1f} s, with them {with_requests:.1f} s: {ratio:.2f} x their sum (bar {BAR})")
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
