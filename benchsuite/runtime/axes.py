"""The axes of the MIRAGE suite: what a probe adds, what tools can reach, how a conversation was compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchsuite.runtime.compaction import SUMMARIES
from benchsuite.runtime.conversation import RETENTION
from benchsuite.runtime.tools import RECALL

if TYPE_CHECKING:
    from benchsuite.registry import Registry

SUITES = ("mirage",)
CONDITIONS = ("C0", "Cm")
SUMMARISER = "embedded"
"""Who writes summaries where nothing else is said: the bundled reader, which extracts and says so."""


def register(registry: Registry) -> None:
    registry.axis("condition", CONDITIONS, default="C0", suites=SUITES)
    registry.axis("recall", RECALL, default="intact", suites=SUITES)
    registry.axis("summary", SUMMARIES, default="verbatim", suites=SUITES)
    registry.axis("summariser", (SUMMARISER,), default=SUMMARISER, models=True, suites=SUITES)
    registry.axis("retention", RETENTION, default="all", suites=SUITES)
