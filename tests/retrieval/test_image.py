"""The image channel and the fusion, against numbers worked out by hand (DeliverMem A.2, table 6)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchsuite.corpus.model import Image, Item, Query
from benchsuite.retrieval.image import BothChannels, ImageChannel
from benchsuite.retrieval.text import TextChannel

if TYPE_CHECKING:
    from .conftest import Kit

QUERY = Query("which one", "2024/01/01")


def pixels(name: str, missing: str = "") -> Image:
    return Image("" if missing else name * 64, f"{name}.png", missing=missing)


A, B, C, D, E = map(pixels, "abcde")
GONE = pixels("f", missing="absent")


@dataclass
class Scripted:
    """Services with given cosines: of an image by the first letter of its digest, of a text by the text."""

    images: Mapping[str, float]
    texts: Mapping[str, float] = field(default_factory=dict)
    asked: list[tuple[str, str, int]] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The query points east; a text has its cosine with it."""
        cosines = [self.texts.get(text, 1.0) for text in texts]
        return np.array([[cosine, math.sqrt(1 - cosine**2)] for cosine in cosines], np.float32)

    async def image_scores(self, text: str, images: Sequence[Image], index: str) -> list[float]:
        self.asked.append((text, index, len(images)))
        return [self.images[image.sha256[0]] for image in images]


def history(*messages: tuple[str, tuple[Image, ...]]) -> list[Item]:
    return [Item(f"m{n}", (f"t{n}",), "user", text, images) for n, (text, images) in enumerate(messages)]


def ranked(channel: Any, items: Sequence[Item], k: int = 10) -> list[tuple[str, float]]:
    return [(item, round(score, 6)) for item, score in asyncio.run(channel.rank(QUERY, items, k))]


def test_the_image_channel_is_min_max_normalised_over_messages_with_images() -> None:
    """Maxima .1, .5 and .2 (of .2 and .05): (.1-.1)/.4 = 0, (.5-.1)/.4 = 1, (.2-.1)/.4 = .25; without image .5."""
    services = Scripted({"a": 0.1, "b": 0.5, "c": 0.2, "d": 0.05})
    items = history(("x", (A,)), ("y", ()), ("z", (D, C)), ("", (B,)), ("w", (GONE,)))
    expected = [("m3", 1.0), ("m1", 0.5), ("m4", 0.5), ("m2", 0.25), ("m0", 0.0)]
    assert ranked(ImageChannel(services), items) == expected
    assert ranked(ImageChannel(services), items, k=2) == expected[:2]
    assert services.asked == [("which one", "region", 4)] * 2, "a missing image is not asked for"


def test_both_is_the_mean_of_raw_text_cosine_and_normalised_image_score() -> None:
    """m0: (.6+0)/2 = .3; m1: (.2+.5)/2 = .35; m2: (0+.25)/2 = .125 (no text: 0); m3: (-.4+1)/2 = .3."""
    services = Scripted({"a": 0.1, "b": 0.5, "c": 0.2}, {"x": 0.6, "y": 0.2, "z": -0.4})
    items = history(("x", (A,)), ("y <image>", (GONE,)), (" <image> ", (C,)), ("z", (B,)))
    expected = [("m1", 0.35), ("m0", 0.3), ("m3", 0.3), ("m2", 0.125)]
    assert ranked(BothChannels(services), items) == expected, "m0 and m3 tie: conversation position"
    assert ranked(BothChannels(services), items, k=3) == expected[:3]


def test_the_text_score_stays_raw_in_the_fusion() -> None:
    """Text .9 and .8 would be 1 and 0 if it were normalised too, and would win against images .3 and .7."""
    services = Scripted({"a": 0.3, "b": 0.7}, {"x": 0.9, "y": 0.8})
    assert ranked(BothChannels(services), history(("x", (A,)), ("y", (B,)))) == [("m1", 0.9), ("m0", 0.45)]


@pytest.mark.parametrize(
    "messages",
    [
        [("x", (A,)), ("y", ())],  # one message with an image
        [("x", (A,)), ("y", (B,)), ("x", (A, B))],  # equal scores
        [("x", (A,)), ("y", (replace(A, path="copy.png"),))],  # the same image twice
    ],
    ids=["one", "equal", "same"],
)
def test_a_span_of_zero_gives_everyone_the_neutral_score(messages: list[Any]) -> None:
    services = Scripted({"a": 0.25, "b": 0.25 + 1e-9}, {"x": 0.4, "y": 0.6})
    items = history(*messages)
    assert {score for _, score in ranked(ImageChannel(services), items)} == {0.5}
    texts = ranked(TextChannel(services), items)
    assert ranked(BothChannels(services), items) == [(item, round((score + 0.5) / 2, 6)) for item, score in texts]


def test_a_history_without_images_asks_for_none() -> None:
    services = Scripted({}, {"x": 0.4, "y": 0.6})
    items = history(("x", ()), ("y", (GONE,)))
    assert ranked(ImageChannel(services), items) == [("m0", 0.5), ("m1", 0.5)]
    assert ranked(BothChannels(services), items) == [("m1", 0.55), ("m0", 0.45)]
    assert ranked(ImageChannel(services), []) == ranked(BothChannels(services), []) == []
    assert services.asked == []


def test_the_index_is_an_axis() -> None:
    services = Scripted({"a": 0.1})
    for channel in (ImageChannel(services, "whole"), BothChannels(services, index="whole"), ImageChannel(services)):
        ranked(channel, history(("x", (A,))))
    assert [index for _, index, _ in services.asked] == ["whole", "whole", "region"]


def test_scores_that_differ_by_rounding_noise_tie() -> None:
    """Cosines are taken to six decimals, so that the last bits of a device decide nothing."""
    services = Scripted({"a": 0.3, "b": 0.3 + 4e-8, "c": 0.1, "d": 0.9})
    items = history(("", (C,)), ("", (A,)), ("", (B,)), ("", (D,)))
    assert ranked(ImageChannel(services), items) == [("m3", 1.0), ("m1", 0.25), ("m2", 0.25), ("m0", 0.0)]


def test_ids_and_paths_change_nothing() -> None:
    services = Scripted({"a": 0.1, "b": 0.5, "c": 0.2, "d": 0.1}, {"x": 0.6, "y": 0.2, "z": -0.4})
    items = history(("x", (A,)), ("y", ()), ("z", (B, C)), ("x", (D,)), ("y", ()))
    renamed = [
        replace(item, id=f"q{9 - n}", turn_ids=(f"u{n}",), images=tuple(replace(i, path="p") for i in item.images))
        for n, item in enumerate(items)
    ]
    places = {item.id: n for line in (items, renamed) for n, item in enumerate(line)}
    for channel in (ImageChannel(services), BothChannels(services), TextChannel(services)):
        before, after = ([(places[i], s) for i, s in ranked(channel, line)] for line in (items, renamed))
        assert before == after


def test_over_the_real_index(kit: Kit) -> None:
    """Channel, encoder, HTTP and index together: the tile decides in region, the whole view does not have it."""
    found = kit.image([0, 1], [0, 1], [1, 0])
    plain = kit.image([3, 4], [3, 4])
    items = [kit.item("a", plain), kit.item("b"), kit.item("c", found, plain)]
    encoder = kit.encoder()

    class Services:
        image_scores = staticmethod(encoder.scores)

    async def work() -> list[list[tuple[str, float]]]:
        try:
            query = Query("[1, 0]")
            return [list(await ImageChannel(Services(), index).rank(query, items, 3)) for index in ("region", "whole")]  # type: ignore[arg-type]
        finally:
            await encoder.close()

    region, whole = asyncio.run(work())
    assert region == [("c", 1.0), ("b", 0.5), ("a", 0.0)]
    assert whole == [("a", 0.5), ("b", 0.5), ("c", 0.5)], "the best of c is the same plain image"
