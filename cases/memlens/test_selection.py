"""DeliverMem table 20: the same number of items, selected with the query and without (appendix E.11)."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    length=["all"],
    retrieval=["both", "recency", "random"],
    delivery=["deployed"],
    contrasts=["retrieval: recency -> both", "retrieval: random -> both"],
    tables=["delivermem_t20", "delivermem_e6"],
    family="selection",
)
def test_selection(outcome):
    assert outcome.answered
