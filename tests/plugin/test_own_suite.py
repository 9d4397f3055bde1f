"""A suite of one's own: corpus, wording, scorer and marker from a conftest, nothing from the core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from pathlib import Path
from benchsuite.corpus.memlens import MemLensSource
from benchsuite.scoring.answers import Score

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]
HERE = Path(__file__).parent


class Source(MemLensSource):
    suite = "mine"


def pytest_bench_register(registry):
    registry.corpus("mine", lambda spec: Source(Path(spec)), default="corpus", protocol=HERE / "mine.toml")
    if SCORER:
        registry.scorer("mine", "length/1", lambda question, answer, refusal: Score(
            "right" if len(answer) == len(question.gold) else "wrong",
            float(len(answer) == len(question.gold)), False, "length", "length/1", answer))
"""
CASES = """
import pytest
pytestmark = pytest.mark.mine

@pytest.mark.experiment(retrieval=["recency"], delivery=["noimg"])
def test_mine(outcome):
    assert outcome.answered
"""
WORDING = """
name = "mine"
version = "7"
refusal = "no idea"
system = "Say it, or {refusal}."
head = "Look:\\n"
empty = "Nothing.\\n"
role = "{rank}/{role}\\n"
question = "On {date}: {question}\\n"
"""


@pytest.fixture
def own(project):
    project.corpus(3)
    (project.pytester.path / "mine.toml").write_text(WORDING)
    (project.pytester.path / "cases" / "test_delivery.py").write_text(CASES)
    return project


@pytest.mark.parametrize("workers", [0, 2])
def test_a_suite_brings_its_corpus_wording_and_scoring(own, endpoint, workers):
    own.pytester.makeconftest(CONFTEST.replace("SCORER", "True"))
    endpoint.script = lambda body: "eulavX"
    assert own.run("-m", "mine", "--bench-corpus", "mine=corpus", workers=workers).ret == 0
    rows = own.rows()
    assert len(rows) == 3
    assert {row["suite"] for row in rows.values()} == {"mine"}
    assert {(row["word"], row["scorer"], row["protocol"]) for row in rows.values()} == {("right", "length/1", "mine/7")}
    system, user = endpoint.bodies[0]["messages"]
    assert system["content"] == "Say it, or no idea."
    assert user["content"].startswith("Look:\n1/assistant\nFine.\n2/user\nSomething else")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_suite_without_a_scorer_is_refused_before_the_run(own, endpoint, workers):
    own.pytester.makeconftest(CONFTEST.replace("SCORER", "False"))
    result = own.run("--bench-corpus", "mine=corpus", workers=workers)
    assert result.ret == 4
    assert result.errlines == ["benchsuite: suite 'mine' has no scorer: registry.scorer('mine', version, score)"]
    assert not endpoint.bodies


@pytest.mark.parametrize("workers", [0, 2])
def test_a_score_that_fits_no_row_is_that_cells_error(own, endpoint, workers):
    own.pytester.makeconftest(
        CONFTEST.replace("SCORER", "True").replace("float(len(answer) == len(question.gold))", "float('nan')")
    )
    endpoint.script = lambda body: "eulavX"
    result = own.run("-m", "mine", "--bench-corpus", "mine=corpus", workers=workers)
    assert result.ret == 1
    rows = own.rows()
    assert {(row["status"], row["score"], row["error.kind"]) for row in rows.values()} == {("error", None, "config")}
    assert len(rows) == len(endpoint.bodies) == 3
    result.stdout.fnmatch_lines(["benchsuite: outcome: score: nan is not a finite number (3 cells, not scored)"])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_faulty_finish_hook_fails_the_run_and_loses_nothing(own, endpoint, workers):
    own.pytester.makeconftest(
        CONFTEST.replace("SCORER", "True") + "\n\ndef pytest_bench_finish(run):\n    raise ValueError('no disk')\n"
    )
    result = own.run("-m", "mine", "--bench-corpus", "mine=corpus", workers=workers)
    assert result.ret == 1
    assert len(own.rows()) == 3
    result.stdout.fnmatch_lines(["benchsuite: pytest_bench_finish: ValueError: no disk", "outcomes: 3 right"])


NIGHTLY = """
import pytest
from benchsuite_reports.table import Block, Table, TableSpec

pytestmark = pytest.mark.mine

@pytest.mark.experiment(
    retrieval=["recency"], delivery=["noimg", "pixels"], contrasts=["delivery: noimg -> pixels"], tables=["mine_t1"]
)
def test_mine(outcome):
    assert outcome.answered
"""
TABLE = """

def build(rows, facts):
    from benchsuite_reports.table import Block, Table

    right = sum(row["score"] or 0 for row in rows if row["suite"] == "mine")
    return Table("mine_t1", "How many are right", ("right",), (Block("all", (), ((str(int(right)),),)),))


_register = pytest_bench_register


def pytest_bench_register(registry):
    from benchsuite_reports.table import TableSpec

    _register(registry)
    registry.table(TableSpec("mine_t1", build))
"""


def test_one_case_file_and_one_table_get_saving_comparing_gates_and_reports(own, endpoint):
    """Nothing but a suite, a case file and a table: everything around them comes with benchsuite."""
    own.corpus(12)
    folder = own.pytester.path
    (folder / "cases" / "test_delivery.py").write_text(NIGHTLY)
    own.pytester.makeconftest(CONFTEST.replace("SCORER", "True") + TABLE)
    mine = ("-m", "mine", "--bench-corpus", "mine=corpus", "--bench-cache", "off")
    gates = ("--bench-compare", "anchor", "--bench-compare-fail", "mine.accuracy:-3pp@p<0.05")
    endpoint.script = lambda body: "eulavX"  # as long as a gold answer of one digit
    assert own.run(*mine, "--bench-save", "anchor").ret == 0
    assert "20" in (own.runs[-1] / "tables" / "mine_t1.csv").read_text()
    assert own.run(*mine, "--bench-save", "nightly", *gates, workers=2).ret == 0
    endpoint.script = lambda body: "far too long to be right"
    failed = own.run(*mine, "--bench-save", "nightly", *gates)
    assert failed.ret == 10, failed.stdout.str()
    failed.stdout.fnmatch_lines(["FAIL mine.accuracy against anchor*"])
    tool = Path(sys.executable).with_name("benchsuite")

    def benchsuite(*args: str) -> str:
        done = subprocess.run([str(tool), *args], cwd=folder, capture_output=True, text=True, timeout=100, check=True)
        return done.stdout

    assert "12/12" in benchsuite("report", "--run", "nightly", "--table", "contrasts")
    assert "right" in benchsuite("report", "--run", "anchor", "--table", "mine_t1", "--plugin", "conftest.py")
    assert "20" in benchsuite("report", "--run", "anchor", "--table", "mine_t1", "--plugin", "conftest.py")
    assert "20/0" in benchsuite("compare", "nightly", "anchor", "--a", "delivery=noimg", "--b", "delivery=noimg") or (
        "10/0" in benchsuite("compare", "nightly", "anchor", "--a", "delivery=noimg", "--b", "delivery=noimg")
    )
