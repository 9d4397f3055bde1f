"""A folder with an encoder's weights: whether it is what its name says, told before any weight is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from benchsuite.errors import ConfigError
from benchsuite.files import write_atomic
from benchsuite.models.encoders import BGE, OPEN_CLIP, SIGLIP2

_BLOCK = 1 << 20
_SIGLIP_1 = ("SiglipTokenizer", "T5Tokenizer", "T5TokenizerFast")
_MAX_HEADER = 100_000_000  # bytes of a safetensors header, as the format has it


@dataclass(frozen=True, slots=True)
class Form:
    """The files of one encoder's folder.

    ``model_type`` is what its ``config`` must say, empty for a config without one. ``weights`` is one safetensors
    file, or the stem of an index of several. ``needed`` and ``optional`` files too change what the vectors are.
    """

    config: str
    model_type: str
    weights: str
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


FORMS: Mapping[str, Form] = {
    BGE: Form("config.json", "bert", "model.safetensors", ("tokenizer.json",), ("1_Pooling/config.json",)),
    SIGLIP2: Form(
        "config.json",
        "siglip",
        "model.safetensors",
        ("tokenizer.json",),
        ("tokenizer_config.json", "preprocessor_config.json"),
    ),
    OPEN_CLIP: Form(
        "open_clip_config.json",
        "",
        "open_clip_model.safetensors",
        (),
        ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt"),
    ),
}


class Checkpoint:
    """A folder that holds what encoder ``name`` needs. Every failure is one ConfigError that names both.

    Raised for a folder that is not there, a missing or unreadable config, one of another architecture, and weights
    or a tokenizer that are missing or cut short. Reads configs and the headers of weights, no weight.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        form = FORMS[name]
        if not folder.is_dir():
            self.fail("there is no such folder")
        config = self.json(form.config)
        self.config: dict[str, Any] = self._no_config(form) if config is None else config
        if form.model_type and self.config.get("model_type") != form.model_type:
            found = self.config.get("model_type")
            self.fail(f"{form.config} says model_type {found!r}, {name} is made from {form.model_type!r}")
        self._refuse_relatives()
        self.weights = self._weights(form.weights)
        for needed in form.needed:
            if not (folder / needed).is_file():
                self.fail(f"there is no {needed}")
        others = [file for file in form.optional if (folder / file).is_file()]
        self.files = (form.config, *form.needed, *others, *self.weights)

    def fail(self, problem: str) -> NoReturn:
        raise ConfigError(f"encoder {self.name}: {self.folder}: {problem}")

    def json(self, file: str) -> dict[str, Any] | None:
        """The object in a file of the folder; None when there is no such file."""
        try:
            value = json.loads((self.folder / file).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            self.fail(f"{file} cannot be read: {' '.join(str(error).split())}")
        if not isinstance(value, dict):
            self.fail(f"{file} is not a JSON object")
        return value

    def _no_config(self, form: Form) -> NoReturn:
        other = next((known for known in FORMS.values() if known.config != form.config), None)
        if other is not None and (self.folder / other.config).is_file():
            self.fail(f"there is no {form.config}, only {other.config}: the folder of another kind of encoder")
        self.fail(f"there is no {form.config}")

    def _refuse_relatives(self) -> None:
        """Models of the same architecture that are to be used in another way."""
        pooling = self.json("1_Pooling/config.json") if self.name == BGE else None
        if pooling is not None and pooling.get("pooling_mode_cls_token") is not True:
            self.fail(f"1_Pooling/config.json does not pool by the first token, as {BGE} does")
        tokens = self.json("tokenizer_config.json") if self.name == SIGLIP2 else None
        if tokens is not None and tokens.get("tokenizer_class") in _SIGLIP_1:
            self.fail("its tokenizer is that of SigLIP 1, whose texts are prepared in another way")

    def _weights(self, stem: str) -> tuple[str, ...]:
        index = self.json(f"{stem}.index.json") if not (self.folder / stem).is_file() else None
        if index is None:
            files = {stem}
        else:
            parts = index.get("weight_map")
            files = set(parts.values()) if isinstance(parts, dict) else set()
            if not files or not all(isinstance(file, str) and Path(file).name == file for file in files):
                self.fail(f"{stem}.index.json has no weight_map of files beside it")
        for file in sorted(files):
            if not (self.folder / file).is_file():
                self.fail(
                    f"there are no weights {file}" + ("" if index is None else f", which {stem}.index.json names")
                )
            problem = _safetensors_problem(self.folder / file)
            if problem:
                self.fail(f"{file} {problem}")
        return tuple(sorted(files))

    def digest(self, memo: Path) -> str:
        """sha256 over the names and contents of all its files; ``memo`` keeps file digests by size and mtime."""
        total = hashlib.sha256()
        for file in self.files:
            total.update(f"{file}\0{_file_digest(self.folder / file, memo)}\n".encode())
        return total.hexdigest()


def _safetensors_problem(path: Path) -> str:
    """What is wrong with a weights file by its header and size, empty for nothing."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 0 < length <= min(_MAX_HEADER, size - 8):
            return "is no safetensors file"
        try:
            header = json.loads(file.read(length))
            ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
            promised = 8 + length + max(ends, default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return "is no safetensors file"
    return "" if size == promised else f"has {size} bytes, its header promises {promised}"


def _file_digest(path: Path, memo: Path) -> str:
    real = path.resolve()
    found = real.stat()
    stamp = {"path": str(real), "size": found.st_size, "mtime_ns": found.st_mtime_ns}
    kept = memo / f"{hashlib.sha256(str(real).encode()).hexdigest()[:32]}.json"
    try:
        record = json.loads(kept.read_bytes())
        if {key: record[key] for key in stamp} == stamp:
            return str(record["sha256"])
    except (OSError, ValueError, TypeError, KeyError):
        pass  # none yet, or of another version of the file
    digest = hashlib.sha256()
    with real.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    memo.mkdir(parents=True, exist_ok=True)
    write_atomic(kept, json.dumps({**stamp, "sha256": digest.hexdigest()}))
    return digest.hexdigest()
