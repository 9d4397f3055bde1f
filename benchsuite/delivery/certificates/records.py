"""The records of a run's calls: where each stands, and what it says.

Only the places are held: a run of 50,000 cells has 400 MB of records. Messages that many of them share, as the cells of
one conversation do, are parsed once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchsuite.errors import BenchError, DataError
from benchsuite.files import whole_lines

NAMED = 5
"""Problems that are named one by one where there are more."""
_CONTEXTS, _MESSAGES = 64, 8192  # kept of what is parsed
_HEAD = 8192  # characters in which cell, role and key of a record stand
_SEAM = ']],["'  # between two messages of a record


@dataclass(frozen=True, slots=True)
class Place:
    """Where the record of a call stands: file, line number, offset and length in bytes."""

    path: Path
    number: int
    start: int
    length: int
    role: str
    key: str


class Records:
    """The records of one run's folder. ``problem`` names the lines that are none."""

    def __init__(self, run: Path) -> None:
        places: dict[str, list[Place]] = {}
        broken: list[str] = []
        for path in sorted((run / "calls").glob("*.jsonl")):
            start = 0
            for number, line in whole_lines(path):
                about = _about(line)
                if about is None:
                    broken.append(f"{path}:{number}: not the record of a call")
                else:
                    cell, role, key = about
                    places.setdefault(cell, []).append(Place(path, number, start, len(line), role, key))
                start += len(line)
        more = [f"and {len(broken) - NAMED} more"] if len(broken) > NAMED else []
        self.problem = "; ".join([*broken[:NAMED], *more])
        self._places = places
        self._context = lru_cache(maxsize=_CONTEXTS)(self._split)
        self._message = lru_cache(maxsize=_MESSAGES)(json.loads)

    def answers(self, cell: str, keys: Sequence[str]) -> list[Place]:
        """The answer calls among those that a row names, in its order; of a request that was sent twice the last one.

        Raises BenchError for a request without a record.
        """
        return list(self._answers(cell, keys))

    def first(self, cell: str, keys: Sequence[str]) -> Place | None:
        """The first of :meth:`answers`, whatever became of the records of the others."""
        return next(self._answers(cell, keys), None)

    def _answers(self, cell: str, keys: Sequence[str]) -> Iterator[Place]:
        for key in keys:
            found = [place for place in self._places.get(cell, ()) if place.key == key]
            if not found:
                raise BenchError("no record of the request")
            yield from [place for place in found if place.role == "answer"][-1:]

    def read(self, place: Place) -> Mapping[str, Any]:
        """The record, its messages shared with other records. Raises DataError where it is none."""
        with place.path.open("rb") as file:
            file.seek(place.start)
            line = file.read(place.length)
        try:
            call = self._parsed(line.decode())
            _ = call["role"], call["key"], call["model"], call["params"], call["tools"], call["messages"]
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{place.path}:{place.number}", None, None, "not the record of a call") from None
        return call

    def _parsed(self, line: str) -> Mapping[str, Any]:
        head, mark, rest = line.rstrip().partition('"messages":[')
        context, seam, last = rest[:-2].rpartition(_SEAM)
        if mark and seam and rest.endswith("]}"):
            try:
                call: dict[str, Any] = json.loads(head + mark + "]}")
                call["messages"] = [*self._context(context + "]]"), json.loads('["' + last)]
                return call
            except ValueError:  # the seam stood in a text
                pass
        whole: Mapping[str, Any] = json.loads(line)
        return whole

    def _split(self, context: str) -> list[Any]:
        """The messages of a context. Raises ValueError where it does not come apart into messages."""
        first, *others = context.removesuffix("]]").split(_SEAM)
        return [self._message(f"{first}]]"), *(self._message(f'["{each}]]') for each in others)]


def _about(line: bytes) -> tuple[str, str, str] | None:
    """Cell, role and key of a record, its first fields; a record is long, and is not parsed for them."""
    text = line[:_HEAD].decode("utf-8", "replace")
    found: list[str] = []
    at = 0
    try:
        for name in ('{"cell":', ',"role":', ',"key":'):
            if not text.startswith(name, at):
                return None
            value, at = json.JSONDecoder().raw_decode(text, at + len(name))
            if not isinstance(value, str):
                return None
            found.append(value)
    except ValueError:
        return None
    return found[0], found[1], found[2]
