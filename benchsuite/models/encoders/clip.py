"""Any two-tower model that open_clip loads from a folder (extra ``clip``)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchsuite.models.embedded.encode import DECIMALS, Vectors
from benchsuite.models.embedded.ocr import Pixels
from benchsuite.models.encoders import OPEN_CLIP
from benchsuite.models.encoders.checkpoint import Checkpoint
from benchsuite.models.encoders.device import pick_device


class OpenClip:
    """Texts and images prepared as the folder's ``open_clip_config.json`` says, by open_clip itself.

    Raises ConfigError when open_clip is not installed or cannot use the folder.
    """

    name = OPEN_CLIP

    def __init__(self, folder: Path) -> None:
        checkpoint = Checkpoint(OPEN_CLIP, folder)
        try:
            open_clip: Any = importlib.import_module("open_clip")
        except ImportError as error:
            checkpoint.fail(f"open_clip cannot be imported ({error}): pip install 'benchsuite[clip]'")
        import torch

        self.device = pick_device()
        place = f"local-dir:{folder}"
        try:
            self._model, self._prepare = open_clip.create_model_from_pretrained(place, device=self.device)
            self._tokenize = open_clip.get_tokenizer(place)
            with torch.inference_mode():
                self.width: int = self._model.encode_text(self._ids(["width"])).shape[1]
        except Exception as error:  # whatever the library finds wrong with a folder of someone's own
            first = (str(error).strip().splitlines() or [""])[0]
            checkpoint.fail(f"open_clip cannot load it: {type(error).__name__}: {first}")
        self._model.eval()

    def texts(self, texts: Sequence[str]) -> Vectors:
        import torch

        with torch.inference_mode():
            return _rounded(self._model.encode_text(self._ids(texts), normalize=True))

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        import torch

        values = torch.stack([self._prepare(Image.fromarray(image)) for image in pixels]).to(self.device)
        with torch.inference_mode():
            return _rounded(self._model.encode_image(values, normalize=True))

    def tokens(self, text: str) -> int:
        """With special tokens and cut at the model's length: open_clip's tokenizers give no other count."""
        return int((self._tokenize([text]) != 0).sum())

    def _ids(self, texts: Sequence[str]) -> Any:
        return self._tokenize(list(texts)).to(self.device)


def _rounded(unit: Any) -> Vectors:
    vectors: Vectors = np.round(unit.float().cpu().numpy(), DECIMALS)
    return vectors
