"""Decoys: photographs of other questions for the places of this question's own (DeliverMem, appendix D.3)."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from PIL import Image as PillowImage

from benchsuite.corpus.model import Corpus, Image, Item, Outline, Question, plain_text
from benchsuite.delivery.images import ImageReader, decode
from benchsuite.errors import DataError
from benchsuite.files import AppendFile, whole_lines

HASH_SIDE = 16
HASH_VERSION = "dhash256-1"
NEAR = 20
"""Bits of 256 that two perceptual hashes may differ in and still count as one picture.

On the bundled corpus 98% of all pairs of different pictures are further apart, though many are drawn from one layout;
a picture at half its size or as a JPEG of quality 80 is nearer. A hash of 64 bits tells such layouts less well apart.
"""
LEAST_SIDE = 8  # pixels: what is smaller along a side shows nothing and is no photograph
HISTORIES_KEPT = 64
_LINE = re.compile(rb'\["([0-9a-f]{64})", "([0-9a-f]{64})"\]\n')


class Decoys(Protocol):
    def draw(self, question: Question, items: Sequence[Item], count: int, seed: str) -> list[Image]:
        """``count`` photographs of other questions, none of them in ``items``, the question's whole history.

        Raises DataError when there are fewer.
        """


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What supports a question's answer: the texts of its gold turns and the images on them."""

    texts: frozenset[str]
    images: tuple[Image, ...]

    def meets(self, other: _Evidence) -> bool:
        """True where the two share a text or an image."""
        return bool(self.texts & other.texts or _digests(self.images) & _digests(other.images))


class CorpusDecoys:
    """Draws decoys from the questions of one length of a corpus. Thread-safe; does blocking work.

    A carrier is a question of another cluster and another history, with another gold answer (letters and digits
    compared), that shares no text and no image of its evidence with this question. Carriers come in an order drawn
    from the seed and their content. Each gives the images on its evidence turns first: like those that they replace,
    they were taken to be asked about. Only when all carriers have given these do the other images of their histories
    follow. Left out are images of this question and its history, also under other bytes (see `NEAR`), evidence of any
    question with its gold or of its cluster, images near one already drawn, and what is missing, animated, broken or
    under `LEAST_SIDE` pixels along a side.

    The same seed gives the same decoys, and a larger count the same ones first, whatever ids, paths and the order of
    the corpus are. ``folder`` keeps the perceptual hashes over runs.
    """

    def __init__(self, corpus: Corpus, length: str, folder: Path) -> None:
        self._corpus, self._length = corpus, length
        self._hashes = PictureHashes(folder)
        self._lock = threading.Lock()
        self._golds: dict[str, str] = {}
        self._known: dict[str, _Evidence] = {}
        self._images_of = lru_cache(maxsize=HISTORIES_KEPT)(self._read_images)

    def draw(self, question: Question, items: Sequence[Item], count: int, seed: str) -> list[Image]:
        """``items`` are the question's whole history. Raises DataError when fewer than ``count`` are left, and for
        a stored image that changed or went away."""
        if count <= 0:
            return []
        with self._lock:
            try:
                drawn = self._draw(question, items, count, seed)
            finally:
                self._hashes.save()
        if len(drawn) < count:
            problem = f"{count} decoys are needed, other questions of length {self._length} have {len(drawn)} to give"
            raise DataError(self._corpus.name, question.id, "images", problem)
        return drawn

    def _draw(self, question: Question, items: Sequence[Item], count: int, seed: str) -> list[Image]:
        own = [image for image in (*question.images, *_images(items)) if not image.missing]
        outlines = self._corpus.outline(self._length)
        gold = _letters(question.gold)
        kin = {o.id for o in outlines if self._gold(o) == gold or (o.cluster and o.cluster == question.cluster)}
        others = [outline for outline in outlines if outline.history_id != question.history_id]
        refused = _digests(own)
        for outline in others:
            if outline.id in kin:
                refused |= _digests(self._evidence(outline).images)
        hashes = {found for image in own if (found := self._hash(image)) is not None}
        evidence = _evidence_of(question, items)
        carriers = [outline for outline in others if outline.id not in kin]
        drawn: list[Image] = []
        for image in self._candidates(carriers, evidence, seed):
            if image.sha256 in refused or image.missing or min(image.width, image.height) < LEAST_SIDE:
                continue
            refused.add(image.sha256)
            found = self._hash(image)
            if found is None or any(is_near(found, other) for other in hashes):
                continue
            hashes.add(found)
            drawn.append(image)
            if len(drawn) == count:
                break
        return drawn

    def _candidates(self, outlines: Iterable[Outline], evidence: _Evidence, seed: str) -> Iterator[Image]:
        histories: dict[str, None] = {}
        for outline in sorted(outlines, key=lambda each: _drawn(seed, each.order, self._gold(each))):
            found = self._evidence(outline)
            if not found.meets(evidence):
                histories[outline.history_id] = None
                yield from _shuffled(found.images, seed)
        for history_id in histories:
            yield from _shuffled(self._images_of(history_id), seed)

    def _gold(self, outline: Outline) -> str:
        if outline.id not in self._golds:
            self._golds[outline.id] = _letters(self._corpus.question(self._length, outline.id).gold)
        return self._golds[outline.id]

    def _evidence(self, outline: Outline) -> _Evidence:
        """Its history is opened when this is first asked for; the few images on its evidence are kept."""
        if outline.id not in self._known:
            question = self._corpus.question(self._length, outline.id)
            items = self._corpus.items(self._corpus.history(outline.history_id))
            self._known[outline.id] = _evidence_of(question, items)
        return self._known[outline.id]

    def _read_images(self, history_id: str) -> tuple[Image, ...]:
        return _images(self._corpus.items(self._corpus.history(history_id)))

    def _hash(self, image: Image) -> int | None:
        return self._hashes.of(image, self._corpus.image_bytes)


class PictureHashes:
    """The perceptual hash of each image, by its sha256: in memory, and in a file of ``folder`` over runs.

    Several processes may append; a line that is there twice or was cut does no harm. Of an image that cannot be
    decoded only this process remembers it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{HASH_VERSION}.jsonl"
        self._known: dict[str, int | None] | None = None
        self._fresh: list[str] = []

    def of(self, image: Image, reader: ImageReader) -> int | None:
        """The hash, from 0 to 2**256 - 1; None for an image that is animated or does not decode. ``reader`` gives
        the stored bytes, and its DataError for a file that changed or went away is raised."""
        if self._known is None:
            self._known = dict(self._stored())
        if image.sha256 not in self._known:
            data = reader(image)
            try:
                found = perceptual_hash(decode(data, image))
            except DataError:
                self._known[image.sha256] = None
            else:
                self._known[image.sha256] = found
                self._fresh.append(json.dumps([image.sha256, f"{found:064x}"]))
        return self._known[image.sha256]

    def save(self) -> None:
        """Append what is new."""
        if not self._fresh:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with closing(AppendFile(self._file)) as file:
                file.append(*self._fresh)
        self._fresh.clear()

    def _stored(self) -> Iterator[tuple[str, int]]:
        if self._file.exists():
            for _, line in whole_lines(self._file):
                if match := _LINE.fullmatch(line):
                    yield match[1].decode(), int(match[2], 16)


def perceptual_hash(picture: PillowImage.Image) -> int:
    """256 bits: in each of 16 rows of 17 grey values, whether a value is above the one to its right."""
    from benchsuite.delivery.transforms import plain

    size = (HASH_SIDE + 1, HASH_SIDE)
    grey = plain(picture).convert("L").resize(size, PillowImage.Resampling.LANCZOS).tobytes()
    pairs = ((grey[start + x], grey[start + x + 1]) for start in range(0, len(grey), size[0]) for x in range(HASH_SIDE))
    return sum((left > right) << place for place, (left, right) in enumerate(pairs))


def is_near(one: int, other: int) -> bool:
    """True for the hashes of one picture, be it resized or encoded anew."""
    return (one ^ other).bit_count() <= NEAR


def _evidence_of(question: Question, items: Iterable[Item]) -> _Evidence:
    turns = set(question.evidence.turn_ids)
    gold = [item for item in items if turns.intersection(item.turn_ids)]
    texts = frozenset(text for item in gold if (text := plain_text(item.text)))
    return _Evidence(texts, tuple(image for image in _images(gold) if not image.missing))


def _images(items: Iterable[Item]) -> tuple[Image, ...]:
    return tuple(image for item in items for image in item.images)


def _digests(images: Iterable[Image]) -> set[str]:
    return {image.sha256 for image in images}


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _drawn(seed: str, *content: str) -> str:
    return hashlib.sha256("\0".join((seed, *content)).encode("utf-8", "surrogatepass")).hexdigest()


def _shuffled(images: Iterable[Image], seed: str) -> list[Image]:
    return sorted(images, key=lambda image: _drawn(seed, image.sha256))
