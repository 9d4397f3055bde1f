"""SigLIP 2 of one fixed input size, by transformers' ``SiglipModel``; neither timm nor torchvision is needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchsuite.models.embedded.encode import DECIMALS, Vectors
from benchsuite.models.embedded.ocr import Pixels
from benchsuite.models.encoders import SIGLIP2
from benchsuite.models.encoders.checkpoint import Checkpoint
from benchsuite.models.encoders.device import load_model, load_tokenizer, pick_device

_RESIZING_THREADS = 8


@dataclass(frozen=True, slots=True)
class Preparation:
    """How an image becomes the model's input: ``side`` x ``side`` pixels whatever its shape, times ``scale``, less
    ``mean``, over ``std`` (a number for each of red, green, blue). ``resample`` is Pillow's filter."""

    side: int
    resample: Image.Resampling = Image.Resampling.BILINEAR
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)


def read_preparation(checkpoint: Checkpoint) -> Preparation:
    """From ``preprocessor_config.json`` where it is there, else as SigLIP 2 was trained.

    Raises ConfigError for one that does not fit the model's image size, or leaves a step out.
    """
    side = checkpoint.config.get("vision_config", {}).get("image_size", 224)
    said = checkpoint.json("preprocessor_config.json")
    if said is None:
        return Preparation(side)
    for step in ("do_resize", "do_rescale", "do_normalize"):
        if said.get(step, True) is not True:
            checkpoint.fail(f"preprocessor_config.json: {step} is off, which is not supported")
    usual = Preparation(side)
    try:
        size = said.get("size", side)
        sides = {size["height"], size["width"]} if isinstance(size, dict) else {size}
        found = Preparation(
            side,
            Image.Resampling(said.get("resample", usual.resample)),
            float(said.get("rescale_factor", usual.scale)),
            tuple(map(float, said.get("image_mean", usual.mean))),
            tuple(map(float, said.get("image_std", usual.std))),
        )
        if len(found.mean) != 3 or len(found.std) != 3 or 0 in found.std:
            raise ValueError("image_mean and image_std take three numbers")
    except (KeyError, TypeError, ValueError) as error:
        checkpoint.fail(f"preprocessor_config.json: {type(error).__name__}: {error}")
    if sides != {side}:
        checkpoint.fail(f"preprocessor_config.json: size {size} is not the model's image size {side}")
    return found


class SigLip2:
    """The pooled outputs of both towers, normalised. Raises ConfigError for a folder it cannot use.

    Text is put into lower case and is always as many tokens as the model has text positions (64), padded on the
    right and cut: the model pools its last position and was trained so. It takes no attention mask.
    """

    name = SIGLIP2

    def __init__(self, folder: Path) -> None:
        checkpoint = Checkpoint(SIGLIP2, folder)
        self._preparation = read_preparation(checkpoint)
        tokens = checkpoint.json("tokenizer_config.json") or {}
        from transformers import SiglipModel

        self.device = pick_device()
        self._model = load_model(checkpoint, SiglipModel, self.device)
        text = self._model.config.text_config
        self.width: int = self._model.config.vision_config.hidden_size
        if text.projection_size != self.width:
            checkpoint.fail(f"texts have {text.projection_size} numbers, images {self.width}")
        self._tokenizer = load_tokenizer(checkpoint, text.vocab_size)
        pad = tokens.get("pad_token", "<pad>")
        pad = pad.get("content") if isinstance(pad, dict) else pad
        pad_id = self._tokenizer.token_to_id(pad) if isinstance(pad, str) else None
        if pad_id is None:
            checkpoint.fail(f"tokenizer.json has no padding token {pad!r}")
        self._padded = load_tokenizer(checkpoint, text.vocab_size)
        self._padded.enable_truncation(text.max_position_embeddings)
        self._padded.enable_padding(
            direction="right", pad_id=pad_id, pad_token=pad, length=text.max_position_embeddings
        )
        self._resizing = ThreadPoolExecutor(min(_RESIZING_THREADS, os.cpu_count() or 1), thread_name_prefix="resize")

    def texts(self, texts: Sequence[str]) -> Vectors:
        import torch

        ids = [coded.ids for coded in self._padded.encode_batch([text.lower() for text in texts])]
        with torch.inference_mode():
            return self._unit(self._model.get_text_features(input_ids=torch.tensor(ids, device=self.device)))

    def images(self, pixels: Sequence[Pixels]) -> Vectors:
        import torch

        how = self._preparation
        resized = torch.from_numpy(np.stack(list(self._resizing.map(self._resize, pixels)))).to(self.device)
        mean, std = (torch.tensor(each, device=self.device) for each in (how.mean, how.std))
        with torch.inference_mode():
            values = (resized.float() * how.scale - mean) / std
            return self._unit(self._model.get_image_features(pixel_values=values.permute(0, 3, 1, 2).contiguous()))

    def tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text.lower(), add_special_tokens=False).ids)

    def _resize(self, pixels: Pixels) -> Pixels:
        side = self._preparation.side
        return np.array(Image.fromarray(pixels).resize((side, side), self._preparation.resample))

    def _unit(self, output: Any) -> Vectors:
        import torch

        unit = torch.nn.functional.normalize(output.pooler_output, dim=1)
        vectors: Vectors = np.round(unit.cpu().numpy(), DECIMALS)
        return vectors
