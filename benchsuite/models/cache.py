"""The answer cache: one SQLite file (WAL) that every process of a run, and later runs, share.

``answers(key, family, model, created, reply)`` holds one reply per request key, as it came; ``parts(sha256,
bytes)`` holds each text or image that was sent once. Errors are never stored.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

from benchsuite.errors import BenchError, ConfigError
from benchsuite.models.wire import Reply

CacheMode = Literal["on", "off", "readonly", "refresh"]
CACHE_MODES: tuple[str, ...] = get_args(CacheMode)
FILE_NAME = "answers.sqlite"
_VERSION = 1
_BUSY_S = 60.0
_TABLES = (
    "CREATE TABLE answers(key TEXT PRIMARY KEY, family TEXT NOT NULL, model TEXT NOT NULL, created REAL NOT NULL,"
    " reply TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE parts(sha256 TEXT PRIMARY KEY, bytes BLOB NOT NULL)",
)
_PUT_PARTS = "INSERT OR IGNORE INTO parts VALUES(?,?)"
_NONE: Mapping[str, bytes] = {}
_PARTS_HELD = 1000
_REPLY_FIELDS = tuple(Reply.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply with its original usage, latency and served model; ``created`` is a Unix time in seconds."""

    reply: Reply
    created: float


class AnswerStore:
    """The file, synchronously; one instance belongs to one thread at a time. Each ``put`` is one commit.

    ``AnswerStore.create(folder)`` makes folder and file (the controller does so, once); the constructor opens
    an existing one. Raises ConfigError where there is none, where it is no answer cache or cannot be opened,
    BenchError where a later read or write fails.
    """

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        self.file = folder / FILE_NAME
        try:
            if not self.file.is_file():
                raise ConfigError(f"{self.file}: there is no answer cache here")
            self._db = self._open_readonly() if readonly else self._open()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"{self.file}: the answer cache cannot be opened: {_words(error)}") from None
        self._check()

    @classmethod
    def create(cls, folder: Path) -> AnswerStore:
        file = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None)) as db:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("BEGIN IMMEDIATE")
                empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if empty:
                    for statement in (*_TABLES, f"PRAGMA user_version={_VERSION}"):
                        db.execute(statement)
                db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"{file}: the answer cache cannot be made: {_words(error)}") from None
        return cls(folder)

    def get(self, key: str) -> StoredReply | None:
        row = self._read("SELECT reply, created FROM answers WHERE key=?", key)
        if row is None:
            return None
        try:
            fields = json.loads(row[0])
            reply = Reply(**{name: fields[name] for name in _REPLY_FIELDS if name in fields})
            return StoredReply(replace(reply, tool_calls=tuple(reply.tool_calls)), row[1])
        except (ValueError, TypeError, KeyError) as error:
            raise BenchError(f"{self.file}: answer {key} cannot be read: {_words(error)}") from None

    def put(
        self, key: str, family: str, model: str, reply: Reply, *, anew: bool = False, parts: Mapping[str, bytes] = _NONE
    ) -> None:
        """Store an answer, and parts beside it, in one commit. An answer that is there stays, unless asked ``anew``."""
        text = json.dumps({name: getattr(reply, name) for name in _REPLY_FIELDS}, allow_nan=False)
        verb = "REPLACE" if anew else "IGNORE"
        answer = (f"INSERT OR {verb} INTO answers VALUES(?,?,?,?,?)", [(key, family, model, time.time(), text)])
        self._write(answer, (_PUT_PARTS, list(parts.items())))

    def part(self, sha256: str) -> bytes | None:
        row = self._read("SELECT bytes FROM parts WHERE sha256=?", sha256)
        return None if row is None else bytes(row[0])

    def put_parts(self, parts: Mapping[str, bytes]) -> None:
        """Store the bytes of message parts by their sha256, in one commit."""
        self._write((_PUT_PARTS, list(parts.items())))

    def close(self) -> None:
        self._db.close()

    def _connect(self, query: str) -> sqlite3.Connection:
        """Connect and read once: SQLite opens the file no sooner."""
        address = f"file:{quote(str(self.file.absolute()))}?{query}"
        db = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _open(self) -> sqlite3.Connection:
        db = self._connect("mode=rw")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def _open_readonly(self) -> sqlite3.Connection:
        """Beside its writers if it can be; ``immutable`` where the folder cannot hold SQLite's side files."""
        try:
            return self._connect("mode=ro")
        except sqlite3.OperationalError:
            log = self.file.with_name(FILE_NAME + "-wal")
            if log.exists() and log.stat().st_size:  # immutable would not see what stands there
                raise
            return self._connect("mode=ro&immutable=1")

    def _check(self) -> None:
        try:
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            tables = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        except sqlite3.Error as error:
            self._db.close()
            raise ConfigError(f"{self.file}: not an answer cache: {_words(error)}") from None
        if version != _VERSION or not {"answers", "parts"} <= tables:
            self._db.close()
            raise ConfigError(f"{self.file}: not an answer cache of version {_VERSION} (it says {version})")

    def _read(self, sql: str, key: str) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._db.execute(sql, (key,)).fetchone()
        except sqlite3.Error as error:
            raise BenchError(f"{self.file}: cannot be read: {_words(error)}") from None
        return row

    def _write(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for sql, rows in statements:
                    self._db.executemany(sql, rows)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise BenchError(f"{self.file}: cannot be written: {_words(error)}") from None


class AnswerCache:
    """An AnswerStore for an event loop: one daemon thread works off a queue, in order.

    ``mode``: ``on`` reads and writes, ``readonly`` only reads, ``refresh`` only writes (a new answer replaces
    the old one). ``off`` is no AnswerCache at all.
    """

    def __init__(self, store: AnswerStore, mode: CacheMode = "on") -> None:
        if mode not in CACHE_MODES or mode == "off":
            raise ValueError(f"cache mode {mode!r}")
        self._store, self._mode = store, mode
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._known_parts: set[str] = set()
        self._held_parts: dict[str, bytes] = {}
        self._lost: BenchError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="benchsuite-cache", daemon=True)
        self._thread.start()

    async def get(self, key: str) -> StoredReply | None:
        if self._mode == "refresh":
            return None
        found: StoredReply | None = await self._do(lambda: self._store.get(key))
        return found

    async def put(self, key: str, family: str, model: str, reply: Reply) -> None:
        """Returns when the answer is committed; it is queued at once, so a cancelled wait loses nothing."""
        if self._mode != "readonly":
            anew, parts = self._mode == "refresh", self._take_parts()
            await self._do(lambda: self._store.put(key, family, model, reply, anew=anew, parts=parts))

    def put_parts(self, texts: Mapping[str, str]) -> None:
        """Have the texts of parts, by sha256, stored with the next answer, without waiting; ``close`` stores the rest
        and tells of faults."""
        new = {
            sha: text.encode("utf-8", "surrogatepass") for sha, text in texts.items() if sha not in self._known_parts
        }
        if new and self._mode != "readonly":
            self._known_parts.update(new)
            self._held_parts.update(new)
            if len(self._held_parts) >= _PARTS_HELD:
                self._queue_parts()

    def _take_parts(self) -> dict[str, bytes]:
        parts, self._held_parts = self._held_parts, {}
        return parts

    def _queue_parts(self) -> None:
        parts = self._take_parts()
        if parts:
            self._jobs.put(_Job(lambda: self._store.put_parts(parts)))

    def close(self) -> None:
        """Work off the queue and close the file; blocks. Raises BenchError if parts could not be stored."""
        if not self._closed:
            self._closed = True
            self._queue_parts()
            self._jobs.put(None)
        self._thread.join()
        if self._lost is not None:
            raise self._lost

    def _do(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        if self._closed:
            raise BenchError(f"{self._store.file}: the answer cache is closed")
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._jobs.put(_Job(work, loop, done))
        return done

    def _work(self) -> None:
        """Take all that waits, do it in order, and wake each loop once for its part of the batch."""
        more = True
        while more:
            batch = [self._jobs.get()]
            while not self._jobs.empty() and len(batch) < _BATCH:
                batch.append(self._jobs.get())
            done: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
            for job in batch:
                if job is None:
                    more = False
                    continue
                self._run(job)
                if job.loop is not None:
                    done.setdefault(job.loop, []).append(job)
            for loop, jobs in done.items():
                try:
                    loop.call_soon_threadsafe(_deliver, jobs)
                except RuntimeError:  # that loop is closed: nobody waits there
                    continue
        self._store.close()

    def _run(self, job: _Job) -> None:
        try:
            job.result = job.work()
        except Exception as error:
            job.error = error
            if job.loop is None:
                self._lost = self._lost or BenchError(str(error))


_BATCH = 256


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop | None = None
    done: asyncio.Future[Any] | None = None
    result: Any = None
    error: Exception | None = None


def _deliver(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.done is None or job.done.done():
            continue
        if job.error is not None:
            job.done.set_exception(job.error)
        else:
            job.done.set_result(job.result)


def open_cache(folder: Path, mode: str, *, replay: bool = False, create: bool = False) -> AnswerCache | None:
    """The cache as ``--bench-cache`` and ``--bench-replay`` want it; None for ``off``.

    Replay only reads. ``create`` (the controller, before any worker) makes the file where there is none, an empty
    one for who only reads. Raises ConfigError for an unknown mode, for replay with one that does not read, or a
    cache that is none.
    """
    if mode not in CACHE_MODES:
        raise ConfigError(f"unknown cache mode {mode!r}: known are {', '.join(CACHE_MODES)}")
    if replay and mode in ("off", "refresh"):
        raise ConfigError(f"replay reads the answer cache, which cache mode {mode!r} does not")
    if mode == "off":
        return None
    if create and not (folder / FILE_NAME).exists():
        AnswerStore.create(folder).close()
    if replay or mode == "readonly":
        return AnswerCache(AnswerStore(folder, readonly=True), "readonly")
    return AnswerCache(
        AnswerStore.create(folder) if create else AnswerStore(folder), "refresh" if mode == "refresh" else "on"
    )


def _words(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())
