"""Images on their way: one lossless path, stamped and unstamped arms alike outside the stamp, faults by name."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image as PillowImage

from benchsuite.delivery.images import ImageDesk, ImageSlot, prepared_file
from benchsuite.errors import DataError
from benchsuite.models.wire import Message, Part, Request, skeleton


def opened(data):
    return PillowImage.open(io.BytesIO(data))


@pytest.mark.parametrize(
    ("kind", "mode", "size"),
    [
        ("PNG", "RGB", (300, 200)),
        ("PNG", "P", (300, 200)),
        ("PNG", "L", (300, 200)),
        ("PNG", "RGBA", (300, 200)),
        ("PNG", "RGB", (1000, 600)),
        ("JPEG", "RGB", (300, 200)),
        ("JPEG", "L", (1000, 900)),
        ("WEBP", "RGB", (900, 300)),
        ("BMP", "RGB", (100, 90)),
    ],
)
def test_a_stamped_arm_equals_the_unstamped_one_outside_the_box(store, desk, delivery, kind, mode, size):
    image = store.draw(*size, kind=kind, mode=mode)
    plain = desk.prepare(ImageSlot(image), delivery("deployed+notag"), store.read)
    stamped = desk.prepare(ImageSlot(image, "M3"), delivery("deployed"), store.read)
    assert (stamped.width, stamped.height) == (plain.width, plain.height)
    assert max(plain.width, plain.height) <= 768
    before, after = opened(desk.bytes_of(plain)), opened(desk.bytes_of(stamped))
    mode = "RGBA" if before.has_transparency_data else "RGB"
    same = (np.asarray(before.convert(mode)) == np.asarray(after.convert(mode))).all(axis=2)
    left, top, right, bottom = map(int, str(dict(stamped.params)["box"]).split(","))
    assert not same[top:bottom, left:right].all()
    same[top:bottom, left:right] = True
    assert same.all()
    assert hashlib.sha256(desk.bytes_of(stamped)).hexdigest() == stamped.sha256


def test_a_wire_image_says_what_was_done_and_to_what(store, desk, delivery):
    image = store.draw(1000, 500, "JPEG")
    plain = desk.prepare(ImageSlot(image), delivery("pixels"), store.read)
    stamped = desk.prepare(ImageSlot(image, "M12"), delivery("deployed"), store.read)
    assert (plain.source, plain.transform, plain.params) == (image.sha256, "png/1", (("side", 768),))
    assert (stamped.source, stamped.transform) == (image.sha256, "png/1+stamp/1")
    assert dict(stamped.params) == {"side": 768, "tag": "M12", "box": "0,0,72,35"}
    untouched = desk.prepare(ImageSlot(store.draw()), delivery("pixels"), store.read)
    assert (untouched.transform, untouched.params) == ("", ())


def test_an_image_is_prepared_once_and_found_by_later_runs(store, tmp_path, delivery):
    image = store.draw(1000, 500, "JPEG")
    first = ImageDesk(tmp_path)
    wires = [first.prepare(ImageSlot(image, tag), delivery("deployed"), store.read) for tag in ("M1", "M2", "M1")]
    assert store.reads == 1
    assert wires[0] == wires[2] != wires[1]
    again = ImageDesk(tmp_path)
    assert again.prepare(ImageSlot(image, "M2"), delivery("deployed"), store.read) == wires[1]
    assert again.bytes_of(wires[0]) == first.bytes_of(wires[0])
    assert store.reads == 1


def test_tags_sides_and_codecs_do_not_mix(store, desk, delivery):
    image = store.draw(1000, 500)
    arms = [(d, tag) for d in ("deployed", "deployed+s384") for tag in ("M1", "M2")] + [("pixels", ""), ("stored", "")]
    wires = [desk.prepare(ImageSlot(image, tag), delivery(text), store.read) for text, tag in arms]
    assert len({wire.sha256 for wire in wires}) == len(arms)
    assert [max(wire.width, wire.height) for wire in wires] == [768, 768, 384, 384, 768, 1000]


def test_a_recorded_part_leads_to_the_prepared_file(store, tmp_path, delivery):
    desk = ImageDesk(tmp_path)
    image = store.draw(1000, 500, "WEBP")
    for tag in ("", "M4"):
        wire = desk.prepare(ImageSlot(image, tag), delivery("pixels"), store.read)
        record = skeleton("key", Request("m", (Message("user", (Part("image", image=wire),)),), {}))
        (part,) = record["messages"][0][1]
        file = prepared_file(tmp_path, part["transform"], part["source"], part["params"])
        assert hashlib.sha256(file.read_bytes()).hexdigest() == part["sha256"]


def animation(kind):
    frames = [PillowImage.new("RGB", (40, 30), colour) for colour in ("red", "green", "blue")]
    buffer = io.BytesIO()
    frames[0].save(buffer, kind, save_all=True, append_images=frames[1:])
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
@pytest.mark.parametrize("text", ["pixels", "stored", "deployed"])
def test_an_animation_is_refused_in_every_codec(store, desk, delivery, kind, text):
    image = store.add(animation(kind))
    chosen = delivery(text)
    with pytest.raises(DataError, match=rf"^{image.path}: image is animated: 3 frames$"):
        desk.bytes_of(desk.prepare(ImageSlot(image, "M1" if chosen.stamps else ""), chosen, store.read))


def test_a_jpeg_with_a_second_picture_behind_it_shows_the_first(store, desk, delivery):
    buffer = io.BytesIO()
    pictures = [PillowImage.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    pictures[0].save(buffer, "MPO", save_all=True, append_images=pictures[1:])
    sent = desk.bytes_of(desk.prepare(ImageSlot(store.add(buffer.getvalue())), delivery("pixels"), store.read))
    red, _, blue = opened(sent).getpixel((5, 5))
    assert red > 200 > 50 > blue


@pytest.mark.parametrize("text", ["pixels", "stored"])
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"width": 301}, "decodes to image/jpeg of 300x200 pixels, its header says image/jpeg of 301x200"),
        ({"mime": "image/webp"}, "decodes to image/jpeg of 300x200 pixels, its header says image/webp of 300x200"),
    ],
)
def test_an_image_that_decodes_to_something_else_is_refused(store, desk, delivery, text, changes, found):
    data = store.data[store.draw(kind="JPEG").sha256]
    image = store.add(data, **changes)
    with pytest.raises(DataError, match=rf"^{image.path}: image {found}$"):
        desk.bytes_of(desk.prepare(ImageSlot(image), delivery(text), store.read))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("text", ["pixels", "stored", "deployed"])
def test_a_truncated_image_is_refused(store, desk, delivery, kind, text):
    image = store.draw(kind=kind)
    store.data[image.sha256] = store.data[image.sha256][: image.size // 2]
    chosen = delivery(text)
    with pytest.raises(DataError, match=f"^{image.path}: image does not decode: "):
        desk.bytes_of(desk.prepare(ImageSlot(image, "M1" if chosen.stamps else ""), chosen, store.read))


def test_an_exif_orientation_turns_nothing_and_is_gone_after_encoding(store, desk, delivery):
    picture = PillowImage.new("RGB", (300, 200), "white")
    picture.paste("black", (0, 0, 150, 200))
    exif = PillowImage.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", exif=exif, quality=95)
    image = store.add(buffer.getvalue())
    wire = desk.prepare(ImageSlot(image), delivery("pixels"), store.read)
    sent = opened(desk.bytes_of(wire))
    assert sent.size == (wire.width, wire.height) == (300, 200)
    assert sent.getpixel((10, 190))[0] < 30 < 220 < sent.getpixel((290, 10))[0]
    assert not sent.getexif()
    kept = desk.bytes_of(desk.prepare(ImageSlot(image), delivery("stored"), store.read))
    assert kept == store.data[image.sha256]


def test_a_grey_image_of_16_bits_keeps_its_shades_when_it_is_stamped_or_resized(store, desk, delivery):
    buffer = io.BytesIO()
    PillowImage.fromarray(np.full((300, 400), 30000, np.uint16)).save(buffer, "PNG")
    image = store.add(buffer.getvalue())
    for text, tag in (("pixels+s200", ""), ("deployed", "M1"), ("pixels+scramble", "")):
        slot = ImageSlot(image, tag, control="scramble" if "scramble" in text else "", seed="00")
        sent = desk.bytes_of(desk.prepare(slot, delivery(text), store.read))
        assert PillowImage.open(io.BytesIO(sent)).convert("L").getpixel((100, 100)) == 30000 >> 8
