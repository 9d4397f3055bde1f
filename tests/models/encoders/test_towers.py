"""bge and SigLIP 2 against transformers used directly, on tiny randomly initialised checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

from benchsuite.models.embedded.vectors import TextOnlyError
from benchsuite.models.encoders.bge import BgeSmall
from benchsuite.models.encoders.siglip2 import SigLip2

TEXTS = ["where is the red bus", "Total 5", "", "a cat", "the station " * 30]
ROUNDED = 1.1e-5


@pytest.fixture(scope="module")
def bge(bge_folder):
    return BgeSmall(bge_folder)


@pytest.fixture(scope="module")
def siglip2(siglip2_folder):
    return SigLip2(siglip2_folder)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_bge_is_the_normalised_first_token(bge, bge_folder):
    import torch
    from transformers import BertModel, PreTrainedTokenizerFast

    model = BertModel.from_pretrained(bge_folder).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(bge_folder / "tokenizer.json"), model_max_length=24)
    found = bge.texts(TEXTS)
    assert found.shape == (5, 32)
    assert found.dtype == np.float32
    for text, vector in zip(TEXTS, found, strict=True):
        with torch.inference_mode():
            tokens = tokenizer(text, return_tensors="pt", truncation=True)
            expected = unit(model(**tokens).last_hidden_state[0, 0].numpy())
        assert np.allclose(vector, expected, atol=ROUNDED)


def test_siglip2_texts_are_lower_case_and_padded_on_the_right(siglip2, siglip2_folder):
    import torch
    from transformers import PreTrainedTokenizerFast, SiglipModel

    model = SiglipModel.from_pretrained(siglip2_folder).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(siglip2_folder / "tokenizer.json"), pad_token="<pad>")
    tokens = tokenizer(
        [text.lower() for text in TEXTS],
        padding="max_length",
        max_length=16,
        padding_side="right",
        truncation=True,
        return_tensors="pt",
    )
    with torch.inference_mode():
        expected = unit(model.get_text_features(input_ids=tokens["input_ids"]).pooler_output.numpy())
    assert tokens["input_ids"][1].tolist() == [11, 16, 1, *[0] * 13]
    assert np.allclose(siglip2.texts(TEXTS), expected, atol=ROUNDED)
    assert (siglip2.texts(["A CAT"]) == siglip2.texts(["a cat"])).all()


def test_siglip2_pixels_are_prepared_as_the_library_does(siglip2, siglip2_folder, noise):
    import torch
    from transformers import SiglipImageProcessorPil, SiglipModel

    model = SiglipModel.from_pretrained(siglip2_folder).eval()
    processor = SiglipImageProcessorPil.from_pretrained(siglip2_folder)
    values = torch.as_tensor(np.stack(processor(images=noise)["pixel_values"]))
    with torch.inference_mode():
        expected = unit(model.get_image_features(pixel_values=values).pooler_output.numpy())
    found = siglip2.images(noise)
    assert found.shape == (3, 32)
    assert found.dtype == np.float32
    assert np.allclose(found, expected, atol=ROUNDED)
    assert not np.allclose(found[0], found[1], atol=1e-3)


def test_neighbours_change_nothing_beyond_the_rounding(bge, siglip2, noise):
    for encode, inputs in ((bge.texts, TEXTS), (siglip2.texts, TEXTS), (siglip2.images, noise * 4)):
        together = encode(inputs)
        alone = np.concatenate([encode([one]) for one in inputs])
        assert np.abs(together - alone).max() <= ROUNDED
        assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)


def test_without_a_preprocessor_file_the_training_values_count(make_siglip2, tmp_path, noise):
    import json

    folder = make_siglip2(tmp_path / "tiny-random-siglip2")
    said = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(
        json.dumps({**said, "image_mean": [0.5] * 3, "image_std": [0.5] * 3})
    )
    stated = SigLip2(folder).images(noise)
    (folder / "preprocessor_config.json").unlink()
    assert (SigLip2(folder).images(noise) == stated).all()


def test_tokens_are_counted_without_special_ones(bge, siglip2):
    assert [encoder.tokens("Where is the cat") for encoder in (bge, siglip2)] == [4, 4]
    assert siglip2.tokens("cat " * 40) == 40


def test_a_text_encoder_takes_no_image(bge, noise):
    with pytest.raises(TextOnlyError, match=r"bge-small-en-v1\.5 encodes texts, not images"):
        bge.images(noise)
