"""Ids and paths carry nothing: a corpus whose ids and paths are all other ones gives the same outcomes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchsuite.corpus.memlens import MINI_FOLDER

if TYPE_CHECKING:
    from .conftest import Project, Row, Run

LIMIT = 6  # questions that the embedded reader is asked
CONTROLS = ("pixels+scramble", "pixels+phase", "pixels+decoy")
CONTROLS += tuple(
    f"deployed+{token}" for token in ("tagconst", "tagshuf", "tagshufpix", "dateperm", "ordinal", "bindshuf")
)
OF_THE_COPY = ("cell", "question", "corpus", "cluster")  # fields that name ids


def question_id(old: str) -> str:
    """In another order than the old ids, and with characters that ids in pytest cannot have."""
    return f"{other('question', old)}/é {old.rpartition('_')[2][::-1]}"


def other(kind: str, old: str) -> str:
    return hashlib.sha256(f"{kind} {old}".encode()).hexdigest()[:10]


@pytest.fixture(scope="session")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled corpus under other question, session and cluster ids and other image paths."""
    folder = tmp_path_factory.mktemp("renamed") / "far" / "away"
    folder.mkdir(parents=True)
    items = json.loads((MINI_FOLDER / "dataset_1x.json").read_text())
    for item in items:
        item["question_id"] = question_id(item["question_id"])
        for field in ("haystack_session_ids", "answer_session_ids"):
            item[field] = [other("session", name) for name in item[field]]
        for image in (image for session in item["haystack_sessions"] for turn in session for image in turn["images"]):
            old = image["file"]
            name = other("image", old)
            image["file"] = f"{name[:1]}/{name}{Path(old).suffix}"
            path = folder / "release_images" / image["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(MINI_FOLDER / "release_images" / old, path)
    labels = json.loads((MINI_FOLDER / "labels.json").read_text())
    for label in labels.values():
        label["cluster"] = other("cluster", label["cluster"])
    (folder / "dataset_1x.json").write_text(json.dumps(items))
    (folder / "labels.json").write_text(json.dumps({question_id(old): label for old, label in labels.items()}))
    return folder


def outcomes(run: Run, new_names: bool) -> dict[tuple[str, str, str], Row]:
    """By arm and new question id, without the fields that name ids."""
    return {
        (retrieval, delivery, question if new_names else question_id(question)): {
            key: value for key, value in row.items() if key not in OF_THE_COPY
        }
        for (retrieval, delivery), rows in run.by_arm.items()
        for question, row in rows.items()
    }


@pytest.mark.parametrize(("workers", "place"), [(0, "file"), (2, "folder")])
def test_a_renamed_corpus_gives_the_same_outcomes(
    project: Project, echo: Run, renamed: Path, tmp_path: Path, workers: int, place: str
) -> None:
    """`items` are places in the history and `requests` digests of what was sent: these too are equal."""
    if place == "folder":
        renamed = Path(shutil.copytree(renamed, tmp_path / "another place"))
    path = renamed / "dataset_1x.json" if place == "file" else renamed
    run = project.run(f"renamed-{place}", workers=workers, model="echo", corpus=f"memlens={path}")
    before, after = outcomes(echo, new_names=False), outcomes(run, new_names=True)
    requests = {tuple(row["requests"]) for row in before.values()}
    assert len({row["answer"] for row in before.values()}) > len(requests) / 2, "answers do not depend on the request"
    assert {row["corpus"] for row in run.rows}.isdisjoint(row["corpus"] for row in echo.rows)
    assert after == before


def test_the_embedded_reader_answers_a_renamed_corpus_alike(project: Project, renamed: Path) -> None:
    """Each run asks the reader anew, on the same questions: `--bench-limit` takes them by content."""
    first = project.run("embedded", model="embedded", limit=str(LIMIT))
    second = project.run("embedded-renamed", workers=2, model="embedded", limit=str(LIMIT), corpus=f"memlens={renamed}")
    before, after = outcomes(first, new_names=False), outcomes(second, new_names=True)
    assert len(before) == 4 * LIMIT
    assert {row["status"] for row in before.values()} == {"scored"}
    assert after == before


def test_what_the_controls_draw_does_not_follow_ids_or_paths(project: Project, renamed: Path) -> None:
    axes = ["retrieval=recency", f"delivery={','.join(CONTROLS)}"]
    first = project.run("controls", model="echo", limit=str(LIMIT), axis=axes)
    second = project.run(
        "controls-renamed", workers=2, model="echo", limit=str(LIMIT), axis=axes, corpus=f"memlens={renamed}"
    )
    before, after = outcomes(first, new_names=False), outcomes(second, new_names=True)
    assert len(before) == len(CONTROLS) * LIMIT
    assert {row["status"] for row in before.values()} == {"scored"}
    assert after == before
