"""What ``benchsuite data check`` found, and its lines of text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchsuite.errors import DataError

EXAMPLES = 10


@dataclass(slots=True)
class Problems:
    """How often each kind of problem was found, and its first examples; memory does not grow with the count."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, example: str) -> None:
        self.counts[kind] += 1
        shown = self.examples.setdefault(kind, [])
        if len(shown) < EXAMPLES:
            shown.append(example)

    def lines(self, title: str) -> Iterator[str]:
        if self.counts:
            yield title
        for kind, count in self.counts.items():
            yield f"  {kind}: {count}"
            yield from (f"    {example}" for example in self.examples[kind])
            if count > EXAMPLES:
                yield f"    and {count - EXAMPLES} more"


@contextmanager
def noted(errors: Problems) -> Iterator[None]:
    """Note a DataError under its field, or its file where it names none, and go on behind the block."""
    try:
        yield
    except DataError as error:
        kind = re.sub(r"\[\d+\]", "[]", error.field) if error.field else Path(error.file).name
        errors.add(kind, str(error))


@dataclass(frozen=True, slots=True)
class FileFacts:
    name: str
    size: int
    sha256: str
    remark: str


@dataclass(slots=True)
class LengthFacts:
    """Counts of one dataset file. ``images`` holds the paths of distinct local images; ``missing`` counts
    references by reason."""

    questions: Counter[str] = field(default_factory=Counter)
    histories: set[str] = field(default_factory=set)
    sessions: int = 0
    turns: int = 0
    references: int = 0
    images: set[str] = field(default_factory=set)
    missing: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Report:
    """``errors`` are what the loader refuses or what makes answers wrong; ``notes`` are for a person to judge.

    ``remarks`` are facts that are neither, one line each; ``tables`` are texts in rows, the first of them a head.
    """

    location: str
    files: list[FileFacts] = field(default_factory=list)
    lengths: dict[str, LengthFacts] = field(default_factory=dict)
    tables: list[list[tuple[str, ...]]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    errors: Problems = field(default_factory=Problems)
    notes: Problems = field(default_factory=Problems)

    def lines(self) -> Iterator[str]:
        yield self.location
        yield ""
        rows = [(each.name, f"{each.size:,} bytes", f"sha256 {each.sha256}", each.remark) for each in self.files]
        yield from _aligned([("files", "", "", ""), *rows], right=(1,))
        for table in [*([_counts(self.lengths)] if self.lengths else []), *self.tables]:
            yield ""
            yield from _aligned(table, right=range(1, len(table[0])))
        yield ""
        yield from self.remarks
        for title, problems in (("errors", self.errors), ("notes", self.notes)):
            if problems.counts:
                yield ""
            yield from problems.lines(title)
        yield ""
        yield f"{_number(self.errors, 'error')}, {_number(self.notes, 'note')}"


def _counts(lengths: dict[str, LengthFacts]) -> list[tuple[str, ...]]:
    """A row a count, a column a length."""
    each = list(lengths.values())
    kinds = sorted({kind for facts in each for kind in facts.questions})
    reasons = sorted({reason for facts in each for reason in facts.missing})
    rows: list[tuple[str, Sequence[int]]] = [
        ("questions", [facts.questions.total() for facts in each]),
        *((f"  {kind}", [facts.questions[kind] for facts in each]) for kind in kinds),
        ("distinct histories", [len(facts.histories) for facts in each]),
        ("sessions", [facts.sessions for facts in each]),
        ("turns", [facts.turns for facts in each]),
        ("image references", [facts.references for facts in each]),
        *((f"  missing: {reason}", [facts.missing[reason] for facts in each]) for reason in reasons),
        ("distinct images", [len(facts.images) for facts in each]),
    ]
    return [("counts", *lengths), *((name, *(f"{number:,}" for number in numbers)) for name, numbers in rows)]


def _aligned(rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            text.rjust(w) if i in right else text.ljust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _number(problems: Problems, noun: str) -> str:
    total = problems.counts.total()
    return f"{total:,} {noun}{'' if total == 1 else 's'}"
