"""MaxSim against a brute-force float64 reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchsuite.retrieval.maxsim import GATHERED_SHARE, maxsim

IMAGES, TILES, WIDTH = 203, 5, 96


@pytest.fixture
def vectors(tmp_path: Path) -> np.ndarray:
    """Unit vectors over a memory map, as an index gives them."""
    table = np.random.default_rng(5).standard_normal((IMAGES, TILES, WIDTH)).astype("<f4")
    (table / np.linalg.norm(table, axis=2, keepdims=True)).tofile(tmp_path / "v")
    return np.memmap(tmp_path / "v", "<f4", "r", shape=(IMAGES, TILES, WIDTH))


@pytest.fixture
def query(vectors: np.ndarray) -> np.ndarray:
    mixed = vectors[3, 4] + vectors[7, 0]
    return mixed / np.linalg.norm(mixed)


def exact(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.einsum("itd,d->it", vectors.astype(np.float64), query.astype(np.float64)).max(axis=1)


def test_every_image_scores_by_its_best_tile(vectors: np.ndarray, query: np.ndarray) -> None:
    found = maxsim(vectors, query)
    assert found.dtype == np.float32
    assert found.shape == (IMAGES,)
    assert np.abs(found - exact(vectors, query)).max() < 1e-6
    assert set(np.argsort(-found)[:2]) == {3, 7}
    one = maxsim(vectors[:, :1], query)
    assert np.abs(one - exact(vectors[:, :1], query)).max() < 1e-6
    assert one[3] < found[3] - 0.3, "the best of image 3 is its last tile"


@pytest.mark.parametrize("share", [0.02, GATHERED_SHARE, 0.6, 1.0])
def test_an_image_has_one_score_whichever_others_are_asked_for(
    vectors: np.ndarray, query: np.ndarray, share: float
) -> None:
    rows = np.random.default_rng(6).permutation(IMAGES)[: int(share * IMAGES)].tolist()
    assert len(rows) >= 4
    assert maxsim(vectors, query, rows).tolist() == maxsim(vectors, query)[rows].tolist()
    assert maxsim(vectors, query, [7, 7, 3]).tolist() == maxsim(vectors, query)[[7, 7, 3]].tolist()
    assert maxsim(vectors, query, []).shape == (0,)
