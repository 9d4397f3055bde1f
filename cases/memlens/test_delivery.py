"""DeliverMem table 1: retrieval crossed with delivery, on MemLens."""

import pytest

pytestmark = pytest.mark.memlens

# Frozen for good: what `make bench` runs must stay comparable from version to version.
CORE = [
    {"length": "1x", "retrieval": retrieval, "k": 10, "delivery": delivery, "model": "embedded", "repeat": 0}
    for retrieval in ("text", "oracle")
    for delivery in ("noimg", "pixels")
]


@pytest.mark.experiment(
    retrieval=["text", "oracle"],
    delivery=["noimg", "pixels"],
    contrasts=["delivery: noimg -> pixels", "retrieval: text -> oracle"],
    tables=["delivermem_t1"],
    primary="delivery: noimg -> pixels @ retrieval=oracle",
    core=CORE,
)
def test_delivery(outcome):
    assert outcome.answered
