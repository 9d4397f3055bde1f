"""The open registry: named components on axes. Built-in modules and third-party plugins use the same calls.

A factory is called once per process, when a cell first needs it. If it takes a parameter called ``services``,
it gets the engine's :class:`Services`; one named like a suite axis gets the arm's value, and there is one
instance per value. Its other parameters must have defaults, which are recorded.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from benchsuite.errors import ConfigError
from benchsuite.plan import DEFAULTS, LEADING_AXES, TRAILING_AXES, Value

if TYPE_CHECKING:
    import numpy as np

    from benchsuite.corpus.model import Evidence, Image, Item, Query, Question
    from benchsuite.corpus.store import Source
    from benchsuite.delivery.spec import Delivery
    from benchsuite.models.client import Transport
    from benchsuite.runtime.parsers import ToolParser
    from benchsuite.scoring.answers import Score

Ranking = Sequence[tuple[str, float]]
STRICT = "strict"
SCORING_MODES = (STRICT, "upstream")


class Retriever(Protocol):
    """Ranks a history for a query. ``rank`` may be a coroutine; a plain function runs in a thread."""

    version: str

    def rank(self, query: Query, items: Sequence[Item], k: int) -> Ranking | Awaitable[Ranking]:
        """At most k (item id, score) pairs; higher scores are better; no gold is in sight."""


class Oracle(Protocol):
    """A retriever that may see gold; only ``registry.oracle`` makes one."""

    version: str

    def rank(self, query: Query, items: Sequence[Item], k: int, evidence: Evidence) -> Ranking | Awaitable[Ranking]: ...


class Services(Protocol):
    """What a component may use of the engine."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Unit vectors of the run's text encoder, shape (len(texts), d); cached by text digest."""

    async def image_scores(self, text: str, images: Sequence[Image], index: str) -> list[float]:
        """Cosine of a text with each image under the run's image encoder, in image order.

        ``index`` is ``whole`` (one vector an image) or ``region`` (the best of whole and tiles, MaxSim).
        """


@dataclass(frozen=True, slots=True)
class CorpusLoader:
    """How a suite's corpus is found: ``source(spec)`` takes a bundled name or a path, either with ``#split``.

    ``protocol`` is the TOML file with the suite's wording; None for a suite whose wording is bundled.
    """

    suite: str
    source: Callable[[str], Source]
    default: str
    protocol: Path | None = None


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite scores: ``score(question, answer, refusal phrase)``; ``version`` is "name/version".

    ``mode`` is a value of ``--bench-scoring``: ``strict``, or ``upstream`` for the public harness' own rules.
    A ``score`` with a parameter ``output_tokens`` also gets the size of the reply, where the endpoint tells it; one
    with ``aliases`` gets the names of the history's artefacts (id or path to artefact id).
    ``labels`` are what it calls a question, beside the corpus' own labels.
    """

    suite: str
    version: str
    score: Callable[..., Score]
    mode: str = STRICT
    takes_tokens: bool = False
    labels: Callable[[Question], Sequence[str]] = lambda question: ()
    takes_aliases: bool = False


class TableLike(Protocol):
    """What the reports make of rows; they stand downstream and are not known here."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SuiteAxis:
    """``models``: any model that can be asked is a value too. ``suites`` are those that have the axis; empty: all."""

    name: str
    values: tuple[str, ...]
    default: str
    models: bool = False
    suites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Component:
    """A registered factory. ``oracle`` components see gold."""

    name: str
    factory: Callable[..., Any]
    oracle: bool = False

    def uses(self, axes: Iterable[str]) -> tuple[str, ...]:
        """Those of ``axes`` that the factory takes as parameters."""
        parameters = inspect.signature(self.factory).parameters
        return tuple(axis for axis in axes if axis in parameters)

    def build(self, services: Services, values: Mapping[str, Value]) -> Any:
        """An instance for the ``values`` of the axes that it uses."""
        if "services" in inspect.signature(self.factory).parameters:
            return self.factory(services=services, **values)
        return self.factory(**values)

    def parameters(self) -> dict[str, Any]:
        """The recorded defaults, for run.json."""
        return {
            name: p.default if isinstance(p.default, str | int | float | bool) else repr(p.default)
            for name, p in inspect.signature(self.factory).parameters.items()
            if p.default is not inspect.Parameter.empty
        }


@dataclass(slots=True)
class Registry:
    corpora: dict[str, CorpusLoader] = field(default_factory=dict)
    scorers: dict[tuple[str, str], Scorer] = field(default_factory=dict)  # by suite and mode
    retrievals: dict[str, Component] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    transports: dict[str, Callable[[], Transport]] = field(default_factory=dict)
    suite_axes: dict[str, SuiteAxis] = field(default_factory=dict)
    tables: dict[str, TableLike] = field(default_factory=dict)
    tool_parsers: dict[str, Callable[[], ToolParser]] = field(default_factory=dict)

    def corpus(self, suite: str, source: Callable[[str], Source], default: str, protocol: Path | None = None) -> None:
        """A suite: its name is also its marker. ``default`` is the corpus used when none is named."""
        _add(self.corpora, suite, CorpusLoader(suite, source, default, protocol), "corpus")

    def scorer(
        self,
        suite: str,
        version: str,
        score: Callable[..., Score],
        mode: str = STRICT,
        labels: Callable[[Question], Sequence[str]] = lambda question: (),
    ) -> None:
        """How the suite's answers become outcomes in one mode of ``--bench-scoring``."""
        if mode not in SCORING_MODES:
            raise ConfigError(f"scorer {version!r}: no mode {mode!r}; modes: {', '.join(SCORING_MODES)}")
        parameters = inspect.signature(score).parameters
        takes_tokens, takes_aliases = "output_tokens" in parameters, "aliases" in parameters
        scorer = Scorer(suite, version, score, mode, takes_tokens, labels, takes_aliases)
        _add(self.scorers, (suite, mode), scorer, "scorer")

    def retriever(self, name: str, factory: Callable[..., Any]) -> None:
        """A value of the retrieval axis: ``factory()`` gives a :class:`Retriever`."""
        _add(self.retrievals, name, Component(name, factory), "retrieval")

    def oracle(self, name: str, factory: Callable[..., Any]) -> None:
        """A value of the retrieval axis that also gets Evidence."""
        _add(self.retrievals, name, Component(name, factory, oracle=True), "retrieval")

    def delivery(self, name: str, delivery: Delivery) -> None:
        """A preset of the delivery axis."""
        _add(self.deliveries, name, delivery, "delivery")

    def transport(self, name: str, factory: Callable[[], Transport]) -> None:
        """A model that is answered in process: a scripted responder with the name ``name``."""
        _add(self.transports, name, factory, "model")

    def tool_parser(self, name: str, factory: Callable[[], ToolParser]) -> None:
        """How tool calls are read from a model's replies; entries of ``bench-models.toml`` name it."""
        _add(self.tool_parsers, name, factory, "tool parser")

    def axis(
        self, name: str, values: Sequence[str], default: str, models: bool = False, suites: Sequence[str] = ()
    ) -> None:
        """A suite axis; it stands after ``state`` in ids. ``models``: it takes whatever ``--bench-model`` takes.
        ``suites`` are those whose arms have it (default: all)."""
        if name in self.axis_order:
            raise ConfigError(f"axis {name!r} is registered already")
        self.suite_axes[name] = SuiteAxis(name, tuple(values), default, models, tuple(suites))

    def table(self, spec: TableLike) -> None:
        """A table of one's own, a ``benchsuite_reports.table.TableSpec``; experiments name it by its id."""
        _add(self.tables, spec.id, spec, "table")

    @property
    def axis_order(self) -> tuple[str, ...]:
        return (*LEADING_AXES, *self.suite_axes, *TRAILING_AXES)

    def axes_of(self, suite: str) -> tuple[str, ...]:
        """The axes that the arms of a suite have, in id order."""
        own = [name for name, axis in self.suite_axes.items() if not axis.suites or suite in axis.suites]
        return (*LEADING_AXES, *own, *TRAILING_AXES)

    @property
    def defaults(self) -> dict[str, Value]:
        return {**DEFAULTS, **{axis.name: axis.default for axis in self.suite_axes.values()}}


def _add(table: dict[Any, Any], name: Any, value: Any, kind: str) -> None:
    if name in table:
        raise ConfigError(f"{kind} {name!r} is registered already")
    table[name] = value


def discover(package: ModuleType, registry: Registry) -> None:
    """Import every module of ``package`` that defines ``register(registry)`` and call it."""
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        register: Callable[[Registry], None] | None = getattr(module, "register", None)
        if register is not None:
            register(registry)


def component_parameters(registry: Registry) -> Mapping[str, dict[str, Any]]:
    """The recorded parameters of every retrieval, for run.json."""
    return {name: component.parameters() for name, component in registry.retrievals.items()}
