"""What goes wrong at conversation states: refused before the run, or an ERROR of the cells that it concerns."""

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
    is_capture,
    is_probe,
    is_summary,
    often,
    playing,
    rows_of,
    run,
    said,
    tool_call,
    use_cases,
    words,
    write_bank,
)
from .test_bad_endpoint import cause_lines, status

WORKERS = [0, 2]
FIRST = ("S1-d0", "S1-d50k", "S1-d80k")  # states before any compaction
LIMIT = ("--bench-limit", "2")
SCORED = {("scored", "")}


@pytest.fixture
def states(project):
    """The shipped cases at four states, and an endpoint that writes summaries and knows no answer."""
    use_cases(project, "test_states")
    project.endpoint.script = playing(lambda body: NOTHING)
    return project


def refusals(project, *args, bank: str = "mirage-mini", workers: int = 0) -> list[str]:
    """What a run says that ends before anything is asked."""
    result = run(project, *LIMIT, *args, bank=bank, workers=workers)
    assert result.ret == 4, result.stdout.str() + result.stderr.str()
    assert project.endpoint.bodies == []
    assert project.runs == []
    lines = [*result.stdout.lines, *result.stderr.lines]
    assert "Traceback" not in "\n".join(lines)
    return [line for line in lines if line.startswith("benchsuite: ")]


def statuses(project, run: int = -1) -> dict[str, set[tuple[str, str]]]:
    """(status, error message) of the rows, by state."""
    found: dict[str, set[tuple[str, str]]] = {}
    for row in rows_of(project, run):
        found.setdefault(row["arm.state"], set()).add((row["status"], row["error.message"]))
    return found


# --- refused before the run ---

ODD_PARSER = """
[odd]
base_url = "{url}"
model = "scripted"
tool_parser = "semaphore"
"""


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--bench-axis", "state=S1-d120k"), ("S1-d120k", "never reached", "10000")),
        (("--bench-axis", "state=S1"), ("state has no value 'S1'", "S1-d50k")),
        (("--bench-axis", "summariser=nobody"), ("nobody",)),
        (("--bench-axis", "recall=some"), ("recall has no value 'some'", "norecall")),
        (("--bench-axis", "retention=two"), ("retention has no value 'two'", "recent3")),
        (("--bench-trunk", "nobody"), ("unknown model 'nobody'",)),
        (("--bench-model", "odd"), ("tool_parser 'semaphore' is unknown", "hermes")),
    ],
    ids=["depth", "state", "summariser", "recall", "retention", "trunk", "parser"],
)
def test_what_cannot_be_is_refused_in_one_line(states, options, named):
    (states.pytester.path / "bench-models.toml").write_text(ODD_PARSER.format(url="http://127.0.0.1:9/v1"))
    for workers in WORKERS if "S1-d120k" in named else WORKERS[:1]:
        lines = refusals(states, *options, workers=workers)
        assert len(lines) == 1, lines
        for text in named:
            assert text in lines[0]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_suite_without_states_is_asked_at_none(project, workers):
    project.corpus(2)
    result = project.run("--bench-axis", "state=S2", workers=workers)
    assert result.ret == 4
    assert project.endpoint.bodies == []
    lines = [line for line in (*result.stdout.lines, *result.stderr.lines) if line.startswith("benchsuite: ")]
    assert len(lines) == 1, lines
    assert lines[0] == "benchsuite: memlens has no conversation states, so no cells with --bench-axis state=S2"


def twice_the_same_id(bank):
    probes = bank["splits"]["main"]["probes"]
    probes[1]["id"] = probes[0]["id"]
    return probes[0]["id"], "the probe id occurs twice"


def an_answer_in_the_filler(bank):
    probe = next(each for each in bank["splits"]["main"]["probes"] if each["answerable"])
    bank["filler"][2]["turns"][0][0] += f" It was {probe['answer']}."
    return bank["filler"][2]["id"], probe["answer"]


def an_artefact_in_the_filler(bank):
    artifact = bank["splits"]["main"]["artifacts"][0]
    bank["filler"][0]["turns"][1][1] += f" See {artifact['id']}."
    return bank["filler"][0]["id"], artifact["id"]


@pytest.mark.parametrize(
    ("spoil", "workers"),
    [
        (twice_the_same_id, 0),
        (an_answer_in_the_filler, 0),
        (an_answer_in_the_filler, 2),
        (an_artefact_in_the_filler, 0),
    ],
)
def test_a_bank_with_a_fault_is_refused_in_one_line(states, spoil, workers):
    bank = bank_json()
    named = spoil(bank)
    folder = write_bank(states.pytester.path / "bank", bank)
    lines = refusals(states, bank=str(folder), workers=workers)
    assert len(lines) == 1, lines
    for text in ("bank.json", *named):
        assert text in lines[0]


# --- states that are not reached ---


@pytest.mark.parametrize("workers", WORKERS)
def test_filler_that_ends_is_one_error_of_the_states_behind_it(states, workers):
    bank = bank_json()
    bank["filler"] = bank["filler"][:3]
    bank["scales"] = {"tenth": {**bank["scales"]["tenth"], "rounds": 1}}
    folder = write_bank(states.pytester.path / "bank", bank)
    result = run(states, *LIMIT, "-v", bank=str(folder), workers=workers)
    assert result.ret == 1
    found = statuses(states)
    assert found["S1-d0"] == SCORED
    reached = {state for state, rows in found.items() if rows == SCORED}
    for state in set(found) - reached:
        ((kind, message),) = found[state]
        assert kind == "error"
        assert f"state {state}" in message
        assert "is never reached: the filler ends at" in message
        assert "after 1 rounds of 3 tasks" in message
    assert "S2" not in reached
    result.assert_outcomes(passed=2 * len(reached), errors=2 * (4 - len(reached)))
    assert len(cause_lines(result)) == 4 - len(reached)
    assert not list(filter(is_summary, states.endpoint.bodies))


# --- compaction ---

SOON = {"Retry-After": "0.01"}
FAULTY_SUMMARIES = {
    "500": (status(500, "out of order", **SOON), "HTTP 500: out of order (after 2 tries)"),
    "400": (status(400, "too long"), "HTTP 400: too long"),
    "empty": (lambda body: "", "returned no summary (finish: stop)"),
    "thought-alone": (lambda body: "<think>I should.</think>\n \t", "returned no summary (finish: stop)"),
}


@pytest.mark.parametrize(
    ("name", "workers"),
    [("500", 2), ("empty", 0), *often(("500", 0), ("400", 0), ("empty", 2), ("thought-alone", 0))],
)
def test_a_compaction_that_fails_is_an_error_of_what_stands_behind_it(states, endpoint, name, workers):
    summary, words_said = FAULTY_SUMMARIES[name]
    endpoint.script = playing(lambda body: NOTHING, summary)
    result = run(states, *LIMIT, "--bench-retries", "2", workers=workers)
    assert result.ret == 1, result.stdout.str()
    found = statuses(states)
    assert [found[state] for state in FIRST] == [SCORED] * 3
    ((kind, message),) = found["S2"]
    assert kind == "error"
    assert words_said in message
    assert f"scripted (http://127.0.0.1:{endpoint.port}/v1)" in message
    assert "\n" not in message
    assert cause_lines(result) == [f"benchsuite: {message} (2 cells, not scored)"]
    result.assert_outcomes(passed=6, errors=2)
    assert not [key for row in rows_of(states) if row["arm.state"] == "S2" for key in row if key.startswith("scores.")]

    # a summariser that is well again: the cells that are left are asked, and no other
    endpoint.script, before = playing(lambda body: NOTHING), len(endpoint.bodies)
    again = run(states, *LIMIT, "--bench-retries", "2", workers=workers)
    assert again.ret == 0, again.stdout.str()
    sent = endpoint.bodies[before:]
    assert [sum(map(kind, sent)) for kind in (is_summary, is_probe)] == [1, 2]
    assert all(SUMMARISED in "\n".join(words(body)) for body in sent if is_probe(body))
    assert statuses(states) == dict.fromkeys((*FIRST, "S2"), SCORED)


DIRECT = """
def test_total(bench):
    found = bench.ask("How many hives are there?", at="S2")
    assert (found.status, found.answered, found.score) == ("error", False, None)
    assert "HTTP 400: too long" in found.error_message
"""


def test_the_direct_lane_gets_the_error_as_an_outcome(states, endpoint):
    """Here the trunk's writer fails, which no summary is needed for."""
    base = endpoint.model.rpartition("#")[0]
    endpoint.script = playing(lambda body: status(400, "too long")(body) if body["model"] == "writer" else NOTHING)
    (states.pytester.path / "cases" / "test_states.py").unlink()
    (states.pytester.path / "cases" / "test_direct.py").write_text(DIRECT)
    result = run(states, "--bench-trunk", f"{base}#writer")
    result.assert_outcomes(passed=1)


# --- what a model does ---


def scores(project, name: str) -> list[object]:
    return [row.get(f"scores.{name}") for row in rows_of(project)]


def check_no_error(project, result, count: int = 2) -> list[dict]:
    assert result.ret == 0, result.stdout.str()
    rows = rows_of(project)
    assert len(rows) == count
    assert {row["error.message"] for row in rows} == {""}
    return rows


AT_S2 = (*LIMIT, "--bench-axis", "state=S2")


def test_a_provider_without_usage_is_scored_and_the_tables_say_so(states, endpoint):
    endpoint.script = playing(lambda body: said(NOTHING), lambda body: said(WRITTEN))
    result = run(states, *LIMIT)
    for row in check_no_error(states, result, 8):
        assert row["status"] == "scored"
        assert not [name for name in row if name.startswith("scores.eit")]
        assert (row["usage.prompt"], row["usage.completion"]) == (None, None)
    table = json.loads((states.runs[0] / "tables" / "mirage_t2.json").read_text())
    for block in table["blocks"]:
        assert block["facts"]["EIT at capture"] == block["facts"]["EIT at the probe"] == "not reported"


@pytest.mark.parametrize("workers", [0, *often(2)])
def test_a_model_that_loops_on_tools_has_given_no_answer(states, endpoint, workers):
    call = [tool_call("memory_search", '{"query": "bees"}')]
    endpoint.script = playing(lambda body: said(None, None, call))
    rows = check_no_error(states, run(states, *AT_S2, workers=workers))
    for row in rows:
        assert (row["status"], row["word"], row["score"]) == ("unparsed", "unparsed", None)
        assert (row["scores.tool_limit"], row["scores.tool"], row["scores.tool_calls"]) == (1, 1, 6)
        assert row["n_calls"] == 6
    assert len(list(filter(is_probe, endpoint.bodies))) == 2 * 6


FAULTY_CALLS = {
    "unknown": (tool_call("delete_everything", '{"query": "x"}'), "There is no tool 'delete_everything'"),
    "no-json": (tool_call("artifact_recall", "{query: hives"), "The arguments of artifact_recall are no JSON"),
    "no-object": (tool_call("artifact_recall", '["hives"]'), "artifact_recall needs the argument 'query'"),
    "no-text": (tool_call("read_file", '{"path": 7}'), "read_file needs the argument 'path'"),
    "no-arguments": (tool_call("memory_search", ""), "memory_search needs the argument 'query'"),
    "nested": (tool_call("artifact_recall", "[" * 20_000), "The arguments of artifact_recall are no JSON"),
    "surrogate": (tool_call("\ud800tool", "{}"), "There is no tool '\ufffdtool'"),
}


@pytest.mark.parametrize(
    "name", ["unknown", "no-json", *often("no-object", "no-text", "no-arguments", "nested", "surrogate")]
)
def test_a_faulty_call_is_told_to_the_model_which_may_answer_then(states, endpoint, name):
    call, told = FAULTY_CALLS[name]

    def probe(body):
        return said(None, None, [call]) if body["messages"][-1]["role"] == "user" else NOTHING

    endpoint.script = playing(probe)
    for row in check_no_error(states, run(states, *AT_S2)):
        assert row["status"] == "scored"
        assert (row["scores.tool"], row["scores.tool_calls"], row["scores.tool_faults"]) == (0, 0, 1)
        assert (row["scores.pseudo_tool"], row["scores.tool_limit"], row["n_calls"]) == (0, 0, 2)
    after = [body for body in endpoint.bodies if is_probe(body) and body["messages"][-1]["role"] == "tool"]
    assert len(after) == 2
    for body in after:
        assert told in body["messages"][-1]["content"]
        assert body["messages"][-1]["tool_call_id"] == body["messages"][-2]["tool_calls"][0]["id"]


PSEUDO = {
    "hermes-untold": '<tool_call>{"name": "artifact_recall", "arguments": {"query": "hives"}}</tool_call>',
    "call": 'artifact_recall(query="hives")',
    "json": '{"name": "memory_search", "arguments": {"query": "hives"}}',
    "before-the-lines": f'artifact_recall(query="hives")\n{NOTHING}',
}


@pytest.mark.parametrize("name", ["call", *often("hermes-untold", "json", "before-the-lines")])
def test_tool_text_that_is_no_call_is_said_and_no_error(states, endpoint, name):
    endpoint.script = playing(lambda body: PSEUDO[name])
    for row in check_no_error(states, run(states, *AT_S2)):
        assert row["scores.pseudo_tool"] == 1
        assert (row["scores.tool"], row["scores.tool_calls"], row["n_calls"]) == (0, 0, 1)
        assert row["status"] in ("unparsed", "scored")
        if name != "before-the-lines":
            assert (row["status"], row["word"], row["score"]) == ("unparsed", "unparsed", None)


HERMES = """
[hermes]
base_url = "{url}"
model = "scripted"
tool_parser = "hermes"
"""


def test_the_same_text_is_a_call_where_the_model_is_read_so(states, endpoint):
    url = endpoint.model.partition("#")[0]
    (states.pytester.path / "bench-models.toml").write_text(HERMES.format(url=url))
    name = bank_json()["splits"]["main"]["artifacts"][0]["id"]
    text = PSEUDO["hermes-untold"].replace("hives", name)

    def probe(body):
        return NOTHING if any(message["role"] == "tool" for message in body["messages"]) else text

    endpoint.script = playing(probe)
    for row in check_no_error(states, run(states, *AT_S2, "--bench-model", "hermes")):
        assert (row["status"], row["scores.pseudo_tool"]) == ("scored", 0)
        assert (row["scores.tool"], row["scores.recall_calls"], row["scores.recall_hits"]) == (1, 1, 1)


# --- stored checkpoints ---


def stored(project):
    return sorted((project.pytester.path / ".bench" / "cache" / "checkpoint").glob("*.json"))


def another_version(file, content):
    file.write_text(json.dumps({**content, "version": 99}))


def a_missing_blob(file, content):
    for path in (file.parent / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()


def half_a_file(file, content):
    file.write_text(json.dumps(content)[:2000])


def a_changed_word(file, content):
    file.write_text(json.dumps({**content, "persona": "Your user keeps goats."}))


def no_file(file, content):
    file.unlink()


def a_changed_blob(file, content):
    for path in (file.parent / "blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"other")


@pytest.mark.parametrize(
    ("spoil", "workers"),
    [
        (another_version, 2),
        (a_missing_blob, 0),
        *often((another_version, 0), (a_missing_blob, 2), (half_a_file, 0), (a_changed_word, 0), (no_file, 0)),
    ],
)
def test_a_stored_checkpoint_that_cannot_be_read_is_built_again(states, endpoint, spoil, workers):
    """It is known by its content: what is built again is the same, and its summary is not asked for anew."""
    first = run(states, *LIMIT, workers=workers)
    assert first.ret == 0, first.stdout.str()
    ids = [file.name for file in stored(states)]
    contents = {file.name: file.read_bytes() for file in stored(states)}
    for file in stored(states):
        spoil(file, json.loads(file.read_text()))
    before = len(endpoint.bodies)
    again = run(states, *LIMIT, "--bench-cache", "off", workers=workers)
    assert again.ret == 0, again.stdout.str()
    assert [file.name for file in stored(states)] == ids
    assert {file.name: file.read_bytes() for file in stored(states)} == contents
    sent = endpoint.bodies[before:]
    assert not list(filter(is_summary, sent))
    kept = Counter(json.dumps(b, sort_keys=True) for b in endpoint.bodies[:before] if is_probe(b))
    assert Counter(json.dumps(body, sort_keys=True) for body in sent if is_probe(body)) == kept
    assert states.rows(0) == states.rows(1)


def test_a_blob_that_was_changed_is_one_error(states, endpoint):
    """Its name says what it should be; what else was changed nobody knows, so nothing is asked there."""
    assert run(states, *LIMIT).ret == 0
    for file in stored(states):
        a_changed_blob(file, {})
    before = len(endpoint.bodies)
    result = run(states, *LIMIT, "--bench-cache", "off")
    assert result.ret == 1, result.stdout.str()
    for found in statuses(states).values():
        ((kind, message),) = found
        assert kind == "error"
        assert message.endswith("the blob is not what its name says")
    assert not list(filter(is_probe, endpoint.bodies[before:]))


# --- a trunk that a model writes ---


@pytest.mark.parametrize("workers", [*often(0), 2])
def test_a_trunk_is_written_once_for_all_models(states, endpoint, workers):
    def probe(body):
        return NOTHING if "Question: " in "".join(words(body)) else f"I see: {len(body['messages'])}."

    endpoint.script = playing(probe)
    base = endpoint.model.rpartition("#")[0]
    options = (*LIMIT, "--bench-axis", "state=S1-d0,S1-d50k", "--bench-trunk", f"{base}#writer")
    result = run(states, *options, "--bench-model", f"{base}#scripted,{base}#other", workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert statuses(states) == {"S1-d0": SCORED, "S1-d50k": SCORED}
    turns = Counter(json.dumps(b, sort_keys=True) for b in endpoint.bodies if b["model"] == "writer")
    assert set(turns.values()) == {1}
    asked_of: dict[str, set[str]] = {}
    for body in endpoint.bodies:
        if body["model"] == "writer":
            assert not asked_in(body)
        elif not is_capture(body):
            asked_of.setdefault(body["model"], set()).add(json.dumps(body["messages"]))
            assert "I see: 2." in "".join(words(body))
    assert asked_of["scripted"] == asked_of["other"]
    assert len(asked_of["other"]) == 4
    before = len(endpoint.bodies)
    assert run(states, *options, "--bench-model", f"{base}#third", workers=workers).ret == 0
    assert {body["model"] for body in endpoint.bodies[before:]} == {"third"}


def asked_in(body) -> bool:
    return any(text.startswith("Question: ") for text in words(body))


def test_a_trunk_whose_writer_fails_is_an_error_and_goes_on_from_its_last_turn(states, endpoint):
    def probe(body):
        if body["model"] != "writer":
            return NOTHING
        return status(400, "no more")(body) if len(body["messages"]) > 8 else "I see."

    endpoint.script = playing(probe)
    base = endpoint.model.rpartition("#")[0]
    options = (*LIMIT, "--bench-axis", "state=S1-d0", "--bench-trunk", f"{base}#writer")
    result = run(states, *options)
    assert result.ret == 1
    ((kind, message),) = statuses(states)["S1-d0"]
    assert (kind, message) == ("error", f"writer (http://127.0.0.1:{endpoint.port}/v1): HTTP 400: no more")
    assert not list(filter(lambda body: body["model"] == "scripted", endpoint.bodies))
    before = len(endpoint.bodies)
    endpoint.script = playing(lambda body: NOTHING if body["model"] != "writer" else "I see.")
    assert run(states, *options).ret == 0
    later = [len(body["messages"]) for body in endpoint.bodies[before:] if body["model"] == "writer"]
    assert later
    assert min(later) > 8
    assert len({asked(body) for body in endpoint.bodies if body["model"] == "scripted" and is_probe(body)}) == 2
