"""Responders that depend on depth, on compaction and on the recall surface alone: the suite recovers just that.

Of the 100 answerable questions each responder answers RIGHT ones right everywhere, FLIPS of them where its rule holds,
and the rest nowhere; of the 100 others it makes up nothing for UNMADE, and for FLIPS where its rule does not hold.
For the null responders the rule holds always.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from benchsuite.corpus.mirage import MINI_FOLDER

from .conftest import INI, Project, Run

CASES = Path(__file__).parents[2] / "cases" / "mirage"
RIGHT, FLIPS = 31, 17  # of the answerable questions
UNMADE = 60  # of the others


def planted(texts: list[str], right: int) -> dict[str, str]:
    """Which question is of which kind, by a hash of its text."""
    order = sorted(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())
    return {
        text: "right" if place < right else "flips" if place < right + FLIPS else "wrong"
        for place, text in enumerate(order)
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("states")
    (folder / "pytest.ini").write_text(INI)
    (folder / "cases").mkdir()
    for name in ("test_states.py", "test_recall.py"):
        shutil.copy(CASES / name, folder / "cases")
    shutil.copy(Path(__file__).with_name("state_project.py"), folder / "conftest.py")
    main = json.loads((MINI_FOLDER / "bank.json").read_text())["splits"]["main"]
    kinds = {
        **planted([each["question"] for each in main["probes"] if each["answerable"]], RIGHT),
        **planted([each["question"] for each in main["probes"] if not each["answerable"]], UNMADE),
    }
    truth = {
        each["question"]: {
            "kind": kinds[each["question"]],
            "answerable": each["answerable"],
            "gold": each["answer"],
            "artifact": each["artifact"],
            "messages": 70,  # between those of S1-d50k and of S1-d80k
        }
        for each in main["probes"]
    }
    (folder / "truth.json").write_text(json.dumps(truth))
    return Project(folder, folder / ".bench")


def counted(run: Run, model: str, name: str, axis: str = "state") -> dict[str, int]:
    """How many rows of a model have the score, by value of an axis."""
    found: dict[str, int] = {}
    for row in run.rows:
        if row["arm.model"] == model:
            found[row[f"arm.{axis}"]] = found.get(row[f"arm.{axis}"], 0) + (row.get(f"scores.{name}") == 1)
    return found


def contrasts(run: Run) -> dict[str, list[str]]:
    """Each contrast with its difference, W/L and the two legs of its certificates."""
    table = json.loads((run.folder / "tables" / "contrasts.json").read_text())
    return {row[0]: [row[4], row[5], *row[8:10]] for block in table["blocks"] for row in block["rows"]}


@pytest.fixture(scope="module", params=[0, 2])
def states(project: Project, request: pytest.FixtureRequest) -> Run:
    models = "by-depth,by-compaction,steady"
    return project.run(
        f"states{request.param}", request.param, axis="summariser=scribe", model=models, only="test_states"
    )


@pytest.fixture(scope="module")
def recall(project: Project) -> Run:
    return project.run("recall", axis="summariser=scribe", model="by-recall,recalling", only="test_recall")


BOTH = RIGHT + FLIPS
EXPECTED = {
    "by-depth": {"S1-d0": BOTH, "S1-d50k": BOTH, "S1-d80k": RIGHT, "S2": BOTH},  # after a compaction it is short again
    "by-compaction": {"S1-d0": BOTH, "S1-d50k": BOTH, "S1-d80k": BOTH, "S2": RIGHT},
    "steady": dict.fromkeys(("S1-d0", "S1-d50k", "S1-d80k", "S2"), BOTH),
}


@pytest.mark.parametrize("model", EXPECTED)
def test_what_depends_on_depth_or_on_compaction_alone_is_recovered(states: Run, model: str) -> None:
    assert counted(states, model, "gc") == EXPECTED[model]
    assert counted(states, model, "hr") == {
        state: 100 - UNMADE - FLIPS + BOTH - right for state, right in EXPECTED[model].items()
    }


def test_what_depends_on_recall_alone_is_recovered(recall: Run) -> None:
    assert counted(recall, "by-recall", "gc", "recall") == {"intact": BOTH, "compacted": RIGHT, "norecall": RIGHT}
    assert counted(recall, "recalling", "gc", "recall") == dict.fromkeys(("intact", "compacted", "norecall"), BOTH)
    assert counted(recall, "by-recall", "gold_pixels", "recall") == {"intact": 100, "compacted": 0, "norecall": 0}
    assert counted(recall, "by-recall", "tool", "recall") == dict.fromkeys(("intact", "compacted", "norecall"), 200)


PROVED = ["200/200", "200/200"]
LOST, WON, NULL = (["-17.00", "0/34"], ["+17.00", "34/0"], ["+0.00", "0/0"])


def test_every_contrast_has_the_planted_effect_and_no_other(states: Run, recall: Run) -> None:
    deepened, compacted = "state S1-d0 -> S1-d80k @ model ", "state S1-d80k -> S2 @ model "
    assert contrasts(states) == {
        f"{deepened}by-depth": [*LOST, *PROVED],
        f"{deepened}by-compaction": [*NULL, *PROVED],
        f"{deepened}steady": [*NULL, *PROVED],
        f"{compacted}by-depth": [*WON, *PROVED],
        f"{compacted}by-compaction": [*LOST, *PROVED],
        f"{compacted}steady": [*NULL, *PROVED],
    }
    for value in ("compacted", "norecall"):
        found = contrasts(recall)
        assert found[f"recall intact -> {value} @ model by-recall"] == [*LOST, *PROVED]
        assert found[f"recall intact -> {value} @ model recalling"] == [*NULL, *PROVED]
