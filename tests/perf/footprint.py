"""`make perf`: wall time and peak memory of what `make bench` runs, the first time and with every answer cached.

Memory is the resident size summed over the process tree, sampled every 0.1 s (shared pages count in each).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = os.sysconf("SC_PAGE_SIZE")


def tree_bytes(root: int) -> int:
    """Resident bytes of a process and all its descendants, now."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            parents[int(entry.name)], sizes[int(entry.name)] = int(stat[1]), int(stat[21]) * PAGE
    members, grew = {root}, True
    while grew:
        more = {child for child, parent in parents.items() if parent in members} - members
        members |= more
        grew = bool(more)
    return sum(sizes.get(member, 0) for member in members)


def measured(command: list[str]) -> tuple[float, int, int]:
    """Wall seconds, peak bytes and exit status."""
    begun, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    while process.poll() is None:
        peak = max(peak, tree_bytes(process.pid))
        time.sleep(0.1)
    return time.perf_counter() - begun, peak, process.returncode


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "cases",
            "-k",
            "memlens",
            "-m",
            "core",
            "-n",
            "4",
            "-q",
            "--bench-dir",
            folder,
        ]
        for what in ("first run", "all cached"):
            wall, peak, status = measured(command)
            if status:
                sys.exit(f"{what}: exit {status}")
            print(f"core, {what:10} {wall:6.1f} s wall  {peak / 2**20:7.0f} MiB peak over the process tree")


if __name__ == "__main__":
    main()
