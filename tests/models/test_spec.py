from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchsuite.errors import ConfigError
from benchsuite.models.spec import ModelSpec, endpoint_limits, normalise_url, parse_models
from benchsuite.plan import safe_id


def one(value: str, toml: Path | None = None, environ: dict[str, str] | None = None, **options: Any) -> ModelSpec:
    return parse_models([value], toml, environ=environ or {}, **options)[0]


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("HTTPS://API.Example.org:443/v1/", "https://api.example.org/v1"),
        ("https://api.example.org/openai/v3", "https://api.example.org/openai/v3"),
        ("https://api.example.org/v1/chat/completions", "https://api.example.org/v1"),
        ("http://[::1]:81", "http://[::1]:81/v1"),
    ],
)
def test_base_url_is_normalised(url: str, base: str) -> None:
    assert normalise_url(url) == base
    spec = one(f"{url}#some-model")
    assert (spec.base_url, spec.family, spec.model, spec.launch) == (base, base, "some-model", "")


@pytest.mark.parametrize(
    "value",
    [
        "https://user:hunter2@host/v1#m",
        "https://hunter2@host#m",
        "https://user:hunt/hunter2@host/v1#m",
        "https://host/v1?key=hunter2#m",
        "https://user:pa#hunter2@host/v1#m",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        one(value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["http://h:port#m", "ftp://h#m", "http://#m", "http://h", "http://h# ", "http://a b#m"]
)
def test_a_value_that_is_no_address_is_refused(value: str) -> None:
    with pytest.raises(ConfigError):
        one(value)


def test_embedded_models_share_a_family_and_the_cores() -> None:
    forced, refusing = parse_models(["embedded-forced", "embedded"], environ={})
    assert forced.family == refusing.family == "embedded/2"
    assert (forced.name, refusing.name) == ("embedded-forced", "embedded")
    assert forced.launch == "embedded"
    assert forced.concurrency == min(64, os.cpu_count() or 1)
    assert dict(forced.params) == {"temperature": 0, "max_tokens": 1024}


def test_vllm_family_is_the_id_and_the_label_is_safe() -> None:
    spec = one("vllm:Qwen/Qwen3-VL-8B")
    assert (spec.launch, spec.model, spec.family) == ("vllm", "Qwen/Qwen3-VL-8B", "vllm/Qwen/Qwen3-VL-8B")
    assert spec.name == safe_id("Qwen/Qwen3-VL-8B")
    assert spec.name.startswith("Qwen_Qwen3-VL-8B_")
    assert len(spec.name) == len("Qwen_Qwen3-VL-8B_") + 4
    with pytest.raises(ConfigError):
        one("vllm:")


def test_labels_differ_where_the_originals_do() -> None:
    assert safe_id("plain-1.5+x") == "plain-1.5+x"
    assert safe_id("a/b") != safe_id("a:b")


def test_two_models_with_one_label_are_refused() -> None:
    with pytest.raises(ConfigError, match="one label 'm'"):
        parse_models(["http://a#m", "http://b#m"], environ={})


def test_key_is_named_never_held() -> None:
    spec = one("http://h#m", environ={"BENCH_API_KEY": "s3cret"})
    assert spec.key_env == "BENCH_API_KEY"
    assert spec.key({"BENCH_API_KEY": " s3cret\n"}) == "s3cret"
    assert "s3cret" not in repr(spec) + str(spec)
    assert one("http://h#m").key_env == ""
    with pytest.raises(ConfigError, match="BENCH_API_KEY") as caught:
        one("http://h#m", environ={"BENCH_API_KEY": "s3c\nret"})
    assert "s3c" not in str(caught.value)


def test_overrides_and_budget() -> None:
    spec = one("http://h#m", timeout_s=5.0, retries=0, concurrency=3)
    assert (spec.timeout_s, spec.tries, spec.concurrency) == (5.0, 1, 3)
    assert one("embedded", concurrency=1).concurrency == 1
    for bad in ({"timeout_s": 0.0}, {"retries": -1}, {"concurrency": 0}):
        with pytest.raises(ConfigError):
            one("embedded", **bad)


def test_unknown_model_lists_the_known(tmp_path: Path) -> None:
    file = tmp_path / "bench-models.toml"
    file.write_text('[lab]\nmodel="m"\nbase_url="http://h"\n')
    with pytest.raises(ConfigError, match=r"unknown model 'gpt'.*embedded.*URL#model, lab"):
        one("gpt", file)
    with pytest.raises(ConfigError, match="unknown model"):
        one("lab", tmp_path / "absent.toml")


FULL = """
["lab.big"]
base_url = "https://lab.example"
model = "org/big"
key_env = "LAB_KEY"
concurrency = 4
timeout_s = 20
tries = 2
retry_after_cap_s = 5.5
temperature = 0.5
omit = ["max_tokens"]
context_window = 8192
[ "lab.big".extra_body ]
top_k = 1
"""


def test_toml_entry(tmp_path: Path) -> None:
    file = tmp_path / "bench-models.toml"
    file.write_text(FULL)
    spec = one("lab.big", file, {"LAB_KEY": "k"})
    assert (spec.name, spec.model, spec.base_url) == ("lab.big", "org/big", "https://lab.example/v1")
    assert (spec.concurrency, spec.timeout_s, spec.tries, spec.retry_after_cap_s) == (4, 20.0, 2, 5.5)
    assert dict(spec.params) == {"temperature": 0.5, "top_k": 1}
    assert spec.context_window == 8192
    assert one("lab.big", file, {"LAB_KEY": "k"}, concurrency=2).concurrency == 2
    with pytest.raises(ConfigError, match=r"'lab\.big'.*LAB_KEY is not set"):
        one("lab.big", file)
    assert one("lab.big", file, replaying=True).key_env == "LAB_KEY"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('model="m"\nbase_url="http://h"\nconcurency=3', "concurency"),
        ('model="m"\nbase_url="http://h"\ntries="3"', "tries"),
        ('model="m"\nbase_url="http://h"\ntries=0', "tries"),
        ('model="m"\nbase_url="http://h"\ntimeout_s=inf', "timeout_s"),
        ('base_url="http://h"', "model"),
        ('model="m"', "base_url"),
        ('model="m"\nbase_url="http://h"\nlaunch="vllm"', "base_url"),
        ('model="m"\nbase_url="http://u:p@h"', "base_url"),
        ('model="m"\nbase_url="http://h"\nextra_body={stream=true}', "extra_body.stream"),
        ('model="m"\nbase_url="http://h"\nextra_body={x=nan}', "extra_body"),
        ('model="m"\nbase_url="http://h"\nextra_body={x=2020-01-01}', "extra_body"),
    ],
)
def test_faulty_entry_names_file_entry_and_field(tmp_path: Path, body: str, field: str) -> None:
    file = tmp_path / "bench-models.toml"
    file.write_text(f"[lab]\n{body}\n")
    with pytest.raises(ConfigError) as caught:
        one("lab", file)
    message = str(caught.value)
    assert message.startswith(f"bench-models.toml: entry 'lab': field '{field}")
    assert "\n" not in message


@pytest.mark.parametrize("text", ["[lab", "lab = 3\n", "\udcff"])
def test_file_that_holds_no_tables(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bench-models.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=r"^bench-models\.toml: "):
        one("lab", file)


def test_limits_per_family_take_the_smallest() -> None:
    specs = [
        ModelSpec("a", "a", "u", "u", concurrency=8),
        ModelSpec("b", "b", "u", "u", concurrency=3),
        ModelSpec("c", "c", "w", "w", concurrency=5),
    ]
    assert endpoint_limits(specs) == {"u": 3, "w": 5}
