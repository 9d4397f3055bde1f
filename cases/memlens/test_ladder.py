"""DeliverMem tables 12 and 13: counterfactual images in the same slots, content against presence (appendix D.3)."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    retrieval=["oracle"],
    delivery=["pixels", "pixels+scramble", "pixels+phase", "pixels+decoy", "noimg"],
    contrasts=[
        "delivery: pixels+scramble -> pixels",
        "delivery: pixels+phase -> pixels",
        "delivery: pixels+decoy -> pixels",
        "delivery: noimg -> pixels",
        "delivery: noimg -> pixels+decoy",
        "delivery: pixels+decoy -> pixels+phase",
        "delivery: pixels+decoy -> pixels+scramble",
    ],
    tables=["delivermem_t12", "delivermem_t13"],
    family="ladder",
    primary="delivery: pixels+phase -> pixels",
)
def test_ladder(outcome):
    assert outcome.answered
