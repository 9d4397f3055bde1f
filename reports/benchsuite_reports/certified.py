"""Certificates of the pairs that a table shows, from the records of what a run sent (SCIENCE of a contrast: two legs).

``matched``: outside the declared variables the two requests of a pair are equal. ``altered``: every declared variable
really changed; a pair where it could not stays in n, and is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchsuite.delivery.certificates.certify import Certificate, Sent, certify, pixel_checks, variables
from benchsuite.delivery.certificates.evidence import Check, PixelEvidence
from benchsuite.delivery.certificates.records import NAMED as NAMED
from benchsuite.delivery.certificates.records import Records
from benchsuite.delivery.certificates.sent import Deliveries
from benchsuite.delivery.spec import Delivery, parse_delivery, register
from benchsuite.errors import BenchError
from benchsuite.files import write_atomic
from benchsuite.registry import Registry
from benchsuite_reports.contents import Contents
from benchsuite_reports.table import Row, RunFacts

FILE = "certificates.jsonl"


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

    @property
    def absent(self) -> bool:
        """No pair has a certificate."""
        return sum(self.missing.values()) == self.n

    @property
    def further(self) -> list[str]:
        """What is to be said beside the two counts and the faults, the most frequent first."""
        if self.absent and len(self.missing) == 1:
            return [f"not certified: {next(iter(self.missing))}"]
        parts = [f"{count} not altered: {why}" for why, count in _most(self.unaltered)]
        parts += [f"{count} not certified: {why}" for why, count in _most(self.missing)]
        return parts + [f"{remark} ({count})" for remark, count in _most(self.remarks)]

    def __str__(self) -> str:
        if self.absent:
            return "; ".join(self.further)
        counts = f"matched {self.matched}/{self.n}, altered {self.altered}/{self.n}"
        return f"{' + '.join(self.variables) or 'nothing declared'}: " + "; ".join([counts, *self.further])


def certify_pairs(pairs: Sequence[tuple[Row, Row]], facts: RunFacts) -> ContrastCertificate | None:
    """The certificate of a contrast, whose pairs are (a, b) rows of one question; None where the run gives none."""
    if facts.certificates is None or not pairs:
        return None
    if isinstance(facts.certificates, Certificates):
        facts.certificates.prepare(pairs)
    found = [(str(a["question"]), facts.certificates(a, b)) for a, b in pairs]
    known = [(question, each) for question, each in found if isinstance(each, Certificate)]
    names = dict.fromkeys(name for _, each in known for name in each.variables)
    return ContrastCertificate(
        variables=tuple(names),
        n=len(pairs),
        matched=sum(each.matched for _, each in known),
        altered=sum(each.altered for _, each in known),
        unaltered=Counter("; ".join(each.unaltered) for _, each in known if each.unaltered),
        faults=_first(f"{question}: {each.difference}" for question, each in known if not each.matched),
        missing=Counter(each for _, each in found if isinstance(each, str)),
        remarks=Counter(each.tokens for _, each in known if each.tokens),
    )


class Certificates:
    """Certificates of pairs of one or several runs, each made once; ``runs`` are their folders by run id."""

    def __init__(self, runs: Mapping[str, Path], deliveries: Deliveries, evidence: PixelEvidence | None = None) -> None:
        self._runs = dict(runs)
        self._records: dict[str, Records] = {}
        self._deliveries = deliveries
        self._evidence = evidence
        self._made: dict[_Key, Certificate | str] = {}

    def __call__(self, a: Row, b: Row) -> Certificate | str:
        """The certificate of two rows of one question, or why there is none."""
        key = _key(a, b)
        if key not in self._made:
            try:
                declared = variables(a, b, self._deliveries)
                first, second = (self._sent(row, whole="recall" in declared) for row in (a, b))
                self._made[key] = certify(first, second, declared, self._deliveries, self._evidence)
            except BenchError as error:
                self._made[key] = str(error)
            except OSError as error:
                self._made[key] = f"{error.filename}: {error.strerror or error}"
        return self._made[key]

    def prepare(self, pairs: Iterable[tuple[Row, Row]]) -> None:
        """Look at the pixels of these pairs ahead, on several threads; what goes wrong is said of its own pair."""
        if self._evidence is not None:
            with suppress(OSError):
                self._evidence.prepare(self._checks(pairs))

    def _checks(self, pairs: Iterable[tuple[Row, Row]]) -> Iterator[Check]:
        for a, b in pairs:
            if _key(a, b) not in self._made:
                with suppress(BenchError, OSError):
                    declared = variables(a, b, self._deliveries)
                    yield from pixel_checks(self._sent(a), self._sent(b), declared, self._deliveries)

    def __str__(self) -> str:
        """Of all pairs that were looked at: ``matched 60/60, altered 58/60``; empty where there were none."""
        n = len(self._made)
        known = [each for each in self._made.values() if isinstance(each, Certificate)]
        lost = f", not certified {n - len(known)}/{n}" if len(known) < n else ""
        matched, altered = sum(each.matched for each in known), sum(each.altered for each in known)
        return f"matched {matched}/{n}, altered {altered}/{n}{lost}" if n else ""

    def lines(self) -> list[str]:
        """Every certificate that was made, as JSON, one a line."""
        return [
            json.dumps(
                {"a": key[1], "b": key[3], **({"runs": [key[0], key[2]]} if key[0] != key[2] else {}), **_facts(each)}
            )
            for key, each in self._made.items()
        ]

    def write(self, run: Path) -> None:
        """All of them into the run's folder."""
        write_atomic(run / FILE, "".join(f"{line}\n" for line in self.lines()))

    def _sent(self, row: Row, whole: bool = False) -> Sent:
        """The record of the first call that asked for the answer, and with ``whole`` of the last one too."""
        run, cell, keys = run_of(row), str(row["cell"]), _strings(row["requests"])
        if run not in self._runs:
            raise BenchError("the records of its run are not at hand")
        if run not in self._records:
            self._records[run] = Records(self._runs[run])
        records = self._records[run]
        try:
            first = records.first(cell, keys)
            last = records.answers(cell, keys)[-1] if whole else None
        except (BenchError, IndexError):
            first = None
        if first is None:
            problem = f"; {records.problem}" if records.problem else ""
            raise BenchError(f"no record of the request in calls/ of run {run}{problem}")
        return Sent(records.read(first), row, None if last in (None, first) else records.read(last))


@contextmanager
def open_certificates(
    runs: Mapping[str, Path], caches: Sequence[Path], presets: Mapping[str, Delivery]
) -> Iterator[Certificates]:
    """Certificates whose pixels come from the ``caches`` (the first keeps what was found out of them).

    ``runs`` are folders by run id, ``presets`` those of the delivery axis.
    """
    contents = Contents(caches)
    evidence = PixelEvidence(caches[0] / "evidence", contents.image_bytes, contents.stored_bytes)
    try:
        yield Certificates(runs, lru_cache(maxsize=None)(lambda text: parse_delivery(text, presets)), evidence)
    finally:
        evidence.close()
        contents.close()


def recorded_presets(*infos: Mapping[str, Any]) -> dict[str, Delivery]:
    """The presets of the delivery axis that these ``run.json`` record, beside those that are built in."""
    registry = Registry()
    register(registry)
    recorded = [each for info in infos for each in info.get("deliveries", {}).items()]
    return {**registry.deliveries, **{name: Delivery(**fields) for name, fields in recorded}}


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


def run_of(row: Row) -> str:
    """The id of the row's run, empty where it names none."""
    run: Any = row["run"]
    return str(run.get("id", ""))


def _first(lines: Iterable[str]) -> tuple[str, ...]:
    every = list(lines)
    more = (f"and {len(every) - NAMED} more",) if len(every) > NAMED else ()
    return (*every[:NAMED], *more)


def _most(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent texts, and how many others there are."""
    found = sorted(counts.items(), key=lambda each: -each[1])
    rest = sum(count for _, count in found[NAMED:])
    return [*found[:NAMED], *([("others", rest)] if rest else [])]


_Key = tuple[str, str, str, str]  # run and cell of a, run and cell of b


def _key(a: Row, b: Row) -> _Key:
    return run_of(a), str(a["cell"]), run_of(b), str(b["cell"])


def _strings(keys: object) -> Sequence[str]:
    return keys if isinstance(keys, list | tuple) else ()
