"""Images on their way to the model: one lossless codec, one longest side, each distinct image prepared once.

Pixels go as they are stored: an EXIF orientation turns nothing. Where the bytes are re-encoded it is gone, under
codec ``stored`` it goes along like everything else in the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as PillowImage

from benchsuite.corpus.images import FORMATS, MIME_TYPES
from benchsuite.corpus.model import Image
from benchsuite.delivery.spec import Delivery
from benchsuite.delivery.stamp import STAMP_VERSION, stamp, stamp_box
from benchsuite.errors import DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import WireImage, sha256_json

CODEC_VERSION = "png/1"
STAMPED = f"{CODEC_VERSION}+{STAMP_VERSION}"
ImageReader = Callable[[Image], bytes]


@dataclass(frozen=True, slots=True)
class ImageSlot:
    """One place of a request where an image stands, and the tag to be stamped on it (empty: none)."""

    image: Image
    tag: str = ""

    @property
    def key(self) -> str:
        """Equal for slots that are sent the same bytes."""
        return f"{self.image.sha256} {self.tag}" if self.tag else self.image.sha256


class ImageDesk:
    """Prepares stored images for delivery and gives back the bytes to send. Thread-safe; does blocking work.

    A stored PNG within the longest side goes as it is; others are decoded, resized (Lanczos) and PNG-encoded
    once per digest, kept in ``folder`` and found there by later runs without decoding anything. A stamped image
    is the unstamped one, decoded, with the stamp on it: outside the stamp the two decode to equal pixels.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[str, tuple[Image, ImageReader]] = {}
        self._ready: dict[tuple[str, int, str, str], WireImage] = {}
        self._sound: set[str] = set()

    def ready(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> WireImage | None:
        """The prepared image if nothing has to be read or decoded for it. ``reader`` gives its stored bytes."""
        image = slot.image
        key = _key(slot, delivery)
        known = self._ready.get(key)
        if known is not None:
            return known
        within = not delivery.side or max(image.width, image.height) <= delivery.side
        as_stored = delivery.codec == "stored" or (image.mime == "image/png" and within)
        if as_stored and not slot.tag:
            self._sources[image.sha256] = (image, reader)
            return self._ready.setdefault(
                key, WireImage(image.sha256, image.sha256, image.mime, image.width, image.height, size=image.size)
            )
        return None

    def prepare(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> WireImage:
        """As :meth:`ready`, encoding the image if it must. Raises DataError for a file that does not decode, or
        not to what its header says, or that is animated."""
        known = self.ready(slot, delivery, reader)
        if known is not None:
            return known
        transform = STAMPED if slot.tag else CODEC_VERSION
        params: dict[str, str | int | float] = {"side": delivery.side, **({"tag": slot.tag} if slot.tag else {})}
        folder = prepared_file(self._folder, transform, slot.image.sha256, params).parent
        facts = folder / "image.json"
        if not facts.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not facts.exists():
                    picture = self._picture(slot, delivery, reader)
                    _write(picture, folder)
        record = json.loads(facts.read_text())
        width, height = record["width"], record["height"]
        if slot.tag:
            wide, tall = stamp_box(width, height, slot.tag)
            params["box"] = f"0,0,{wide},{tall}"
        size = (folder / "image.png").stat().st_size
        wire = WireImage(
            record["sha256"], slot.image.sha256, "image/png", width, height, transform, tuple(params.items()), size
        )
        return self._ready.setdefault(_key(slot, delivery), wire)

    def _picture(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> PillowImage.Image:
        if slot.tag:
            unstamped = self.prepare(ImageSlot(slot.image), delivery, reader)
            return stamp(PillowImage.open(io.BytesIO(self.bytes_of(unstamped))), slot.tag)
        return scaled(decode(reader(slot.image), slot.image), delivery.side)

    def bytes_of(self, wire: WireImage) -> bytes:
        """The bytes to send. Raises DataError when the stored file changed, is gone or does not decode."""
        if wire.transform:
            return prepared_file(self._folder, wire.transform, wire.source, dict(wire.params)).read_bytes()
        image, reader = self._sources[wire.sha256]
        data = reader(image)
        if wire.sha256 not in self._sound:  # sent as stored: a truncated file must not reach the model
            decode(data, image)
            self._sound.add(wire.sha256)
        return data


def prepared_file(folder: Path, transform: str, source: str, params: Mapping[str, str | int | float]) -> Path:
    """Where a desk on ``folder`` keeps an image that it encoded: the fields are those of a WireImage, and of an
    image part in a recorded request."""
    known = [params[name] for name in ("side", "tag") if name in params]
    return folder / sha256_json([transform, source, *known]) / "image.png"


def decode(data: bytes, image: Image) -> PillowImage.Image:
    """The stored pixels. Raises DataError for bytes that do not decode, or that decode to another size or format
    than the header said, and for an animation, of which no single picture is the one to show."""
    try:
        picture = PillowImage.open(io.BytesIO(data), formats=FORMATS)
        frames = getattr(picture, "n_frames", 1)
        picture.load()
    except Exception as error:
        raise DataError(image.path, None, None, f"image does not decode: {error}") from None
    if frames > 1 and picture.format != "MPO":  # a JPEG with further pictures behind it shows the first one
        raise DataError(image.path, None, None, f"image is animated: {frames} frames")
    mime = MIME_TYPES[picture.format or ""]
    if (picture.size, mime) != ((image.width, image.height), image.mime):
        found = f"{mime} of {picture.width}x{picture.height}"
        header = f"{image.mime} of {image.width}x{image.height}"
        raise DataError(image.path, None, None, f"image decodes to {found} pixels, its header says {header}")
    return picture


def scaled(picture: PillowImage.Image, side: int) -> PillowImage.Image:
    """RGB or grey, its longest side at most ``side`` pixels (0: as it is)."""
    if picture.mode not in ("L", "RGB"):
        picture = picture.convert("RGB")
    if side and max(picture.size) > side:
        scale = side / max(picture.size)
        size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        picture = picture.resize(size, PillowImage.Resampling.LANCZOS)
    return picture


def _key(slot: ImageSlot, delivery: Delivery) -> tuple[str, int, str, str]:
    return slot.image.sha256, delivery.side, delivery.codec, slot.tag


def _write(picture: PillowImage.Image, folder: Path) -> None:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = buffer.getvalue()
    write_atomic(folder / "image.png", data)
    record = {"sha256": hashlib.sha256(data).hexdigest(), "width": picture.width, "height": picture.height}
    write_atomic(folder / "image.json", json.dumps(record))
