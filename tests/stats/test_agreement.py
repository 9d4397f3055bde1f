"""Cohen's kappa and flip rates."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.stats.agreement import beyond_chance, cohen_kappa, flip_rate

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
IMPLIED = [figure for figure in FIGURES if figure["kind"] == "kappa_implied"]


def labels_of(confusion):
    """Two raters' labels by item id from a table of counts: rows are the first rater's labels."""
    pairs = [(row, column) for row, counts in enumerate(confusion) for column, n in enumerate(counts) for _ in range(n)]
    return ({f"i{k}": pair[side] for k, pair in enumerate(pairs)} for side in (0, 1))


def test_by_hand():
    # agree on 35 of 50; chance .5 * .6 + .5 * .4 = .5; (.7 - .5) / .5
    found = cohen_kappa(*labels_of([[20, 5], [10, 15]]))
    assert (found.n, found.observed, found.expected) == (50, 0.7, pytest.approx(0.5))
    assert found.kappa == pytest.approx(0.4)


def test_the_judge_study_of_memeye():
    (figure,) = [each for each in FIGURES if each["kind"] == "kappa"]
    found = cohen_kappa(*labels_of(figure["inputs"]["confusion"]))
    assert found.n == 71
    assert found.kappa == pytest.approx(figure["published"], abs=figure["tolerance"])
    assert found.kappa == pytest.approx(figure["computed"], abs=1e-8)


@pytest.mark.parametrize(
    ("figure", "chance"), list(zip(IMPLIED, (0.294, 0.378), strict=True)), ids=lambda each: str(each)[:60]
)
def test_the_annotation_kappas_of_memeye_imply_their_chance_agreement(figure, chance):
    assert beyond_chance(figure["inputs"]["agreement"], chance) == pytest.approx(figure["published"], abs=0.002)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=30), st.randoms())
def test_kappa_is_observed_against_all_crossed_pairs(pairs, random):
    a = {f"i{k}": pair[0] for k, pair in enumerate(pairs)}
    b = {f"i{k}": pair[1] for k, pair in enumerate(pairs)}
    found = cohen_kappa(a, b)
    crossed = sum(one == other for one in a.values() for other in b.values()) / len(pairs) ** 2
    assert found.expected == pytest.approx(crossed)
    if crossed == 1:
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx((found.observed - crossed) / (1 - crossed))
        assert -1 <= found.kappa <= 1
        assert (found.kappa == 1) == (a == b)
    assert cohen_kappa(b, a).kappa == pytest.approx(found.kappa)
    keys = sorted(a)
    random.shuffle(keys)
    assert cohen_kappa({key: a[key] for key in keys}, b) == found


def test_chance_that_agrees_on_everything_leaves_no_kappa():
    found = cohen_kappa({"i": "yes", "j": "yes"}, {"i": "yes", "j": "yes"})
    assert (found.kappa, found.observed, found.expected) == (None, 1.0, 1.0)


def test_items_of_one_rater_are_named():
    found = cohen_kappa({"i": 1, "j": 0, "x": 1}, {"i": 1, "j": 0, "z": 1, "y": 1})
    assert (found.n, found.only_a, found.only_b, found.kappa) == (2, ("x",), ("y", "z"), 1.0)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({}, {}, "0 labelled by a, 0 by b"),
        ({"i": 1}, {"j": 1}, "1 labelled by a, 1 by b"),
        ({"i": float("nan")}, {"i": 1}, "a: i: nan"),
    ],
)
def test_bad_labels_are_named(a, b, message):
    with pytest.raises(ValueError, match=message):
        cohen_kappa(a, b)


@pytest.mark.parametrize(("observed", "expected"), [(1.1, 0.5), (0.5, -0.1), (float("nan"), 0.5)])
def test_a_share_outside_its_range_is_refused(observed, expected):
    with pytest.raises(ValueError, match="not a share"):
        beyond_chance(observed, expected)


def test_answers_that_changed_in_delivermem_section_7():
    first = {f"q{k}": "same" for k in range(195)}
    again = {key: "other" if k < 27 else "same" for k, key in enumerate(first)}
    found = flip_rate(first, again)
    assert (found.n, found.flipped) == (195, 27)
    assert found.rate == pytest.approx(27 / 195)
    from scipy.stats import binomtest

    theirs = binomtest(27, 195).proportion_ci(method="wilson")
    assert (found.interval.low, found.interval.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


def test_scores_flip_beyond_rounding_and_answers_letter_by_letter():
    assert flip_rate({"q": 0.3}, {"q": 0.1 + 0.2}).flipped == 0
    assert flip_rate({"q": 0.3}, {"q": 0.3001}).flipped == 1
    assert flip_rate({"q": "Red"}, {"q": "red"}).flipped == 1
    assert flip_rate({"q": "1"}, {"q": 1.0}).flipped == 1


def test_a_repeat_that_never_flips_still_has_an_interval():
    same = {f"q{k}": 1.0 for k in range(40)}
    found = flip_rate(same, same, level=0.99)
    assert (found.rate, found.interval.low, found.interval.level) == (0.0, 0.0, 0.99)
    assert 0 < found.interval.high < 0.2


def test_questions_of_one_run_are_named():
    found = flip_rate({"p": 1.0, "q": 0.0, "a": 0.0}, {"q": 1.0, "p": 1.0, "z": 1.0})
    assert (found.n, found.flipped, found.only_first, found.only_again) == (2, 1, ("a",), ("z",))


@given(st.dictionaries(st.sampled_from("abcdef"), st.booleans().map(float), min_size=1), st.data())
def test_flips_are_symmetric_and_complement_agreement(first, data):
    again = {key: data.draw(st.sampled_from([0.0, 1.0])) for key in first}
    found = flip_rate(first, again)
    assert found.flipped == flip_rate(again, first).flipped == sum(first[key] != again[key] for key in first)
    labels = [{key: int(value) for key, value in run.items()} for run in (first, again)]
    assert found.rate == pytest.approx(1 - cohen_kappa(*labels).observed)
    assert found.interval.low <= found.rate <= found.interval.high


@pytest.mark.parametrize(
    ("first", "again", "message"),
    [
        ({}, {}, "0 in first, 0 in again"),
        ({"p": 1.0}, {"q": 1.0}, "1 in first, 1 in again"),
        ({"p": 1.0}, {"p": float("inf")}, "again: p: inf"),
    ],
)
def test_bad_repeats_are_named(first, again, message):
    with pytest.raises(ValueError, match=message):
        flip_rate(first, again)
