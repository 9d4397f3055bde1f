"""What a user can say on the command line and in an ini file, and what then runs."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from xml.etree import ElementTree

import pytest
from aiohttp import web

WORKERS = pytest.mark.parametrize("workers", [0, 2])
NOIMG = ("--bench-axis", "delivery=noimg")


def answer_all(body):
    """Every question right, from its own words."""
    return "value" + question_number(body)


def question_number(body):
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    return text.rsplit("What is fact ", 1)[1].split("?")[0]


def golds(project, run=-1):
    return {row["gold"] for row in project.rows(run).values()}


def plain_run(project, *args):
    """pytest as `args` alone say, with the project's corpus and endpoint in its ini file."""
    corpus = project.pytester.path / "corpus" / "dataset_32k.json"
    project.pytester.makeini(
        "[pytest]\nstrict = true\naddopts = --import-mode=importlib\n"
        f"bench_corpus = memlens={corpus}\nbench_model = {project.endpoint.model}\n"
    )
    return project.pytester.runpytest_subprocess(*args)


@pytest.fixture
def changed(project):
    """Write the corpus with every question changed by a function of its number and itself."""

    def write(count, change):
        path = project.corpus(count)
        items = json.loads(path.read_text())
        path.write_text(json.dumps([change(number, each, items) or each for number, each in enumerate(items)]))

    return write


# --- axes, cuts, repeats ---


def test_an_axis_is_replaced_or_added(project, endpoint):
    project.corpus(2)
    result = project.run("--bench-axis", "retrieval=none,full", "--bench-axis", "k=1,3", *NOIMG)
    assert result.ret == 0, result.stdout.str()
    arms = Counter((row["arm.retrieval"], row["arm.k"], row["arm.delivery"]) for row in project.rows().values())
    assert arms == {(name, k, "noimg"): 2 for name in ("none", "full") for k in (1, 3)}
    assert all(f"-k{row['arm.k']}-" in cell for cell, row in project.rows().items())


def test_a_limit_is_by_content_and_keeps_all_arms(project, changed):
    project.corpus(8)
    assert project.run("--bench-limit", "3").ret == 0
    assert Counter(row["gold"] for row in project.rows().values()) == dict.fromkeys(golds(project), 2)
    assert len(golds(project)) == 3

    def rename(number, each, items):
        """Other ids, which sort the other way, and a gold session that keeps its place."""
        sessions = [f"renamed_{9 - number}_{place}" for place in range(2)]
        return {
            **each,
            "question_id": f"id_{9 - number}",
            "haystack_session_ids": sessions,
            "answer_session_ids": sessions[:1],
        }

    changed(8, rename)
    path = project.pytester.path / "corpus" / "dataset_32k.json"
    path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    assert project.run("--bench-limit", "3", workers=2).ret == 0
    assert {row["question"][:3] for row in project.rows().values()} == {"id_"}
    assert golds(project, -1) == golds(project, 0)
    assert golds(project) != {"value0", "value1", "value2"}, "the limit took the first ones"


def test_shards_share_out_whole_histories(project, changed):
    def pair_up(number, each, items):
        shared = {name: value for name, value in items[number - number % 2].items() if "session" in name}
        return {**each, **shared, "haystack_dates": items[number - number % 2]["haystack_dates"]}

    changed(10, pair_up)
    seen = []
    for shard in (1, 2, 3):
        before = len(project.runs)
        assert project.run("--bench-shard", f"{shard}/3", *NOIMG).ret == 0
        numbers = {int(gold.removeprefix("value")) for gold in golds(project)} if len(project.runs) > before else set()
        assert {number ^ 1 for number in numbers} == numbers, "a history is in two shards"
        seen += numbers
    assert sorted(seen) == list(range(10))
    assert len(project.runs) > 1


@WORKERS
def test_an_empty_shard_is_no_fault(project, endpoint, workers):
    project.corpus(1)
    for shard in (1, 2, 3):
        result = project.run("--bench-shard", f"{shard}/3", workers=workers)
        assert result.ret == 0, result.stdout.str()
    assert len(project.runs) == 1
    assert len(endpoint.bodies) == 2


def test_repeats_ask_again(project, endpoint):
    project.corpus(2)
    assert project.run("--bench-repeats", "2", *NOIMG).ret == 0
    rows = project.rows()
    first = {cell: row for cell, row in rows.items() if row["arm.repeat"] == 0}
    again = {cell: row for cell, row in rows.items() if row["arm.repeat"] == 1}
    assert (len(first), len(again)) == (2, 2)
    assert not any("-r0" in cell for cell in first)
    assert {cell.replace("-r1", "") for cell in again} == set(first) != set(again)
    assert set(endpoint.times_asked.values()) == {2}
    keys = [row["requests"][0] for row in rows.values()]
    assert len(set(keys)) == 4


# --- judge, wording, name of the run, ini file ---


@WORKERS
def test_a_judge_has_the_last_word(project, endpoint, workers):
    verdicts = {"0": "Same fact.\nVERDICT=1", "1": "VERDICT=0", "2": "I like both."}

    def script(body):
        if body["model"] == "scripted":
            return "value0 is not it" if question_number(body) == "0" else "value" + question_number(body)
        number = body["messages"][1]["content"].split("What is fact ")[1].split("?")[0]
        assert f"Reference: value{number}\n" in body["messages"][1]["content"]
        return verdicts.get(number) or web.Response(status=400, text="no")

    endpoint.script = script
    project.corpus(4)
    judge = endpoint.model.replace("#scripted", "#critic")
    result = project.run("--bench-judge", judge, *NOIMG, workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=3, errors=1)
    rows = {row["gold"]: row for row in project.rows().values()}
    assert {gold: (row["word"], row["score"], row["status"]) for gold, row in rows.items()} == {
        "value0": ("right", 1.0, "scored"),
        "value1": ("wrong", 0.0, "scored"),
        "value2": ("unparsed", None, "unparsed"),
        "value3": ("error", None, "error"),
    }
    assert {row["scorer"] for gold, row in rows.items() if gold != "value3"} == {"memlens-judge/1"}
    assert rows["value1"]["scores.subem"] == 1.0, "the rule's score stands beside the verdict"
    assert [rows[f"value{n}"]["n_calls"] for n in range(4)] == [2, 2, 2, 1]
    assert Counter(body["model"] for body in endpoint.bodies) == {"scripted": 4, "critic": 4}
    assert {row["arm.model"] for row in rows.values()} == {"scripted"}
    assert all("-judge.critic-" in row["cell"] for row in rows.values())
    assert "HTTP 400" in rows["value3"]["error.message"]


def test_other_wording(project, endpoint):
    project.corpus(1)
    (project.pytester.path / "mine.toml").write_text(
        'name = "memlens"\nversion = "mine"\nrefusal = "No idea."\nsystem = "Say {refusal} or answer."\n'
        'head = "Notes:"\nempty = "Nothing."\nrole = "({role}) "\nquestion = "Now: {question}"\n'
    )
    assert project.run("--bench-protocol", "mine.toml", *NOIMG).ret == 0
    (body,) = endpoint.bodies
    assert body["messages"][0]["content"] == "Say No idea. or answer."
    assert body["messages"][1]["content"].startswith("Notes:(assistant) Fine.\n(user) ")
    assert body["messages"][1]["content"].endswith("Now: What is fact 0?")
    assert {row["protocol"] for row in project.rows().values()} == {"memlens/mine"}


def test_a_run_has_the_name_it_is_given(project, endpoint):
    project.corpus(1)
    assert project.run("--bench-save", "first-try", *NOIMG).ret == 0
    assert project.runs[0].name == "0001_nogit_first-try"
    for workers in (0, 2):
        result = project.run("--bench-save", "no/such", *NOIMG, workers=workers)
        assert result.ret == 4
        (line,) = [line for line in result.errlines if line.startswith("benchsuite:")]
        assert "'no/such'" in line
    assert len(project.runs) == 1


@WORKERS
def test_an_ini_file_says_the_same(project, endpoint, workers):
    path = project.corpus(6)
    settings = [
        f"bench_corpus = memlens={path}",
        f"bench_model = {endpoint.model}",
        "bench_axis = k=2 delivery=noimg",
        "bench_limit = 1",
        "bench_save = from-ini",
        "bench_dir = elsewhere",
        "bench_strict = true",
        "bench_repeats = 2",
        "bench_cache = off",
        "bench_concurrency = 1",
    ]
    project.pytester.makeini("\n".join(["[pytest]", "addopts = --import-mode=importlib", *settings]) + "\n")
    endpoint.script = lambda body: "no such value"
    result = project.pytester.runpytest_subprocess("cases", "-n", str(workers), "--bench-limit", "2")
    result.assert_outcomes(failed=4)
    (run,) = (project.pytester.path / "elsewhere" / "runs").glob("0*")
    rows = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    assert run.name.endswith("_from-ini")
    assert {(row["arm.k"], row["arm.delivery"], row["word"]) for row in rows} == {(2, "noimg", "wrong")}
    assert len({row["question"] for row in rows}) == 2, "the command line goes before the ini file"
    assert (len(rows), endpoint.peak) == (4, 1)
    assert not (project.pytester.path / "elsewhere" / "cache" / "answers.sqlite").exists()


def stored(project):
    database = sqlite3.connect(project.pytester.path / ".bench" / "cache" / "answers.sqlite")
    (count,) = database.execute("SELECT count(*) FROM answers").fetchone()
    database.close()
    return count


def test_cache_modes(project, endpoint):
    project.corpus(2)

    def run(*args):
        return project.run(*NOIMG, *args)

    assert run("--bench-cache", "off").ret == 0
    assert not (project.pytester.path / ".bench" / "cache" / "answers.sqlite").exists()
    assert run("--bench-limit", "1").ret == 0
    assert (len(endpoint.bodies), stored(project)) == (3, 1)
    assert run("--bench-cache", "readonly").ret == 0
    assert (len(endpoint.bodies), stored(project)) == (4, 1)
    assert {row["word"] for row in project.rows().values()} == {"right", "wrong"}
    endpoint.script = answer_all
    assert run("--bench-cache", "refresh").ret == 0
    assert (len(endpoint.bodies), stored(project)) == (6, 2)
    assert run().ret == 0
    assert len(endpoint.bodies) == 6
    assert {row["word"] for row in project.rows().values()} == {"right"}


# --- fixtures ---

VIEWS = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg", "pixels"])
def test_views(probe, retriever, delivery, model, outcome, cell_id, pytestconfig):
    from benchsuite_pytest.session import SESSION
    session = pytestconfig.stash[SESSION]
    assert probe.text.startswith("What is fact") and not hasattr(probe, "gold") and not hasattr(probe, "type")
    assert retriever is session.registry.retrievals["recency"]
    assert delivery.shows_images is (outcome.arm["delivery"] == "pixels")
    assert model is session.prepared.models["scripted"] and model.model == "scripted"
    assert outcome.cell == cell_id
"""

OVERRIDDEN = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.fixture
def {name}():
    return "mine"

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg"])
def test_mine({name}, outcome):
    pass
"""


@WORKERS
def test_views_are_the_engines_objects(project, workers):
    project.corpus(2)
    (project.pytester.path / "cases" / "test_delivery.py").write_text(VIEWS)
    result = project.run(workers=workers)
    result.assert_outcomes(passed=4)


def test_an_overridden_view_is_an_error(project):
    project.corpus(1)
    names = ("probe", "retriever", "delivery", "model")
    for name in names:
        (project.pytester.path / "cases" / f"test_{name}_mine.py").write_text(OVERRIDDEN.format(name=name))
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(errors=4, passed=2)
    for name in names:
        result.stdout.fnmatch_lines([f"fixture '{name}' is overridden, but a declared cell is sent as its axes say; *"])


def test_an_outcome_belongs_to_an_experiment(project, endpoint):
    project.corpus(1)
    text = "import pytest\n\ndef test_no_cell(outcome):\n    pass\n\ndef test_no_view(probe):\n    pass\n"
    (project.pytester.path / "cases" / "test_delivery.py").write_text(text)
    result = project.run()
    result.assert_outcomes(errors=2)
    lines = [line for line in result.outlines if line == "this fixture belongs to functions marked `experiment`"]
    assert len(lines) == 2
    assert endpoint.bodies == []


# --- pytest's own options ---


def test_selection_by_keyword_by_id_and_by_last_failure(project, endpoint):
    project.corpus(3)
    broken = {"2"}
    endpoint.script = lambda body: None if question_number(body) in broken else answer_all(body)
    assert plain_run(project, "cases", "-n", "0", "-k", "noimg and q_00000001").ret == 0
    (cell,) = project.rows()
    assert len(endpoint.bodies) == 1
    assert plain_run(project, f"cases/test_delivery.py::test_delivery[{cell.partition(':')[2]}]").ret == 0
    assert list(project.rows()) == [cell]
    assert len(endpoint.bodies) == 1
    assert plain_run(project, "cases", "-k", "noimg").ret == 1
    broken.clear()
    result = plain_run(project, "cases", "--lf", "-n", "0")
    result.assert_outcomes(passed=1)
    (row,) = project.rows().values()
    assert (row["gold"], row["word"]) == ("value2", "right")


@WORKERS
def test_a_cell_of_two_experiments_is_asked_and_stored_once(project, endpoint, workers):
    """Three cells twice: half of the items would end within a cell."""
    project.corpus(1)
    text = (project.pytester.path / "cases" / "test_delivery.py").read_text()
    (project.pytester.path / "cases" / "test_again.py").write_text(text.replace("test_delivery", "test_again"))
    result = project.run("--bench-cache", "off", "--bench-axis", "k=1,2,4", *NOIMG, workers=workers)
    assert result.ret == 0, result.stdout.str()
    result.assert_outcomes(passed=6)
    assert len(project.rows()) == 3
    assert len(endpoint.bodies) == 3
    lines = (project.runs[0] / "outcomes.jsonl").read_text().splitlines()
    assert len(lines) == 3
    plan = json.loads((project.runs[0] / "run.json").read_text())["plan"]
    assert {name: len(cells) for name, cells in plan.items()} == {
        f"cases/{name}.py::{name}": 3 for name in ("test_again", "test_delivery")
    }
    assert "outcomes: 3 wrong" in result.stdout.str()


@WORKERS
def test_junit_has_one_word_a_cell(project, endpoint, workers):
    project.corpus(2)
    endpoint.script = lambda body: "value1"
    text = 'def test_ask(bench):\n    assert bench.ask("How much?").answered\n'
    (project.pytester.path / "cases" / "test_ask.py").write_text(text)
    assert project.run("--junitxml", "report.xml", workers=workers).ret == 0
    path = project.pytester.path / "report.xml"
    cases = list(ElementTree.parse(path).iter("testcase"))
    found = [[(p.get("name"), p.get("value")) for p in case.iter("property")] for case in cases]
    assert Counter(map(tuple, found)) == {(("bench", "right"),): 2, (("bench", "wrong"),): 2, (): 1}
    assert "haystack" not in path.read_text()
    assert "schema" not in path.read_text()


def test_without_xdist(project, endpoint):
    project.corpus(2)
    result = plain_run(project, "cases", "-p", "no:xdist")
    result.assert_outcomes(passed=4)
    assert len(project.rows()) == 4


@pytest.mark.parametrize("mode", ["loadfile", "worksteal", "loadscope"])
def test_another_distribution_works_without_asking_ahead(project, endpoint, mode):
    project.corpus(3)
    result = project.run("--dist", mode, workers=2)
    assert result.ret == 0, result.stdout.str()
    result.assert_outcomes(passed=6)
    assert len(project.rows()) == len(endpoint.bodies) == 6
    result.stdout.fnmatch_lines([f"benchsuite: --dist {mode}: no cell is asked ahead of its test"])


def test_one_run_per_worker_is_refused(project, endpoint):
    project.corpus(1)
    result = project.run("--dist", "each", workers=2)
    assert result.ret == 4
    assert result.errlines == ["benchsuite: --dist each would answer every cell once per worker; use --dist load"]
    assert endpoint.bodies == []


@WORKERS
@pytest.mark.parametrize("option", ["--fixtures", "--setup-plan", "--collect-only"])
def test_looking_starts_nothing(project, endpoint, option, workers):
    with (project.pytester.path / "conftest.py").open("a") as conftest:
        conftest.write("\ndef pytest_bench_launch_model(config, spec):\n    open('launched', 'w').close()\n")
    project.corpus(2)
    for model in (endpoint.model, "embedded"):
        result = project.run(option, "--bench-model", model, workers=workers)
        assert result.ret == 0, result.stdout.str()
    assert endpoint.bodies == []
    assert project.runs == []
    assert not (project.pytester.path / "launched").exists()
