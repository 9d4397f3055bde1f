from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchsuite.errors import BenchError, ConfigError
from benchsuite.models.cache import FILE_NAME, AnswerCache, AnswerStore, open_cache
from benchsuite.models.wire import Reply

REPLY = Reply("an answer \ufffd", "stop", "served", "fp", 5, 2, 1, 0.25, 3, ({"id": "1"},))


def test_a_reply_comes_back_as_it_went_in(tmp_path: Path) -> None:
    store = AnswerStore.create(tmp_path / "a b#c")
    assert store.get("k") is None
    store.put("k", "family", "model", REPLY)
    stored = store.get("k")
    assert stored is not None
    assert stored.reply == REPLY
    assert stored.created > 1.7e9
    store.put("k", "family", "model", Reply("later"))
    assert store.get("k") == stored
    store.put("k", "family", "model", Reply("later"), anew=True)
    again = store.get("k")
    assert again is not None
    assert again.reply.text == "later"
    store.close()


def test_parts_stand_once(tmp_path: Path) -> None:
    store = AnswerStore.create(tmp_path)
    store.put_parts({"s1": b"one", "s2": b"\x00\xff"})
    store.put_parts({"s1": b"other"})
    assert (store.part("s1"), store.part("s2"), store.part("s3")) == (b"one", b"\x00\xff", None)
    store.close()


def test_what_is_no_cache_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"answers\.sqlite: there is no answer cache"):
        AnswerStore(tmp_path / "absent")
    (tmp_path / "garbage").mkdir()
    (tmp_path / "garbage" / FILE_NAME).write_bytes(b"no database, only words " * 50)
    for readonly in (True, False):
        with pytest.raises(ConfigError, match=FILE_NAME):
            AnswerStore(tmp_path / "garbage", readonly=readonly)
    with pytest.raises(ConfigError, match=FILE_NAME):
        AnswerStore.create(tmp_path / "garbage")
    (tmp_path / "foreign").mkdir()
    db = sqlite3.connect(tmp_path / "foreign" / FILE_NAME)
    db.execute("CREATE TABLE theirs(x)")
    db.close()
    with pytest.raises(ConfigError, match="not an answer cache of version 1"):
        AnswerStore.create(tmp_path / "foreign")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be made"):
        AnswerStore.create(tmp_path / "file" / "below")


def test_a_corrupt_row_is_named(tmp_path: Path) -> None:
    store = AnswerStore.create(tmp_path)
    store.put("k1", "f", "m", REPLY)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE answers SET reply='{half'")
    db.close()
    with pytest.raises(BenchError, match="k1"):
        store.get("k1")
    store.close()


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """The folder without the right to write; root, whom modes do not bind, becomes nobody for a while."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


def test_a_readonly_folder_is_read() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is closed to nobody
        folder = Path(name)
        store = AnswerStore.create(folder)
        store.put("k", "f", "m", REPLY)
        store.close()
        with unwritable(folder):
            store = AnswerStore(folder, readonly=True)
            stored = store.get("k")
            with pytest.raises(BenchError, match="cannot be written"):
                store.put("k2", "f", "m", REPLY)
            store.close()
        assert stored is not None
        assert stored.reply == REPLY


def test_modes(tmp_path: Path) -> None:
    async def get_put_get(cache: AnswerCache | None, text: str) -> tuple[str | None, str | None]:
        assert cache is not None
        before = await cache.get("k")
        await cache.put("k", "f", "m", Reply(text))
        after = await cache.get("k")
        cache.close()
        return (before.reply.text if before else None, after.reply.text if after else None)

    assert open_cache(tmp_path, "off") is None
    for mode, replay in (("readonly", False), ("on", True), ("on", False)):
        with pytest.raises(ConfigError, match="no answer cache"):
            open_cache(tmp_path, mode, replay=replay)
    assert asyncio.run(get_put_get(open_cache(tmp_path, "on", create=True), "first")) == (None, "first")
    assert asyncio.run(get_put_get(open_cache(tmp_path, "on"), "second")) == ("first", "first")
    assert asyncio.run(get_put_get(open_cache(tmp_path, "readonly"), "third")) == ("first", "first")
    assert asyncio.run(get_put_get(open_cache(tmp_path, "on", replay=True), "third")) == ("first", "first")
    assert asyncio.run(get_put_get(open_cache(tmp_path, "refresh"), "fourth")) == (None, None)
    assert asyncio.run(get_put_get(open_cache(tmp_path, "on"), "fifth")) == ("fourth", "fourth")
    with pytest.raises(ConfigError, match="unknown cache mode 'of'"):
        open_cache(tmp_path, "of")
    for mode in ("off", "refresh"):
        with pytest.raises(ConfigError, match="replay"):
            open_cache(tmp_path, mode, replay=True)


def test_many_at_once_and_a_cancelled_wait_loses_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        cache = AnswerCache(AnswerStore.create(tmp_path))
        await asyncio.gather(*(cache.put(f"k{n}", "f", "m", Reply(str(n))) for n in range(300)))
        found = await asyncio.gather(*(cache.get(f"k{n}") for n in range(301)))
        assert [s.reply.text for s in found if s] == [str(n) for n in range(300)]
        assert found[300] is None
        waiting = asyncio.create_task(cache.put("late", "f", "m", Reply("kept")))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        cache.put_parts({"s": "part"})
        cache.close()
        with pytest.raises(BenchError, match="closed"):
            await cache.get("k1")

    asyncio.run(run())
    store = AnswerStore(tmp_path)
    late = store.get("late")
    assert late is not None
    assert late.reply.text == "kept"
    assert store.part("s") == b"part"
    store.close()


def test_a_failed_write_is_told(tmp_path: Path) -> None:
    async def run() -> None:
        cache = AnswerCache(AnswerStore.create(tmp_path))
        with sqlite3.connect(tmp_path / FILE_NAME) as db:
            db.execute("DROP TABLE parts")
            db.execute("DROP TABLE answers")
        db.close()
        with pytest.raises(BenchError, match="cannot be written"):
            await cache.put("k", "f", "m", REPLY)
        cache.put_parts({"s": "x"})
        with pytest.raises(BenchError, match="parts"):
            cache.close()

    asyncio.run(run())


WRITER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from benchsuite.models.cache import open_cache
    from benchsuite.models.wire import Reply

    async def main(folder, name, count):
        cache = open_cache(Path(folder), "on", create=True)
        for n in range(count):
            await cache.put(f"{name}-{n}", "f", "m", Reply(f"{name} {n}"))
            print(n, flush=True)
        cache.close()

    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
""")


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_what_was_reported_survives_a_kill(tmp_path: Path) -> None:
    process = writer(tmp_path, "w", 100_000)
    assert process.stdout is not None
    reported = [process.stdout.readline() for _ in range(50)]
    process.send_signal(signal.SIGKILL)
    reported += process.stdout.readlines()
    process.wait(10)
    numbers = [int(line) for line in reported if line.endswith("\n")]
    assert len(numbers) >= 50
    store = AnswerStore.create(tmp_path)
    for n in numbers:
        stored = store.get(f"w-{n}")
        assert stored is not None
        assert stored.reply.text == f"w {n}"
    store.close()


def test_processes_make_and_share_one_cache(tmp_path: Path) -> None:
    processes = [writer(tmp_path / "new", name, 100) for name in ("a", "b", "c")]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    store = AnswerStore(tmp_path / "new")
    for name in ("a", "b", "c"):
        assert all(store.get(f"{name}-{n}") is not None for n in range(100))
    store.close()
