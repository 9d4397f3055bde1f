"""The direct lane: `bench.ask` in a project that has the plugin installed and nothing else of the suite."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image as PillowImage

WORKERS = pytest.mark.parametrize("workers", [0, 2])

TESTS = """
import io
from pathlib import Path

import pytest
from PIL import Image

from benchsuite.corpus.model import Evidence, Question, Turn
from benchsuite.errors import ConfigError

def picture(colour, kind="PNG"):
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(buffer, kind)
    return buffer.getvalue()

HISTORY = [
    {"role": "user", "text": "The bill of Monday.", "images": [picture("red")]},
    {"role": "assistant", "text": "Noted."},
    {"role": "user", "text": "The bill of Tuesday.", "date": "2024/05/07"},
]
"""

FOUR_WAYS = (
    TESTS
    + """
def test_plain(bench):
    outcome = bench.ask("How much?")
    assert outcome.answered and outcome.answer == "12.50"
    assert (outcome.word, outcome.score, outcome.gold) == ("unparsed", None, "")
    assert outcome.items == []

def test_images(bench, tmp_path):
    path = tmp_path / "blue.jpg"
    path.write_bytes(picture("blue", "JPEG"))
    history = [*HISTORY, {"role": "user", "images": [path, str(path)]}]
    outcome = bench.ask("How much in all?", history=history)
    assert outcome.answered and outcome.n_images == 3 and outcome.n_items == 4
    assert bench.ask("How much in all?", history=history, delivery="noimg").n_images == 0

def test_retrieval_object(bench):
    class Last:
        version = "1"
        def rank(self, query, items, k):
            return [(items[-1].id, 1.0)]
    outcome = bench.ask("Which day?", history=HISTORY, retrieval=Last())
    assert outcome.n_items == 1 and outcome.arm["retrieval"] == "object.Last"
    assert bench.ask("Which day?", history=HISTORY, retrieval="recency").n_items == 3

def test_gold(bench):
    for gold, word in [("12.50", "right"), ("13.50", "wrong")]:
        question = Question("mine", "sum", "What is the total?", gold, "2024/05/08", "", evidence=Evidence(("b",)))
        outcome = bench.ask(question, history=[Turn("a", "user", "No."), Turn("b", "user", "It is 12.50.")])
        assert (outcome.word, outcome.status, outcome.score) == (word, "scored", float(word == "right"))
        assert (outcome.n_gold, outcome.n_gold_delivered) == (1, 1)
"""
)


@pytest.fixture
def plain(pytester, endpoint, monkeypatch):
    """A folder with an ini file alone; pytest finds the plugin by its entry point."""
    monkeypatch.delenv("BENCH_API_KEY", raising=False)
    pytester.makeini(f"[pytest]\nbench_model = {endpoint.model}\n")
    endpoint.script = lambda body: "It is 12.50."

    def run(text: str, *args: str, workers: int = 0) -> pytest.RunResult:
        (pytester.path / "test_mine.py").write_text(text)
        return pytester.runpytest_subprocess("-n", str(workers), *args)

    return run


def rows_of(folder: Path) -> list[dict]:
    runs = sorted((folder / ".bench" / "runs").glob("0*"))
    return [json.loads(line) for line in (runs[-1] / "outcomes.jsonl").read_text().splitlines()] if runs else []


@WORKERS
def test_ask_in_anyones_tests(plain, pytester, endpoint, workers):
    endpoint.script = lambda body: "12.50"
    result = plain(FOUR_WAYS, workers=workers)
    assert result.ret == 0, result.stdout.str()
    rows = rows_of(pytester.path)
    # two asks that differ in gold alone are one cell, and the last row of a cell stands
    assert len(rows) == len(endpoint.bodies) == 6
    assert all(row["run"]["direct"] is True and row["suite"] == "direct" for row in rows)
    assert all(row["cell"].startswith("direct:") for row in rows)
    contents = [body["messages"][1]["content"] for body in endpoint.bodies]
    (blocks,) = [each for each in contents if isinstance(each, list) and "How much in all?" in each[-1]["text"]]
    urls = [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]
    pictures = [PillowImage.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]
    assert [picture.format for picture in pictures] == ["PNG"] * 3
    assert [picture.convert("RGB").getpixel((1, 1))[0] > 200 for picture in pictures] == [True, False, False]
    (last,) = [each for each in contents if isinstance(each, str) and "Which day?" in each]
    assert "Tuesday" in last
    assert "Monday" not in last


@WORKERS
def test_a_second_ask_sends_nothing(plain, pytester, endpoint, workers):
    text = 'def test_ask(bench):\n    assert bench.ask("How much?").answered\n'
    for cached in (False, True):
        assert plain(text, workers=workers).ret == 0
        (row,) = rows_of(pytester.path)
        assert row["run"]["cached"] is cached
        assert len(endpoint.bodies) == 1


def test_bench_is_named_among_the_arguments(plain, pytester, endpoint):
    """A run is opened for the tests that will ask; one that asks unannounced is told so."""
    result = plain('def test_ask(request):\n    request.getfixturevalue("bench").ask("How much?")\n')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["name `bench` among the arguments of the test: *"])
    own = "import pytest\n\n@pytest.fixture\ndef bench(bench):\n    return bench.ask\n\n"
    assert plain(own + 'def test_ask(bench):\n    assert bench("How much?").answered\n').ret == 0
    assert len(endpoint.bodies) == 1


def test_a_call_that_fails_is_an_outcome_that_is_not_answered(plain, pytester, endpoint):
    endpoint.script = lambda body: None
    text = (
        "def test_ask(bench):\n    outcome = bench.ask('How much?')\n"
        "    assert not outcome.answered and outcome.score is None and outcome.error_kind == 'body'\n"
    )
    result = plain(text)
    assert result.ret == 0, result.stdout.str()
    (row,) = rows_of(pytester.path)
    assert row["status"] == "error"


BAD_ARGUMENTS = (
    TESTS
    + """
@pytest.mark.parametrize("arguments, complaint", [
    (dict(at="S1"), "state has no value 'S1'; write S1-d<N>k"),
    (dict(at="S2"), "no corpus here has a conversation state 'S2': --bench-corpus mirage=mirage-mini has"),
    (dict(at="S2", history=[]), "at 'S2': a state has its own conversation; ask without a history"),
    (dict(retrieval="psychic"), "retrieval has no value 'psychic'; known: "),
    (dict(retrieval=object()), "retrieval is an object without rank()"),
    (dict(delivery="fax"), "delivery has no value 'fax'; known: "),
    (dict(delivery="pixels+fax"), "delivery 'pixels+fax' has no token 'fax'; known: "),
    (dict(model="other"), "model 'other' is not configured; known: scripted"),
    (dict(history=[{"role": "user", "words": "x"}]), "turn 0: no field 'words'; fields: role, text, date, images"),
    (dict(history=[{"role": "system"}]), "turn 0: role 'system' is neither user nor assistant"),
    (dict(history=[{"text": 5}]), "turn 0: text must be text"),
    (dict(history=["hello"]), "turn 0: a str is no turn; give a Turn or a mapping"),
    (dict(history=[{"images": [b"no image"]}]), "image: not an image: "),
    (dict(history=[{"images": ["absent.png"]}]), "absent.png: cannot be read: "),
])
def test_refused(bench, arguments, complaint):
    with pytest.raises(ConfigError) as refused:
        bench.ask("How much?", **arguments)
    assert str(refused.value).startswith(complaint), str(refused.value)
    assert "\\n" not in str(refused.value)

def test_no_question(bench):
    with pytest.raises(ConfigError, match="question must be text or a Question"):
        bench.ask(7)
"""
)


@WORKERS
def test_bad_arguments_are_refused_before_anything_is_sent(plain, pytester, endpoint, workers):
    result = plain(BAD_ARGUMENTS, workers=workers)
    assert result.ret == 0, result.stdout.str()
    assert endpoint.bodies == []
    assert rows_of(pytester.path) == []


AT_A_STATE = """
def test_deep(bench):
    outcome = bench.ask("Which colour?", at="S1-d50k", delivery="direct")
    assert outcome.arm["state"] == "S1-d50k" and outcome.arm["length"] == "tenth" and outcome.n_images == 6

def test_with_retrieval(bench):
    assert bench.ask("Which colour?", at="S1-d50k", retrieval="recency", delivery="noimg").n_items == 10

def test_never(bench):
    with pytest.raises(ConfigError, match="S1-d120k is never reached"):
        bench.ask("Which colour?", at="S1-d120k")
"""


@WORKERS
def test_a_question_is_asked_at_a_conversation_state(plain, pytester, endpoint, workers):
    result = plain(TESTS + AT_A_STATE, "--bench-corpus", "mirage=mirage-mini", workers=workers)
    assert result.ret == 0, result.stdout.str()
    asked = [body for body in endpoint.bodies if body["messages"][-1]["content"].startswith("Question: Which colour?")]
    assert [len(body["messages"]) > 20 for body in asked] == [True]
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["artifact_recall", "memory_search", "read_file"]


ASK_LIKE_A_CELL = """
from benchsuite.corpus.model import Question

def test_ask(bench):
    question = Question("q_7", "information_extraction", "What is fact 7?", "value1", "", "", cluster="7")
    for retrieval in ("text", "oracle"):
        for delivery in ("noimg", "pixels"):
            assert bench.ask(question, retrieval=retrieval, delivery=delivery).word == "right"
"""


def table(run: Path) -> dict:
    """The table of a run without what names the run."""
    text = (run / "tables" / "delivermem_t1.json").read_text()
    return json.loads(text.replace(run.name, "RUN"))


def test_rows_of_ask_stand_in_no_table(project, endpoint):
    """Cases and asks in one session: one run, the table and its completeness know the cells alone."""
    project.corpus(2)
    axis = ["--bench-axis", "retrieval=text,oracle", "--bench-cache", "off"]  # tables say what came from the cache
    assert project.run(*axis).ret == 0
    (project.pytester.path / "cases" / "test_ask.py").write_text(ASK_LIKE_A_CELL)
    result = project.run(*axis)
    assert result.ret == 0, result.stdout.str()
    without, with_asks = (table(run) for run in project.runs)
    assert with_asks == without
    rows = project.rows()
    direct = [cell for cell in rows if cell.startswith("direct:")]
    assert (len(rows), len(direct)) == (12, 4)
    run = json.loads((project.runs[0] / "run.json").read_text())
    assert not any(cell in direct for cells in run["plan"].values() for cell in cells)
    result.stdout.fnmatch_lines(["outcomes: 4 right, 4 wrong"])


FOREIGN = """
import pytest

@pytest.fixture
def bench():
    return "a bench in a park"

@pytest.fixture
def outcome():
    return 7

@pytest.mark.experiment
@pytest.mark.cell(colour="red")
@pytest.mark.parametrize("n", range(8))
def test_mine(bench, outcome, n):
    assert (bench, outcome) == ("a bench in a park", 7)

def test_plain():
    pass
"""

SCHEDULER = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    distributed = session.config.pluginmanager.getplugin("dsession")
    if distributed:
        (session.config.rootpath / "scheduler.txt").write_text(type(distributed.sched).__name__)
"""


@pytest.mark.parametrize(
    ("args", "scheduler"),
    [
        (["-n", "0"], None),
        (["-n", "2"], "LoadScheduling"),
        (["-n", "2", "--dist", "worksteal"], "WorkStealingScheduling"),
        (["-n", "2", "--dist", "each"], "EachScheduling"),
    ],
)
def test_a_project_that_has_nothing_to_do_with_it_is_left_alone(pytester, args, scheduler):
    pytester.makeconftest(SCHEDULER)
    pytester.makepyfile(test_mine=FOREIGN)
    result = pytester.runpytest_subprocess("-m", "cell(colour='red') or not cell", *args)
    result.assert_outcomes(passed=18 if "each" in args else 9)
    assert result.ret == 0
    assert "benchsuite:" not in result.stdout.str() + result.stderr.str()
    assert not (pytester.path / ".bench").exists()
    written = pytester.path / "scheduler.txt"
    assert (written.read_text() if written.exists() else None) == scheduler


def test_a_question_of_no_corpus_has_no_decoys(plain, endpoint):
    result = plain(
        TESTS
        + """
def test_decoy(bench):
    outcome = bench.ask("How much?", history=HISTORY, retrieval="full", delivery="pixels+decoy")
    assert not outcome.answered and outcome.score is None
    assert outcome.error_message == "decoys are drawn from other questions of a corpus, and this question is of none"
"""
    )
    assert result.parseoutcomes() == {"passed": 1}
    assert endpoint.bodies == []
