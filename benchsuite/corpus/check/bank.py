"""``benchsuite data check`` of a MIRAGE bank: what is wrong or odd in it, its sizes, and the states that it reaches.

Faults are those of the loader, in its words; where the loader stops at the first, the check notes it and goes on. The
audits of a stimulus look only at a bank without faults, and what they find are notes.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchsuite.corpus import mirage_audit as audits
from benchsuite.corpus.bank import Bank, Probe, SplitBank
from benchsuite.corpus.check.checker import CheckedImages, Decode
from benchsuite.corpus.check.leaks import secret_of
from benchsuite.corpus.check.report import FileFacts, Problems, Report, noted
from benchsuite.corpus.images import Place
from benchsuite.corpus.labels import ALL_SPLITS
from benchsuite.corpus.memlens import MINI_NAME as MEMLENS_MINI
from benchsuite.corpus.mirage import (
    BANK,
    DIFFICULTIES,
    IMAGES,
    MINI_FOLDER,
    MINI_NAME,
    RISKS,
    BankReader,
    Fields,
)
from benchsuite.corpus.model import Image, Turn
from benchsuite.corpus.script import Artifact, FillerTask, Scale
from benchsuite.corpus.store import sha256_file
from benchsuite.errors import ConfigError, DataError

STATES = ("S1-d0", "S1-d50k", "S1-d80k", "S2", "S3")
DRAWN = "drawn.json"
LONG_EXCHANGE = 450
"""Tokens of a filler exchange up to which each depth is met within 2 percent of the paper's."""
_UNREAD = Image("", "?")
_BANK_AUDITS = (("filler text that stands twice", audits.filler_clean), ("name that says something", audits.ids_silent))
_SPLIT_AUDITS = (
    ("probes that do not match", audits.matched),
    ("question that is asked twice", audits.distinct),
    ("reply that gives answers away", audits.replies_short),
)
_DRAWN_AUDITS = (("answer that is not shown once", audits.shown), ("what is asked in vain is there", audits.absent))


@dataclass(frozen=True, slots=True)
class Reached:
    """A state of a trunk: ``depth`` at the capture and ``active`` in view there, in reference tokens; ``never`` says
    why there is none."""

    depth: int = 0
    active: int = 0
    never: str = ""

    def __str__(self) -> str:
        if self.never:
            return "never"
        return f"{self.depth:,}" + (f" ({self.active:,} in view)" if self.active != self.depth else "")


@dataclass(frozen=True, slots=True)
class Measures:
    """What the rooms downstream know: ``tokens`` of messages in the reference count, which ``counted_by`` names, and
    how a ``reach`` of a state ends, by bank, split, scale and state."""

    counted_by: str
    tokens: Callable[[Sequence[Turn]], int]
    reach: Callable[[Bank, SplitBank, str, str], Reached]


@dataclass(frozen=True, slots=True)
class BankPath:
    """A bank's file, and the split that was asked for."""

    file: Path
    split: str


def bank_path(spec: str) -> BankPath | None:
    """The bank that a spec means, each with an optional ``#split``; None where it is a MemLens corpus.

    A folder is known by its files, a file by how it begins: a bank is a JSON object, a dataset a list or Parquet.
    Raises ConfigError where nothing is there, and for a folder that is neither or both.
    """
    base, mark, split = spec.rpartition("#")
    if not mark or Path(spec).exists():
        base, split = spec, ""
    path = {MINI_NAME: MINI_FOLDER, MEMLENS_MINI: None}.get(base, Path(base))
    if path is None:
        return None
    if path.is_dir():
        datasets = [file for kind in ("json", "parquet") for file in path.glob(f"dataset_*.{kind}")]
        has_bank = (path / BANK).is_file()
        if has_bank and datasets:
            raise ConfigError(f"{path}: there are a {BANK} and a {datasets[0].name}: name the file to check")
        if not has_bank and not datasets:
            raise ConfigError(f"{path}: no {BANK} (MIRAGE) and no dataset_<length>.json or .parquet (MemLens) in it")
        return BankPath(path / BANK, split) if has_bank else None
    try:
        with path.open("rb") as file:
            start = file.read(1024)
    except OSError as error:
        raise ConfigError(f"{path}: {'no such file or folder' if not path.exists() else error.strerror}") from None
    is_object = start.removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    return BankPath(path, split) if is_object and not path.name.startswith("dataset_") else None


def check_bank(place: BankPath, decode: Decode, measures: Measures) -> Report:
    """Read every part of a bank, whatever its split, and every image. Raises ConfigError for an unknown split.

    ``decode`` gets the stored bytes of each image once and gives its pixels, or raises DataError.
    """
    file = place.file
    report = Report(str(file.parent.resolve()))
    report.files += [_facts(each) for each in (file, file.parent / DRAWN) if each.is_file()]
    images = _BankImages(file.parent / IMAGES, report, decode)
    bank = None
    with noted(report.errors):
        reader = _CheckedReader(file, images, report.errors)
        known = reader.split_names()
        if place.split not in ("", ALL_SPLITS, *known):
            raise ConfigError(f"{file}: no split {place.split!r}; there is: {', '.join([*known, ALL_SPLITS])}")
        bank = reader.bank()
    if bank is None:
        return report
    _leaks(file, bank, images, report.errors)
    report.tables.append(_sizes(bank, measures))
    report.remarks += _filler(bank, measures)
    if report.errors.counts:
        report.remarks.append("states and audits: not looked at, since there are errors")
        return report
    report.tables.append(_states(bank, measures, report))
    _audit(file, bank, report)
    return report


class _CheckedReader(BankReader):
    """A reader that notes the fault of a probe, an artefact, a task, a scale or a split, and reads on behind it."""

    def __init__(self, file: Path, images: _BankImages, errors: Problems) -> None:
        self._errors = errors
        self._names: dict[str, Artifact] = {}  # of the split that is being read
        super().__init__(file, images)

    def bank(self) -> Bank:
        """What could be read. Raises DataError for a fault of the bank as a whole."""
        bank = super().bank()
        scales = {name: scale for name, scale in bank.scales.items() if scale is not _NO_SCALE}
        return replace(bank, scales=scales, filler=tuple(task for task in bank.filler if task.id))

    def _scale(self, name: str, raw: object) -> Scale:
        with noted(self._errors):
            return super()._scale(name, raw)
        return _NO_SCALE

    def _task(self, place: int, raw: object) -> FillerTask:
        with noted(self._errors):
            return super()._task(place, raw)
        return FillerTask("", "", ())

    def _split(self, name: str, raw: object) -> SplitBank:
        self._names = {}
        split = None
        with noted(self._errors):
            split = super()._split(name, raw)
        if split is None:  # a fault of its turns or files, which stand before the probes
            probes = raw.get("probes") if isinstance(raw, dict) and self._names else None
            read = [
                self._probe(i, each, self._names) for i, each in enumerate(probes if isinstance(probes, list) else [])
            ]
            split = SplitBank(name, tuple(self._names.values()), (), (), tuple(read))
        return replace(split, probes=tuple(probe for probe in split.probes if probe.id))

    def _artifact(self, place: int, raw: object, paths: set[str]) -> Artifact:
        try:
            found = super()._artifact(place, raw, paths)
        except DataError as error:
            name = raw.get("id") if isinstance(raw, dict) else None
            if not isinstance(name, str) or not name.strip():
                self._names = {}  # nothing that names it can be looked at
                raise
            with noted(self._errors):
                raise error
            found = Artifact(name, "unread", name, "")
        self._names[found.id] = found
        return found

    def _images_of(self, fields: Fields) -> tuple[Image, ...]:
        with noted(self._errors):
            return super()._images_of(fields)
        return (_UNREAD,)

    def _probe(self, place: int, raw: object, names: Mapping[str, Artifact]) -> Probe:
        with noted(self._errors):
            return super()._probe(place, raw, names)
        return _NO_PROBE

    def _check_distinct(self, splits: tuple[SplitBank, ...]) -> None:
        with noted(self._errors):
            super()._check_distinct(tuple(split for split in splits if split.turns))

    def _check_filler(self, bank: Bank) -> None:
        for task in bank.filler:
            with noted(self._errors):
                super()._check_filler(replace(bank, filler=(task,)))


_NO_SCALE = Scale(1, 0, 1)
_NO_PROBE = Probe("", "", False, "", "", "", "", "", "", "")


class _BankImages(CheckedImages):
    """Notes a faulty image once, and gives it as one without a size that is there."""

    def resolve(self, reference: str, place: Place) -> Image:
        image = super().resolve(reference, place)
        return replace(image, missing="") if image.missing == "faulty" else image

    def _read(self, path: str, place: Place) -> Image:
        try:
            return super()._read(path, place)
        except DataError as error:
            if error.item is not None:
                raise
            place.fail(f"{path}: {error.problem}")


def _facts(file: Path) -> FileFacts:
    return FileFacts(file.name, file.stat().st_size, sha256_file(file), "")


def _leaks(file: Path, bank: Bank, images: _BankImages, errors: Problems) -> None:
    """Gold answers in what the file of a picture says beside its pixels."""
    for split in bank.splits:
        shown = {artifact.id: artifact.images for artifact in split.artifacts}
        for probe in split.probes:
            secret = secret_of(probe.answer) if probe.answerable else None
            for image in shown.get(probe.source, ()) if secret else ():
                if secret and secret.is_in(images.metadata.get(image.path, "")):
                    problem = f"{file}: item {probe.id}: answer: {probe.answer!r} is in the metadata of {image.path}"
                    errors.add("gold answer in the metadata of an image", problem)


def _sizes(bank: Bank, measures: Measures) -> list[tuple[str, ...]]:
    """A row a count, a column a split."""
    splits = bank.splits
    probes = [split.probes for split in splits]
    queries = sorted({probe.query for each in probes for probe in each})
    families = sorted({probe.family for each in probes for probe in each})
    rows: list[tuple[str, list[int]]] = [
        ("probes", [len(each) for each in probes]),
        ("  answerable", [sum(probe.answerable for probe in each) for each in probes]),
        ("  unanswerable", [sum(not probe.answerable for probe in each) for each in probes]),
    ]
    for field, values in (("difficulty", DIFFICULTIES), ("risk", RISKS), ("query", queries), ("family", families)):
        for value in values:
            counts = [sum(getattr(probe, field) == value for probe in each) for each in probes]
            if any(counts):
                rows.append((f"  {field} {value}", counts))
    shown = [[image for turn in split.turns for image in turn.images] for split in splits]
    rows += [
        ("artefacts", [len(split.artifacts) for split in splits]),
        ("  with images", [sum(bool(artifact.images) for artifact in split.artifacts) for split in splits]),
        ("workspace files beside them", [sum(len(a.records) for a in s.artifacts) + len(s.files) for s in splits]),
        ("planting turns", [len(split.turns) for split in splits]),
        ("  images shown", [len(each) for each in shown]),
        ("  reference tokens", [measures.tokens(split.turns) for split in splits]),
    ]
    head = ("counts", *(split.name for split in splits))
    return [head, *((name, *(f"{number:,}" for number in numbers)) for name, numbers in rows)]


def _filler(bank: Bank, measures: Measures) -> Iterator[str]:
    sizes = [
        measures.tokens([Turn("u", "user", said, ()), Turn("a", "assistant", reply, ())])
        for task in bank.filler
        for said, reply in task.turns
    ]
    longest = max(sizes, default=0)
    far = f"; above {LONG_EXCHANGE}, so depths are met less closely" if longest > LONG_EXCHANGE else ""
    yield (
        f"filler: {len(bank.filler):,} tasks, {len(sizes):,} exchanges, {sum(sizes):,} reference tokens, the longest "
        f"exchange {longest:,}{far}"
    )
    yield f"reference tokens: those of {measures.counted_by}, and one for every 32x32 pixels of an image"


def _states(bank: Bank, measures: Measures, report: Report) -> list[tuple[str, ...]]:
    """A row a state, a column a scale and split; why a state is never reached is a remark."""
    columns = [(scale, split) for scale in bank.scales for split in bank.splits]
    rows: list[tuple[str, ...]] = [("depth at", *(f"{scale}, {split.name}" for scale, split in columns))]
    why: dict[str, list[str]] = {}
    for state in STATES:
        found = [measures.reach(bank, split, scale, state) for scale, split in columns]
        rows.append((state, *map(str, found)))
        for (scale, split), each in zip(columns, found, strict=True):
            if each.never:
                why.setdefault(f"{state} at {scale}: never: {each.never}", []).append(split.name)
    report.remarks.append("in view after a compaction: with a summary of as many words as the scale allows")
    report.remarks += [f"{text} (split {', '.join(names)})" for text, names in why.items()]
    return rows


def _audit(file: Path, bank: Bank, report: Report) -> None:
    """The audits, as far as they can be made: some need to know what was drawn into the pictures."""
    found: list[tuple[str, list[str]]] = [(kind, audit(bank)) for kind, audit in _BANK_AUDITS]
    found += [(kind, audit(split)) for kind, audit in _SPLIT_AUDITS for split in bank.splits]
    drawn = None
    if (file.parent / DRAWN).exists():
        with noted(report.notes):
            drawn = audits.read_drawn(file.parent / DRAWN)
    if drawn is not None:
        found.append(("filler on the topic of an artefact or a question", audits.topics_apart(bank, drawn)))
        found += [(kind, audit(split, drawn)) for kind, audit in _DRAWN_AUDITS for split in bank.splits]
    else:
        report.remarks.append(f"audits of topics, of what is shown and of what is absent: not made, without a {DRAWN}")
    for kind, lines in found:
        for line in lines:
            report.notes.add(kind, f"{file.name}: {line}")
