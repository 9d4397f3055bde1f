"""Checkpoints are known by their content, never change, can be carried elsewhere, and cost nothing to restore."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest

from benchsuite.corpus.model import Image
from benchsuite.errors import ConfigError, DataError
from benchsuite.models.wire import ToolCall
from benchsuite.runtime import checkpoint as module
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.conversation import Spoken
from benchsuite.runtime.workspace import Stored, Workspace

from .world import CHART, GOLD, TURNS, Teller, build_one, play, summing_up, tool_call, wanted


@pytest.fixture
def made(tmp_path):
    """A saved checkpoint after a compaction, and the cache folder that it is in."""
    return build_one(tmp_path / "cache", Teller(summing_up), wanted("S2")), tmp_path / "cache"


def file_of(made):
    checkpoint, cache = made
    return cache / "checkpoint" / f"{checkpoint.id}.json"


def edit(made, change):
    path = file_of(made)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def refused(made):
    with pytest.raises(DataError) as caught:
        CheckpointStore(made[1]).load(made[0].id)
    text = str(caught.value)
    assert text.startswith(str(file_of(made)))
    assert "\n" not in text
    return text.removeprefix(f"{file_of(made)}: ")


def test_what_is_loaded_is_what_was_saved(made):
    checkpoint, cache = made
    loaded = CheckpointStore(cache).load(checkpoint.id)
    assert loaded == checkpoint
    assert loaded is not checkpoint
    assert CheckpointStore(cache).items(loaded)[0].id == "t1"


def test_calls_and_results_and_missing_pictures_come_back(tmp_path):
    base = play("S1-d0", tmp_path / "checkpoint")
    more = (
        Spoken("x", "assistant", "", calls=(ToolCall("c\ud800"[:1], "read_file", '{"path": "é\u2028"}'),)),
        Spoken("y", "tool", "[é]\ntext", call_id="c", kind="tool"),
        Spoken("z", "user", "gone", (Image("", "gone.png", missing="absent", caption="a thing"),)),
    )
    checkpoint = replace(
        base, transcript=base.transcript + more, context=(*base.context, 6, 7, 8), captured=(0,), writer="w"
    )
    CheckpointStore(tmp_path).save(checkpoint)
    assert CheckpointStore(tmp_path).load(checkpoint.id) == checkpoint


CHANGES = {
    "text": lambda c: {"transcript": (replace(c.transcript[0], text="Other."), *c.transcript[1:])},
    "role": lambda c: {"transcript": (replace(c.transcript[0], role="assistant"), *c.transcript[1:])},
    "picture": lambda c: {
        "transcript": tuple(
            replace(each, images=tuple(replace(i, sha256="0" * 64) for i in each.images)) for each in c.transcript
        )
    },
    "context": lambda c: {"context": c.context[1:]},
    "persona": lambda c: {"persona": "Another."},
    "file content": lambda c: {"workspace": {**c.workspace, "notes/start.md": Stored("0" * 64, 3)}},
    "file added": lambda c: {"workspace": {**c.workspace, "x": Stored("0" * 64, 3)}},
    "compactions": lambda c: {"compactions": c.compactions + 1},
    "step": lambda c: {"step": c.step + 1},
    "recall": lambda c: {"recall": "norecall"},
    "summariser": lambda c: {"summariser": "someone"},
}
SAME = {
    "history": "h2",
    "length": "paper",
    "state": "S1-d1k",
    "captured": (0,),
    "depth": 1,
    "active": 1,
    "tokenizer": "other",
    "summary": "cited",
    "writer": "w",
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_id_depends_on_what_a_model_and_its_tools_meet(tmp_path, name):
    found = play("S1-d0", tmp_path)
    assert replace(found, **CHANGES[name](found)).id != found.id


@pytest.mark.parametrize("name", SAME)
def test_and_on_no_name_and_no_measure(tmp_path, name):
    found = play("S1-d0", tmp_path)
    assert replace(found, **{name: SAME[name]}).id == found.id


def test_every_field_is_one_or_the_other(tmp_path):
    covered = {*SAME, *CHANGES[next(iter(CHANGES))](play("S1-d0", tmp_path)), "id"}
    covered |= {key for change in CHANGES.values() for key in change(play("S1-d0", tmp_path))}
    assert covered == {each.name for each in fields(Checkpoint)}


def test_ids_of_turns_and_paths_of_pictures_are_not_content(tmp_path):
    found = play("S1-d0", tmp_path)
    renamed = tuple(
        replace(each, id=f"x{each.id}", images=tuple(replace(i, path="x.png") for i in each.images))
        for each in found.transcript
    )
    assert replace(found, transcript=renamed).id == found.id


def test_a_folder_that_was_carried_elsewhere_restores_there(made, tmp_path):
    checkpoint, cache = made
    shutil.copytree(cache / "checkpoint", tmp_path / "there" / "checkpoint")
    shutil.rmtree(cache)
    store = CheckpointStore(tmp_path / "there")
    loaded = store.load(checkpoint.id)
    assert loaded == checkpoint
    restored = store.restore(loaded)
    assert GOLD in restored.surface.call(tool_call("read_file", path=f"records/{CHART}_table.csv")).text
    assert store.image_bytes(TURNS[2].images[0])
    assert restored.workspace.read("memory/compaction-1.md").decode() == summing_up()


def test_a_checkpoint_is_found_by_the_beginning_of_its_id(made):
    checkpoint, cache = made
    store = CheckpointStore(cache)
    other = replace(checkpoint, step=99)
    store.save(other)
    assert list(store.ids()) == sorted([checkpoint.id, other.id])
    assert store.find(checkpoint.id[:12]) == checkpoint
    with pytest.raises(ConfigError, match=r"2 checkpoints begin with '' in .*: say more of the id"):
        store.find("")
    with pytest.raises(ConfigError, match="no checkpoint begins with 'zz' in "):
        store.find("zz")
    with pytest.raises(ConfigError, match="no checkpoint begins with 'a' in "):
        CheckpointStore(cache / "nowhere").find("a")


def test_saving_again_changes_nothing(made):
    before = (file_of(made).stat().st_mtime_ns, file_of(made).read_bytes())
    CheckpointStore(made[1]).save(replace(made[0], state="other"))
    assert (file_of(made).stat().st_mtime_ns, file_of(made).read_bytes()) == before


def test_a_file_that_cannot_be_read_is_replaced_by_one_that_can(made):
    file_of(made).write_text("{")
    CheckpointStore(made[1]).save(made[0])
    assert CheckpointStore(made[1]).load(made[0].id) == made[0]


def test_a_checkpoint_that_was_removed_is_built_again(made):
    file_of(made).unlink()
    assert build_one(made[1], Teller(summing_up), wanted("S2")) == made[0]
    assert file_of(made).exists()


# what is wrong with a file


def test_a_file_that_is_not_there_or_no_checkpoint(made):
    path = file_of(made)
    for content, words in (("{", "not a checkpoint: no JSON"), ("[1]", "a checkpoint of version None, this reads 1")):
        path.write_text(content)
        assert words in refused(made)
    path.write_bytes(b"\xff\xfe")
    assert refused(made) == "not a checkpoint: no JSON"
    path.unlink()
    assert refused(made) == "no such checkpoint"


def test_a_checkpoint_of_another_version(made):
    edit(made, lambda content: content.update(version=2))
    assert refused(made) == "version: a checkpoint of version 2, this reads 1"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["transcript"][0].__setitem__(2, "Something else."),
        lambda c: c.update(depth=c["depth"] + 1),
        lambda c: c.update(captured=[999]),
        lambda c: c["workspace"].pop("notes/start.md"),
        lambda c: c.pop("seal"),
    ],
    ids=["text", "depth", "captured", "file", "seal"],
)
def test_a_file_that_was_changed(made, change):
    edit(made, change)
    assert refused(made) == "seal: the file was changed after it was written"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(step=c["step"] + 1), "id: its content is not that of this id"),
        (lambda c: c.pop("summary"), "not a checkpoint: 'summary'"),
        (lambda c: c.update(context=[999]), "not a checkpoint: tuple index out of range"),
        (lambda c: c.update(workspace=[]), "not a checkpoint: 'list' object has no attribute 'items'"),
        (lambda c: c["transcript"][0].pop(), "not a checkpoint: not enough values to unpack"),
    ],
    ids=["step", "summary", "context", "workspace", "row"],
)
def test_a_file_that_was_changed_and_sealed_again(made, change, words):
    def sealed(content):
        change(content)
        content.pop("seal")
        content["seal"] = module.sha256_json(content)

    edit(made, sealed)
    assert refused(made).startswith(words)


def test_another_file_under_the_name_of_this_one(made):
    other = replace(made[0], step=99)
    CheckpointStore(made[1]).save(other)
    shutil.copy(made[1] / "checkpoint" / f"{other.id}.json", file_of(made))
    assert refused(made) == "id: its content is not that of this id"


@pytest.mark.parametrize("which", ["file", "picture"])
def test_a_blob_that_is_missing(made, which):
    checkpoint, cache = made
    path = f"records/{CHART}_table.csv"
    digest = checkpoint.workspace[path].sha256 if which == "file" else TURNS[2].images[0].sha256
    (cache / "checkpoint" / "blobs" / digest[:2] / digest).unlink()
    assert f"its blob {digest[:12]} is missing" in refused(made)
    if which == "file":
        assert refused(made).startswith(f"item {path}: ")


def test_a_blob_that_was_changed(made):
    checkpoint, cache = made
    digest = checkpoint.workspace["notes/start.md"].sha256
    (cache / "checkpoint" / "blobs" / digest[:2] / digest).write_text("changed")
    store = CheckpointStore(cache)
    with pytest.raises(DataError, match=f"{digest}: the blob is not what its name says"):
        store.restore(store.load(checkpoint.id))


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "checkpoint").write_text("in the way")
    with pytest.raises(ConfigError, match=r"checkpoints .* cannot be written: "):
        CheckpointStore(tmp_path).save(play("S1-d0", tmp_path / "x"))


# restoring


class Poisoned(tuple):
    """A transcript that nobody may look at."""

    def _refuse(self, *a):
        raise AssertionError("the transcript was looked at")

    __iter__ = __getitem__ = __len__ = __contains__ = _refuse


def test_restoring_touches_neither_the_disk_nor_the_transcript(made, monkeypatch):
    checkpoint, cache = made
    store = CheckpointStore(cache)
    loaded = store.load(checkpoint.id)
    store.restore(loaded)
    object.__setattr__(loaded, "transcript", Poisoned())
    object.__setattr__(loaded, "context", Poisoned())

    def disk(*a, **k):
        raise AssertionError("the disk was read")

    with monkeypatch.context() as poisoned:
        for name in ("open", "read_bytes", "read_text", "stat", "exists"):
            poisoned.setattr(Path, name, disk)
        poisoned.setattr(os, "open", disk)
        copies = [store.restore(loaded) for _ in range(800)]
        with pytest.raises(AssertionError, match="disk was read"):  # the poison works
            copies[0].workspace.read("notes/start.md")
    assert len({id(each.workspace) for each in copies}) == 800
    assert len({id(each.surface) for each in copies}) == 1
    with pytest.raises(AssertionError, match="looked at"):
        list(loaded.transcript)


def test_a_checkpoint_is_read_once_and_its_texts_are_indexed_once(made, monkeypatch):
    checkpoint, cache = made
    reads = []
    monkeypatch.setattr(
        Workspace, "read", lambda self, path, real=Workspace.read: reads.append(path) or real(self, path)
    )
    store = CheckpointStore(cache)
    assert store.load(checkpoint.id) is store.load(checkpoint.id)
    for _ in range(5):
        store.restore(store.load(checkpoint.id))
    texts = [path for path, file in checkpoint.workspace.items() if file.image is None]
    assert sorted(reads) == sorted(texts)


def test_a_name_of_the_state_makes_no_other_base(made):
    checkpoint, cache = made
    store = CheckpointStore(cache)
    first, second = store.restore(checkpoint), store.restore(replace(checkpoint, state="S2-d1k"))
    assert first.surface is second.surface
    assert (first.checkpoint.state, second.checkpoint.state) == ("S2", "S2-d1k")
