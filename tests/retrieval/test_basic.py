"""Selection without likeness: random and gold_only."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchsuite.corpus.model import Evidence, Image, Item, Query
from benchsuite.registry import Registry
from benchsuite.retrieval import basic, image, text
from benchsuite.retrieval.basic import GoldOnly, Random

QUERY = Query("Where is the key?", "2024/01/01")


def history(n: int = 20) -> list[Item]:
    return [
        Item(
            f"m{i}",
            (f"t{i}",),
            "user" if i % 2 else "assistant",
            f"text {i}",
            (Image(f"{i:064x}", f"{i}.png"),),
            "d",
            1,
        )
        for i in range(n)
    ]


def drawn(query: Query, items: Sequence[Item], k: int) -> list[int]:
    """Positions in the order of their scores."""
    places = {item.id: i for i, item in enumerate(items)}
    ranking = Random().rank(query, items, k)
    scores = [score for _, score in ranking]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores), "scores decide the order, no tie does"
    return [places[item_id] for item_id, _ in ranking]


def test_random_draws_without_replacement() -> None:
    items = history()
    assert sorted(drawn(QUERY, items, 20)) == list(range(20))
    assert sorted(drawn(QUERY, items, 99)) == list(range(20)), "fewer than k are all of them"
    assert drawn(QUERY, items, 5) == drawn(QUERY, items, 20)[:5] == drawn(QUERY, items, 5)
    assert drawn(QUERY, [], 5) == []


def test_random_is_seeded_by_content_and_never_by_ids() -> None:
    items = history()
    renamed = [
        replace(m, id=f"x{99 - i}", turn_ids=(f"y{i}",), images=tuple(replace(p, path=f"{i}/z") for p in m.images))
        for i, m in enumerate(items)
    ]
    first = drawn(QUERY, items, 20)
    assert drawn(QUERY, renamed, 20) == first
    others = {
        "question": (replace(QUERY, text="Where is the door?"), items),
        "date": (replace(QUERY, date="2024/01/02"), items),
        "message": (QUERY, [replace(items[0], text="another"), *items[1:]]),
        "role": (QUERY, [replace(items[0], role="user"), *items[1:]]),
        "message date": (QUERY, [replace(items[0], date="e"), *items[1:]]),
        "pixels": (QUERY, [replace(items[0], images=(Image("f" * 64, "0.png"),)), *items[1:]]),
    }
    draws = {name: tuple(drawn(*changed, 20)) for name, changed in others.items()}
    assert len({tuple(first), *draws.values()}) == 1 + len(others)


def test_random_draws_every_place_alike() -> None:
    """2,000 questions draw 3 of 20 each: 300 +- 4 standard deviations (of 16) a place, first draws 100 +- 40."""
    items = history()
    draws = [drawn(replace(QUERY, text=f"question {n}"), items, 3) for n in range(2000)]
    places = Counter(place for draw in draws for place in draw)
    firsts = Counter(draw[0] for draw in draws)
    assert all(236 <= places[place] <= 364 for place in range(20))
    assert all(60 <= firsts[place] <= 140 for place in range(20))


@pytest.mark.parametrize(
    ("gold", "k", "expected"),
    [
        (("t7", "t2", "t11"), 10, ["m2", "m7", "m11"]),
        (("t7", "t2", "t11"), 2, ["m2", "m7"]),
        (("t0",), 10, ["m0"]),
        ((), 10, []),
        (("elsewhere",), 10, []),
    ],
)
def test_gold_only_is_the_gold_in_conversation_order(gold: tuple[str, ...], k: int, expected: list[str]) -> None:
    ranking = asyncio.run(GoldOnly().rank(QUERY, history(), k, Evidence(turn_ids=gold)))
    assert [item for item, _ in ranking] == expected
    assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)


def test_a_message_of_several_turns_is_gold_once() -> None:
    items = [replace(item, turn_ids=(f"t{i}", f"u{i}")) for i, item in enumerate(history(3))]
    assert asyncio.run(GoldOnly().rank(QUERY, items, 5, Evidence(turn_ids=("u1", "t1")))) == [("m1", 0.0)]


def test_all_rankers_are_registered_and_only_oracles_see_gold() -> None:
    registry = Registry()
    for module in (basic, image, text):
        module.register(registry)
    oracles = {name for name, component in registry.retrievals.items() if component.oracle}
    assert set(registry.retrievals) == {
        "text", "image", "both", "oracle", "gold_only", "recency", "random", "full", "none",
    }  # fmt: skip
    assert oracles == {"oracle", "gold_only"}
    for component in registry.retrievals.values():
        rank: Any = component.factory.rank
        assert ("evidence" in inspect.signature(rank).parameters) == component.oracle
    assert registry.retrievals["image"].parameters() == registry.retrievals["both"].parameters() == {"index": "region"}
