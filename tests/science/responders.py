"""Episodes in process, answered by scripted responders that see a request and the pixels it carries, nothing else.

A responder answers a question right or wrong by one property of the request: are there images, are they the stored
ones, does each follow its own message, is its date the true one, what tags do pixels and text bear. It reads images
from the bytes that are sent, each distinct one once.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage

from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.model import Item, Question, plain_text
from benchsuite.corpus.store import IndexedCorpus, index_corpus, open_corpus
from benchsuite.delivery.arrange import MARK
from benchsuite.delivery.decoys import CorpusDecoys
from benchsuite.delivery.images import ImageDesk, scaled
from benchsuite.delivery.protocol import bundled_protocol
from benchsuite.delivery.stamp import stamp, stamp_box
from benchsuite.episode import run_episode
from benchsuite.models.ask import Asker
from benchsuite.models.slots import SlotPool
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, WireImage
from benchsuite.plan import make_arm, make_cell
from benchsuite.workbench import Stimulus, Workbench
from benchsuite_pytest.preflight import build_registry, session_scorer

LENGTH = "1x"
WRONG = "zzyzx"
MODEL = ModelSpec("scripted", "scripted", "", "scripted")
Row = dict[str, Any]
_ROLE = re.compile(r"\((\d+)\) ")


@dataclass(frozen=True, slots=True)
class Seen:
    """One delivered message as a responder reads it: its text and date line, the tag that the text gives its images,
    and of each image the stamp and a digest of the pixels that no stamp covers."""

    text: str
    date: str
    told: str
    stamps: tuple[str, ...]
    pixels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a responder compares with: the pixels of each message's images and its date, by its text."""

    pixels: Mapping[str, tuple[str, ...]]
    dates: Mapping[str, str]


Property = Callable[[Sequence[Seen], Truth], bool]


def _shown(seen: Sequence[Seen]) -> list[tuple[int, Seen]]:
    return [(place, each) for place, each in enumerate(seen, start=1) if each.pixels]


def _stamped(seen: Sequence[Seen], truth: Truth) -> bool:
    return bool(_shown(seen)) and all(set(each.stamps) == {f"M{place}"} for place, each in _shown(seen))


def _told(seen: Sequence[Seen], truth: Truth) -> bool:
    return bool(_shown(seen)) and all(each.told == f"M{place}" for place, each in _shown(seen))


def _known(seen: Sequence[Seen], truth: Truth) -> bool:
    every = {digest for digests in truth.pixels.values() for digest in digests}
    return bool(_shown(seen)) and all(digest in every for _, each in _shown(seen) for digest in each.pixels)


PROPERTIES: Mapping[str, Property] = {
    "presence": lambda seen, truth: bool(_shown(seen)),
    "content": _known,
    "binding": lambda seen, truth: (
        _known(seen, truth) and all(set(each.pixels) <= set(truth.pixels[each.text]) for _, each in _shown(seen))
    ),
    "date": lambda seen, truth: all(each.date == truth.dates[each.text] for each in seen),
    "any date": lambda seen, truth: any(each.date for each in seen),
    "stamp": _stamped,
    "told": _told,
    "stamp and told": lambda seen, truth: _stamped(seen, truth) and _told(seen, truth),
    "name": lambda seen, truth: len({each.stamps[0] for _, each in _shown(seen)} - {"", MARK}) == len(_shown(seen)),
    "nothing": lambda seen, truth: True,
}


@dataclass
class Eyes:
    """Reads images from the bytes that are sent."""

    desk: ImageDesk
    known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def read(self, image: WireImage) -> tuple[str, str]:
        """The stamp and a digest of the pixels outside any stamp's box."""
        if image.sha256 not in self.known:
            self.known[image.sha256] = look(self.desk.bytes_of(image))
        return self.known[image.sha256]


def look(data: bytes) -> tuple[str, str]:
    picture = PillowImage.open(io.BytesIO(data)).convert("RGB")
    blank = PillowImage.new("RGB", picture.size)
    found = ""
    for tag, frame in [(f"M{n}", "") for n in range(1, 11)] + [(MARK, f"M{n}") for n in (1, 10)]:
        box = (0, 0, *stamp_box(*picture.size, frame or tag))
        if picture.crop(box).tobytes() == stamp(blank, tag, frame).crop(box).tobytes():
            found = tag
    widest = stamp_box(*picture.size, "M10")
    picture.paste((0, 0, 0), (0, 0, *widest))
    return found, hashlib.sha256(picture.tobytes() + str(picture.size).encode()).hexdigest()


def read_request(request: Request, eyes: Eyes) -> list[Seen]:
    """The messages of a request in their order, as its parts stand in it."""
    seen: list[dict[str, Any]] = []
    for part in request.messages[-1].parts:
        if part.kind == "role":
            assert _ROLE.match(part.text)
            seen.append({"text": "", "date": "", "told": "", "stamps": [], "pixels": []})
        elif not seen or not part.item:
            continue
        elif part.image is not None:
            tag, digest = eyes.read(part.image)
            seen[-1]["stamps"].append(tag)
            seen[-1]["pixels"].append(digest)
        elif part.kind == "tag":
            seen[-1]["told"] = re.findall(r"M(?:\d+|\*)", part.text)[0]
        else:
            seen[-1][part.kind] = part.text.strip()
    return [Seen(e["text"], e["date"].strip("[]"), e["told"], tuple(e["stamps"]), tuple(e["pixels"])) for e in seen]


@dataclass
class Scripted:
    """Right or wrong by question: ``rules`` gives the property each question hangs on and whether it helps. Without
    a rule a coin of question and request decides, weighted by nothing else."""

    eyes: Eyes
    golds: Mapping[str, str]
    truths: Mapping[str, Truth]
    rules: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    coin: str = ""
    seen: dict[int, tuple[Request, list[Seen]]] = field(default_factory=dict)

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        asked = next(part.text for message in request.messages for part in message.parts if part.kind == "question")
        if asked in self.rules:
            name, helps = self.rules[asked]
            right = PROPERTIES[name](read_request(request, self.eyes), self.truths[asked]) == helps
        else:
            digest = "".join(message.digest for message in request.messages)
            right = random.Random(f"{self.coin} {digest}").random() < 0.5
        return Reply(self.golds[asked] if right else WRONG, finish="stop", model_served=spec.model)


@dataclass
class World:
    """A few questions of the bundled corpus and all that an episode on them needs."""

    corpus: IndexedCorpus
    folder: Path
    questions: list[Question] = field(default_factory=list)
    items: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    calls: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.registry = build_registry()
        self.desk = ImageDesk(self.folder / "image")
        self.eyes = Eyes(self.desk)
        self.protocol = bundled_protocol("memlens")
        self.decoys = CorpusDecoys(self.corpus, LENGTH, self.folder / "decoy")
        self.scorer = session_scorer(self.registry, "memlens", "strict")

    def asked(self, question: Question) -> str:
        return self.protocol.question.format(date=question.date, question=question.text)

    def truth(self, question: Question) -> Truth:
        """Of the messages that are delivered, as they would be sent without any control."""
        items = delivered_of(self.items[question.id])
        pixels = {}
        for item in items:
            stored = [self.corpus.image_bytes(image) for image in item.images if not image.missing]
            pixels[plain_text(item.text)] = tuple(look(_png(data))[1] for data in stored)
        return Truth(pixels, {plain_text(item.text): item.date for item in items})

    def responder(self, rules: Mapping[str, tuple[str, bool]], truths: Mapping[str, Truth], coin: str = "") -> Scripted:
        by_id = {question.id: question for question in self.questions}
        return Scripted(
            self.eyes,
            {self.asked(question): question.gold for question in self.questions},
            truths,
            {self.asked(by_id[name]): rule for name, rule in rules.items()},
            coin,
        )

    def run(self, responder: Scripted, deliveries: Sequence[str]) -> list[Row]:
        """A row for every question under every delivery, ten items a question."""
        asker = Asker(responder, SlotPool(64, {}), None)

        def record(line: str, request: Request) -> None:
            read = json.loads(line)
            self.calls[read["cell"]] = read

        bench = Workbench(
            self.registry, {"scripted": MODEL}, asker, self.desk, None, record, run={"id": "here", "cached": False}
        )  # type: ignore[arg-type]  # these retrievals use no service
        arms = [
            make_arm(
                {"length": LENGTH, "retrieval": "latest pictures", "delivery": text, "model": "scripted"},
                self.registry.axis_order,
                self.registry.defaults,
            )
            for text in deliveries
        ]

        async def every() -> list[Row]:
            rows = []
            outlines = {outline.id: outline for outline in self.corpus.outline(LENGTH)}
            for question in self.questions:
                for arm in arms:
                    cell = make_cell("memlens", arm, outlines[question.id])
                    stimulus = Stimulus(
                        cell=cell.id,
                        suite="memlens",
                        corpus=self.corpus.digest,
                        question=question,
                        items=self.items[question.id],
                        image_bytes=self.corpus.image_bytes,
                        protocol=self.protocol,
                        scorer=self.scorer,
                        decoys=self.decoys,
                    )
                    rows.append((await run_episode(stimulus, arm, bench)).to_row())
            return rows

        return asyncio.run(every())


class LatestPictures:
    """The latest five messages with images and the latest five without."""

    version = "latest/1"

    def rank(self, query: object, items: Sequence[Item], k: int) -> list[tuple[str, float]]:
        shown = [item for item in items if any(not image.missing for image in item.images)]
        plain = [item for item in items if item not in shown]
        return [(item.id, float(rank)) for rank, item in enumerate([*shown[-(k // 2) :], *plain[-(k // 2) :]])]


def delivered_of(items: Sequence[Item]) -> list[Item]:
    ranked = dict(LatestPictures().rank(None, items, 10))
    return [item for item in items if item.id in ranked]


def open_world(folder: Path, count: int) -> World:
    """``count`` answerable questions whose delivered images lie in several messages of distinct texts and dates."""
    corpus = open_corpus(index_corpus(memlens_source("memlens-mini"), folder / "corpus"))
    world = World(corpus, folder)
    world.registry.retriever("latest pictures", LatestPictures)
    for outline in sorted(corpus.outline(LENGTH), key=lambda each: each.order):
        question = corpus.question(LENGTH, outline.id)
        items = corpus.items(corpus.history(question.history_id))
        delivered = delivered_of(items)
        shown = [item for item in delivered if any(not image.missing for image in item.images)]
        texts = [plain_text(item.text) for item in delivered]
        images = [image.sha256 for item in delivered for image in item.images]
        dates = [item.date for item in delivered]
        plain = all(texts) and all(dates) and len(set(texts)) == len(texts) and len(set(images)) == len(images)
        if outline.answerable and plain and len(shown) >= 2 and len(set(dates)) >= 2:
            world.questions.append(question)
            world.items[question.id] = items
        if len(world.questions) == count:
            return world
    raise AssertionError(f"only {len(world.questions)} questions fit")


def _png(data: bytes) -> bytes:
    picture = scaled(PillowImage.open(io.BytesIO(data)), 768)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()
