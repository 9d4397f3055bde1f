"""Controls and certificates as a user meets them: a run over every control, its certificates, and what cannot be."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image as PillowImage

TOKENS = ("scramble", "phase", "decoy", "noimg", "tagconst", "tagshuf", "tagshufpix", "dateperm", "ordinal", "bindshuf")
CASES = """
import pytest
pytestmark = pytest.mark.memlens

@pytest.mark.experiment(
    retrieval=["full"],
    delivery=["deployed", {others}],
    contrasts=[{contrasts}],
)
def test_controls(outcome):
    assert outcome.answered
"""


def cases(tokens, suite="memlens"):
    others = ", ".join(f'"deployed+{token}"' for token in tokens)
    contrasts = ", ".join(f'"delivery: deployed+{token} -> deployed"' for token in tokens)
    return CASES.format(others=others, contrasts=contrasts).replace("mark.memlens", f"mark.{suite}")


def second_image(number, item):
    """A second message with an image, on another day."""
    turn = item["haystack_sessions"][1][0]
    turn["content"] += " <image>"
    turn["images"] = [{"file": f"needle_images/second{number}.png"}]
    return item


def draw_noise(folder):
    for path in sorted(folder.glob("release_images/needle_images/*.png")):
        buffer = io.BytesIO()
        PillowImage.effect_noise((64, 48), 80).convert("RGB").save(buffer, "PNG")
        path.write_bytes(buffer.getvalue())


@pytest.fixture
def controls(project):
    def make(count, tokens=TOKENS, suite="memlens"):
        from .conftest import item, write_corpus

        write_corpus(project.pytester.path / "corpus", [second_image(n, item(n)) for n in range(count)])
        draw_noise(project.pytester.path / "corpus")
        (project.pytester.path / "cases" / "test_delivery.py").write_text(cases(tokens, suite))
        return project

    return make


def certificates(project):
    lines = (project.runs[-1] / "certificates.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("workers", [0, 2])
def test_every_pair_of_every_control_is_matched_and_altered(controls, workers):
    project = controls(4)
    result = project.run(workers=workers)
    assert result.ret == 0, result.stdout.str()
    pairs = 4 * len(TOKENS)
    result.stdout.fnmatch_lines([f"pairs of requests: matched {pairs}/{pairs}, altered {pairs}/{pairs} (*"])
    found = certificates(project)
    assert len(found) == pairs
    assert [each for each in found if not (each["matched"] and each["altered"])] == []
    variables = {each["a"].partition("deployed+")[2].partition("-")[0]: each["variables"] for each in found}
    assert variables["phase"] == ["modality"]
    assert variables["noimg"] == ["modality", "identity"]
    assert variables["tagconst"] == ["identity"]
    assert variables["bindshuf"] == ["binding"]
    table = (project.runs[-1] / "tables" / "contrasts.md").read_text()
    assert table.count("4/4") >= 2 * len(TOKENS)


def test_a_rerun_elsewhere_sends_the_same_bytes(controls):
    project = controls(3)
    keys = []
    for folder in ("one", "two"):
        assert project.run("--bench-dir", folder).ret == 0
        (run,) = (project.pytester.path / folder / "runs").glob("0*")
        rows = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
        keys.append({row["cell"]: row["requests"] for row in rows})
    assert keys[0] == keys[1]


def test_too_few_photographs_are_the_errors_of_the_cells_that_need_them(controls):
    project = controls(2, ["decoy"])
    corpus = project.pytester.path / "corpus" / "dataset_32k.json"
    items = json.loads(corpus.read_text())
    items[0]["haystack_sessions"][1][0].pop("images")
    corpus.write_text(json.dumps(items))
    result = project.run()
    assert result.ret == 1
    lines = (project.runs[-1] / "outcomes.jsonl").read_text().splitlines()
    (short,) = [row for row in map(json.loads, lines) if row["status"] == "error"]
    assert (short["arm.delivery"], short["question"], short["score"]) == ("deployed+decoy", "q_00000001", None)
    assert "images: 2 decoys are needed, other questions of length 32k have 1 to give" in short["error.message"]


def test_what_a_control_cannot_alter_is_counted_and_named(project):
    (project.pytester.path / "cases" / "test_delivery.py").write_text(cases(["bindshuf", "tagshuf"]))
    project.corpus(3)  # one image a question
    assert project.run().ret == 0
    found = certificates(project)
    assert {each["matched"] for each in found} == {True}
    assert {each["altered"] for each in found} == {False}
    assert {text for each in found for text in each["unaltered"]} == {
        "binding: one image alone cannot change places",
        "identity: one tag alone cannot change places",
    }
    assert (project.runs[-1] / "tables" / "contrasts.md").read_text().count("0/3") == 2
