"""Pixel controls: what each keeps exactly, what it destroys, and every kind of picture that may come along."""

from __future__ import annotations

import hashlib
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from benchsuite.corpus.memlens import MINI_FOLDER
from benchsuite.delivery.transforms import (
    GRID,
    LEAST_PHASE_DIFFERENCE,
    VERSIONS,
    control,
    decoy,
    difference,
    phase,
    plain,
    scramble,
)
from benchsuite.models.embedded.ocr import OcrEngine

SEEDS = ["", "0", "5eed", "5eee", "a" * 64]
SIZES = [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1), (2, 2), (3, 5), (5, 3), (4, 4), (7, 7), (8, 11), (64, 47)]
MINIS = sorted((MINI_FOLDER / "release_images").rglob("*.png"))[::36]


def pixels(picture):
    return np.asarray(picture)


def channels(picture):
    """Shape (channels, height, width)."""
    values = pixels(picture)
    return values[None] if values.ndim == 2 else np.moveaxis(values, 2, 0)


def noise(width, height, depth=3, seed=0):
    values = np.random.default_rng(seed).integers(0, 256, (height, width, depth), np.uint8)
    return PillowImage.fromarray(values[:, :, 0] if depth == 1 else values)


def photo(side=256):
    """Amplitudes that fall with the frequency, as in photographs, and hard-edged objects on it."""
    dice = np.random.default_rng(3)
    frequency = np.hypot(np.fft.rfftfreq(side), np.fft.fftfreq(side)[:, None])
    shared = dice.standard_normal((side, side))
    layers = []
    for _ in range(3):
        spectrum = np.fft.rfft2(shared + 0.3 * dice.standard_normal((side, side)))
        waves = np.fft.irfft2(spectrum / np.maximum(frequency, 1 / side), s=(side, side))
        layers.append(128 + 40 * waves / waves.std())
    picture = PillowImage.fromarray(np.dstack(layers).clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((30, 40, 110, 120), "#d02828")
    draw.rectangle((150, 120, 230, 150), "#f0e040")
    return picture


def dots():
    """One white pixel of every four. Three waves, whose signs a seed may turn so that three quarters tie for it."""
    return PillowImage.fromarray(np.tile(np.array([[255, 0], [0, 0]], np.uint8), (24, 32)))


def mini(file):
    return plain(PillowImage.open(file))


PICTURES = [pytest.param(photo, id="photo")] + [
    pytest.param(lambda file=file: mini(file), id=file.stem) for file in MINIS
]


def stored(picture, kind="PNG", **options):
    """As it comes back from a file."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return PillowImage.open(io.BytesIO(buffer.getvalue()))


def correlation(a, b):
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def by_frequency(channel):
    """Log of the mean amplitude in 24 rings, from the lowest frequencies to the highest; 0 left out."""
    height, width = channel.shape
    spectrum = np.abs(np.fft.rfft2(channel))
    ring = np.minimum(24 * 2 * np.hypot(np.fft.rfftfreq(width), np.fft.fftfreq(height)[:, None]), 24).astype(int)
    ring[0, 0] = 25
    return np.log(np.bincount(ring.ravel(), spectrum.ravel())[:24] / np.bincount(ring.ravel())[:24])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("depth", [1, 3, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_phase_keeps_each_channels_histogram_exactly(size, depth, seed):
    before = noise(*size, depth)
    after = phase(before, seed)
    assert (after.size, after.mode) == (before.size, before.mode)
    for old, new in zip(channels(before), channels(after), strict=True):
        assert (np.bincount(old.ravel(), minlength=256) == np.bincount(new.ravel(), minlength=256)).all()


@pytest.mark.parametrize("make", PICTURES)
def test_phase_keeps_histogram_and_spectrum_of_pictures(make):
    before = make()
    scattered = np.random.default_rng(1).permuted(channels(before)[0].ravel()).reshape(before.height, before.width)
    for seed in SEEDS:
        old, new = channels(before), channels(phase(before, seed))
        assert all((np.sort(a, axis=None) == np.sort(b, axis=None)).all() for a, b in zip(old, new, strict=True))
        kept = [correlation(by_frequency(a), by_frequency(b)) for a, b in zip(old, new, strict=True)]
        assert min(kept) > 0.96
    assert correlation(by_frequency(channels(before)[0]), by_frequency(scattered)) < 0.9


@pytest.mark.parametrize("make", PICTURES)
def test_a_phase_image_tells_nothing_of_where_things_were(make):
    before = make().convert("L")
    before.thumbnail((300, 300))
    found = [correlation(pixels(before), pixels(phase(before, f"{seed:x}"))) for seed in range(40)]
    assert abs(np.mean(found)) < 0.12  # one coarse wave may carry most of a picture: 0.2 either way for a single seed


def test_phase_leaves_no_object_wherever_one_may_have_gone():
    before = channels(photo())[0] - 128.0
    after = channels(phase(photo(), "5eed"))[0] - 128.0
    spectra = [np.fft.rfft2(values - values.mean()) for values in (before, after)]
    overlaps = np.fft.irfft2(spectra[0] * spectra[1].conj(), s=before.shape)
    assert np.abs(overlaps).max() / (before.std() * after.std() * before.size) < 0.5
    angles = np.exp(1j * (np.angle(spectra[0]) - np.angle(spectra[1])))[1:60, 1:60]
    assert abs(angles.mean()) < 0.05  # 3,500 waves: about 0.017 where they are independent
    steps = [np.hypot(*np.gradient(values)) for values in (before, after)]
    assert abs(correlation(*steps)) < 0.05


def test_words_are_read_in_a_picture_and_not_in_its_phase_image():
    picture = PillowImage.new("RGB", (420, 160), "#f4f0e8")
    ImageDraw.Draw(picture).text((20, 50), "Total due 12.50", "#202020", ImageFont.load_default(40))
    engine = OcrEngine()

    def read(shown):
        return " ".join(box.text for box in engine.read(pixels(shown)))

    assert "12.50" in read(picture)
    for seed in SEEDS:
        assert not re.search(r"\w{3}", read(phase(picture, seed)))
    assert "12.50" not in read(scramble(picture, "5eed"))


def test_channels_are_shifted_alike_so_that_colours_stay_related():
    grey = photo().convert("L")
    alike = channels(phase(PillowImage.merge("RGB", [grey] * 3), "5eed"))
    assert (alike[0] == alike[1]).all()
    assert (alike[0] == alike[2]).all()
    assert (alike[0] == pixels(phase(grey, "5eed"))).all()
    before, after = channels(photo()), channels(phase(photo(), "5eed"))
    assert correlation(before[0], before[1]) == pytest.approx(correlation(after[0], after[1]), abs=0.1)


@pytest.mark.parametrize("change", [phase, scramble])
def test_one_seed_gives_one_picture_and_seeds_differ(change):
    drawn = {seed: change(photo(64), seed).tobytes() for seed in SEEDS}
    assert len(set(drawn.values())) == len(SEEDS)
    assert all(change(photo(64), seed).tobytes() == data for seed, data in drawn.items())


def test_the_pixels_of_a_version_are_fixed():
    y, x = np.mgrid[:370, :500]  # so many pixels that thousands have equal keys
    picture = PillowImage.fromarray(np.dstack([x // 2, y // 2, (x * y) % 256]).astype(np.uint8))
    digests = {
        VERSIONS[name]: hashlib.sha256(control(picture, name, "5eed", (23, 31)).tobytes()).hexdigest()[:16]
        for name in ("phase", "scramble")
    }
    assert digests == {"phase/1": "b86cbd38b9357476", "scramble/1": "1548ad731d797e7c"}


@pytest.mark.parametrize("make", [*PICTURES[:5], dots])
def test_what_transforms_of_two_machines_differ_by_moves_no_pixel(make, monkeypatch):
    before = make()
    expected = [phase(before, seed).tobytes() for seed in SEEDS]
    exact, dice = np.fft.irfft2, np.random.default_rng(0)

    def inexact(spectrum, s):
        waves = exact(spectrum, s=s)
        return waves + dice.uniform(-1e-15, 1e-15, waves.shape) * np.ptp(waves)

    monkeypatch.setattr(np.fft, "irfft2", inexact)
    assert [phase(before, seed).tobytes() for seed in SEEDS] == expected


@pytest.mark.parametrize("size", [(8, 8), (9, 11), (40, 30), (43, 62), (768, 431)])
@pytest.mark.parametrize("seed", SEEDS)
def test_scramble_moves_each_of_sixteen_tiles_and_keeps_them_whole(size, seed):
    before = noise(*size)
    old, new = pixels(before), pixels(scramble(before, seed))
    wide, tall = size[0] // GRID, size[1] // GRID
    boxes = [np.s_[r * tall : (r + 1) * tall, c * wide : (c + 1) * wide] for r in range(GRID) for c in range(GRID)]
    assert len(boxes) == 16
    assert sorted(old[box].tobytes() for box in boxes) == sorted(new[box].tobytes() for box in boxes)
    assert all((old[box] != new[box]).any() for box in boxes)
    assert (old[4 * tall :] == new[4 * tall :]).all()
    assert (old[:, 4 * wide :] == new[:, 4 * wide :]).all()


@pytest.mark.parametrize(
    ("size", "staying"),
    [((1, 1), 1), ((1, 2), 0), ((2, 1), 0), ((1, 3), 0), ((3, 5), 3), ((5, 3), 3), ((1, 7), 3), ((2, 2), 0)],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_fewer_pixels_than_tiles_are_as_many_tiles_as_there_are_pixels(size, staying, seed):
    before = PillowImage.fromarray(np.arange(size[0] * size[1], dtype=np.uint8).reshape(size[1], size[0]))
    after = scramble(before, seed)
    assert sorted(pixels(before).ravel()) == sorted(pixels(after).ravel())
    assert (pixels(before) == pixels(after)).sum() == staying


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(1, 13),
    height=st.integers(1, 13),
    depth=st.sampled_from([1, 3, 4]),
    values=st.integers(1, 256),
    seed=st.text("0123456789abcdef", max_size=16),
)
def test_any_small_picture_keeps_its_pixels_in_scramble_and_its_values_in_phase(width, height, depth, values, seed):
    drawn = np.random.default_rng(values).integers(0, values, (height, width, depth), np.uint8)
    before = PillowImage.fromarray(drawn[:, :, 0] if depth == 1 else drawn)
    moved, mixed = scramble(before, seed), phase(before, seed)
    whole = [sorted(map(bytes, pixels(picture).reshape(-1, depth))) for picture in (before, moved)]
    assert whole[0] == whole[1]
    for old, new in zip(channels(before), channels(mixed), strict=True):
        assert sorted(old.ravel()) == sorted(new.ravel())


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("size", [(1, 1), (1, 7), (40, 30)])
def test_a_flat_picture_stays_as_it_is(mode, size):
    flat = PillowImage.new(mode, size, 77 if mode == "L" else (200, 10, 30, 90)[: len(mode)])
    assert phase(flat, "5eed").tobytes() == flat.tobytes()
    assert difference(flat, phase(flat, "5eed")) == 0.0 < LEAST_PHASE_DIFFERENCE


def test_ties_are_broken_in_reading_order():
    after = [pixels(phase(dots(), f"{seed:x}")) for seed in range(16)]
    assert all((values == 255).sum() == values.size // 4 for values in after)
    tied = [values for values in after if not np.array_equal(values, np.tile(values[:2, :2], (24, 32)))]
    assert 4 <= len(tied) <= 12
    for values in tied:  # the highest rank goes to the last: what is white stands below everything else
        assert not values[:31].any()
        assert (values[33:] == 255).mean() >= 0.7


def test_alpha_moves_along_in_scramble_and_stays_in_phase():
    before = noise(32, 24, 4)
    mixed, moved = phase(before, "5eed"), scramble(before, "5eed")
    assert (pixels(mixed)[:, :, 3] == pixels(before)[:, :, 3]).all()
    assert (pixels(mixed)[:, :, :3] != pixels(before)[:, :, :3]).any()
    pairs = [sorted(map(bytes, pixels(picture).reshape(-1, 4))) for picture in (before, moved)]
    assert pairs[0] == pairs[1]


def deep(kind="PNG", **options):
    values = np.array([[0, 255, 256, 0x1234], [40_000, 0xFF00, 0xFFFF, 512]], np.uint16)
    return stored(PillowImage.fromarray(values), kind, **options)


def test_sixteen_bits_keep_the_upper_eight():
    assert deep().mode == "I;16"
    assert pixels(plain(deep())).tolist() == [[0, 0, 1, 0x12], [156, 255, 255, 2]]
    assert pixels(plain(PillowImage.fromarray(np.array([[-5, 300, 70_000]], np.int32)))).tolist() == [[0, 1, 255]]
    shown = plain(deep(transparency=40_000))
    assert shown.mode == "RGBA"
    assert pixels(shown)[:, :, 3].tolist() == [[255] * 4, [0, 255, 255, 255]]
    assert pixels(shown)[:, :, 1].tolist() == pixels(plain(deep())).tolist()


def test_modes_become_eight_bit_grey_or_colour_or_colour_with_alpha():
    colour = photo(40)
    palette = stored(colour.quantize(8))
    assert palette.mode == "P"
    assert plain(palette).tobytes() == palette.convert("RGB").tobytes()
    clear = stored(colour.quantize(8), transparency=0)
    assert plain(clear).mode == "RGBA"
    assert set(np.unique(pixels(plain(clear))[:, :, 3])) == {0, 255}
    bits = stored(colour.convert("1"))
    assert (bits.mode, plain(bits).mode, set(np.unique(pixels(plain(bits))))) == ("1", "L", {0, 255})
    assert plain(stored(colour.convert("L"))).mode == "L"
    assert plain(stored(colour.convert("LA"))).mode == "RGBA"
    assert plain(stored(colour, transparency=(1, 2, 3))).mode == "RGBA"
    assert plain(colour.convert("F")).mode == "L"
    assert plain(colour) is colour


def test_inks_become_colours_and_their_profile_goes():
    inks = stored(photo(40).convert("CMYK"), "JPEG", icc_profile=b"inks")
    assert (inks.mode, inks.info["icc_profile"]) == ("CMYK", b"inks")
    shown = plain(inks)
    assert (shown.mode, "icc_profile" in shown.info) == ("RGB", False)
    assert difference(shown, photo(40)) < 12
    assert difference(phase(inks, "5eed"), shown) > LEAST_PHASE_DIFFERENCE


@pytest.mark.parametrize("name", VERSIONS)
def test_a_profile_of_colours_goes_along(name):
    coloured = stored(photo(40), icc_profile=b"colours")
    assert stored(control(coloured, name, "5eed", (20, 30))).info["icc_profile"] == b"colours"


@pytest.mark.parametrize("name", VERSIONS)
def test_an_orientation_turns_nothing_and_is_not_kept(name):
    exif = PillowImage.Exif()
    exif[0x0112] = 6  # to be shown turned by a quarter
    turned = stored(photo(40).crop((0, 0, 40, 24)), exif=exif)
    straight = stored(photo(40).crop((0, 0, 40, 24)))
    assert turned.getexif()[0x0112] == 6
    after = control(turned, name, "5eed", (40, 24))
    assert after.size == (40, 24)
    assert after.tobytes() == control(straight, name, "5eed", (40, 24)).tobytes()
    if name != "decoy":
        assert not stored(after).getexif()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (3, 5), (40, 30)])
def test_every_control_takes_every_mode_and_size(mode, name, size):
    grey = photo(40).convert("L").resize(size)
    if mode == "I;16":
        picture = PillowImage.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    else:
        picture = grey.convert("RGB").convert(mode)
    wanted = (17, 5) if name == "decoy" else size
    after = control(picture, name, "5eed", (17, 5))
    assert (after.size, after.mode) == (wanted, plain(picture).mode)
    assert stored(after).tobytes() == after.tobytes()


def test_a_control_changes_no_picture_that_it_was_given():
    before = noise(40, 30, 4)
    data = before.tobytes()
    for name in VERSIONS:
        assert control(before, name, "5eed", (8, 8)).tobytes() != data
        assert before.tobytes() == data


def test_a_decoy_has_the_size_of_the_place_it_takes():
    assert decoy(photo(64), (31, 77)).size == (31, 77)
    assert decoy(photo(64), (64, 64)).tobytes() == photo(64).tobytes()
    assert decoy(photo(64), (1, 1)).size == (1, 1)
    shrunk = decoy(photo(64), (32, 32))
    assert shrunk.tobytes() == photo(64).resize((32, 32), PillowImage.Resampling.LANCZOS).tobytes()


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="no control of pixels is called 'blur': known are scramble, phase, decoy"):
        control(photo(8), "blur", "5eed", (8, 8))


def test_difference_is_the_mean_over_colours_without_alpha():
    dark, light = PillowImage.new("RGB", (4, 2), (10, 20, 30)), PillowImage.new("RGB", (4, 2), (13, 20, 24))
    assert difference(dark, light) == difference(light, dark) == 3.0
    assert difference(dark, dark) == 0.0
    clear = dark.convert("RGBA")
    clear.putalpha(0)
    assert difference(clear, dark) == 0.0
    assert difference(PillowImage.new("L", (4, 2), 255), PillowImage.new("RGB", (4, 2))) == 255.0
    with pytest.raises(ValueError, match="4x2 and 2x4 pixels"):
        difference(dark, PillowImage.new("RGB", (2, 4)))


@pytest.mark.parametrize("make", PICTURES)
def test_a_phase_image_differs_from_a_picture_by_far_more_than_it_must(make):
    assert difference(make(), phase(make(), "5eed")) > 10 * LEAST_PHASE_DIFFERENCE


def test_one_word_on_a_white_page_is_enough_to_count_as_altered():
    page = PillowImage.new("L", (600, 400), "white")
    ImageDraw.Draw(page).text((280, 190), "keys", "black", ImageFont.load_default(24))
    ink = (pixels(page) < 128).mean()
    assert ink < 0.0015
    assert difference(page, phase(page, "5eed")) > LEAST_PHASE_DIFFERENCE
