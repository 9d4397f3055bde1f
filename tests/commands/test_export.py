"""Rows for other programs: nothing changed, nothing lost, the same columns whatever the first rows hold."""

import csv
import io
import json
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.commands.export import export_command
from benchsuite.errors import ConfigError, DataError
from benchsuite.outcome_row import OutcomeRow
from benchsuite.runs import Run, load_run
from benchsuite.runs.export import as_csv, as_jsonl, columns, flat_rows, write_parquet

ODD = '=1+1,"x"\n\r\t;–é😀'


def export(runs, *arguments):
    return export_command([*map(str, arguments), "--bench-dir", str(runs.bench_dir)])


@pytest.fixture
def rows(runs):
    """One of every kind, an arm value that is text or a number, and fields that few rows have."""
    made = [
        runs.row("c", answer=ODD, labels=["X,1", '"Y"'], scores={"subem": 1, "f1": 0.5}),
        runs.failed("b", "-2+3"),
        runs.row("a", arm={"length": "1x", "k": 5, "odd": 7}, usage_prompt=3, run={"t": 2, "extra": ["p", 1]}),
        runs.row("d", arm={"length": "2x", "k": 10, "odd": "text"}, answer=None, answerable=False, refused=True),
    ]
    return flat_rows(load_run(runs.make(questions="abcd", rows=made)))


def test_rows_are_flat_and_sorted_by_cell(rows):
    assert [row["question"] for row in rows] == list("abcd")
    assert all("run" not in row for row in rows)
    assert rows[0]["run.extra"] == ["p", 1]
    assert rows[2]["run.worker"] == "gw0"


def test_csv_reads_back_as_it_was(rows):
    text = "".join(as_csv(rows))
    found = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert list(found[0]) == list(columns(rows))
    assert [each["answer"] for each in found] == ["12", "", ODD, ""]
    assert found[1]["error.message"] == "-2+3", "no value is changed for the sake of a spreadsheet"
    assert json.loads(found[2]["labels"]) == ["X,1", '"Y"']
    assert [each["answerable"] for each in found] == ["true", "true", "true", "false"]
    assert [each["score"] for each in found] == ["1.0", "", "1.0", "1.0"]
    assert [each["arm.odd"] for each in found] == ["7", "", "", '"text"']
    assert json.loads(found[0]["run.extra"]) == ["p", 1]


def test_csv_tells_no_value_from_empty_text(runs):
    rows = flat_rows(load_run(runs.make(rows=[runs.row("a", answer=""), runs.row("b", answer=None)])))
    names = list(columns(rows))
    first, second = "".join(as_csv(rows)).splitlines()[1:]
    assert first.split(",")[names.index("answer")] == '""'
    assert second.split(",")[names.index("answer")] == ""


def test_json_lines_hold_the_same(rows):
    found = [json.loads(line) for line in as_jsonl(rows)]
    assert found == rows
    assert all(line.isascii() for line in as_jsonl(rows))


def test_parquet_holds_the_same(rows, tmp_path):
    write_parquet(rows, tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.column_names == list(columns(rows))
    as_text = {"arm.odd", "run.extra"}
    for row, found in zip(rows, table.to_pylist(), strict=True):
        for name, value in found.items():
            given = row.get(name)
            assert value == (json.dumps(given) if name in as_text and given is not None else given), name


def test_columns_and_their_types_do_not_hang_on_the_order_of_rows(rows, tmp_path):
    names = columns(rows)
    dice = random.Random(4)
    for _ in range(5):
        shuffled = dice.sample(rows, len(rows))
        assert list(columns(shuffled).items()) == list(names.items())
    write_parquet(rows, tmp_path / "all.parquet")
    write_parquet(rows[1:2], tmp_path / "error.parquet")  # its score, answer and tokens are missing
    schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("all", "error")]
    known = {field.alias or name for name, field in OutcomeRow.model_fields.items()} - {"run"}
    assert known <= set(schemas[1].names)
    assert {name: schemas[0].field(name).type for name in known} == {
        name: schemas[1].field(name).type for name in known
    }
    assert schemas[1].field("score").type == pa.float64()
    assert schemas[1].field("labels").type == pa.list_(pa.string())
    assert schemas[0].field("run.t").type == pa.float64()
    assert schemas[0].field("arm.k").type == pa.int64()


def test_every_field_of_a_row_has_a_column(rows):
    assert {key for row in rows for key in row} == columns(rows).keys()


@given(st.text(max_size=40))
def test_any_text_comes_back_from_csv(text):
    row = {"cell": text}
    # the columns of a row that has only this field: all others are empty
    line = "".join(as_csv([row])).split("\n", 1)[1]
    found = next(csv.reader(io.StringIO(line, newline=""), strict=True))
    assert found[1] == text


def test_files_are_replaced_whole(runs, rows, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    out.write_text("old")
    assert export(runs, 1, "--format", "csv", "--out", out) == 0
    assert out.read_bytes().decode() == "".join(as_csv(rows))
    assert capsys.readouterr().out == f"{out}: 4 rows\n"
    assert export(runs, 1, "--format", "csv") == 0
    assert capsys.readouterr().out == "".join(as_csv(rows))
    assert export(runs, 1, "--format", "parquet", "--out", tmp_path / "rows.parquet") == 0
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 4
    with pytest.raises(ConfigError, match="absent"):
        export(runs, 1, "--format", "jsonl", "--out", tmp_path / "absent" / "rows.jsonl")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bench", "rows.csv", "rows.parquet"]


def test_an_empty_run_has_a_header(runs, capsys):
    runs.make(rows=[], exit_code=11)
    assert export(runs, 1, "--format", "csv") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith('"schema","cell"')


def test_parquet_without_pyarrow_or_a_file_is_one_line(runs, rows, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as caught:
        export(runs, 1, "--format", "parquet")
    assert caught.value.code == 2
    assert "--out" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'benchsuite\[parquet\]'"):
        export(runs, 1, "--format", "parquet", "--out", tmp_path / "rows.parquet")


def test_a_number_too_large_for_parquet_is_named(runs, tmp_path):
    path = runs.make(rows=[runs.row("a", usage_prompt=10**20), runs.row("b")])
    with pytest.raises(DataError, match=r"usage\.prompt"):
        export(runs, 1, "--format", "parquet", "--out", tmp_path / "rows.parquet")
    assert not list(tmp_path.glob("*rows*"))
    assert f'"usage.prompt": {10**20}' in "".join(as_jsonl(flat_rows(load_run(path))))


def test_a_row_without_rows_of_its_group_has_no_such_column():
    assert not any(name.startswith("scores.") for name in columns(flat_rows(Run(None, {}, {}))))
