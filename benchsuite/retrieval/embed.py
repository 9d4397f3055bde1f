"""The served text encoder, behind a store that keeps one vector per text and encoder.

numpy is imported where vectors are made: this module is loaded by every run, most of which embed nothing new.
"""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from benchsuite.errors import EndpointError
from benchsuite.models.wire import sha256_text

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

BATCH = 64
_LOOKUP = 500  # SQLite's default limit on variables in one statement is far above


class VectorStore:
    """Vectors on disk by text digest: ``<folder>/vectors.sqlite``, one folder per encoder. Does blocking work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._local = threading.local()

    def _db(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = sqlite3.connect(self.folder / "vectors.sqlite", timeout=60, isolation_level=None)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("CREATE TABLE IF NOT EXISTS vectors (sha256 TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            self._local.db = db
        return db

    def get(self, digests: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        found: dict[str, Vectors] = {}
        for start in range(0, len(digests), _LOOKUP):
            part = digests[start : start + _LOOKUP]
            marks = ",".join("?" * len(part))
            rows = self._db().execute(f"SELECT sha256, vector FROM vectors WHERE sha256 IN ({marks})", part)
            found.update((digest, np.frombuffer(blob, dtype="<f4")) for digest, blob in rows)
        return found

    def put(self, vectors: dict[str, Vectors]) -> None:
        db = self._db()
        db.execute("BEGIN IMMEDIATE")
        rows = [(digest, vector.astype("<f4").tobytes()) for digest, vector in vectors.items()]
        db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        db.execute("COMMIT")

    @contextmanager
    def single_flight(self) -> Iterator[None]:
        """One process at a time encodes: the others then find the vectors. Freed when the holder dies."""
        with closing((self.folder / "lock").open("w")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class TextEncoder:
    """``embed(texts)``: unit vectors, in text order. Work on vectors holds no request slot.

    ``locate`` gives the base URL of the server that serves the encoder, starting it if needed; it is not
    called when every vector is in the store.
    """

    def __init__(self, model: str, store: VectorStore, locate: Callable[[], Awaitable[str]]) -> None:
        self._model = model
        self._store = store
        self._locate = locate
        self._memo: dict[str, Vectors] = {}
        self._turn = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d), float32. Raises EndpointError when the encoder does not answer."""
        import numpy as np

        digests = [sha256_text(text) for text in texts]
        if any(digest not in self._memo for digest in digests):
            async with self._turn:
                await self._fill(dict(zip(digests, texts, strict=True)))
        return np.stack([self._memo[digest] for digest in digests])

    async def _fill(self, texts: dict[str, str]) -> None:
        absent = [digest for digest in texts if digest not in self._memo]
        self._memo.update(await asyncio.to_thread(self._store.get, absent))
        absent = [digest for digest in absent if digest not in self._memo]
        if not absent:
            return
        flight = self._store.single_flight()
        await asyncio.to_thread(flight.__enter__)
        try:
            self._memo.update(await asyncio.to_thread(self._store.get, absent))
            absent = [digest for digest in absent if digest not in self._memo]
            for start in range(0, len(absent), BATCH):
                part = absent[start : start + BATCH]
                fresh = dict(zip(part, await self._ask([texts[digest] for digest in part]), strict=True))
                await asyncio.to_thread(self._store.put, fresh)
                self._memo.update(fresh)
        finally:
            flight.__exit__(None, None, None)

    async def _ask(self, texts: list[str]) -> list[Vectors]:
        import numpy as np

        url = f"{await self._locate()}/embeddings"
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=300))
        try:
            async with self._session.post(url, json={"model": self._model, "input": texts}) as response:
                if response.status != 200:
                    words = " ".join((await response.text())[:300].split())
                    raise EndpointError("http", url, words or "no text", response.status)
                body = await response.json()
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in body["data"]]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise EndpointError("transport", url, f"{type(error).__name__}: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointError("body", url, f"not an embeddings reply: {type(error).__name__}: {error}") from None
        if len(vectors) != len(texts):
            raise EndpointError("body", url, f"{len(vectors)} vectors for {len(texts)} texts")
        return vectors

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
