"""Shards of one plan become one run: the plans joined, each cell counted once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchsuite.errors import ConfigError, DataError
from benchsuite.files import write_atomic
from benchsuite.models.wire import sha256_json
from benchsuite.outcome import row_json
from benchsuite.runs.costs import COSTS, sum_costs
from benchsuite.runs.folder import (
    LOCK,
    OUTCOMES,
    SCHEMA,
    aside,
    check_name,
    gate,
    is_held,
    next_folder,
    now,
    plan_digest,
    planned_cells,
    sweep,
    try_lock,
    write_info,
)
from benchsuite.runs.rows import Row, Run, load_run

INCOMPLETE, ERRORS = 11, 1
"""Exit codes of a merged run that lacks planned cells, or has errors."""
NAMED = 20
"""Cells that ``run.json`` names of each kind of disagreement."""

_KINDS: Mapping[str, Sequence[str]] = {
    "corpora": ("digests.corpora",),
    "scorers": ("digests.scorers",),
    "protocols": ("protocols", "digests.protocols"),
    "models": ("models", "digests.models"),
    "judge": ("digests.judge",),
    "encoders": ("digests.encoders",),
    "trunk": ("digests.trunk",),
    "deliveries": ("deliveries",),
    "components": ("components",),
    "commit": ("commit",),
    "benchsuite": ("versions.benchsuite",),
}
KINDS = tuple(_KINDS)
"""What must be equal in the runs that are merged, unless ``across`` names it."""
_JOINED = ("corpora", "models", "encoders", "components", "deliveries", "protocols", "seeds")


@dataclass(frozen=True, slots=True)
class _Joined:
    """The rows that stand, with the place of their run, and the cells that several runs answered."""

    rows: Mapping[str, tuple[int, Row]]
    repeated: int
    contradictions: Sequence[str]
    changed: Sequence[str]


def merge_runs(
    paths: Sequence[Path], bench_dir: Path, name: str = "", across: Sequence[str] = (), unfinished: bool = False
) -> Path:
    """Make a new run of several, and return its folder; the runs stay as they are, wherever they lie.

    The new folder has ``outcomes.jsonl``, ``calls/``, ``costs/``, ``tokens.json`` where every run has one of the same
    tokenizer, and ``run.json`` with the joined plan, ``merged_from`` (the runs, earliest first) and ``merged``: how
    many cells were ``repeated``, which are ``contradictions`` (two answers to different requests) or ``changed`` (two
    answers to the same request). Of a cell in several runs an answer beats an error, and the later answer the earlier.
    A row's ``run.id`` is the new folder's name, ``run.source`` the place of its run in ``merged_from``, from 1; files
    of ``calls/`` and ``costs/`` begin with it. Tables, pages and certificates are not taken over: they are made again.

    Raises ConfigError for fewer than two runs, for runs that differ in one of ``KINDS`` that ``across`` does not name,
    for one that is being written, and for an unfinished one unless ``unfinished``; DataError for what cannot be read.
    """
    name = check_name(name)
    if unknown := [kind for kind in across if kind not in KINDS]:
        raise ConfigError(f"--across {unknown[0]}: there is no such kind; there are {', '.join(KINDS)}")
    runs = _load(paths, unfinished)
    differences = _differences(runs, across)
    joined = _join(runs)
    info = _info(runs, joined, name, differences)
    folder = bench_dir / "runs"
    with gate(folder):
        sweep(folder)
        made = aside(folder, f"merge-{os.getpid()}")
        made.mkdir()
        lock = try_lock(made)
        assert lock is not None
    with lock:
        try:
            _copy_files(runs, made)
            info["index_costs"] = sum_costs(made)
            with gate(folder):
                number, path = next_folder(folder, info["commit"], name)
                write_atomic(made / OUTCOMES, "".join(_lines(joined, path.name)))
                write_info(made, {"schema": SCHEMA, "number": number, **info})
                (made / LOCK).unlink()  # a run without it is finished
                made.rename(path)
        except OSError as error:
            shutil.rmtree(made, ignore_errors=True)
            raise ConfigError(f"{error.filename or made}: {error.strerror or error}") from None
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    return path


def _load(paths: Sequence[Path], unfinished: bool) -> list[Run]:
    """The runs, earliest first; those of one second in the order they are given in."""
    unique = list({path.resolve(): path for path in paths}.values())
    if len(unique) < 2:
        raise ConfigError("merge: give two runs or more")
    runs = []
    for path in unique:
        if is_held(path):
            raise ConfigError(f"run {path.name} is being written")
        run = load_run(path)
        if run.info.get("finished") is None and not unfinished:
            raise ConfigError(f"run {path.name} is not finished; --unfinished merges what it has")
        runs.append(run)
    return sorted(runs, key=lambda run: str(run.info.get("started", "")))


def _differences(runs: Sequence[Run], across: Sequence[str]) -> list[str]:
    """What differs of the kinds in ``across``, a line each. Raises ConfigError for the first other difference."""
    found = []
    for kind, keys in _KINDS.items():
        for run in runs[1:]:
            line = next((line for key in keys if (line := _difference(key, runs[0], run))), "")
            if line and kind not in across:
                raise ConfigError(f"these runs are not of one plan: {line}; --across {kind} merges them all the same")
            if line:
                found.append(line)
    return found


def _difference(key: str, a: Run, b: Run) -> str:
    """Where the values of a dotted key of two runs' facts first differ; empty where they are equal."""
    first, second = (_at(run.info, key) for run in (a, b))
    while isinstance(first, dict) and isinstance(second, dict) and first != second:
        inner = next(name for name in sorted({*first, *second}) if first.get(name) != second.get(name))
        key, first, second = f"{key}.{inner}", first.get(inner), second.get(inner)
    if first == second:
        return ""
    return f"{key}: {_short(first)} in {a.path.resolve().name}, {_short(second)} in {b.path.resolve().name}"


def _at(info: Mapping[str, Any], key: str) -> Any:
    value: Any = info
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 80 else text[:77] + "..."


def _join(runs: Sequence[Run]) -> _Joined:
    rows: dict[str, tuple[int, Row]] = {}
    repeated: set[str] = set()
    contradictions: set[str] = set()
    changed: set[str] = set()
    for place, run in enumerate(runs):
        for cell, row in run.rows.items():
            if cell not in rows:
                rows[cell] = place, row
                continue
            repeated.add(cell)
            old = rows[cell][1]
            if old["status"] != "error" and row["status"] != "error":
                if old["requests"] != row["requests"]:
                    contradictions.add(cell)
                elif old["answer"] != row["answer"]:
                    changed.add(cell)
            if _beats(row, old):
                rows[cell] = place, row
    return _Joined(dict(sorted(rows.items())), len(repeated), sorted(contradictions), sorted(changed))


def _beats(row: Row, old: Row) -> bool:
    """Whether a row of a run that started later takes the place of one: by status, then by the time it was made."""
    if (row["status"] == "error") != (old["status"] == "error"):
        return old["status"] == "error"
    time, before = _time(row), _time(old)
    return time is None or before is None or time >= before


def _time(row: Row) -> float | None:
    block: Any = row["run"]
    t = block.get("t")
    return t if type(t) in (int, float) else None


def _lines(joined: _Joined, run_id: str) -> Iterator[str]:
    for place, row in joined.rows.values():
        block: Any = row["run"]
        yield row_json({**row, "run": {**block, "id": run_id, "source": place + 1}}) + "\n"


def _info(runs: Sequence[Run], joined: _Joined, name: str, differences: Sequence[str]) -> dict[str, Any]:
    infos = [run.info for run in runs]
    plan: dict[str, list[str]] = {}
    for info in infos:
        for experiment, cells in info["plan"].items():
            plan[experiment] = list(dict.fromkeys([*plan.get(experiment, ()), *cells]))
    facts: dict[str, Any] = {key: _united(infos, key) for key in _JOINED if any(key in info for info in infos)}
    facts["argv"] = ["benchsuite", "merge", *(run.path.resolve().name for run in runs), "--name", name]
    facts["versions"] = _every_value(infos, "versions")
    facts["digests"] = _digests(infos, facts)
    facts["embedded_models"] = sorted({each for info in infos for each in info.get("embedded_models", ())})
    facts["experiments"] = _experiments(runs)
    statuses = [str(row["status"]) for _, row in joined.rows.values()]
    commits = {str(info.get("commit")) for info in infos}
    finished = [info.get("finished") for info in infos]
    facts |= {
        "name": name,
        "commit": commits.pop() if len(commits) == 1 else "nogit",
        "plan_digest": plan_digest(plan, facts),
        "plan": plan,
        "started": infos[0].get("started", ""),
        "continued": [],
        "finished": now() if None in finished else max(map(str, finished)),
        "models_served": _served(joined),
        "cells": len(statuses),
        "errors": statuses.count("error"),
        "merged_from": [_source(run) for run in runs],
        "merged": {
            "at": now(),
            "repeated": joined.repeated,
            "contradictions": {"cells": len(joined.contradictions), "named": list(joined.contradictions[:NAMED])},
            "changed": {"cells": len(joined.changed), "named": list(joined.changed[:NAMED])},
            "across": list(differences),
        },
    }
    facts["exit"] = _exit(infos, facts, bool(planned_cells(facts) - joined.rows.keys()))
    return facts


def _exit(infos: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], incomplete: bool) -> int:
    """What pytest would have ended with: cells are counted anew, any other failure of a run stays."""
    if incomplete:
        return INCOMPLETE
    if facts["errors"]:
        return ERRORS
    other = [
        info["exit"]
        for info in infos
        if type(info.get("exit")) is int
        and info["exit"] != INCOMPLETE
        and not (info["exit"] == ERRORS and info.get("errors"))
    ]
    return max(other, default=0)


def _source(run: Run) -> dict[str, Any]:
    """What is remembered of a run that was merged; where it lay is not."""
    kept = ("number", "name", "commit", "argv", "started", "continued", "finished", "exit", "merged_from")
    outcomes = run.path / OUTCOMES
    return {
        "run": run.path.resolve().name,
        **{key: run.info[key] for key in kept if key in run.info},
        "cells": len(run.rows),
        "outcomes_sha256": hashlib.sha256(outcomes.read_bytes()).hexdigest() if outcomes.exists() else "",
    }


def _united(infos: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    """The entries of all runs; of an entry that differs, where ``across`` allows it, the first run's."""
    found: dict[str, Any] = {}
    for info in infos:
        for name, value in info.get(key, {}).items():
            found.setdefault(name, value)
    return found


def _every_value(infos: Sequence[Mapping[str, Any]], key: str) -> dict[str, str]:
    names = dict.fromkeys(name for info in infos for name in info.get(key, {}))
    return {
        name: ", ".join(dict.fromkeys(str(info[key][name]) for info in infos if name in info.get(key, {})))
        for name in names
    }


def _digests(infos: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """As a run of the joined plan would have them: corpora and models of all, everything else as it is in the first."""
    digests = dict(infos[0].get("digests", {}))
    for info in infos[1:]:
        for key, value in info.get("digests", {}).items():
            known = digests.setdefault(key, value)
            if isinstance(known, dict) and isinstance(value, dict):
                digests[key] = {**value, **known}
            elif key == "corpora" and isinstance(known, list) and isinstance(value, list):
                digests[key] = sorted({*known, *value})
    if any(info.get("digests", {}).get("models") != digests.get("models") for info in infos):
        digests["models"] = sha256_json(facts["models"])
    return digests


def _experiments(runs: Sequence[Run]) -> dict[str, Any]:
    """The declarations joined: lists united in order. Raises ConfigError for one that two runs declare differently."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for node, declared in run.info.get("experiments", {}).items():
            known = found.setdefault(node, {})
            for key, value in declared.items():
                try:
                    known[key] = _joined_value(known[key], value) if key in known else value
                except ValueError:
                    where = f"{known[key]!r} and in {run.path.resolve().name} {value!r}"
                    raise ConfigError(f"these runs are not of one plan: {node}: {key} is {where}") from None
    return found


def _joined_value(a: Any, b: Any) -> Any:
    if isinstance(a, list) and isinstance(b, list):
        return [*a, *(each for each in b if each not in a)]
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: _joined_value(a[key], b[key]) if key in a and key in b else {**b, **a}[key] for key in {**a, **b}}
    if a != b:
        raise ValueError
    return a


def _served(joined: _Joined) -> dict[str, list[str]]:
    """The ids of the models as served, by value of the model axis."""
    found: dict[str, set[str]] = {}
    for _, row in joined.rows.values():
        if row["model_served"]:
            found.setdefault(str(row.get("arm.model", "")), set()).add(str(row["model_served"]))
    return {model: sorted(ids) for model, ids in sorted(found.items())}


def _copy_files(runs: Sequence[Run], made: Path) -> None:
    """The records of calls and costs under names of their own, and the token counts."""
    (made / "tables").mkdir()
    for folder, pattern in (("calls", "*.jsonl"), (COSTS, "*.json")):
        (made / folder).mkdir()
        for place, run in enumerate(runs, 1):
            for file in sorted((run.path / folder).glob(pattern)):
                shutil.copyfile(file, made / folder / f"{place:02d}-{file.name}")
    if tokens := _tokens(runs):
        write_atomic(made / "tokens.json", json.dumps(tokens, separators=(",", ":")) + "\n")


def _tokens(runs: Sequence[Run]) -> dict[str, Any]:
    """The token counts joined; nothing where a run has none, or one of another tokenizer."""
    counts = []
    for run in runs:
        file = run.path / "tokens.json"
        try:
            counts.append(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise DataError(str(file), None, None, f"not JSON: {error}") from None
    try:
        if any(each[key] != counts[0][key] for each in counts for key in ("schema", "tokenizer", "side")):
            return {}
        delivered = {cell: n for each in counts for cell, n in each["delivered"].items()}
        full = {tuple(entry[:3]): entry for each in counts for entry in each["full"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError("tokens.json", None, None, f"no token counts: {type(error).__name__}: {error}") from None
    return {**counts[0], "delivered": dict(sorted(delivered.items())), "full": [full[key] for key in sorted(full)]}
