"""Images on their way to the model: one lossless codec, one longest side, each distinct image prepared once.

Pixels go as they are stored: an EXIF orientation turns nothing. Where the bytes are re-encoded it is gone, under
codec ``stored`` it goes along like everything else in the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as PillowImage

from benchsuite.corpus.images import FORMATS, MIME_TYPES
from benchsuite.corpus.model import Image
from benchsuite.delivery.spec import Delivery
from benchsuite.delivery.stamp import STAMP_VERSION, eight_bits, stamp, stamp_box
from benchsuite.errors import DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import WireImage, sha256_json

CODEC_VERSION = "png/1"
ImageReader = Callable[[Image], bytes]
Params = Mapping[str, str | int | float]
_FACTS = "image.json"  # of an encoded image: it is written last


@dataclass(frozen=True, slots=True)
class ImageSlot:
    """One place of a request where an image stands, and what is done to it.

    ``control`` (``scramble``, ``phase``, ``decoy``; empty: none) puts another picture into the place: ``seed`` is what
    the first two draw from, and a decoy is the ``image``, at the size of the one that it ``replaces``. ``tag`` is
    stamped last (empty: none), in the box that the tag ``frame`` would have (empty: its own).
    """

    image: Image
    tag: str = ""
    frame: str = ""
    control: str = ""
    seed: str = ""
    replaces: Image | None = None

    @property
    def key(self) -> str:
        """Equal for slots that are sent the same bytes in the same place of one request."""
        if self.untreated:
            return self.image.sha256
        replaced = self.replaces.sha256 if self.replaces else ""
        return " ".join(filter(None, (self.image.sha256, self.tag, self.frame, self.control, self.seed, replaced)))

    @property
    def untreated(self) -> bool:
        return not (self.tag or self.control)


class ImageDesk:
    """Prepares stored images for delivery and gives back the bytes to send. Thread-safe; does blocking work.

    A stored PNG within the longest side goes as it is; others are decoded, resized (Lanczos) and PNG-encoded
    once per digest, kept in ``folder`` and found there by later runs without decoding anything. A controlled or
    stamped image is made from the unaltered one, decoded: outside the stamp two arms decode to equal pixels.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[str, tuple[Image, ImageReader]] = {}
        self._ready: dict[tuple[str, int, str], WireImage] = {}
        self._sound: set[str] = set()

    def ready(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> WireImage | None:
        """The prepared image if nothing has to be read or decoded for it. ``reader`` gives its stored bytes."""
        image = slot.image
        key = (slot.key, delivery.side, delivery.codec)
        known = self._ready.get(key)
        if known is not None:
            return known
        within = not delivery.side or max(image.width, image.height) <= delivery.side
        as_stored = delivery.codec == "stored" or (image.mime == "image/png" and within)
        if as_stored and slot.untreated:
            self._sources[image.sha256] = (image, reader)
            return self._ready.setdefault(
                key, WireImage(image.sha256, image.sha256, image.mime, image.width, image.height, size=image.size)
            )
        return None

    def prepare(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> WireImage:
        """As :meth:`ready`, encoding the image if it must. Raises DataError for a file that does not decode, or
        not to what its header says, or that is animated."""
        known = self.kept(slot, delivery, reader)
        if known is not None:
            return known
        transform, params = _treatment(slot, delivery)
        folder = prepared_file(self._folder, transform, slot.image.sha256, params).parent
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / _FACTS).exists():
                _write(self._picture(slot, delivery, reader, params), folder, slot.control == "phase")
        return self._encoded(slot, delivery, folder, transform, params)

    def kept(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader) -> WireImage | None:
        """As :meth:`ready`, also for an image that an earlier run encoded: nothing is decoded for it."""
        known = self.ready(slot, delivery, reader)
        if known is not None:
            return known
        transform, params = _treatment(slot, delivery)
        folder = prepared_file(self._folder, transform, slot.image.sha256, params).parent
        return self._encoded(slot, delivery, folder, transform, params) if (folder / _FACTS).exists() else None

    def _encoded(
        self, slot: ImageSlot, delivery: Delivery, folder: Path, transform: str, params: dict[str, str | int | float]
    ) -> WireImage:
        record = json.loads((folder / _FACTS).read_text())
        width, height = record["width"], record["height"]
        if slot.tag:
            wide, tall = stamp_box(width, height, slot.frame or slot.tag)
            params["box"] = f"0,0,{wide},{tall}"
        size = (folder / "image.png").stat().st_size
        wire = WireImage(
            record["sha256"], slot.image.sha256, "image/png", width, height, transform, tuple(params.items()), size
        )
        return self._ready.setdefault((slot.key, delivery.side, delivery.codec), wire)

    def _picture(self, slot: ImageSlot, delivery: Delivery, reader: ImageReader, params: Params) -> PillowImage.Image:
        if slot.untreated:
            return unaltered(reader(slot.image), slot.image, delivery.side)
        sent = self.prepare(ImageSlot(slot.image), delivery, reader)
        return altered(PillowImage.open(io.BytesIO(self.bytes_of(sent))), params)

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


def prepared_file(folder: Path, transform: str, source: str, params: Params) -> Path:
    """Where a desk on ``folder`` keeps an image that it encoded: the fields are those of a WireImage, and of an
    image part in a recorded request."""
    known = [params[name] for name in ("side", "tag") if name in params]
    further = [[name, params[name]] for name in ("frame", "control", "seed", "width", "height") if name in params]
    return folder / sha256_json([transform, source, *known, *further]) / "image.png"


def unaltered(data: bytes, image: Image, side: int) -> PillowImage.Image:
    """The picture that an arm without control and tag shows. Raises DataError as :func:`decode` does."""
    return scaled(decode(data, image), side)


def altered(picture: PillowImage.Image, params: Params) -> PillowImage.Image:
    """What the ``params`` of a WireImage make of the unaltered picture: first the control, then the stamp."""
    if "control" in params:
        from benchsuite.delivery import transforms  # numpy, which a run without controls does without

        size = (int(params.get("width", picture.width)), int(params.get("height", picture.height)))
        picture = transforms.control(picture, str(params["control"]), str(params.get("seed", "")), size)
    if "tag" in params:
        picture = stamp(picture, str(params["tag"]), str(params.get("frame", "")))
    return picture


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
        picture = eight_bits(picture).convert("RGB")
    size = scaled_size(*picture.size, side)
    return picture if size == picture.size else picture.resize(size, PillowImage.Resampling.LANCZOS)


def scaled_size(width: int, height: int, side: int) -> tuple[int, int]:
    """Width and height with the longest side at most ``side`` pixels (0: as they are)."""
    if not side or max(width, height) <= side:
        return width, height
    scale = side / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _treatment(slot: ImageSlot, delivery: Delivery) -> tuple[str, dict[str, str | int | float]]:
    """The steps that make a slot's image, and their parameters, as a request records them."""
    steps = [CODEC_VERSION]
    params: dict[str, str | int | float] = {"side": delivery.side}
    if slot.control:
        from benchsuite.delivery import transforms

        steps.append(transforms.VERSIONS[slot.control])
        params["control"] = slot.control
        if slot.seed:
            params["seed"] = slot.seed
    if slot.replaces is not None:
        params["replaces"] = slot.replaces.sha256
        params["width"], params["height"] = scaled_size(slot.replaces.width, slot.replaces.height, delivery.side)
    if slot.tag:
        steps.append(STAMP_VERSION)
        params["tag"] = slot.tag
        if slot.frame not in ("", slot.tag):
            params["frame"] = slot.frame
    return "+".join(steps), params


def _write(picture: PillowImage.Image, folder: Path, noise: bool) -> None:
    """``noise``: run lengths alone, since looking for repeats costs much and finds none."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", **({"compress_type": zlib.Z_RLE} if noise else {}))
    data = buffer.getvalue()
    write_atomic(folder / "image.png", data)
    record = {"sha256": hashlib.sha256(data).hexdigest(), "width": picture.width, "height": picture.height}
    write_atomic(folder / _FACTS, json.dumps(record))
