"""open_clip on a tiny randomly initialised checkpoint; runs where the extra ``clip`` is installed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from benchsuite.errors import ConfigError
from benchsuite.models.encoders.clip import OpenClip
from benchsuite.models.encoders.spec import parse_encoder

TEXTS = ["a red bus", "where is the cat", "a red bus " * 40]
ROUNDED = 1.1e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    open_clip = pytest.importorskip("open_clip")
    import torch
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("tiny-random-open-clip")
    model = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
    }
    preparation = {"mean": [0.5, 0.4, 0.3], "std": [0.5, 0.6, 0.7], "interpolation": "bicubic"}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": model, "preprocess_cfg": preparation}))
    torch.manual_seed(4)
    save_file(open_clip.CLIP(**model).state_dict(), folder / "open_clip_model.safetensors")
    return folder


def test_both_towers_are_those_of_open_clip(folder, noise):
    import open_clip
    import torch

    place = f"local-dir:{folder}"
    model, prepare = open_clip.create_model_from_pretrained(place)
    encoder = OpenClip(folder)
    assert encoder.width == 24
    with torch.inference_mode():
        texts = model.eval().encode_text(open_clip.get_tokenizer(place)(TEXTS), normalize=True).numpy()
        images = torch.stack([prepare(Image.fromarray(one)) for one in noise])
        images = model.encode_image(images, normalize=True).numpy()
    assert np.allclose(encoder.texts(TEXTS), texts, atol=ROUNDED)
    assert np.allclose(encoder.images(noise), images, atol=ROUNDED)
    assert np.allclose(np.concatenate([encoder.images([one]) for one in noise]), images, atol=ROUNDED)
    assert encoder.tokens("a red bus") == 5  # with start and end


def test_it_is_named_by_its_folder(folder, tmp_path):
    spec = parse_encoder("image", f"open_clip:{folder}", tmp_path)
    assert (spec.checkpoint, spec.server.launch) == (folder.name, "encoder")
    with pytest.raises(ConfigError, match="open_clip needs a folder: open_clip:FOLDER"):
        parse_encoder("image", "open_clip", tmp_path)


def test_a_config_that_open_clip_cannot_use_is_one_line(folder, tmp_path):
    (tmp_path / "open_clip_config.json").write_text("{}")
    (tmp_path / "open_clip_model.safetensors").write_bytes((folder / "open_clip_model.safetensors").read_bytes())
    with pytest.raises(ConfigError, match=rf"encoder open_clip: {tmp_path}: open_clip cannot load it: "):
        OpenClip(tmp_path)
