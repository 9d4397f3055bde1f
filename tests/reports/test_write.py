"""Tables are found by module, written in four forms, and fail one by one."""

import json

import pytest

import benchsuite_reports
from benchsuite.outcome import Outcome
from benchsuite_reports.table import CorpusFacts, RunFacts
from benchsuite_reports.write import discover_tables, fill, needs_tokens, write_tables

FACTS = RunFacts({"d1": CorpusFacts("memlens-mini", bundled=True)})


def rows(served="m"):
    return [
        Outcome(
            cell=f"memlens:{retrieval}-{delivery}-{i}",
            suite="memlens",
            corpus="d1",
            question=f"q{i}",
            type="t",
            answerable=True,
            arm={"length": "1x", "retrieval": retrieval, "delivery": delivery, "model": "m"},
            status="scored",
            word="right",
            score=1.0,
            metric="subem",
            scorer="subem/1",
            model_served=served,
        ).to_row()
        for i in range(3)
        for retrieval in ("oracle", "text")
        for delivery in ("pixels", "noimg")
    ]


@pytest.fixture
def more_modules(tmp_path, monkeypatch):
    """Modules put beside the package's own, as a new table would be."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "extra_t1.py").write_text(
        "from benchsuite_reports.table import Block, Table, TableSpec\n"
        "def build(rows, facts):\n"
        "    block = Block('b', (), ((str(len(rows)),),))\n"
        "    return Table('extra_t1', 'Extra', ('rows',), (block,))\n"
        "TABLE = TableSpec('extra_t1', build)\n"
    )
    (folder / "faulty_t2.py").write_text(
        "from benchsuite_reports.table import TableSpec\nTABLE = TableSpec('faulty_t2', lambda rows, facts: 1 / 0)\n"
    )
    (folder / "broken_t3.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.setattr(benchsuite_reports, "__path__", [*benchsuite_reports.__path__, str(folder)])


OWN = [
    "contrasts",
    *(f"delivermem_{name}" for name in ("c5", "e6", "e7", "e8", "identity", "k", "metrics")),
    *(f"delivermem_t{number}" for number in (1, 2, 4, 5, 6, 7, 8, 12, 13, 14, 15, 18, 19, 20)),
    *(f"mirage_{name}" for name in ("depths", "drift", "labels", "pressure", "recall", "routes")),
    *(f"mirage_t{number}" for number in (1, 2, 3, 4, 5, 6, 8, 9)),
]


def made(folder, rows, facts, ids=None):
    """The tables written into ``tables/``, and every line that is said of others."""
    filled = fill(rows, facts, folder, [], ids)
    tables, faults = write_tables(folder / "tables", filled.tables)
    of_tables = [each for each in filled.problems if not each.startswith("figure ")]
    return tables, [*of_tables, *(filled.unfilled if ids is not None else ()), *faults]


def test_the_packages_own_tables_are_found():
    found, problems = discover_tables()
    assert list(found) == OWN
    assert [name for name in found if needs_tokens([name])] == ["delivermem_e6", "delivermem_t18"]
    assert problems == []


def test_four_files_a_table(tmp_path):
    tables, problems = made(tmp_path, rows(), FACTS)
    ids = [table.id for table in tables]
    assert "delivermem_t1" in ids
    assert "delivermem_t12" not in ids
    assert problems == []
    written = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert written == sorted(f"{name}.{ending}" for name in ids for ending in ("csv", "json", "md", "tex"))
    read = json.loads((tmp_path / "tables" / "delivermem_t1.json").read_text())
    assert read["blocks"][0]["values"]["n"] == 3
    for path in (tmp_path / "tables").iterdir():
        assert "pipeline" in path.read_text()


def test_a_fault_in_one_table_does_not_lose_the_others(tmp_path, more_modules):
    tables, problems = made(tmp_path, rows(), FACTS)
    assert {"delivermem_t1", "extra_t1"} <= {table.id for table in tables}
    assert "faulty_t2" not in {table.id for table in tables}
    assert problems == [
        "table module broken_t3: ModuleNotFoundError: No module named 'a_module_that_is_not_there'",
        "table faulty_t2: ZeroDivisionError: division by zero",
    ]
    assert (tmp_path / "tables" / "extra_t1.md").exists()


def test_a_refusal_to_mix_is_one_problem(tmp_path, more_modules):
    mixed = [*rows()[:5], *rows("other")[5:]]
    tables, problems = made(tmp_path, mixed, FACTS, ["delivermem_t1", "extra_t1"])
    assert [table.id for table in tables] == ["extra_t1"]
    assert any("models as served" in problem and "m, other" in problem for problem in problems)


def test_only_the_tables_asked_for_and_an_unknown_one_is_named(tmp_path, more_modules):
    tables, problems = made(tmp_path, rows(), FACTS, ["extra_t1", "delivermem_t9"])
    assert [table.id for table in tables] == ["extra_t1"]
    later = OWN.index("mirage_depths")
    known = ", ".join([*OWN[:later], "extra_t1", "faulty_t2", *OWN[later:]])
    assert any(f"table delivermem_t9: no such table; there are {known}, delivermem_" in each for each in problems)


def test_a_table_without_rows_is_written_by_nobody_and_named_when_asked_for(tmp_path):
    assert made(tmp_path, [], FACTS) == ([], [])
    asked = made(tmp_path, [], FACTS, ["delivermem_t1"])
    assert asked == ([], ["table delivermem_t1: missing arms: oracle-pixels, oracle-noimg, text-pixels, text-noimg"])
    assert not (tmp_path / "tables").exists()


def test_facts_come_from_run_json():
    info = {
        "corpora": {"d1": {"name": "memlens-mini", "bundled": True, "suite": "memlens"}},
        "embedded_models": ["embedded"],
    }
    facts = RunFacts.from_info(info, "0001_nogit_run")
    assert facts.corpora == {"d1": CorpusFacts("memlens-mini", bundled=True)}
    assert facts.embedded_models == {"embedded"}
    assert facts.run == "0001_nogit_run"
    assert RunFacts.from_info({}).corpora == {}
