"""What tools can reach after a compaction: all that was stored, what the compaction wrote, nothing; at S2 under Cm."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="main",
    state=["S2"],
    condition=["Cm"],
    recall=["intact", "compacted", "norecall"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["recall: intact -> compacted", "recall: intact -> norecall"],
    tables=["mirage_recall"],
    family="recall",
)
def test_recall(outcome):
    assert outcome.answered
