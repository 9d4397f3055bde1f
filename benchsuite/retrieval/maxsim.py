"""MaxSim: an image scores by the best of its vectors (DeliverMem section 5, R1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from benchsuite.retrieval.embed import Vectors

GATHERED_SHARE = 0.25
"""Up to this share of the rows, copying them out is quicker than passing over all of them."""


def maxsim(vectors: Vectors, query: Vectors, rows: Sequence[int] | np.ndarray | None = None) -> Vectors:
    """The largest dot product of ``query`` (d,) with the tiles of each image, float32, shape (n,).

    ``vectors`` has shape (images, tiles, d) and may lie on a memory map. ``rows`` picks images by position,
    in the order of the answer; without it all are scored. An image's score is the same float whichever others
    are asked for: each product is summed on its own, not in blocks of rows as a matrix product does it.
    """
    import numpy as np

    if rows is not None and len(rows) <= GATHERED_SHARE * len(vectors):
        vectors, rows = vectors[np.asarray(rows, dtype=np.intp)], None
    products = np.vecdot(vectors.reshape(-1, vectors.shape[2]), query).reshape(vectors.shape[:2])
    best: Vectors = products[:, 0].copy()
    for tile in range(1, products.shape[1]):  # a few long passes: quicker than a reduction over so short an axis
        np.maximum(best, products[:, tile], out=best)
    return best if rows is None else best[np.asarray(rows, dtype=np.intp)]
