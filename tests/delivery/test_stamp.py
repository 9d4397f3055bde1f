"""The stamp: an exact rectangle, nothing outside it, and what it covers."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from benchsuite.corpus.memlens import MINI_FOLDER
from benchsuite.delivery.stamp import MAX_HEIGHT, MIN_HEIGHT, audit_covers, stamp, stamp_box, stamp_cover

SIZES = [(768, 768), (768, 432), (300, 200), (200, 768), (90, 90), (64, 40), (4000, 3000), (36, 14), (10, 6), (1, 1)]


def pixels(picture):
    return np.asarray(picture.convert("RGB"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tag", ["M1", "M10", "M100"])
def test_inside_the_box_everything_is_the_stamp_and_outside_nothing_changes(size, tag):
    base = PillowImage.effect_noise(size, 80).convert("RGB")
    wide, tall = stamp_box(*size, tag)
    assert 1 <= wide <= size[0]
    assert 1 <= tall <= min(size[1], MAX_HEIGHT)
    before, after = pixels(base), pixels(stamp(base, tag))
    changed = (before != after).any(axis=2)
    changed[:tall, :wide] = False
    assert not changed.any()
    blank = pixels(stamp(PillowImage.new("RGB", size), tag))
    assert (after[:tall, :wide] == blank[:tall, :wide]).all()


@pytest.mark.parametrize("size", [size for size in SIZES if min(size) >= 40])
@pytest.mark.parametrize("tag", ["M1", "M10", "M99", "M100"])
def test_the_box_is_flat_at_its_rim_and_its_ink_is_inside(size, tag):
    wide, tall = stamp_box(*size, tag)
    box = pixels(stamp(PillowImage.new("RGB", size, "white"), tag))[:tall, :wide]
    ink = (box != box[0, 0]).any(axis=2)
    assert 0.03 < ink.mean() < 0.6
    assert not np.concatenate([ink[0], ink[-1], ink[:, 0], ink[:, -1]]).any()


def test_the_box_depends_on_size_and_text_and_keeps_its_limits():
    assert stamp_box(768, 768, "M1") == stamp_box(768, 500, "M7") == (55, 35)
    assert stamp_box(768, 768, "M1") < stamp_box(768, 768, "M10") < stamp_box(768, 768, "M100")
    assert stamp_box(384, 300, "M1")[1] == 17
    assert stamp_box(100, 100, "M1")[1] == MIN_HEIGHT
    assert stamp_box(9000, 9000, "M1")[1] == MAX_HEIGHT
    assert stamp_box(120, 768, "M1")[1] == 20  # a sixth of the short side


def test_tags_differ_and_one_tag_is_always_the_same_bytes():
    base = PillowImage.new("RGB", (300, 200), "white")
    drawn = {tag: stamp(base, tag).tobytes() for tag in ("M1", "M2", "M10", "M11")}
    assert len(set(drawn.values())) == 4
    assert stamp(base, "M1").tobytes() == drawn["M1"]


def test_the_picture_given_stays_as_it_is_and_transparency_stays():
    base = PillowImage.new("RGBA", (300, 200), (9, 8, 7, 0))
    stamped = stamp(base, "M1")
    assert (stamped.mode, stamped.getpixel((299, 199))) == ("RGBA", (9, 8, 7, 0))
    assert stamped.getpixel((0, 0))[3] == 255
    assert base.getpixel((0, 0)) == (9, 8, 7, 0)


def written(at, size=(600, 400)):
    picture = PillowImage.new("RGB", size, "#fafafa")
    ImageDraw.Draw(picture).text(at, "Total 12.50", "black", ImageFont.load_default(14))
    return pixels(picture)


def test_text_under_the_stamp_is_found_and_text_beside_it_is_not():
    under, beside = stamp_cover(written((5, 5)), "M1"), stamp_cover(written((5, 60)), "M1")
    assert under.hides
    assert not beside.hides
    assert beside.detail == 0
    assert (under.width, under.height) == stamp_box(600, 400, "M1")
    assert under.share == under.width * under.height / 240_000


def test_a_smooth_gradient_hides_nothing_and_grey_pixels_are_pixels():
    smooth = np.asarray(PillowImage.linear_gradient("L").resize((600, 400)))
    assert not stamp_cover(smooth).hides
    assert stamp_cover(written((5, 5))[:, :, 0]).hides


def test_the_audit_counts():
    audit = audit_covers([stamp_cover(written((5, 5))), stamp_cover(written((5, 99))), stamp_cover(written((90, 9)))])
    assert (audit.n, audit.hidden) == (3, 1)
    assert str(audit).startswith("the stamp covers text-like detail in 1 of 3 images, at most 0.")
    assert str(audit_covers([])) == "the stamp covers text-like detail in 0 of 0 images, at most 0.0% of an image"


def test_the_bundled_corpus_keeps_its_corner_free():
    files = sorted((MINI_FOLDER / "release_images").rglob("*.png"))[::5]
    audit = audit_covers(stamp_cover(pixels(PillowImage.open(file))) for file in files)
    assert audit.n == len(files) > 40
    assert audit.hidden == 0
