"""Command-line options and their ini twins. CLI defaults are None, so that 'unset' is visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from benchsuite.errors import ConfigError
from benchsuite.registry import SCORING_MODES, STRICT
from benchsuite.runs import check_name

T = TypeVar("T")

# name: (metavar, repeatable, help). Help says what a value does, then an example.
_OPTIONS: Mapping[str, tuple[str, bool, str]] = {
    "model": (
        "NAME",
        True,
        "model under test: embedded, embedded-forced, vllm:ID, URL#MODEL, or an entry of "
        "bench-models.toml; repeat or separate by commas for several",
    ),
    "judge": ("NAME", False, "model that judges what rules leave open (default: none)"),
    "judge-votes": (
        "N",
        False,
        "verdicts a judge gives on each answer, an odd number; the majority counts (default: 1)",
    ),
    "scoring": ("MODE", False, "how rules score: strict (default), or upstream, the public harness' own rules"),
    "encoder": (
        "CHANNEL=NAME",
        True,
        "encoder of a retrieval channel, text or image, with its folder where it needs one, "
        "e.g. text=bge-small-en-v1.5 or image=siglip2:models/siglip2-base-patch16-384",
    ),
    "trunk": (
        "NAME",
        False,
        "model that writes the assistant's side of a suite's conversations, once for all models under test "
        "(default: the corpus' own replies)",
    ),
    "corpus": (
        "SUITE=PATH",
        True,
        "corpus of a suite: a file or folder in its public format, or a bundled name; "
        "'#SPLIT' takes one split, e.g. memlens=data/memlens or memlens=memlens-mini#dev",
    ),
    "axis": ("AXIS=V1,V2", True, "replace the values of an axis, or add the axis, e.g. retrieval=bm25,oracle"),
    "limit": ("N", False, "the first N questions of each suite, by content hash; all arms are kept"),
    "shard": ("I/N", False, "the I-th of N shards of the questions, e.g. 2/4"),
    "concurrency": ("N", False, "requests in flight over all workers (default: 64)"),
    "cache": ("MODE", False, "answer cache: on (default), off, readonly, refresh"),
    "retries": ("N", False, "tries for a request that met 429, 5xx or a lost connection (default: 5)"),
    "timeout": ("SECONDS", False, "time limit of one request (default: 300)"),
    "repeats": ("N", False, "ask every cell N times; the repeat is an axis (default: 1)"),
    "protocol": ("FILE", False, "TOML file with the prompt wording to use"),
    "tokenizer": (
        "DIR",
        False,
        "folder with the tokenizer.json that tables count text with (default: all-MiniLM-L6-v2's)",
    ),
    "save": ("NAME", False, "name of the run's folder"),
    "compare": (
        "RUN",
        True,
        "baseline: a run by number, name (the newest finished one) or path, or last-green, the newest run saved under "
        "the same name that ended with 0; repeat for several",
    ),
    "compare-fail": (
        "GATE",
        True,
        "fail (exit 10) on a paired, significant loss: SUITE.METRIC[SLICE]:LIMIT@CONDITIONS, e.g. "
        "'memlens.accuracy:-3pp@p<0.05,confirm'; repeat for several",
    ),
    "compare-across": (
        "KIND",
        True,
        "a difference to compare across all the same: corpus, protocol, renderer, trunk, judge, judge prompt, scorer, "
        "metric",
    ),
    "prices": ("FILE", False, "TOML file with prices per million tokens by model, for --bench-dry-run"),
    "dir": ("DIR", False, "where caches and runs are kept (default: .bench in the root directory)"),
}
_FLAGS: Mapping[str, str] = {
    "strict": "a wrong or unparsed answer fails its test case",
    "dry-run": "retrieve and render every planned cell, send nothing, and say what the run would ask and cost",
    "replay": "answer from the cache alone: a miss is an error and nothing is sent",
}
_CHOICES = {"cache": ("on", "off", "readonly", "refresh"), "scoring": SCORING_MODES}
CHANNELS = ("text", "image")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("bench", "multimodal agent memory benchmark")
    for name, (metavar, repeatable, text) in _OPTIONS.items():
        action = "append" if repeatable else "store"
        group.addoption(f"--bench-{name}", metavar=metavar, default=None, help=text, action=action)
        if repeatable:
            parser.addini(_ini(name), text, type="args", default=[])
        else:
            parser.addini(_ini(name), text, type="string", default="")
    for name, text in _FLAGS.items():
        group.addoption(f"--bench-{name}", action="store_true", default=None, help=text)
        parser.addini(_ini(name), text, type="bool", default=False)


def _ini(option: str) -> str:
    return f"bench_{option.replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a session, read and checked. ``problems`` are faults of options, which have their defaults."""

    models: tuple[str, ...]
    judge: str
    judge_votes: int
    scoring: str
    trunk: str
    encoders: Mapping[str, str]
    corpora: Mapping[str, str]
    axes: Mapping[str, tuple[str, ...]]
    limit: int | None
    shard: tuple[int, int] | None
    concurrency: int
    cache: str
    replay: bool
    retries: int | None
    timeout_s: float | None
    repeats: int
    protocol: Path | None
    tokenizer: Path | None
    save: str
    compare: tuple[str, ...]
    compare_fail: tuple[str, ...]
    across: tuple[str, ...]
    prices: Path | None
    dry_run: bool
    strict: bool
    folder: Path
    root: Path
    problems: tuple[str, ...] = ()


def read_settings(config: pytest.Config) -> Settings:
    """Every option; what is wrong with one stands in ``problems`` and names the option and what it takes."""
    problems: list[str] = []

    def value(name: str) -> Any:
        given = config.getoption(f"--bench-{name}")
        return given if given is not None else config.getini(_ini(name))

    def checked(check: Callable[..., T], *args: Any) -> T | None:
        try:
            return check(*args)
        except ConfigError as error:
            problems.append(str(error))
            return None

    def number(name: str) -> int | None:
        return checked(_number, value(name), name, 1)

    def pairs(name: str, form: str) -> list[tuple[str, str]]:
        return [pair for text in value(name) if (pair := checked(_pair, text, name, form)) is not None]

    root, here = config.rootpath, config.invocation_params.dir
    protocol, tokenizer, prices = value("protocol"), value("tokenizer"), value("prices")
    models = [name for text in value("model") for name in text.split(",") if name]
    return Settings(
        models=tuple(models) or ("embedded",),
        judge=value("judge") or "none",
        judge_votes=checked(_odd, number("judge-votes") or 1) or 1,
        scoring=checked(_choice, value("scoring"), "scoring") or STRICT,
        trunk=value("trunk") or "none",
        encoders={channel: name for channel, name in pairs("encoder", "CHANNEL=NAME") if checked(_channel, channel)},
        corpora=dict(pairs("corpus", "SUITE=PATH")),
        axes={axis: tuple(v for v in values.split(",") if v) for axis, values in pairs("axis", "AXIS=V1,V2")},
        limit=number("limit"),
        shard=checked(_shard, value("shard")),
        concurrency=number("concurrency") or 64,
        cache=checked(_choice, value("cache"), "cache") or "on",
        replay=bool(value("replay")),
        retries=number("retries"),
        timeout_s=checked(_seconds, value("timeout")),
        repeats=number("repeats") or 1,
        protocol=here / protocol if protocol else None,
        tokenizer=here / tokenizer if tokenizer else None,
        save=checked(check_name, value("save")) or "",
        compare=tuple(value("compare")),
        compare_fail=tuple(value("compare-fail")),
        across=tuple(value("compare-across")),
        prices=here / prices if prices else None,
        dry_run=bool(value("dry-run")),
        strict=bool(value("strict")),
        folder=(root / value("dir")) if value("dir") else root / ".bench",
        root=root,
        problems=tuple(problems),
    )


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ConfigError(f"--bench-{option}: {text!r} is not {form}")
    return name, value


def _choice(text: str, option: str) -> str:
    if text and text not in _CHOICES[option]:
        raise ConfigError(f"--bench-{option}: no mode {text!r}; modes: {', '.join(_CHOICES[option])}")
    return text


def _number(text: str, option: str, least: int) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise ConfigError(f"--bench-{option}: {text!r} is not a whole number of {least} or more")
    return int(text)


def _odd(votes: int) -> int:
    if votes % 2 == 0:
        raise ConfigError(f"--bench-judge-votes: {votes} is even: a vote could tie")
    return votes


def _channel(channel: str) -> str:
    if channel not in CHANNELS:
        raise ConfigError(f"--bench-encoder: no channel {channel!r}; channels: {', '.join(CHANNELS)}")
    return channel


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ConfigError(f"--bench-timeout: {text!r} is not a number of seconds above 0")
    return seconds


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise ConfigError(f"--bench-shard: {text!r} is not I/N with 1 <= I <= N")
    return int(index), int(count)


def check_dry_run(config: pytest.Config, settings: Settings) -> None:
    """Raises ConfigError for workers, which each would compose all, and for a price file that cannot be used."""
    distributed = config.getoption("dist", "no") != "no" and config.getoption("tx", None)
    if config.getoption("numprocesses", None) or distributed:
        raise ConfigError("--bench-dry-run works in one process: add -n 0")
    if settings.prices is not None:
        from benchsuite.estimate import read_prices  # here: a run that answers does without

        read_prices(settings.prices)
