"""The region index against whole images, with the real OCR encoder: it wins where the cue is small, and only there.

The frames are drawn here: one small printed note each in a like scene, the only thing that tells them apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from benchsuite.corpus.model import Image, Item, Query
from benchsuite.models.encoders.spec import parse_encoder
from benchsuite.models.launch import LaunchedServer, launch_server
from benchsuite.retrieval.embed_images import ImageEncoder
from benchsuite.retrieval.image import ImageChannel

WIDTH, HEIGHT = 1200, 900
SMALL, LARGE = 0.0035, 0.02  # of the frame: the note
VIEW = 384  # pixels of the longest side that the encoder sees, of the frame or of a tile
THINGS = ("winter gloves", "swimming goggles", "violin strings", "garden shears")
OWNERS = ("Nora", "Theo", "Ruth")
TOWNS = ("Bergen", "Lucca", "Toledo")


@dataclass(frozen=True, slots=True)
class Frame:
    """A PNG, the question that only its note answers, and the height of the note's text in px."""

    png: bytes
    question: str
    height: float

    @property
    def image(self) -> Image:
        return Image(hashlib.sha256(self.png).hexdigest(), "", "image/png", WIDTH, HEIGHT, len(self.png))


def draw_frames(share: float, things: Sequence[str]) -> list[Frame]:
    """A frame for each thing and owner; its note takes about ``share`` of the area, anywhere in it.

    Notes have most of their words in common with others, so half a word read in a view does not do.
    """
    return [
        draw_frame(f"{thing} of {owner}, from the flea market in {town}", f"Where are the {thing} of {owner}?", share)
        for turn, thing in enumerate(things)
        for owner, town in zip(OWNERS, TOWNS[turn % 3 :] + TOWNS[: turn % 3], strict=True)
    ]


def draw_frame(note: str, question: str, share: float) -> Frame:
    dice = random.Random(note)
    image = PillowImage.new("RGB", (WIDTH, HEIGHT), (205, 200, 190))
    pen = ImageDraw.Draw(image)
    for _ in range(14):
        x, y, shade = dice.randrange(WIDTH), dice.randrange(HEIGHT), dice.randrange(120, 190)
        corner = (x + dice.randrange(60, 320), y + dice.randrange(40, 240))
        pen.rectangle(((x, y), corner), fill=(shade, shade - 10, shade - 25))
    font = ImageFont.load_default(font_size(pen, note, share))
    left, top, right, bottom = pen.textbbox((0, 0), note, font)
    width, height = right - left, bottom - top
    x, y = dice.randrange(20, int(WIDTH - width - 20)), dice.randrange(20, int(HEIGHT - height - 20))
    pen.rectangle((x - 8, y - 6, x + width + 8, y + height + 6), fill="white")
    pen.text((x - left, y - top), note, font=font, fill=(25, 25, 25))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Frame(buffer.getvalue(), question, height)


def font_size(pen: ImageDraw.ImageDraw, note: str, share: float) -> float:
    """In px, so that the note's box has the wanted share of the frame."""
    left, top, right, bottom = pen.textbbox((0, 0), note, ImageFont.load_default(100))
    return float(100 * (share * WIDTH * HEIGHT / ((right - left) * (bottom - top))) ** 0.5)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    """The process that serves ``ocr-minilm``, as a run starts it."""
    folder = tmp_path_factory.mktemp("reader")
    server = launch_server(parse_encoder("image", "", folder).server, folder / "reader.log")
    server.wait_ready()
    yield server
    server.stop()


def recall(frames: list[Frame], reader: LaunchedServer, cache: Path) -> dict[str, float]:
    """Recall@1 by index, over the served encoder: each question ranks one message a frame."""
    spec = parse_encoder("image", "", cache)
    files = {frame.image.sha256: frame.png for frame in frames}
    items = [Item(str(n), (str(n),), "user", "", (frame.image,)) for n, frame in enumerate(frames)]

    async def locate() -> str:
        return reader.base_url

    async def work() -> dict[str, float]:
        encoder = ImageEncoder(spec.name, spec.identity, cache, locate, lambda image: files[image.sha256])

        class Services:
            embed = None
            image_scores = staticmethod(encoder.scores)

        try:
            found = {"whole": 0, "region": 0}
            for index in found:
                channel = ImageChannel(Services(), index)  # type: ignore[arg-type]
                for number, frame in enumerate(frames):
                    ((first, _),) = await channel.rank(Query(frame.question), items, 1)
                    found[index] += first == str(number)
            assert [costs.images for costs in encoder.costs().values()] == [len(frames)] * 2
            return {index: hits / len(frames) for index, hits in found.items()}
        finally:
            await encoder.close()

    return asyncio.run(asyncio.wait_for(work(), 300))


def test_a_tile_reads_what_the_whole_view_cannot(reader: LaunchedServer, tmp_path: Path) -> None:
    frames = draw_frames(SMALL, THINGS[:1])
    assert max(frame.height for frame in frames) * VIEW / WIDTH <= 5
    found = recall(frames, reader, tmp_path)
    assert found["region"] == 1.0
    assert found["whole"] <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("share", [SMALL, LARGE])
def test_regions_win_where_the_cue_is_small_and_only_there(
    reader: LaunchedServer, tmp_path: Path, share: float
) -> None:
    """At 5 px or less in the whole view tiles win clearly; at 2% of the frame both indexes find every frame."""
    frames = draw_frames(share, THINGS)
    found = recall(frames, reader, tmp_path)
    print(f"note {share:.2%} of the frame: Recall@1 whole {found['whole']:.2f}, region {found['region']:.2f}")
    if share == LARGE:
        assert found == {"whole": 1.0, "region": 1.0}
    else:
        assert found["region"] >= 0.75
        assert found["region"] - found["whole"] >= 0.4
