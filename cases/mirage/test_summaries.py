"""MIRAGE table 5 (appendix A.2): how the summary of a compaction is written, at S2 under C0."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="main",
    state=["S2"],
    summary=["verbatim", "free", "cited"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["summary: verbatim -> free", "summary: verbatim -> cited"],
    tables=["mirage_t5"],
    family="summaries",
)
def test_summaries(outcome):
    assert outcome.answered
