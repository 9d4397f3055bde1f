"""DeliverMem table 10 on MemLens: which channel carries the identity, and what is left without name or map (C.3)."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    retrieval=["both"],
    delivery=[
        "deployed",
        "deployed+notag",
        "deployed+tagpix",
        "deployed+tagtext",
        "deployed+tagconst",
        "deployed+tagshuf",
        "deployed+tagshufpix",
    ],
    contrasts=[
        "delivery: deployed+notag -> deployed",
        "delivery: deployed+notag -> deployed+tagpix",
        "delivery: deployed+notag -> deployed+tagtext",
        "delivery: deployed+tagtext -> deployed",
        "delivery: deployed+tagconst -> deployed",
        "delivery: deployed+tagshuf -> deployed",
        "delivery: deployed+tagshufpix -> deployed",
        "delivery: deployed+tagconst -> deployed+tagshuf",
    ],
    tables=["delivermem_identity"],
    family="identity",
)
def test_identity(outcome):
    assert outcome.answered
