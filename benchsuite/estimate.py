"""What a run would send, before anything is sent: sizes of requests, what earlier runs tell, prices and costs.

[prices.toml]
currency = "USD"

[qwen8b]                  # a value of the model axis, or the id that is asked for
input = 0.2               # for a million tokens
output = 0.6
cached_input = 0.05       # optional: input tokens that the provider had cached
image_patch = 28          # optional: pixels along the edge of one image token (default 32)
image_tokens = 258        # optional, instead: tokens of any image
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchsuite.errors import ConfigError, DataError
from benchsuite.files import whole_lines
from benchsuite.models.spec import ModelSpec
from benchsuite.runs import OUTCOMES, read_info
from benchsuite.runs.folder import run_folders

PATCH = 32
"""Pixels along the edge of one image token."""
LOOKED_AT = 2000
"""Earlier answers of a model that its typical values are taken from, the newest runs first."""
_MILLION = 1_000_000
_LIMITS = ("max_tokens", "max_completion_tokens")
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Size:
    """One request. ``text`` is tokens, ``images`` width and height in pixels as sent. ``stored``: whether the answer
    cache has it; None where that is not known, since an image of it is not prepared."""

    text: int
    images: tuple[tuple[int, int], ...] = ()
    stored: bool | None = False

    def image_tokens(self, patch: int = PATCH) -> int:
        """One token for every ``patch`` x ``patch`` pixels, parts count whole."""
        return sum(math.ceil(width / patch) * math.ceil(height / patch) for width, height in self.images)


@dataclass(slots=True)
class Planned:
    """Cells and their distinct requests by key; those to a judge stand apart."""

    cells: int = 0
    requests: dict[str, Size] = field(default_factory=dict)

    @property
    def stored(self) -> int:
        return sum(size.stored is True for size in self.requests.values())

    @property
    def unknown(self) -> int:
        return sum(size.stored is None for size in self.requests.values())

    @property
    def to_send(self) -> list[Size]:
        """What the cache does not answer, as far as that is known."""
        return [size for size in self.requests.values() if not size.stored]


@dataclass(slots=True)
class Estimate:
    """What the cells would send: by experiment and arm, by model under test and by judge. ``causes`` counts the
    cells that cannot be composed by what is wrong; they are among the cells and have no request."""

    arms: dict[str, dict[str, Planned]] = field(default_factory=dict)
    models: dict[str, Planned] = field(default_factory=dict)
    judges: dict[str, Planned] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)
    open_verdicts: int = 0


class Price(BaseModel):
    """What a million tokens of one model cost, and how its provider counts images."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    input: _Amount
    output: _Amount
    cached_input: _Amount | None = None
    image_patch: Annotated[int, Field(ge=1)] | None = None
    image_tokens: Annotated[int, Field(ge=0)] | None = None

    def input_tokens(self, size: Size) -> int:
        """Tokens of a request by this provider's rule for images."""
        if self.image_tokens is not None:
            return size.text + self.image_tokens * len(size.images)
        return size.text + size.image_tokens(self.image_patch or PATCH)

    def cost(self, sizes: Iterable[Size], output_tokens: float, cached_share: float = 0.0) -> float:
        """Of these requests, each answered with ``output_tokens``; ``cached_share`` of the input at its own price."""
        cached = self.input if self.cached_input is None else self.cached_input
        each = cached_share * cached + (1 - cached_share) * self.input
        return sum(self.input_tokens(size) * each + output_tokens * self.output for size in sizes) / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """A price file: ``models`` by a value of the model axis or by the id that is asked for."""

    currency: str
    models: Mapping[str, Price]

    def of(self, spec: ModelSpec) -> Price | None:
        return self.models.get(spec.name) or self.models.get(spec.model)


def read_prices(file: Path) -> Prices:
    """Raises ConfigError naming file, model and field."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    currency = content.pop("currency", None)
    if not isinstance(currency, str) or not currency.strip():
        raise ConfigError(f"{file}: field 'currency': must be text, as in currency = \"USD\"")
    return Prices(currency.strip(), {name: _price(file, name, table) for name, table in content.items()})


def _price(file: Path, name: str, table: Any) -> Price:
    where = f"{file}: model {name!r}"
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: must be a table, [{name}]")
    try:
        price = Price.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        fields = ".".join(str(part) for part in first["loc"])
        problem = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        raise ConfigError(f"{where}: field {fields!r}: {problem}") from None
    if price.image_patch is not None and price.image_tokens is not None:
        raise ConfigError(f"{where}: field 'image_tokens': give either image_patch or image_tokens")
    return price


def output_limit(spec: ModelSpec) -> int | None:
    """The most tokens that a model is asked to answer with; None where its requests do not say."""
    limits = [spec.params[name] for name in _LIMITS if isinstance(spec.params.get(name), int)]
    return min(limits, default=None)


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs tell of a model: distinct ``answers`` looked at, the medians of their completion tokens and,
    of those that were sent alone, of their seconds, and which share of the input the provider had cached. None where
    no row says so."""

    answers: int
    output_tokens: float | None
    latency_s: float | None
    cached_share: float | None


def past_of(bench_dir: Path, specs: Mapping[str, ModelSpec]) -> tuple[dict[str, Past], list[str]]:
    """By value of the model axis, from the rows of earlier runs that asked the same model at the same endpoint.

    The second value names what could not be read.
    """
    seen: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in specs}
    problems: list[str] = []
    for _, run in reversed(run_folders(bench_dir / "runs")):
        if all(len(rows) >= LOOKED_AT for rows in seen.values()):
            break
        try:
            asked = read_info(run).get("models", {})
            same = {name for name, spec in specs.items() if _same(asked.get(name), spec)}
            for row in _rows(run / OUTCOMES) if same else ():
                name = row["arm.model"]
                if name in same and len(seen[name]) < LOOKED_AT and row["status"] != "error" and row["requests"]:
                    known = seen[name].get(row["requests"][0])
                    if known is None or known["run"]["cached"]:
                        seen[name][row["requests"][0]] = row
        except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            words = str(error) if isinstance(error, DataError) else f"{run.name}: {type(error).__name__}: {error}"
            problems.append(f"an earlier run tells nothing: {words}")
    return {name: _past(list(rows.values())) for name, rows in seen.items() if rows}, problems


def _same(asked: Any, spec: ModelSpec) -> bool:
    return isinstance(asked, dict) and (asked.get("model"), asked.get("family")) == (spec.model, spec.family)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    for _, line in whole_lines(file) if file.exists() else ():
        yield json.loads(line)


def _past(rows: list[Mapping[str, Any]]) -> Past:
    outputs = [row["usage.completion"] for row in rows if row["usage.completion"] is not None]
    alone = [row["run"]["latency_s"] for row in rows if not row["run"]["cached"] and row["n_calls"] == 1]
    shares = [(row["run"]["cached_tokens"], row["usage.prompt"]) for row in rows if row["n_calls"] == 1]
    told = [(cached, prompt) for cached, prompt in shares if cached is not None and prompt]
    return Past(
        answers=len(rows),
        output_tokens=median(outputs) if outputs else None,
        latency_s=median(alone) if alone else None,
        cached_share=min(1.0, sum(c for c, _ in told) / sum(p for _, p in told)) if told else None,
    )
