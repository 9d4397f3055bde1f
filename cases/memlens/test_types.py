"""DeliverMem table 7: accuracy by question type, on both image indexes."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "none", "delivery": "pixels"},
        {"retrieval": "text", "delivery": "noimg"},
        {"retrieval": "text", "delivery": "pixels"},
        {"retrieval": "both", "delivery": "pixels", "index": "whole"},
        {"retrieval": "both", "delivery": "pixels", "index": "region"},
        {"retrieval": "both", "delivery": "deployed", "index": "region"},
    ],
    contrasts=[
        "index: whole -> region @ retrieval=both, delivery=pixels",
        "delivery: pixels -> deployed @ retrieval=both, index=region",
    ],
    tables=["delivermem_t7"],
)
def test_types(outcome):
    assert outcome.answered
