"""The embedded image channel: real OCR of a 384-pixel view, and MiniLM over what it reads."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from benchsuite.models.embedded.bundled import MiniLm, OcrMiniLm
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.tiling import tiles
from benchsuite.models.embedded.vectors import TextOnlyError

LINES = ["Harbour Toys, wooden train", "Blood pressure 120 over 80", "Flight to Lisbon at 14:35"]
QUESTIONS = ["What wooden toy was bought?", "What was my blood pressure?", "When does the flight to Lisbon leave?"]


@pytest.fixture(scope="module")
def encoder():
    return OcrMiniLm(Encoder())


@pytest.fixture(scope="module")
def pixels(picture):
    return [np.asarray(Image.open(io.BytesIO(picture(line, size=(360, 200))))) for line in LINES]


def test_the_image_whose_text_matches_is_found(encoder, pixels):
    cosines = encoder.texts(QUESTIONS) @ encoder.images(pixels).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.diag(cosines).min() > 0.4


def test_the_vector_is_that_of_the_text_read(encoder, pixels):
    assert np.allclose(encoder.images(pixels[2:]), encoder.texts([LINES[2]]), atol=1e-5)


def test_an_image_without_text_matches_nothing(encoder, pixels):
    blank = np.full((50, 80, 3), 200, np.uint8)
    found = encoder.images([blank, pixels[0], blank[:1, :1], blank[:1]])
    assert np.linalg.norm(found, axis=1).round(3).tolist() == [0, 1, 0, 0]
    assert (encoder.texts(QUESTIONS) @ found[0] == 0).all()


def test_neighbours_and_threads_change_nothing(encoder, pixels):
    together = encoder.images(pixels * 3)
    alone = np.concatenate([OcrMiniLm(Encoder(), threads=1).images([one]) for one in pixels])
    assert (together == np.tile(alone, (3, 1))).all()


def test_a_line_too_small_in_the_whole_view_is_read_in_a_tile(encoder):
    from PIL import ImageDraw, ImageFont

    image = Image.new("RGB", (1200, 1200), "#f4f1e6")
    ImageDraw.Draw(image).text((80, 90), "Pelican Bakery", font=ImageFont.load_default(10), fill="#202020")
    frame = np.asarray(image)
    crops = [frame[top:bottom, left:right] for left, top, right, bottom in tiles(1200, 1200, "region")]
    (query,) = encoder.texts(["Pelican Bakery"])
    whole, top_left, *others = (encoder.images(crops) @ query).tolist()
    assert top_left > 0.8
    assert top_left > whole + 0.4
    assert others == [0, 0, 0]


def test_minilm_takes_no_image(pixels):
    with pytest.raises(TextOnlyError, match="minilm encodes texts, not images"):
        MiniLm(Encoder()).images(pixels)
