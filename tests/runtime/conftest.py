"""Trunks of these tests count words."""

from __future__ import annotations

import pytest

from benchsuite.runtime import build

from .world import words


@pytest.fixture(autouse=True)
def _word_count(monkeypatch):
    monkeypatch.setattr(build, "BUNDLED", "words")
    monkeypatch.setattr(build, "count_bundled", words)
