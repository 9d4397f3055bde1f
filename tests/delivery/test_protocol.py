"""Wording files: what they must have, what they may lack, and who then says so."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import pytest

from benchsuite.delivery.protocol import Protocol, bundled_protocol, load_protocol
from benchsuite.errors import ConfigError

OLD = """
name = "memlens"
version = "9"
refusal = "no idea"
system = "Say it, or {refusal}."
head = "Look:\\n"
empty = "Nothing.\\n"
role = "{rank}/{role}\\n"
question = "On {date}: {question}\\n"
"""
OPTIONAL = [field.name for field in fields(Protocol) if field.default is None]
PLAIN = ("", "+noimg", "+caption", "+label_images", "+nodate", "+date")
TAGGED = (
    *("+tagtext", "+tagpix", "+tagtext+conv", "+tagpix+conv", "+conv"),
    *("+tagconst", "+tagconst+conv", "+tagshuf", "+tagshufpix", "+dateperm", "+ordinal", "+bindshuf", "+phase"),
)
DELIVERIES = [
    *(preset + tokens for preset in ("pixels", "deployed", "stored", "direct", "noimg") for tokens in PLAIN),
    *(preset + tokens for preset in ("pixels", "deployed") for tokens in TAGGED),
]


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text(OLD)
    return load_protocol(path)


def test_a_file_from_before_tags_and_dates_serves_what_needs_none(old, delivery, rendered, store, turn):
    items = [turn(1, "Look <image>", store.draw(30, 20, caption="a dog"), date="2024/05/11")]
    assert [getattr(old, name) for name in OPTIONAL] == [None] * len(OPTIONAL)
    for text in ("pixels", "noimg", "stored", "pixels+tagpix", "deployed+notag+nodate"):
        old.check(delivery(text))
        assert rendered(items, text, old)[1].blocks[0].startswith("Look:\n1/user\nLook\n")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("deployed", "date"),
        ("pixels+tag", "tags_in_pixels"),
        ("pixels+tagtext", "tags_in_text"),
        ("pixels+caption", "caption"),
        ("direct", "session"),
        ("pixels+label_images", "image_label"),
    ],
)
def test_what_it_cannot_word_is_refused_by_field(old, delivery, text, field):
    with pytest.raises(ConfigError, match=f"^protocol memlens/9 has no '{field}', which this delivery needs$"):
        old.check(delivery(text))


@pytest.mark.parametrize("text", DELIVERIES)
def test_the_check_asks_for_what_rendering_uses_and_for_no_more(text, delivery, rendered, protocol, store, turn):
    dog, cat = store.draw(30, 20, caption="a dog"), store.draw(30, 21)
    items = [turn(1, "Look <image>", dog, date="2024/05/11"), turn(2, "And", cat, session=2)]
    for field in OPTIONAL:
        less = replace(protocol, **{field: None})
        try:
            less.check(delivery(text))
        except ConfigError:
            with pytest.raises(ConfigError, match=f"has no '{field}'"):
                rendered(items, text, less)
        else:
            assert rendered(items, text, less) == rendered(items, text)


def test_an_empty_text_says_nothing_on_purpose(protocol, delivery, rendered, store, turn):
    items = [turn(1, "Look", store.draw(30, 20))]
    quiet = replace(protocol, tag_note="")
    quiet.check(delivery("deployed"))
    sent = "".join(part.text for part in rendered(items, "deployed", quiet)[1].parts)
    assert "every picture of this message" not in sent
    assert "in its top left corner" in sent


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('date = "[{day}]"', "date: no value for {day}"),
        ('tag_note = "{tag} {rank}"', "tag_note: no value for {rank}"),
        ('session = "{session"', "session: expected '}' before end of string"),
        ("caption = 3", "caption: must be text"),
        ('stamp = "x"', "stamp: unknown field; fields: name, version, "),
    ],
)
def test_a_faulty_field_is_named(tmp_path, line, problem):
    path = tmp_path / "mine.toml"
    path.write_text(OLD + line + "\n")
    with pytest.raises(ConfigError, match="^" + re.escape(f"{path}: {problem}")):
        load_protocol(path)


def test_a_missing_needed_field_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OLD.replace("role =", "date ="))
    with pytest.raises(ConfigError, match=r"role: is missing$"):
        load_protocol(path)


def test_the_bundled_wordings_have_every_field(protocol):
    probes = OPTIONAL[OPTIONAL.index("reply_format") :]
    assert [name for name in OPTIONAL if not getattr(protocol, name)] == probes
    assert [name for name in OPTIONAL if getattr(bundled_protocol("mirage"), name) is None] == []
