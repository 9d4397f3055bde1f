"""The grammar of a gate: what each part means, and faults that point at the character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.errors import ConfigError
from benchsuite_reports.gates.grammar import Gate, Slice, check, parse_gate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memlens.accuracy:-3pp@p<0.05", ("memlens", "accuracy", -1, 0.03, False, (), 0.05, 0.02, False)),
        ("memlens.accuracy:-3pp", ("memlens", "accuracy", -1, 0.03, False, (), 0.05, 0.02, False)),
        (
            "memlens.accuracy[type=knowledge_update]:-5%@p<0.01",
            ("memlens", "accuracy", -1, 0.05, True, (Slice("type", "knowledge_update"),), 0.01, 0.02, False),
        ),
        (
            "memlens.accuracy[delivery=deployed+nodate,retrieval=both]:-3pp",
            (
                "memlens",
                "accuracy",
                -1,
                0.03,
                False,
                (Slice("delivery", "deployed+nodate"), Slice("retrieval", "both")),
                0.05,
                0.02,
                False,
            ),
        ),
        ("*.errors:+1pp", ("*", "errors", 1, 0.01, False, (), 0.05, 0.02, False)),
        (
            "memlens.subem:-.5pp@p<.05,missing<10%,confirm",
            ("memlens", "subem", -1, 0.005, False, (), 0.05, 0.1, True),
        ),
        ("memlens.latency:+150%@confirm", ("memlens", "latency", 1, 1.5, True, (), 0.05, 0.02, True)),
        ("my-suite.judge.strict:-0pp", ("my-suite", "judge.strict", -1, 0.0, False, (), 0.05, 0.02, False)),
    ],
)
def test_what_a_gate_says(text, expected):
    suite, metric, sign, limit, relative, slices, p, missing, confirm = expected
    assert parse_gate(text) == Gate(text, suite, metric, sign, limit, relative, slices, p, missing, confirm)


@pytest.mark.parametrize(
    ("text", "character", "problem"),
    [
        ("", 1, "a suite is missing"),
        (".accuracy:-3pp", 1, "a suite is missing"),
        ("memlens", 8, "a '.' and a metric are missing"),
        ("memlens:-3pp", 8, "a '.' and a metric are missing"),
        ("memlens.:-3pp", 9, "a metric is missing"),
        ("memlens.accuracy", 17, "a ':' and a limit are missing"),
        ("memlens.accuracy-3pp", 21, "a ':' and a limit are missing"),
        ("memlens.accuracy<3pp", 17, "a ':' and a limit are missing"),
        ("memlens.accuracy[]:-3pp", 18, "a slice names an axis or a field"),
        ("memlens.accuracy[type]:-3pp", 22, "'=' and a value are missing after type"),
        ("memlens.accuracy[type=]:-3pp", 23, "a value of type is missing"),
        ("memlens.accuracy[type=x:-3pp", 29, "',' or ']' is missing"),
        ("memlens.accuracy[type=x,type=y]:-3pp", 25, "type stands twice"),
        ("memlens.accuracy:3pp", 18, "a sign is missing"),
        ("memlens.accuracy: -3pp", 18, "a sign is missing"),
        ("memlens.accuracy:-pp", 19, "a number is missing"),
        ("memlens.accuracy:-3@p<0.05", 19, "a unit is missing: pp or %"),
        ("memlens.accuracy:-3", 19, "a unit is missing: pp or %"),
        ("memlens.accuracy:-3points", 19, "a unit is missing: pp or %"),
        ("memlens.accuracy:-3ppx", 22, "'x' is not expected here"),
        ("memlens.accuracy:-101pp", 19, "a limit above 100 could never be reached"),
        ("memlens.latency:-150%", 18, "a limit above 100 could never be reached"),
        ("memlens.latency:+" + "9" * 400 + "%", 18, "a limit above 100 could never be reached"),
        ("memlens.latency:+3pp", 19, "latency is no share and has no points: use %"),
        ("memlens.accuracy:-3pp@", 23, "a condition is p<0.05, missing<2% or confirm"),
        ("memlens.accuracy:-3pp@p=0.05", 23, "a condition is"),
        ("memlens.accuracy:-3pp@p<x", 25, "a number is missing"),
        ("memlens.accuracy:-3pp@p<5", 25, "p must lie between 0 and 1"),
        ("memlens.accuracy:-3pp@p<0", 25, "p must lie between 0 and 1"),
        ("memlens.accuracy:-3pp@missing<2", 32, "a unit is missing: missing<2%"),
        ("memlens.accuracy:-3pp@missing<0%", 31, "a share must lie above 0%"),
        ("memlens.accuracy:-3pp@p<0.05,p<0.01", 30, "p stands twice"),
        ("memlens.accuracy:-3pp@p<0.05,", 30, "a condition is"),
        ("memlens.accuracy:-3pp@confirmed", 30, "'e' is not expected here"),
        ("memlens.accuracy:-3pp\n", 22, "'\\\\n' is not expected here"),
    ],
)
def test_a_fault_points_at_the_character(text, character, problem):
    with pytest.raises(ConfigError) as caught:
        parse_gate(text)
    message = str(caught.value)
    assert message.startswith(f"--bench-compare-fail: {text!r}: at character {character}: ")
    assert problem.replace("\\\\", "\\") in message
    assert "\n" not in message


@given(st.text(alphabet="memlens.accuracy[]=,:+-0123%p@<* \n", max_size=40))
def test_any_text_is_a_gate_or_one_line_that_points_into_it(text):
    try:
        gate = parse_gate(text)
    except ConfigError as error:
        message = str(error)
    else:
        assert gate.sign in (-1, 1)
        assert gate.limit >= 0
        assert 0 < gate.p < 1
        return
    place = int(message.removeprefix(f"--bench-compare-fail: {text!r}: at character ").partition(":")[0])
    assert 1 <= place <= len(text) + 1
    assert "\n" not in message


SUITES = ("memlens", "memeye")
AXES = {"delivery": ("pixels", "noimg"), "k": ("10",), "type": ()}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memlense.accuracy:-3pp", "at character 1: no suite 'memlense'; there are memlens, memeye"),
        (
            "memlens.acuracy:-3pp",
            "at character 9: no metric 'acuracy'; there are accuracy, refused, errors, unparsed, prompt_tokens, "
            "completion_tokens, latency, subem",
        ),
        (
            "memlens.accuracy[k=10,depth=1]:-3pp",
            "at character 23: no axis or field 'depth'; there are type, split, label, answerable, delivery, k",
        ),
        ("memlens.accuracy[delivery=pixel]:-3pp", "at character 18: no delivery 'pixel'; there are pixels, noimg"),
    ],
)
def test_what_is_known_at_the_start_is_checked_at_the_start(text, problem):
    assert check([parse_gate(text)], SUITES, ["subem"], AXES) == [f"--bench-compare-fail: {text!r}: {problem}"]


def test_what_fits_and_what_is_not_known_is_no_fault():
    gates = [
        parse_gate(text)
        for text in ("*.errors:+1pp", "memlens.subem[type=any,split=dev,k=10]:-3pp", "memeye.latency:+5%")
    ]
    assert check(gates, SUITES, ["subem"], AXES) == []
    assert check([parse_gate("memlens.mystery[depth=1]:-3pp")], SUITES) == []
    assert len(check([parse_gate("a.b[c=d]:-3pp")], SUITES, [], {})) == 3
