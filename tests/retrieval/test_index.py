"""The index on disk: appended once, readable after a kill, refused when it does not fit."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchsuite.errors import DataError
from benchsuite.retrieval.index import Flight, VectorIndex, index_folder, read_facts

ROOT = Path(__file__).resolve().parents[2]
WIDTH, TILES = 4, 2
ROW = WIDTH * TILES * 4  # bytes
FLIGHT = Flight(200.0, 201.0, "cpu")


def digest(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def rows(*names: object, width: int = WIDTH, tiles: int = TILES) -> dict[str, np.ndarray]:
    """Made-up vectors by digest, the same for a name wherever they are made."""
    return {
        digest(name): np.random.default_rng(int(digest(name)[:8], 16)).random((tiles, width), np.float32)
        for name in names
    }


def opened(root: Path) -> VectorIndex:
    return VectorIndex(root, "fake", "fake/1", "region/1")


@pytest.fixture
def index(tmp_path: Path) -> VectorIndex:
    """Holds a, b and c, appended in two steps."""
    made = opened(tmp_path)
    made.append(rows("a", "b"), Flight(100.0, 101.5, "cpu"))
    made.append(rows("c"), Flight(101.25, 101.75, "cuda"))
    return made


def best_of(index: VectorIndex, *names: object) -> None:
    """Assert that the index scores each name as its vectors say."""
    query = np.arange(1, WIDTH + 1, dtype=np.float32)
    expected = [(rows(name)[digest(name)] @ query).max() for name in names]
    assert index.absent([digest(name) for name in names]) == []
    assert index.scores(query, [digest(name) for name in names]) == pytest.approx(expected, rel=1e-6)


def test_what_was_appended_is_there_for_everyone(index: VectorIndex, tmp_path: Path) -> None:
    other = opened(tmp_path)
    for reader in (index, other):
        best_of(reader, "c", "a", "b", "a")
        assert reader.absent([digest("x"), digest("a"), digest("x")]) == [digest("x")]
    facts = other.facts()
    assert facts is not None
    assert (facts.images, facts.bytes, facts.width, facts.tiles) == (3, 3 * ROW, WIDTH, TILES)
    assert (facts.encoder, facts.identity, facts.tiling, facts.device) == ("fake", "fake/1", "region/1", "cuda")
    assert facts.encode_s == pytest.approx(1.75), "a quarter of a second counts once"
    index.append(rows("d"), FLIGHT)
    best_of(other, "d", "a")


def test_an_image_is_kept_once(index: VectorIndex, tmp_path: Path) -> None:
    opened(tmp_path).append({**rows("e"), digest("a"): np.zeros((TILES, WIDTH), np.float32)}, FLIGHT)
    best_of(index, "a", "e")
    assert (index.folder / "images.txt").read_text().split() == [digest(name) for name in "abce"]
    assert (index.folder / "vectors.f32").stat().st_size == 4 * ROW


def test_encoder_and_tiling_have_folders_of_their_own(tmp_path: Path) -> None:
    made = {
        index_folder(tmp_path, identity, tiling) for identity in ("e/1", "e/2") for tiling in ("whole/1", "region/1")
    }
    assert len(made) == 4
    assert all(len(folder.name) == 64 and folder.parent == tmp_path for folder in made)


def test_an_index_that_is_not_there_is_empty(tmp_path: Path) -> None:
    empty = opened(tmp_path)
    assert empty.absent([digest("a")]) == [digest("a")]
    assert empty.facts() is None
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"


@pytest.mark.parametrize("names", ["", "6162", digest("half")[:64]])
@pytest.mark.parametrize("vectors", [0, 7, ROW, 3 * ROW + 1])
def test_what_a_killed_writer_left_is_cut(index: VectorIndex, tmp_path: Path, names: str, vectors: int) -> None:
    with (index.folder / "vectors.f32").open("ab") as file:
        file.write(b"\1" * vectors)
    with (index.folder / "images.txt").open("a") as file:
        file.write(names)
    late = opened(tmp_path)
    best_of(late, "a", "b", "c")
    late.append(rows("d", "e"), FLIGHT)
    for reader in (index, late, opened(tmp_path)):
        best_of(reader, "a", "b", "c", "d", "e")
    assert (index.folder / "vectors.f32").stat().st_size == 5 * ROW
    assert (index.folder / "images.txt").read_text() == "".join(f"{digest(name)}\n" for name in "abcde")


WRITER = textwrap.dedent("""
    import os, sys
    import numpy as np
    from pathlib import Path
    import benchsuite.retrieval.index as module
    from benchsuite.retrieval.index import Flight, VectorIndex
    step, add, calls = int(sys.argv[2]), module._add, []
    def dying(path, content):
        calls.append(path)
        if len(calls) == step:
            with path.open("ab") as file:
                file.write(content[: len(content) // 2])
            os.kill(os.getpid(), 9)
        add(path, content)
    module._add = dying
    index = VectorIndex(Path(sys.argv[1]), "fake", "fake/1", "region/1")
    index.append({sys.argv[3]: np.ones((2, 4), np.float32)}, Flight(0, 1, ""))
""")


@pytest.mark.parametrize("step", [1, 2])
def test_a_writer_killed_between_its_writes_leaves_a_sound_index(index: VectorIndex, tmp_path: Path, step: int) -> None:
    """Killed half-way in the vectors (1) and half-way in the lines that name them (2)."""
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(step), digest("torn")]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    size = (index.folder / "vectors.f32").stat().st_size
    assert size == 3 * ROW + (ROW // 2 if step == 1 else ROW), "it died elsewhere"
    assert index.absent([digest("torn")]) == [digest("torn")]
    index.append(rows("torn"), FLIGHT)
    best_of(opened(tmp_path), "a", "b", "c", "torn")


def test_claims_are_tried_and_never_waited_for(index: VectorIndex, tmp_path: Path) -> None:
    wanted = [digest(name) for name in ("a", 1, 2, 3)]
    other = opened(tmp_path)
    with index.claim(wanted, 2) as mine:
        assert mine == wanted[1:3], "a is there already"
        with other.claim(wanted, 2) as theirs:
            assert theirs == wanted[3:]
            with index.claim(wanted, 2) as left:
                assert left == []
        index.append(rows(1), FLIGHT)
    with other.claim(wanted, 9) as rest:
        assert rest == wanted[2:]
    left_over = {path.name for path in (index.folder / "claims").iterdir()}
    assert left_over == set(wanted[2:]), "only what nobody has embedded keeps its file"


def test_what_was_appended_just_before_the_claim_is_not_embedded_again(
    index: VectorIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder appends and lets go after we looked and before we lock."""
    holder, flock, late = opened(tmp_path), fcntl.flock, [rows("x")]

    def append_first(file: int, how: int) -> None:
        if late:
            holder.append(late.pop(), FLIGHT)
        flock(file, how)

    monkeypatch.setattr("benchsuite.retrieval.index.fcntl.flock", append_first)
    with index.claim([digest("x"), digest("y")], 9) as mine:
        assert mine == [digest("y")]
    assert not (index.folder / "claims" / digest("x")).exists()


CLAIMANT = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from benchsuite.retrieval.index import VectorIndex
    with VectorIndex(Path(sys.argv[1]), "fake", "fake/1", "region/1").claim(sys.argv[2:], 9) as mine:
        print(len(mine), flush=True)
        time.sleep(100)
""")


def test_the_claims_of_a_killed_process_are_free(index: VectorIndex, tmp_path: Path) -> None:
    wanted = [digest("x"), digest("y")]
    with subprocess.Popen(
        [sys.executable, "-c", CLAIMANT, str(tmp_path), *wanted],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "2\n"
            with index.claim(wanted, 9) as mine:
                assert mine == []
        finally:
            holder.kill()
    with index.claim(wanted, 9) as mine:
        assert mine == wanted


def test_a_writer_waits_for_the_lock(index: VectorIndex) -> None:
    with (index.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer = threading.Thread(target=index.append, args=(rows("d"), FLIGHT))
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
    writer.join(10)
    best_of(index, "d")


@pytest.mark.parametrize(
    ("width", "tiles", "problem"),
    [(WIDTH + 1, TILES, "width: is 2 of 4 an image, now came 2 vectors of width 5"),
     (WIDTH, 1, "width: is 2 of 4 an image, now came 1 vectors of width 4")],
)  # fmt: skip
def test_vectors_of_another_shape_are_refused(index: VectorIndex, width: int, tiles: int, problem: str) -> None:
    with pytest.raises(DataError) as error:
        index.append(rows("d", width=width, tiles=tiles), FLIGHT)
    assert str(error.value) == f"{index.folder}: {problem}; remove this folder and run again to embed anew"
    best_of(index, "a", "b", "c")


def test_a_query_of_another_width_is_refused(index: VectorIndex) -> None:
    with pytest.raises(DataError, match=r"width: is 4, but the query's vector has 6; remove this folder"):
        index.scores(np.ones(6, np.float32), [digest("a")])


def edit(folder: Path, **changes: object) -> None:
    path = folder / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "width": (lambda f: edit(f, width=5), "index.json: 3 images of 2 vectors of width 5 do not make 96 bytes"),
    "tiles": (lambda f: edit(f, tiles=1), "index.json: 3 images of 1 vectors of width 4 do not make 96 bytes"),
    "fewer lines": (lambda f: edit(f, images=9, bytes=9 * ROW), "images.txt: names 3 images, index.json 9"),
    "longer rows": (
        lambda f: edit(f, width=8, bytes=6 * ROW),
        "vectors.f32: has 96 bytes, too few for 3 images of 2 vectors",
    ),
    "identity": (lambda f: edit(f, identity="other"), "index.json: is of encoder other and tiling region/1"),
    "dtype": (lambda f: edit(f, dtype="<f2"), "index.json: is not of format 1"),
    "negative": (lambda f: edit(f, images=-3), "index.json: is not of format 1"),
    "fields": (lambda f: edit(f, extra=1), "index.json: must have exactly the fields"),
    "not JSON": (lambda f: (f / "index.json").write_text("{"), "index.json: cannot be read"),
    "no facts": (lambda f: (f / "index.json").unlink(), "index.json: is missing"),
    "short": (lambda f: os.truncate(f / "vectors.f32", ROW), "vectors.f32: has 32 bytes, too few for 3 images"),
    "no vectors": (lambda f: (f / "vectors.f32").unlink(), "vectors.f32: has 0 bytes, too few for 3 images"),
    "repeated": (
        lambda f: (f / "images.txt").write_text(f"{digest('a')}\n" * 3),
        "images.txt: is not a list of distinct",
    ),
    "not digests": (
        lambda f: (f / "images.txt").write_text("x" * 65 * 3),
        "images.txt: is not a list of distinct digests",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_index_is_one_line(index: VectorIndex, tmp_path: Path, kind: str) -> None:
    damage, problem = DAMAGES[kind]
    damage(index.folder)
    late = opened(tmp_path)
    for step in (lambda: late.absent([digest("a")]), lambda: late.append(rows("d"), FLIGHT)):
        with pytest.raises(DataError) as error:
            step()
        line = str(error.value)
        assert line.startswith(f"{index.folder}: ")
        assert line.endswith("; remove this folder and run again to embed anew")
        assert problem in line or (kind == "longer rows" and "now came" in line)


def test_a_file_that_shrank_in_use_is_not_filled_up(index: VectorIndex) -> None:
    os.truncate(index.folder / "vectors.f32", 2 * ROW)
    with pytest.raises(DataError, match=r"vectors\.f32: has 64 bytes, too few for 3 images"):
        index.append(rows("d"), FLIGHT)
    (index.folder / "images.txt").write_text("")
    with pytest.raises(DataError, match=r"images\.txt: became shorter while it was in use"):
        index.absent([digest("z")])
    assert read_facts(index.folder) is not None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot be written: Not a directory"):
        VectorIndex(tmp_path / "file", "fake", "fake/1", "region/1").append(rows("a"), FLIGHT)
