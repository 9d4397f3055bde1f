"""Conversations with tools and the three-line answer, over real HTTP: calls, names, refusals."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

SYSTEM = {"role": "system", "content": 'You keep files for one user. If nothing supports an answer, say "NONE".'}
FORM = "Answer in three lines:\nANSWERABLE=YES or NO\nSOURCE=one id\nANSWER=the value\n"
OTHER_FORM = "Say it thus and no more. ANSWERABLE=YES|NO, then SOURCE=<id>, then ANSWER=<value>"
GYM = [("Locker", "B-417"), ("Visits left", "38"), ("Coach", "Tove Brandt")]
FERRY = [("Cabin", "6021"), ("Deck", "9"), ("Car lane", "L14")]


def tool(name: str, text: str, argument: str = "query") -> dict[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}


OPEN, SEARCH, RECALL = (
    tool("open_page", "Reads one page.", "path"),
    tool("note_search", "Searches the notes."),
    tool("thing_recall", "Brings back a thing."),
)


def picture(data: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(data).decode()}}


def user(text: str, *images: bytes) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}, *map(picture, images)] if images else text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def asks(question: str, before: str = "", form: str = FORM) -> dict[str, Any]:
    return user(f"{before}Question: {question}\n{form}")


@pytest.fixture(scope="module")
def talk(draw: Any) -> list[dict[str, Any]]:
    return [
        SYSTEM,
        user("My card of the Iron Yard gym. Saved as shots/gym.png.", draw.slip("Iron Yard gym", GYM)),
        assistant("Stored under px_51c0de77."),
        user("The slip of the Norhavn ferry. Saved as shots/ferry.png.", draw.slip("Norhavn ferry", FERRY)),
        assistant("Kept."),
        user("In notes/garage.md it says that the winter tyres lie on shelf 12."),
        assistant("Fine."),
    ]


@pytest.fixture(scope="module")
def post(served: Any) -> Any:
    def post(messages: list[dict[str, Any]], model: str = "embedded", **more: Any) -> tuple[int, Any]:
        data = json.dumps({"model": model, "messages": messages, **more}).encode()
        try:
            request = urllib.request.Request(served.base_url + "/v1/chat/completions", data)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    return post


@pytest.fixture(scope="module")
def say(post: Any) -> Any:
    def say(messages: list[dict[str, Any]], **more: Any) -> Any:
        status, reply = post(messages, **more)
        assert status == 200, reply
        return reply["choices"][0]["message"]

    return say


def lines(message: Any) -> tuple[str, ...]:
    assert "tool_calls" not in message
    rows = message["content"].split("\n")
    assert [row.partition("=")[0] for row in rows] == ["ANSWERABLE", "SOURCE", "ANSWER"]
    return tuple(row.partition("=")[2] for row in rows)


@pytest.mark.parametrize("form", [FORM, OTHER_FORM])
def test_the_answer_stands_in_three_lines_with_its_source(say: Any, talk: Any, form: str) -> None:
    gym = say([*talk, asks("What is the locker at the Iron Yard gym?", form=form)])
    assert lines(gym) == ("YES", "px_51c0de77", "B-417")  # the id of the reply, before the path
    ferry = say([*talk, asks("Which cabin is on the Norhavn ferry slip?", form=form)])
    assert lines(ferry) == ("YES", "shots/ferry.png", "6021")
    tyres = say([*talk, asks("On which shelf number do the winter tyres lie?", form=form)], model="embedded-forced")
    assert lines(tyres)[1:] == ("notes/garage.md", "12")


def test_a_question_without_its_mark_is_found_above_the_lines(say: Any, talk: Any) -> None:
    text = f"What is the locker at the Iron Yard gym?\n{FORM}"
    assert lines(say([*talk, user(text)])) == ("YES", "px_51c0de77", "B-417")


def test_nothing_there_is_refused_and_forced_answers_all_the_same(say: Any, talk: Any) -> None:
    question = asks("What is the wifi password at Granny Olsen?")
    assert lines(say([*talk, question])) == ("NO", "NONE", "NONE")
    assert lines(say([*talk, question], model="embedded-forced"))[0] == "YES"
    assert lines(say([SYSTEM, question])) == ("NO", "NONE", "NONE")
    assert lines(say([SYSTEM, question], model="embedded-forced")) == ("YES", "NONE", "NONE")


def test_without_a_name_the_source_is_none(say: Any, draw: Any) -> None:
    shown = user("My card of the Iron Yard gym.", draw.slip("Iron Yard gym", GYM))
    found = say([SYSTEM, shown, assistant("Nice."), asks("What is the locker at the Iron Yard gym?")])
    assert lines(found) == ("YES", "NONE", "B-417")


def test_the_same_pixels_under_other_names_take_those_names(say: Any, draw: Any) -> None:
    """The name is read from the request: renamed, the same picture has the other name."""
    data = draw.slip("Iron Yard gym", GYM)
    for name in ("shots/a.png", "qz_0a1b2c3d", "deep/er/file-2.webp"):
        shown = user(f"My card of the Iron Yard gym is {name}.", data)
        assert lines(say([SYSTEM, shown, asks("What is the locker at the Iron Yard gym?")]))[1] == name


def called(message: Any) -> tuple[str, Any]:
    assert message["content"] is None
    (call,) = message["tool_calls"]
    assert call["type"] == "function"
    assert call["id"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def after(message: Any, text: str) -> list[dict[str, Any]]:
    (call,) = message["tool_calls"]
    return [message, {"role": "tool", "tool_call_id": call["id"], "content": text}]


def test_a_demanded_tool_is_called_once_and_its_result_is_read(say: Any, post: Any, talk: Any) -> None:
    question = asks("What is the berth of the sloop Marlin?", "Before you answer, call thing_recall.\n")
    tools = [OPEN, SEARCH, RECALL]
    _, reply = post([*talk, question], tools=tools)
    assert reply["choices"][0]["finish_reason"] == "tool_calls"
    call = reply["choices"][0]["message"]
    assert called(call) == ("thing_recall", {"query": "What is the berth of the sloop Marlin?"})
    found = "[hb_77aa01]\n[logs/marlin.md]\nThe sloop Marlin has the berth 27."
    assert lines(say([*talk, question, *after(call, found)], tools=tools)) == ("YES", "logs/marlin.md", "27")
    assert lines(say([*talk, question, *after(call, "No match.")], tools=tools)) == ("NO", "NONE", "NONE")


def test_a_demand_is_met_even_where_the_answer_is_known_and_by_the_forced_reader(say: Any, talk: Any) -> None:
    question = asks("What is the locker at the Iron Yard gym?", "Call note_search first.\n")
    for model in ("embedded", "embedded-forced"):
        call = say([*talk, question], tools=[RECALL, SEARCH], model=model)
        assert called(call)[0] == "note_search"
        rest = [*talk, question, *after(call, "No match.")]
        assert lines(say(rest, tools=[RECALL, SEARCH], model=model)) == ("YES", "px_51c0de77", "B-417")


def test_two_demanded_tools_are_called_one_after_the_other(say: Any, talk: Any) -> None:
    question = asks("What is the berth of the sloop Marlin?", "Use thing_recall and note_search.\n")
    context, names = [*talk, question], []
    for _ in range(4):
        message = say(context, tools=[SEARCH, RECALL])
        if "tool_calls" not in message:
            break
        names.append(called(message)[0])
        context += after(message, "No match.")
    assert names == ["note_search", "thing_recall"]
    assert lines(message) == ("NO", "NONE", "NONE")


def test_before_a_refusal_a_searching_tool_is_asked_once(say: Any, talk: Any) -> None:
    question = asks("What is the berth of the sloop Marlin?")
    call = say([*talk, question], tools=[OPEN, SEARCH, RECALL])
    assert called(call)[0] == "thing_recall"
    assert called(say([*talk, question], tools=[OPEN, SEARCH]))[0] == "note_search"
    assert lines(say([*talk, question], tools=[OPEN])) == ("NO", "NONE", "NONE")
    assert lines(say([*talk, question], tools=[RECALL], tool_choice="none")) == ("NO", "NONE", "NONE")
    assert lines(say([*talk, question], tools=[RECALL], model="embedded-forced"))[0] == "YES"
    ended = say([*talk, question, *after(call, "No match.")], tools=[OPEN, SEARCH, RECALL])
    assert lines(ended) == ("NO", "NONE", "NONE")
    known = asks("What is the locker at the Iron Yard gym?")
    assert lines(say([*talk, known], tools=[OPEN, SEARCH, RECALL])) == ("YES", "px_51c0de77", "B-417")


def test_pictures_that_a_tool_returned_are_read(say: Any, draw: Any) -> None:
    question = asks("What is the locker at the Iron Yard gym?", "Call thing_recall.\n")
    call = say([SYSTEM, question], tools=[RECALL])
    result = "[px_51c0de77]\n[notes/card.md]\nThis is the card of the Iron Yard gym.\n"
    shown = user("Pictures returned by thing_recall:\n", draw.slip("Card", GYM))
    found = say([SYSTEM, question, *after(call, result), shown], tools=[RECALL])
    assert lines(found) == ("YES", "px_51c0de77", "B-417")


def test_tools_that_came_before_the_question_are_part_of_the_talk(say: Any, talk: Any) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "open_page", "arguments": '{"path": "logs/marlin.md"}'},
    }
    told = {"role": "tool", "tool_call_id": "c1", "content": "The sloop Marlin has the berth 27."}
    earlier = [
        user("Look it up."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        told,
        assistant("Ok."),
    ]
    found = say([*talk, *earlier, asks("What is the berth of the sloop Marlin?")], model="embedded-forced")
    assert lines(found) == ("YES", "logs/marlin.md", "27")
    broken = {**call, "function": {"name": "open_page", "arguments": "{half"}}
    earlier[1] = {"role": "assistant", "content": "", "tool_calls": [broken]}
    found = say([*talk, *earlier, asks("What is the berth of the sloop Marlin?")], model="embedded-forced")
    assert lines(found) == ("YES", "NONE", "27")


def test_plain_questions_may_use_tools_too(say: Any, talk: Any) -> None:
    question = user("Question: What is the berth of the sloop Marlin?")
    call = say([*talk, question], tools=[SEARCH])
    assert called(call) == ("note_search", {"query": "What is the berth of the sloop Marlin?"})
    done = say([*talk, question, *after(call, "[logs/marlin.md]\nThe sloop Marlin has the berth 27.")], tools=[SEARCH])
    assert done["content"] == "27"


def test_usage_counts_schemas_calls_and_results(post: Any, talk: Any) -> None:
    def tokens(messages: list[dict[str, Any]], **more: Any) -> tuple[int, int]:
        usage = post(messages, **more)[1]["usage"]
        return usage["prompt_tokens"], usage["completion_tokens"]

    question = asks("What is the berth of the sloop Marlin?")
    bare, with_tools = tokens([*talk, question])[0], tokens([*talk, question], tools=[SEARCH])
    assert with_tools[0] > bare + 10
    assert with_tools[1] > 5
    call = post([*talk, question], tools=[SEARCH])[1]["choices"][0]["message"]
    told = tokens([*talk, question, *after(call, "seven plain words stand in this line")], tools=[SEARCH])[0]
    assert told == with_tools[0] + with_tools[1] + 7


def call_of(**function: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("messages", "more", "words"),
    [
        ([user("x")], {"tools": [{"type": "function"}]}, "tools.0.function"),
        ([user("x")], {"tools": [{"type": "function", "function": {"name": ""}}]}, "tools.0.function.name"),
        ([user("x")], {"tools": [SEARCH], "tool_choice": "always"}, "tool_choice"),
        (
            [user("x")],
            {"tools": [SEARCH], "tool_choice": {"type": "function", "function": {"name": "other"}}},
            "no tool 'other'",
        ),
        ([{"role": "tool", "tool_call_id": "lost", "content": "x"}, user("x")], {}, "messages.0.tool_call_id: 'lost'"),
        ([call_of(arguments="{}"), user("x")], {}, "messages.0.tool_calls.0.function.name"),
        (
            [user("x")],
            {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"properties": [1]}}}]},
            "tools.0.function.parameters",
        ),
    ],
)
def test_malformed_tools_are_one_line_of_400(post: Any, messages: Any, more: Any, words: str) -> None:
    status, reply = post(messages, **more)
    assert status == 400
    assert words in reply["error"]["message"]
    assert "\n" not in reply["error"]["message"]
