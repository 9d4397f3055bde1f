"""``--bench-encoder`` values, and folders that are not what they are named."""

from __future__ import annotations

import json
import os
import struct

import pytest

from benchsuite.errors import ConfigError
from benchsuite.models.embedded import EMBEDDED_VERSION
from benchsuite.models.encoders.checkpoint import Checkpoint
from benchsuite.models.encoders.siglip2 import SigLip2
from benchsuite.models.encoders.spec import parse_encoder


def change(folder, file, **values):
    path = folder / file
    said = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**said, **values}))


@pytest.mark.parametrize(
    ("channel", "value"), [("text", ""), ("text", "minilm"), ("image", ""), ("image", "ocr-minilm")]
)
def test_the_defaults_need_no_folder_and_are_served_by_the_reader(tmp_path, channel, value):
    spec = parse_encoder(channel, value, tmp_path)
    assert spec.name == ("minilm" if channel == "text" else "ocr-minilm")
    assert spec.checkpoint == "all-MiniLM-L6-v2"
    assert (spec.server.launch, spec.server.family) == ("embedded", f"embedded/{EMBEDDED_VERSION}")
    assert list(tmp_path.iterdir()) == []


def test_one_name_one_identity(tmp_path):
    assert parse_encoder("image", "", tmp_path).identity != parse_encoder("text", "", tmp_path).identity
    assert parse_encoder("text", "ocr-minilm", tmp_path) == parse_encoder("image", "ocr-minilm", tmp_path)


def test_a_folder_makes_a_spec_that_a_launcher_can_start(tmp_path, siglip2_folder):
    spec = parse_encoder("image", f"siglip2:{siglip2_folder}", tmp_path)
    assert (spec.name, spec.checkpoint) == ("siglip2", siglip2_folder.name)
    assert (spec.server.launch, spec.server.base_url) == ("encoder", "")
    assert spec.server.model == f"siglip2:{siglip2_folder}"
    assert spec.server.family == f"encoder/siglip2/{spec.identity[:12]}"
    assert parse_encoder("text", f"siglip2:{siglip2_folder}", tmp_path) == spec


def test_the_identity_follows_what_makes_the_vectors(tmp_path, make_siglip2):
    folder = make_siglip2(tmp_path / "tiny-random-siglip2")
    value, seen = f"siglip2:{folder}", set()
    seen.add(parse_encoder("image", value, tmp_path / "cache").identity)
    (folder / "README.md").write_text("notes")
    seen.add(parse_encoder("image", value, tmp_path / "cache").identity)
    assert len(seen) == 1
    change(folder, "preprocessor_config.json", resample=3)
    seen.add(parse_encoder("image", value, tmp_path / "cache").identity)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    seen.add(parse_encoder("image", value, tmp_path / "cache").identity)
    moved = folder.rename(tmp_path / "elsewhere")
    seen.add(parse_encoder("image", f"siglip2:{moved}", tmp_path / "cache").identity)
    assert len(seen) == 3


def test_weights_are_read_again_only_when_size_or_time_changed(tmp_path, make_bge):
    folder = make_bge(tmp_path / "tiny-random-bge")
    weights, value = folder / "model.safetensors", f"bge-small-en-v1.5:{folder}"
    first = parse_encoder("text", value, tmp_path / "cache").identity
    was = weights.stat()
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert parse_encoder("text", value, tmp_path / "cache").identity == first  # from the memo
    assert parse_encoder("text", value, tmp_path / "other").identity != first
    for kept in (tmp_path / "cache" / "encoders").iterdir():
        kept.write_text("{torn")
    assert parse_encoder("text", value, tmp_path / "cache").identity != first


def test_a_model_of_the_local_hub_cache(tmp_path, make_siglip2, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    stored = tmp_path / "models--google--siglip2-base-patch16-384"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text("abc123")
    folder = make_siglip2(stored / "snapshots" / "abc123")
    named = parse_encoder("image", "siglip2:google/siglip2-base-patch16-384", tmp_path)
    assert named == parse_encoder("image", "siglip2", tmp_path)
    given = parse_encoder("image", f"siglip2:{folder}", tmp_path)
    assert named.checkpoint == "google/siglip2-base-patch16-384"
    assert (named.server, named.identity) == (given.server, given.identity)
    with pytest.raises(ConfigError, match="the local hub cache has no google/other; nothing is downloaded"):
        parse_encoder("image", "siglip2:google/other", tmp_path)
    with pytest.raises(ConfigError, match=r"the local hub cache has no BAAI/bge-small-en-v1\.5"):
        parse_encoder("text", "bge-small-en-v1.5", tmp_path)


@pytest.mark.parametrize(
    ("channel", "value", "problem"),
    [
        (
            "image",
            "clip",
            "unknown encoder 'clip': known are minilm, bge-small-en-v1.5, ocr-minilm, siglip2, open_clip",
        ),
        ("image", "minilm", "minilm encodes texts only; for the image channel: ocr-minilm, siglip2, open_clip"),
        ("image", "bge-small-en-v1.5:/x", "encodes texts only"),
        ("text", "minilm:/x", "come with a package, it takes no folder"),
        ("image", "siglip2:/no/such/folder", "encoder siglip2: /no/such/folder: there is no such folder"),
    ],
)
def test_values_that_cannot_be_used(tmp_path, channel, value, problem):
    with pytest.raises(ConfigError) as caught:
        parse_encoder(channel, value, tmp_path)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_open_clip_that_is_not_installed_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"open_clip is not installed: pip install 'benchsuite\[clip\]'"):
        parse_encoder("image", f"open_clip:{tmp_path}", tmp_path)


def test_another_architecture_is_told_before_weights_are_read(bge_folder, siglip2_folder, tmp_path):
    for value, channel, found, expected in (
        (f"siglip2:{bge_folder}", "image", "bert", "siglip"),
        (f"bge-small-en-v1.5:{siglip2_folder}", "text", "siglip", "bert"),
    ):
        with pytest.raises(ConfigError) as caught:
            parse_encoder(channel, value, tmp_path / "cache")
        name, _, folder = value.partition(":")
        said = f"encoder {name}: {folder}: config.json says model_type {found!r}, {name} is made from {expected!r}"
        assert str(caught.value) == said
    assert not (tmp_path / "cache").exists()
    with pytest.raises(ConfigError, match=r"no open_clip_config\.json, only config\.json: the folder of another kind"):
        Checkpoint("open_clip", bge_folder)


def cut_weights(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def pointer_weights(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")


def no_header(folder):
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 4) + b"[1,2")


def lost_part(folder):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    parts = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda folder: (folder / "config.json").unlink(), "there is no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json cannot be read: "),
        (lambda folder: (folder / "config.json").write_text("[1]"), "config.json is not a JSON object"),
        (lambda folder: (folder / "config.json").write_text("{}"), "model_type None, siglip2 is made from 'siglip'"),
        (lambda folder: (folder / "model.safetensors").unlink(), "there are no weights model.safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "there is no tokenizer.json"),
        (cut_weights, "its header promises"),
        (pointer_weights, "model.safetensors is no safetensors file"),
        (no_header, "model.safetensors is no safetensors file"),
        (lambda folder: change(folder, "tokenizer_config.json", tokenizer_class="SiglipTokenizer"), "SigLIP 1"),
        (lost_part, "no weights model-00002-of-00002.safetensors, which model.safetensors.index.json names"),
    ],
)
def test_a_damaged_folder_is_one_line_at_once(tmp_path, make_siglip2, damage, problem):
    folder = make_siglip2(tmp_path / "tiny-random-siglip2")
    damage(folder)
    with pytest.raises(ConfigError) as caught:
        parse_encoder("image", f"siglip2:{folder}", tmp_path / "cache")
    assert str(caught.value).startswith(f"encoder siglip2: {folder}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def drop_tensors(folder):
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    save_file({name: t for name, t in load_file(weights).items() if "text_model.head" not in name}, weights)


def more_layers(folder):
    said = json.loads((folder / "config.json").read_text())
    said["vision_config"]["hidden_size"] = 64
    (folder / "config.json").write_text(json.dumps(said))


def larger_tokenizer(folder):
    said = json.loads((folder / "tokenizer.json").read_text())
    said["model"]["vocab"]["extra"] = 500
    (folder / "tokenizer.json").write_text(json.dumps(said))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (drop_tensors, "the weights lack 2 tensors of the model, first text_model.head.bias"),
        (more_layers, "the weights cannot be loaded: RuntimeError: "),
        (larger_tokenizer, "tokenizer.json has id 500, the model knows 21 ids"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json cannot be read: "),
        (lambda f: change(f, "tokenizer_config.json", pad_token="[PAD]"), "no padding token '[PAD]'"),
        (lambda f: change(f, "preprocessor_config.json", size=224), "size 224 is not the model's image size 48"),
        (lambda f: change(f, "preprocessor_config.json", resample=77), "preprocessor_config.json: ValueError"),
        (lambda f: change(f, "preprocessor_config.json", image_std=[0, 1, 1]), "take three numbers"),
        (lambda f: change(f, "preprocessor_config.json", do_normalize=False), "do_normalize is off"),
    ],
)
def test_what_only_loading_can_tell_is_one_line_too(tmp_path, make_siglip2, damage, problem):
    folder = make_siglip2(tmp_path / "tiny-random-siglip2")
    damage(folder)
    with pytest.raises(ConfigError) as caught:
        SigLip2(folder)
    assert str(caught.value).startswith(f"encoder siglip2: {folder}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mean_pooled_bert_is_not_bge(tmp_path, make_bge):
    folder = make_bge(tmp_path / "tiny-random-bge")
    pooling = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    with pytest.raises(ConfigError, match="does not pool by the first token"):
        parse_encoder("text", f"bge-small-en-v1.5:{folder}", tmp_path / "cache")
