"""Where a checkpoint is loaded to, and how: float32 on CUDA when there is one, else on a few cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from benchsuite.models.encoders.checkpoint import Checkpoint

CPU_THREADS = 2


def pick_device() -> str:
    """``cuda`` or ``cpu``. Sets this process' torch to full float32 and to at most ``CPU_THREADS`` threads."""
    import torch

    torch.set_num_threads(min(CPU_THREADS, os.cpu_count() or 1))
    torch.backends.cudnn.allow_tf32 = False  # convolutions would round to ten bits
    return "cuda" if torch.cuda.is_available() else "cpu"


def load_model(checkpoint: Checkpoint, kind: Any, device: str, **options: Any) -> Any:
    """The weights in a transformers class ``kind``, ready for inference.

    Raises ConfigError when they cannot be loaded or leave a part of the model without weights.
    """
    import torch
    from transformers.utils import logging

    disable_progress_bar: Callable[[], None] = logging.disable_progress_bar
    disable_progress_bar()
    try:
        model, report = kind.from_pretrained(
            checkpoint.folder,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            **options,
        )
    except Exception as error:  # whatever the library finds wrong with a folder of someone's own
        first = (str(error).strip().splitlines() or [""])[0]
        checkpoint.fail(f"the weights cannot be loaded: {type(error).__name__}: {first}")
    absent = sorted(report["missing_keys"])
    if absent:
        checkpoint.fail(f"the weights lack {len(absent)} tensors of the model, first {absent[0]}")
    return model.eval().to(device)


def load_tokenizer(checkpoint: Checkpoint, vocabulary: int) -> Any:
    """The ``tokenizer.json`` of the folder, without truncation and padding.

    Raises ConfigError when it cannot be read or has ids beyond the model's ``vocabulary``.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json"))
    except Exception as error:  # the library raises the bare class
        checkpoint.fail(f"tokenizer.json cannot be read: {' '.join(str(error).split())}")
    highest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if highest >= vocabulary:
        checkpoint.fail(f"tokenizer.json has id {highest}, the model knows {vocabulary} ids")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
