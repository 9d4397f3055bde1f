"""What a dry run found, as tables: requests and tokens by arm; tokens, cost and time by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchsuite.estimate import Estimate, Past, Planned, Price, Prices, Size, output_limit
from benchsuite.models.spec import ModelSpec
from benchsuite_pytest.preflight import Prepared
from benchsuite_reports.table import Block, Table

ARM_COLUMNS = ("arm", "cells", "requests", "cached", "to send", "images", "text tok.", "image tok.")
MODEL_COLUMNS = ("model", "requests", "input tokens", "output tokens", "cost", "time")


def arms_table(estimate: Estimate, tokenizer: str) -> Table:
    """Cells, requests and their tokens by experiment and arm, with all of them once at the end."""
    blocks = [
        Block(nodeid, (), tuple(_arm_row(key, planned) for key, planned in arms.items()), None)
        for nodeid, arms in sorted(estimate.arms.items())
    ]
    every = Planned(sum(planned.cells for planned in estimate.models.values()))
    for planned in estimate.models.values():
        every.requests.update(planned.requests)
    blocks.append(Block("all, each cell and each request once", (), (_arm_row("all", every),), None))
    notes = ["images and tokens are those of the requests to send"]
    if every.unknown:
        notes.append(
            f"{every.unknown} requests show images that are not prepared yet, so whether the cache answers them is "
            "not known; they count as to send"
        )
    facts = (("text tokens", tokenizer), ("image tokens", "one for every 32x32 pixels as sent"))
    return Table("dry_run", "What would be sent", ARM_COLUMNS, tuple(blocks), facts, tuple(notes))


def _arm_row(key: str, planned: Planned) -> tuple[str, ...]:
    sent = planned.to_send
    numbers = (
        planned.cells,
        len(planned.requests),
        planned.stored,
        len(sent),
        sum(len(size.images) for size in sent),
        sum(size.text for size in sent),
        sum(size.image_tokens() for size in sent),
    )
    return (key, *map(_count, numbers))


def models_table(estimate: Estimate, prepared: Prepared, past: Mapping[str, Past], prices: Prices | None) -> Table:
    """Tokens, cost and time by model, the judge last."""
    blocks: list[Block] = []
    for heading, models in (("models under test", estimate.models), ("judge, at most", estimate.judges)):
        if models:
            rows: list[tuple[str, ...]] = []
            notes: list[str] = []
            for name, planned in models.items():
                row, said = _model_row(prepared, prepared.models[name], planned, past.get(name), prices)
                rows.append(row)
                notes += said
            blocks.append(Block(heading, (), tuple(rows), None, tuple(notes)))
    notes = ["time is requests / slots x latency: no start of a server, no image that has to be prepared"]
    if estimate.open_verdicts:
        notes.append(
            f"answers of {estimate.open_verdicts} cells are not known: each may need {prepared.settings.judge_votes}"
            " verdicts, on a candidate as long as an answer may be"
        )
    if prices is None:
        notes.append("no prices were given, so these are tokens only: --bench-prices FILE")
    if prepared.settings.replay:
        notes.append("--bench-replay sends nothing: each request that is not in the cache is an error")
    facts = (("output and cost", "typical, from earlier runs here / at most, at the limit that is sent"),)
    return Table("dry_run_models", "Tokens, cost and time", MODEL_COLUMNS, tuple(blocks), facts, tuple(notes))


def _model_row(
    prepared: Prepared, spec: ModelSpec, planned: Planned, past: Past | None, prices: Prices | None
) -> tuple[tuple[str, ...], list[str]]:
    """The row of a model, and what is to be said of it."""
    sent, limit = planned.to_send, output_limit(spec)
    price = prices.of(spec) if prices is not None else None
    typical = past.output_tokens if past is not None else None
    share = (past.cached_share or 0.0) if past is not None else 0.0
    outputs = [None if each is None else each * len(sent) for each in (typical, limit)]
    costs = [
        None if price is None or each is None else price.cost(sent, each, cached)
        for each, cached in ((typical, share), (limit, 0.0))
    ]
    seconds = None
    slots = min(spec.concurrency, prepared.settings.concurrency)
    if past is not None and past.latency_s is not None:
        seconds = len(sent) / slots * past.latency_s
    row = (
        spec.name,
        _count(len(sent)),
        _count(sum(_input_tokens(price, size) for size in sent)),
        _both(outputs, lambda tokens: _count(round(tokens))),
        _both(costs, lambda cost: f"{cost:.2f}" if cost >= 1 else f"{cost:.4f}")
        + (f" {prices.currency}" if prices is not None and price is not None else ""),
        "-" if seconds is None else _duration(seconds),
    )
    return row, _said(spec, slots, past, prices, price)


def _said(spec: ModelSpec, slots: int, past: Past | None, prices: Prices | None, price: Price | None) -> list[str]:
    said = []
    if past is None:
        said.append(f"{spec.name}: no earlier answers here, so no typical output and no time")
    else:
        facts = [f"{past.answers} earlier answers"]
        if past.output_tokens is not None:
            facts.append(f"median output {past.output_tokens:g} tokens")
        if past.latency_s is not None:
            facts.append(f"median latency {past.latency_s:.2f} s, {slots} slots")
        if past.cached_share is not None:
            facts.append(f"{100 * past.cached_share:.0f}% of the input cached by the provider")
        said.append(f"{spec.name}: {', '.join(facts)}")
    if output_limit(spec) is None:
        said.append(f"{spec.name}: its requests name no limit of the output")
    if prices is not None and price is None:
        there = ", ".join(prices.models) or "none"
        said.append(f"{spec.name}: the price file has no entry {spec.name!r} or {spec.model!r}; it has: {there}")
    return said


def _input_tokens(price: Price | None, size: Size) -> int:
    return price.input_tokens(size) if price is not None else size.text + size.image_tokens()


def _both(values: Sequence[float | None], shown: Callable[[float], str]) -> str:
    return " / ".join("-" if value is None else shown(value) for value in values)


def _count(number: int) -> str:
    return f"{number:,}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
