"""MIRAGE's strict scorer: the three lines, the source, the value, and what one probe scores."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.corpus.model import Evidence, Question
from benchsuite.outcome import WORDS
from benchsuite.registry import Registry
from benchsuite.scoring import mirage
from benchsuite.scoring.mirage import SCORER, Reply3, canonical_source, parse_reply, score_probe
from benchsuite.scoring.mirage_values import values_equal

ALIASES = {
    "obj_1a2b": "obj_1a2b",
    "shots/obj_1a2b.png": "obj_1a2b",
    "tables/fitness.csv": "obj_1a2b",
    "notes/2026-02-03.md": "obj_1a2b",
    "a/summary.md": "obj_1a2b",
    "obj_1a2b_x": "obj_1a2b_x",
    "shots/week one.png": "obj_1a2b_x",
    "obj_9c8d": "obj_9c8d",
    "shots/obj_9c8d.png": "obj_9c8d",
    "b/summary.md": "obj_9c8d",
}

PLAIN = Reply3(True, "obj_1a2b", "8412")


@pytest.mark.parametrize(
    "text",
    [
        "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412",
        "answerable=yes\nsource=obj_1a2b\nanswer=8412\n",
        "Answerable = Yes.\r\nSource = obj_1a2b\r\nAnswer = 8412",
        "ANSWER=8412\nANSWERABLE=YES\nSOURCE=obj_1a2b",
        "Here it is:\nANSWERABLE=YES\n\nSOURCE=obj_1a2b\nANSWER=8412\nIt stands in the table.",
        "```text\nANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412\n```",
        "**ANSWERABLE=YES**\n*SOURCE=obj_1a2b*\n`ANSWER=8412`",
        "**ANSWERABLE**=YES\n**SOURCE=** obj_1a2b\n__ANSWER=8412__",
        "- ANSWERABLE=YES\n- SOURCE=`obj_1a2b`\n- ANSWER=**8412**",
        "> 1. ANSWERABLE=YES\n> 2. SOURCE=obj_1a2b\n> 3. ANSWER=8412",
        "<think>\nANSWERABLE=NO\nSOURCE=NONE\n</think>\nANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412",
        "<|im_start|>ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412<|im_end|>",
        "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412\n\nANSWERABLE=yes\nSOURCE=obj_1a2b\nANSWER=8412",
    ],
)
def test_three_lines_are_read(text):
    assert parse_reply(text) == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8412",
        "ANSWERABLE=YES\nSOURCE=obj_1a2b",
        "ANSWERABLE=YES\nANSWER=8412",
        "SOURCE=obj_1a2b\nANSWER=8412",
        "ANSWERABLE=YES\nSOURCE=\nANSWER=8412",
        "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=",
        "ANSWERABLE=MAYBE\nSOURCE=obj_1a2b\nANSWER=8412",
        "ANSWERABLE=YES or NO\nSOURCE=obj_1a2b\nANSWER=8412",
        "ANSWERABLE=YES SOURCE=obj_1a2b ANSWER=8412",
        "ANSWERABLE: YES\nSOURCE: obj_1a2b\nANSWER: 8412",
        "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412\nANSWER=8413",
        "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412\nANSWERABLE=NO",
        "<think>\nANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412",
        "I say ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412",
        '<|im_start|>tool\nartifact_recall\n{"query": "steps"}<|im_end|>',
        '```tool_code\nprint(artifact_recall(query="steps"))\n```',
    ],
)
def test_anything_else_is_a_parse_failure(text):
    assert parse_reply(text) is None


def test_a_reply_is_written_as_the_protocol_has_it_and_read_again():
    assert PLAIN.text == "ANSWERABLE=YES\nSOURCE=obj_1a2b\nANSWER=8412"
    assert parse_reply(PLAIN.text) == PLAIN


@given(st.text())
@settings(max_examples=300)
def test_no_text_is_too_odd(text):
    parse_reply(text)
    canonical_source(text, ALIASES)
    values_equal("42 ms", text)


VALUE = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="*`_~"), min_size=1, max_size=30)


@given(st.booleans(), VALUE, VALUE)
def test_what_is_written_is_read(answerable, source, answer):
    reply = Reply3(answerable, source, answer)
    if "<|" not in reply.text and "think>" not in reply.text:
        assert parse_reply(reply.text) == reply


SOURCES = [
    ("obj_1a2b", "obj_1a2b"),
    ("OBJ_1A2B", "obj_1a2b"),
    ("`obj_1a2b`", "obj_1a2b"),
    ("[obj_1a2b]", "obj_1a2b"),
    ('"obj_1a2b".', "obj_1a2b"),
    ("obj_1a2b (the fitness page)", "obj_1a2b"),
    # the artefact's path, what is derived from it, notes
    ("shots/obj_1a2b.png", "obj_1a2b"),
    ("./shots/obj_1a2b.png", "obj_1a2b"),
    ("workspace/shots/obj_1a2b.png", "obj_1a2b"),
    ("/home/me/workspace/tables/fitness.csv", "obj_1a2b"),
    ("C:\\me\\Workspace\\tables\\fitness.csv", "obj_1a2b"),
    ("/tables/fitness.csv", "obj_1a2b"),
    ("fitness.csv", "obj_1a2b"),
    ("Fitness.CSV, row 3", "obj_1a2b"),
    ("notes/2026-02-03.md", "obj_1a2b"),
    ("2026-02-03.md", "obj_1a2b"),
    ("obj_1a2b_table.csv", "obj_1a2b"),
    ("obj_1a2b-summary.md", "obj_1a2b"),
    ("elsewhere/obj_1a2b.jpeg", "obj_1a2b"),
    ("week one.png", "obj_1a2b_x"),
    ("obj_1a2b: shots/obj_1a2b.png and tables/fitness.csv", "obj_1a2b"),
    # the longer of two ids
    ("obj_1a2b_x", "obj_1a2b_x"),
    ("obj_1a2b_x.png", "obj_1a2b_x"),
    # a name that two artefacts have
    ("summary.md", ""),
    ("a/summary.md", "obj_1a2b"),
    ("b/summary.md", "obj_9c8d"),
    # none, two, a folder
    ("", ""),
    ("the conversation", ""),
    ("obj_1a2b, obj_9c8d", ""),
    ("obj_1a2b or obj_9c8d.png", ""),
    ("tables/fitness.csv; b/summary.md", ""),
    ("shots/", ""),
    ("shots", ""),
    ("workspace/", ""),
    ("obj_1a2b/", ""),
    ("workspace/obj_1a2b/ ", ""),
    ("notes/2026-02-04.md", ""),
    # no word of its own, another file
    ("xobj_1a2b", ""),
    ("obj_1a2bc", ""),
    ("fitness.csv.bak", ""),
    ("myfitness.csv", ""),
    ("fitness", ""),
    ("other/fitness.csv", ""),
    ("other/2026-02-03.md", ""),
    # NONE
    ("NONE", "NONE"),
    ("none.", "NONE"),
    ("[None]", "NONE"),
    ("obj_1a2b or NONE", ""),
    ("N/A", ""),
]


@pytest.mark.parametrize(("raw", "expected"), SOURCES)
def test_a_source_is_one_evidence_id(raw, expected):
    assert canonical_source(raw, ALIASES) == expected


def test_a_source_without_artefacts_names_none():
    assert canonical_source("obj_1a2b", {}) == ""
    assert canonical_source("NONE", {}) == "NONE"


def test_an_id_with_signs_of_a_pattern_is_text():
    assert canonical_source("a.b+c", {"a.b+c": "a.b+c"}) == "a.b+c"
    assert canonical_source("aXb+c", {"a.b+c": "a.b+c"}) == ""


VALUES = [
    # case, articles, punctuation, quotes
    ("Dark mode", "dark-mode.", True),
    ("the Teal Room", "Teal room", True),
    ("leelin", "@leelin", True),
    ("leelin", '"leelin"', True),
    ("R&D", "R and D", True),
    ("Café Rondo", "cafe rondo", True),
    ("Café Rondo", "Cafe\u0301 Rondo", True),
    ("Aug", "August", True),
    ("September", "sept.", True),
    ("Jun", "July", False),
    ("Tue", "Tuesday", True),
    ("Pier gate 4B", "pier gate 4b", True),
    ("4B", "4b", True),
    ("4G", "4g", True),
    ("17C", "17", False),
    ("HP-9135", "hp-9135", True),
    ("HP-9135", "9135", False),
    ("A", "a", True),
    # the whole answer
    ("leelin", "The user is leelin", False),
    ("leelin", "leelin or jonas", False),
    ("dark mode", "dark", False),
    ("dark", "dark mode", False),
    ("5", "5 or 6", False),
    ("5", "5 to 6", False),
    ("5", "4, 5", False),
    ("5", "at least 5", False),
    ("5", "about 5", False),
    ("5", "~5", False),
    ("5", "<5", False),
    ("5", "> 5", False),
    ("5", "", False),
    ("", "", False),
    # numbers
    ("8,412", "8412", True),
    ("8412", "8 412", False),
    ("8412", "8\u00a0412", True),
    ("1200", "1,200.00", True),
    ("3.50", "3.5", True),
    ("3.5", "3.4", False),
    ("3", "three", True),
    ("-3", "−3", True),
    ("-3", "3", False),
    ("15", "5", False),
    ("5,200", "5.2k", True),
    ("5200", "5.2 thousand", True),
    # units
    ("42 ms", "42", True),
    ("42", "42 ms", True),
    ("42 ms", "42ms", True),
    ("42 ms", "42 milliseconds", True),
    ("42 ms", "42 s", False),
    ("42 ms", "0.042 s", False),
    ("72 bpm", "72", True),
    ("10 km/h", "10", True),
    ("10 km/h", "10 km", False),
    ("22 °C", "22 °F", False),
    ("22 °C", "22", True),
    ("12 Oak Street", "12", False),
    ("12", "12 Oak Street", False),
    ("7h 32m", "7 hours 32 minutes", True),
    ("7h 32m", "7h 31m", False),
    ("7h 32m", "7", False),
    # currency, percent
    ("$516.40", "516.4 USD", True),
    ("$516.40", "516.40", True),
    ("$516.40", "€516.40", False),
    ("$5", "5 US dollars", True),
    ("$2.5 million", "$2.5M", True),
    ("12%", "12", True),
    ("12%", "12.0 percent", True),
    ("12%", "0.12", False),
    ("12%", "$12", False),
    # dates and times
    ("2026-02-03", "February 3, 2026", True),
    ("2026-02-03", "3 Feb 2026", True),
    ("2026-02-03", "2026-02-04", False),
    ("3 February", "2026-02-03", True),
    ("2026-02-03", "February 3", False),
    ("16:20", "4:20 PM", True),
    # marks that mean something
    ("C", "C++", False),
    ("C++", "c++", True),
    ("C#", "C", False),
    ("A", "A-", False),
    ("A+", "A+", True),
    ("v1.2.3", "1.2.3", False),
    # NONE
    ("NONE", "none.", True),
    ("NONE", "0", False),
    ("0", "NONE", False),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), VALUES)
def test_a_value_is_the_whole_answer(gold, answer, expected):
    assert values_equal(gold, answer) is expected


@pytest.mark.parametrize(
    ("gold", "answer", "asked", "expected"),
    [
        ("8412", "8,412 laps", "How many laps did I swim?", True),
        ("8412 laps", "8412", "How many laps did I swim?", True),
        ("8412", "8,412 laps", "What does the counter say?", False),
        ("8412", "8,412 laps", "How many lengths?", False),
        ("516.40", "516.40 billion", "What was the GDP in billions?", True),
        ("516.40", "$516.40 billion", "What was the GDP in billions?", True),
        ("516.40 billion", "516.4", "What was the GDP in billions?", True),
        ("516.40", "516.40 billion", "What was the GDP?", False),
        ("516.40", "516.40 million", "What was the GDP in billions?", False),
        ("5", "at least 5", "Is it at least 5?", False),
        ("5", "5 or more", "Is it 5 or more?", False),
    ],
)
def test_a_word_of_the_question_may_stand_as_a_unit(gold, answer, asked, expected):
    assert values_equal(gold, answer, asked) is expected


@pytest.mark.parametrize("gold", sorted({gold for gold, _, _ in VALUES if gold}))
def test_every_value_equals_itself(gold):
    assert values_equal(gold, gold)


def probe(gold: str = "42 ms", answerable: bool = True, sources: tuple[str, ...] = ("obj_1a2b",)) -> Question:
    evidence = Evidence(sources=sources if answerable else ())
    gold = gold if answerable else "NONE"
    return Question("mq_1", "value", "What is it?", gold, "", "h", answerable=answerable, evidence=evidence)


def scored(question: Question, answerable: str, source: str, answer: str) -> mirage.Score:
    text = f"ANSWERABLE={answerable}\nSOURCE={source}\nANSWER={answer}"
    return score_probe(question, text, "NONE", aliases=ALIASES)


@pytest.mark.parametrize(
    ("answerable", "source", "answer", "word", "yes_ac_sc_vc_gc_ws"),
    [
        ("YES", "obj_1a2b", "42", "grounded", (1, 1, 1, 1, 1, 0)),
        ("YES", "NONE", "42 ms", "mirage", (1, 1, 0, 1, 0, 1)),
        ("YES", "obj_9c8d", "42 ms", "mirage", (1, 1, 0, 1, 0, 1)),
        ("YES", "obj_1a2b", "43 ms", "mirage", (1, 1, 1, 0, 0, 0)),
        ("YES", "NONE", "NONE", "mirage", (1, 1, 0, 0, 0, 1)),
        ("NO", "obj_1a2b", "42 ms", "grounded", (0, 0, 1, 1, 1, 0)),
        ("NO", "NONE", "42 ms", "refused", (0, 0, 0, 1, 0, 1)),
        ("NO", "NONE", "NONE", "refused", (0, 0, 0, 0, 0, 1)),
        ("NO", "obj_1a2b", "NONE", "refused", (0, 0, 1, 0, 0, 0)),
    ],
)
def test_an_answerable_probe(answerable, source, answer, word, yes_ac_sc_vc_gc_ws):
    yes, ac, sc, vc, gc, ws = yes_ac_sc_vc_gc_ws
    found = scored(probe(), answerable, source, answer)
    assert (found.word, found.metric, found.score, found.refused) == (word, "gc", gc, not yes)
    assert found.extra == {"yes": yes, "ac": ac, "sc": sc, "vc": vc, "ws": ws}
    assert found.scorer == SCORER


@pytest.mark.parametrize(
    ("answerable", "source", "answer", "yes_ac_hr"),
    [
        ("NO", "NONE", "NONE", (0, 1, 0)),
        ("NO", "NONE", "none.", (0, 1, 0)),
        ("NO", "obj_1a2b", "NONE", (0, 1, 0)),
        ("NO", "NONE", "42", (0, 1, 1)),
        ("NO", "NONE", "N/A", (0, 1, 1)),
        ("YES", "NONE", "NONE", (1, 0, 1)),
        ("YES", "obj_1a2b", "42", (1, 0, 1)),
    ],
)
def test_an_unanswerable_probe(answerable, source, answer, yes_ac_hr):
    yes, ac, hr = yes_ac_hr
    found = scored(probe(answerable=False), answerable, source, answer)
    assert (found.word, found.metric, found.score) == ("wrong" if hr else "right", "hr_free", 1 - hr)
    assert found.extra == {"yes": yes, "ac": ac, "hr": hr}
    assert found.refused is not yes


@pytest.mark.parametrize("answerable", [True, False])
def test_a_parse_failure_has_no_score(answerable):
    found = score_probe(probe(answerable=answerable), "<think>x</think> It is 42 ms.", "NONE", aliases=ALIASES)
    assert (found.word, found.score, found.refused, found.extra) == ("unparsed", None, None, {})
    assert found.answer == "It is 42 ms."


def test_the_row_holds_the_three_lines_alone_with_the_source_as_written():
    found = score_probe(
        probe(), "Sure.\nanswerable=yes\nsource=./shots/OBJ_1a2b.png\nanswer=42\nBye.", "NONE", aliases=ALIASES
    )
    assert found.answer == "ANSWERABLE=YES\nSOURCE=./shots/OBJ_1a2b.png\nANSWER=42"
    assert found.score == 1


def test_an_answerable_probe_without_a_gold_source_is_never_grounded():
    """A bank with such a probe is refused elsewhere; here neither NONE nor nothing may count as its source."""
    for source in ("NONE", "nowhere", "obj_1a2b"):
        assert scored(probe(sources=()), "YES", source, "42 ms").score == 0


def test_words_are_those_of_a_row():
    assert {"grounded", "mirage", "refused", "right", "wrong"} <= set(WORDS["scored"])


def test_the_metric_is_not_among_the_further_ones():
    for answerable in (True, False):
        found = scored(probe(answerable=answerable), "YES", "obj_1a2b", "42")
        assert found.metric not in found.extra


def test_it_is_registered_and_takes_aliases():
    registry = Registry()
    mirage.register(registry)
    scorer = registry.scorers["mirage", "strict"]
    assert (scorer.version, scorer.takes_aliases, scorer.takes_tokens) == (SCORER, True, False)
    registry.scorer("other", "other/1", lambda question, answer, refusal: SimpleNamespace())
    assert registry.scorers["other", "strict"].takes_aliases is False
