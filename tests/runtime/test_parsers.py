"""Tool calls in replies: OpenAI's field, Hermes blocks, adapters for a model's own tokens, pseudo-tool text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.errors import ConfigError
from benchsuite.models.reply import parse_reply
from benchsuite.models.spec import ModelSpec, embedded_spec, parse_models
from benchsuite.models.wire import Reply, ToolCall
from benchsuite.registry import Registry
from benchsuite.runtime import adapters, parsers
from benchsuite.runtime.adapters import from_chat_tokens, from_code_fences
from benchsuite.runtime.parsers import (
    AdaptedParser,
    HermesParser,
    OpenAIParser,
    Parsed,
    ToolParser,
    adapter_check,
    check_parser,
    is_pseudo_tool,
)

TOOLS = ("artifact_recall", "memory_search", "read_file")
CALL = '{"name": "artifact_recall", "arguments": {"query": "steps"}}'
ANSWER = "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412"
RECALL = ("artifact_recall", {"query": "steps"})

INTERNVL = AdaptedParser(from_chat_tokens, HermesParser())
GEMMA = AdaptedParser(from_code_fences, HermesParser())


def calls(parsed: Parsed) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in parsed.calls]


def listed(*functions: Mapping[str, Any]) -> Reply:
    return Reply("", tool_calls=[{"id": f"c{at}", "type": "function", "function": f} for at, f in enumerate(functions)])


# OpenAI


def test_the_calls_of_a_body_as_it_comes():
    function = {"name": "read_file", "arguments": '{"path": "a.md"}'}
    message = {"content": None, "tool_calls": [{"id": "x1", "type": "function", "function": function}]}
    reply = parse_reply(json.dumps({"choices": [{"message": message}]}).encode(), 0.0, 1)
    assert OpenAIParser().parse(reply) == Parsed("", (ToolCall("x1", "read_file", '{"path": "a.md"}'),))


def test_arguments_stay_the_text_that_they_are():
    reply = listed({"name": "read_file", "arguments": "{broken"}, {"name": "unknown", "arguments": ""})
    parsed = OpenAIParser().parse(reply)
    assert [call.arguments for call in parsed.calls] == ["{broken", ""]
    assert not parsed.malformed  # whoever executes them says what is wrong


def test_arguments_as_an_object_and_none_at_all():
    parsed = OpenAIParser().parse(listed({"name": "read_file", "arguments": {"path": "é"}}, {"name": "read_file"}))
    assert [call.arguments for call in parsed.calls] == ['{"path": "é"}', "{}"]


@pytest.mark.parametrize(
    "call", [{}, {"function": None}, {"function": {}}, {"function": {"name": 3}}, {"function": {"name": " "}}]
)
def test_an_entry_that_is_no_call_is_malformed(call):
    parsed = OpenAIParser().parse(Reply("text", tool_calls=[call]))
    assert parsed == Parsed("text", (), malformed=True)


def test_a_call_without_an_id_gets_its_place():
    reply = Reply("", tool_calls=[{"function": {"name": "a"}}, {"id": "", "function": {"name": "b"}}])
    assert [call.id for call in OpenAIParser().parse(reply).calls] == ["call_1", "call_2"]


def test_text_beside_calls_is_kept():
    reply = Reply(" I look.\n", tool_calls=[{"id": "a", "function": {"name": "read_file", "arguments": "{}"}}])
    assert OpenAIParser().parse(reply).text == " I look.\n"


def test_a_hermes_block_is_no_call_of_openai():
    parsed = OpenAIParser().parse(Reply(f"<tool_call>{CALL}</tool_call>"))
    assert parsed == Parsed(f"<tool_call>{CALL}</tool_call>", (), malformed=True)


# Hermes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"<tool_call>{CALL}</tool_call>", ""),
        (f"<tool_call>\n{CALL}\n</tool_call>\n", ""),
        (f"I look.\n<tool_call>\n  {CALL}\n</tool_call>", "I look."),
        (f"<tool_call>{CALL}", ""),  # the end mark was the stop token
        (f"<think>Which tool?</think>\n<tool_call>{CALL}</tool_call>", "<think>Which tool?</think>"),
        (
            f"<think><tool_call>{CALL}</tool_call></think><tool_call>{CALL}</tool_call>",
            f"<think><tool_call>{CALL}</tool_call></think>",
        ),
        ('<tool_call>{"name": "artifact_recall", "arguments": "{\\"query\\": \\"steps\\"}"}</tool_call>', ""),
        ('<tool_call>{"name": "artifact_recall", "parameters": {"query": "steps"}}</tool_call>', ""),
    ],
)
def test_one_hermes_block(text, left):
    parsed = HermesParser().parse(Reply(text))
    assert (calls(parsed), parsed.text, parsed.malformed) == ([RECALL], left, False)


def test_several_hermes_blocks():
    other = '{"name": "read_file", "arguments": {"path": "a.md"}}'
    parsed = HermesParser().parse(Reply(f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{other}\n</tool_call>"))
    assert calls(parsed) == [RECALL, ("read_file", {"path": "a.md"})]
    assert [call.id for call in parsed.calls] == ["call_1", "call_2"]
    assert parsed.text == ""


@pytest.mark.parametrize(
    "block",
    [
        "<tool_call>{'name': 'artifact_recall'}</tool_call>",
        f"<tool_call>{CALL[:-1]}</tool_call>",
        f"<tool_call>{CALL[:-5]}",
        "<tool_call></tool_call>",
        "<tool_call>[1]</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        '<tool_call>{"name": "a", "arguments": {"x": NaN}}</tool_call>',
        '<tool_call>{"name": "a", "arguments": {"x": 1e999}}</tool_call>',
        f"<tool_call>{'[' * 100_000}</tool_call>",
        f"{CALL}</tool_call>",
    ],
)
def test_a_broken_block_stays_in_the_text(block):
    parsed = HermesParser().parse(Reply(block))
    assert (parsed.calls, parsed.text, parsed.malformed) == ((), block, True)


def test_a_good_block_beside_a_broken_one():
    parsed = HermesParser().parse(Reply(f"<tool_call>{CALL}</tool_call><tool_call>oops</tool_call>"))
    assert (calls(parsed), parsed.text, parsed.malformed) == ([RECALL], "<tool_call>oops</tool_call>", True)


def test_reasoning_that_never_ends_calls_nothing():
    text = f"<think>maybe <tool_call>{CALL}</tool_call>"
    assert HermesParser().parse(Reply(text)) == Parsed(text)


def test_calls_that_the_endpoint_read_come_first():
    reply = Reply(f"<tool_call>{CALL}</tool_call>", tool_calls=[{"id": "x", "function": {"name": "read_file"}}])
    assert [call.id for call in HermesParser().parse(reply).calls] == ["x", "call_2"]


def test_an_answer_without_calls_is_left_to_the_letter():
    assert HermesParser().parse(Reply(f"  {ANSWER}\n")) == Parsed(f"  {ANSWER}\n")


def test_a_lone_surrogate_in_arguments_can_be_sent():
    parsed = HermesParser().parse(Reply('<tool_call>{"name": "a", "arguments": {"q": "\\ud800"}}</tool_call>'))
    assert parsed.calls[0].arguments.encode()


# adapters

INTERNVL_FORMS = [
    f"<|im_start|>tool\n{CALL}<|im_end|>",
    f"<|im_start|>tool\n{CALL}",
    f"<|im_start|>tool_call {CALL} <|im_end|>",
    '<|im_start|>tool\nartifact_recall\n{"query": "steps"}<|im_end|>',
    '<|im_start|>tool artifact_recall {"query": "steps"}',
    '<|im_start|>tool\nartifact_recall(query="steps")<|im_end|>',
    f"<|action_start|><|plugin|>{CALL}<|action_end|>",
    f"<|action_start|> <|plugin|>\n{CALL}\n<|action_end|>",
]
GEMMA_FORMS = [
    '```tool_code\nartifact_recall(query="steps")\n```',
    "```tool_code\nprint(artifact_recall(query='steps'))\n```",
    '```tool_code\nprint(default_api.artifact_recall(query="steps"))\n```',
    '```tool_call\nartifact_recall(\n    query="steps",\n)\n```',
    '```tool_code\nartifact_recall(query="steps")',
]


@pytest.mark.parametrize(
    ("parser", "form"), [*((INTERNVL, form) for form in INTERNVL_FORMS), *((GEMMA, form) for form in GEMMA_FORMS)]
)
def test_a_form_of_its_own_is_read_through_the_adapter_alone(parser, form):
    reply = Reply(form)
    assert (calls(parser.parse(reply)), parser.parse(reply).text) == ([RECALL], "")
    assert not parser.parse(reply).malformed
    for plain in (HermesParser(), OpenAIParser()):
        assert plain.parse(reply) == Parsed(form, (), malformed=True)


@pytest.mark.parametrize("adapt", [from_chat_tokens, from_code_fences])
@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        "",
        "I would use the tool artifact_recall.",
        "<|im_start|>assistant\nhello<|im_end|>",
        "<|im_start|>tool\nno call here<|im_end|>",
        "<|im_start|>tool\nartifact_recall(steps",
        '<|im_start|>tool\nartifact_recall("steps")',
        "<|im_start|>tool\n[1, 2]",
        '<|im_start|>tool\n{"query": "steps"}',
        '<|im_start|>tool\nartifact_recall {"query": NaN}',
        '<|im_start|>tool\nartifact_recall {"query": 1e999}',
        '<|im_start|>tool\nartifact_recall ["steps"]',
        f"<|im_start|>tool\nartifact_recall('{')' * 20_000}",
        f"<|im_start|>tool\n{'[' * 100_000}",
        "<|im_start|>tool",
        '```tool_code\nartifact_recall("steps")\n```',
        "```tool_code\nimport os\n```",
        "```tool_code\nartifact_recall(query=other())\n```",
        "```tool_code\nartifact_recall(**{'query': 1})\n```",
        "```tool_code\nartifact_recall(query=b'x')\n```",
        "```tool_code\nartifact_recall(query=1e999)\n```",
        "```tool_code\nx = artifact_recall(query='steps')\n```",
        f"```tool_code\n{'(' * 5000}\n```",
        f"```tool_code\nf(a={'-' * 15_000}1)\n```",
        f"```tool_code\nf(a={'[' * 100}{']' * 100}.x)\n```",
        "```tool_code\nf('\x00')\n```",
        '```python\nartifact_recall(query="steps")\n```',
    ],
)
def test_what_an_adapter_cannot_read_it_leaves_alone(adapt, text):
    assert adapt(text) == text


def test_several_calls_and_the_text_about_them():
    text = f'Two looks:\n```tool_code\nread_file(path="a.md")\nprint(read_file(path="b.md"))\n```\n{ANSWER}'
    parsed = GEMMA.parse(Reply(text))
    assert calls(parsed) == [("read_file", {"path": "a.md"}), ("read_file", {"path": "b.md"})]
    assert parsed.text.split() == f"Two looks:\n{ANSWER}".split()
    text = f'<|im_start|>tool\n{CALL}<|im_end|>\n{ANSWER}\n<|im_start|>tool\nread_file {{"path": "a"}}<|im_end|>'
    parsed = INTERNVL.parse(Reply(text))
    assert calls(parsed) == [RECALL, ("read_file", {"path": "a"})]
    assert parsed.text == ANSWER


def test_code_is_read_and_never_run(tmp_path):
    target = tmp_path / "made"
    text = f"```tool_code\nprint(open(file='{target}', mode='w'))\n```"
    assert calls(GEMMA.parse(Reply(text))) == [("open", {"file": str(target), "mode": "w"})]
    assert not target.exists()


def test_an_odd_escape_in_code_raises_no_warning():
    parsed = GEMMA.parse(Reply('```tool_code\nartifact_recall(query="a\\d")\n```'))
    assert calls(parsed) == [("artifact_recall", {"query": "a\\d"})]


def test_reasoning_is_not_adapted():
    text = f"<think>{INTERNVL_FORMS[0]}</think>{ANSWER}"
    assert INTERNVL.parse(Reply(text)) == Parsed(text)


@given(st.text() | st.from_regex(r"(<\|im_start\|>tool\n|<tool_call>|```tool_code\n)[^\n]{0,40}(\n```)?"))
@settings(max_examples=300, deadline=None)
def test_no_reply_is_too_odd(text):
    for parser in (OpenAIParser(), HermesParser(), INTERNVL, GEMMA):
        is_pseudo_tool(parser.parse(Reply(text)), TOOLS)


# A.4

FOUR = [
    Reply(f"<|im_start|>tool\n{CALL}<|im_end|>"),
    Reply(f'Let me look that up.\n<|im_start|>tool\nartifact_recall\n{{"query": "weekly steps"}}<|im_end|>\n{ANSWER}'),
    Reply(f'{ANSWER}\n<|im_start|>tool\nread_file(path="tables/fitness.csv")<|im_end|>'),
    Reply(f'<|im_start|>tool\n{CALL}<|im_end|>\n<|im_start|>tool\nmemory_search {{"query": "steps"}}<|im_end|>'),
]


@pytest.mark.parametrize("plain", [OpenAIParser(), HermesParser()])
def test_the_adapter_changes_the_route_of_four_replies_and_no_content(plain):
    found = adapter_check(FOUR, plain, INTERNVL)
    assert (found.replies, found.to_tool, found.changed) == (4, 4, ())


def test_the_other_adapter_too():
    replies = [Reply(f"Before.\n{form}\n{ANSWER}") for form in GEMMA_FORMS[:4]]
    found = adapter_check(replies, HermesParser(), GEMMA)
    assert (found.replies, found.to_tool, found.changed) == (4, 4, ())


def test_replies_without_tool_tokens_keep_their_route():
    found = adapter_check([Reply(ANSWER), Reply(f"<tool_call>{CALL}</tool_call>")], HermesParser(), INTERNVL)
    assert (found.to_tool, found.changed) == (0, ())


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("ANSWER=8412", ""),
        ("8412", "8413"),
        ("8412", "8412\nANSWER=1"),
        ("8412", ""),
        ("YES", "yes"),
        ("ANSWER=8412", "ANSWER 8412"),
        ("SOURCE=obj_1a2b\nANSWER=8412", "ANSWER=8412\nSOURCE=obj_1a2b"),
        ("Let me look that up.\n", ""),
        ("Let me look that up.", "Let me look."),
    ],
)
def test_an_adapter_that_touches_content_is_caught(said, instead):
    assert said in FOUR[1].text
    faulty = AdaptedParser(lambda text: from_chat_tokens(text).replace(said, instead), HermesParser())
    found = adapter_check([FOUR[1]], HermesParser(), faulty)
    assert (found.to_tool, found.changed) == (1, (0,))


def test_an_adapter_that_invents_a_call_is_caught():
    class Inventive:
        def parse(self, reply: Reply) -> Parsed:
            return Parsed("", (ToolCall("call_1", "artifact_recall", "{}"),))

    inventive: ToolParser = Inventive()
    assert adapter_check([Reply(ANSWER)], OpenAIParser(), inventive).changed == (0,)


def test_an_adapter_that_changes_a_reply_without_a_call_is_caught():
    shouting = AdaptedParser(str.upper, HermesParser())
    found = adapter_check([Reply(ANSWER), Reply("it is 8412")], HermesParser(), shouting)
    assert (found.to_tool, found.changed) == (0, (0, 1))


def test_an_adapter_that_drops_a_call_is_caught():
    reply = Reply(f"<tool_call>{CALL}</tool_call>")
    assert adapter_check([reply], HermesParser(), AdaptedParser(lambda text: "", HermesParser())).changed == (0,)


def test_an_adapter_that_does_nothing_changes_no_route():
    found = adapter_check(FOUR, HermesParser(), AdaptedParser(lambda text: text, HermesParser()))
    assert (found.to_tool, found.changed) == (0, ())


# pseudo-tool text


@pytest.mark.parametrize(
    "text",
    [
        'artifact_recall(query="steps")',
        "I call artifact_recall('steps') now.",
        'artifact_recall({"query": "steps"})',
        CALL,
        f"```json\n{CALL}\n```",
        '{"tool": "read_file", "path": "a"}',
        'artifact_recall {"query": "steps"}',
        'artifact_recall: {"query": "steps"}',
        "<artifact_recall>steps</artifact_recall>",
        "Action: artifact_recall\nAction Input: steps",
        "**Tool call:** artifact_recall",
        'read_file "a.md"',
        FOUR[0].text,
        GEMMA_FORMS[0],
        "[TOOL_CALLS] [...]",
        f"<tool_call>{CALL[:-1]}</tool_call>",
        f"<|tool_call|>{CALL}",
    ],
)
def test_tool_text_without_a_call_is_pseudo(text):
    assert is_pseudo_tool(HermesParser().parse(Reply(text)), TOOLS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ANSWER,
        "I would have to use artifact_recall for that.",
        "The tool `artifact_recall` found nothing.",
        "Call artifact_recall first.",
        "artifact_recall() gave no match.",
        "artifact_recall (a tool) gave no match.",
        "my_artifact_recall(query='x')",
        'other_tool(query="x")',
        f"<tool_call>{CALL}</tool_call>",
        f"I run artifact_recall(query='steps').\n<tool_call>{CALL}</tool_call>",
        f"<think>{CALL}</think>{ANSWER}",
        f"<think>artifact_recall('x')</think>{ANSWER}",
    ],
)
def test_a_call_and_plain_talk_are_not_pseudo(text):
    assert not is_pseudo_tool(HermesParser().parse(Reply(text)), TOOLS)


def test_without_tools_on_offer_only_tool_tokens_are_pseudo():
    assert not is_pseudo_tool(Parsed('artifact_recall(query="x")'), ())
    assert is_pseudo_tool(Parsed("x", malformed=True), ())


# names


def registry() -> Registry:
    made = Registry()
    parsers.register(made)
    adapters.register(made)
    return made


@pytest.mark.parametrize("name", ["openai", "hermes", "internvl", "gemma"])
def test_the_parsers_are_registered(name):
    check_parser(name, registry())
    assert registry().tool_parsers[name]().parse(Reply(ANSWER)) == Parsed(ANSWER)


def test_an_unknown_parser_is_refused_in_one_line():
    with pytest.raises(ConfigError) as caught:
        check_parser("hermes2", registry())
    assert str(caught.value) == "tool_parser 'hermes2' is unknown; known: gemma, hermes, internvl, openai"


def test_a_parser_of_ones_own_and_a_name_taken():
    mine = registry()
    mine.tool_parser("mine", HermesParser)
    check_parser("mine", mine)
    with pytest.raises(ConfigError, match="tool parser 'hermes' is registered already"):
        mine.tool_parser("hermes", HermesParser)


def entry(tmp_path: Path, line: str) -> ModelSpec:
    file = tmp_path / "bench-models.toml"
    file.write_text(f'[lab]\nbase_url = "http://localhost:1"\nmodel = "m"\n{line}\n')
    return parse_models(["lab"], file, environ={})[0]


def test_an_entry_names_its_parser(tmp_path):
    assert entry(tmp_path, 'tool_parser = "hermes"').tool_parser == "hermes"
    assert entry(tmp_path, "").tool_parser == "openai"
    assert embedded_spec().tool_parser == "openai"
    for line in ('tool_parser = ""', "tool_parser = 3"):
        with pytest.raises(ConfigError, match=r"entry 'lab': field 'tool_parser'"):
            entry(tmp_path, line)
