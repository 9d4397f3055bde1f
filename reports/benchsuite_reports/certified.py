"""Certificates of the pairs that a table shows, from the records of what a run sent (SCIENCE of a contrast: two legs).

``matched``: outside the declared variables the two requests of a pair are equal. ``altered``: every declared variable
really changed; a pair where it could not stays in n, and is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.delivery.certificates import Certificate, Sent, certify, variables
from benchsuite.delivery.evidence import PixelEvidence
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import BenchError, DataError
from benchsuite_reports.table import Row, RunFacts

NAMED = 5
"""Pairs that are named with their first difference; the file of certificates has all."""


@dataclass(frozen=True, slots=True)
class ContrastCertificate:
    """A contrast over its ``n`` pairs. ``faults`` are the unmatched ones with their first difference, ``missing`` the
    pairs without a certificate, by reason; ``remarks`` what the server's counts say."""

    variables: tuple[str, ...]
    n: int
    matched: int
    altered: int
    unaltered: Mapping[str, int]
    faults: tuple[str, ...]
    missing: Mapping[str, int]
    remarks: Mapping[str, int]

    @property
    def sound(self) -> bool:
        """Every pair is matched."""
        return self.matched == self.n

    def __str__(self) -> str:
        if len(self.missing) == 1 and sum(self.missing.values()) == self.n:
            return f"not certified: {next(iter(self.missing))}"
        parts = [f"matched {self.matched}/{self.n}, altered {self.altered}/{self.n}"]
        parts += [f"{count} not altered: {why}" for why, count in self.unaltered.items()]
        parts += [f"{count} not certified: {why}" for why, count in self.missing.items()]
        parts += [f"{remark} ({count})" for remark, count in self.remarks.items()]
        return f"{' + '.join(self.variables) or 'nothing declared'}: " + "; ".join(parts)


def certify_pairs(pairs: Sequence[tuple[Row, Row]], facts: RunFacts) -> ContrastCertificate | None:
    """The certificate of a contrast, whose pairs are (a, b) rows of one question; None where the run gives none."""
    if facts.certificates is None or not pairs:
        return None
    found = [(str(a["question"]), facts.certificates(a, b)) for a, b in pairs]
    known = [(question, each) for question, each in found if isinstance(each, Certificate)]
    names = dict.fromkeys(name for _, each in known for name in each.variables)
    return ContrastCertificate(
        variables=tuple(names),
        n=len(pairs),
        matched=sum(each.matched for _, each in known),
        altered=sum(each.altered for _, each in known),
        unaltered=Counter("; ".join(each.unaltered) for _, each in known if not each.altered),
        faults=_first(f"{question}: {each.difference}" for question, each in known if not each.matched),
        missing=Counter(each for _, each in found if isinstance(each, str)),
        remarks=Counter(each.tokens for _, each in known if each.tokens),
    )


class Certificates:
    """Certificates of pairs of one or several runs, each made once. ``runs`` are folders by the run id of their rows.

    Only the places of the records are held: a run of 50,000 cells has 400 MB of them.
    """

    def __init__(
        self, runs: Mapping[str, Path], deliveries: Callable[[str], Delivery], evidence: PixelEvidence | None = None
    ) -> None:
        self._places = {run: _places(folder) for run, folder in runs.items()}
        self._deliveries = deliveries
        self._evidence = evidence
        self._made: dict[tuple[str, str, str, str], Certificate | str] = {}

    def __call__(self, a: Row, b: Row) -> Certificate | str:
        """The certificate of two rows of one question, or why there is none."""
        key = (_run_of(a), str(a["cell"]), _run_of(b), str(b["cell"]))
        if key not in self._made:
            try:
                declared = variables(a, b, self._deliveries)
                self._made[key] = certify(self._sent(a), self._sent(b), declared, self._deliveries, self._evidence)
            except BenchError as error:
                self._made[key] = str(error)
        return self._made[key]

    def lines(self) -> list[str]:
        """Every certificate that was made, as JSON, one a line."""
        return [
            json.dumps(
                {"a": key[1], "b": key[3], **({"runs": [key[0], key[2]]} if key[0] != key[2] else {}), **_facts(each)}
            )
            for key, each in self._made.items()
        ]

    def _sent(self, row: Row) -> Sent:
        keys: Any = row["requests"]
        places = self._places.get(_run_of(row), {})
        found = None
        for path, start, length in places.get(str(row["cell"]), ()):
            with path.open("rb") as file:
                file.seek(start)
                call = json.loads(file.read(length))
            if call["role"] == "answer" and call["key"] in keys:
                found = call
        if found is None:
            raise BenchError("no record of the request")
        return Sent(found, row)


def _facts(made: Certificate | str) -> dict[str, object]:
    if isinstance(made, str):
        return {"problem": made}
    return {
        "variables": list(made.variables),
        "matched": made.matched,
        "difference": made.difference,
        "altered": made.altered,
        "unaltered": list(made.unaltered),
        "tokens": made.tokens,
    }


def _run_of(row: Row) -> str:
    run: Any = row["run"]
    return str(run.get("id", ""))


def _first(lines: Iterable[str]) -> tuple[str, ...]:
    every = list(lines)
    more = (f"and {len(every) - NAMED} more",) if len(every) > NAMED else ()
    return (*every[:NAMED], *more)


_START = b'{"cell":'


def _places(run: Path) -> dict[str, list[tuple[Path, int, int]]]:
    """Where the records of each cell stand: file, offset and length in bytes."""
    found: dict[str, list[tuple[Path, int, int]]] = {}
    decoder = json.JSONDecoder()
    for path in sorted((run / "calls").glob("*.jsonl")):
        offset = 0
        with path.open("rb") as file:
            for line in file:
                if line.startswith(_START) and line.endswith(b"\n"):
                    cell, _ = decoder.raw_decode(line[len(_START) : len(_START) + 4096].decode("utf-8", "replace"))
                    found.setdefault(str(cell), []).append((path, offset, len(line)))
                elif line.endswith(b"\n"):
                    raise DataError(f"{path}", None, None, f"not the record of a call, at byte {offset}")
                offset += len(line)
    return found
