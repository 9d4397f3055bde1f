"""Names that texts give to files and pictures: paths, and opaque ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SUFFIXES = (
    "png|jpe?g|webp|gif|bmp|tiff?|svg|heic|pdf|csv|tsv|jsonl?|md|txt|log|html?|xml|ya?ml|toml|ini|cfg|conf|sql|sh"
    "|py|ipynb|js|tsx?|java|go|rs|rb|cc?|cpp|h|docx?|xlsx?|pptx?|eml|mbox|ics|zip|gz"
)
_NAME = re.compile(
    rf"(?<![\w/.@-])(?:(?:[\w@-][\w.@-]*/)+[\w@-][\w.@-]*\.[A-Za-z]\w{{0,7}}|[\w-][\w.-]*\.(?:{_SUFFIXES}))(?![\w/])"
    r"|(?<![\w/.-])[A-Za-z]{1,12}[_-](?=[a-f]*\d)[0-9a-f]{6,40}(?![\w/-])(?!\.\w)",
)
_LABEL = re.compile(r"\s*\[([^\[\]\s]+)\]\s*$")


@dataclass(frozen=True, slots=True)
class Name:
    """A path or an id, and where it begins in its text."""

    text: str
    at: int

    @property
    def is_id(self) -> bool:
        return "." not in self.text and "/" not in self.text


def names_in(text: str) -> tuple[Name, ...]:
    """Every path and id in a text, in order."""
    return tuple(Name(match.group(), match.start()) for match in _NAME.finditer(text))


def label_of(line: str) -> str:
    """What a line names that is one word in square brackets and nothing else, as over the hits of a search."""
    match = _LABEL.match(line)
    return match[1] if match else ""


def preferred(names: Sequence[Name]) -> str:
    """The first id, else the first path; empty without any."""
    return next((name.text for name in names if name.is_id), names[0].text if names else "")


def nearest(text: str, names: Sequence[Name], at: int, size: int) -> str:
    """The name for what stands at ``at``: in its own line (an id first, else the one before it, else after), else the
    nearest before; empty where none stands before."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + size)
    line = [name for name in names if start <= name.at < (end if end >= 0 else len(text))]
    before = [name for name in line if name.at <= at]
    if line:
        ids = [name for name in line if name.is_id]
        close = [name for name in before if name.is_id] if ids else before
        return (close[-1] if close else (ids or line)[0]).text
    earlier = [name for name in names if name.at < at]
    return earlier[-1].text if earlier else ""
