"""DeliverMem tables 4, 5 and 19, figure 3: each component against the control that alters it alone (section 7)."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    arms=[
        {"retrieval": "oracle", "delivery": "pixels"},
        {"retrieval": "oracle", "delivery": "pixels+phase"},
        {"retrieval": "both", "delivery": "deployed", "index": "region"},
        {"retrieval": "both", "delivery": "deployed+tagconst", "index": "region"},
        {"retrieval": "both", "delivery": "deployed+dateperm", "index": "region"},
        {"retrieval": "both", "delivery": "deployed+nodate", "index": "region"},
        {"retrieval": "both", "delivery": "deployed", "index": "whole"},
        {"retrieval": "both", "delivery": "deployed+bindshuf", "index": "whole"},
        {"retrieval": "both", "delivery": "pixels", "index": "whole"},
        {"retrieval": "both", "delivery": "pixels", "index": "region"},
    ],
    contrasts=[
        "delivery: pixels+phase -> pixels",
        "delivery: deployed+tagconst -> deployed",
        "delivery: deployed+dateperm -> deployed",
        "delivery: deployed+nodate -> deployed",
        "delivery: deployed+bindshuf -> deployed",
        "index: whole -> region @ delivery=pixels",
    ],
    tables=["delivermem_t4", "delivermem_t5", "delivermem_t19", "delivermem_f3", "delivermem_types"],
    family="components",
)
def test_components(outcome):
    assert outcome.answered
