"""The text encoder's store: several processes at once, and a memory that does not grow with the corpus."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchsuite.models.wire import sha256_text
from benchsuite.retrieval import embed
from benchsuite.retrieval.embed import TextEncoder, VectorStore

OPEN = """
import sys, time
from pathlib import Path
from benchsuite.retrieval.embed import VectorStore
folder, at = Path(sys.argv[1]), float(sys.argv[2])
for number in range(20):
    store = VectorStore(folder / str(number))
    time.sleep(max(0, at + 0.05 * number - time.time()))
    store.get(["x"])
"""


def test_processes_that_open_a_new_store_at_one_moment_all_can(tmp_path: Path) -> None:
    import time

    at = str(time.time() + 2)
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(tmp_path), at], stderr=subprocess.PIPE) for _ in range(4)
    ]
    for process in started:
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words.decode()


def test_vectors_in_memory_are_bounded_and_the_store_gives_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "KEPT", 3)
    store = VectorStore(tmp_path)
    texts = [f"text {number}" for number in range(8)]
    store.put({sha256_text(text): np.full(2, number, np.float32) for number, text in enumerate(texts)})

    async def locate() -> str:
        raise AssertionError("every vector is in the store")

    async def run() -> None:
        encoder = TextEncoder("m", store, locate)
        for part in (texts[:6], texts[4:], [texts[0], texts[7], texts[0]]):
            found = await encoder.embed(part)
            assert found[:, 0].tolist() == [texts.index(text) for text in part]
            assert len(encoder._memo) == 3 if len(set(part)) > 2 else len(encoder._memo) <= 3
        await encoder.close()

    asyncio.run(run())
