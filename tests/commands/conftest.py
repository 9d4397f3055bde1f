"""Runs made of a few outcomes, for the commands that look at the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchsuite.outcome import Outcome
from benchsuite.runs import RunStore

INFO: dict[str, Any] = {
    "argv": ["cases", "-k", "a b"],
    "versions": {"python": "3.11", "benchsuite": "0.1.0"},
    "corpora": {"c1": {"suite": "memlens", "name": "memlens-mini", "bundled": True, "files": {}}},
    "digests": {
        "corpora": ["c1"],
        "scorers": {"memlens": "memlens-strict/2"},
        "protocols": {"memlens": "p1"},
        "models": "m1",
        "judge": ["memlens-judge/1", "none", 1],
    },
    "protocols": {"memlens": "memlens/1"},
    "models": {"embedded": {"model": "embedded", "family": "embedded/2", "params": {"temperature": 0}}},
    "embedded_models": ["embedded"],
    "experiments": {"t.py::test": {"suite": "memlens", "axes": {"length": ["1x"]}, "contrasts": [], "tables": ["t1"]}},
}
PLAN = {"t.py::test": ["memlens:1x-oracle-pixels-embedded-a", "memlens:1x-oracle-pixels-embedded-b"]}


@dataclass(frozen=True)
class Runs:
    bench_dir: Path

    @property
    def folder(self) -> Path:
        return self.bench_dir / "runs"

    def make(self, name="", questions="ab", rows=None, plan=None, exit_code: int | None = 0, bench_dir=None, **info):
        """A run with a right answer to each question; ``exit_code`` None leaves it unfinished."""
        plan = plan or {"t.py::test": [f"memlens:1x-oracle-pixels-embedded-{question}" for question in questions]}
        with RunStore.open(bench_dir or self.bench_dir, name, plan, {**INFO, **info}) as store:
            for each in rows if rows is not None else [self.row(question, run={"t": 1.0}) for question in questions]:
                store.append({**each, "run": {**each["run"], "id": store.path.name}})
            if exit_code is not None:
                store.finish(exit_code)
        return store.path

    @staticmethod
    def row(question="a", **changes):
        values = {
            "cell": f"memlens:1x-oracle-pixels-embedded-{question}",
            "suite": "memlens",
            "corpus": "c1",
            "question": question,
            "type": "t",
            "answerable": True,
            "arm": {"length": "1x", "retrieval": "oracle", "k": 10, "delivery": "pixels", "model": "embedded"},
            "status": "scored",
            "word": "right",
            "answer": "12",
            "gold": "12",
            "score": 1.0,
            "scores": {"subem": 1.0},
            "scorer": "memlens-strict/2",
            "requests": [f"key-{question}"],
            "model_served": "embedded",
            "run": {"worker": "gw0", "cached": False, "latency_s": 0.5, "cached_tokens": None, "t": 1.0},
        }
        return Outcome(**{**values, **changes}).to_row()

    @classmethod
    def failed(cls, question="a", message="late", t=1.0):
        ended = {"status": "error", "word": "error", "answer": None, "score": None, "scores": {}, "model_served": ""}
        return cls.row(question, error_kind="timeout", error_message=message, run={"t": t}, **ended)


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "bench")
