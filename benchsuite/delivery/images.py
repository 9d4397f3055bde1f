"""Images on their way to the model: one lossless codec, one longest side, each distinct image prepared once."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

from PIL import Image as PillowImage

from benchsuite.corpus.model import Image
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import WireImage, sha256_json

CODEC_VERSION = "png/1"
ImageReader = Callable[[Image], bytes]


class ImageDesk:
    """Prepares stored images for delivery and gives back the bytes to send. Thread-safe; does blocking work.

    A stored PNG within the longest side goes as it is; others are decoded, resized (Lanczos) and PNG-encoded
    once per digest, kept in ``folder`` and found there by later runs without decoding anything.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[str, tuple[Image, ImageReader]] = {}
        self._ready: dict[tuple[str, int, str], WireImage] = {}
        self._sound: set[str] = set()

    def ready(self, image: Image, delivery: Delivery, reader: ImageReader) -> WireImage | None:
        """The prepared image if nothing has to be read or decoded for it. ``reader`` gives its stored bytes."""
        key = (image.sha256, delivery.side, delivery.codec)
        known = self._ready.get(key)
        if known is not None:
            return known
        within = not delivery.side or max(image.width, image.height) <= delivery.side
        if delivery.codec == "stored" or (image.mime == "image/png" and within):
            self._sources[image.sha256] = (image, reader)
            return self._ready.setdefault(
                key, WireImage(image.sha256, image.sha256, image.mime, image.width, image.height)
            )
        return None

    def prepare(self, image: Image, delivery: Delivery, reader: ImageReader) -> WireImage:
        """As :meth:`ready`, encoding the image if it must. Raises DataError for a file that does not decode."""
        known = self.ready(image, delivery, reader)
        if known is not None:
            return known
        folder = self._folder / sha256_json([CODEC_VERSION, image.sha256, delivery.side])
        facts = folder / "image.json"
        if not facts.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not facts.exists():
                    self._encode(image, delivery.side, folder, reader)
        record = json.loads(facts.read_text())
        wire = WireImage(
            record["sha256"],
            image.sha256,
            "image/png",
            record["width"],
            record["height"],
            CODEC_VERSION,
            (("side", delivery.side),),
        )
        return self._ready.setdefault((image.sha256, delivery.side, delivery.codec), wire)

    def _encode(self, image: Image, side: int, folder: Path, reader: ImageReader) -> None:
        picture = _decode(reader(image), image.path)
        if picture.mode not in ("L", "RGB"):
            picture = picture.convert("RGB")
        if side and max(picture.size) > side:
            scale = side / max(picture.size)
            size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
            picture = picture.resize(size, PillowImage.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        data = buffer.getvalue()
        write_atomic(folder / "image.png", data)
        record = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "width": picture.width,
            "height": picture.height,
        }
        write_atomic(folder / "image.json", json.dumps(record))

    def bytes_of(self, wire: WireImage) -> bytes:
        """The bytes to send. Raises DataError when the stored file changed, is gone or does not decode."""
        if wire.transform:
            side = dict(wire.params)["side"]
            return (self._folder / sha256_json([wire.transform, wire.source, side]) / "image.png").read_bytes()
        image, reader = self._sources[wire.sha256]
        data = reader(image)
        if wire.sha256 not in self._sound:  # sent as stored: a truncated file must not reach the model
            _decode(data, image.path)
            self._sound.add(wire.sha256)
        return data


def _decode(data: bytes, path: str) -> PillowImage.Image:
    try:
        picture = PillowImage.open(io.BytesIO(data))
        picture.load()
    except Exception as error:
        raise DataError(path, None, None, f"image does not decode: {error}") from None
    return picture
