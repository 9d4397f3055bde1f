"""What certificates ask of the pixels: that an image is what its record says, and that a stamp stays in its box.

Every answer follows from content alone, so it is worked out once and kept on disk: a warm rerun decodes nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from PIL import Image as PillowImage

from benchsuite.corpus.images import FORMATS, MIME_TYPES, Place, read_header
from benchsuite.corpus.model import Image
from benchsuite.delivery.certificates.sent import Part
from benchsuite.delivery.images import altered, decode, scaled
from benchsuite.errors import BenchError, DataError
from benchsuite.files import AppendFile, whole_lines
from benchsuite.models.wire import sha256_json

Check = tuple[str, tuple[Part, ...], str]
"""What is asked (``recorded`` or ``outside``), of which one or two image parts, and the digest of their corpus."""

VERSION = 1
"""Of the checks below: with another one nothing is taken from disk."""
THREADS = 2
_TAKEN = ("sha256", "source", "mime", "w", "h", "transform")


class PixelEvidence:
    """Checks on images as sent. Thread-safe; does blocking work.

    ``bytes_of(part, corpus)`` gives the bytes of a recorded image part, ``stored(sha256, corpus)`` those of an image
    of the corpus; both may raise BenchError or OSError, which is then the answer, and is not kept. ``folder`` holds
    the answers, ``pixels.jsonl``, by the sha256 of what was asked.
    """

    def __init__(
        self, folder: Path, bytes_of: Callable[[Part, str], bytes], stored: Callable[[str, str], bytes]
    ) -> None:
        self._bytes_of = bytes_of
        self._stored = stored
        self._path = folder / "pixels.jsonl"
        self._known: dict[str, tuple[str, str]] | None = None
        self._asked: dict[Hashable, tuple[str, str]] = {}
        self._file: AppendFile | None = None
        self._lock = threading.Lock()

    def as_recorded(self, part: Part, corpus: str) -> str:
        """Empty where the image that was sent is, pixel by pixel, what its record makes of the stored bytes; else why
        it is not."""
        return self._answer(("recorded", (part,), corpus))[0]

    def unchanged(self, part: Part, corpus: str) -> str:
        """Empty where a scrambled or phase image differs from the picture that it was made of, and a phase image by
        ``LEAST_PHASE_DIFFERENCE`` at least; else how much it does."""
        return self._answer(("recorded", (part,), corpus))[1]

    def outside_box(self, a: Part, b: Part, corpus: str) -> str:
        """Empty where two images have equal pixels outside the boxes of their stamps; else what differs."""
        return self._answer(("outside", (a, b), corpus))[0]

    def prepare(self, checks: Iterable[Check]) -> None:
        """Work out the answers that are not known yet, on two threads; each is there when it is asked for."""
        fresh = {key: check for check in checks if (key := _key(check)) not in self._answers()}
        if fresh:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(self._answer, fresh.values()))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _answer(self, check: Check) -> tuple[str, str]:
        question = _question(check)
        known = self._asked.get(question)
        if known is not None:
            return known
        key = _key(check)
        found = self._answers().get(key)
        if found is None:
            kind, parts, corpus = check
            try:
                found = (
                    self._recorded(parts[0], corpus)
                    if kind == "recorded"
                    else self._outside(parts[0], parts[1], corpus)
                )
            except (BenchError, OSError) as error:
                problem = f"its bytes are not at hand: {error}"
                return problem, problem
            with self._lock:
                self._answers()[key] = found
                if self._file is None:
                    self._file = AppendFile(self._path)
                self._file.append(json.dumps({"key": key, "answer": found}))
        self._asked[question] = found
        return found

    def _answers(self) -> dict[str, tuple[str, str]]:
        if self._known is None:
            self._known = _read(self._path)
        return self._known

    def _recorded(self, part: Part, corpus: str) -> tuple[str, str]:
        """Why the image is not what its record says, and why it is no change of the picture that it was made of."""
        if not part["transform"]:
            problem = "" if part["sha256"] == part["source"] else "it is not the stored image that its record names"
            return problem, problem
        sent, params = self._sent(part, corpus), part["params"]
        stored = self._stored(part["source"], corpus)
        if hashlib.sha256(stored).hexdigest() != part["source"]:
            raise DataError(f"image {part['source'][:12]}", None, None, "the stored bytes have another sha256")
        place = Place(f"image {part['source'][:12]}", "", "")
        mime, width, height = read_header(stored, place.file, place)
        picture = decode(stored, Image(part["source"], place.file, mime, width, height))
        treated = "control" in params or "tag" in params
        within = not params["side"] or max(width, height) <= params["side"]
        if not (treated and mime == "image/png" and within):  # such a PNG is treated as it is
            picture = scaled(picture, params["side"])
        controlled = altered(picture, {name: value for name, value in params.items() if name not in ("tag", "frame")})
        expected = altered(controlled, {name: params[name] for name in ("tag", "frame") if name in params})
        if _plain(sent).tobytes() != _plain(expected).tobytes() or sent.size != expected.size:
            return "it is not what its record makes of the stored image", ""
        return "", _change(str(params.get("control", "")), picture, controlled)

    def _outside(self, a: Part, b: Part, corpus: str) -> tuple[str, str]:
        first, second = (_plain(self._sent(part, corpus)) for part in (a, b))
        if first.size != second.size:
            sizes = [f"{picture.width}x{picture.height}" for picture in (first, second)]
            return f"{sizes[0]} pixels against {sizes[1]}", ""
        for part in (a, b):
            box = tuple(int(number) for number in part["params"].get("box", "0,0,0,0").split(","))
            for picture in (first, second):
                picture.paste((0, 0, 0, 255), (box[0], box[1], box[0] + box[2], box[1] + box[3]))
        return ("" if first.tobytes() == second.tobytes() else "pixels differ outside the stamp"), ""

    def _sent(self, part: Part, corpus: str) -> PillowImage.Image:
        """The picture as sent. Raises DataError where there are no such bytes, or other pixels than recorded."""
        data = self._bytes_of(part, corpus)
        name = f"image {part['sha256'][:12]}"
        if hashlib.sha256(data).hexdigest() != part["sha256"]:
            raise DataError(name, None, None, "what is kept of it has another sha256")
        try:
            picture = PillowImage.open(io.BytesIO(data), formats=FORMATS)
            picture.load()
        except Exception as error:
            raise DataError(name, None, None, f"image does not decode: {error}") from None
        found = (MIME_TYPES[picture.format or ""], *picture.size)
        if found != (part["mime"], part["w"], part["h"]):
            raise DataError(name, None, None, f"{found[0]} of {found[1]}x{found[2]} pixels, not what was recorded")
        return picture


def _question(check: Check) -> Hashable:
    """Equal for checks of equal content."""
    kind, parts, _ = check
    return kind, *((*(part[name] for name in _TAKEN), *part["params"].items()) for part in parts)


def _key(check: Check) -> str:
    kind, parts, _ = check
    return sha256_json([VERSION, kind, *([part[name] for name in (*_TAKEN, "params")] for part in parts)])


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Answers by key. A line that is none, as two runs that end at once can leave, is worked out again."""
    found: dict[str, tuple[str, str]] = {}
    if path.exists():
        for _, line in whole_lines(path):
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                reason, unchanged = record["answer"]
                found[record["key"]] = (str(reason), str(unchanged))
    return found


def _change(control: str, before: PillowImage.Image, after: PillowImage.Image) -> str:
    if control not in ("scramble", "phase"):
        return ""
    from benchsuite.delivery import transforms  # numpy, which a warm rerun does without

    least = transforms.LEAST_PHASE_DIFFERENCE if control == "phase" else 0.0
    found = transforms.difference(before, after)
    if found > 0 and found >= least:
        return ""
    return "the image has no other order of its pixels" if found == 0 else f"by {found:.2f} of 255 grey levels only"


def _plain(picture: PillowImage.Image) -> PillowImage.Image:
    """Eight bits and four channels, so that pictures of two modes can be compared; a copy."""
    from benchsuite.delivery.transforms import plain

    return plain(picture).convert("RGBA").copy()
