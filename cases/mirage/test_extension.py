"""MIRAGE table 4 (appendix A.1): six further kinds of evidence, under C0."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="extension",
    state=["S1-d0", "S1-d50k", "S1-d80k", "S2"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["state: S1-d0 -> S1-d80k"],
    tables=["mirage_t4"],
    family="extension",
)
def test_extension(outcome):
    assert outcome.answered
