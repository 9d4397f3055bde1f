"""DeliverMem appendix E.7: dates accurate, permuted, absent and as ordinals, at every length of the corpus."""

import pytest

pytestmark = pytest.mark.memlens


@pytest.mark.experiment(
    length=["all"],
    retrieval=["both"],
    delivery=["deployed", "deployed+dateperm", "deployed+nodate", "deployed+ordinal"],
    contrasts=[
        "delivery: deployed+dateperm -> deployed",
        "delivery: deployed+nodate -> deployed",
        "delivery: deployed+nodate -> deployed+dateperm",
        "delivery: deployed+ordinal -> deployed",
    ],
    tables=["delivermem_e7"],
    family="dates",
)
def test_dates(outcome):
    assert outcome.answered
