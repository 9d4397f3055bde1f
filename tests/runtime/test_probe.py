"""A cell at a state: what is sent, what the row says of route and recall, and what is counted at the capture."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchsuite.errors import EndpointError
from benchsuite.models.wire import Reply
from benchsuite.runtime.agent import ROUNDS
from benchsuite.runtime.tools import TOOLS

from .lab import MODEL, NOTHING, RIGHT, Lab, asked_at, is_probe, rounds_of
from .world import CHART, MEMO, PROTOCOL, TURNS, called, probe_question, roles, text_of

QUESTION = probe_question()
TABLE = f"records/{CHART}_table.csv"


def asks(*calls, then=RIGHT):
    """Calls one tool after the other, then answers."""

    def says(request):
        if not is_probe(request):
            return Reply("x", prompt_tokens=50)
        done = sum(message.role == "assistant" for message in request.messages[asked_at(request) :])
        return calls[done] if done < len(calls) else then

    return says


def recall(query):
    return called("artifact_recall", json.dumps({"query": query}))


def read(path):
    return called("read_file", json.dumps({"path": path}))


def scores(folder, says, question=QUESTION, **changes):
    values = {key: changes.pop(key) for key in ("state", "recall") if key in changes}
    [row] = Lab(folder, says, **values).run([question], **changes)
    return row["scores"]


# what is sent


def test_a_probe_is_the_context_and_one_message_more(tmp_path):
    lab = Lab(tmp_path, asks())
    [row] = lab.run([QUESTION])
    [request] = lab.probes
    spoken = lab.scene.checkpoint.spoken
    assert roles(request.messages) == ["system", *(each.role for each in spoken), "user"]
    assert [part.kind for part in request.messages[-1].parts] == ["question", "tail"]
    assert request.messages[-1].blocks == (f"Question: {QUESTION.text}\n" + PROTOCOL.template("reply_format"),)
    assert request.tools == TOOLS
    assert request.params == MODEL.params
    assert [image.sha256 for image in request.images] == [TURNS[2].images[0].sha256]
    assert (row["status"], row["word"], row["score"], row["metric"]) == ("scored", "grounded", 1.0, "gc")
    assert (row["n_images"], row["image_tokens"], row["n_gold"], row["n_gold_delivered"]) == (1, 2, 1, 1)
    assert (row["renderer"], row["n_calls"], row["items"]) == ("conversation/1", 1, [])
    assert row["arm.state"] == "S1-d16k"


def test_pressure_adds_exactly_one_part(tmp_path):
    lab = Lab(tmp_path, asks())
    plain, pressed = (lab.run([QUESTION], condition=condition) for condition in ("C0", "Cm"))
    assert (plain[0]["arm.condition"], pressed[0]["arm.condition"]) == ("C0", "Cm")
    first, second = lab.probes
    assert first.messages[:-1] == second.messages[:-1]
    parts = list(second.messages[-1].parts)
    added = [part for part in parts if part not in first.messages[-1].parts]
    assert [part.text for part in added] == [PROTOCOL.template("pressure")]
    parts.remove(added[0])
    assert tuple(parts) == first.messages[-1].parts
    assert first.tools == second.tools


def test_what_is_retrieved_stands_before_the_probe_in_its_message(tmp_path):
    lab = Lab(tmp_path, asks(), state="S2")
    lab.run([QUESTION])
    [row] = lab.run([QUESTION], retrieval="newest", k=3, delivery="deployed")
    without, with_memory = lab.probes
    kinds = [part.kind for part in with_memory.messages[-1].parts]
    assert kinds[0] == "head"
    assert kinds[-2:] == ["question", "tail"]
    assert kinds.count("role") == row["n_items"] == 3
    assert kinds.count("question") == 1
    said = [each.id for each in lab.scene.checkpoint.transcript if each.kind == "text"]
    assert row["items"] == said[-3:][::-1] or row["items"] == said[-3:]
    assert roles(with_memory.messages) == roles(without.messages)
    assert [m.digest for m in with_memory.messages[:-1]] == [m.digest for m in without.messages[:-1]]


def test_retrieval_ranks_what_was_said_and_brings_gold_back_after_a_compaction(tmp_path):
    lab = Lab(tmp_path, asks(), state="S2")
    items = lab.stimulus(QUESTION).items
    assert [item.id for item in items[:6]] == [turn.id for turn in TURNS]
    assert not any(item.id.startswith("c1") for item in items)
    [plain] = lab.run([QUESTION])
    [row] = lab.run([QUESTION], retrieval="newest", k=len(items), delivery="pixels")
    assert (plain["n_gold_delivered"], plain["n_images"]) == (0, 0)
    assert (row["n_gold_delivered"], row["n_images"]) == (1, 1)


def test_a_delivery_that_withholds_pictures_withholds_them_everywhere(tmp_path):
    lab = Lab(tmp_path, asks(recall(CHART)))
    [row] = lab.run([QUESTION], delivery="direct+noimg")
    assert [request.images for request in lab.sent] == [[]] * len(lab.sent)
    assert row["n_images"] == 0
    assert roles(lab.probes[-1].messages)[-3:] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(("retention", "images"), [("all", 1), ("recent3", 0), ("none", 0)])
def test_retention_reaches_the_request(tmp_path, retention, images):
    lab = Lab(tmp_path, asks())
    [row] = lab.run([QUESTION], retention=retention)
    assert (row["n_images"], row["n_gold_delivered"]) == (images, images)
    assert text_of(lab.probes[0]).count(PROTOCOL.template("image_stub")) == 1 - images


def test_the_context_is_rendered_once_for_all_probes(tmp_path):
    lab = Lab(tmp_path, asks())
    lab.run([probe_question(id=f"mq_{n}", text=f"Number {n}?") for n in range(20)])
    first, *others = [request.messages[:-1] for request in lab.probes]
    assert len(others) == 19
    assert all(a is b for messages in others for a, b in zip(first, messages, strict=True))


def test_a_repeat_is_asked_again_and_the_capture_is_not(tmp_path):
    lab = Lab(tmp_path, asks())
    rows = [lab.run([QUESTION], repeat=repeat)[0] for repeat in (0, 1)]
    assert rows[0]["requests"] != rows[1]["requests"]
    assert len(lab.probes) == 2


# the trace


def test_an_answer_from_the_context_alone(tmp_path):
    found = scores(tmp_path, asks())
    assert (
        found["tool"] == found["tool_calls"] == found["recall_calls"] == found["gold_text"] == found["tool_limit"] == 0
    )
    assert (found["yes"], found["gc"]) == (1, 1)


def test_a_recall_that_hits_says_what_came_back(tmp_path):
    found = scores(tmp_path, asks(recall(CHART)))
    assert (found["tool"], found["tool_calls"], found["tool_faults"]) == (1, 1, 0)
    assert (found["recall_calls"], found["recall_hits"], found["recall_empty"]) == (1, 1, 0)
    assert (found["gold_text"], found["gold_pixels"]) == (1, 1)


def test_a_recall_that_brings_another_artefact_is_a_hit_without_gold(tmp_path):
    found = scores(tmp_path, asks(recall(MEMO)))
    assert (found["recall_hits"], found["gold_text"], found["gold_pixels"]) == (1, 0, 0)


def test_a_recall_that_is_empty(tmp_path):
    found = scores(tmp_path, asks(recall("zeppelin")))
    assert (found["tool"], found["recall_hits"], found["recall_empty"], found["gold_text"]) == (1, 0, 1, 0)


def test_gold_may_come_as_text_alone_or_as_pixels_alone(tmp_path):
    text = scores(tmp_path / "a", asks(read(TABLE)))
    pixels = scores(tmp_path / "b", asks(read(f"artifacts/{CHART}.png")))
    assert (text["gold_text"], text["gold_pixels"], text["recall_calls"]) == (1, 0, 0)
    assert (pixels["gold_text"], pixels["gold_pixels"], pixels["tool"]) == (0, 1, 1)


def test_an_unanswerable_question_has_no_gold_to_come_back(tmp_path):
    question = probe_question(answerable=False, gold="NONE", evidence=type(QUESTION.evidence)())
    found = scores(tmp_path, asks(recall(CHART), then=NOTHING), question)
    assert (found["recall_hits"], found["gold_text"], found["gold_pixels"]) == (1, 0, 0)
    assert (found["hr_free"], found["hr"]) == (1, 0)


@pytest.mark.parametrize(
    ("recalls", "hits", "empty", "gold"), [("intact", 1, 0, 1), ("compacted", 1, 0, 0), ("norecall", 0, 1, 0)]
)
def test_the_surface_after_a_compaction_decides_what_a_recall_brings(tmp_path, recalls, hits, empty, gold):
    found = scores(tmp_path, asks(recall(f"the chart {CHART}")), state="S2", recall=recalls)
    assert (found["recall_hits"], found["recall_empty"]) == (hits, empty)
    assert (found["gold_text"], found["gold_pixels"]) == (gold, gold)
    assert found["compactions"] == 1


def test_calls_that_are_none_are_faults_and_no_route(tmp_path):
    found = scores(tmp_path, asks(called("open", "{}"), called("read_file", "no json")))
    assert (found["tool"], found["tool_calls"], found["tool_faults"]) == (0, 0, 2)
    mixed = scores(tmp_path, asks(called("open", "{}"), read(TABLE)))
    assert (mixed["tool"], mixed["tool_calls"], mixed["tool_faults"], mixed["gold_text"]) == (1, 1, 1, 1)


def test_a_model_that_loops_has_no_answer_and_keeps_its_trace(tmp_path):
    lab = Lab(tmp_path, lambda request: recall(CHART) if is_probe(request) else Reply("x", prompt_tokens=50))
    [row] = lab.run([QUESTION])
    assert (row["status"], row["word"], row["score"]) == ("unparsed", "unparsed", None)
    assert (row["n_calls"], len(lab.probes)) == (ROUNDS, ROUNDS)
    assert row["scores"]["tool_limit"] == 1
    assert row["scores"]["recall_hits"] == row["scores"]["tool_calls"] == ROUNDS
    assert row["scores"]["eit_capture"] == 50
    assert "gc" not in row["scores"]


def test_an_unparsed_row_keeps_the_trace_and_has_no_score(tmp_path):
    [row] = Lab(tmp_path, asks(recall(CHART), then="It was 48.35, I think.")).run([QUESTION])
    assert (row["status"], row["score"]) == ("unparsed", None)
    assert {"gc", "sc", "vc", "yes"}.isdisjoint(row["scores"])
    assert (row["scores"]["tool"], row["scores"]["gold_text"]) == (1, 1)


def test_tool_text_that_no_parser_accepts_is_marked(tmp_path):
    text = f'{RIGHT}\nartifact_recall(query="{CHART}")'
    assert scores(tmp_path, asks(then=text))["pseudo_tool"] == 1
    assert scores(tmp_path, asks(then=RIGHT))["pseudo_tool"] == 0


def test_usage_is_of_all_requests_or_of_none(tmp_path):
    def says(request):
        if not is_probe(request):
            return Reply("x", prompt_tokens=5)
        last = rounds_of(request)
        return Reply(RIGHT, prompt_tokens=200, completion_tokens=9) if last else Reply(
            "", prompt_tokens=100, completion_tokens=4, tool_calls=recall(CHART).tool_calls
        )  # fmt: skip

    [row] = Lab(tmp_path, says).run([QUESTION])
    assert (row["usage.prompt"], row["usage.completion"]) == (300, 13)
    assert row["scores"]["eit_probe"] == 100
    [row] = Lab(tmp_path, asks(recall(CHART))).run([QUESTION])
    assert (row["usage.prompt"], row["usage.completion"]) == (None, None)
    assert "eit_probe" not in row["scores"]


def test_a_call_that_fails_is_the_cells_error(tmp_path):
    def says(request):
        if is_probe(request) and rounds_of(request):
            raise EndpointError("timeout", "scripted", "no answer in 300 s")
        return recall(CHART)

    [row] = Lab(tmp_path, says).run([QUESTION])
    assert (row["status"], row["error.kind"], row["error.message"]) == (
        "error",
        "timeout",
        "scripted: no answer in 300 s",
    )
    assert row["scores"] == {}
    assert row["n_calls"] == 1


# the count at the capture


def test_the_capture_is_asked_once_per_model_and_checkpoint(tmp_path):
    lab = Lab(tmp_path, asks(), state="S2")
    rows = lab.run([probe_question(id=f"mq_{n}", text=f"Number {n}?") for n in range(10)])
    [request] = lab.captures
    checkpoint = lab.scene.checkpoint
    captured = [checkpoint.transcript[at] for at in checkpoint.captured]
    assert roles(request.messages) == ["system", *(each.role for each in captured)]
    assert request.messages[-1].role == "user"
    assert len(request.images) == 1  # before the compaction the picture was in view
    assert request.params == {**MODEL.params, "max_tokens": 1}
    assert request.tools == TOOLS
    assert {row["scores"]["eit_capture"] for row in rows} == {50}
    assert {row["n_calls"] for row in rows} == {1}  # the capture is no call of a cell
    [line] = [line for line in map(json.loads, lab.calls) if line["role"] == "capture"]
    assert line["cell"] == f"checkpoint:{checkpoint.id}"
    lab.run([QUESTION], delivery="direct+noimg")
    lab.run([QUESTION], retention="none")
    assert len(lab.captures) == 3  # another delivery shows another context


def test_each_model_counts_for_itself(tmp_path):
    lab = Lab(tmp_path, asks())
    lab.bench.models = {**lab.bench.models, "other": replace(MODEL, name="other", model="other")}
    for model in (MODEL.name, "other", MODEL.name, "other"):
        lab.run([QUESTION], model=model)
    assert [request.model for request in lab.captures] == [MODEL.model, "other"]


def test_no_usage_is_no_count(tmp_path):
    [row] = Lab(tmp_path, lambda request: RIGHT).run([QUESTION])
    assert not {"eit_capture", "eit_probe", "eit_capture_failed"} & set(row["scores"])
    assert {"depth", "active", "compactions"} <= set(row["scores"])


def test_a_capture_that_fails_is_said_and_no_cell_fails_for_it(tmp_path):
    def says(request):
        if not is_probe(request):
            raise EndpointError("http", "scripted", "context too long", 400)
        return Reply(RIGHT, prompt_tokens=9)

    lab = Lab(tmp_path, says)
    rows = lab.run([QUESTION, probe_question(id="mq_2", text="Another?")])
    assert [row["status"] for row in rows] == ["scored", "scored"]
    assert {row["scores"]["eit_capture_failed"] for row in rows} == {1}
    assert not any("eit_capture" in row["scores"] for row in rows)
    assert len(lab.captures) == 1


def test_the_depths_are_those_of_the_checkpoint(tmp_path):
    lab = Lab(tmp_path, asks(), state="S2-d20k")
    found = lab.run([QUESTION])[0]["scores"]
    checkpoint = lab.scene.checkpoint
    assert (found["depth"], found["active"], found["compactions"]) == (checkpoint.depth, checkpoint.active, 1)


def test_nothing_in_a_request_tells_the_state_or_the_time(tmp_path):
    lab = Lab(tmp_path, asks(), state="S2")
    lab.run([QUESTION])
    texts = text_of(lab.probes[0])
    checkpoint = lab.scene.checkpoint
    years = [f"{year}-" for year in range(2027, 2040)]
    for secret in ["S2", checkpoint.id[:8], "checkpoint", QUESTION.id, "f0.task", *years]:
        assert secret not in texts
