"""bge-small-en-v1.5: the vector of the first token of a BERT, normalised; texts of up to 512 tokens.

Texts are encoded as they are, questions too: of the v1.5 models the card says that they do without the instruction
before a query that earlier ones needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchsuite.models.embedded.encode import Vectors, encode_by_length
from benchsuite.models.embedded.ocr import Pixels
from benchsuite.models.embedded.vectors import TextOnlyError
from benchsuite.models.encoders import BGE
from benchsuite.models.encoders.checkpoint import Checkpoint
from benchsuite.models.encoders.device import load_model, load_tokenizer, pick_device


class BgeSmall:
    """Raises ConfigError for a folder it cannot use.

    Texts are batched with others of equal token length only, so nothing is padded.
    """

    name = BGE

    def __init__(self, folder: Path) -> None:
        checkpoint = Checkpoint(BGE, folder)
        from transformers import BertModel

        self.device = pick_device()
        self._model = load_model(checkpoint, BertModel, self.device, add_pooling_layer=False)
        self.width: int = self._model.config.hidden_size
        self._longest: int = self._model.config.max_position_embeddings
        self._tokenizer = load_tokenizer(checkpoint, self._model.config.vocab_size)

    def texts(self, texts: Sequence[str]) -> Vectors:
        return encode_by_length([self._ids(text) for text in texts], self._forward, self.width)

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        raise TextOnlyError(f"{self.name} encodes texts, not images")

    def tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids if len(ids) <= self._longest else [*ids[: self._longest - 1], ids[-1]]

    def _forward(self, ids: list[list[int]]) -> Vectors:
        import torch

        tokens = torch.tensor(ids, device=self.device)
        with torch.inference_mode():
            hidden = self._model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
            unit = torch.nn.functional.normalize(hidden[:, 0], dim=1)
        vectors: Vectors = unit.cpu().numpy()
        return vectors
