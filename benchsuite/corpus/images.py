"""Images of a corpus: paths that stay under one root, known by the sha256 of their stored bytes."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NoReturn

from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from benchsuite.corpus.model import Image
from benchsuite.errors import DataError

MAX_IMAGE_BYTES = 20_000_000
MAX_IMAGE_PIXELS = 50_000_000
MIME_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # what the JPEG reader calls a JPEG with further pictures behind the first one
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "BMP": "image/bmp",
}
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
FileStamp = tuple[int, int]  # size in bytes, mtime in ns


def is_remote(reference: str) -> bool:
    return reference.lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where an image is named: the file, item and field that an error points at."""

    file: str
    item: str
    field: str

    def fail(self, problem: str) -> NoReturn:
        raise DataError(self.file, self.item, self.field, problem)


class ImageIndex:
    """Resolves image references under one root while a corpus is indexed; each distinct path is read once.

    ``stamps`` maps every local path asked for to its file stamp, or to None where no such file exists.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stamps: dict[str, FileStamp | None] = {}
        self._known: dict[str, Image] = {}
        self._real_root: str | None = None

    @property
    def images(self) -> tuple[Image, ...]:
        """Every local image asked for, absent ones too, by path."""
        return tuple(self._known[path] for path in sorted(self._known))

    def resolve(self, reference: str, place: Place) -> Image:
        """The image of one reference: stored, or missing as ``remote`` or ``absent``.

        Raises DataError for a path that leaves the root, a missing root, something that is not a plain file,
        an image over the limits and a header that cannot be read.
        """
        if is_remote(reference):
            return Image(sha256="", path="", missing="remote")
        path = _plain_path(reference, place)
        if path not in self._known:
            self._known[path] = self._read(path, place)
        return self._known[path]

    def _read(self, path: str, place: Place) -> Image:
        if self._real_root is None:
            if not self.root.is_dir():
                place.fail(f"there is no image folder {self.root}")
            self._real_root = os.path.realpath(self.root)
        data = _read_inside(self._real_root, path, place)
        if data is None:
            self.stamps[path] = None
            return Image(sha256="", path=path, missing="absent")
        self.stamps[path] = data.stamp
        mime, width, height = read_header(data.content, path, place)
        return Image(
            sha256=hashlib.sha256(data.content).hexdigest(),
            path=path,
            mime=mime,
            width=width,
            height=height,
            size=len(data.content),
        )


def read_stored(root: Path, image: Image) -> bytes:
    """The bytes of an indexed image. Raises DataError when they are missing or not those that were indexed."""
    place = Place(str(root / image.path), f"image {image.sha256[:12]}" if image.sha256 else "", "")
    if image.missing:
        raise DataError(image.path or "image", None, None, f"there are no bytes: {image.missing}")
    data = _read_inside(os.path.realpath(root), image.path, place)
    if data is None:
        raise DataError(str(root / image.path), None, None, "the image went away after it was indexed")
    if hashlib.sha256(data.content).hexdigest() != image.sha256:
        raise DataError(str(root / image.path), None, None, "the image changed after it was indexed")
    return data.content


def stamp_of(path: Path) -> FileStamp | None:
    """Size and mtime of a file; None when it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def read_header(content: bytes, path: str, place: Place) -> tuple[str, int, int]:
    """MIME type, width and height in pixels, from the header alone: no pixel is decoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PillowImage.DecompressionBombWarning)
            with PillowImage.open(io.BytesIO(content), formats=FORMATS) as opened:
                kind, (width, height) = opened.format or "", opened.size
    except (PillowImage.DecompressionBombError, PillowImage.DecompressionBombWarning):
        place.fail(f"{path}: over {MAX_IMAGE_PIXELS // 1_000_000} megapixels")
    except UnidentifiedImageError:
        place.fail(f"{path}: not a PNG, JPEG, WebP, GIF or BMP image, or its header is broken")
    except (OSError, ValueError, EOFError, OverflowError) as error:
        place.fail(f"{path}: the image header cannot be read: {error}")
    if width * height > MAX_IMAGE_PIXELS:
        place.fail(f"{path}: {width} x {height} is over {MAX_IMAGE_PIXELS // 1_000_000} megapixels")
    return MIME_TYPES[kind], width, height


@dataclass(frozen=True, slots=True)
class _Stored:
    content: bytes
    stamp: FileStamp


def _plain_path(reference: str, place: Place) -> str:
    path = PurePosixPath(reference)
    if path.is_absolute() or ".." in path.parts or "\\" in reference or "\0" in reference:
        place.fail(f"the image path {reference!r} leaves the image folder")
    if not path.parts:
        place.fail("the image path is empty")
    return str(path)


def _read_inside(real_root: str, path: str, place: Place) -> _Stored | None:
    """The bytes of a plain file under the root; None when there is no such file."""
    name = os.path.realpath(os.path.join(real_root, path))  # noqa: PTH118 - a real path, not a spelling
    if os.path.commonpath((real_root, name)) != real_root:
        place.fail(f"the image path {path!r} leaves the image folder through a link")
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        place.fail(f"{path}: cannot be read: {error.strerror}")
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            place.fail(f"{path}: not a plain file")
        if found.st_size > MAX_IMAGE_BYTES:
            place.fail(f"{path}: {found.st_size} bytes is over {MAX_IMAGE_BYTES // 1_000_000} MB")
        with os.fdopen(os.dup(descriptor), "rb") as handle:
            return _Stored(handle.read(MAX_IMAGE_BYTES + 1), (found.st_size, found.st_mtime_ns))
    finally:
        os.close(descriptor)
