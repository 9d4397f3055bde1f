"""The wording around delivered items: versioned data files, one per suite, replaceable by the user's own."""

from __future__ import annotations

import string
import tomllib
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from benchsuite.errors import ConfigError

_FIELDS = {
    "system": {"refusal"},
    "head": set(),
    "empty": set(),
    "role": {"rank", "role"},
    "question": {"date", "question"},
}


class Protocol(BaseModel):
    """Templates of one suite. Text parts end with their own separator, so that leaving a part out of one arm
    changes nothing else in the text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        protocol = Protocol.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not a protocol file: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for field, allowed in _FIELDS.items():
        try:
            used = {
                name for _, name, _, _ in string.Formatter().parse(getattr(protocol, field)) if name is not None
            }
        except ValueError as error:
            raise ConfigError(f"{path}: {field}: {error}") from None
        if used - allowed:
            raise ConfigError(f"{path}: {field}: no value for {{{sorted(used - allowed)[0]}}}")
    return protocol


def bundled_protocol(suite: str) -> Protocol:
    """The suite's own wording. Raises ConfigError for a suite that ships none."""
    with resources.as_file(resources.files("benchsuite.delivery") / "protocols" / f"{suite}.toml") as path:
        return load_protocol(path)
