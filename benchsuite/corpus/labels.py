"""`labels.json` beside a dataset: split, stratum and cluster of each question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchsuite.errors import ConfigError, DataError

DEFAULT_SPLIT = "eval"
ALL_SPLITS = "all"


@dataclass(frozen=True, slots=True)
class Label:
    split: str = ""
    stratum: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one dataset; empty when there is no such file."""

    file: str
    by_question: Mapping[str, Label]

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(sorted({label.split for label in self.by_question.values()} - {""}))

    def choose_split(self, wanted: str) -> str:
        """The split to keep, empty for every question.

        Unasked, that is ``eval`` where the labels have it, else everything; ``all`` is everything. Raises
        ConfigError for a split that no question has.
        """
        splits = self.splits
        if wanted == ALL_SPLITS:
            return ""
        if not wanted:
            return DEFAULT_SPLIT if DEFAULT_SPLIT in splits else ""
        if wanted not in splits:
            known = ", ".join([*splits, ALL_SPLITS])
            raise ConfigError(f"{self.file}: no split {wanted!r}; there is: {known}; nor is there a file {wanted}.json")
        return wanted

    def of(self, question_id: str) -> Label:
        """The label of a question. Raises DataError when the file has labels but none for it."""
        if not self.by_question:
            return Label()
        if question_id not in self.by_question:
            raise DataError(self.file, question_id, None, "the question has no label")
        return self.by_question[question_id]


def read_labels(path: Path) -> Labels:
    """Read ``{question id: {split, stratum, cluster, ...}}``; other keys are for audits and are not read."""
    file = str(path)
    try:
        raw = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Labels(file, {})
    except OSError as error:
        raise DataError(file, None, None, f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(file, None, None, f"malformed JSON: {error}") from None
    if not isinstance(raw, dict):
        raise DataError(file, None, None, "not a JSON object of question ids")
    return Labels(file, {question_id: _label(file, question_id, value) for question_id, value in raw.items()})


def _label(file: str, question_id: str, value: object) -> Label:
    if not isinstance(value, dict):
        raise DataError(file, question_id, None, "not a JSON object")
    for field in ("split", "stratum", "cluster"):
        if not isinstance(value.get(field, ""), str):
            raise DataError(file, question_id, field, "not a string")
    return Label(value.get("split", ""), value.get("stratum", ""), value.get("cluster", ""))
