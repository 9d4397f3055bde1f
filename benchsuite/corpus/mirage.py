"""MIRAGE banks: a folder with `bank.json` and `images/`, ours or a user's (`docs/mirage-bank.md` has the format).

A split's planting turns are one History of one session; turn ``t3`` is the third. It is the same at every length,
so that a question has one id and one place in the order of questions whatever the scale is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

from benchsuite.corpus.bank import NONE, Bank, Probe, SplitBank
from benchsuite.corpus.images import ImageIndex, Place
from benchsuite.corpus.labels import ALL_SPLITS
from benchsuite.corpus.mirage_audit import banned_problem
from benchsuite.corpus.model import Evidence, Image, Question, Turn
from benchsuite.corpus.script import Artifact, FillerTask, Scale, Script, WorkspaceFile
from benchsuite.corpus.store import Record
from benchsuite.errors import ConfigError, DataError

if TYPE_CHECKING:
    from benchsuite.registry import Registry

SUITE = "mirage"
MINI_NAME = "mirage-mini"
MINI_FOLDER = Path(__file__).parent / "minis" / "mirage_mini"
BANK, IMAGES, FORMAT = "bank.json", "images", "mirage-bank/1"
DIFFICULTIES = ("lookup", "comparison", "layout")
RISKS = ("none", "prior", "filename", "template", "lexical")
_SCALE_KEYS = ("per_k", "planted", "compaction", "kept", "summary_words", "rounds")


def mirage_source(spec: str) -> MirageSource:
    """The bank that a spec means: ``mirage-mini``, a folder or its `bank.json`, each with an optional ``#split``.

    Raises ConfigError when nothing is there or the split is unknown, DataError for a file that is no bank.
    """
    base, mark, split = spec.rpartition("#")
    if not mark or Path(spec).exists():
        base, split = spec, ""
    if base == MINI_NAME:
        return MirageSource(MINI_FOLDER, MINI_NAME, split)
    return MirageSource(Path(base), split=split)


class MirageSource:
    """A bank as a source of records: every scale is a length, and asks the same of the same history.

    Without a split, or with ``all``, every split is asked.
    """

    suite = SUITE
    version = "mirage/1"

    def __init__(self, path: Path, name: str = "", split: str = "") -> None:
        self._file = path / BANK if path.is_dir() else path
        if not self._file.is_file():
            what = f"no {BANK} in this folder" if path.is_dir() else "no such file or folder"
            raise ConfigError(f"mirage corpus {path}: {what}")
        head = BankReader(self._file, None)
        known = head.split_names()
        self.split = "" if split == ALL_SPLITS else split
        if self.split and self.split not in known:
            raise ConfigError(f"{self._file}: no split {split!r}; there is: {', '.join([*known, ALL_SPLITS])}")
        folder = self._file.parent
        self.image_root = folder / IMAGES
        self.location = str(path.resolve())
        self.bundled = folder.resolve() == MINI_FOLDER.resolve()
        self.name = (name or path.resolve().name) + (f"#{split}" if split else "")
        self.lengths = head.scale_names()
        self._bank: tuple[ImageIndex, Bank] | None = None

    def files(self) -> tuple[Path, ...]:
        return (self._file,)

    def bank(self, images: ImageIndex) -> Bank:
        """The whole bank, read and validated once for each index of images. Raises DataError."""
        if self._bank is None or self._bank[0] is not images:
            self._bank = images, BankReader(self._file, images).bank()
        return self._bank[1]

    def records(self, length: str, images: ImageIndex) -> Iterator[Record]:
        """The questions, in the bank's order; the same ones at every length. Raises DataError."""
        for split in self._wanted(images):
            history = split.history
            planted = {artifact.id: artifact.turn for artifact in split.artifacts}
            for probe in split.probes:
                sources = (probe.source,) if probe.answerable else ()
                turns = tuple(planted[source] for source in sources)
                question = Question(
                    id=probe.id,
                    type=probe.query,
                    text=probe.question,
                    gold=probe.answer,
                    date="",
                    history_id=history.id,
                    answerable=probe.answerable,
                    evidence=Evidence(turn_ids=turns, sources=sources),
                    labels=probe.labels,
                    split=split.name,
                    cluster=probe.artifact,
                )
                yield Record(question, history, ())

    def scripts(self, images: ImageIndex) -> Mapping[str, Script]:
        """By history id; the splits differ in their artefacts alone."""
        bank = self.bank(images)
        return {split.history.id: bank.script(split) for split in self._wanted(images)}

    def _wanted(self, images: ImageIndex) -> list[SplitBank]:
        return [split for split in self.bank(images).splits if self.split in ("", split.name)]


class Fields:
    """One JSON object of the bank. Every method raises DataError that names file, item and field."""

    def __init__(self, file: Path, item: str, raw: object, path: str = "") -> None:
        self._file, self.item, self._path = file, item, path
        if not isinstance(raw, dict):
            self.fail(None, f"an object is needed, not {_kind(raw)}")
        self._raw: dict[str, Any] = raw

    def fail(self, field: str | None, problem: str) -> NoReturn:
        where = ".".join(part for part in (self._path, field) if part)
        raise DataError(str(self._file), self.item or None, where or None, problem)

    def inner(self, field: str, raw: object) -> Fields:
        """An object that stands inside this one."""
        return Fields(self._file, self.item, raw, ".".join(part for part in (self._path, field) if part))

    def known(self, *names: str) -> None:
        for name in self._raw:
            if name not in names:
                self.fail(name, f"unknown field; there is: {', '.join(names)}")

    def has(self, field: str) -> bool:
        return self._raw.get(field) is not None

    def text(self, field: str, default: str | None = None) -> str:
        """A string that is not empty; ``default`` where the field is absent."""
        value = self._raw.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            self.fail(field, "missing" if value is None else f"a string is needed, not {_kind(value)}")
        if not value.strip():
            self.fail(field, "empty")
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(field, "half a surrogate pair in the text")
        return value

    def one_of(self, field: str, values: tuple[str, ...]) -> str:
        value = self.text(field)
        if value not in values:
            self.fail(field, f"{value!r} is unknown; there is: {', '.join(values)}")
        return value

    def number(self, field: str, default: int | None = None) -> int:
        value = self._raw.get(field, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(field, "missing" if value is None else f"a whole number is needed, not {_kind(value)}")
        return value

    def flag(self, field: str) -> bool:
        value = self._raw.get(field)
        if not isinstance(value, bool):
            self.fail(field, "missing" if value is None else f"true or false is needed, not {_kind(value)}")
        return value

    def items(self, field: str, needed: bool = False) -> list[object]:
        value = self._raw.get(field)
        if value is None and not needed:
            return []
        if not isinstance(value, list):
            self.fail(field, "missing" if value is None else f"a list is needed, not {_kind(value)}")
        if needed and not value:
            self.fail(field, "empty")
        return value

    def entries(self, field: str) -> dict[str, object]:
        value = self._raw.get(field)
        if not isinstance(value, dict) or not value:
            self.fail(field, "missing" if value is None else "an object with at least one entry is needed")
        return value

    def strings(self, field: str) -> list[str]:
        values = self.items(field)
        for place, value in enumerate(values):
            if not isinstance(value, str) or not value:
                self.fail(f"{field}[{place}]", f"a string is needed, not {_kind(value)}")
        return [str(value) for value in values]

    def path(self, field: str) -> str:
        """A path of the workspace: relative, plain, inside it."""
        value = self.text(field)
        parts = PurePosixPath(value)
        if parts.is_absolute() or ".." in parts.parts or "\\" in value or str(parts) != value:
            self.fail(field, f"{value!r} is no plain path inside the workspace")
        return value


class BankReader:
    """Reads `bank.json` part by part; ``images`` is None where only its outline is looked at."""

    def __init__(self, file: Path, images: ImageIndex | None) -> None:
        self._file, self._images = file, images
        try:
            raw = json.loads(file.read_bytes())
        except OSError as error:
            raise DataError(str(file), None, None, f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise DataError(str(file), None, None, f"not JSON: {error}") from None
        self._top = Fields(file, "", raw)
        self._top.known("format", "persona", "seed", "scales", "filler", "splits")
        self._top.one_of("format", (FORMAT,))
        self._ids: set[str] = set()

    def split_names(self) -> tuple[str, ...]:
        return tuple(self._top.entries("splits"))

    def scale_names(self) -> tuple[str, ...]:
        return tuple(self._top.entries("scales"))

    def bank(self) -> Bank:
        splits = tuple(self._split(name, raw) for name, raw in self._top.entries("splits").items())
        scales = {name: self._scale(name, raw) for name, raw in self._top.entries("scales").items()}
        filler = tuple(self._task(place, raw) for place, raw in enumerate(self._top.items("filler", needed=True)))
        self._check_distinct(splits)
        bank = Bank(self._top.text("persona"), self._top.number("seed", 0), scales, filler, splits)
        self._check_filler(bank)
        return bank

    def _new_id(self, fields: Fields, value: str, what: str) -> None:
        if value in self._ids:
            fields.fail("id", f"the {what} id occurs twice")
        self._ids.add(value)

    def _scale(self, name: str, raw: object) -> Scale:
        fields = Fields(self._file, name, raw, "scales")
        fields.known(*_SCALE_KEYS)
        if not name or PurePosixPath(name).name != name or not name.isascii():
            fields.fail(None, "a scale needs a plain name")
        defaults = (None, 0, None, 2, 600, 1)
        values = {key: fields.number(key, default) for key, default in zip(_SCALE_KEYS, defaults, strict=True)}
        for key, value in values.items():
            least = 0 if key in ("planted", "kept") else 1
            if value < least:
                fields.fail(key, f"{value} is below {least}")
        return Scale(**values)

    def _task(self, place: int, raw: object) -> FillerTask:
        fields = Fields(self._file, f"filler #{place + 1}", raw)
        fields.item = fields.text("id")
        fields.known("id", "topic", "turns")
        self._new_id(fields, fields.item, "task")
        turns = []
        for number, pair in enumerate(fields.items("turns", needed=True)):
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(t, str) and t.strip() for t in pair):
                fields.fail(f"turns[{number}]", "two texts are needed: what the user says and the reply")
            turns.append((pair[0], pair[1]))
        return FillerTask(fields.item, fields.text("topic", ""), tuple(turns))

    def _split(self, name: str, raw: object) -> SplitBank:
        fields = Fields(self._file, f"split {name}", raw)
        fields.known("artifacts", "turns", "files", "probes")
        if not name or name == ALL_SPLITS or "#" in name:
            fields.fail(None, "a split needs another name")
        paths: set[str] = set()
        artifacts = [self._artifact(place, each, paths) for place, each in enumerate(fields.items("artifacts", True))]
        names = {artifact.id: artifact for artifact in artifacts}
        files = [self._file_of(fields, f"files[{i}]", each, "", paths) for i, each in enumerate(fields.items("files"))]
        turns, planted = [], dict[str, str]()
        for number, each in enumerate(fields.items("turns", needed=True)):
            turn = fields.inner(f"turns[{number}]", each)
            turn.known("role", "text", "images", "artifact", "files")
            turn_id, shown = f"t{number + 1}", turn.text("artifact", "")
            if shown and shown not in names:
                turn.fail("artifact", f"there is no artefact {shown!r}")
            if shown in planted:
                turn.fail("artifact", f"the artefact {shown!r} is planted twice")
            if shown:
                planted[shown] = turn_id
            images = self._images_of(turn) if turn.has("images") else (names[shown].images if shown else ())
            role = turn.one_of("role", ("user", "assistant"))
            if images and role != "user":
                turn.fail("images", "only the user shows images")
            turns.append(Turn(turn_id, role, turn.text("text"), images))
            for place, one in enumerate(turn.items("files")):
                files.append(self._file_of(turn, f"files[{place}]", one, turn_id, paths))
        for taken in sorted(paths & set(names)):
            fields.fail("artifacts", f"{taken!r} is an artefact id and a path")
        for artifact in artifacts:
            if artifact.id not in planted:
                fields.fail("turns", f"no turn plants the artefact {artifact.id!r}")
        placed = tuple(_planted(artifact, planted[artifact.id]) for artifact in artifacts)
        probes = tuple(self._probe(i, each, names) for i, each in enumerate(fields.items("probes", needed=True)))
        return SplitBank(name, placed, tuple(turns), tuple(files), probes)

    def _artifact(self, place: int, raw: object, paths: set[str]) -> Artifact:
        fields = Fields(self._file, f"artifact #{place + 1}", raw)
        fields.item = fields.text("id")
        fields.known("id", "kind", "path", "images", "text", "records")
        self._new_id(fields, fields.item, "artefact")
        images, text = self._images_of(fields), fields.text("text", "")
        if not images and not text:
            fields.fail("images", "an artefact needs images or a text")
        path = fields.path("path")
        _add_path(fields, "path", path, paths)
        records = enumerate(fields.items("records"))
        made = tuple(self._file_of(fields, f"records[{number}]", each, "", paths) for number, each in records)
        return Artifact(fields.item, fields.text("kind"), path, "", images, text, made)

    def _file_of(self, owner: Fields, where: str, raw: object, turn: str, paths: set[str]) -> WorkspaceFile:
        fields = owner.inner(where, raw)
        fields.known("path", "text")
        path = fields.path("path")
        _add_path(fields, "path", path, paths)
        return WorkspaceFile(path, fields.text("text"), turn)

    def _images_of(self, fields: Fields) -> tuple[Image, ...]:
        found = []
        for place, reference in enumerate(fields.strings("images")):
            if self._images is None:
                continue
            image = self._images.resolve(reference, Place(str(self._file), fields.item, f"images[{place}]"))
            if image.missing:
                fields.fail(f"images[{place}]", f"{reference}: the image is {image.missing}")
            found.append(image)
        return tuple(found)

    def _probe(self, place: int, raw: object, names: Mapping[str, Artifact]) -> Probe:
        fields = Fields(self._file, f"probe #{place + 1}", raw)
        fields.item = fields.text("id")
        fields.known(*Probe.__slots__)
        self._new_id(fields, fields.item, "probe")
        answerable, artifact = fields.flag("answerable"), fields.text("artifact")
        if artifact not in names:
            fields.fail("artifact", f"there is no artefact {artifact!r}")
        source, answer = fields.text("source", NONE), " ".join(fields.text("answer", NONE).split())
        for field, value in (("source", source), ("answer", answer)):
            if answerable and value == NONE:
                fields.fail(field, "missing: the probe is answerable")
            if not answerable and value != NONE:
                fields.fail(field, f"{value!r} is given, but the probe is unanswerable")
        if answerable and source not in names:
            fields.fail("source", f"there is no artefact {source!r}")
        sign = "+" if answerable else "-"
        family = fields.text("family", names[artifact].kind + sign)
        if not family.endswith(sign):
            fields.fail("family", f"{family!r} must end in {sign!r}")
        return Probe(
            fields.item,
            fields.text("question"),
            answerable,
            artifact,
            source,
            answer,
            fields.one_of("difficulty", DIFFICULTIES),
            fields.text("query"),
            fields.one_of("risk", RISKS),
            family,
            fields.text("pair", ""),
        )

    def _check_distinct(self, splits: tuple[SplitBank, ...]) -> None:
        """A history has one script: no two splits say and show the same."""
        seen: dict[str, str] = {}
        for split in splits:
            other = seen.setdefault(split.history.id, split.name)
            if other != split.name:
                raise DataError(str(self._file), f"split {split.name}", "turns", f"the same as those of {other!r}")

    def _check_filler(self, bank: Bank) -> None:
        """No filler says a gold answer, the id of an artefact or a path."""
        answers = {p.answer: p.id for split in bank.splits for p in split.probes if p.answerable}
        artifacts = [artifact for split in bank.splits for artifact in split.artifacts]
        names = [name for artifact in artifacts for name in (artifact.id, *artifact.paths)]
        problem = banned_problem(bank.filler, answers, names)
        if problem:
            raise DataError(str(self._file), *problem)


def _add_path(fields: Fields, field: str, path: str, paths: set[str]) -> None:
    if path in paths:
        fields.fail(field, f"the path {path!r} occurs twice")
    paths.add(path)


def _planted(artifact: Artifact, turn: str) -> Artifact:
    records = tuple(WorkspaceFile(record.path, record.text, turn) for record in artifact.records)
    return Artifact(artifact.id, artifact.kind, artifact.path, turn, artifact.images, artifact.text, records)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def register(registry: Registry) -> None:
    registry.corpus(SUITE, mirage_source, default=MINI_NAME)
