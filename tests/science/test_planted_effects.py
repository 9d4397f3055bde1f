"""Responders whose answers depend on known variables by known amounts: D-T1 must show just these amounts."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from scipy.stats import binomtest

from .conftest import Project, Row, Run, by_hash

MODELS = ("pixels", "zero", "harm", "found", "mixed")
BASE = 20  # right in every arm
FLIPPED = 13  # right with pixels alone, or wrong with pixels alone
CONFLICTS = 2  # pixels hurt, but only beside the gold message
CROSSED = 1  # pixels help beside the gold message and hurt without it


@dataclass(frozen=True)
class Planted:
    """Sizes of the planted groups over ``n`` questions. ``helped_text`` and ``helped_gold``: right with pixels and
    the gold message; in the first the text channel finds that message, in the second the oracle alone."""

    n: int
    oracle_only: int
    helped_text: int
    helped_gold: int
    answers: Row
