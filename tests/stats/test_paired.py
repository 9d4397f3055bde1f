"""The paired statistics against counting by hand; those that the papers print are in test_published_figures."""

import pytest

from benchsuite.stats.paired import effect, paired_counts, sign_test, two_by_two


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (1, 0, 1.0), (6, 0, 0.03125), (5, 0, 0.0625), (4, 4, 1.0)]
)
def test_sign_test_by_hand(wins, losses, p):
    assert sign_test(wins, losses) == pytest.approx(p)
    assert sign_test(losses, wins) == pytest.approx(p)


def test_sign_test_refuses_negative_counts():
    with pytest.raises(ValueError, match="-1"):
        sign_test(3, -1)


def test_paired_counts_pair_by_question_and_name_the_rest():
    a = {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": 0.0, "q5": 1.0, "only-a": 1.0}
    b = {"q5": 1.0, "q4": 1.0, "q3": 0.0, "q2": 1.0, "q1": 1.0, "z": 0.0, "only-b": 1.0}
    counts = paired_counts(a, b)
    assert (counts.n, counts.wins, counts.losses, counts.ties) == (5, 2, 1, 2)
    assert counts.only_a == ("only-a",)
    assert counts.only_b == ("only-b", "z")
    assert counts.p == sign_test(2, 1)


def test_rounding_of_graded_scores_is_a_tie():
    assert paired_counts({"q": 0.3}, {"q": 0.1 + 0.2}).ties == 1


def test_two_by_two_sums_magnitudes_but_counts_signs():
    # per question: low_low, low_high, high_low, high_high
    quads = {
        "a": (1, 0, 0, 1),  # interaction (1 - 0) - (0 - 1) = 2
        "b": (0, 1, 0, 0),  # (0 - 0) - (1 - 0) = -1
        "c": (0, 1, 1, 1),  # (1 - 1) - (1 - 0) = -1
        "d": (0, 1, 0, 1),  # 0
    }
    arms = [{key: float(quad[i]) for key, quad in quads.items()} for i in range(4)]
    found = two_by_two(*arms)
    assert found.n == 4
    assert found.interaction.estimate == 0.0  # 2 - 1 - 1 over 4
    assert (found.interaction.wins, found.interaction.losses, found.interaction.ties) == (1, 2, 1)
    # first factor per question: a ((0-1)+(1-0))/2 = 0, b ((0-0)+(0-1))/2 = -.5, c ((1-0)+(1-1))/2 = .5, d 0
    assert (found.first.estimate, found.first.wins, found.first.losses) == (0.0, 1, 1)
    # second factor: a ((0-1)+(1-0))/2 = 0, b (1+0)/2, c (1+0)/2, d (1+1)/2
    assert found.second.estimate == pytest.approx((0.5 + 0.5 + 1) / 4)
    assert (found.second.wins, found.second.losses) == (3, 0)


def test_two_by_two_keeps_only_questions_of_all_four_arms():
    full = {"q1": 1.0, "q2": 0.0}
    assert two_by_two(full, full, full, {"q2": 1.0, "q3": 1.0}).n == 1


def test_an_effect_of_nothing_is_no_effect():
    nothing = effect([])
    assert (nothing.n, nothing.estimate, nothing.p) == (0, 0.0, 1.0)
