"""What is planned: axes, arms, cells, contrasts, and the ids they are known by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.errors import ConfigError

if TYPE_CHECKING:
    from benchsuite.corpus.model import Outline

Value = str | int

# Axes in id order; suite axes stand after `state`.
LEADING_AXES = ("length", "state")
TRAILING_AXES = ("method", "retrieval", "k", "delivery", "model", "judge", "repeat")
DEFAULTS: Mapping[str, Value] = {
    "length": "none",
    "state": "none",
    "method": "none",
    "retrieval": "none",
    "k": 10,
    "judge": "none",
    "repeat": 0,
}
INTEGER_AXES = {"k": 1, "repeat": 0}  # axis: smallest value
CONTEXT_AXES = ("state", "summary", "summariser", "retention")
"""What decides, beside history and length, how a request at a conversation state begins."""
KEY_PREFIX = {"k": "k", "repeat": "r", "judge": "judge."}
_UNSAFE = re.compile(r"[^\w.+-]", re.ASCII)


def safe_id(text: str) -> str:
    """`text` in the characters that ids may have; if any had to go, 4 hex of the original's sha256 follow."""
    cleaned = _UNSAFE.sub("_", text)
    if cleaned == text:
        return text
    return f"{cleaned}_{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


@dataclass(frozen=True, slots=True)
class Arm:
    """One value for every axis, in id order."""

    values: tuple[tuple[str, Value], ...]
    key: str

    def __getitem__(self, axis: str) -> Value:
        for name, value in self.values:
            if name == axis:
                return value
        raise KeyError(axis)

    def text(self, axis: str) -> str:
        return str(self[axis])

    def as_dict(self) -> dict[str, Value]:
        return dict(self.values)


@dataclass(frozen=True, slots=True)
class Cell:
    """One question under one arm. ``group`` is the prefix group: cells that share a history and a length, and at a
    conversation state all that its context depends on."""

    id: str
    suite: str
    arm: Arm
    outline: Outline
    group: str

    @property
    def bracket(self) -> str:
        """The part of the id that stands in pytest's brackets."""
        return self.id.partition(":")[2]


def make_arm(values: Mapping[str, Value], axis_order: Sequence[str], defaults: Mapping[str, Value]) -> Arm:
    """Build an arm from its values; every axis of ``axis_order`` gets a value.

    Raises ConfigError when an axis without default has no value, or when both method and retrieval are set.
    """
    unknown = set(values) - set(axis_order)
    if unknown:
        raise ConfigError(f"no axis {sorted(unknown)[0]!r}; axes: {', '.join(axis_order)}")
    full: list[tuple[str, Value]] = []
    for axis in axis_order:
        if axis not in values and axis not in defaults:
            raise ConfigError(f"axis {axis!r} has no value and no default")
        full.append((axis, values.get(axis, defaults.get(axis, "none"))))
    table = dict(full)
    if table["method"] != "none" and table["retrieval"] != "none":
        raise ConfigError(f"method {table['method']!r} and retrieval {table['retrieval']!r} are both set; set one")
    shown = {"length", "delivery", "model", "retrieval" if table["method"] == "none" else "method"}
    parts = [
        KEY_PREFIX.get(axis, "") + safe_id(str(value))
        for axis, value in full
        if axis in shown or (axis in defaults and value != defaults[axis] and axis not in ("method", "retrieval"))
    ]
    return Arm(tuple(full), "-".join(parts))


def make_cell(suite: str, arm: Arm, outline: Outline) -> Cell:
    group = f"{suite}/{arm['length']}/{outline.history_id}"
    if arm["state"] != DEFAULTS["state"]:
        group = "/".join([group, *(str(value) for axis, value in arm.values if axis in CONTEXT_AXES)])
    return Cell(f"{suite}:{arm.key}-{safe_id(outline.id)}", suite, arm, outline, group)


@dataclass(frozen=True, slots=True)
class Contrast:
    """`axis: a -> b [@ axis=v,...]`: b minus a at every value of the other axes unless fixed by ``@``.

    A declared set of variables is written `(x+y): a/c -> b/d`.
    """

    axes: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    fixed: tuple[tuple[str, str], ...] = ()


_CONTRAST = re.compile(r"^\s*(\([^)]+\)|[\w]+)\s*:\s*(.+?)\s*->\s*(.+?)\s*(?:@\s*(.+))?$")


def parse_contrast(text: str) -> Contrast:
    """Raises ConfigError that shows the text and the form it should have."""
    match = _CONTRAST.match(text)
    form = "write 'axis: a -> b' or 'axis: a -> b @ axis=value'"
    if not match:
        raise ConfigError(f"contrast {text!r}: {form}")
    names, before, after, fixed = match.groups()
    axes = tuple(part.strip() for part in names.strip("()").split("+"))
    first = tuple(part.strip() for part in before.split("/")) if len(axes) > 1 else (before.strip(),)
    second = tuple(part.strip() for part in after.split("/")) if len(axes) > 1 else (after.strip(),)
    if not len(axes) == len(first) == len(second):
        raise ConfigError(f"contrast {text!r}: {len(axes)} axes need {len(axes)} values on both sides")
    pairs: list[tuple[str, str]] = []
    for pair in (fixed or "").split(",") if fixed else ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"contrast {text!r}: {form}")
        pairs.append((name.strip(), value.strip()))
    return Contrast(axes, first, second, tuple(pairs))


def select_questions(outlines: Iterable[Outline], limit: int | None, shard: tuple[int, int] | None) -> list[Outline]:
    """Cut by question, all arms kept: the first ``limit`` by content hash, then shard ``I`` of ``N`` (1-based).

    A shard keeps whole prefix groups (questions of one history) together. Corpus order is kept, and decides
    between questions of equal content: ids never do.
    """
    chosen = list(outlines)
    if limit is not None:
        keep = {o.id for o in sorted(chosen, key=lambda o: o.order)[:limit]}
        chosen = [o for o in chosen if o.id in keep]
    if shard is not None:
        index, count = shard
        chosen = [o for o in chosen if int(o.history_id[:12], 16) % count == index - 1]
    return chosen
