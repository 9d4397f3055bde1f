"""A finer sweep of depth, through a second compaction: evidence use by measured depth, with intervals."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="main",
    state=["S1-d0", "S1-d35k", "S1-d50k", "S1-d65k", "S1-d80k", "S2", "S2-d50k", "S3"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["state: S1-d35k -> S1-d65k", "state: S2 -> S3"],
    tables=["mirage_depths", "mirage_depthcurve"],
    family="depths",
)
def test_depths(outcome):
    assert outcome.answered
