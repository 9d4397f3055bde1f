"""What happens for one cell: retrieve, render, ask, score. An async function of (stimulus, arm, workbench)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchsuite.delivery.arrange import all_slots
from benchsuite.delivery.render import RENDERER, missing_images, render
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import BenchError, DataError, EndpointError
from benchsuite.models.ask import Answered
from benchsuite.models.spec import ModelSpec
from benchsuite.models.tokenizer import image_tokens
from benchsuite.models.wire import Reply, Request
from benchsuite.outcome import Outcome
from benchsuite.plan import Arm
from benchsuite.probe import RENDERER as AT_STATE
from benchsuite.probe import ask_at_state
from benchsuite.runtime.states import NO_STATE
from benchsuite.scoring.judge import JUDGE, is_judged, judge_messages, parse_verdict, tally
from benchsuite.workbench import Stimulus, Workbench, call, place, prepare, retrieve


async def run_episode(stimulus: Stimulus, arm: Arm, bench: Workbench) -> Outcome:
    """Answer and score one cell. Never raises for a failed call: the outcome then has status ``error``."""
    row = _opening_row(stimulus, arm, bench)
    calls: list[Answered] = []
    try:
        await _answer_and_score(stimulus, arm, bench, row, calls)
        return Outcome(**row, **_account(calls, bench))
    except Exception as error:  # a call without an answer, or a fault of a component: this cell's error, no score
        return _failed(stimulus, row, calls, bench, error)


def not_asked(stimulus: Stimulus, arm: Arm, bench: Workbench, error: Exception) -> Outcome:
    """The outcome of a cell that could not be put to its model: its conversation state is not there."""
    return _failed(stimulus, _opening_row(stimulus, arm, bench), (), bench, error)


def _failed(
    stimulus: Stimulus, row: dict[str, Any], calls: Sequence[Answered], bench: Workbench, error: Exception
) -> Outcome:
    row.update(status="error", word="error", answer=None, score=None, refused=None, scores={})
    row.update(metric="", scorer=stimulus.scorer.version)  # what a faulty scorer left may not fit a row either
    row.update(error_kind=_kind(error), error_message=_message(error))
    return Outcome(**row, **_account(calls, bench))


def _account(calls: Sequence[Answered], bench: Workbench) -> dict[str, Any]:
    """What an outcome says of its calls."""
    return {
        "n_calls": len(calls),
        "requests": [call.key for call in calls],
        "run": {
            **bench.run,
            "cached": bool(calls) and all(call.cached for call in calls),
            "latency_s": round(sum(call.reply.latency_s for call in calls), 4),
            "attempts": sum(call.attempts for call in calls),
            "cached_tokens": _total([call.reply.cached_tokens for call in calls]),
            "t": round(time.time(), 3),
        },
    }


async def _answer_and_score(
    stimulus: Stimulus, arm: Arm, bench: Workbench, row: dict[str, Any], calls: list[Answered]
) -> None:
    question, protocol, scorer = stimulus.question, stimulus.protocol, stimulus.scorer
    delivery = bench.delivery(arm.text("delivery"))
    trace: Mapping[str, float] = {}
    if stimulus.scene is None:
        reply = await _ask(stimulus, arm, delivery, bench, row, calls)
    else:
        probed = await ask_at_state(stimulus, stimulus.scene, arm, delivery, bench, calls)
        reply, trace = probed.reply, probed.trace
        row.update(probed.row)
    row.update(model_served=reply.model_served, fingerprint=reply.fingerprint, finish=reply.finish)
    given: dict[str, Any] = {"output_tokens": reply.completion_tokens} if scorer.takes_tokens else {}
    if scorer.takes_aliases:
        given["aliases"] = stimulus.aliases
    score = scorer.score(question, reply.text, protocol.refusal, **given)
    row.update(
        status="unparsed" if score.word == "unparsed" else "scored",
        word=score.word,
        answer=score.answer,
        refused=score.refused,
        metric=score.metric,
        score=score.score,
        scores={**trace, **({} if score.score is None else {score.metric: score.score, **score.extra})},
        scorer=score.scorer,
    )
    judge = arm.text("judge")
    if judge != "none" and is_judged(question, score, scorer.mode):
        await _judge(stimulus, bench, bench.model(judge), row, calls)


async def _ask(
    stimulus: Stimulus, arm: Arm, delivery: Delivery, bench: Workbench, row: dict[str, Any], calls: list[Answered]
) -> Reply:
    """One request with what retrieval brings."""
    question, spec = stimulus.question, bench.model(arm.text("model"))
    items = await retrieve(stimulus, arm, delivery, bench)
    gold = set(question.evidence.turn_ids)
    row.update(
        items=[item.id for item in items],
        n_items=len(items),
        n_missing=missing_images(items, delivery),
        n_gold_delivered=len(gold.intersection(turn for item in items for turn in item.turn_ids)),
    )
    placed = await place(stimulus, items, delivery)
    images = await prepare(bench.desk, all_slots(placed), delivery, stimulus.image_bytes)
    messages = render(placed, question.query(), delivery, stimulus.protocol, images, len(stimulus.items))
    request = Request(spec.model, messages, spec.params)
    row["n_images"] = len(request.images)
    row["image_tokens"] = sum(image_tokens(image.width, image.height) for image in request.images)
    answered = await call(bench, stimulus.cell, "answer", spec, request, int(arm["repeat"]), calls)
    row.update(usage_prompt=answered.reply.prompt_tokens, usage_completion=answered.reply.completion_tokens)
    return answered.reply


async def _judge(
    stimulus: Stimulus, bench: Workbench, spec: ModelSpec, row: dict[str, Any], calls: list[Answered]
) -> None:
    messages = judge_messages(stimulus.question, row["answer"], stimulus.protocol.refusal)
    request = Request(spec.model, messages, spec.params)
    verdicts: list[float | None] = []
    for vote in range(bench.judge_votes):  # one after the other: their order is that of the row's requests
        reply = (await call(bench, stimulus.cell, "judge", spec, request, vote, calls)).reply
        verdicts.append(parse_verdict(reply.text, reply.finish))
    found = tally(verdicts)
    row.update(metric="judge", score=found.verdict, scorer=JUDGE, scores={**row["scores"], **found.scores()})
    if found.verdict is None:  # a judge without a verdict has judged nothing
        row.update(status="unparsed", word="unparsed")
    elif found.verdict or row["word"] != "refused":
        row.update(word="right" if found.verdict else "wrong")


def _opening_row(stimulus: Stimulus, arm: Arm, bench: Workbench) -> dict[str, Any]:
    question = stimulus.question
    component = bench.registry.retrievals.get(arm.text("retrieval"))
    return {
        "cell": stimulus.cell,
        "suite": stimulus.suite,
        "corpus": stimulus.corpus,
        "question": question.id,
        "type": question.type,
        "split": question.split,
        "cluster": question.cluster,
        "labels": [*question.labels, *stimulus.scorer.labels(question)],
        "answerable": question.answerable,
        "arm": arm.as_dict(),
        "status": "error",
        "word": "error",
        "answer": None,
        "gold": question.gold,
        "refused": None,
        "metric": "",
        "score": None,
        "scores": {},
        "scorer": stimulus.scorer.version,
        "protocol": stimulus.protocol.label,
        "renderer": RENDERER if arm.text("state") == NO_STATE else AT_STATE,
        "items": [],
        "n_items": 0,
        "n_images": 0,
        "n_missing": 0,
        "n_gold": len(question.evidence.turn_ids),
        "n_gold_delivered": 0,
        "sees_gold": bool(component and component.oracle),
        "usage_prompt": None,
        "usage_completion": None,
        "image_tokens": None,
        "model_served": "",
        "fingerprint": "",
        "finish": "",
        "ingest_calls": 0,
        "ingest_tokens": 0,
        "ingest_bytes": 0,
        "error_kind": "",
        "error_message": "",
    }


def _kind(error: Exception) -> str:
    if isinstance(error, EndpointError):
        return error.kind
    if isinstance(error, DataError):
        return "data"
    return "config" if isinstance(error, BenchError) else "internal"


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
