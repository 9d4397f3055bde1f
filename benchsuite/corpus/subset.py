"""A subset file beside a dataset: ``NAME.json`` with the ``question_ids`` to keep, asked for as ``#NAME``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchsuite.errors import DataError

MAX_BYTES = 16 << 20
SHOWN = 5  # ids in an error line


@dataclass(frozen=True, slots=True)
class Subset:
    """``ids`` are the questions to keep; ``file`` is where they are named."""

    file: Path
    ids: frozenset[str]

    def check_known(self, known: Collection[str], dataset: str) -> None:
        """Raises DataError when the subset names a question that the dataset does not have."""
        unknown = sorted(self.ids.difference(known))
        if unknown:
            problem = f"{len(unknown)} of {len(self.ids)} questions are not in {dataset}: {first(unknown)}"
            raise DataError(str(self.file), None, "question_ids", problem)


def read_subset(path: Path) -> Subset:
    """Read ``{"question_ids": [...], "n_questions": count, ...}``; the count may be absent, other keys are not read.

    Raises DataError for a file that cannot be read or is no such JSON, for an empty list, an id that is no
    string or is named twice, and a count that is not that of the ids.
    """

    def fail(field: str | None, problem: str) -> DataError:
        return DataError(str(path), None, field, problem)

    try:
        if path.stat().st_size > MAX_BYTES:
            raise fail(None, f"not a subset file: over {MAX_BYTES >> 20} MB")
        raw = json.loads(path.read_bytes())
    except OSError as error:
        raise fail(None, f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise fail(None, f"malformed JSON: {error}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("question_ids"), list):
        raise fail(None, "not a subset file: no object with a 'question_ids' list")
    ids: list[str] = raw["question_ids"]
    for place, each in enumerate(ids):
        if not isinstance(each, str):
            raise fail(f"question_ids[{place}]", "not a string")
    if not ids:
        raise fail("question_ids", "empty")
    doubled = sorted(name for name, times in Counter(ids).items() if times > 1)
    if doubled:
        raise fail("question_ids", f"{len(doubled)} questions are named twice: {first(doubled)}")
    count = raw.get("n_questions")
    if count is not None and (type(count) is not int or count != len(ids)):
        raise fail("n_questions", f"says {json.dumps(count)}, but {len(ids)} questions are named")
    return Subset(path, frozenset(ids))


def first(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
