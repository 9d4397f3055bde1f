"""Tiny randomly initialised checkpoints: they show that loading and arithmetic are right, and mean nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

WORDS = ("a", "blue", "red", "cat", "dog", "bus", "ticket", "total", *"12345", "where", "is", "the", "station")


def png(text: str = "", colour: str = "#f4f1e6", size: tuple[int, int] = (240, 160)) -> bytes:
    """A plain image with one line of dark text, as PNG bytes."""
    image = Image.new("RGB", size, colour)
    if text:
        place = (size[0] / 2, size[1] / 2)
        ImageDraw.Draw(image).text(place, text, font=ImageFont.load_default(22), fill="#222222", anchor="mm")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def make_tiny_random_bge(folder: Path) -> Path:
    """A BERT of two layers and width 32 with random weights, in the form of bge-small-en-v1.5."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=24,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def make_tiny_random_siglip2(folder: Path) -> Path:
    """Two towers of two layers and width 32 with random weights, in the form of siglip2-base-patch16-384."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import SiglipConfig, SiglipModel

    pieces = ["<pad>", "<eos>", "<bos>", "<unk>", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <eos>", special_tokens=[("<eos>", 1)])
    torch.manual_seed(2)
    tower = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    config = SiglipConfig(
        text_config={**tower, **special, "vocab_size": len(pieces), "max_position_embeddings": 16},
        vision_config={**tower, "image_size": 48, "patch_size": 16},
    )
    SiglipModel(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GemmaTokenizer"}))
    preparation = {
        "image_processor_type": "SiglipImageProcessor",
        "size": {"height": 48, "width": 48},
        "resample": 2,
        "image_mean": [0.5, 0.4, 0.3],
        "image_std": [0.5, 0.6, 0.7],
        "rescale_factor": 1 / 255,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preparation))
    return folder


@pytest.fixture
def make_bge() -> Callable[[Path], Path]:
    return make_tiny_random_bge


@pytest.fixture
def make_siglip2() -> Callable[[Path], Path]:
    return make_tiny_random_siglip2


@pytest.fixture(scope="session")
def bge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_random_bge(tmp_path_factory.mktemp("tiny-random-bge"))


@pytest.fixture(scope="session")
def siglip2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_random_siglip2(tmp_path_factory.mktemp("tiny-random-siglip2"))


@pytest.fixture(scope="session")
def picture() -> Callable[..., bytes]:
    return png


@pytest.fixture(scope="session")
def noise() -> list[np.ndarray]:
    """Three RGB arrays of different sizes."""
    source = np.random.default_rng(3)
    return [source.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in ((60, 91), (48, 48), (7, 200))]
