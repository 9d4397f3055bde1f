"""A run whose image channel is a checkpoint of one's own: launched once, indexed, recorded, ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFTEST = """
pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]

from benchsuite.models.wire import Reply

class Mute:
    async def send(self, spec, request):
        return Reply("Insufficient information", finish="stop", model_served="mute-1")

def pytest_bench_register(registry):
    registry.transport("mute", Mute)
"""

CASE = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(retrieval=["image"], delivery=["noimg"], index=["whole", "region"], k=[3])
def test_channel(outcome):
    assert outcome.answered
"""


def test_a_run_with_a_tiny_random_siglip2(pytester: pytest.Pytester, siglip2_folder: Path) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nstrict = true\naddopts = --import-mode=importlib\n")
    (pytester.path / "cases").mkdir()
    (pytester.path / "cases" / "test_channel.py").write_text(CASE)
    encoder = f"image=siglip2:{siglip2_folder}"
    given = ("-n", "2", "--bench-model", "mute", "--bench-limit", "2", "--bench-encoder", encoder)
    result = pytester.runpytest_subprocess("cases", "-p", "no:cacheprovider", *given)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert result.stdout.str().count("starting siglip2 (encoder/siglip2/") == 1
    (run,) = (pytester.path / ".bench" / "runs").glob("0*")
    rows = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    assert {(row["arm.index"], row["n_items"]) for row in rows} == {("whole", 3), ("region", 3)}
    image = json.loads((run / "run.json").read_text())["encoders"]["image"]
    assert (image["name"], image["checkpoint"]) == ("siglip2", siglip2_folder.name)
    costs = [json.loads(file.read_text()) for file in (run / "costs").iterdir()]
    assert {(each[index]["encoder"], each[index]["tiles"]) for each in costs for index in each} == {
        ("siglip2", 1),
        ("siglip2", 5),
    }


def test_a_folder_of_another_architecture_ends_the_run_before_it_begins(
    pytester: pytest.Pytester, bge_folder: Path
) -> None:
    pytester.makeconftest(CONFTEST)
    (pytester.path / "cases").mkdir()
    (pytester.path / "cases" / "test_channel.py").write_text(CASE)
    encoder = f"image=siglip2:{bge_folder}"
    result = pytester.runpytest_subprocess("cases", "--bench-model", "mute", "--bench-encoder", encoder)
    assert result.ret == 4
    (line,) = result.errlines
    assert line.startswith("benchsuite: ")
    assert str(bge_folder) in line
    assert "siglip" in line
    assert "bert" in line
