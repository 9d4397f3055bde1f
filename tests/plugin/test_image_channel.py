"""Both channels in a run: the index is built once for all workers and runs, and what it cost is recorded."""

from __future__ import annotations

import json
from typing import Any

Project = Any  # tests/plugin/conftest.py

CASE = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(
    arms=[
        {"retrieval": "both", "delivery": "deployed"},
        {"retrieval": "image", "delivery": "pixels", "index": "whole"},
        {"retrieval": "full", "delivery": "direct"},
    ],
    tables=["delivermem_t18"],
)
def test_channels(outcome):
    assert outcome.answered
"""


def test_each_image_is_embedded_once_and_costs_and_tokens_are_recorded(project: Project) -> None:
    project.corpus(4)
    (project.pytester.path / "cases" / "test_delivery.py").write_text(CASE)
    first = project.run(workers=2)
    assert first.ret == 0, first.stdout.str() + first.stderr.str()
    assert "starting embedded" in first.stdout.str()
    rows = project.rows()
    assert {(row["arm.retrieval"], row["arm.index"]) for row in rows.values()} == {
        ("both", "region"),
        ("image", "whole"),
        ("full", "region"),
    }
    info = json.loads((project.runs[0] / "run.json").read_text())
    assert info["encoders"]["text"]["name"] == "minilm"
    assert info["encoders"]["image"]["name"] == "ocr-minilm"
    costs = info["index_costs"]
    assert {index: (each["images"], each["embedded"], each["tiles"]) for index, each in costs.items()} == {
        "region": (4, 4, 5),
        "whole": (4, 4, 1),
    }
    assert costs["region"]["queries"] == costs["whole"]["queries"] == 4
    assert "image index on disk" in first.stdout.str()
    tokens = json.loads((project.runs[0] / "tokens.json").read_text())
    assert tokens["tokenizer"] == "all-MiniLM-L6-v2"
    assert "tokens of text: by all-MiniLM-L6-v2" in first.stdout.str()

    again = project.run()
    assert again.ret == 0
    assert "starting embedded" not in again.stdout.str(), "every vector was on disk"
    costs = json.loads((project.runs[1] / "run.json").read_text())["index_costs"]
    assert {index: (each["images"], each["embedded"], each["queries"]) for index, each in costs.items()} == {
        "region": (4, 0, 4),
        "whole": (4, 0, 4),
    }
    same = project.rows(0)
    assert project.rows(1) == same


def test_a_tokenizer_of_ones_own_counts_and_is_named(project: Project) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    project.corpus(1)
    (project.pytester.path / "cases" / "test_delivery.py").write_text(
        CASE.replace('{"retrieval": "both", "delivery": "deployed"},', "").replace(
            '{"retrieval": "image", "delivery": "pixels", "index": "whole"},', ""
        )
    )
    whole = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    (project.pytester.path / "mine").mkdir()
    whole.save(str(project.pytester.path / "mine" / "tokenizer.json"))
    assert project.run("--bench-tokenizer", "mine").ret == 0
    assert json.loads((project.runs[0] / "tokens.json").read_text())["tokenizer"] == "mine"
