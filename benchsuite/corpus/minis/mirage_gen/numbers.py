"""Numbers for logs and tables that are the answer to no question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from benchsuite.corpus.mirage_audit import words_of


class Numbers:
    """Random numbers in given ranges; those of ``answers`` never occur."""

    def __init__(self, rng: Random, answers: Sequence[str]) -> None:
        self.rng = rng
        self._banned = {word for answer in answers for word in words_of(answer) if word[0].isdigit()}

    def whole(self, low: int, high: int) -> str:
        return self._fresh(lambda: str(self.rng.randint(low, high)))

    def decimal(self, low: float, high: float, places: int) -> str:
        return self._fresh(lambda: f"{self.rng.uniform(low, high):.{places}f}")

    def clock(self, seconds: int) -> str:
        """A time of day."""
        return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    def digest(self, length: int = 7) -> str:
        """Hex digits that begin with a letter, as of a commit."""
        return self.rng.choice("abcdef") + "".join(self.rng.choice("0123456789abcdef") for _ in range(length - 1))

    def _fresh(self, make: Callable[[], str]) -> str:
        while True:
            text = make()
            if not self._banned.intersection(words_of(text)):
                return text
