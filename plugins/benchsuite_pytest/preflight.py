"""What is checked before a session starts, in the controller: every fault that needs no model call to be known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import benchsuite.corpus
import benchsuite.delivery
import benchsuite.retrieval
import benchsuite.runtime
import benchsuite.scoring
from benchsuite.corpus.model import Corpus
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.delivery.protocol import Protocol, bundled_protocol, load_protocol
from benchsuite.errors import BenchError, ConfigError
from benchsuite.models.encoders.spec import EncoderSpec, parse_encoder
from benchsuite.models.spec import ModelSpec, parse_models, shown
from benchsuite.registry import STRICT, Registry, Scorer, discover
from benchsuite.runtime.parsers import check_parser
from benchsuite_pytest.cells import LABEL_KEYS, Planner, axis_values, check_mark_expression
from benchsuite_pytest.options import CHANNELS, Settings

MODELS_FILE = "bench-models.toml"


class PreflightError(BenchError):
    """Everything that is wrong, one line a cause."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(self.problems))


@dataclass(frozen=True, slots=True)
class Models:
    """Specs by label, the labels under test, the judge's label ('none' without one), and the label of each value that
    names a model."""

    specs: Mapping[str, ModelSpec] = field(default_factory=dict)
    tested: tuple[str, ...] = ()
    judge: str = "none"
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What every process of a session works with. ``models`` maps labels to specs, the judge's included;
    ``tested`` are the labels on the model axis."""

    settings: Settings
    registry: Registry
    models: Mapping[str, ModelSpec]
    tested: tuple[str, ...]
    corpora: Mapping[str, Corpus]
    folders: Mapping[str, Path]
    protocols: Mapping[str, Protocol]
    encoders: Mapping[str, EncoderSpec]
    planner: Planner


def build_registry() -> Registry:
    """The built-in components, found by module."""
    registry = Registry()
    rooms = (benchsuite.corpus, benchsuite.retrieval, benchsuite.delivery, benchsuite.runtime, benchsuite.scoring)
    for package in rooms:
        discover(package, registry)
    return registry


def prepare_controller(settings: Settings, registry: Registry, suites: Sequence[str], mark_expression: str) -> Prepared:
    """Check everything and index the corpora of ``suites`` that are new.

    Raises PreflightError with every cause found.
    """
    problems = list(settings.problems)

    @contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except BenchError as error:
            problems.append(str(error))

    for suite in settings.corpora:
        if suite not in registry.corpora:
            problems.append(f"--bench-corpus: no suite {suite!r}; suites: {', '.join(registry.corpora)}")
    folders: dict[str, Path] = {}
    for suite in suites:
        with noted():
            session_scorer(registry, suite, settings.scoring)
        with noted():
            loader = registry.corpora[suite]
            source = loader.source(settings.corpora.get(suite, loader.default))
            folders[suite] = index_corpus(source, settings.folder / "cache")
    unsure = set() if len(folders) == len(suites) else {"length", *LABEL_KEYS}
    models = Models()
    for name in (*settings.models, settings.judge):
        with noted():  # each by itself: one line for each that cannot be used
            alone = replace(settings, models=(name,) if name != "none" else (), judge="none", trunk="none", axes={})
            session_models(alone, registry)
    with noted():
        models = session_models(settings, registry)
    if not models.specs:
        unsure |= {"model", "judge", *(name for name, axis in registry.suite_axes.items() if axis.models)}
    protocols: dict[str, Protocol] = {}
    with noted():
        protocols = session_protocols(settings, registry)
    if settings.tokenizer is not None and not (settings.tokenizer / "tokenizer.json").is_file():
        problems.append(f"--bench-tokenizer: {settings.tokenizer}: no tokenizer.json in this folder")
    encoders: dict[str, EncoderSpec] = {}
    for channel in CHANNELS:
        with noted():
            encoders[channel] = session_encoder(settings, channel)
    corpora = {suite: open_corpus(folder) for suite, folder in folders.items()}
    settings = _labelled(settings, models, registry)
    planning = replace(settings, judge=models.judge)
    planner = Planner(registry, planning, corpora, models.tested, protocols, frozenset(unsure), tuple(models.specs))
    for axis, texts in settings.axes.items():
        with noted():
            planner.check_axis(axis, axis_values(axis, texts))
    problems += check_mark_expression(mark_expression, planner)
    if problems:
        raise PreflightError(problems)
    return Prepared(settings, registry, models.specs, models.tested, corpora, folders, protocols, encoders, planner)


def prepare(settings: Settings, registry: Registry, folders: Mapping[str, Path]) -> Prepared:
    """Open what the controller has checked and indexed. A worker needs nothing else."""
    models = session_models(settings, registry)
    settings = _labelled(settings, models, registry)
    corpora = {suite: open_corpus(folder) for suite, folder in folders.items()}
    protocols = session_protocols(settings, registry)
    planning = replace(settings, judge=models.judge)
    planner = Planner(registry, planning, corpora, models.tested, protocols, helpers=tuple(models.specs))
    encoders = {channel: session_encoder(settings, channel) for channel in CHANNELS}
    return Prepared(settings, registry, models.specs, models.tested, corpora, folders, protocols, encoders, planner)


def _labelled(settings: Settings, models: Models, registry: Registry) -> Settings:
    """The settings with the labels of their models where they may stand on an axis."""
    taken = {name for name, axis in registry.suite_axes.items() if axis.models}
    axes = {
        name: tuple(models.labels.get(value, value) for value in values) if name in taken else values
        for name, values in settings.axes.items()
    }
    return replace(settings, axes=axes, trunk=models.labels.get(settings.trunk, settings.trunk))


def helper_values(settings: Settings, registry: Registry) -> tuple[str, ...]:
    """What names models that are asked for something else than answers: they write trunks and summaries."""
    axes = (name for name, axis in registry.suite_axes.items() if axis.models)
    named = [value for name in axes for value in settings.axes.get(name, ())]
    return tuple(dict.fromkeys([*named, *([settings.trunk] if settings.trunk != "none" else [])]))


def session_scorer(registry: Registry, suite: str, mode: str) -> Scorer:
    """The suite's scorer in a mode of ``--bench-scoring``. Raises ConfigError when it has none."""
    scorer = registry.scorers.get((suite, mode))
    if scorer is None:
        more = "" if mode == STRICT else f", mode={mode!r}"
        raise ConfigError(f"suite {suite!r} has no scorer: registry.scorer({suite!r}, version, score{more})")
    return scorer


def session_encoder(settings: Settings, channel: str) -> EncoderSpec:
    """The encoder of a retrieval channel. Raises ConfigError for one that cannot be used."""
    return parse_encoder(channel, settings.encoders.get(channel, ""), settings.folder / "cache")


def session_models(settings: Settings, registry: Registry) -> Models:
    """The models of a session. Raises ConfigError for one that cannot be used."""
    judge = [] if settings.judge == "none" else [settings.judge]
    by_value = _specs([*settings.models, *judge], settings, registry)
    labels = {spec.name: spec for spec in by_value.values()}
    others = [value for value in helper_values(settings, registry) if value not in (*by_value, *labels)]
    for value, spec in _specs(others, settings, registry).items():
        if spec.name in labels:
            raise ConfigError(f"model {shown(value)!r} has the label {spec.name!r} of another model")
        by_value[value] = labels[spec.name] = spec
    for spec in labels.values():
        check_parser(spec.tool_parser, registry)
    return Models(
        specs=labels,
        tested=tuple(by_value[name].name for name in dict.fromkeys(settings.models)),
        judge=by_value[settings.judge].name if judge else "none",
        labels={value: spec.name for value, spec in by_value.items()},
    )


def _specs(values: Sequence[str], settings: Settings, registry: Registry) -> dict[str, ModelSpec]:
    """Specs by what names them."""
    wanted = list(dict.fromkeys(values))
    served = [name for name in wanted if name not in registry.transports]
    specs = parse_models(
        served,
        settings.root / MODELS_FILE,
        timeout_s=settings.timeout_s,
        retries=None if settings.retries is None else settings.retries - 1,
        concurrency=settings.concurrency,
        replaying=settings.replay,
    )
    return dict(zip(served, specs, strict=True)) | {
        name: ModelSpec(name=name, model=name, base_url="", family=f"inprocess/{name}")
        for name in wanted
        if name in registry.transports
    }


def session_protocols(settings: Settings, registry: Registry) -> dict[str, Protocol]:
    """The wording of every suite; a file given by the user is that of the suite it names.

    Raises ConfigError for a file that cannot be used.
    """
    given = load_protocol(settings.protocol) if settings.protocol else None
    if given is not None and given.name not in registry.corpora:
        raise ConfigError(f"{settings.protocol}: name: no suite {given.name!r}; suites: {', '.join(registry.corpora)}")
    protocols: dict[str, Protocol] = {}
    for suite, loader in registry.corpora.items():
        if given is not None and given.name == suite:
            protocols[suite] = given
        else:
            protocols[suite] = load_protocol(loader.protocol) if loader.protocol else bundled_protocol(suite)
    return protocols
