"""A run at the paper's depths against a logging endpoint: what it was sent holds what the rows say (MIRAGE table 8)."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .mirage_lab import (
    NOTHING,
    SUMMARISED,
    WRITTEN,
    asked,
    bank_json,
    images_in,
    is_capture,
    is_probe,
    is_summary,
    often,
    playing,
    reference_count,
    rows_of,
    run,
    said,
    use_cases,
    words,
)

DEPTHS = {"S1-d0": 23_184, "S1-d50k": 50_217, "S1-d80k": 80_436, "S2": 100_081}
PAPER = ("--bench-axis", "length=paper", "--bench-limit", "2")


def usage_of(body):
    """What this endpoint says a request costs: a number of its own for each body."""
    return {"prompt_tokens": 1000 + len(json.dumps(body)) // 7, "completion_tokens": 3}


def states_of(project, bodies):
    """The state of each probe that was sent, by what the rows say of the contexts."""
    active = {row["arm.state"]: row["scores.active"] for row in rows_of(project)}
    return [
        min(active, key=lambda state: abs(active[state] - reference_count(body["messages"][:-1]))) for body in bodies
    ]


@pytest.mark.parametrize("workers", [*often(0), 2])
def test_the_papers_depths_are_what_is_sent(project, endpoint, workers):
    use_cases(project, "test_states")
    endpoint.script = playing(lambda body: said(NOTHING, usage_of(body)))
    result = run(project, *PAPER, workers=workers)
    assert result.ret == 0, result.stdout.str()
    rows = rows_of(project)
    assert len(rows) == 2 * len(DEPTHS)
    for row in rows:
        assert row["scores.depth"] == pytest.approx(DEPTHS[row["arm.state"]], rel=0.02)
        if row["arm.state"] != "S2":
            assert row["scores.active"] == row["scores.depth"]

    probes = list(filter(is_probe, endpoint.bodies))
    captures = list(filter(is_capture, endpoint.bodies))
    found = states_of(project, probes)
    assert Counter(found) == dict.fromkeys(DEPTHS, 2)
    depth = {row["arm.state"]: row["scores.depth"] for row in rows}
    active = {row["arm.state"]: row["scores.active"] for row in rows}
    for body, state in zip(probes, found, strict=True):
        counted = reference_count(body["messages"][:-1])
        assert counted == pytest.approx(active[state], rel=0.02)
        if state != "S2":  # there the question itself is not small beside the context
            assert reference_count(body["messages"]) == pytest.approx(active[state], rel=0.02)
    counts = {json.dumps(body, sort_keys=True): reference_count(body["messages"]) for body in captures}
    assert len(counts) == len(DEPTHS)  # one for each checkpoint, whoever asks
    for counted, state in zip(sorted(counts.values()), DEPTHS, strict=True):
        assert counted == pytest.approx(depth[state], rel=0.02)
        assert counted == pytest.approx(DEPTHS[state], rel=0.02)

    assert len(list(filter(is_summary, endpoint.bodies))) == 1
    planted = [turn["text"] for turn in bank_json()["splits"]["main"]["turns"]]
    for body, state in zip(probes, found, strict=True):
        texts = words(body)
        held = "\n".join(texts)
        assert (WRITTEN in held, SUMMARISED in held) == ((True, True) if state == "S2" else (False, False))
        assert [text in texts for text in planted] == [state != "S2"] * len(planted)
        assert len(images_in(body)) == (0 if state == "S2" else 6)

    told = {key: usage_of(json.loads(key))["prompt_tokens"] for key in counts}
    at_capture = {
        state: told[key] for (key, _), state in zip(sorted(counts.items(), key=lambda e: e[1]), DEPTHS, strict=True)
    }
    at_probe = {
        (state, asked(body)): usage_of(body)["prompt_tokens"] for body, state in zip(probes, found, strict=True)
    }
    text = {each["id"]: each["question"] for each in bank_json()["splits"]["main"]["probes"]}
    for row in rows:
        assert row["scores.eit_capture"] == at_capture[row["arm.state"]]
        assert row["scores.eit_probe"] == at_probe[row["arm.state"], text[row["question"]]]


def test_what_the_endpoint_does_not_count_is_not_reported(project, endpoint):
    use_cases(project, "test_states")
    endpoint.script = playing(lambda body: said(NOTHING), lambda body: said(WRITTEN))
    result = run(project, *PAPER)
    assert result.ret == 0, result.stdout.str()
    for row in rows_of(project):
        assert row["status"] == "scored"
        assert row["scores.depth"] == pytest.approx(DEPTHS[row["arm.state"]], rel=0.02)
        assert not [name for name in row if name.startswith("scores.eit")]


@pytest.mark.parametrize("workers", [0, *often(2)])
def test_two_models_are_asked_at_the_same_checkpoints(project, endpoint, workers):
    """The second model is another name at the same endpoint; only that name differs in what is sent."""
    use_cases(project, "test_states")
    endpoint.script = playing(lambda body: NOTHING)
    base = endpoint.model.rpartition("#")[0]
    result = run(project, *PAPER, "--bench-model", f"{base}#scripted,{base}#other", workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert len(list(filter(is_summary, endpoint.bodies))) == 1
    sent: dict[str, set[str]] = {}
    for body in endpoint.bodies:
        if not is_summary(body):
            sent.setdefault(body["model"], set()).add(json.dumps({**body, "model": ""}, sort_keys=True))
    assert sent["scripted"] == sent["other"]
    assert len(sent["other"]) == 3 * len(DEPTHS)

    calls = [json.loads(line) for file in (project.runs[0] / "calls").iterdir() for line in file.open()]
    states = {row["cell"]: (row["arm.state"], row["arm.model"]) for row in rows_of(project)}
    prefixes: dict[str, dict[str, set[str]]] = {}
    for call in calls:
        if call["cell"] in states:
            state, model = states[call["cell"]]
            prefix = json.dumps([call["tools"], call["messages"][:-1]])
            prefixes.setdefault(state, {}).setdefault(model, set()).add(prefix)
    assert list(map(len, prefixes.values())) == [2] * len(DEPTHS)
    for by_model in prefixes.values():
        assert by_model["scripted"] == by_model["other"]
        assert len(by_model["other"]) == 1
