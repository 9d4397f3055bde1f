"""Faulty options, entries, wordings and declarations: exit 4, one line a cause, nothing sent."""

from __future__ import annotations

import pytest

WORKERS = [0, 2]
URL = "http://127.0.0.1:9"

ENTRIES = """
[lab]
base_url = "http://127.0.0.1:9/v1"
model = "m"
key_env = "LAB_KEY_OF_NOBODY"

[odd]
base_url = "http://127.0.0.1:9/v1"
model = "m"
colour = "red"

[slow]
base_url = "http://127.0.0.1:9/v1"
model = "m"
timeout_s = "long"

[nowhere]
model = "m"

[open]
base_url = "http://someone:sesame@127.0.0.1:9/v1"
model = "m"
"""

PROTOCOL = 'name = "{name}"\nversion = "1"\nrefusal = "no"\nsystem = "s"\nhead = "h"\nempty = "e"\nrole = "{role}"\n'

# name: options, and what the one line must name
FAULTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "model-unknown": (("--bench-model", "gpt"), ("unknown model 'gpt'", "embedded", "lab, nowhere, odd")),
    "model-credentials": (("--bench-model", "http://someone:sesame@h/v1#m"), ("credentials", "BENCH_API_KEY")),
    "model-two-of-one-label": (
        ("--bench-model", f"{URL}#m,http://127.0.0.1:8#m"),
        (f"'{URL}#m'", "'http://127.0.0.1:8#m'", "one label 'm'"),
    ),
    "entry-key-unset": (("--bench-model", "lab"), ("model 'lab'", "LAB_KEY_OF_NOBODY is not set")),
    "entry-unknown-field": (("--bench-model", "odd"), ("bench-models.toml: entry 'odd'", "'colour': unknown field")),
    "axis-unknown": (("--bench-axis", "colour=red"), ("no axis 'colour'", "retrieval")),
    "arm-unknown": (("--bench-axis", "retrieval=recency,bm52"), ("retrieval has no value 'bm52'", "recency")),
    "mark-axis-unknown": (("-m", "cell(colour='red')"), ("-m", "no axis 'colour'")),
    "mark-value-unknown": (("-m", "cell(delivery='pixel')"), ("-m", "delivery has no value 'pixel'")),
    "mark-unquoted": (("-m", "memlens and cell(delivery=noimg)"), ("-m", "cell(delivery='noimg')")),
    "limit-word": (("--bench-limit", "ten"), ("--bench-limit", "'ten'")),
    "shard-past-end": (("--bench-shard", "3/2"), ("--bench-shard", "'3/2'", "1 <= I <= N")),
    "cache-mode": (("--bench-cache", "maybe"), ("--bench-cache", "'maybe'", "readonly")),
    "scoring-mode": (("--bench-scoring", "loose"), ("--bench-scoring", "'loose'", "strict, upstream")),
    "judge-votes-even": (("--bench-judge-votes", "2"), ("--bench-judge-votes", "2 is even")),
    "encoder-channel": (("--bench-encoder", "sound=minilm"), ("--bench-encoder", "'sound'", "text, image")),
    "tokenizer-none": (("--bench-tokenizer", "cases"), ("--bench-tokenizer", "cases: no tokenizer.json")),
    "timeout-zero": (("--bench-timeout", "0"), ("--bench-timeout", "'0'")),
    "corpus-no-suite": (("--bench-corpus", "memlems=x"), ("--bench-corpus", "no suite 'memlems'", "memlens")),
    "protocol-lacks-field": (("--bench-protocol", "short.toml"), ("short.toml: question: is missing",)),
}

# name: options with several faults, and what each of the lines must name
BUNDLES: dict[str, tuple[tuple[str, ...], list[tuple[str, ...]]]] = {
    "models": (
        ("--bench-model", f"slow,nowhere,open,{URL},http://h/v1?key=sesame#m", "--bench-judge", "gpt"),
        [
            ("bench-models.toml: entry 'slow'", "'timeout_s'"),
            ("bench-models.toml: entry 'nowhere'", "'base_url'"),
            ("bench-models.toml: entry 'open'", "'base_url'", "credentials"),
            ("names no model", "URL#model"),
            ("has a query",),
            ("unknown model 'gpt'",),
        ],
    ),
    "axes": (
        ("--bench-axis", "delivery=pixels+blur", "--bench-axis", "length=64k", "--bench-axis", "k=ten",
         "--bench-axis", "retrieval=", "-m", "cell(type='riddle', k='10')"),
        [
            ("no token 'blur'", "noimg"),
            ("length has no value '64k'", "32k"),
            ("k has no value 'ten'", "whole numbers"),
            ("--bench-axis", "AXIS=V1,V2"),
            ("-m", "type has no value 'riddle'"),
            ("-m", "k is a whole number"),
        ],
    ),
    "numbers": (
        ("--bench-limit", "0", "--bench-shard", "0/2", "--bench-timeout", "nan", "--bench-retries", "0",
         "--bench-concurrency", "-1", "--bench-corpus", "memlens"),
        [
            ("--bench-limit", "'0'"),
            ("--bench-shard", "'0/2'"),
            ("--bench-timeout", "'nan'"),
            ("--bench-retries", "'0'"),
            ("--bench-concurrency", "'-1'"),
            ("--bench-corpus", "SUITE=PATH"),
        ],
    ),
    "missing-protocol": (("--bench-protocol", "none.toml"), [("none.toml", "not a protocol file")]),
    "protocol-no-toml": (("--bench-protocol", "broken.toml"), [("broken.toml", "not a protocol file")]),
    "protocol-value": (("--bench-protocol", "value.toml"), [("value.toml: role: no value for {mood}",)]),
    "protocol-suite": (("--bench-protocol", "suite.toml"), [("suite.toml: name: no suite 'memlems'",)]),
}  # fmt: skip


@pytest.fixture
def files(project):
    """The files that the faulty options name, beside a sound corpus."""
    project.corpus(2)
    root = project.pytester.path
    (root / "bench-models.toml").write_text(ENTRIES)
    (root / "broken.toml").write_text("name = ")
    (root / "short.toml").write_text(PROTOCOL.format(name="memlens", role="{role}"))
    whole = PROTOCOL + 'question = "{{question}}"\n'
    (root / "value.toml").write_text(whole.format(name="memlens", role="{mood}"))
    (root / "suite.toml").write_text(whole.format(name="memlems", role="{role}"))
    return project


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_option_is_refused_in_one_line(files, name, workers):
    options, named = FAULTS[name]
    problems = files.refused(*options, workers=workers)
    assert len(problems) == 1, problems
    for words in named:
        assert words in problems[0]
    assert "sesame" not in problems[0]


@pytest.mark.parametrize("name", BUNDLES)
def test_further_faults_are_a_line_each(files, name):
    options, causes = BUNDLES[name]
    problems = files.refused(*options)
    assert len(problems) == len(causes), problems
    for named in causes:
        assert len([problem for problem in problems if all(words in problem for words in named)]) == 1, named
    assert "sesame" not in "".join(problems)


@pytest.mark.parametrize("workers", WORKERS)
def test_several_causes_are_several_lines(files, workers):
    problems = files.refused(
        "--bench-model", "gpt,lab", "--bench-model", f"{URL}#m", "--bench-judge", "gpt", "--bench-limit", "ten",
        "--bench-shard", "3/2", "--bench-corpus", "memlems=x", "--bench-corpus", "memlens=nowhere",
        "--bench-axis", "retrieval=bm52", "--bench-protocol", "short.toml",
        "-m", "cell(colour='red') or cell(delivery=noimg) or cell(type='anything')", workers=workers,
    )  # fmt: skip
    causes = (
        "unknown model 'gpt'", "LAB_KEY_OF_NOBODY", "--bench-limit", "--bench-shard", "'memlems'", "nowhere: no such",
        "'bm52'", "short.toml", "-m: cell() has no axis 'colour'", "cell(delivery='noimg')",
    )  # fmt: skip
    assert len(problems) == len(causes), problems
    for cause in causes:
        assert len([problem for problem in problems if cause in problem]) == 1, (cause, problems)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_replay_needs_no_key(files, endpoint, workers):
    """What can be answered from the cache needs no credentials; what is not there is an error and not sent."""
    result = files.run("--bench-model", "lab", "--bench-replay", workers=workers)
    assert result.ret == 1, result.stderr.str()
    rows = files.rows().values()
    assert {(row["status"], row["error.kind"]) for row in rows} == {("error", "replay")}
    assert len(rows) == 4


DECLARED = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment({axes})
def test_other(outcome):
    assert outcome.answered
"""


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    ("axes", "named"),
    [
        ('retrieval=["bm52"], delivery=["noimg"]', "retrieval has no value 'bm52'"),
        ('retrieval=["recency"], delivery=["noimg"], colour=["red"]', "no axis 'colour'"),
        ('retrieval=["recency"]', "'delivery' has no value and no default"),
    ],
    ids=["value", "axis", "no-delivery"],
)
def test_a_faulty_declaration_is_refused_and_no_other_experiment_asks(project, endpoint, axes, named, workers):
    project.corpus(2)
    (project.pytester.path / "cases" / "test_other.py").write_text(DECLARED.format(axes=axes))
    result = project.run(workers=workers)
    assert result.ret == 4, result.stdout.str()
    (line,) = [line for line in result.stdout.lines if line.startswith("benchsuite: ")]
    assert line.startswith("benchsuite: cases/test_other.py::test_other: ")
    assert named in line
    assert endpoint.bodies == []
    assert project.runs == []


@pytest.mark.parametrize("workers", WORKERS)
def test_ini_values_are_checked_like_options(project, workers):
    project.corpus(2)
    project.pytester.makeini(
        "[pytest]\nstrict = true\naddopts = --import-mode=importlib\nbench_limit = ten\nbench_axis = colour=red\n"
    )
    problems = project.refused(workers=workers)
    assert sorted(problem.partition(":")[0] for problem in problems) == ["--bench-limit", "no axis 'colour'; axes"]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_wording_that_lacks_what_a_delivery_says_is_refused(files, workers):
    whole = PROTOCOL + 'question = "{{question}}"\n'
    (files.pytester.path / "old.toml").write_text(whole.format(name="memlens", role="{role}"))
    result = files.run("--bench-protocol", "old.toml", "--bench-axis", "delivery=deployed", workers=workers)
    assert result.ret == 4
    assert files.endpoint.bodies == []
    assert "protocol memlens/1 has no 'date', which this delivery needs" in result.stdout.str() + result.stderr.str()
