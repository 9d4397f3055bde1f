"""Published figures of MemLens tables, and the rule by which they may stand beside measured ones.

They print only where corpus digest, label version, base condition, judge id and scale, K and n all equal those
of the published table; otherwise no figure is shown and the first mismatch is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from benchsuite_reports.arms import NONE, Facts, Group, Paired, merged, score_of
from benchsuite_reports.table import CorpusFacts, K, Number, RunFacts

TYPES = {
    "information_extraction": "IE",
    "multi_session_reasoning": "MSR",
    "temporal_reasoning": "TR",
    "knowledge_update": "KU",
    "answer_refusal": "AR",
}
"""Question types with the short names of the paper, in its order."""
DATA = "published_memlens.json"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a figure comes from and what it stands on. ``beside`` is the condition (see ``arms``) that must have
    been measured, with ``encoders`` by channel, for the figure to be shown; ``k`` is None where nothing is cut.
    ``tokenizer`` is set for token counts."""

    source: str
    corpus: str
    labels: str
    n: int
    judge: str
    scale: tuple[float, ...]
    k: int | None
    base: str
    beside: str
    encoders: Mapping[str, str]
    tokenizer: str = ""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a published table: ``values`` by column (a length, or a question type), None where it has none.

    ``backbone`` and ``agents`` (by length) are set where the paper names them.
    """

    table: str
    name: str
    system: str
    provenance: Provenance
    values: Mapping[str, float | None]
    backbone: str = ""
    agents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """The data file: rows, the sha256 of corpus files by corpus and length, questions by type by label version."""

    rows: tuple[PublishedRow, ...]
    files: Mapping[str, Mapping[str, Sequence[str]]]
    types: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the measured figures of one length stand on. ``types`` counts the questions asked, by type."""

    corpus: CorpusFacts
    length: str
    missing_images: int
    types: Mapping[str, int]
    conditions: frozenset[str]
    encoders: Mapping[str, tuple[str, ...]]
    judge: str
    scores: frozenset[float]
    k: int
    n: int
    tokenizer: str = ""


@cache
def published() -> Published:
    text = (resources.files("benchsuite_reports") / "data" / DATA).read_text(encoding="utf-8")
    read: Mapping[str, Any] = json.loads(text)
    provenances = {
        name: Provenance(**{**each, "scale": tuple(map(float, each["scale"]))})
        for name, each in read["provenances"].items()
    }
    return Published(
        tuple(PublishedRow(**{**row, "provenance": provenances[row["provenance"]]}) for row in read["rows"]),
        {name: corpus["files"] for name, corpus in read["corpora"].items()},
        read["labels"],
    )


def standing(group: Group, paired: Paired, corpus: CorpusFacts, facts: RunFacts) -> Standing:
    """What a group's rows stand on. The judge's id is the model that its axis value asks for; empty without one."""
    rows = group.all_rows()
    types: dict[str, int] = {}
    for question in paired.asked:
        kind = str(paired.question(question)["type"])
        types[kind] = types.get(kind, 0) + 1
    return Standing(
        corpus=corpus,
        length=group.length,
        missing_images=sum(row["n_missing"] for row in rows if isinstance(row["n_missing"], int)),
        types=types,
        conditions=frozenset(group.rows),
        encoders={channel: (each.name, each.checkpoint.rpartition("/")[2]) for channel, each in facts.encoders.items()},
        judge="" if group.judge == "none" else facts.models.get(group.judge, group.judge),
        scores=frozenset(score_of(row) for row in rows if row["status"] == "scored"),
        k=K,
        n=paired.n,
        tokenizer=facts.tokens.tokenizer if facts.tokens else "",
    )


def published_or_reason(table: str, here: Standing) -> tuple[tuple[PublishedRow, ...], str]:
    """The published rows of a table, or none and the first mismatch by name."""
    rows = tuple(row for row in published().rows if row.table == table)
    for row in rows:
        if reason := mismatch(row.provenance, here):
            return (), reason
    return rows, ""


def published_by_length(table: str, standings: Iterable[Standing]) -> tuple[dict[str, tuple[PublishedRow, ...]], Facts]:
    """The published rows by length, at lengths where they may stand beside all that was measured, and what to say."""
    shown: dict[str, tuple[PublishedRow, ...]] = {}
    facts: dict[str, Facts] = {}
    for here in standings:
        rows, reason = published_or_reason(table, here)
        shown.setdefault(here.length, rows)
        facts.setdefault(here.length, ())
        if reason and not facts[here.length]:
            shown[here.length] = ()
            facts[here.length] = (("published figures not shown", reason),)
    shown = {length: rows for length, rows in shown.items() if rows}
    return shown, (*sources(row for rows in shown.values() for row in rows), *merged(facts))


def sources(rows: Iterable[PublishedRow]) -> Facts:
    found = dict.fromkeys(row.provenance.source for row in rows)
    return (("published, judged with the benchmark's own wording", "; ".join(found)),) if found else ()


def published_grid(
    shown: Mapping[str, Sequence[PublishedRow]],
    lengths: Sequence[str],
    text: Callable[[PublishedRow, str, float], str] = lambda row, length, value: f"{value:.2f}",
) -> tuple[list[tuple[str, ...]], dict[str, Number]]:
    """The published rows under lengths as columns, and their values as published (percent, tokens) by name."""
    grid: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for first in next(iter(shown.values()), ()):
        texts = []
        for length in lengths:
            row = next((row for row in shown.get(length, ()) if row.name == first.name), None)
            value = row.values.get(length) if row else None
            values[f"published.{first.name}.{length}"] = value
            texts.append(NONE if row is None or value is None else text(row, length, value))
        grid.append((f"Published: {first.system}", *texts))
    return grid, values


def mismatch(there: Provenance, here: Standing) -> str:
    """What first differs between a published figure and the measured ones; empty when nothing does."""
    checks = (_corpus, _labels, _base, _judge, _scale, _k, _n)
    return next((reason for check in checks if (reason := check(there, here))), "")


def _corpus(there: Provenance, here: Standing) -> str:
    if here.corpus.bundled:
        return f"corpus is {here.corpus.name}, not the {there.corpus}"
    pinned = published().files[there.corpus].get(here.length)
    if not pinned:
        return f"corpus: no digest of the {there.corpus} is known for length {here.length}"
    if not set(pinned) & set(here.corpus.files.values()):
        return f"corpus is {here.corpus.name}, whose files do not have the digest of the {there.corpus}"
    if here.missing_images:
        return f"corpus: {here.missing_images} images are missing"
    return ""


def _labels(there: Provenance, here: Standing) -> str:
    wanted = dict(published().types[there.labels])
    if here.types != wanted:
        return f"label version: questions by type are {_counts(here.types)}, published {_counts(wanted)}"
    return ""


def _counts(types: Mapping[str, int]) -> str:
    order = [*TYPES, *sorted(types.keys() - TYPES.keys())]
    return "/".join(f"{types[name]} {TYPES.get(name, name)}" for name in order if name in types) or "none"


def _base(there: Provenance, here: Standing) -> str:
    if there.beside not in here.conditions:
        return f"base condition: {there.beside} was not run"
    for channel, encoder in there.encoders.items():
        names = here.encoders.get(channel, ())
        if encoder not in names:
            return f"base condition: {channel} encoder is {next(iter(names), 'not recorded')}, published {encoder}"
    if there.tokenizer and not _is_release(here.tokenizer, there.tokenizer):
        return f"base condition: tokenizer is {here.tokenizer or 'none'}, published {there.tokenizer}"
    return ""


def _judge(there: Provenance, here: Standing) -> str:
    if not _is_release(here.judge, there.judge):
        return f"judge is {here.judge or 'none'}, published {there.judge}"
    return ""


def _is_release(served: str, published_id: str) -> bool:
    """A served id may lead with an organisation and end with a release: ``Qwen/<id>-Instruct``."""
    name = served.rpartition("/")[2]
    return name == published_id or name.startswith(f"{published_id}-")


def _scale(there: Provenance, here: Standing) -> str:
    extra = sorted(here.scores - set(there.scale))
    return f"judge scale: scores of {extra[0]:g}, published {'/'.join(f'{s:g}' for s in there.scale)}" if extra else ""


def _k(there: Provenance, here: Standing) -> str:
    return f"K is {here.k}, published {there.k}" if there.k not in (None, here.k) else ""


def _n(there: Provenance, here: Standing) -> str:
    return f"n is {here.n}, published {there.n}" if here.n != there.n else ""
