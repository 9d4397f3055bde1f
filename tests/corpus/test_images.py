"""Images: paths stay under the root, limits hold, missing ones are told apart."""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
import zlib
from pathlib import Path

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus import images
from benchsuite.corpus.images import ImageIndex, Place, read_stored
from benchsuite.errors import DataError

PLACE = Place("dataset.json", "q1", "haystack_sessions[0][0].images[0].file")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "release_images"
    folder.mkdir()
    return folder


def draw(path: Path, size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    PillowImage.new("RGB", size, "teal").save(path, kind)
    return path.read_bytes()


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds no pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("kind", "mime"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("MPO", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
    ],
)
def test_a_stored_image(root: Path, kind: str, mime: str) -> None:
    data = draw(root / "a.bin", kind=kind)
    image = ImageIndex(root).resolve("a.bin", PLACE)
    assert (image.mime, image.width, image.height, image.size) == (mime, 40, 30, len(data))
    assert image.sha256 == hashlib.sha256(data).hexdigest()
    assert not image.missing
    assert read_stored(root, image) == data


def test_each_path_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(root / "a.png")
    opened: list[str] = []
    really_open = os.open

    def counting(path: str, *args: int) -> int:
        opened.append(str(path))
        return really_open(path, *args)

    monkeypatch.setattr(os, "open", counting)
    index = ImageIndex(root)
    assert index.resolve("a.png", PLACE) == index.resolve("./a.png", PLACE)
    assert len([path for path in opened if path.endswith("a.png")]) == 1


def test_missing_kinds(root: Path) -> None:
    index = ImageIndex(root)
    assert index.resolve("no/such.jpg", PLACE).missing == "absent"
    assert index.resolve("https://host.invalid/a.jpg", PLACE).missing == "remote"
    assert index.stamps == {"no/such.jpg": None}
    with pytest.raises(DataError, match="there are no bytes: absent"):
        read_stored(root, index.resolve("no/such.jpg", PLACE))


@pytest.mark.parametrize("reference", ["../a.png", "x/../../a.png", "/etc/hostname", "x\\..\\a.png", "a\0.png"])
def test_paths_that_leave_the_root(root: Path, reference: str) -> None:
    draw(root.parent / "a.png")
    with pytest.raises(DataError, match="leaves the image folder") as caught:
        ImageIndex(root).resolve(reference, PLACE)
    assert (caught.value.file, caught.value.item, caught.value.field) == (PLACE.file, PLACE.item, PLACE.field)


@pytest.mark.parametrize("target", ["file", "folder"])
def test_links_that_leave_the_root(root: Path, target: str) -> None:
    draw(root.parent / "a.png")
    (root / "file").symlink_to(root.parent / "a.png")
    (root / "folder").symlink_to(root.parent)
    with pytest.raises(DataError, match="through a link"):
        ImageIndex(root).resolve("file" if target == "file" else "folder/a.png", PLACE)


def test_links_inside_the_root_and_a_linked_root(root: Path, tmp_path: Path) -> None:
    draw(root / "a.png")
    (root / "b.png").symlink_to(root / "a.png")
    (tmp_path / "elsewhere").symlink_to(root)
    index = ImageIndex(tmp_path / "elsewhere")
    assert index.resolve("a.png", PLACE).sha256 == index.resolve("b.png", PLACE).sha256


def test_a_missing_root_matters_only_for_local_images(tmp_path: Path) -> None:
    index = ImageIndex(tmp_path / "none")
    assert index.resolve("http://host.invalid/a.jpg", PLACE).missing == "remote"
    with pytest.raises(DataError, match="no image folder"):
        index.resolve("a.png", PLACE)


@pytest.mark.parametrize(
    "content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBPVP8 ", b"\xff\xd8\xff"]
)
def test_broken_headers(root: Path, content: bytes) -> None:
    (root / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=r"item q1: .*a\.png"):
        ImageIndex(root).resolve("a.png", PLACE)


@pytest.mark.parametrize("size", [(8000, 7000), (10_000, 10_000), (60_000, 60_000)])
def test_huge_images_are_refused_by_their_header(root: Path, size: tuple[int, int]) -> None:
    (root / "a.png").write_bytes(png_header(*size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="over 50 megapixels"):
            ImageIndex(root).resolve("a.png", PLACE)


def test_a_file_over_the_limit_is_not_read(root: Path) -> None:
    with (root / "a.png").open("wb") as handle:
        handle.truncate(images.MAX_IMAGE_BYTES + 1)
    with pytest.raises(DataError, match="over 20 MB"):
        ImageIndex(root).resolve("a.png", PLACE)


def test_only_plain_files_are_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.png")
    (root / "folder.png").mkdir()
    for name in ("pipe.png", "folder.png"):
        with pytest.raises(DataError, match="not a plain file"):
            ImageIndex(root).resolve(name, PLACE)


def test_changed_and_vanished_bytes_are_noticed(root: Path) -> None:
    draw(root / "a.png")
    image = ImageIndex(root).resolve("a.png", PLACE)
    draw(root / "a.png", size=(41, 30))
    with pytest.raises(DataError, match="changed after it was indexed"):
        read_stored(root, image)
    (root / "a.png").unlink()
    with pytest.raises(DataError, match="went away"):
        read_stored(root, image)
