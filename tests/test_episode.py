"""The order of delivery, and what a retriever may not return."""

from __future__ import annotations

import pytest

from benchsuite.corpus.model import Item
from benchsuite.errors import ConfigError
from benchsuite.workbench import order_items

ITEMS = [Item(name, (name,), "user", name) for name in "abcd"]


def test_rank_order_breaks_ties_by_conversation_position_and_conv_ignores_scores():
    ranking = [("d", 0.5), ("b", 0.5), ("c", 0.9)]
    assert [item.id for item in order_items(ITEMS, ranking, "rank", "r")] == ["c", "b", "d"]
    assert [item.id for item in order_items(ITEMS, ranking, "conv", "r")] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("ranking", "words"),
    [
        ([("a", 1.0), ("a", 2.0)], "'mine' returned an item twice"),
        ([("a", 1.0), ("z", 2.0)], "'mine' returned 'z', which is no item of the history"),
        ([("a", 1.0), ("b", float("nan"))], "'mine' gave item 'b' the score nan"),
    ],
)
def test_a_faulty_ranking_is_named(ranking, words):
    with pytest.raises(ConfigError, match=words):
        order_items(ITEMS, ranking, "rank", "mine")
