"""The open registry: named components on axes. Built-in modules and third-party plugins use the same calls.

A factory is called once per process, when a cell first needs it. If it takes a parameter called ``services``,
it gets the engine's :class:`Services`; its other parameters must have defaults, which are recorded.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from benchsuite.errors import ConfigError
from benchsuite.plan import DEFAULTS, LEADING_AXES, TRAILING_AXES, Value

if TYPE_CHECKING:
    import numpy as np

    from benchsuite.corpus.model import Evidence, Item, Query, Question
    from benchsuite.corpus.store import Source
    from benchsuite.delivery.spec import Delivery
    from benchsuite.models.client import Transport
    from benchsuite.scoring.answers import Score

Ranking = Sequence[tuple[str, float]]


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
        """Unit vectors of the served text encoder, shape (len(texts), d); cached by text digest."""


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
    """How a suite scores: ``score(question, answer, refusal phrase)``; ``version`` is "name/version"."""

    suite: str
    version: str
    score: Callable[[Question, str, str], Score]


@dataclass(frozen=True, slots=True)
class SuiteAxis:
    name: str
    values: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Component:
    """A registered factory. ``oracle`` components see gold."""

    name: str
    factory: Callable[..., Any]
    oracle: bool = False

    def build(self, services: Services) -> Any:
        parameters = inspect.signature(self.factory).parameters
        return self.factory(services=services) if "services" in parameters else self.factory()

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
    scorers: dict[str, Scorer] = field(default_factory=dict)
    retrievals: dict[str, Component] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    transports: dict[str, Callable[[], Transport]] = field(default_factory=dict)
    suite_axes: dict[str, SuiteAxis] = field(default_factory=dict)

    def corpus(self, suite: str, source: Callable[[str], Source], default: str, protocol: Path | None = None) -> None:
        """A suite: its name is also its marker. ``default`` is the corpus used when none is named."""
        _add(self.corpora, suite, CorpusLoader(suite, source, default, protocol), "corpus")

    def scorer(self, suite: str, version: str, score: Callable[[Question, str, str], Score]) -> None:
        """How the suite's answers become outcomes."""
        _add(self.scorers, suite, Scorer(suite, version, score), "scorer")

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

    def axis(self, name: str, values: Sequence[str], default: str) -> None:
        """A suite axis; it stands after ``state`` in ids."""
        if name in self.axis_order:
            raise ConfigError(f"axis {name!r} is registered already")
        self.suite_axes[name] = SuiteAxis(name, tuple(values), default)

    @property
    def axis_order(self) -> tuple[str, ...]:
        return (*LEADING_AXES, *self.suite_axes, *TRAILING_AXES)

    @property
    def defaults(self) -> dict[str, Value]:
        return {**DEFAULTS, **{axis.name: axis.default for axis in self.suite_axes.values()}}


def _add(table: dict[str, Any], name: str, value: Any, kind: str) -> None:
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
