"""The indexed corpus: written once, found again, renamed without a change, and safe under faults."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.codec import decode_history, decode_question, encode_history, encode_question, history_of
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import MemLensSource, memlens_source
from benchsuite.corpus.model import Evidence, Image, Outline, Question, Session, Turn
from benchsuite.corpus.store import IndexedCorpus, index_corpus, open_corpus
from benchsuite.errors import ConfigError, DataError

TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A copy of the tiny corpus that a test may change."""
    return Path(shutil.copytree(TINY, tmp_path / "tiny"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def indexed(path: Path, cache: Path, split: str = "") -> IndexedCorpus:
    return open_corpus(index_corpus(MemLensSource(path, split=split), cache))


def test_an_indexed_corpus_gives_back_what_the_source_said(cache: Path) -> None:
    source = MemLensSource(TINY)
    corpus = indexed(TINY, cache)
    assert (corpus.suite, corpus.name, corpus.bundled) == ("memlens", "memlens-tiny", False)
    assert corpus.lengths == ("32k", "wrapped")
    for length in corpus.lengths:
        records = list(source.records(length, ImageIndex(source.image_root)))
        assert [outline.id for outline in corpus.outline(length)] == [r.question.id for r in records]
        for record, outline in zip(records, corpus.outline(length), strict=True):
            question = corpus.question(length, outline.id)
            assert question == Question(**{**_fields(record.question), "cluster": outline.cluster})
            assert corpus.history(question.history_id) == record.history
            assert (outline.type, outline.answerable) == (question.type, question.answerable)
    corpus.close()


def _fields(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__slots__}


def test_items_are_the_turns_that_say_something(cache: Path) -> None:
    corpus = indexed(TINY, cache)
    history = corpus.history(corpus.outline("32k")[0].history_id)
    items = corpus.items(history)
    assert [item.id for item in items] == ["s1t1", "s1t2", "s2t1", "s2t3", "s3t1", "s3t2", "s3t3", "s3t4"]
    assert "s2t2" in {turn.id for turn in history.turns}
    assert {item.role for item in items} == {"user", "assistant"}
    assert items[0].date == "2024/01/15 (Mon) 09:30"
    assert items[0].turn_ids == ("s1t1",)


def test_histories_are_stored_once(cache: Path) -> None:
    folder = index_corpus(MemLensSource(TINY), cache)
    assert len((folder / "histories.jsonl").read_bytes().splitlines()) == 1


def test_the_second_call_reads_nothing_again(tiny: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = index_corpus(MemLensSource(tiny), cache)

    def refuse(*_: object) -> Iterator[None]:
        raise AssertionError("read again")

    monkeypatch.setattr(MemLensSource, "records", refuse)
    assert index_corpus(MemLensSource(tiny), cache) == first


def _touch_image(tiny: Path) -> None:
    PillowImage.new("RGB", (8, 8), "red").save(tiny / "release_images" / "needle_images" / "n2.png")


def _supply_absent(tiny: Path) -> None:
    (tiny / "release_images" / "nope").mkdir()
    shutil.copy(TINY / "release_images/needle_images/n1.jpg", tiny / "release_images/nope/absent.jpg")


def _edit_dataset(tiny: Path) -> None:
    file = tiny / "dataset_32k.json"
    file.write_text(file.read_text().replace("SCHOOL", "SCHOOLS"))


def _add_labels(tiny: Path) -> None:
    ids = [item["question_id"] for item in json.loads((tiny / "dataset_32k.json").read_text())]
    (tiny / "labels.json").write_text(json.dumps({i: {"stratum": "s"} for i in ids}))


def _add_length(tiny: Path) -> None:
    shutil.copy(tiny / "dataset_32k.json", tiny / "dataset_64k.json")


@pytest.mark.parametrize("change", [_touch_image, _supply_absent, _edit_dataset, _add_labels, _add_length])
def test_a_change_makes_a_new_digest(tiny: Path, cache: Path, change: Any) -> None:
    before = indexed(tiny, cache).digest
    change(tiny)
    after = indexed(tiny, cache)
    assert after.digest != before
    assert index_corpus(MemLensSource(tiny), cache).name == after.digest


def test_a_copy_of_a_corpus_has_its_digest_and_its_own_images(tiny: Path, cache: Path) -> None:
    first, second = indexed(TINY, cache), indexed(tiny, cache)
    assert first.digest == second.digest
    assert second.name == "tiny"
    (tiny / "release_images/needle_images/n1.jpg").unlink()
    image = second.items(second.history(second.outline("32k")[0].history_id))[0].images[0]
    assert len(first.image_bytes(image)) == image.size
    with pytest.raises(DataError, match="went away"):
        second.image_bytes(image)


def test_changed_image_bytes_are_an_error(tiny: Path, cache: Path) -> None:
    corpus = indexed(tiny, cache)
    image = corpus.items(corpus.history(corpus.outline("32k")[0].history_id))[0].images[0]
    (tiny / "release_images" / image.path).write_bytes(b"cut")
    with pytest.raises(DataError, match=r"n1\.jpg: the image changed"):
        corpus.image_bytes(image)


def test_renaming_every_id_and_path_changes_no_content(tiny: Path, cache: Path) -> None:
    before = indexed(TINY, cache)
    chance = random.Random(7)
    images = tiny / "release_images"
    moved = {}
    for path in sorted(images.rglob("*.*")):
        new = images / f"{chance.getrandbits(48):012x}{path.suffix}"
        moved[str(path.relative_to(images))] = new.name
        path.rename(new)
    moved["nope/absent.jpg"] = "gone.jpg"
    for file in tiny.glob("dataset_*.json"):
        text = file.read_text()
        for old, new_name in moved.items():
            text = text.replace(old, new_name)
        for old in ("s1", "s2", "s3"):
            text = text.replace(f'"{old}"', f'"sess_{chance.getrandbits(32):08x}"')
        for number in range(1, 10):
            text = text.replace(f'00000{number}"', f'{chance.getrandbits(32):08x}"')
        file.write_text(text)
    after = indexed(tiny, cache)
    assert after.digest != before.digest
    for length in before.lengths:
        old_rows, new_rows = before.outline(length), after.outline(length)
        assert not {row.id for row in old_rows} & {row.id for row in new_rows}
        assert [(r.history_id, r.order) for r in old_rows] == [(r.history_id, r.order) for r in new_rows]
        for old_row, new_row in zip(old_rows, new_rows, strict=True):
            old_question, new_question = (c.question(length, r.id) for c, r in ((before, old_row), (after, new_row)))
            assert old_question.evidence == new_question.evidence


def test_content_ids_depend_on_content() -> None:
    def history(**changes: Any) -> str:
        turn = {"id": "t", "role": "user", "text": "x", "images": (Image("aa", "p.png"),), "date": "d"}
        return history_of([Session("s", "d", (Turn(**{**turn, **changes}),))]).id

    same = history()
    assert history(id="other", images=(Image("aa", "q.png"),)) == same
    ids = {
        same,
        history(text="y"),
        history(role="assistant"),
        history(images=()),
        history(images=(Image("bb", "p.png"),)),
        history(images=(Image("", "p.png", missing="absent"),)),
        history(images=(Image("", "p.png", missing="remote"),)),
    }
    assert len(ids) == 7


def test_json_forms_round_trip() -> None:
    image = Image("ab" * 32, "n/é.png", "image/png", 3, 4, 5)
    history = history_of(
        [Session("s1", "d", (Turn("s1t1", "user", "é <image>\n", (image,), "d"),)), Session("s2", "", ())]
    )
    assert decode_history(encode_history(history)) == history
    question = Question(
        "q",
        "t",
        "x?",
        "é",
        "d",
        history.id,
        False,
        Evidence(("a",), ("b",), ("c",), ("d",)),
        (image,),
        ("A", "B"),
        labels=("l",),
    )
    assert decode_question(encode_question(question)) == question


def _write_labelled(folder: Path) -> None:
    """Five questions: 0-1 and 1-2 share sessions, 3 shares with a refusal only, 4 is labelled."""
    answers = [["a"], ["a", "b"], ["b"], ["c"], ["c"], ["a"]]
    items = [
        {
            "question_id": f"q{n}",
            "question_type": "answer_refusal" if n == 4 else "knowledge_update",
            "question": "?x",
            "answer": "y",
            "haystack_session_ids": ["a", "b", "c"],
            "haystack_sessions": [[{"role": "user", "content": "1"}], [], []],
            "answer_session_ids": names,
        }
        for n, names in enumerate(answers)
    ]
    (folder / "dataset_1x.json").write_text(json.dumps(items))
    labels = {f"q{n}": {"split": "eval"} for n in range(6)}
    labels["q5"]["cluster"] = "mine"
    (folder / "labels.json").write_text(json.dumps(labels))


def test_clusters_join_questions_that_share_sessions(tmp_path: Path, cache: Path) -> None:
    _write_labelled(tmp_path)
    corpus = indexed(tmp_path, cache)
    assert [row.cluster for row in corpus.outline("1x")] == ["q0", "q0", "q0", "q3", "q4", "mine"]


def test_splits_are_corpora_of_their_own(tmp_path: Path, cache: Path) -> None:
    _write_labelled(tmp_path)
    everything, evaluated = indexed(tmp_path, cache, "all"), indexed(tmp_path, cache)
    assert everything.digest != evaluated.digest
    assert everything.name == f"{tmp_path.name}#all"
    assert indexed(tmp_path, cache, "eval").digest == evaluated.digest


def test_unknown_names_are_refused(cache: Path) -> None:
    corpus = indexed(TINY, cache)
    with pytest.raises(ConfigError, match="no length '9k'; there is: 32k, wrapped"):
        corpus.outline("9k")
    with pytest.raises(ConfigError, match="no question 'zz'"):
        corpus.question("32k", "zz")
    with pytest.raises(ConfigError, match="no history 'zz'"):
        corpus.history("zz")


def test_a_fault_leaves_no_index(tiny: Path, cache: Path) -> None:
    (tiny / "dataset_wrapped.json").write_text('{"data": [')
    with pytest.raises(DataError, match=r"dataset_wrapped\.json: truncated JSON"):
        index_corpus(MemLensSource(tiny), cache)
    assert sorted(path.name for path in (cache / "corpus").iterdir()) == [".lock", "sources"]
    assert not list((cache / "corpus" / "sources").iterdir())


def test_an_empty_corpus_is_refused(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "dataset_1x.json").write_text("[]")
    with pytest.raises(DataError, match="no questions"):
        index_corpus(MemLensSource(tmp_path), cache)


def test_what_a_killed_run_left_is_cleared(tiny: Path, cache: Path) -> None:
    (cache / "corpus" / "new-left").mkdir(parents=True)
    folder = index_corpus(MemLensSource(tiny), cache)
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted([".lock", "sources", folder.name])


def test_a_removed_or_broken_index_is_made_again_or_named(tiny: Path, cache: Path) -> None:
    folder = index_corpus(MemLensSource(tiny), cache)
    shutil.rmtree(folder)
    assert index_corpus(MemLensSource(tiny), cache) == folder
    for memo in (cache / "corpus" / "sources").iterdir():
        memo.write_text("{")
    assert index_corpus(MemLensSource(tiny), cache) == folder
    (folder / "histories.json").unlink()
    with pytest.raises(ConfigError, match="not a corpus index"):
        open_corpus(folder)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        index_corpus(MemLensSource(TINY), tmp_path / "file")


def test_processes_index_together(tiny: Path, cache: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from benchsuite.corpus.memlens import memlens_source\n"
        "from benchsuite.corpus.store import index_corpus\n"
        "print(index_corpus(memlens_source(sys.argv[1]), Path(sys.argv[2])))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, str(tiny), str(cache)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) for _ in range(3)
    ]
    results = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], results
    assert len({out for out, _ in results}) == 1


def test_threads_read_one_corpus(cache: Path) -> None:
    corpus = indexed(TINY, cache)
    outline = tuple(corpus.outline("32k")) * 20

    def read(row: Outline) -> bool:
        question = corpus.question("32k", row.id)
        return question.id == row.id and corpus.history(row.history_id).id == row.history_id

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, outline))


def test_indexing_holds_one_history_at_a_time(tmp_path: Path, cache: Path) -> None:
    """100 histories of 150 kB (15 MB) within 8 MB."""
    with (tmp_path / "dataset_1x.json").open("w") as handle:
        for number in range(100):
            turn = {"role": "user", "content": f"question {number} " + "some words of a message " * 20}
            item = {
                "question_id": f"q{number}",
                "question_type": "knowledge_update",
                "question": "?x",
                "answer": number,
                "haystack_session_ids": ["a"],
                "haystack_sessions": [[turn] * 300],
                "answer_session_ids": [],
            }
            handle.write(("[" if not number else ",") + json.dumps(item))
        handle.write("]")
    tracemalloc.start()
    folder = index_corpus(memlens_source(str(tmp_path)), cache)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (folder / "histories.jsonl").stat().st_size > 14_000_000
    assert peak < 8_000_000
