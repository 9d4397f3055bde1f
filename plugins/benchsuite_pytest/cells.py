"""From a declared experiment to cells, pytest params and marks; and the check of ``-m`` expressions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchsuite.corpus.model import Corpus, Outline
from benchsuite.corpus.script import Scale
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.spec import parse_delivery
from benchsuite.errors import ConfigError
from benchsuite.plan import (
    INTEGER_AXES,
    Arm,
    Cell,
    Value,
    make_arm,
    make_cell,
    parse_contrast,
    select_questions,
)
from benchsuite.registry import Registry
from benchsuite.runtime.states import NO_STATE, parse_state
from benchsuite_pytest.options import Settings

_SETTINGS = ("arms", "contrasts", "tables", "family", "primary", "core", "split")
ALL_LENGTHS = "all"
LABEL_KEYS = ("type", "split")


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A case function's declaration, read from ``@pytest.mark.experiment``."""

    nodeid: str
    suite: str
    axes: Mapping[str, tuple[Value, ...]]
    arms: tuple[Mapping[str, Value], ...] = ({},)
    contrasts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    family: str = ""
    primary: str = ""
    core: tuple[Mapping[str, Value], ...] = ()
    split: str = ""

    def facts(self) -> dict[str, object]:
        """What run.json says of it."""
        return {
            "suite": self.suite,
            "axes": {name: list(values) for name, values in self.axes.items()},
            "arms": [dict(arm) for arm in self.arms],
            "contrasts": list(self.contrasts),
            "tables": list(self.tables),
            "family": self.family,
            "primary": self.primary,
            **({"split": self.split} if self.split else {}),
        }


@dataclass(slots=True)
class Planner:
    """Expands experiments over the corpora of a session; the same cell is one object however often it is planned.

    ``models`` are those under test, ``helpers`` others that axes name. ``unsure`` names axes whose values are not
    known, since a corpus or a model could not be used: any will do.
    """

    registry: Registry
    settings: Settings
    corpora: Mapping[str, Corpus]
    models: Sequence[str]
    protocols: Mapping[str, Protocol]
    unsure: frozenset[str] = frozenset()
    helpers: Sequence[str] = ()
    cells: dict[str, Cell] = field(default_factory=dict)
    _selected: dict[tuple[str, str, str], list[Outline]] = field(default_factory=dict)

    def experiment(self, nodeid: str, suite: str, declared: Mapping[str, Any]) -> Experiment:
        """Raises ConfigError for an axis or value that does not exist."""
        if suite not in self.corpora:
            raise ConfigError(f"{nodeid}: no suite {suite!r} is registered")
        axes: dict[str, tuple[Value, ...]] = {
            name: tuple(values) for name, values in declared.items() if name not in _SETTINGS
        }
        arms = _arms(nodeid, declared.get("arms", ({},)), axes, self.settings.axes)
        for name, values in (("length", self.corpora[suite].lengths[:1]), ("model", tuple(self.models))):
            if not any(name in arm for arm in arms):
                axes.setdefault(name, values)
        if any(not self.applies(suite, name, values) for name, values in self.settings.axes.items()):
            arms = ()
        if self.settings.judge != "none":
            axes["judge"] = (self.settings.judge,)
        if self.settings.repeats > 1:
            axes["repeat"] = tuple(range(self.settings.repeats))
        for name, values in self.settings.axes.items():
            if arms:
                axes[name] = axis_values(name, values)
        if ALL_LENGTHS in axes.get("length", ()):
            axes["length"] = self.corpora[suite].lengths
        for name, given in [*axes.items(), *((name, (value,)) for arm in arms for name, value in arm.items())]:
            self.check_axis(name, given, suite)
        contrasts = tuple(declared.get("contrasts", ()))
        for text in contrasts:
            parse_contrast(text)
        return Experiment(
            nodeid=nodeid,
            suite=suite,
            axes=axes,
            arms=arms,
            contrasts=contrasts,
            tables=tuple(declared.get("tables", ())),
            family=declared.get("family", ""),
            primary=declared.get("primary", ""),
            core=tuple(declared.get("core", ())),
            split=declared.get("split", ""),
        )

    def applies(self, suite: str, name: str, values: Sequence[str]) -> bool:
        """Whether a suite's arms can have these values of an axis; what is known of no suite is a fault, not this."""
        if name not in self.registry.axis_order:
            return True
        stateless = name != "state" or set(values) == {NO_STATE}
        return name in self.registry.axes_of(suite) and (stateless or bool(self._scales(suite)))

    def left_out(self) -> list[str]:
        """Why suites have no cells at all: values of ``--bench-axis`` that their arms cannot have."""
        return [
            f"{suite} has no {'conversation states' if name == 'state' else f'axis {name!r}'}, so no cells with "
            f"--bench-axis {name}={','.join(values)}"
            for suite in self.corpora
            for name, values in self.settings.axes.items()
            if not self.applies(suite, name, values)
        ]

    def check_axis(self, name: str, values: Sequence[Value], suite: str | None = None) -> None:
        """Raises ConfigError when the axis or one of its values does not exist."""
        if name not in self.registry.axis_order:
            raise ConfigError(f"no axis {name!r}; axes: {', '.join(self.registry.axis_order)}")
        if suite is not None and name not in self.registry.axes_of(suite):
            raise ConfigError(f"{suite} has no axis {name!r}; axes: {', '.join(self.registry.axes_of(suite))}")
        known = self.known_values(name, suite)
        for value in values:
            if name == "delivery":
                delivery = parse_delivery(str(value), self.registry.deliveries)
                if suite is not None and suite in self.protocols:
                    self.protocols[suite].check(delivery)
            elif name == "state" and value != NO_STATE:
                parse_state(str(value))
                if suite is not None and not self._scales(suite):
                    raise ConfigError(f"{suite} has no conversation states, so no state {value!r}")
            elif known is not None and value not in known:
                raise ConfigError(f"{name} has no value {value!r}; known: {', '.join(map(str, known))}")

    def _scales(self, suite: str) -> Mapping[str, Scale]:
        """How deep the conversations of a suite go, by length; empty where it has none."""
        corpus = self.corpora[suite]
        outline = next((each for length in corpus.lengths for each in corpus.outline(length)), None)
        script = corpus.script(outline.history_id) if outline else None
        return script.scales if script else {}

    def known_values(self, name: str, suite: str | None = None) -> Sequence[Value] | None:
        """The values an axis (or ``type``, ``split``) can have; None where any value will do."""
        if name in self.unsure:
            return None
        corpora = [self.corpora[suite]] if suite else list(self.corpora.values())
        if name == "length":
            return _unique([*(length for corpus in corpora for length in corpus.lengths), ALL_LENGTHS])
        if name in LABEL_KEYS:
            outlines = (o for corpus in corpora for length in corpus.lengths for o in corpus.outline(length))
            return _unique(getattr(o, name) for o in outlines)
        if name == "retrieval":
            return tuple(self.registry.retrievals)
        if name == "delivery":
            return tuple(self.registry.deliveries)
        if name in ("model", "judge"):
            return (*self.models, *(("none", self.settings.judge) if name == "judge" else ()))
        if name in self.registry.suite_axes:
            axis = self.registry.suite_axes[name]
            return _unique([*axis.values, *self.models, *self.helpers]) if axis.models else axis.values
        return None if name in INTEGER_AXES else ("none",)

    def expand(self, experiment: Experiment) -> list[tuple[Cell, bool]]:
        """Every cell of an experiment, questions outermost, and whether it is in the experiment's core."""
        names = list(experiment.axes)
        arms: dict[str, dict[Arm, bool]] = {}  # by length; an arm that is declared twice is one
        for values, chosen in itertools.product(itertools.product(*experiment.axes.values()), experiment.arms):
            table = {**dict(zip(names, values, strict=True)), **chosen}
            arm = make_arm(table, self.registry.axes_of(experiment.suite), self.registry.defaults)
            core = any(all(arm[axis] == value for axis, value in wanted.items()) for wanted in experiment.core)
            arms.setdefault(str(arm["length"]), {})[arm] = core
            if arm["state"] != NO_STATE:
                parse_state(arm.text("state")).tokens(self._scales(experiment.suite)[arm.text("length")])
        cells: list[tuple[Cell, bool]] = []
        for length, of_length in arms.items():
            for outline in self._questions(experiment.suite, length, experiment.split):
                for arm, core in of_length.items():
                    cell = make_cell(experiment.suite, arm, outline)
                    known = self.cells.setdefault(cell.id, cell)
                    if known.outline.id != outline.id or known.arm != arm:
                        raise ConfigError(f"{experiment.nodeid}: two cells would have the id {cell.id}")
                    cells.append((known, core))
        return cells

    def _questions(self, suite: str, length: str, split: str) -> list[Outline]:
        """Those of a split (empty: all) that limit and shard leave: the same at every length, as their shortest
        history has it."""
        key = (suite, length, split)
        if key not in self._selected:
            corpus = self.corpora[suite]
            outlines = [o for o in corpus.outline(length) if split in ("", o.split)]
            if self.settings.limit is not None or self.settings.shard is not None:
                shortest = {o.id: o for each in reversed(corpus.lengths) for o in corpus.outline(each)}
                asked = [shortest[o.id] for o in outlines]
                chosen = {o.id for o in select_questions(asked, self.settings.limit, self.settings.shard)}
                outlines = [o for o in outlines if o.id in chosen]
            self._selected[key] = outlines
        return self._selected[key]


def _arms(
    nodeid: str, declared: Sequence[Mapping[str, Value]], axes: Collection[str], replaced: Collection[str]
) -> tuple[Mapping[str, Value], ...]:
    """The declared arms, each once, without the axes that ``--bench-axis`` replaces.

    Raises ConfigError for an axis that stands in arms and beside them.
    """
    arms: list[Mapping[str, Value]] = []
    for arm in declared:
        for name in arm:
            if name in axes:
                raise ConfigError(f"{nodeid}: axis {name!r} stands in arms and beside them")
        kept = {name: value for name, value in arm.items() if name not in replaced}
        if kept not in arms:
            arms.append(kept)
    return tuple(arms)


def axis_values(name: str, texts: Sequence[str]) -> tuple[Value, ...]:
    """The values of one ``--bench-axis``. Raises ConfigError where a whole number is due and something else came."""
    if not texts:
        raise ConfigError(f"--bench-axis {name}: no values")
    if name not in INTEGER_AXES:
        return tuple(texts)
    for text in texts:
        if not (text.isascii() and text.isdigit() and int(text) >= INTEGER_AXES[name]):
            raise ConfigError(f"{name} has no value {text!r}; it takes whole numbers of {INTEGER_AXES[name]} or more")
    return tuple(int(text) for text in texts)


class MarkMaker:
    """One ``cell`` mark per arm, type and split, shared by all cells that have them (3.0 against 3.4 KB a cell)."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, str], pytest.MarkDecorator] = {}

    def mark(self, cell: Cell) -> pytest.MarkDecorator:
        key = (cell.arm.key, cell.outline.type, cell.outline.split)
        if key not in self._made:
            labels = {name: getattr(cell.outline, name) for name in LABEL_KEYS}
            self._made[key] = pytest.mark.cell(**cell.arm.as_dict(), **labels)
        return self._made[key]


_CELL_CALL = re.compile(r"\bcell\(([^()]*)\)")
_KEYWORD = re.compile(r"(\w+)\s*=\s*(.+)", re.DOTALL)


def check_mark_expression(expression: str, planner: Planner) -> list[str]:
    """Problems of the ``cell(...)`` calls in a ``-m`` expression: unknown axes or values, unquoted values."""
    problems: list[str] = []
    known_names = (*planner.registry.axis_order, *LABEL_KEYS)
    for call in _CELL_CALL.finditer(expression):
        for pair in filter(None, (part.strip() for part in call[1].split(","))):
            match = _KEYWORD.fullmatch(pair)
            name, value = (match[1], match[2].strip()) if match else ("", "")
            if not match:
                problems.append(f"-m: cell({pair}): write cell(axis='value')")
            elif name not in known_names:
                problems.append(f"-m: cell() has no axis {name!r}; axes: {', '.join(known_names)}")
            elif name in INTEGER_AXES:
                if not value.isdigit():
                    problems.append(f"-m: cell({name}={value}): {name} is a whole number, without quotes")
            elif len(value) < 2 or value[0] not in "'\"" or value[-1] != value[0]:
                problems.append(f"-m: quote the value: cell({name}='{value}')")
            else:
                problems += _value_problem(name, value[1:-1], planner)
    return problems


def _value_problem(name: str, value: str, planner: Planner) -> list[str]:
    try:
        if name in LABEL_KEYS:
            known = planner.known_values(name)
            if known is not None and value not in known:
                raise ConfigError(f"{name} has no value {value!r}; known: {', '.join(map(str, known))}")
        else:
            planner.check_axis(name, [value])
    except ConfigError as error:
        return [f"-m: {error}"]
    return []


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
