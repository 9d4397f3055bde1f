"""Real OCR and layout on drawn images; the reader sees pixels and nothing but the request."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from benchsuite.models.embedded.app import ReaderService
from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.layout import analyse
from benchsuite.models.embedded.ocr import ImageError, PageReader, decode
from benchsuite.models.embedded.reader import Finding, Reader

SLIP = [("Subtotal", "$31.10"), ("Service", "$4.20"), ("Total", "$35.30")]
CARDS = [("Distance", "8.4 km"), ("Pace", "5:12"), ("Heart rate", "141"), ("Climb", "96 m")]


def pairs_of(data: bytes) -> set[tuple[str, str]]:
    async def read() -> Any:
        return await PageReader(1).read(data)

    return {(pair.label, pair.value) for pair in analyse(asyncio.run(read()).boxes).pairs if pair.prior >= 0.5}


def test_rows_cards_and_bars_become_pairs(draw: Any) -> None:
    assert set(SLIP) <= pairs_of(draw.slip("Corner Bakery", SLIP))
    cards = pairs_of(draw.cards("Morning run", CARDS))
    assert set(CARDS) <= cards
    assert ("8.4 km", "5:12") not in cards
    assert {("North", "310"), ("East", "270"), ("South", "425")} <= pairs_of(
        draw.bars("Visitors", [("North", 310), ("East", 270), ("South", 425)])
    )


def test_one_image_is_read_once_however_often_it_is_sent(draw: Any) -> None:
    data = draw.slip("Corner Bakery", SLIP)

    async def read() -> tuple[int, int]:
        reader = PageReader(2)
        pages = await asyncio.gather(*(reader.read(data) for _ in range(6)))
        await reader.read(data)
        return len(set(pages)), reader.ocr_calls

    assert asyncio.run(read()) == (1, 1)


@pytest.mark.parametrize("data", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_broken_images_are_one_clear_error(data: bytes) -> None:
    with pytest.raises(ImageError, match="cannot be decoded"):
        decode(data)


def test_a_truncated_image_is_an_error(draw: Any) -> None:
    with pytest.raises(ImageError):
        decode(draw.slip("Corner Bakery", SLIP)[:900])


def test_vectors_do_not_depend_on_their_batch() -> None:
    texts = ["a red bicycle", "the total is 14", "a blue bicycle", "on", "where do we meet tomorrow at noon?"]
    together = Encoder().encode(texts)
    single = Encoder()
    alone = np.concatenate([single.encode([text]) for text in texts])
    backwards = Encoder().encode(texts[::-1])[::-1]

    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-3)
    assert (together == alone).all()
    assert (together == backwards).all()
    assert together[0] @ together[2] > together[0] @ together[1] + 0.2


def test_a_shared_encoder_takes_threads() -> None:
    encoder = Encoder()
    texts = [f"text number {n} about {'rain' if n % 2 else 'snow'}" for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(encoder.encode, [texts, texts[::-1], texts[::2], texts]))
    assert (results[0] == results[1][::-1]).all()
    assert encoder.wordpieces("text number") == 2


@pytest.fixture(scope="module")
def ask(service: ReaderService, draw: Any) -> Any:
    reader = Reader(service.encoder)

    def ask(question: str, items: list[tuple[str, bytes | None]]) -> Finding:
        async def pages() -> list[Any]:
            pages = PageReader(2)
            return [await pages.read(image) if image else None for _, image in items]

        parts = []
        for n, ((text, _), page) in enumerate(zip(items, asyncio.run(pages()), strict=True), start=1):
            parts.append(ChatPart(text=f"[{n}] user:\n{text}\n"))
            if page is not None:
                parts.append(ChatPart(page=page))
        parts.append(ChatPart(text=f"Question: {question}"))
        system = ChatMessage("system", (ChatPart(text='If it is not there say "Not stated here".'),))
        return reader.answer([system, ChatMessage("user", tuple(parts))])

    return ask


def test_a_value_only_in_pixels_is_found_with_the_image_and_refused_without(ask: Any, draw: Any) -> None:
    items = [
        ("Lunch at the Corner Bakery.", draw.slip("Corner Bakery", SLIP)),
        ("And the hardware store.", draw.slip("Miller Hardware", [*SLIP[:2], ("Total", "$12.75")])),
        ("I went for a run today.", None),
    ]
    question = "What is the total on the Corner Bakery slip?"

    seen = ask(question, items)
    assert seen.reply(forced=False) == "$35.30"
    assert ask("What is the total on the Miller Hardware slip?", items).reply(forced=True) == "$12.75"

    blind = ask(question, [(text, None) for text, _ in items])
    assert blind.reply(forced=False) == "Not stated here"
    assert "35.30" not in blind.reply(forced=True)


def test_an_entity_that_was_never_shown_is_refused(ask: Any, draw: Any) -> None:
    items = [("My run this morning.", draw.cards("Morning run", CARDS))]
    assert ask("What was the pace of the morning run?", items).reply(forced=False) == "5:12"
    assert ask("What is the wifi password at Granny Olsen?", items).reply(forced=False) == "Not stated here"


def test_an_answer_in_message_text_needs_no_pixels(ask: Any) -> None:
    items = [("The dentist moved my appointment to 14:30.", None), ("I baked bread.", None)]
    assert ask("At what time is my dentist appointment?", items).reply(forced=False) == "14:30"


def test_nothing_delivered_is_a_refusal(ask: Any) -> None:
    assert ask("What is the total?", []).reply(forced=False) == "Not stated here"
