"""The names of states."""

from __future__ import annotations

import pytest

from benchsuite.corpus.script import Scale
from benchsuite.errors import ConfigError
from benchsuite.runtime.states import Milestone, parse_state

SCALE = Scale(per_k=100, planted=0, compaction=10_000)


@pytest.mark.parametrize(
    ("text", "compactions", "depth"),
    [
        ("S1-d0", 0, 0),
        ("S1-d50k", 0, 50),
        ("S1-d50", 0, 50),
        ("S2", 1, None),
        ("S2-d0", 1, 0),
        ("S12-d1000k", 11, 1000),
    ],
)
def test_a_name_says_compactions_and_depth(text, compactions, depth):
    assert parse_state(text) == Milestone(text, compactions, depth)


@pytest.mark.parametrize(
    "text",
    [
        *("", "S1", "S0", "S0-d1k", "s2", "S2-", "S2-d", "S2-dk", "S2-d2m", "S2-d20kk", "S2-d-1k", "S2 ", " S2"),
        *("S2\n", "S100", "S02", "S2-d20000k", "S2-d2.5k", "none", "S1-d５k", "S2-d20k-x"),
    ],
)
def test_another_form_is_refused_with_the_forms_there_are(text):
    with pytest.raises(ConfigError) as caught:
        parse_state(text)
    assert str(caught.value).startswith(f"state has no value {text!r}; write S1-d<N>k, S<n> or S<n>-d<N>k")
    assert "\n" not in str(caught.value)


def test_depth_is_in_the_thousands_of_the_scale():
    assert parse_state("S1-d50k").tokens(SCALE) == 5000
    assert parse_state("S2").tokens(SCALE) == 0
    assert parse_state("S1-d99k").tokens(SCALE) == 9900


def test_a_depth_at_or_past_the_compaction_is_never_reached():
    for text in ("S1-d100k", "S2-d101k"):
        with pytest.raises(ConfigError, match=rf"{text} is never reached: it is at 10[01]00 tokens, and .* at 10000"):
            parse_state(text).tokens(SCALE)
