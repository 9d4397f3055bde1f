"""A copy of a workspace costs nothing, and what is written to it nobody else sees."""

from __future__ import annotations

import hashlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from benchsuite.errors import BenchError, DataError
from benchsuite.runtime.workspace import BlobStore, Stored, Workspace

from .world import picture


@pytest.fixture
def base(tmp_path):
    first = Workspace({}, BlobStore(tmp_path))
    first.write("a.md", b"one", "ax_1")
    first.write("b.md", b"two")
    return Workspace(first.snapshot(), BlobStore(tmp_path))


def contents(workspace):
    return {path: workspace.read(path) for path, _ in workspace.files()}


def test_a_snapshot_holds_what_was_written(base):
    assert contents(base) == {"a.md": b"one", "b.md": b"two"}
    assert base.file("a.md") == Stored(hashlib.sha256(b"one").hexdigest(), 3, "ax_1")
    assert base.file("c.md") is None
    assert not base.changed


def test_writing_to_a_copy_changes_neither_base_nor_other_copies(base):
    first, second = base.fork(), base.fork()
    first.write("a.md", b"mine")
    first.write("new.md", b"new")
    assert contents(first) == {"a.md": b"mine", "b.md": b"two", "new.md": b"new"}
    assert contents(second) == contents(base) == {"a.md": b"one", "b.md": b"two"}
    assert (first.changed, second.changed) == (True, False)
    assert second.file("new.md") is None
    with pytest.raises(DataError, match=r"new\.md: no such file in the workspace"):
        second.read("new.md")


def test_a_copy_of_a_copy_that_was_written_to_is_refused(base):
    copy = base.fork()
    copy.fork()
    copy.write("a.md", b"mine")
    with pytest.raises(BenchError, match="cannot be forked: take a snapshot"):
        copy.fork()


def test_a_snapshot_is_not_changed_by_what_is_written_later(base):
    copy = base.fork()
    copy.write("c.md", b"c")
    before = copy.snapshot()
    copy.write("c.md", b"other")
    assert before["c.md"].sha256 == hashlib.sha256(b"c").hexdigest()
    assert "c.md" not in base.snapshot()


def test_what_a_copy_writes_does_not_reach_the_disk(base, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    base.fork().write("secret.md", b"nobody keeps this")
    assert sorted(tmp_path.rglob("*")) == before


def test_files_come_by_path_with_their_pictures(base):
    image = picture(33)
    base.write("Z/chart.png", b"png", "ax_2", image)
    assert [path for path, _ in base.files()] == ["Z/chart.png", "a.md", "b.md"]
    assert base.file("Z/chart.png").image == image


def test_blobs_are_whole_and_never_change(tmp_path):
    blobs = BlobStore(tmp_path)
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as pool:
        digests = set(pool.map(blobs.put, [b"x" * 100_000] * 16))
    [digest] = digests
    assert digest in blobs
    assert blobs.get(digest) == b"x" * 100_000
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    assert "0" * 64 not in blobs
    with pytest.raises(DataError, match="the blob is missing"):
        blobs.get("0" * 64)
    next(tmp_path.glob(f"*/{digest}")).write_bytes(b"y")
    with pytest.raises(DataError, match="not what its name says"):
        blobs.get(digest)
