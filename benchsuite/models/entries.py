"""``bench-models.toml``: one table per model, validated; anything unknown is refused by name.

[qwen-lab]
base_url = "https://lab.example/v1"     # or launch = "vllm"
model = "Qwen/Qwen3-VL-8B"
key_env = "LAB_KEY"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchsuite.errors import ConfigError
from benchsuite.models.embedded import FORCED_MODEL, REFUSING_MODEL
from benchsuite.models.spec import DEFAULT_PARAMS, ModelSpec, normalise_url
from benchsuite.plan import safe_id

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1)]
_NotInBody = ("model", "messages", "tools", "stream", "n")


class ModelEntry(BaseModel):
    """One table of the file. ``omit`` takes standard parameters out of the body for models that refuse them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())

    model: Annotated[str, Field(min_length=1)]
    base_url: str = ""
    launch: Literal["", "vllm"] = ""
    key_env: Annotated[str, Field(pattern=r"^([A-Za-z_]\w*)?$")] = ""
    concurrency: _Count | None = None
    timeout_s: _Seconds = 300.0
    tries: _Count = 5
    retry_after_cap_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 60.0
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    max_tokens: _Count = 1024
    omit: list[Literal["temperature", "max_tokens"]] = []
    extra_body: dict[str, Any] = {}
    context_window: _Count | None = None
    tool_parser: Annotated[str, Field(min_length=1)] = "openai"


def read_entries(file: Path) -> Mapping[str, Any]:
    """The tables of the file as they stand. Raises ConfigError when it is no TOML."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name}: not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file.name}: cannot be read: {error.strerror}") from None


def entry_spec(file: Path, name: str, table: Any, budget: int) -> ModelSpec:
    """The spec of one entry; ``budget`` is its concurrency where it names none. Raises ConfigError."""
    where = f"{file.name}: entry {name!r}"
    if name in (REFUSING_MODEL, FORCED_MODEL):
        raise ConfigError(f"{where}: the name is taken by the embedded reader")
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: must be a table, [{name}]")
    try:
        entry = ModelEntry.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        fields = ".".join(str(part) for part in first["loc"])
        problem = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        raise ConfigError(f"{where}: field {fields!r}: {problem}") from None
    if bool(entry.base_url) == bool(entry.launch):
        raise ConfigError(f"{where}: field 'base_url': give either base_url or launch")
    try:
        base = normalise_url(entry.base_url) if entry.base_url else ""
    except ConfigError as error:
        raise ConfigError(f"{where}: field 'base_url': {error}") from None
    return ModelSpec(
        name=safe_id(name),
        model=entry.model,
        base_url=base,
        family=base or f"{entry.launch}/{entry.model}",
        key_env=entry.key_env,
        launch=entry.launch,
        concurrency=budget if entry.concurrency is None else entry.concurrency,
        timeout_s=entry.timeout_s,
        tries=entry.tries,
        retry_after_cap_s=entry.retry_after_cap_s,
        params=_params(where, entry),
        context_window=entry.context_window,
        tool_parser=entry.tool_parser,
    )


def _params(where: str, entry: ModelEntry) -> dict[str, Any]:
    for name in entry.extra_body:
        if name in _NotInBody:
            raise ConfigError(f"{where}: field 'extra_body.{name}': is set by the suite")
    try:
        json.dumps(entry.extra_body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: field 'extra_body': not JSON: {error}") from None
    temperature = int(entry.temperature) if entry.temperature.is_integer() else entry.temperature
    standard = {**DEFAULT_PARAMS, "temperature": temperature, "max_tokens": entry.max_tokens}
    return {k: v for k, v in standard.items() if k not in entry.omit} | entry.extra_body
