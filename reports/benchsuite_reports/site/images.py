"""The images of a site: each once, by the sha256 of the bytes that were sent, within a budget of bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.corpus.images import MIME_TYPES
from benchsuite.corpus.model import Image
from benchsuite.delivery.images import decode, scaled
from benchsuite.errors import BenchError
from benchsuite.files import write_atomic
from benchsuite_reports.contents import Contents
from benchsuite_reports.site.records import ImageKey

LIMIT = 47_000_000
"""Bytes that a site is held to by showing the largest images smaller."""
CELL = 3_200
"""Bytes that are set apart for a cell's text."""
LEAST = 8_000_000
"""Bytes that images may have however many cells there are."""
NAME = 24
"""Hex digits of a file's name: enough to tell a run's images apart, and short in every page that shows them."""
STEPS = ((768, 85), (640, 50), (448, 45), (320, 40), (224, 35), (160, 30), (112, 25))
"""Longest side in pixels and WebP quality of the smaller forms, the first that fits being taken."""
WORKERS = 4
_PLAINEST = 1 / 2500
"""WebP bytes for a pixel of a plain drawing, by a unit of quality."""


@dataclass(frozen=True, slots=True)
class Stored:
    """``file`` lies in the folder ``images``, empty where ``problem`` says why; ``smaller`` tells the side and quality
    of a form that is not what was sent. ``size`` is that of the bytes sent."""

    file: str = ""
    size: int = 0
    smaller: str = ""
    problem: str = ""


def image_budget(cells: int) -> int:
    """Bytes for the images of a site of so many cells."""
    return max(LEAST, LIMIT - CELL * cells)


def store_images(
    folder: Path, parts: Mapping[ImageKey, Mapping[str, Any]], contents: Contents, budget: int
) -> dict[ImageKey, Stored]:
    """Write every image that is at hand, checked against its sha256, as sent or as large as the budget lets it be."""
    folder.mkdir(parents=True, exist_ok=True)
    share = 0

    def measure(key: ImageKey) -> int:
        try:
            return len(contents.image_bytes(parts[key], key[1]))
        except (BenchError, OSError):
            return 0

    def write(key: ImageKey) -> Stored:
        return _store(folder, key, parts[key], contents, share)

    with ThreadPoolExecutor(WORKERS) as pool:
        share = fair_share(list(pool.map(measure, parts)), budget)
        return dict(zip(parts, pool.map(write, parts), strict=True))


def fair_share(sizes: Iterable[int], budget: int) -> int:
    """The most that one may have, so that all of them, each cut to it, stay within the budget."""
    ordered = sorted(sizes)
    left = budget
    for place, size in enumerate(ordered):
        if size * (len(ordered) - place) > left:
            return left // (len(ordered) - place)
        left -= size
    return ordered[-1] if ordered else 0


def _store(folder: Path, key: ImageKey, part: Mapping[str, Any], contents: Contents, share: int) -> Stored:
    sha256, corpus = key
    mime = str(part["mime"])
    if mime not in MIME_TYPES.values() or not _is_digest(sha256):
        return Stored(problem=f"{mime!r} is no type of image that is sent")
    try:
        data = contents.image_bytes(part, corpus)
        if len(data) <= share:
            name, small, note = f"{sha256[:NAME]}.{mime.partition('/')[2]}", data, ""
        else:
            small, note = _smaller(data, part, share)
            name = f"{sha256[:NAME]}-small.webp"
    except OSError as error:
        return Stored(problem=f"sha256 {sha256}: it cannot be read: {error.strerror or error}")
    except BenchError as error:
        return Stored(problem=f"sha256 {sha256}: {error}")
    write_atomic(folder / name, small)
    return Stored(name, len(data), note)


def _smaller(data: bytes, part: Mapping[str, Any], share: int) -> tuple[bytes, str]:
    picture = decode(data, Image(str(part["sha256"]), "image", str(part["mime"]), int(part["w"]), int(part["h"])))
    made, note = b"", ""
    for side, quality in _hopeful(*picture.size, share):
        shown = scaled(picture, side)
        out = io.BytesIO()
        shown.save(out, "WEBP", quality=quality, method=1)
        made, note = out.getvalue(), f"{shown.width}x{shown.height}, quality {quality}"
        if len(made) <= share:
            break
    return made, note


def _hopeful(width: int, height: int, share: int) -> Sequence[tuple[int, int]]:
    """The steps without those before the first that plain drawings, the smallest of all pictures, would fit."""
    for place, (side, quality) in enumerate(STEPS):
        scale = min(1.0, side / max(width, height))
        if width * height * scale**2 * quality * _PLAINEST <= share:
            return STEPS[place:]
    return STEPS[-1:]


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def total_size(folder: Path) -> tuple[int, int]:
    """Files and bytes below a folder."""
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return len(sizes), sum(sizes)
