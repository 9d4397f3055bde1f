"""DeliverMem table 2: accuracy at every length of the corpus, with the baselines that need no memory."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    length=["all"],
    arms=[
        {"retrieval": "none", "delivery": "pixels"},
        {"retrieval": "text", "delivery": "noimg"},
        {"retrieval": "text", "delivery": "pixels"},
        {"retrieval": "both", "delivery": "deployed"},
    ],
    contrasts=["delivery: noimg -> pixels @ retrieval=text"],
    tables=["delivermem_t2"],
)
def test_lengths(outcome):
    assert outcome.answered
