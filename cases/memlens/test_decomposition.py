"""DeliverMem tables 1, 14 and 15: the further conditions of the decomposition (appendices C.1, D.5, E.1).

With several models (``--bench-model A,B``) each is asked the same questions in one run. The second repeat of one arm
is an A/A arm: what changes between the two is noise.
"""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "oracle", "delivery": "pixels"},
        {"retrieval": "oracle", "delivery": "pixels", "repeat": 1},
        {"retrieval": "oracle", "delivery": "noimg"},
        {"retrieval": "text", "delivery": "pixels"},
        {"retrieval": "text", "delivery": "noimg"},
        {"retrieval": "gold_only", "delivery": "pixels"},
        {"retrieval": "both", "delivery": "pixels", "index": "whole"},
    ],
    contrasts=[
        "delivery: noimg -> pixels @ repeat=0",
        "retrieval: text -> oracle @ repeat=0",
        "(retrieval+delivery): oracle/noimg -> text/pixels @ repeat=0",
        "retrieval: oracle -> gold_only @ repeat=0",
        "retrieval: text -> both @ delivery=pixels, repeat=0",
        "retrieval: both -> gold_only @ delivery=pixels, repeat=0",
        "repeat: 0 -> 1 @ retrieval=oracle, delivery=pixels",
    ],
    tables=["delivermem_t1", "delivermem_t14", "delivermem_t15", "delivermem_metrics"],
    family="decomposition",
    primary="delivery: noimg -> pixels @ repeat=0",
)
def test_decomposition(outcome):
    assert outcome.answered
