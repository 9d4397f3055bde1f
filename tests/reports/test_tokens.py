"""Token counts: of requests from the call log and the answer cache, of histories from an indexed corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.model import plain_text
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.errors import ConfigError, DataError
from benchsuite.models.cache import AnswerStore
from benchsuite.models.tokenizer import image_tokens, load_tokenizer
from benchsuite.models.wire import Message, Part, Request, WireImage, sha256_text, skeleton
from benchsuite_reports.arms import DELIVERMEM, DIRECT
from benchsuite_reports.table import FullContext, TokenCounts
from benchsuite_reports.tokens import count_tokens, read_tokens, write_tokens

TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"


@pytest.fixture
def words(tmp_path):
    """A tokenizer folder of one token a word or mark, so that counts can be made by hand."""
    folder = tmp_path / "one-a-word"
    folder.mkdir()
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def request(*texts):
    image = WireImage("ff" * 32, "ee" * 32, "image/png", 64, 64)
    parts = [*(Part("text", text, item="t1") for text in texts), Part("image", image=image, item="t1")]
    return Request("m", (Message("system", (Part("instruction", "Answer now"),)), Message("user", tuple(parts))), {})


@pytest.fixture
def run(tmp_path):
    """A run's folder and an answer cache's; ``log`` records a call as an engine does."""
    folder, cache = tmp_path / "run", tmp_path / "cache"
    (folder / "calls").mkdir(parents=True)
    store = AnswerStore.create(cache)

    class Run:
        path = folder

        def log(self, cell, sent, role="answer", keep=True, worker="main"):
            with (folder / "calls" / f"{worker}.jsonl").open("a") as file:
                file.write(json.dumps({"cell": cell, "role": role, **skeleton("k", sent)}) + "\n")
            texts = [part.text for message in sent.messages for part in message.parts if part.image is None]
            if keep:
                store.put_parts({sha256_text(text): text.encode() for text in texts})

        def count(self, rows, corpora=None, tokenizer=None):
            return count_tokens(folder, rows, cache, corpora or {}, tokenizer)

    yield Run()
    store.close()


def test_the_text_of_the_answering_request_is_counted_and_images_are_not(row, run, words):
    rows = [row("q0", DELIVERMEM, 1.0), row("q1", DELIVERMEM, 1.0)]
    run.log(rows[0]["cell"], request("one two three four", "five"))
    run.log(rows[0]["cell"], request("what the judge reads", "and more"), role="judge")
    run.log(rows[1]["cell"], request("one two three four"), worker="gw0")
    run.log("memlens:other", request("no row of this table"))
    counts = run.count(rows, tokenizer=words)
    assert counts.tokenizer == "one-a-word"
    assert counts.delivered == {rows[0]["cell"]: 7, rows[1]["cell"]: 6}


def test_the_last_request_of_a_cell_counts_and_an_error_has_none(row, run, words):
    rows = [row("q0", DELIVERMEM, 1.0), row("q1", DELIVERMEM, "error")]
    run.log(rows[0]["cell"], request("one two three"))
    run.log(rows[0]["cell"], request("one"))
    run.log(rows[1]["cell"], request("one two three"))
    assert run.count(rows, tokenizer=words).delivered == {rows[0]["cell"]: 3}


def test_a_request_with_the_whole_history_is_not_counted_twice(row, run, words):
    direct = row("q0", DIRECT, 1.0)
    run.log(direct["cell"], request("one two three"))
    assert run.count([direct], tokenizer=words).delivered == {}


def test_a_cell_with_a_text_that_was_not_kept_is_not_counted(row, run, words):
    rows = [row("q0", DELIVERMEM, 1.0), row("q1", DELIVERMEM, 1.0)]
    run.log(rows[0]["cell"], request("kept"))
    run.log(rows[1]["cell"], request("lost"), keep=False)
    assert run.count(rows, tokenizer=words).delivered == {rows[0]["cell"]: 3}


def test_the_whole_history_is_counted_as_it_stands(row, run, tmp_path, words):
    corpus = open_corpus(index_corpus(memlens_source(str(TINY)), tmp_path / "corpora"))
    outlines = corpus.outline("32k")
    rows = [row(each.id, DELIVERMEM, 1.0, corpus=corpus.digest) for each in outlines]
    counts = run.count(rows, {corpus.digest: corpus}, words)
    assert counts.full.keys() == {(corpus.digest, "32k", each.id) for each in outlines}
    _, count = load_tokenizer(words)
    for outline in outlines:
        question = corpus.question("32k", outline.id)
        turns = corpus.history(question.history_id).turns
        images = [image for turn in turns for image in turn.images]
        expected = FullContext(
            text=sum(count([*(plain_text(turn.text) for turn in turns), question.text])),
            images=sum(image_tokens(image.width, image.height, 768) for image in images if not image.missing),
            missing=sum(bool(image.missing) for image in images),
        )
        assert counts.full[corpus.digest, "32k", outline.id] == expected
    assert any(each.missing for each in counts.full.values())
    assert any(each.images for each in counts.full.values())
    corpus.close()


def test_the_bundled_tokenizer_counts_word_pieces_without_a_limit():
    name, count = load_tokenizer()
    assert name == "all-MiniLM-L6-v2"
    assert count(["hello world", "", "a " * 600]) == [2, 0, 600]


def test_image_tokens_by_hand():
    assert image_tokens(32, 32) == 1
    assert image_tokens(33, 64) == 4
    assert image_tokens(1536, 1024) == 48 * 32
    assert image_tokens(1536, 1024, 768) == 24 * 16
    assert image_tokens(640, 480, 768) == 20 * 15
    assert image_tokens(100_000, 10, 768) == 24


def test_counts_are_kept_with_the_run(tmp_path):
    counts = TokenCounts(
        "t", {"memlens:b": 3, "memlens:a": 2}, {("d", "1x", "q1"): FullContext(10, 20, 1), ("d", "1x", "q0"): FULL}
    )
    assert read_tokens(tmp_path) is None
    write_tokens(tmp_path, counts)
    assert read_tokens(tmp_path) == counts


FULL = FullContext(1, 2)


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 2}', '{"schema": 1}', '{"schema": 1, "full": [[1]]}'])
def test_a_file_that_is_no_counts_is_named(tmp_path, content):
    (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(DataError, match=r"tokens\.json: no token counts") as caught:
        read_tokens(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokenizer") as caught:
        load_tokenizer(tmp_path)
    assert "\n" not in str(caught.value)


def test_without_an_answer_cache_nothing_is_counted(row, tmp_path):
    with pytest.raises(ConfigError, match="there is no answer cache"):
        count_tokens(tmp_path, [row("q0", DELIVERMEM, 1.0)], tmp_path, {})


def test_a_broken_call_log_is_named_by_line(row, run, words):
    cell = row("q0", DELIVERMEM, 1.0)
    run.log(cell["cell"], request("one"))
    with (run.path / "calls" / "main.jsonl").open("a") as file:
        file.write('{"role": "answer"}\n')
    with pytest.raises(DataError, match=r"main\.jsonl:2: no call"):
        run.count([cell], tokenizer=words)
