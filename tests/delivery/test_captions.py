"""Captions come from the corpus with the place where an image is shown, and change no content id."""

from __future__ import annotations

import json

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.errors import DataError


@pytest.fixture
def corpus(tmp_path):
    """An indexed corpus of one question whose history shows one image twice, under the given captions."""
    folder = tmp_path / "corpus" / "release_images"
    folder.mkdir(parents=True)
    PillowImage.new("RGB", (40, 30), "teal").save(folder / "a.png")

    def make(*captions):
        turns = [
            {"role": "user", "content": f"{n} <image>", "images": [{"file": "a.png", **caption}]}
            for n, caption in enumerate(captions)
        ]
        item = {
            "question_id": "q1",
            "question_type": "information_extraction",
            "question": "What?",
            "answer": "teal",
            "haystack_sessions": [turns],
            "haystack_session_ids": ["x"],
            "answer_session_ids": ["x"],
        }
        (tmp_path / "corpus" / "dataset_1k.json").write_text(json.dumps([item]))
        found = open_corpus(index_corpus(memlens_source(str(tmp_path / "corpus")), tmp_path / "cache"))
        return found, found.history(found.question("1k", "q1").history_id)

    return make


def test_each_place_keeps_its_own_caption(corpus):
    found, history = corpus({"blip_caption": " a boat "}, {"blip_caption": None}, {"blip_caption": "the sea"}, {})
    images = [image for item in found.items(history) for image in item.images]
    assert [image.caption for image in images] == ["a boat", "", "the sea", ""]
    assert len({image.sha256 for image in images}) == 1


def test_a_caption_changes_neither_history_nor_order(corpus):
    found, history = corpus({"blip_caption": "a boat"})
    order = found.outline("1k")[0].order
    other, same = corpus({"blip_caption": "a cat"})
    assert history.turns[0].images[0].caption != same.turns[0].images[0].caption
    assert (history.id, order) == (same.id, other.outline("1k")[0].order)


def test_a_caption_that_is_no_text_is_refused_by_field(corpus):
    with pytest.raises(DataError, match=r"haystack_sessions\[0\]\[0\].images\[0\].blip_caption: a string is needed"):
        corpus({"blip_caption": ["a boat"]})
