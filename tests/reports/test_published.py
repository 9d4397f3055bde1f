"""The published figures against the test data, and the rule by which they may be shown."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchsuite.corpus.check.checker import RELEASED
from benchsuite_reports.delivermem_t7 import unsummed
from benchsuite_reports.published import TYPES, Standing, mismatch, published, published_or_reason
from benchsuite_reports.table import CorpusFacts

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
COUNTS = dict(zip(TYPES, (61, 35, 48, 29, 22), strict=True))
SHA_32K = published().files["public release"]["32k"][0]
TABLES = ("delivermem_t2", "delivermem_t7", "delivermem_t8", "delivermem_t18")
HERE = Standing(
    corpus=CorpusFacts("dataset_32k.json", bundled=False, files={"dataset_32k.json": SHA_32K}),
    length="32k",
    missing_images=0,
    types=COUNTS,
    conditions=frozenset(
        (
            "text-noimg",
            "text-pixels",
            "both-pixels-whole",
            "both-pixels-region",
            "both-deployed-region",
            "full-direct",
        )
    ),
    encoders={"text": ("bge-small-en-v1.5", ""), "image": ("siglip2", "siglip2-base-patch16-384")},
    judge="Qwen/Qwen3-VL-235B-A22B-Instruct",
    scores=frozenset((0.0, 1.0)),
    k=10,
    n=195,
    tokenizer="Qwen3-VL-8B-Instruct",
)


def figure(place):
    (found,) = [each for each in FIGURES if each["paper"] == "delivermem" and each["place"] == place]
    return found["published"]


def values(table, name):
    (found,) = [row for row in published().rows if row.table == table and row.name == name]
    return found.values


def lengths(prefix):
    return {length.lower(): figure(f"{prefix} {length}") for length in ("32K", "64K", "128K", "256K")}


def test_table_2_is_the_published_one():
    assert values("delivermem_t2", "best_agent") == lengths("T2 best published")
    assert values("delivermem_t2", "withheld") == lengths("T2 withheld")
    assert values("delivermem_t2", "text") == lengths("T2 text-channel")
    assert values("delivermem_t2", "delivermem") == lengths("T2 DeliverMem")


T7 = {
    "m2a": "M2A",
    "m3c": "M3C",
    "m3-agent": "M3-Agent",
    "memory-t1": "Memory-T1",
    "memos": "MemOS",
    "mem0": "Mem0",
    "memagent-7b": "MemAgent-7B",
    "qwen3.5-122b": "Qwen3.5-122B",
    "qwen3-vl-30b-a3b": "Qwen3-VL-30B-A3B",
    "gemini-3.1-pro": "Gemini-3.1-Pro",
    "gpt-5.4": "GPT-5.4",
    "qwen3-vl-8b": "Qwen3-VL-8B direct",
    "qwen3-vl-2b": "Qwen3-VL-2B direct",
    "withheld": "own images withheld",
    "text": "own text-channel",
    "whole": "own text and image",
    "region": "own region, no tag or date",
    "delivermem": "DeliverMem",
}


def test_table_7_is_the_published_one():
    assert {row.name for row in published().rows if row.table == "delivermem_t7"} == set(T7)
    for name, place in T7.items():
        assert list(values("delivermem_t7", name).values()) == figure(f"T7 {place} percentages"), name


def test_table_8_is_the_published_one_and_repeats_table_7_at_32k():
    for name, place in {
        "qwen3.5-122b": "Qwen3.5-122B",
        "qwen3-vl-30b-a3b": "30B-A3B",
        "gemini-3.1-pro": "Gemini-3.1-Pro",
        "gpt-5.4": "GPT-5.4",
        "qwen3-vl-2b": "2B",
    }.items():
        read = values("delivermem_t8", name)
        assert read["32k"] == values("delivermem_t7", name)["all"]
        assert (read["64k"], read["128k"]) == (figure(f"T8 {place} 64K"), figure(f"T8 {place} 128K"))
        assert read["256k"] is None
    assert values("delivermem_t8", "delivermem") == lengths("T2 DeliverMem")
    own = values("delivermem_t8", "qwen3-vl-8b")
    assert own == values("delivermem_t18", "direct")
    assert [own[length] for length in ("32k", "64k", "128k")] == [
        figure(f"T18 direct {length}") for length in ("32K", "64K", "128K")
    ]


def test_table_18_is_the_published_one():
    delivered, full = values("delivermem_t18", "delivered"), values("delivermem_t18", "full")
    for each in (each for each in FIGURES if each["place"].startswith("T18 input ratio")):
        length = each["place"].split()[-1].lower()
        assert each["inputs"] == {"full": full[length], "delivered": delivered[length]}
        assert values("delivermem_t18", "ratio")[length] == each["published"]
    differences = values("delivermem_t18", "difference")
    for length in ("32k", "64k", "128k"):
        assert differences[length] == figure(f"T18 accuracy difference {length.upper()}")
    assert values("delivermem_t18", "delivermem") == lengths("T2 DeliverMem")


def test_exactly_four_rows_do_not_sum_by_type():
    sizes = list(COUNTS.values())
    found = set()
    for name, place in T7.items():
        percentages = figure(f"T7 {place} percentages")
        if sum(round(p * n / 100) for p, n in zip(percentages[2:], sizes, strict=True)) != round(
            percentages[0] * 195 / 100
        ):
            found.add(name)
    assert found == {"m2a", "memos", "mem0", "memagent-7b"}
    # right answers by type, and overall
    assert unsummed([row for row in published().rows if row.table == "delivermem_t7"]) == {
        "m2a": (18, 30),
        "memos": (60, 59),
        "mem0": (63, 62),
        "memagent-7b": (65, 64),
    }


def test_the_digests_are_those_that_a_check_of_the_data_knows():
    pinned = {sha for files in published().files.values() for shas in files.values() for sha in shas}
    assert pinned == set(RELEASED)


def test_every_row_says_where_it_comes_from_and_what_it_stands_on():
    assert {row.table for row in published().rows} == set(TABLES)
    for row in published().rows:
        there = row.provenance
        number = row.table.rpartition("_t")[2]
        assert there.source.startswith(f"DeliverMem, arXiv:2609.32590v1, Table {number}")
        assert (there.n, there.judge, there.scale) == (195, "Qwen3-VL-235B-A22B", (0.0, 1.0))
        assert there.k in (None, 10)
        assert there.base
        assert there.corpus in published().files
        assert sum(published().types[there.labels].values()) == there.n


@pytest.mark.parametrize("table", TABLES)
def test_published_rows_are_shown_where_everything_is_equal(table):
    rows, reason = published_or_reason(table, HERE)
    assert reason == ""
    assert rows == tuple(row for row in published().rows if row.table == table)
    assert rows


def other(**changes):
    return replace(HERE, **changes)


MISMATCHES = {
    "mini": (
        other(corpus=CorpusFacts("memlens-mini", bundled=True), length="1x", judge="", n=68),
        "corpus is memlens-mini, not the public release",
    ),
    "length": (other(length="64k"), "corpus: no digest of the public release is known for length 64k"),
    "digest": (
        other(corpus=CorpusFacts("dataset_32k.json", bundled=False, files={"dataset_32k.json": "00"}), n=1),
        "corpus is dataset_32k.json, whose files do not have the digest of the public release",
    ),
    "images": (other(missing_images=3, n=1), "corpus: 3 images are missing"),
    "labels": (
        other(types={**COUNTS, "information_extraction": 60}, n=194),
        "label version: questions by type are 60 IE/35 MSR/48 TR/29 KU/22 AR, published 61 IE/35 MSR/48 TR/29 KU/22 AR",
    ),
    "base": (
        other(conditions=HERE.conditions - {"both-deployed-region"}, judge=""),
        "base condition: both-deployed-region was not run",
    ),
    "encoder": (
        other(encoders={**HERE.encoders, "text": ("minilm", "all-MiniLM-L6-v2")}, judge=""),
        "base condition: text encoder is minilm, published bge-small-en-v1.5",
    ),
    "no-encoder": (other(encoders={}), "base condition: text encoder is not recorded, published bge-small-en-v1.5"),
    "no-judge": (other(judge="", k=5), "judge is none, published Qwen3-VL-235B-A22B"),
    "judge": (other(judge="openai/gpt-5.4"), "judge is openai/gpt-5.4, published Qwen3-VL-235B-A22B"),
    "judge-of-longer-name": (
        other(judge="Qwen3-VL-235B-A22Bx"),
        "judge is Qwen3-VL-235B-A22Bx, published Qwen3-VL-235B-A22B",
    ),
    "scale": (other(scores=frozenset((0.0, 0.5, 1.0)), n=1), "judge scale: scores of 0.5, published 0/1"),
    "n": (other(n=194), "n is 194, published 195"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_the_first_mismatch_is_named_and_no_figure_is_shown(name):
    here, reason = MISMATCHES[name]
    assert published_or_reason("delivermem_t2", here) == ((), reason)


def test_a_cut_other_than_the_published_one_is_a_mismatch():
    (row,) = [row for row in published().rows if (row.table, row.name) == ("delivermem_t2", "delivermem")]
    assert mismatch(row.provenance, other(k=5, n=1)) == "K is 5, published 10"


def test_token_counts_of_another_tokenizer_are_not_compared():
    rows, reason = published_or_reason("delivermem_t18", other(tokenizer="all-MiniLM-L6-v2"))
    assert rows == ()
    assert reason == "base condition: tokenizer is all-MiniLM-L6-v2, published Qwen3-VL-8B"
