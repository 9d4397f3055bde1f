"""Arms differ by what they say and by nothing else; without any memory the reader knows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Project, Row, Run

RETRIEVALS = ("text", "oracle")


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_pixels_and_withheld_deliver_the_same_items(echo: Run, retrieval: str) -> None:
    arms = echo.by_arm
    withheld, shown = arms[retrieval, "noimg"], arms[retrieval, "pixels"]
    assert {q: row["items"] for q, row in withheld.items()} == {q: row["items"] for q, row in shown.items()}
    assert {len(row["items"]) for row in shown.values()} == {10}
    assert {row["n_images"] for row in withheld.values()} == {0}
    assert all(row["n_images"] for row in shown.values() if row["answerable"])


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_requests_of_pixels_and_withheld_differ_in_image_parts_alone(
    echo: Run, corpus: dict[str, Row], retrieval: str
) -> None:
    arms, calls = echo.by_arm, echo.calls
    for question in corpus:
        rows = [arms[retrieval, delivery][question] for delivery in ("noimg", "pixels")]
        withheld, shown = (calls[row["cell"]] for row in rows)
        images = image_parts(shown)
        assert not image_parts(withheld)
        assert len(images) == rows[1]["n_images"]
        carriers = list(dict.fromkeys(part["item"] for part in images))
        assert carriers == [item for item in rows[1]["items"] if item in carriers], "not in the order of the items"
        assert without_images(withheld) == without_images(shown)
        assert (withheld["key"] == shown["key"]) == (not images)


def image_parts(call: Row) -> list[Row]:
    return [part for _, parts in call["messages"] for part in parts if part["kind"] == "image"]


def without_images(call: Row) -> dict[str, Any]:
    rest = {key: value for key, value in call.items() if key not in ("cell", "key", "messages")}
    kept = [[role, [part for part in parts if part["kind"] != "image"]] for role, parts in call["messages"]]
    return {**rest, "messages": kept}


def test_the_oracle_delivers_all_gold_that_fits(echo: Run, corpus: dict[str, Row]) -> None:
    arms = echo.by_arm
    for delivery in ("noimg", "pixels"):
        answerable = [row for row in arms["oracle", delivery].values() if row["answerable"]]
        assert len(answerable) >= 50
        for row in answerable:
            marked = {
                f"s{i}t{j}"
                for i, session in enumerate(corpus[row["question"]]["haystack_sessions"], start=1)
                for j, turn in enumerate(session, start=1)
                if turn["has_answer"]
            }
            assert 0 < len(marked) <= 10
            assert marked <= set(row["items"])
            assert row["n_gold_delivered"] == row["n_gold"] == len(marked)
    text = [row for row in arms["text", "pixels"].values() if row["answerable"]]
    assert any(row["n_gold_delivered"] < row["n_gold"] for row in text), "the text channel finds all gold: no contrast"
    assert {row["sees_gold"] for row in text} == {False}


def test_without_memory_the_reader_is_at_chance(project: Project) -> None:
    """The reader that never refuses, given no items: right on 2% of the answerable questions at most."""
    run = project.run("chance", model="embedded-forced", axis=["retrieval=none", "delivery=noimg"])
    rows = [row for row in run.rows if row["answerable"]]
    assert len(rows) >= 50
    assert {row["status"] for row in rows} == {"scored"}
    assert {row["refused"] for row in rows} == {False}
    assert {(row["n_items"], row["n_images"], row["n_gold_delivered"]) for row in rows} == {(0, 0, 0)}
    right = [row["question"] for row in rows if row["word"] == "right"]
    assert len(right) <= 0.02 * len(rows), right
