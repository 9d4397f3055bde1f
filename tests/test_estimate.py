"""Sizes of requests, price files, costs, and what earlier runs tell of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchsuite.errors import ConfigError
from benchsuite.estimate import Past, Planned, Price, Size, output_limit, past_of, read_prices
from benchsuite.models.spec import ModelSpec
from benchsuite.outcome import Outcome
from benchsuite.runs import RunStore

SPEC = ModelSpec(name="qwen", model="Qwen/Qwen3", base_url="http://h/v1", family="http://h/v1")


@pytest.mark.parametrize(
    ("images", "patch", "tokens"),
    [((), 32, 0), (((32, 32),), 32, 1), (((33, 32),), 32, 2), (((64, 48), (1, 1)), 32, 5), (((56, 56),), 28, 4)],
)
def test_an_image_token_covers_a_square_and_parts_count_whole(
    images: tuple[tuple[int, int], ...], patch: int, tokens: int
) -> None:
    assert Size(7, images).image_tokens(patch) == tokens


def test_what_is_stored_is_not_sent_and_what_is_not_known_is() -> None:
    planned = Planned(3, {"a": Size(1, stored=True), "b": Size(2, stored=False), "c": Size(4, stored=None)})
    assert (planned.stored, planned.unknown, [size.text for size in planned.to_send]) == (1, 1, [2, 4])


def test_a_cost_is_tokens_times_prices() -> None:
    sizes = [Size(100, ((64, 64),)), Size(50)]
    assert Price(input=2.0, output=10.0).cost(sizes, 20) == pytest.approx((154 * 2 + 40 * 10) / 1e6)


def test_a_share_of_the_input_may_have_a_price_of_its_own() -> None:
    price = Price(input=2.0, output=0.0, cached_input=0.5)
    assert price.cost([Size(1000)], 0) == pytest.approx(1000 * 2 / 1e6)
    assert price.cost([Size(1000)], 0, cached_share=0.25) == pytest.approx((250 * 0.5 + 750 * 2) / 1e6)
    assert Price(input=2.0, output=0.0).cost([Size(1000)], 0, 0.25) == pytest.approx(1000 * 2 / 1e6)


def test_a_provider_may_count_images_its_own_way() -> None:
    size = Size(10, ((56, 56), (28, 28)))
    assert Price(input=1.0, output=1.0).input_tokens(size) == 10 + 4 + 1
    assert Price(input=1.0, output=1.0, image_patch=28).input_tokens(size) == 10 + 4 + 1
    assert Price(input=1.0, output=1.0, image_patch=14).input_tokens(size) == 10 + 16 + 4
    assert Price(input=1.0, output=1.0, image_tokens=258).input_tokens(size) == 10 + 2 * 258
    assert Price(input=1.0, output=1.0, image_tokens=0).input_tokens(size) == 10


def test_a_price_is_found_by_label_or_by_model_id(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('currency = "USD"\n["Qwen/Qwen3"]\ninput = 1\noutput = 2.5\n[other]\ninput = 3.0\noutput = 4.0\n')
    prices = read_prices(file)
    assert prices.currency == "USD"
    found = prices.of(SPEC)
    assert found is not None
    assert (found.input, found.output, found.cached_input) == (1.0, 2.5, None)
    absent = ModelSpec(name="absent", model="absent", base_url="", family="f")
    assert prices.of(absent) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("currency = ", "not valid TOML: "),
        ("[a]\ninput = 1.0\noutput = 1.0", "field 'currency': must be text, as in currency = \"USD\""),
        ("currency = 3", "field 'currency': must be text"),
        ('currency = " "', "field 'currency': must be text"),
        ('currency = "USD"\na = 3', "model 'a': must be a table, [a]"),
        ('currency = "USD"\n[a]\ninput = 1.0', "model 'a': field 'output': Field required"),
        (
            'currency = "USD"\n[a]\ninput = "1"\noutput = 1.0',
            "model 'a': field 'input': Input should be a valid number",
        ),
        ('currency = "USD"\n[a]\ninput = true\noutput = 1.0', "model 'a': field 'input': "),
        ('currency = "USD"\n[a]\ninput = -1.0\noutput = 1.0', "model 'a': field 'input': Input should be greater"),
        ('currency = "USD"\n[a]\ninput = nan\noutput = 1.0', "model 'a': field 'input': "),
        ('currency = "USD"\n[a]\ninput = inf\noutput = 1.0', "model 'a': field 'input': "),
        ('currency = "USD"\n[a]\ninput = 1.0\noutput = 1.0\nimage = 3', "model 'a': field 'image': unknown field"),
        ('currency = "USD"\n[a]\ninput = 1.0\noutput = 1.0\nimage_patch = 0', "model 'a': field 'image_patch': "),
        (
            'currency = "USD"\n[a]\ninput = 1.0\noutput = 1.0\nimage_patch = 28\nimage_tokens = 9',
            "model 'a': field 'image_tokens': give either image_patch or image_tokens",
        ),
    ],
)
def test_a_fault_of_a_price_file_is_named_by_model_and_field(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_prices(file)
    assert str(caught.value).startswith(f"{file}: {problem}")
    assert "\n" not in str(caught.value)


def test_a_price_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read: No such file"):
        read_prices(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("params", "limit"),
    [
        ({"max_tokens": 256}, 256),
        ({"max_completion_tokens": 99}, 99),
        ({"max_tokens": 256, "max_completion_tokens": 99}, 99),
        ({"temperature": 0}, None),
    ],
)
def test_the_limit_of_the_output_is_what_the_request_says(params: dict[str, Any], limit: int | None) -> None:
    assert output_limit(ModelSpec(name="a", model="a", base_url="", family="f", params=params)) == limit


def row(number: int, completion: int | None = 10, latency: float = 1.0, **changes: Any) -> dict[str, object]:
    run = {"cached": False, "latency_s": latency, "cached_tokens": None, "direct": False, **changes.pop("run", {})}
    fields: dict[str, Any] = {
        "cell": f"memlens:{number}",
        "suite": "memlens",
        "corpus": "c",
        "question": f"q{number}",
        "type": "t",
        "answerable": True,
        "arm": {"length": "1x", "model": "qwen"},
        "status": "scored",
        "word": "right",
        "score": 1.0,
        "n_calls": 1,
        "requests": [f"key{number}"],
        "usage_prompt": 100,
        "usage_completion": completion,
        "run": run,
        **changes,
    }
    return Outcome(**fields).to_row()


def write_run(bench_dir: Path, name: str, rows: list[dict[str, object]], family: str = SPEC.family) -> Path:
    info = {"models": {"qwen": {"model": SPEC.model, "family": family, "params": {}}}}
    with RunStore.open(bench_dir, name, {"e": [str(each["cell"]) for each in rows]}, info) as store:
        for each in rows:
            store.append(each)
        store.finish(0)
        return store.path


def test_typical_values_are_medians_of_earlier_answers(tmp_path: Path) -> None:
    rows = [row(1, 10, 1.0), row(2, 30, 5.0), row(3, 20, 2.0), row(4, None, 9.0)]
    write_run(tmp_path, "a", rows)
    past, problems = past_of(tmp_path, {"qwen": SPEC})
    assert problems == []
    assert past == {"qwen": Past(answers=4, output_tokens=20, latency_s=3.5, cached_share=None)}


def test_an_answer_counts_once_and_its_time_only_where_it_was_sent_alone(tmp_path: Path) -> None:
    cached = {"run": {"cached": True, "cached_tokens": 40}}
    write_run(tmp_path, "sent", [row(1, 10, 4.0, run={"cached_tokens": 40})])
    write_run(tmp_path, "again", [row(1, 10, 4.0, **cached), row(2, 50, 8.0, n_calls=2)])
    write_run(tmp_path, "third", [row(1, 10, 4.0, **cached), row(3, 12, 6.0, **cached)])
    past, _ = past_of(tmp_path, {"qwen": SPEC})
    assert past["qwen"] == Past(answers=3, output_tokens=12, latency_s=4.0, cached_share=0.4)


def test_errors_and_other_endpoints_tell_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, "a", [row(1, 10)], family="http://elsewhere/v1")
    failed = {"status": "error", "word": "error", "score": None, "error_kind": "http", "error_message": "HTTP 500"}
    write_run(tmp_path, "b", [row(2, None, requests=[], n_calls=0, **failed)])
    assert past_of(tmp_path, {"qwen": SPEC}) == ({}, [])
    assert past_of(tmp_path / "absent", {"qwen": SPEC}) == ({}, [])


def test_a_run_that_cannot_be_read_is_named_and_the_others_tell(tmp_path: Path) -> None:
    write_run(tmp_path, "good", [row(1, 10)])
    broken = write_run(tmp_path, "broken", [row(2, 99)])
    (broken / "outcomes.jsonl").write_text("{nonsense\n")
    (write_run(tmp_path, "worse", [row(3, 99)]) / "run.json").write_text("[]")
    past, problems = past_of(tmp_path, {"qwen": SPEC})
    assert past["qwen"].output_tokens == 10
    assert len(problems) == 2
    assert "0003_nogit_worse" in problems[0]
    assert "0002_nogit_broken" in problems[1]
    assert all("\n" not in problem for problem in problems)


def test_a_row_without_its_fields_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    run = write_run(tmp_path, "a", [row(1, 10)])
    (run / "outcomes.jsonl").write_text(json.dumps({"arm.model": "qwen"}) + "\n")
    past, problems = past_of(tmp_path, {"qwen": SPEC})
    assert past == {}
    assert [run.name in problem for problem in problems] == [True]
