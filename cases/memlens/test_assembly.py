"""DeliverMem appendices E.8 and C.5: what the assembled configuration costs and gains by type, and when to use it.

The rule of C.5 is fitted on the dev questions: ``--bench-corpus memlens=memlens-mini#all`` asks both splits.
"""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "both", "delivery": "pixels", "index": "whole"},
        {"retrieval": "both", "delivery": "pixels", "index": "region"},
        {"retrieval": "both", "delivery": "deployed+nodate", "index": "region"},
        {"retrieval": "both", "delivery": "deployed+notag", "index": "region"},
        {"retrieval": "both", "delivery": "deployed", "index": "region"},
    ],
    contrasts=[
        "(index+delivery): whole/pixels -> region/deployed",
        "index: whole -> region @ delivery=pixels",
        "delivery: pixels -> deployed+nodate @ index=region",
        "delivery: pixels -> deployed+notag @ index=region",
        "delivery: pixels -> deployed @ index=region",
    ],
    tables=["delivermem_e8", "delivermem_c5"],
    family="assembly",
)
def test_assembly(outcome):
    assert outcome.answered
