"""MIRAGE figures 5 and 6, table 3: the same probes under retrieval pressure (Cm), beside C0."""

import pytest

pytestmark = pytest.mark.mirage


@pytest.mark.experiment(
    split="main",
    state=["S1-d0", "S1-d50k", "S1-d80k", "S2"],
    condition=["C0", "Cm"],
    retrieval=["none"],
    delivery=["direct"],
    contrasts=["condition: C0 -> Cm"],
    tables=["mirage_t3", "mirage_pressure", "mirage_routes", "mirage_recall", "mirage_f5", "mirage_f6"],
    family="pressure",
)
def test_pressure(outcome):
    assert outcome.answered
