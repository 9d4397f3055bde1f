"""Tags stamped into pixels are read in their exact rectangle, and take nothing else of the image with them."""

from __future__ import annotations

import asyncio
import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from benchsuite.delivery.stamp import stamp, stamp_box
from benchsuite.models.embedded.context import ChatMessage, ChatPart
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.ocr import OcrEngine, PageReader
from benchsuite.models.embedded.reader import Reader
from benchsuite.models.embedded.tags import CORNER, TAG, find_box, without_box

SIZES = [(768, 768), (768, 432), (300, 200), (200, 768), (90, 90), (2000, 1500)]


@pytest.fixture(scope="module")
def engine():
    return OcrEngine()


@pytest.fixture(scope="module")
def reader():
    return Reader(Encoder())


def stamped(data, tag):
    out = io.BytesIO()
    stamp(Image.open(io.BytesIO(data)), tag).save(out, "PNG")
    return out.getvalue()


def rgb(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def noise(size, seed=3):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8))


@pytest.mark.parametrize("size", SIZES)
def test_every_tag_is_read_whatever_lies_beside_it(engine, size):
    ground = noise(size)
    for number in (*range(1, 13), 27, 99, 100):
        tag = f"M{number}"
        pixels = np.asarray(stamp(ground, tag))
        assert find_box(pixels) == stamp_box(*size, tag)
        wide, tall = stamp_box(*size, tag)
        assert engine.read_line(pixels[:tall, :wide]) == tag


def corner(text, colour="#1144aa", size=(64, 30)):
    picture = Image.new("RGB", (400, 300), "#eeeeee")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, size[0] - 1, size[1] - 1), fill=colour)
    pen.text((size[0] / 2, size[1] / 2), text, "white", ImageFont.load_default(18), anchor="mm")
    return picture


def page_of(*images):
    async def read():
        reader = PageReader(1)
        return [await reader.read(data) for data in images], reader.ocr_calls

    return asyncio.run(read())


def png(picture):
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_a_box_in_the_corner_that_says_something_else_stays_part_of_the_image():
    assert find_box(np.asarray(corner("Menu"))) == (64, 30)
    (page,), _ = page_of(png(corner("Menu")))
    assert (page.tag, [box.text for box in page.boxes]) == ("", ["Menu"])


@pytest.mark.parametrize("text", ["M0", "N1", "M", "M12345", "1M", "m1", "M1 "])
def test_only_m_and_a_number_is_a_tag(text):
    assert TAG.fullmatch(text) is None
    assert TAG.fullmatch("M1")
    assert TAG.fullmatch("M999")


@pytest.mark.parametrize(
    "picture",
    [
        Image.new("RGB", (400, 300), "white"),
        noise((400, 300)),
        corner("", size=(64, 30)),
        corner("M1", size=(400, 30)),
        corner("M1", size=(40, 300)),
        Image.new("RGB", (1, 1)),
    ],
    ids=["plain", "noise", "empty-box", "banner", "column", "one-pixel"],
)
def test_no_box_is_found_where_there_is_none(picture):
    pixels = np.asarray(picture)
    assert find_box(pixels) is None


@pytest.mark.parametrize("tag", ["M1", "M10"])
@pytest.mark.parametrize("size", [(768, 500), (300, 200), (120, 90)])
def test_over_a_plain_corner_the_image_without_its_stamp_is_the_image(size, tag):
    plain = Image.new("RGB", size, "#fbfaf4")
    ImageDraw.Draw(plain).rectangle((size[0] // 2, size[1] - 30, size[0], size[1]), fill="#335577")
    pixels = np.asarray(plain)
    assert (without_box(np.asarray(stamp(plain, tag)), stamp_box(*size, tag)) == pixels).all()
    assert without_box(pixels, None) is pixels


def test_over_a_calm_corner_both_become_one_image():
    grain = np.random.default_rng(5).integers(0, 12, (500, 768, 3), np.uint8)
    plain = Image.fromarray(200 + grain)
    pixels = np.asarray(plain)
    cleaned = [without_box(np.asarray(stamp(plain, tag)), stamp_box(768, 500, tag)) for tag in ("M1", "M10")]
    assert (cleaned[0] == cleaned[1]).all()
    assert (cleaned[0] == without_box(pixels, None)).all()
    assert (cleaned[0][CORNER[1] :] == pixels[CORNER[1] :]).all()
    assert (cleaned[0][:, CORNER[0] :] == pixels[:, CORNER[0] :]).all()


def test_what_a_corner_says_is_not_wiped_without_a_stamp():
    written = Image.new("RGB", (400, 300), "white")
    ImageDraw.Draw(written).text((8, 3), "42", "black", ImageFont.load_default(13))
    pixels = np.asarray(written)
    assert without_box(pixels, None) is pixels
    pages, calls = page_of(png(written), stamped(png(written), "M1"))
    assert [box.text for box in pages[0].boxes] == ["42"]
    assert (pages[0].tag, pages[1].tag) == ("", "M1")
    assert calls == 2
    assert "42" not in [box.text for box in pages[1].boxes]


def test_one_image_under_all_its_tags_costs_one_call(draw):
    slip = draw.slip("Harbour Bistro", [("Total", "$41.80"), ("Table", "12")])
    pages, calls = page_of(slip, *(stamped(slip, tag) for tag in ("M1", "M2", "M10")), slip)
    assert calls == 1
    assert [page.tag for page in pages] == ["", "M1", "M2", "M10", ""]
    assert len({page.digest for page in pages}) == 1
    assert len({page.boxes for page in pages}) == 1
    assert "$41.80" in [box.text for box in pages[0].boxes]
    assert not [box.text for box in pages[1].boxes if TAG.fullmatch(box.text)]


def asked(question, *items, head="Messages from earlier conversations:\n"):
    """A rendered request over pages: each item is (text, pages)."""
    parts = [ChatPart(text=head)]
    for n, (text, pages) in enumerate(items, start=1):
        parts.append(ChatPart(text=f"({n}) user:\n{text}\n"))
        parts += [ChatPart(page=page) for page in pages]
    parts.append(ChatPart(text=f"Question date: 2024/06/01\nQuestion: {question}\n"))
    return [ChatMessage("system", (ChatPart(text='Else reply "Not stated here".'),)), ChatMessage("user", tuple(parts))]


@pytest.fixture(scope="module")
def slips(draw):
    """Pages of three slips, unstamped and stamped M1 to M3."""
    drawn = [
        draw.slip("Harbour Bistro", [("Total", "$41.80"), ("Table", "12")]),
        draw.slip("Cedar Cinema", [("Seat", "F7"), ("Screen", "3")]),
        draw.slip("Northline Rail", [("Coach", "5"), ("Platform", "9")]),
    ]
    pages, _ = page_of(*drawn, *(stamped(data, f"M{n}") for n, data in enumerate(drawn, 1)))
    return pages[:3], pages[3:]


@pytest.mark.parametrize(
    ("question", "tag"),
    [
        ("Which memory shows the Cedar Cinema ticket?", "M2"),
        ("Which memory (M1, M2, ...) has the platform of Northline Rail?", "M3"),
        ("What is the tag of the picture of the Harbour Bistro slip?", "M1"),
        ("Which picture is from Cedar Cinema? Answer with its tag, such as M1.", "M2"),
    ],
)
def test_which_memory_is_answered_by_the_tag_in_the_pixels(reader, slips, question, tag):
    plain, tagged = slips
    found = reader.answer(asked(question, *(("", [page]) for page in tagged)))
    assert (found.reply(forced=False), found.answer) == (tag, tag)
    turned = reader.answer(asked(question, *(("", [page]) for page in reversed(tagged))))
    assert turned.answer == tag  # of the pixels, whatever the position
    without = reader.answer(asked(question, *(("", [page]) for page in plain)))
    assert not TAG.fullmatch(without.answer)


def test_a_tag_in_the_text_alone_is_not_read(reader, slips):
    items = [(f"[M{n}]", [page]) for n, page in enumerate(slips[0], 1)]
    assert not TAG.fullmatch(reader.answer(asked("Which memory shows the Cedar Cinema ticket?", *items)).answer)


@pytest.mark.parametrize(
    "question", ["What was the total at Harbour Bistro?", "Which memory card did I buy?", "What seat at Cedar Cinema?"]
)
def test_other_questions_are_answered_as_without_tags(reader, slips, question):
    plain, tagged = (reader.answer(asked(question, *(("", [page]) for page in pages))) for pages in slips)
    assert plain == tagged


def test_a_tag_question_about_nothing_there_is_refused(reader, slips):
    found = reader.answer(asked("Which memory shows the violin lesson invoice?", *(("", [p]) for p in slips[1])))
    assert found.reply(forced=False) == "Not stated here"
    assert TAG.fullmatch(found.reply(forced=True))
