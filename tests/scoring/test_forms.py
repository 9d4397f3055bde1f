"""What an answer settles on: an order, an option letter, yes or no."""

from __future__ import annotations

import pytest

from benchsuite.scoring.forms import closed_form, named_option, named_order, named_particle


@pytest.mark.parametrize(
    "text",
    [
        "(2)(1)(3)",
        "**(2)(1)(3)**",
        "2, 1, 3",
        "2, 1, and 3",
        "2-1-3",
        "2 > 1 > 3",
        "2→1→3",
        "2\n1\n3",
        "two, one, three",
        "First 2, second 1, third 3.",
        "Event 2 happened first, then event 1, then event 3",
        "(2) before (1) before (3)",
        "(2) the fair, (1) the lake, (3) the zoo",
        "1. (2)\n2. (1)\n3. (3)",
        "The order of (1), (2) and (3) is (2)(1)(3).",
        "2, 1, 3 since 2024/01/05 comes before 2024/02/03",
        "(2)(1)(3), not (1)(2)(3)",
        "Not (1)(2)(3) but (2)(1)(3)",
        "(1)(2)(3) seemed right at first. In fact: (2)(1)(3)",
    ],
)
def test_an_order_however_it_is_written(text):
    assert named_order(text) == (2, 1, 3)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("(2)(1)(3)(4)", (2, 1, 3, 4)),
        ("2 then 1", (2, 1)),
        ("(1)(2)(3) or (2)(1)(3)", None),
        ("213", None),
        ("I saw 2 dogs, 1 cat, 3 birds", None),
        ("on 2024/01/05 at 9:30", None),
        ("$2, $1, $3", None),
        ("2.5, 1.5", None),
        ("", None),
    ],
)
def test_what_is_another_order_or_none(text, order):
    assert named_order(text) == order


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("A", "A"),
        ("b", "B"),
        ("(a)", "A"),
        ("**B**", "B"),
        ("Option A", "A"),
        ("option a", "A"),
        ("b) seven days", "B"),
        ("A.", "A"),
        ("A is longer", "A"),
        ("Duration B", "B"),
        ("Answer: A. Duration 1 is longer.", "A"),
        ("The answer is B, since A is 3 days", "B"),
        ("(A) 5 days (B) 7 days, so B", "B"),
        ("A lasted longer than B", "A"),
        ("A (5 days) is longer than B (3 days)", "A"),
        ("A, not B", "A"),
        ("A duration of 5 days", None),
        ("A dog", None),
        ("a dog", None),
        ("The T-shirt", None),
        ("It is Tuesday", None),
        ("I don't know about that", None),
        ("U.S.A.", None),
        ("A's", None),
        ("not A", None),
        ("A or B", None),
        ("Neither A nor B", None),
        ("B is shorter than A", None),
        ("", None),
    ],
)
def test_an_option_is_named_and_not_found_in_prose(text, letter):
    assert named_option(text) == letter


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Yes", "yes"),
        ("**No**", "no"),
        ('"Yes."', "yes"),
        ("no, it is not", "no"),
        ("No receipt was larger", "no"),
        ("Yes, there is no difference", "yes"),
        ("Answer: Yes", "yes"),
        ("The answer is no.", "no"),
        ("It is not, so no", "no"),
        ("Is it larger? No.", "no"),
        ("I know nothing about it, no.", "no"),
        ("yes\n\nThe first one is larger, no doubt about it.", "yes"),
        ("Yes and no", None),
        ("Yes. No.", None),
        ("There is no receipt.", None),
        ("I know nothing", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_yes_or_no_is_a_word_of_its_own(text, word):
    assert named_particle(text) == word


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        ("(1)(2)", "1, 2", "2, 1"),
        ("(10)(2)", "(10)(2)", "(1)(0)(2)"),
        ("1 -> 2", "(1)(2)", "(2)(1)"),
        ("B", "(B)", "A"),
        ("(B)", "option b", "the best"),
        ("yes", "Yes.", "no"),
        ("NO", "no", "nothing"),
    ],
)
def test_golds_of_a_closed_form(gold, right, wrong):
    assert closed_form(gold, right) is True
    assert closed_form(gold, wrong) is False


@pytest.mark.parametrize(
    "gold", ["(1)", "2, 1, 3", "12", "Plan B", "I", "a", "AB", "no one", "yes men", "", "2024/01/15"]
)
def test_other_golds_have_no_closed_form(gold):
    assert closed_form(gold, gold) is None
