"""What is asked of the pixels of images as sent: by their record, outside their stamps, and once only."""

from __future__ import annotations

import hashlib
import io
import json

import pytest
from PIL import Image as PillowImage

from benchsuite.delivery.certificates.evidence import PixelEvidence
from benchsuite.delivery.images import ImageDesk, ImageSlot
from benchsuite.models.wire import Message, Part, Request, skeleton

SEED = "0123456789abcdef"


class Bench:
    """Images as an episode sends them, and the evidence on them. ``asked`` counts what was read for a check."""

    def __init__(self, store, delivery, folder):
        self.store, self.delivery, self.folder = store, delivery, folder
        self.desk = ImageDesk(folder / "image")
        self.bytes = {}
        self.asked = 0

    def sent(self, image, text="pixels", **slot):
        """The image part of a recorded request."""
        wire = self.desk.prepare(ImageSlot(image, **slot), self.delivery(text), self.store.read)
        self.bytes[wire.sha256] = self.desk.bytes_of(wire)
        request = Request("m", (Message("user", (Part("image", image=wire),)),), {})
        return json.loads(json.dumps(skeleton("key", request)))["messages"][0][1][0]

    def forged(self, part, change):
        picture = PillowImage.open(io.BytesIO(self.bytes[part["sha256"]]))
        buffer = io.BytesIO()
        change(picture).save(buffer, "PNG")
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        self.bytes[digest] = buffer.getvalue()
        return {**part, "sha256": digest}

    def evidence(self):
        def sent(part, corpus):
            self.asked += 1
            return self.bytes[part["sha256"]]

        def stored(sha256, corpus):
            self.asked += 1
            return self.store.data[sha256]

        return PixelEvidence(self.folder / "evidence", sent, stored)


@pytest.fixture
def bench(store, delivery, tmp_path):
    return Bench(store, delivery, tmp_path)


def drawn(store, width, height, kind, mode):
    """A photo-like image; sixteen bits of grey are used in full."""
    if mode != "I;16":
        return store.draw(width, height, kind, mode)
    low, high = (PillowImage.effect_noise((width, height), 90).tobytes() for _ in range(2))
    deep = bytes(byte for pair in zip(low, high, strict=True) for byte in pair)
    buffer = io.BytesIO()
    PillowImage.frombytes(mode, (width, height), deep).save(buffer, kind)
    return store.add(buffer.getvalue())


def dotted(x, y):
    def change(picture):
        picture.putpixel((x, y), 255 - picture.getpixel((x, y)) if picture.mode == "L" else (1, 2, 3))
        return picture

    return change


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *[("PNG", mode) for mode in ("RGB", "L", "P", "RGBA", "LA", "I;16", "1")],
        *[("JPEG", mode) for mode in ("RGB", "L", "CMYK")],
        *[("WEBP", mode) for mode in ("RGB", "RGBA")],
        ("BMP", "P"),
    ],
)
@pytest.mark.parametrize("side", ["pixels", "pixels+s64"])
def test_what_is_sent_is_what_its_record_makes_of_the_stored_bytes(bench, store, kind, mode, side):
    image, other = drawn(store, 90, 70, kind, mode), store.draw(50, 60)
    evidence = bench.evidence()
    slots = [
        {},
        {"tag": "M1"},
        {"tag": "M*", "frame": "M12"},
        {"control": "scramble", "seed": SEED},
        {"control": "phase", "seed": SEED, "tag": "M3"},
        {"control": "decoy", "replaces": other},
    ]
    for slot in slots:
        part = bench.sent(image, side, **slot)
        assert evidence.as_recorded(part, "corpus") == ""
        assert evidence.unchanged(part, "corpus") == ""
        if part["transform"]:
            wrong = bench.forged(part, dotted(part["w"] - 1, part["h"] - 1))
            assert evidence.as_recorded(wrong, "corpus") == "it is not what its record makes of the stored image"


@pytest.mark.parametrize(
    "params",
    [{"seed": "another"}, {"control": "phase"}, {"tag": "M2"}, {"frame": "M10"}, {"side": 30}, {"tag": "M10"}],
)
def test_a_record_of_something_else_is_found(bench, store, params):
    part = bench.sent(store.draw(), control="scramble", seed=SEED, tag="M1")
    wrong = {**part, "params": {**part["params"], **params}}
    assert bench.evidence().as_recorded(part, "corpus") == ""
    assert bench.evidence().as_recorded(wrong, "corpus") == "it is not what its record makes of the stored image"
    another = {**part, "source": store.draw(300, 200).sha256}
    assert bench.evidence().as_recorded(another, "corpus") == "it is not what its record makes of the stored image"


def test_an_image_said_to_be_as_stored_is_the_stored_one(bench, store):
    part = bench.sent(store.draw())
    assert bench.evidence().as_recorded(part, "corpus") == ""
    assert bench.evidence().as_recorded({**part, "sha256": "0" * 64}, "corpus") == (
        "it is not the stored image that its record names"
    )
    assert bench.asked == 0


@pytest.mark.parametrize(
    ("kind", "mode"),
    [*[("PNG", mode) for mode in ("RGB", "L", "P", "RGBA", "LA", "I;16")], ("JPEG", "RGB"), ("JPEG", "L")],
)
def test_outside_the_stamp_pixels_are_equal(bench, store, kind, mode):
    image, evidence = drawn(store, 300, 200, kind, mode), bench.evidence()
    plain, first, tenth = bench.sent(image), bench.sent(image, tag="M1"), bench.sent(image, tag="M10")
    for a, b in ((plain, first), (first, plain), (first, tenth), (plain, plain)):
        assert evidence.outside_box(a, b, "corpus") == ""
    wide, tall = (int(number) for number in tenth["params"]["box"].split(",")[2:])
    for x, y in ((wide, 0), (0, tall), (299, 199)):
        wrong = bench.forged(first, dotted(x, y))
        assert evidence.outside_box(plain, wrong, "corpus") == "pixels differ outside the stamp"
    assert evidence.outside_box(plain, bench.forged(first, dotted(0, 0)), "corpus") == ""
    larger = bench.sent(store.draw(301, 200))
    assert evidence.outside_box(plain, larger, "corpus") == "300x200 pixels against 301x200"


def test_what_a_control_cannot_change_is_told(bench, store):
    def solid(*dots):
        picture = PillowImage.new("RGB", (64, 64), "white")
        for dot in dots:
            picture.putpixel(dot, (250, 250, 250))
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        return store.add(buffer.getvalue())

    evidence = bench.evidence()
    for name in ("phase", "scramble"):
        flat = bench.sent(solid(), control=name, seed=SEED)
        assert evidence.as_recorded(flat, "corpus") == ""
        assert evidence.unchanged(flat, "corpus") == "the image has no other order of its pixels"
    speck = bench.sent(solid((5, 5)), control="phase", seed=SEED)
    assert evidence.unchanged(speck, "corpus") == "by 0.00 of 255 grey levels only"
    assert evidence.unchanged(bench.sent(solid((5, 5)), control="scramble", seed=SEED), "corpus") == ""
    assert evidence.unchanged(bench.sent(store.draw(), control="phase", seed=SEED), "corpus") == ""


def test_an_answer_is_worked_out_once_over_instances(bench, store):
    image = store.draw()
    parts = [bench.sent(image, tag=tag) for tag in ("M1", "M2", "M3")]
    wrong = bench.forged(parts[0], dotted(299, 199))
    first = bench.evidence()
    checks = [("recorded", (part,), "corpus") for part in (*parts, wrong, *parts)]
    checks += [("outside", (parts[0], wrong), "corpus")]
    first.prepare(checks)
    assert bench.asked == 10  # four images as sent and as stored, and two beside each other
    answers = [first.as_recorded(part, "corpus") for part in (*parts, wrong)]
    assert answers == ["", "", "", "it is not what its record makes of the stored image"]
    assert first.outside_box(parts[0], wrong, "corpus") == "pixels differ outside the stamp"
    first.close()
    second = bench.evidence()
    second.prepare(checks)
    assert [second.as_recorded(part, "another corpus") for part in (*parts, wrong)] == answers
    assert bench.asked == 10
    lines = (bench.folder / "evidence" / "pixels.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 5


def test_bytes_that_are_not_at_hand_are_told_and_asked_for_again(bench, store):
    part, evidence = bench.sent(store.draw(), tag="M1"), bench.evidence()
    kept = bench.bytes[part["sha256"]]
    bench.bytes[part["sha256"]] = b"other bytes"
    problem = f"its bytes are not at hand: image {part['sha256'][:12]}: what is kept of it has another sha256"
    assert evidence.as_recorded(part, "corpus") == evidence.unchanged(part, "corpus") == problem
    bench.bytes[part["sha256"]] = kept
    assert evidence.as_recorded(part, "corpus") == ""
    fresh = bench.sent(store.draw(), tag="M2")
    bench.store.data[fresh["source"]] = b"other bytes"
    assert evidence.as_recorded(fresh, "corpus") == (
        f"its bytes are not at hand: image {fresh['source'][:12]}: the stored bytes have another sha256"
    )

    def gone(part, corpus):
        raise FileNotFoundError("gone.png")

    assert PixelEvidence(bench.folder / "none", gone, gone).as_recorded(part, "corpus") == (
        "its bytes are not at hand: gone.png"
    )
    lying = {**part, "mime": "image/jpeg"}
    assert "image/png of 300x200 pixels, not what was recorded" in evidence.as_recorded(lying, "corpus")
    bench.bytes[hashlib.sha256(b"no image").hexdigest()] = b"no image"
    broken = {**part, "sha256": hashlib.sha256(b"no image").hexdigest()}
    assert "does not decode" in evidence.outside_box(broken, part, "corpus")


def test_a_cut_last_line_is_left_and_what_a_broken_one_said_is_worked_out_again(bench, store):
    part = bench.sent(store.draw(), tag="M1")
    path = bench.folder / "evidence" / "pixels.jsonl"
    bench.evidence().as_recorded(part, "corpus")
    whole = path.read_text()
    path.write_text(whole + '{"key": "cut')
    again = bench.evidence()
    asked = bench.asked
    assert again.as_recorded(part, "corpus") == ""
    assert bench.asked == asked
    assert again.as_recorded(bench.sent(store.draw(), tag="M2"), "corpus") == ""
    again.close()
    assert len(path.read_text().splitlines()) == 2
    path.write_text('{"key": "k", "answer": 1}\n' + whole[:40] + "\n" + whole[40:])
    asked = bench.asked
    assert bench.evidence().as_recorded(part, "corpus") == ""
    assert bench.asked > asked
