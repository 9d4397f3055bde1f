"""The grammar of a gate: ``SUITE.METRIC[SLICE]:LIMIT[@CONDITIONS]``, with faults that point at the character.

``memlens.accuracy[type=knowledge_update]:-3pp@p<0.05,missing<2%,confirm`` fails when accuracy falls by three points or
more with a p below .05. The sign says which way is the loss; the unit, ``pp`` (points) or ``%`` (of the baseline's
mean), must be given: -3 could be either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from benchsuite.errors import ConfigError

OPTION = "--bench-compare-fail"
EVERY_SUITE = "*"
P = 0.05
MISSING = 0.02

ACCURACY = "accuracy"
"""The row's score, whatever it was scored by."""
RATES = ("refused", "errors", "unparsed")
AMOUNTS = ("prompt_tokens", "completion_tokens", "latency")
"""Metrics that are no share of anything: their limits are percentages."""
BUILT_IN = (ACCURACY, *RATES, *AMOUNTS)
"""Metrics that every suite has; the others are names under ``scores``."""
FIELDS = ("type", "split", "label", "answerable")
"""What a slice may name beside the axes; ``answerable`` is yes or no."""

_SUITE = re.compile(r"\*|\w[\w+-]*", re.ASCII)
_METRIC = re.compile(r"\w[\w.+-]*", re.ASCII)
_KEY = re.compile(r"\w+", re.ASCII)
_VALUE = re.compile(r"[^\],]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_UNIT = re.compile(r"pp|%")
_CONDITION = re.compile(r"(p<|missing<|confirm)")


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows whose ``key`` (an axis, or one of ``FIELDS``) is ``value``. ``at`` is the key's place in the gate's text."""

    key: str
    value: str
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class Gate:
    """A parsed gate. ``limit`` is a fraction without sign: of 1, or, where ``relative``, of the baseline's mean.

    ``sign`` (-1 or 1) is the direction of the loss. The gate fails at a loss of ``limit`` or more with an adjusted p
    below ``p``; it is not judged unless the share of cells without a value is below ``missing``. ``confirm``: only a
    loss that a second asking shows too fails.
    """

    text: str
    suite: str
    metric: str
    sign: int
    limit: float
    relative: bool
    slices: tuple[Slice, ...] = ()
    p: float = P
    missing: float = MISSING
    confirm: bool = False

    @property
    def unit(self) -> str:
        return "%" if self.relative else "pp"


@dataclass(slots=True)
class _Reader:
    """The text of a gate and how far it has been read."""

    text: str
    at: int = 0

    def take(self, pattern: re.Pattern[str], problem: str) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _fault(self.text, self.at, problem)
        self.at = match.end()
        return match[0]

    def skip(self, char: str) -> bool:
        """Whether ``char`` comes next; it is read."""
        found = self.text.startswith(char, self.at)
        self.at += found
        return found

    def need(self, char: str, problem: str) -> None:
        if not self.skip(char):
            raise _fault(self.text, self.at, problem)


def parse_gate(text: str) -> Gate:
    """Read one gate. Raises ConfigError, one line that names the character (from 1) where the text goes wrong."""
    read = _Reader(text)
    suite = read.take(_SUITE, "a suite is missing: write SUITE.METRIC:LIMIT, '*' for every suite")
    read.need(".", "a '.' and a metric are missing after the suite")
    metric = read.take(_METRIC, "a metric is missing, e.g. accuracy")
    slices = _slices(read) if read.skip("[") else ()
    read.need(":", "a ':' and a limit are missing, e.g. :-3pp")
    sign, limit, relative = _limit(read, metric)
    p, missing, confirm = _conditions(read) if read.skip("@") else (P, MISSING, False)
    if read.at < len(text):
        raise _fault(text, read.at, f"{text[read.at]!r} is not expected here")
    return Gate(text, suite, metric, sign, limit, relative, slices, p, missing, confirm)


def _slices(read: _Reader) -> tuple[Slice, ...]:
    found: list[Slice] = []
    while True:
        at = read.at
        key = read.take(_KEY, "a slice names an axis or a field: [type=knowledge_update]")
        if any(each.key == key for each in found):
            raise _fault(read.text, at, f"{key} stands twice")
        read.need("=", f"'=' and a value are missing after {key}")
        found.append(Slice(key, read.take(_VALUE, f"a value of {key} is missing"), at))
        if read.skip("]"):
            return tuple(found)
        read.need(",", "',' or ']' is missing")


def _limit(read: _Reader, metric: str) -> tuple[int, float, bool]:
    start = read.at
    if not (minus := read.skip("-")) and not read.skip("+"):
        raise _fault(read.text, start, "a sign is missing: '-' where a fall is the loss, '+' where a rise is")
    at = read.at
    number = float(read.take(_NUMBER, "a number is missing"))
    if read.at == len(read.text) or _UNIT.match(read.text, read.at) is None:
        raise _fault(read.text, at, "a unit is missing: pp or %")
    unit_at = read.at
    relative = read.take(_UNIT, "a unit is missing: pp or %") == "%"
    if metric in AMOUNTS and not relative:
        raise _fault(read.text, unit_at, f"{metric} is no share and has no points: use %")
    if not isfinite(number) or (number > 100 and (minus or not relative)):
        raise _fault(read.text, at, "a limit above 100 could never be reached")
    return -1 if minus else 1, number / 100, relative


def _conditions(read: _Reader) -> tuple[float, float, bool]:
    found: dict[str, float] = {}
    while True:
        at = read.at
        name = read.take(_CONDITION, "a condition is p<0.05, missing<2% or confirm").rstrip("<")
        if name in found:
            raise _fault(read.text, at, f"{name} stands twice")
        at = read.at
        found[name] = 1.0 if name == "confirm" else float(read.take(_NUMBER, "a number is missing"))
        if name == "p" and not 0 < found[name] < 1:
            raise _fault(read.text, at, "p must lie between 0 and 1")
        if name == "missing":
            if not 0 < found[name] <= 100:
                raise _fault(read.text, at, "a share must lie above 0% and not above 100%")
            found[name] /= 100
            read.need("%", "a unit is missing: missing<2%")
        if not read.skip(","):
            return found.get("p", P), found.get("missing", MISSING), "confirm" in found


def check(
    gates: Sequence[Gate],
    suites: Collection[str],
    metrics: Collection[str] | None = None,
    axes: Mapping[str, Collection[str]] | None = None,
) -> list[str]:
    """What is wrong with gates as far as it is known before a run; a line for each fault, none when all fit.

    ``metrics`` are names under ``scores``, ``axes`` the values that are planned by axis (and by field, where they are
    known; an empty collection: not known). None: not known, nothing is said of it.
    """
    problems: list[str] = []
    for gate in gates:
        if gate.suite != EVERY_SUITE and gate.suite not in suites:
            problems.append(str(_fault(gate.text, 0, f"no suite {gate.suite!r}; there are {listed(suites)}")))
        if metrics is not None and gate.metric not in (*BUILT_IN, *metrics):
            at = len(gate.suite) + 1
            problems.append(
                str(_fault(gate.text, at, f"no metric {gate.metric!r}; there are {listed((*BUILT_IN, *metrics))}"))
            )
        for each in gate.slices if axes is not None else ():
            if problem := slice_problem(each, axes or {}):
                problems.append(str(_fault(gate.text, each.at, problem)))
    return problems


def slice_problem(wanted: Slice, known: Mapping[str, Collection[str]]) -> str:
    """Why a slice selects nothing among what is known by axis or field; empty when it may select something."""
    if wanted.key not in known and wanted.key not in FIELDS:
        return f"no axis or field {wanted.key!r}; there are {listed(dict.fromkeys((*FIELDS, *known)))}"
    values = known.get(wanted.key, ())
    return (
        f"no {wanted.key} {wanted.value!r}; there are {listed(values)}" if values and wanted.value not in values else ""
    )


def listed(names: Collection[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


def _fault(text: str, at: int, problem: str) -> ConfigError:
    return ConfigError(f"{OPTION}: {text!r}: at character {at + 1}: {problem}")
