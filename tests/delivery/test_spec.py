"""Presets, tokens, and what does not go together."""

from __future__ import annotations

from itertools import product

import pytest

from benchsuite.delivery.spec import Delivery
from benchsuite.errors import ConfigError


def test_deployed_without_tag_and_date_is_pixels(delivery, presets):
    assert delivery("deployed+notag+nodate") == presets["pixels"] == Delivery()
    assert delivery("pixels+tag+date") == presets["deployed"]
    assert delivery("pixels+noimg") == presets["noimg"]
    assert presets["deployed"] != presets["pixels"]


@pytest.mark.parametrize(
    ("text", "axis", "value"),
    [
        ("pixels+noimg", "modality", "withheld"),
        ("pixels+caption", "modality", "caption"),
        ("pixels+scramble", "modality", "scramble"),
        ("pixels+phase", "modality", "phase"),
        ("deployed+decoy", "modality", "decoy"),
        ("deployed+notag", "identity", "none"),
        ("deployed+tagconst", "identity", "constant"),
        ("deployed+tagshuf", "identity", "shuffled"),
        ("deployed+tagshufpix", "identity", "shuffled_pixels_only"),
        ("deployed+dateperm", "time", "permuted"),
        ("pixels+ordinal", "time", "ordinal"),
        ("deployed+bindshuf", "binding", "shuffled"),
        ("pixels+tag", "identity", "tag"),
        ("pixels+tagpix", "identity", "tag_pixels_only"),
        ("stored+tagtext", "identity", "tag_in_text"),
        ("deployed+nodate", "time", "none"),
        ("pixels+date", "time", "date"),
        ("pixels+conv", "order", "conv"),
        ("pixels+s384", "side", 384),
        ("direct+label_images", "label_images", True),
        ("pixels+noimg+caption", "modality", "caption"),
    ],
)
def test_a_token_changes_its_axis_and_no_other(delivery, presets, text, axis, value):
    changed, preset = delivery(text), presets[text.split("+")[0]]
    assert getattr(changed, axis) == value != getattr(preset, axis)
    others = [name for name in Delivery.__slots__ if name != axis]
    assert [getattr(changed, name) for name in others] == [getattr(preset, name) for name in others]


def test_the_order_of_tokens_does_not_matter_on_different_axes(delivery):
    assert delivery("deployed+noimg+s384+conv") == delivery("deployed+conv+s384+noimg")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("stored+s384", "stored bytes are sent as they are and have no side"),
        ("direct+s800", "have no side"),
        ("stored+tag", "carry no tag in their pixels"),
        ("stored+tagpix", "carry no tag in their pixels"),
        ("pixels+caption+tagpix", "needs pixels, and modality is caption"),
        ("noimg+tagpix", "needs pixels, and modality is withheld"),
        ("stored+phase", "cannot be a phase image"),
        ("direct+decoy", "cannot be a decoy image"),
        ("noimg+tagshufpix", "needs pixels, and modality is withheld"),
        ("direct+dateperm", "the session form has no items whose dates could change places"),
        ("direct+ordinal", "the session form has no items whose dates could change places or be numbered"),
        ("direct+bindshuf", "the session form keeps every image in its message"),
        ("direct+tagtext", "the session form has no items to tag"),
        ("pixels+blur", "has no token 'blur'; known: noimg, caption, scramble, phase, decoy, notag, "),
        ("pixels+s0", "has no token 's0'"),
        ("raw", "delivery has no value 'raw'; known: pixels, noimg, deployed, stored, direct"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(delivery, text, problem):
    with pytest.raises(ConfigError) as error:
        delivery(text)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert text in str(error.value)


@pytest.mark.parametrize("axis", ["modality", "identity", "time", "binding", "order", "codec", "form"])
def test_an_unknown_value_of_a_preset_is_refused(axis):
    with pytest.raises(ConfigError, match=f"{axis} has no value 'odd'; known: "):
        Delivery(**{axis: "odd"})


def refusal(delivery, text):
    try:
        delivery(text)
    except ConfigError as error:
        return str(error)
    return ""


def test_every_preset_takes_every_token_or_says_why(delivery, presets):
    """No combination of a preset and two tokens is a fault of the program."""
    tokens = ["noimg", "caption", "notag", "tag", "tagpix", "tagtext", "nodate", "date", "conv", "s384", "label_images"]
    combinations = [f"{name}+{one}+{two}" for name in presets for one, two in product(tokens, tokens)]
    refusals = {text: problem for text in combinations if (problem := refusal(delivery, text))}
    assert 0 < len(refusals) < len(combinations) / 2
    assert all(problem.startswith(f"delivery {text!r}: ") for text, problem in refusals.items())
