"""DeliverMem appendix E.5: how many items are delivered."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    retrieval=["both"],
    delivery=["deployed"],
    k=[3, 5, 10, 20],
    contrasts=["k: 3 -> 5", "k: 5 -> 10", "k: 10 -> 20", "k: 3 -> 10"],
    tables=["delivermem_k", "delivermem_kcurve"],
    family="budget",
)
def test_budget(outcome):
    assert outcome.answered
