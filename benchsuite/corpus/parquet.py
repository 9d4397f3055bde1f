"""Read a Parquet file one row at a time, in memory bounded by its largest row, whatever its row groups are.

pyarrow (the extra ``parquet``) is imported where a file is opened: a run on JSON needs none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

SUFFIX = ".parquet"
_BUFFER_BYTES = 1 << 20  # read ahead per column


def stream_rows(path: Path) -> Iterator[object]:
    """Yield the rows as dicts, in file order: nested columns are lists and dicts, an absent field is None.

    Raises ConfigError where pyarrow is not installed, and DataError, naming the file and how many rows were
    complete, for a file that cannot be read, is truncated or is not Parquet.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ConfigError(
            f"{path}: Parquet files need the extra 'parquet': pip install 'benchsuite[parquet]'"
        ) from None
    done = 0
    try:
        # pre-buffering, the default, would hold the column chunks of a whole row group: all of a file with one
        with ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False) as opened:
            for row in _rows(opened):
                yield row
                done += 1
    except (OSError, pyarrow.ArrowException) as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            str(path), None, None, f"not readable as Parquet: {problem} (after {done} complete rows)"
        ) from None


def _rows(opened: ParquetFile) -> Iterator[object]:
    for batch in opened.iter_batches(batch_size=1, use_threads=False):
        yield from batch.to_pylist()
