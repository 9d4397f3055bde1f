"""DeliverMem table 6: the baseline and the deployed pipeline, stage by stage."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "none", "delivery": "pixels"},
        {"retrieval": "both", "delivery": "pixels", "index": "whole"},
        {"retrieval": "both", "delivery": "deployed", "index": "region"},
    ],
    contrasts=["(index+delivery): whole/pixels -> region/deployed"],
    tables=["delivermem_t6"],
)
def test_stages(outcome):
    assert outcome.answered
