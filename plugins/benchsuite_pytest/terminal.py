"""What a person sees: outcome letters, progress while cells run, tables and causes of errors at the end."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

# names of user properties: a cell's word, its whole row, the row of one bench.ask
WORD, ROW, DIRECT_ROW = "bench", "bench-row", "bench-direct"

# outcome word: (letter, word in -v)
WORDS = {
    "right": (".", "RIGHT", "green"),
    "wrong": ("w", "WRONG", "yellow"),
    "refused": ("r", "REFUSED", "cyan"),
    "grounded": (".", "GROUNDED", "green"),
    "mirage": ("m", "MIRAGE", "yellow"),
    "unparsed": ("u", "UNPARSED", "purple"),
}
_EVERY_S = 10.0


def status(word: str) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """pytest's (category, letter, word) of an answered cell. The category stays 'passed', so the summary counts."""
    if word not in WORDS:
        return None
    letter, long, colour = WORDS[word]
    return "passed", letter, (long, {colour: True})


class Progress:
    """A line about the run on the real terminal, at most every ten seconds while cells are being answered.

    pytest captures fd 1 while a test runs; this writes to a duplicate taken before that.
    """

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe
        self._fd = os.dup(1)
        self._stop = threading.Event()
        self._last = ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="bench-progress", daemon=True)
            self._thread.start()

    def note(self, text: str) -> None:
        """Write one line now."""
        os.write(self._fd, f"\nbenchsuite: {text}\n".encode(errors="replace"))

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=1)
        os.close(self._fd)

    def _loop(self) -> None:
        while not self._stop.wait(_EVERY_S):
            text = self._describe()
            if text and text != self._last:
                self._last = text
                self.note(text)


class Pace:
    """How far a run is, in words."""

    def __init__(self) -> None:
        self.planned = 0
        self.words: Counter[str] = Counter()
        self._begun = time.monotonic()

    def describe(self) -> str:
        done = sum(self.words.values())
        if not self.planned:
            return ""
        rate = done / max(0.1, time.monotonic() - self._begun)
        known = done >= self.planned / 10  # the first cells also wait for the server to start
        left = f", about {(self.planned - done) / rate:.0f} s left" if known and done < self.planned else ""
        errors = f", {self.words['error']} errors" if self.words["error"] else ""
        return f"{done} of {self.planned} cells{errors}{left}"


def write_causes(reporter: pytest.TerminalReporter, causes: Counter[str]) -> None:
    """One line per distinct cause of errors, with its count."""
    for cause, count in sorted(causes.items()):
        cells = "1 cell" if count == 1 else f"{count} cells"
        reporter.write_line(f"benchsuite: {cause} ({cells}, not scored)", red=True)


def write_missing(reporter: pytest.TerminalReporter, missing: Sequence[str]) -> None:
    if missing:
        reporter.write_line(f"benchsuite: {len(missing)} cells were not run:", red=True)
        for cell in missing[:10]:
            reporter.write_line(f"  {cell}")
        if len(missing) > 10:
            reporter.write_line(f"  and {len(missing) - 10} more")
