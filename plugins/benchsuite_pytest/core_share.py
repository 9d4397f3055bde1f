"""The engine's thread and pytest's take turns on the interpreter: on one core a turn is cheap, across cores it is not.

2,000 cells against a 50 ms endpoint take 3.0 s of wall time on one core and 3.5 s across two (`make perf`).
"""

from __future__ import annotations

import os
from contextlib import suppress


class SharedCore:
    """Threads that ``join`` stay on one core until they ``leave``; threads they start inherit where they are.

    Where the system knows no affinity, or only one core is there, nothing happens.
    """

    def __init__(self) -> None:
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._allowed = set(allowed)
        self._one = {allowed[os.getpid() % len(allowed)]} if len(allowed) > 1 else set()

    def join(self) -> None:
        """Keep the calling thread on the shared core."""
        self._place(self._one)

    def leave(self) -> None:
        """Let the calling thread run anywhere again."""
        self._place(self._allowed if self._one else set())

    def _place(self, cores: set[int]) -> None:
        if cores:
            with suppress(OSError):  # a container may forbid it
                os.sched_setaffinity(0, cores)
