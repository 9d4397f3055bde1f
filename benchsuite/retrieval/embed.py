"""The served text encoder, behind a store that keeps one vector per text and encoder.

numpy is imported where vectors are made: this module is loaded by every run, most of which embed nothing new.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchsuite.errors import DataError, EndpointError
from benchsuite.models.wire import sha256_text
from benchsuite.retrieval.served import EncoderServer

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

BATCH = 64
KEPT = 20_000  # vectors held in memory: 30 MB of MiniLM's
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
            with _alone(self.folder / "opening"):  # SQLite waits for no one while it turns a new file to WAL
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("CREATE TABLE IF NOT EXISTS vectors (sha256 TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            db.execute("PRAGMA synchronous=NORMAL")
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
        with _alone(self.folder / "lock"):
            yield


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with closing(path.open("w")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class TextEncoder:
    """``embed(texts)``: unit vectors, in text order. Work on vectors holds no request slot.

    ``locate`` gives the base URL of the server that serves the encoder, starting it if needed; it is not
    called when every vector is in the store. ``server`` is that server, for others to ask too.
    """

    def __init__(self, model: str, store: VectorStore, locate: Callable[[], Awaitable[str]]) -> None:
        self._model = model
        self._store = store
        self.server = EncoderServer(locate)
        self._memo: dict[str, Vectors] = {}
        self._turn = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d), float32. Raises EndpointError when the encoder does not answer, and
        DataError for stored vectors of several widths."""
        import numpy as np

        by_digest = {sha256_text(text): text for text in texts}
        found = self._known(by_digest)
        if len(found) < len(by_digest):
            async with self._turn:
                found = await self._fill(by_digest)
            self._keep(found)
        vectors = [found[sha256_text(text)] for text in texts]
        if len(widths := sorted({vector.size for vector in vectors})) > 1:
            words = f"have widths {', '.join(map(str, widths))}; remove this folder and run again to embed anew"
            raise DataError(str(self._store.folder), None, "vectors", words)
        return np.stack(vectors)

    def _known(self, digests: Iterable[str]) -> dict[str, Vectors]:
        return {digest: self._memo[digest] for digest in digests if digest in self._memo}

    def _keep(self, vectors: Mapping[str, Vectors]) -> None:
        """For the other cells of a history, which come next; the oldest give way."""
        self._memo.update(vectors)
        for digest in list(itertools.islice(self._memo, max(0, len(self._memo) - KEPT))):
            del self._memo[digest]

    async def _fill(self, texts: Mapping[str, str]) -> dict[str, Vectors]:
        """The vectors of all ``texts``, which stand by digest: from memory, from the store, from the server."""
        found = self._known(texts)
        found.update(await asyncio.to_thread(self._store.get, [digest for digest in texts if digest not in found]))
        if len(found) == len(texts):
            return found
        flight = self._store.single_flight()
        await asyncio.to_thread(flight.__enter__)
        try:
            absent = [digest for digest in texts if digest not in found]
            found.update(await asyncio.to_thread(self._store.get, absent))
            absent = [digest for digest in absent if digest not in found]
            for start in range(0, len(absent), BATCH):
                part = absent[start : start + BATCH]
                fresh = dict(zip(part, await self._ask([texts[digest] for digest in part]), strict=True))
                await asyncio.to_thread(self._store.put, fresh)
                found.update(fresh)
        finally:
            flight.__exit__(None, None, None)
        return found

    async def _ask(self, texts: list[str]) -> list[Vectors]:
        import numpy as np

        body = json.dumps({"model": self._model, "input": texts}).encode()
        url, reply = await self.server.post("/embeddings", body)
        try:
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in reply["data"]]
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointError("body", url, f"not an embeddings reply: {type(error).__name__}: {error}") from None
        if len(vectors) != len(texts):
            raise EndpointError("body", url, f"{len(vectors)} vectors for {len(texts)} texts")
        return vectors

    async def close(self) -> None:
        await self.server.close()
