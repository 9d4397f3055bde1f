"""`make perf`: a query over every image of a corpus at its longest, five vectors an image, from a cold-opened index.

Measured in one run on the same vectors: MaxSim over the memory map as retrieval asks for it, a plain matrix-vector
product over the same bytes in memory, and one vector an image. The vectors are random: only their number matters.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchsuite.retrieval.index import Flight, VectorIndex

IMAGES, TILES, WIDTH = 4_690, 5, 768
HISTORY = 96  # images in a median history at 256k
QUERIES = 25
BAR_MS = 10.0

Work = Callable[[np.ndarray[Any, Any]], object]


def filled(folder: Path, tiles: int, vectors: np.ndarray[Any, Any]) -> tuple[VectorIndex, list[str]]:
    """An index opened anew over ``tiles`` of each image's vectors, and the images in it."""
    digests = [f"{number:064x}" for number in range(len(vectors))]
    rows = dict(zip(digests, vectors[:, :tiles], strict=True))
    VectorIndex(folder, "random", "random/1", f"{tiles}/1").append(rows, Flight(0.0, 0.0, "cpu"))
    index = VectorIndex(folder, "random", "random/1", f"{tiles}/1")
    assert index.absent(digests) == []
    return index, digests


def milliseconds(work: Mapping[str, Work], queries: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    """What each query took, all of ``work`` in turn, so that whatever else the machine does meets all alike."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for query in queries:
        for name, scores in work.items():
            begun = time.perf_counter()
            scores(query)
            taken[name].append(1000 * (time.perf_counter() - begun))
    return taken


def main() -> None:
    dice = np.random.default_rng(0)
    vectors = dice.standard_normal((IMAGES, TILES, WIDTH), np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    queries = dice.standard_normal((QUERIES, WIDTH), np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        region, images = filled(Path(folder), TILES, vectors)
        whole, _ = filled(Path(folder), 1, vectors)
        history = images[::-1][:HISTORY]
        flat = vectors.reshape(-1, WIDTH)
        taken = milliseconds(
            {
                "region": lambda query: region.scores(query, images),
                "plain": lambda query: flat @ query,
                "whole": lambda query: whole.scores(query, images),
                "history": lambda query: region.scores(query, history),
            },
            queries,
        )
        begun = time.thread_time()
        for query in queries:
            region.scores(query, images)
        cpu = 1000 * (time.thread_time() - begun) / QUERIES
        error = np.abs(region.scores(queries[0], images) - exact(vectors, queries[0])).max()
    median = {name: statistics.median(times[1:]) for name, times in taken.items()}
    shape = f"{IMAGES} images x {TILES} x {WIDTH}"
    first, best = taken["region"][0], min(taken["region"])
    print(
        f"maxsim, {shape}: {median['region']:.2f} ms a query (first {first:.2f}, best {best:.2f}), bar {BAR_MS:.0f} ms"
    )
    print(f"maxsim, processor time of such a query: {cpu:.2f} ms")
    print(f"maxsim, plain product over the same bytes: {median['plain']:.2f} ms, ratio {ratio(taken):.2f}")
    print(f"maxsim, one vector an image: {median['whole']:.2f} ms")
    print(f"maxsim, {HISTORY} of the images: {median['history']:.3f} ms")
    print(f"maxsim, largest difference from float64: {error:.1e}")


def ratio(taken: Mapping[str, list[float]]) -> float:
    """MaxSim to the plain product, the median over the queries."""
    return statistics.median(a / b for a, b in zip(taken["region"], taken["plain"], strict=True))


def exact(vectors: np.ndarray[Any, Any], query: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = (vectors.astype(np.float64) @ query.astype(np.float64)).max(axis=1)
    return found


if __name__ == "__main__":
    main()
