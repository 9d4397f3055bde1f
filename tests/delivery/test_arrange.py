"""What changes places does so by content alone, keeps what it must, and moves whatever can move."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.corpus.model import UNKNOWN_DATE, Image, Item
from benchsuite.delivery.arrange import MARK, all_slots, arrange, change_places, seed_of, with_decoys

SEED = seed_of("Where is it?", "2024/06/01", "history")


def picture(name: str, missing: str = "") -> Image:
    return Image(sha256=f"{name:0>64}", path=f"{name}.png", mime="image/png", width=8, height=6, missing=missing)


def message(number: int, *images: Image, date: str | None = None) -> Item:
    when = f"2024/05/{number:02}" if date is None else date
    return Item(f"t{number}", (f"t{number}",), "user", f"text {number}", images, when, session=number)


@pytest.fixture
def items() -> list[Item]:
    return [
        message(1, picture("a"), picture("b")),
        message(2),
        message(3, picture("c")),
        message(4, picture("gone", "absent"), picture("d"), date="2024/05/01"),
        message(5, picture("e"), date=UNKNOWN_DATE),
        message(6, date=""),
    ]


def names(placed) -> list[str]:
    return [slot.image.sha256.lstrip("0") for slot in all_slots(placed)]


def stamps(placed) -> list[str]:
    return [slot.tag for slot in all_slots(placed)]


def told(placed) -> list[str]:
    return [each.tag for each in placed]


@given(st.lists(st.integers(0, 5), max_size=12), st.text(max_size=4))
def test_places_are_exchanged_and_no_group_that_can_leave_stays(groups, seed):
    source = change_places(groups, seed)
    assert sorted(source) == list(range(len(groups)))
    stayed = Counter(group for place, group in enumerate(groups) if groups[source[place]] == group)
    if len(set(groups)) < 2:
        assert source == list(range(len(groups)))
    for group, count in stayed.items():  # only what has no other place
        rest = len(groups) - groups.count(group)
        assert count == max(0, groups.count(group) - rest)


def test_the_draw_follows_from_the_seed():
    groups = list(range(9))
    assert change_places(groups, "one") == change_places(groups, "one")
    assert len({tuple(change_places(groups, str(seed))) for seed in range(40)}) > 30


def test_binding_moves_images_to_other_messages_and_nothing_else(items, delivery):
    intact, moved = (arrange(items, delivery(text), SEED) for text in ("deployed", "deployed+bindshuf"))
    assert names(moved) != names(intact)
    assert sorted(names(moved)) == sorted(names(intact))
    owner = {"a": 0, "b": 0, "c": 2, "d": 3, "e": 4}
    for number, placed in enumerate(moved):
        assert all(owner[slot.image.sha256.lstrip("0")] != number for slot in placed.slots if slot)
    assert stamps(moved) == stamps(intact)  # a stamp stays at its place
    assert [(p.item, p.tag, p.date, [s is None for s in p.slots]) for p in moved] == [
        (p.item, p.tag, p.date, [s is None for s in p.slots]) for p in intact
    ]


def test_shuffled_tags_change_places_in_both_readings(items, delivery):
    plain, note, pixels = (
        arrange(items, delivery(f"deployed+{token}"), SEED) for token in ("tag", "tagshuf", "tagshufpix")
    )
    assert stamps(plain) == ["M1", "M1", "M3", "M4", "M5"]
    assert told(plain) == told(pixels) == ["M1", "", "M3", "M4", "M5", ""]
    assert stamps(note) == stamps(pixels)
    assert sorted(set(stamps(note))) == ["M1", "M3", "M4", "M5"]
    assert all(before != after for before, after in zip(stamps(plain), stamps(note), strict=True))
    assert [each.tag for each in note if any(each.slots)] == [
        next(slot.tag for slot in each.slots if slot) for each in note if any(each.slots)
    ]
    assert names(note) == names(plain)


def test_the_constant_mark_stands_in_the_box_of_each_tag(items, delivery):
    placed = arrange(items, delivery("deployed+tagconst"), SEED)
    assert {slot.tag for slot in all_slots(placed)} == {MARK} == {tag for tag in told(placed) if tag}
    assert [slot.frame for slot in all_slots(placed)] == ["M1", "M1", "M3", "M4", "M5"]


def test_a_tag_in_the_pixels_alone_is_not_named(items, delivery):
    placed = arrange(items, delivery("deployed+tagpix"), SEED)
    assert stamps(placed) == ["M1", "M1", "M3", "M4", "M5"]
    assert not any(told(placed))


def test_permuted_dates_are_the_same_dates_elsewhere(items, delivery):
    dated, permuted = (
        [each.date for each in arrange(items, delivery(text), SEED)] for text in ("deployed", "deployed+dateperm")
    )
    assert dated == ["2024/05/01", "2024/05/02", "2024/05/03", "2024/05/01", "", ""]
    assert sorted(permuted) == sorted(dated)
    assert permuted[4:] == ["", ""]  # a message without a date gets none
    assert all(before != after for before, after in zip(dated[:4], permuted[:4], strict=True))


@pytest.mark.parametrize("token", ["dateperm", "tagshuf", "bindshuf"])
def test_one_date_or_one_image_has_nowhere_to_go(delivery, token):
    alone = [message(1, picture("a")), message(2, date=""), message(3, date=UNKNOWN_DATE)]
    moved, plain = arrange(alone, delivery(f"deployed+{token}"), SEED), arrange(alone, delivery("deployed"), SEED)
    assert (names(moved), stamps(moved), told(moved), [p.date for p in moved]) == (
        names(plain),
        stamps(plain),
        told(plain),
        [p.date for p in plain],
    )


def test_ordinals_number_the_history(items, delivery):
    placed = arrange([items[4], items[1]], delivery("deployed+ordinal"), SEED, items)
    assert [(each.place, each.date) for each in placed] == [(5, ""), (2, "")]
    assert [each.place for each in arrange(items, delivery("deployed"), SEED, items)] == [0] * 6


@pytest.mark.parametrize("control", ["scramble", "phase"])
def test_each_image_draws_from_the_question_and_itself(items, delivery, control):
    slots = all_slots(arrange(items, delivery(f"pixels+{control}"), SEED))
    assert {slot.control for slot in slots} == {control}
    assert len({slot.seed for slot in slots}) == len(slots)
    assert slots == all_slots(arrange(items, delivery(f"pixels+{control}"), SEED))
    other = all_slots(arrange(items, delivery(f"pixels+{control}"), seed_of("another question")))
    assert not {slot.seed for slot in slots} & {slot.seed for slot in other}


def test_ids_and_paths_draw_nothing(items, delivery):
    renamed = [
        replace(
            item,
            id=f"x{item.id}",
            turn_ids=(f"x{item.id}",),
            images=tuple(replace(image, path=f"x{image.path}") for image in item.images),
        )
        for item in items
    ]
    for text in ("deployed+bindshuf", "deployed+tagshuf", "deployed+dateperm", "pixels+phase"):
        a, b = arrange(items, delivery(text), SEED), arrange(renamed, delivery(text), SEED)
        assert (names(a), stamps(a), told(a)) == (names(b), stamps(b), told(b))
        assert [slot.seed for slot in all_slots(a)] == [slot.seed for slot in all_slots(b)]


def test_decoys_take_the_slots_in_order(items, delivery):
    placed = arrange(items, delivery("deployed+decoy"), SEED)
    decoys = [picture(f"f{number}") for number in range(5)]
    filled = with_decoys(placed, decoys)
    assert names(filled) == ["f0", "f1", "f2", "f3", "f4"]
    assert [slot.replaces for slot in all_slots(filled)] == [slot.image for slot in all_slots(placed)]
    assert stamps(filled) == stamps(placed)


@pytest.mark.parametrize("text", ["noimg", "deployed+noimg", "pixels+caption"])
def test_where_no_pixels_are_shown_nothing_is_tagged(items, delivery, text):
    placed = arrange(items, delivery(text), SEED)
    assert all_slots(placed) == []
    assert not any(told(placed))
