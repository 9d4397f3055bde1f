"""MIRAGE tables 1, 2, 6, 8 and 9, figures 3 and 4: the same probes at four conversation states, under C0."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="main",
    state=["S1-d0", "S1-d50k", "S1-d80k", "S2"],
    condition=["C0"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["state: S1-d0 -> S1-d80k", "state: S1-d80k -> S2"],
    tables=[
        "mirage_t1", "mirage_t2", "mirage_t6", "mirage_t8", "mirage_t9", "mirage_labels", "mirage_drift",
        "mirage_f3", "mirage_f4",
    ],
    family="states",
    core=[{"state": "S1-d0"}, {"state": "S2"}],
)  # fmt: skip
def test_states(outcome):
    assert outcome.answered
