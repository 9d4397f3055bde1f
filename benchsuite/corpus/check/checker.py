"""``benchsuite data check``: all that is wrong or odd in a MemLens corpus, in memory bounded by its largest item.

Faults are those of the loader, in its words; where the loader stops at the first, the check notes it and goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PIL import Image as PillowImage

from benchsuite.corpus.check.leaks import metadata_text, secret_of
from benchsuite.corpus.check.report import FileFacts, LengthFacts, Problems, Report, noted
from benchsuite.corpus.check.timeline import Timeline
from benchsuite.corpus.images import ImageIndex, Place, read_stored
from benchsuite.corpus.labels import Label, Labels, read_labels
from benchsuite.corpus.memlens import DatasetItem, MemLensPath, dataset_files, find_subset, read_items
from benchsuite.corpus.minis.audit import figures
from benchsuite.corpus.model import Evidence, History, Image, Question
from benchsuite.corpus.store import Record, sha256_file
from benchsuite.corpus.subset import Subset, first, read_subset
from benchsuite.errors import DataError

RELEASED = {
    "4c75acc3e0a7e1cc71bc962bff3d2a0f1f35e268bc28254ca85f1d9867b03eb9": "dataset_32k.json",
    "f8d766bfc67f3c191939c7baeb00e0f2c7e89bb8461224dd9c305d306f988d44": "dataset_32k.parquet",
}
"""sha256 to name of the files of the public release whose digests are known."""
ORIENTATION = 0x0112  # the EXIF tag
Decode = Callable[[bytes, Image], PillowImage.Image]


def check_corpus(place: MemLensPath, decode: Decode) -> Report:
    """Read every file, item and image of a corpus.

    ``decode`` gets the stored bytes of each distinct image once and gives its pixels, or raises DataError.

    Raises ConfigError when there is no dataset file, when the split is unknown, and for a Parquet file where
    pyarrow is not installed.
    """
    report = Report(str(place.path.resolve()))
    datasets = dataset_files(place.path)
    check = _Check(place, report, decode)
    for length, path in datasets.items():
        check.length(length, path)
    check.compare_lengths()
    report.files += _files(place, set(datasets.values()), check.subset_files)
    return report


class _Check:
    """One pass over a corpus; what it keeps of an item is its id and a digest of what it asks."""

    def __init__(self, place: MemLensPath, report: Report, decode: Decode) -> None:
        self._report = report
        self._images = CheckedImages(place.image_root, report, decode)
        self._labels = Labels(str(place.labels_file), {})
        self._subsets: list[Subset] = []
        self._asked: dict[str, dict[str, bytes]] = {}  # by length, by question
        self._short = 0
        with noted(report.errors):
            self._labels = read_labels(place.labels_file)
        self.subset_files = {file: file for file in sorted(place.folder.glob("*subset*.json"))}
        with noted(report.errors):
            asked = find_subset(place, self._labels)
            if asked is None:
                self._labels.choose_split(place.split)
            else:
                self.subset_files[asked.file] = asked.file
        for file in self.subset_files:
            with noted(report.errors):
                self._subsets.append(read_subset(file))

    def length(self, length: str, path: Path) -> None:
        facts = self._report.lengths[length] = LengthFacts()
        asked = self._asked[length] = {}
        seen: set[str] = set()
        kept: dict[Path, Counter[str]] = {subset.file: Counter() for subset in self._subsets}
        with noted(self._report.errors):
            for position, raw in enumerate(read_items(path), start=1):
                with noted(self._report.errors):
                    item = _CheckedItem(str(path), position, raw, self._images, self._report.errors)
                    with noted(self._report.errors):
                        item.add_id(seen)
                    record = item.record(self._label(item.id))
                    asked.setdefault(item.id, _digest(record.question))
                    _count(record, facts)
                    for subset in self._subsets:
                        if item.id in subset.ids:
                            kept[subset.file][record.question.type] += 1
                    self._item(f"{path.name}: item {item.id}", item, record)
        for subset in self._subsets:
            with noted(self._report.errors):
                subset.check_known(seen, path.name)
            types = ", ".join(f"{count} {kind}" for kind, count in sorted(kept[subset.file].items()))
            total = kept[subset.file].total()
            self._report.remarks.append(f"{subset.file.name} keeps {total:,} questions at {length}: {types or 'none'}")

    def compare_lengths(self) -> None:
        """Are the same questions asked at every length, with the same answers?"""
        lengths = list(self._asked)
        every = sorted(set().union(*self._asked.values()))
        partial = 0
        for name in every:
            where = [length for length in lengths if name in self._asked[length]]
            if len(where) < len(lengths):
                partial += 1
                self._report.notes.add("question that is not at every length", f"item {name}: at {', '.join(where)}")
            odd = [length for length in where if self._asked[length][name] != self._asked[where[0]][name]]
            if odd:
                problem = f"item {name}: type, text or answer at {', '.join(odd)} are not those at {where[0]}"
                self._report.errors.add("question that differs between lengths", problem)
        if len(lengths) > 1 and not partial:
            self._report.remarks.append(f"the same {len(every):,} question ids at {', '.join(lengths)}")
        if self._short:
            self._report.remarks.append(f"leaks: {self._short:,} gold answers are too short to be looked for")

    def _label(self, question_id: str) -> Label:
        with noted(self._report.errors):
            return self._labels.of(question_id)
        return Label()

    def _item(self, where: str, item: _CheckedItem, record: Record) -> None:
        question, history = record.question, record.history
        timeline = Timeline([session.date for session in history.sessions], question.date)
        self._add(self._report.errors, where, timeline.faults())
        self._add(self._report.notes, where, timeline.notes())
        days = figures(question.gold) if question.type == "temporal_reasoning" else set()
        if len(days) == 1 and re.fullmatch(r"\d{4}-\d\d-\d\d", next(iter(days))) and not days & timeline.days():
            self._report.notes.add("answer that is a day without a session", f"{where}: {question.gold!r}")
        if not item.evidence_is_faulty:
            self._evidence(where, question)
        if question.answerable:
            self._leaks(where, question, history)

    def _evidence(self, where: str, question: Question) -> None:
        evidence = question.evidence
        held = {turn_id.rpartition("t")[0] for turn_id in evidence.turn_ids}
        outside = sorted(held.difference(evidence.session_ids))
        bare = sorted(set(evidence.session_ids) - held)
        if outside:
            problem = f"{where}: has_answer in {first(outside)}, not in answer_session_ids"
            self._report.errors.add("has_answer outside the answer sessions", problem)
        if bare:
            self._report.notes.add("answer session without has_answer", f"{where}: {first(bare)}")
        if question.answerable and not evidence.turn_ids:
            self._report.notes.add("answerable question without evidence", where)

    def _leaks(self, where: str, question: Question, history: History) -> None:
        secret = secret_of(question.gold)
        if secret is None:
            self._short += 1
            return
        errors: list[tuple[str, str]] = []
        notes: list[tuple[str, str]] = []
        gold = set(question.evidence.turn_ids)
        for turn in history.turns:
            at_gold = turn.id in gold
            for image in turn.images:
                about = errors if at_gold else notes
                if image.caption and secret.is_in(image.caption):
                    kind = "gold answer in a caption " + ("of the evidence" if at_gold else "outside the evidence")
                    about.append((kind, f"{turn.id}: {image.caption!r}"))
                if image.path and secret.is_in(image.path):
                    errors.append(("gold answer in the name of an image", f"{turn.id}: {image.path}"))
                if image.path in self._images.metadata and secret.is_in(self._images.metadata[image.path]):
                    about.append(("gold answer in the metadata of an image", f"{turn.id}: {image.path}"))
            if turn.role == "assistant" and not at_gold and secret.is_in(turn.text):
                notes.append(("gold answer in an assistant message outside the evidence", turn.id))
        self._add(self._report.errors, f"{where}: {question.gold!r}", iter(errors))
        self._add(self._report.notes, f"{where}: {question.gold!r}", iter(notes))

    def _add(self, problems: Problems, where: str, found: Iterator[tuple[str, str]]) -> None:
        """One line a kind: the first that an item has, and how many more."""
        by_kind: dict[str, list[str]] = {}
        for kind, seen in found:
            by_kind.setdefault(kind, []).append(seen)
        for kind, seen_all in by_kind.items():
            more = f" (and {len(seen_all) - 1} more in this item)" if len(seen_all) > 1 else ""
            problems.add(kind, f"{where}: {seen_all[0]}{more}")


class _CheckedItem(DatasetItem):
    """An item that notes a fault of its parallel arrays or of its evidence, and is read on without them."""

    def __init__(self, file: str, position: int, raw: object, images: ImageIndex, errors: Problems) -> None:
        super().__init__(file, position, raw, images)
        self._errors = errors
        self.evidence_is_faulty = False

    def _parallel(self, field: str, count: int) -> list[str]:
        with noted(self._errors):
            return super()._parallel(field, count)
        self.evidence_is_faulty |= field == "haystack_session_ids"
        return [""] * count

    def _evidence(
        self, history: History, session_ids: Sequence[str], answer_ids: Sequence[str], gold: set[str]
    ) -> Evidence:
        if not self.evidence_is_faulty:
            with noted(self._errors):
                return super()._evidence(history, session_ids, answer_ids, gold)
        self.evidence_is_faulty = True
        return Evidence()


class CheckedImages(ImageIndex):
    """An index that notes a faulty image and gives it as missing, and looks into every one that is there.

    ``metadata`` has the words that image files carry, by path.
    """

    def __init__(self, root: Path, report: Report, decode: Decode) -> None:
        super().__init__(root)
        self.metadata: dict[str, str] = {}
        self._report, self._decode = report, decode
        self._faulty: dict[str, Image] = {}
        self._faults: set[str] = set()  # an absent folder is the same fault for every image

    def resolve(self, reference: str, place: Place) -> Image:
        if reference not in self._faulty:
            try:
                return super().resolve(reference, place)
            except DataError as error:
                if error.problem not in self._faults:
                    self._report.errors.add("image", str(error))
                self._faults.add(error.problem)
                self._faulty[reference] = Image("", reference, missing="faulty")
        return self._faulty[reference]

    def _read(self, path: str, place: Place) -> Image:
        image = super()._read(path, place)
        if not image.missing:
            self._look_into(image)
        return image

    def _look_into(self, image: Image) -> None:
        notes = self._report.notes
        picture = self._decode(read_stored(self.root, image), image)
        try:
            said, orientation = metadata_text(picture), picture.getexif().get(ORIENTATION, 1)
        except Exception as error:  # Pillow raises whatever its readers do
            notes.add("image whose metadata cannot be read", f"{image.path}: {' '.join(str(error).split())}")
            return
        if said:
            self.metadata[image.path] = said
        if orientation != 1:
            notes.add("image with an EXIF orientation, shown as it is stored", f"{image.path}: {orientation}")


def _count(record: Record, facts: LengthFacts) -> None:
    images = [image for turn in record.history.turns for image in turn.images]
    facts.questions[record.question.type] += 1
    facts.histories.add(record.history.id)
    facts.sessions += len(record.history.sessions)
    facts.turns += len(record.history.turns)
    facts.references += len(images)
    facts.images.update(image.path for image in images if image.sha256)
    facts.missing.update(image.missing for image in images if image.missing)


def _digest(question: Question) -> bytes:
    return hashlib.sha256(json.dumps([question.type, question.text, question.gold]).encode()).digest()


def _files(place: MemLensPath, used: set[Path], subsets: dict[Path, Path]) -> Iterator[FileFacts]:
    """Datasets, twins that are not read among them, labels and subsets."""
    twins = [file for kind in ("json", "parquet") for file in place.folder.glob(f"dataset_*.{kind}")]
    others = [place.labels_file, *subsets]
    datasets = sorted({*used, *twins}) if place.path.is_dir() else sorted(used)
    for file in (*datasets, *(other for other in others if other.exists())):
        digest = sha256_file(file)
        released = RELEASED.get(digest)
        remark = ""
        if file in datasets:
            remark = f"matches the public release ({released})" if released else "not a known release file"
        if file in datasets and file not in used:
            remark += "; not read: its JSON twin is"
        yield FileFacts(file.name, file.stat().st_size, digest, remark)
