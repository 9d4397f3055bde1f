"""Which model a run asks: ``--bench-model`` values and ``bench-models.toml`` entries become ModelSpecs.

A spec holds the *name* of the environment variable with the key, never the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from benchsuite.errors import ConfigError
from benchsuite.models.embedded import EMBEDDED_VERSION, FORCED_MODEL, REFUSING_MODEL
from benchsuite.plan import safe_id

KEY_ENV = "BENCH_API_KEY"
TOTAL_CONCURRENCY = 64
DEFAULT_PARAMS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 1024}
_EMBEDDED = (REFUSING_MODEL, FORCED_MODEL)
_VLLM = "vllm:"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One answering model or judge behind an OpenAI-compatible endpoint.

    ``name`` is the label on the model axis, ``model`` the id that is sent. ``base_url`` is empty for a server
    that the run launches itself (``launch`` is then ``embedded`` or ``vllm``). ``family`` is what the request
    key knows of the endpoint; specs with one family share a server and its ``concurrency`` (requests in
    flight). Times are seconds; ``tries`` counts the first one. ``context_window`` is tokens, where known.
    ``tool_parser`` names how tool calls are read from its replies.
    """

    name: str
    model: str
    base_url: str
    family: str
    key_env: str = ""
    launch: str = ""
    concurrency: int = TOTAL_CONCURRENCY
    timeout_s: float = 300.0
    tries: int = 5
    retry_after_cap_s: float = 60.0
    params: Mapping[str, Any] = field(default_factory=lambda: dict(DEFAULT_PARAMS), hash=False)
    context_window: int | None = None
    tool_parser: str = "openai"

    @property
    def endpoint(self) -> str:
        """What error messages call it."""
        return f"{self.name} ({self.family})"

    def key(self, environ: Mapping[str, str]) -> str:
        """The API key, empty for none."""
        return environ.get(self.key_env, "").strip() if self.key_env else ""


def embedded_spec(model: str = REFUSING_MODEL) -> ModelSpec:
    """The embedded reader (``embedded`` or ``embedded-forced``); both are served by one launched process."""
    return ModelSpec(
        name=model,
        model=model,
        base_url="",
        family=f"embedded/{EMBEDDED_VERSION}",
        launch="embedded",
        concurrency=os.cpu_count() or 1,
    )


def vllm_spec(model: str) -> ModelSpec:
    """A model that the run serves by ``vllm serve``."""
    return ModelSpec(name=safe_id(model), model=model, base_url="", family=f"vllm/{model}", launch="vllm")


def endpoint_limits(specs: Sequence[ModelSpec]) -> dict[str, int]:
    """Requests in flight allowed per family: the smallest limit that one of its specs names."""
    limits: dict[str, int] = {}
    for spec in specs:
        limits[spec.family] = min(spec.concurrency, limits.get(spec.family, spec.concurrency))
    return limits


def parse_models(
    values: Sequence[str],
    toml: Path | None = None,
    *,
    timeout_s: float | None = None,
    retries: int | None = None,
    concurrency: int | None = None,
    replaying: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> list[ModelSpec]:
    """Specs for ``--bench-model`` values, in their order.

    A value is ``embedded``, ``embedded-forced``, ``vllm:<hf id>``, ``URL#model`` or the name of an entry of
    ``toml`` (the path of a bench-models.toml that need not exist). ``timeout_s`` and ``retries`` (tries after
    the first) replace what an entry says; ``concurrency`` is the budget of the run and caps every endpoint.
    Raises ConfigError for a value that names no model, a faulty entry, an unset key (unless ``replaying``),
    a credential in a URL, an option out of range, or two models with one label.
    """
    if timeout_s is not None and not 0 < timeout_s < float("inf"):
        raise ConfigError(f"timeout must be a positive number of seconds, not {timeout_s}")
    if retries is not None and retries < 0:
        raise ConfigError(f"retries must be 0 or more, not {retries}")
    if concurrency is not None and concurrency < 1:
        raise ConfigError(f"concurrency must be 1 or more, not {concurrency}")
    budget = concurrency or TOTAL_CONCURRENCY
    specs: list[ModelSpec] = []
    seen: dict[str, str] = {}
    for value in values:
        spec = _parse(value, toml, budget, environ)
        _check_key(spec, value, replaying, environ)
        if spec.name in seen:
            raise ConfigError(f"models {shown(seen[spec.name])!r} and {shown(value)!r} have one label {spec.name!r}")
        seen[spec.name] = value
        specs.append(
            replace(
                spec,
                timeout_s=spec.timeout_s if timeout_s is None else timeout_s,
                tries=spec.tries if retries is None else retries + 1,
                concurrency=min(spec.concurrency, budget),
            )
        )
    return specs


def normalise_url(url: str, display: str = "") -> str:
    """A base URL as the client and the family use it: lower-case host, no default port, no trailing slash.

    ``/v1`` is added where there is no path, a trailing ``/chat/completions`` is dropped. Raises ConfigError for
    credentials, a query, a scheme other than http and https, or no host; it shows ``display``, credentials cut.
    """
    said = f"model URL {shown(display or url)!r}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # its text may quote a part of a password
        raise ConfigError(f"{said} cannot be read as an address") from None
    if "@" in parts.netloc:
        raise ConfigError(f"{said} holds credentials: put the key into {KEY_ENV} or an entry's key_env")
    if parts.query:
        raise ConfigError(f"{said} has a query, which is not supported (it may hold a credential)")
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or re.search(r"[\s\x00-\x1f]", url):
        raise ConfigError(f"{said} is not an http or https address with a host")
    return f"{parts.scheme}://{_netloc(parts, port)}{_base_path(parts.path)}"


def shown(value: str) -> str:
    """A model value as error messages may show it: what could be a credential is cut."""
    return re.sub(r"\?[^#]*", "?***", re.sub(r"//.*@", "//***@", value))


def _netloc(parts: SplitResult, port: int | None) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if port is None or port == _DEFAULT_PORTS[parts.scheme] else f"{host}:{port}"


def _base_path(path: str) -> str:
    path = path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return path or "/v1"


def _parse(value: str, toml: Path | None, budget: int, environ: Mapping[str, str]) -> ModelSpec:
    if value in _EMBEDDED:
        return embedded_spec(value)
    if value.startswith(_VLLM):
        model = value.removeprefix(_VLLM).strip()
        if not model or model.startswith("-"):
            raise ConfigError(f"model {value!r}: vllm: needs a model id after the colon")
        return replace(vllm_spec(model), concurrency=budget)
    if "://" in value:
        url, _, model = value.partition("#")
        if not model.strip():
            raise ConfigError(f"model {shown(value)!r} names no model: write URL#model")
        base = normalise_url(url, value)
        key_env = KEY_ENV if environ.get(KEY_ENV, "").strip() else ""
        return ModelSpec(
            name=safe_id(model.strip()),
            model=model.strip(),
            base_url=base,
            family=base,
            key_env=key_env,
            concurrency=budget,
        )
    names: Sequence[str] = ()
    if toml is not None and toml.is_file():
        from benchsuite.models.entries import entry_spec, read_entries  # pydantic: only where a file is used

        entries = read_entries(toml)
        if value in entries:
            return entry_spec(toml, value, entries[value], budget)
        names = sorted(entries)
    known = ", ".join([*_EMBEDDED, "vllm:<hf id>", "URL#model", *names])
    raise ConfigError(f"unknown model {shown(value)!r}: known are {known}")


def _check_key(spec: ModelSpec, value: str, replaying: bool, environ: Mapping[str, str]) -> None:
    if not spec.key_env or replaying:
        return
    key = spec.key(environ)
    if not key:
        raise ConfigError(f"model {shown(value)!r}: its key variable {spec.key_env} is not set")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"model {shown(value)!r}: {spec.key_env} holds characters that no HTTP header can carry")
