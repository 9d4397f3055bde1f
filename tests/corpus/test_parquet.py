"""Parquet twins: the records of the JSON file, row by row, and clear words where a file cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MINI_FOLDER, MemLensSource
from benchsuite.corpus.store import Record, index_corpus
from benchsuite.errors import ConfigError, DataError

ITEM = {
    "question_id": "q_1",
    "question_type": "information_extraction",
    "question": "What colour is it?",
    "answer": "teal",
    "question_date": "2024/05/31 (Fri) 07:58",
    "haystack_dates": ["2024/05/06 (Mon) 17:17"],
    "haystack_session_ids": ["sess_a"],
    "haystack_sessions": [[{"role": "user", "content": "It is teal. é", "images": [], "has_answer": True}]],
    "answer_session_ids": ["sess_a"],
}


def write(path: Path, items: list[dict[str, Any]], **options: Any) -> Path:
    fields = list(dict.fromkeys(field for item in items for field in item))  # pyarrow looks at the first row alone
    rows = [{field: item.get(field) for field in fields} for item in items]
    parquet.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def read(source: MemLensSource) -> list[Record]:
    images = ImageIndex(source.image_root)
    return [record for length in source.lengths for record in source.records(length, images)]


@pytest.mark.parametrize("rows", [1, 1000])
def test_the_twin_of_the_bundled_corpus_has_the_same_records(tmp_path: Path, rows: int) -> None:
    (tmp_path / "release_images").symlink_to(MINI_FOLDER / "release_images")
    items = json.loads((MINI_FOLDER / "dataset_1x.json").read_bytes())
    write(tmp_path / "dataset_1x.parquet", items, row_group_size=rows)
    told = read(MemLensSource(MINI_FOLDER / "dataset_1x.json", split="all"))
    (tmp_path / "labels.json").write_bytes((MINI_FOLDER / "labels.json").read_bytes())
    twin = read(MemLensSource(tmp_path, split="all"))
    assert len(told) == len(items)
    assert twin == told
    assert any(image.sha256 for record in twin for turn in record.history.turns for image in turn.images)


def test_fields_that_some_rows_lack(tmp_path: Path) -> None:
    turn = {"role": "user", "content": "Look", "images": [{"file": "n/none.png"}]}
    bare = {"role": "assistant", "content": "Hm"}
    told = {"date": "2024/05/06 (Mon) 17:17", "session_id": "sess_a", "session": [turn, bare]}
    items = [
        {**ITEM, "haystack_sessions": [told], "old_answer": "blue"},
        {**ITEM, "question_id": "q_2", "haystack_sessions": [{"session": [bare, turn]}], "question_date": None},
    ]
    (tmp_path / "release_images").mkdir()
    (tmp_path / "dataset_32k.json").write_text(json.dumps(items))
    write(tmp_path / "twin.parquet", items)
    told_records, twin = (read(MemLensSource(tmp_path / name)) for name in ("dataset_32k.json", "twin.parquet"))
    assert twin == told_records
    assert [record.question.outdated for record in twin] == ["blue", ""]
    assert twin[1].question.date == "unknown"


def test_of_twins_in_a_folder_the_json_file_is_read(tmp_path: Path) -> None:
    write(tmp_path / "dataset_32k.parquet", [{**ITEM, "question_id": "q_parquet"}])
    write(tmp_path / "dataset_64k.parquet", [{**ITEM, "question_id": "q_long"}])
    assert [record.question.id for record in read(MemLensSource(tmp_path))] == ["q_parquet", "q_long"]
    (tmp_path / "dataset_32k.json").write_text(json.dumps([ITEM]))
    source = MemLensSource(tmp_path)
    assert source.lengths == ("32k", "64k")
    assert [record.question.id for record in read(source)] == ["q_1", "q_long"]
    assert [r.question.id for r in read(MemLensSource(tmp_path / "dataset_32k.parquet"))] == ["q_parquet"]


def test_faults_name_file_and_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "dataset_32k.parquet", [{**ITEM, "question_id": f"q_{n}"} for n in range(50)])
    whole = path.read_bytes()
    faults: list[tuple[bytes, str]] = [
        (whole[:-20], "not readable as Parquet: .*(after 0 complete rows)"),
        (b"PAR1", "not readable as Parquet"),
        (b"", "not readable as Parquet"),
        (b"[]", "not readable as Parquet"),
    ]
    for content, problem in faults:
        path.write_bytes(content)
        with pytest.raises(DataError, match=problem) as caught:
            read(MemLensSource(path))
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_pages_that_are_cut_inside_the_file(tmp_path: Path) -> None:
    items = [{**ITEM, "question_id": f"q_{n}"} for n in range(50)]
    path = write(tmp_path / "dataset_32k.parquet", items, row_group_size=10, compression="zstd")
    data = bytearray(path.read_bytes())
    middle = parquet.ParquetFile(path).metadata.row_group(3).column(2)
    for offset in range(middle.total_compressed_size):
        data[(middle.dictionary_page_offset or middle.data_page_offset) + offset] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"after \d+ complete rows"):
        read(MemLensSource(path))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"question_id": None}, "item #1: question_id: missing"),
        (
            {"question_date": datetime(2024, 5, 6)},
            "question_date: a string is needed, not datetime",
        ),
        ({"answer": float("nan")}, "answer: nan is no answer"),
        ({"haystack_sessions": b"[]"}, "haystack_sessions: a list is needed, not bytes"),
    ],
)
def test_rows_are_checked_like_items(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read(MemLensSource(write(tmp_path / "dataset_32k.parquet", [{**ITEM, **changes}])))


def test_a_file_without_rows_is_a_corpus_without_questions(tmp_path: Path) -> None:
    path = tmp_path / "dataset_32k.parquet"
    parquet.write_table(pa.table({"question_id": pa.array([], pa.string())}), path)
    with pytest.raises(DataError, match="the corpus has no questions"):
        index_corpus(MemLensSource(path), tmp_path / "cache")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "dataset_32k.parquet", [ITEM])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"dataset_32k\.parquet: .*extra 'parquet'"):
        read(MemLensSource(path))


def test_a_run_on_json_does_not_load_pyarrow() -> None:
    code = (
        "import sys; from benchsuite.corpus.images import ImageIndex\n"
        "from benchsuite.corpus.memlens import memlens_source\n"
        "source = memlens_source('memlens-mini')\n"
        "assert list(source.records('1x', ImageIndex(source.image_root)))\n"
        "print('pyarrow' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False False\n", done.stderr
