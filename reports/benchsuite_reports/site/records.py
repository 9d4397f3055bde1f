"""Where the records of a run's calls stand, and what they refer to by digest; they are read again one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from benchsuite.files import whole_lines
from benchsuite_reports.contents import Call
from benchsuite_reports.table import Row

ImageKey = tuple[str, str]
"""The sha256 of an image as sent and the digest of its corpus."""


@dataclass(frozen=True, slots=True)
class Records:
    """The calls of the cells by where their lines begin. ``images`` are the recorded parts of all images, each once,
    ``long`` the sha256 of the texts that are kept once; ``problems`` are the lines that cannot be read."""

    places: Mapping[str, list[tuple[Path, int]]]
    images: Mapping[ImageKey, Mapping[str, Any]]
    long: frozenset[str]
    problems: tuple[str, ...] = ()
    _open: dict[Path, BinaryIO] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Path, rows: Mapping[str, Row], long: int) -> Records:
        """``long`` is the characters from which a text that is sent more than once is kept by its digest."""
        places: dict[str, list[tuple[Path, int]]] = {}
        images: dict[ImageKey, Mapping[str, Any]] = {}
        times: dict[str, int] = {}
        problems = []
        for path in sorted((run / "calls").glob("*.jsonl")):
            start = 0
            for number, line in whole_lines(path):
                try:
                    call = json.loads(line)
                    parts = [part for _, parts in call["messages"] for part in parts]
                    row = rows.get(call["cell"])
                    if row is not None:
                        places.setdefault(call["cell"], []).append((path, start))
                        corpus = str(row["corpus"])
                        images.update({(part["sha256"], corpus): part for part in parts if "source" in part})
                        for part in parts:
                            if "source" not in part and part["n"] >= long:
                                times[part["sha256"]] = times.get(part["sha256"], 0) + 1
                except (ValueError, KeyError, TypeError):
                    problems.append(f"{path.name}:{number}: not the record of a call")
                start += len(line)
        often = frozenset(sha256 for sha256, count in times.items() if count > 1)
        return cls(places, images, often, tuple(problems))

    def calls(self, cells: Iterable[str]) -> dict[str, dict[str, Call]]:
        """Of these cells: cell id to request key to record, the last of a key standing."""
        found: dict[str, dict[str, Call]] = {}
        for cell in cells:
            for path, start in self.places.get(cell, ()):
                if path not in self._open:
                    self._open[path] = path.open("rb")
                self._open[path].seek(start)
                call: Call = json.loads(self._open[path].readline())
                found.setdefault(cell, {})[str(call["key"])] = call
        return found

    def close(self) -> None:
        for file in self._open.values():
            file.close()
