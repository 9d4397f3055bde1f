"""The agent loop: what is sent after a call, and when it ends."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchsuite.errors import EndpointError
from benchsuite.models.wire import Message, Part, Reply, WireImage
from benchsuite.runtime.agent import ROUNDS, Hands, converse
from benchsuite.runtime.parsers import HermesParser, OpenAIParser
from benchsuite.runtime.tools import Surface
from benchsuite.runtime.workspace import BlobStore, Workspace

from .world import CHART, GOLD, MEMO, PROTOCOL, called, play, roles

CONTEXT = (Message("system", (Part("instruction", "Be kind."),)), Message("user", (Part("question", "June?"),)))


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agent")
    return Surface(Workspace(play("S1-d0", folder).workspace, BlobStore(folder / "blobs")), "intact", 0)


def talk_of(surface, replies, parser=None, shows=True):
    """The talk and what was sent in each request; replies are given one after the other, the last one again."""
    sent = []

    async def ask(messages):
        sent.append(messages)
        reply = replies[min(len(sent), len(replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply

    async def show(images):
        wire = [WireImage(i.sha256, i.sha256, i.mime, i.width, i.height) for i in images]
        return tuple(Part("image", image=each) for each in wire) if shows else ()

    hands = Hands(ask, parser or OpenAIParser(), surface, show, PROTOCOL)
    return asyncio.run(converse(CONTEXT, hands)), sent


def recall(query):
    return json.dumps({"query": query})


def test_an_answer_without_a_call_is_one_request(surface):
    talk, sent = talk_of(surface, ["48.35"])
    assert (talk.text, talk.messages, talk.results) == ("48.35", [], [])
    assert (talk.malformed, talk.limited) == (False, False)
    assert sent == [CONTEXT]


def test_a_call_is_run_and_its_result_and_pictures_follow(surface):
    talk, sent = talk_of(surface, [called("artifact_recall", recall(CHART)), "48.35"])
    assert talk.text == "48.35"
    assert sent[1] == (*CONTEXT, *talk.messages)
    assert roles(talk.messages) == ["assistant", "tool", "user"]
    said, result, pictures = talk.messages
    assert said.calls[0].name == "artifact_recall"
    assert said.blocks == ()
    assert result.call_id == said.calls[0].id == "call_1"
    assert GOLD in result.blocks[0]
    assert pictures.blocks[0] == "Pictures returned by artifact_recall:\n"
    assert isinstance(pictures.blocks[1], WireImage)
    assert [made.name for made, _ in talk.results] == ["artifact_recall"]


def test_two_calls_in_one_reply_get_two_results_and_one_message_of_pictures(surface):
    both = called("artifact_recall", recall(CHART), recall(MEMO), recall(f"artifacts/{CHART}.png"))
    talk, sent = talk_of(surface, [both, "done"])
    assert len(sent) == 2
    assert roles(talk.messages) == ["assistant", "tool", "tool", "tool", "user"]
    assert [m.call_id for m in talk.messages[1:4]] == [call.id for call in talk.messages[0].calls]
    notes = [block for block in talk.messages[4].blocks if isinstance(block, str)]
    assert notes == ["Pictures returned by artifact_recall:\n"] * 2
    assert len(talk.messages[4].blocks) == 4


def test_random_ids_of_an_endpoint_are_not_sent_back(surface):
    sent = []
    for salt in "ab":
        replies = [called("memory_search", recall("ferry"), recall("memo")), called("read_file", "{}"), "done"]
        for reply in replies[:2]:
            for call in reply.tool_calls:
                call["id"] += salt
        sent.append(talk_of(surface, replies)[1])
    assert sent[0] == sent[1]
    assert [m.call_id for m in sent[0][-1] if m.role == "tool"] == ["call_1", "call_2", "call_3"]


def test_pictures_that_the_delivery_withholds_leave_no_message(surface):
    talk, _ = talk_of(surface, [called("artifact_recall", recall(CHART)), "done"], shows=False)
    assert roles(talk.messages) == ["assistant", "tool"]


def test_what_is_said_beside_a_call_stays(surface):
    reply = Reply("Let me look.", tool_calls=called("memory_search", recall("ferry")).tool_calls)
    talk, _ = talk_of(surface, [reply, "48.35"])
    assert talk.messages[0].blocks == ("Let me look.",)
    assert talk.text == "48.35"


def test_a_fault_in_a_call_is_told_and_the_turn_goes_on(surface):
    talk, sent = talk_of(surface, [called("open", "{}"), called("read_file", "no json"), "48.35"])
    assert talk.text == "48.35"
    assert [bool(result.fault) for _, result in talk.results] == [True, True]
    assert "There is no tool 'open'" in sent[1][-1].blocks[0]
    assert sent[2][-1].blocks[0] == "The arguments of read_file are no JSON."


def test_a_model_that_goes_on_calling_ends_after_the_last_round(surface):
    talk, sent = talk_of(surface, [called("memory_search", recall("ferry"))])
    assert len(sent) == ROUNDS
    assert (talk.limited, talk.text) == (True, "")
    assert len(talk.results) == ROUNDS
    talk, sent = talk_of(surface, [*[called("memory_search", recall("ferry"))] * (ROUNDS - 1), "48.35"])
    assert (talk.limited, talk.text, len(sent)) == (False, "48.35", ROUNDS)


def test_tool_text_that_is_no_call_is_marked(surface):
    talk, sent = talk_of(surface, ["<tool_call>read_file(x)</tool_call>"], HermesParser())
    assert (talk.malformed, len(sent), talk.results) == (True, 1, [])
    first = '<tool_call>{"name": "memory_search", "arguments": {"query": "ferry"}}</tool_call> [TOOL_CALLS] rest'
    talk, sent = talk_of(surface, [first, "48.35"], HermesParser())
    assert (talk.malformed, talk.text, len(sent)) == (True, "48.35", 2)  # also of an earlier reply
    assert talk_of(surface, ["48.35"], HermesParser())[0].malformed is False


def test_a_call_that_fails_is_raised(surface):
    for replies in (
        [EndpointError("timeout", "m", "late")],
        [called("read_file", "{}"), EndpointError("http", "m", "no")],
    ):
        with pytest.raises(EndpointError):
            talk_of(surface, replies)
