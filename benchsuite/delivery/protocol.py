"""The wording around delivered items: versioned data files, one per suite, replaceable by the user's own."""

from __future__ import annotations

import string
import tomllib
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path

from benchsuite.errors import ConfigError

_FIELDS = {
    "system": {"refusal"},
    "head": set(),
    "empty": set(),
    "role": {"rank", "role"},
    "question": {"date", "question"},
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """Templates of one suite. Text parts end with their own separator, so that leaving a part out of one arm
    changes nothing else in the text."""

    name: str
    version: str
    refusal: str
    system: str
    head: str
    empty: str
    role: str
    question: str

    @property
    def label(self) -> str:
        return f"{self.name}/{self.version}"


def load_protocol(path: Path) -> Protocol:
    """Read a protocol TOML. Raises ConfigError naming file and field."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not a protocol file: {error}") from None
    names = [field.name for field in fields(Protocol)]
    for name in [*names, *table]:
        if name not in names:
            raise ConfigError(f"{path}: {name}: unknown field; fields: {', '.join(names)}")
        if not isinstance(table.get(name), str):
            raise ConfigError(f"{path}: {name}: {'is missing' if name not in table else 'must be text'}")
    protocol = Protocol(**table)
    for name, allowed in _FIELDS.items():
        try:
            used = {each for _, each, _, _ in string.Formatter().parse(table[name]) if each is not None}
        except ValueError as error:
            raise ConfigError(f"{path}: {name}: {error}") from None
        if used - allowed:
            raise ConfigError(f"{path}: {name}: no value for {{{sorted(used - allowed)[0]}}}")
    return protocol


def bundled_protocol(suite: str) -> Protocol:
    """The suite's own wording. Raises ConfigError for a suite that ships none."""
    with resources.as_file(resources.files("benchsuite.delivery") / "protocols" / f"{suite}.toml") as path:
        return load_protocol(path)
