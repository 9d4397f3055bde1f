"""Indexing needs the memory of one item, however large the file is: resident size of a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from benchsuite.corpus.stream import stream_items
from tests.corpus.big_file import write_big

QUESTIONS_PER_MB = 5
ALLOWED_MB = 15  # of growth; the larger file has 30 MB more
INDEX = """
import re, sys
from pathlib import Path
from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.store import index_corpus, open_corpus
corpus = open_corpus(index_corpus(memlens_source(sys.argv[1]), Path(sys.argv[2])))
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss would begin at the parent's
print(len(corpus.outline("256k")), int(peak[1]) / 1024)
"""


def peak(spec: str, cache: Path) -> tuple[int, float]:
    """Questions kept, and MiB."""
    done = subprocess.run(
        [sys.executable, "-c", INDEX, spec, str(cache)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    count, mib = done.stdout.split()
    return int(count), float(mib)


def big(folder: Path, megabytes: int) -> Path:
    path = folder / f"of_{megabytes}" / "dataset_256k.json"
    write_big(path, megabytes, QUESTIONS_PER_MB * megabytes, 10)
    return path


@pytest.mark.parametrize("keep", ["", "#agent_subset_10"])
def test_a_json_file(tmp_path: Path, keep: str) -> None:
    small, large = (peak(f"{big(tmp_path, size)}{keep}", tmp_path / f"cache_{size}") for size in (10, 40))
    assert (small[0], large[0]) == ((10, 10) if keep else (50, 200))
    assert large[1] < small[1] + ALLOWED_MB


def test_a_parquet_file_of_one_row_group(tmp_path: Path) -> None:
    peaks = []
    for size in (10, 40):
        told = big(tmp_path, size)
        twin = told.with_suffix(".parquet")
        table = pa.Table.from_pylist(list(stream_items(told)))
        parquet.write_table(table, twin, row_group_size=10_000)
        assert parquet.ParquetFile(twin).num_row_groups == 1
        peaks.append(peak(str(twin), tmp_path / f"cache_{size}"))
    (few, small), (many, large) = peaks
    assert (few, many) == (50, 200)
    assert large < small + ALLOWED_MB
