"""The run store: one numbered folder a run, written so that a kill at any moment loses no finished row.

``folder`` knows what a run's folder is, ``rows`` reads its outcomes, ``store`` writes the run in progress, ``listing``
finds runs; ``describe``, ``export``, ``merge`` and ``remove`` are imported by who needs them.
"""

from benchsuite.runs.folder import OUTCOMES, Plan, check_name, git_commit, is_run, plan_digest, read_info
from benchsuite.runs.listing import RunSummary, find_run, list_runs
from benchsuite.runs.rows import Row, Run, load_run
from benchsuite.runs.store import RunStore

__all__ = [
    "OUTCOMES",
    "Plan",
    "Row",
    "Run",
    "RunStore",
    "RunSummary",
    "check_name",
    "find_run",
    "git_commit",
    "is_run",
    "list_runs",
    "load_run",
    "plan_digest",
    "read_info",
]
