"""DeliverMem tables 8 and 18: the whole history in the request, beside DeliverMem, with what each costs.

At the shortest length: a long history is dear, and not every model takes it. ``--bench-axis length=all`` asks at all.
"""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "none", "delivery": "pixels"},
        {"retrieval": "full", "delivery": "direct"},
        {"retrieval": "both", "delivery": "deployed"},
    ],
    contrasts=["(retrieval+delivery): full/direct -> both/deployed"],
    tables=["delivermem_t8", "delivermem_t18", "delivermem_cost"],
)
def test_direct(outcome):
    assert outcome.answered
