"""Decoys: photographs of other questions, and every rule about which of them will do."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.model import Image, Item, Outline, Question
from benchsuite.corpus.store import IndexedCorpus, index_corpus, open_corpus
from benchsuite.delivery.decoys import (
    HASH_VERSION,
    LEAST_SIDE,
    NEAR,
    CorpusDecoys,
    PictureHashes,
    is_near,
    perceptual_hash,
)
from benchsuite.delivery.images import decode
from benchsuite.errors import DataError

LENGTH = "1x"
COUNT = 8


def drawing(number: int, size: tuple[int, int] = (96, 80)) -> PillowImage.Image:
    """Grey patches that no two numbers share: hashes of two differ in about half of their bits."""
    draw = random.Random(number)
    patches = PillowImage.frombytes("L", (24, 20), draw.randbytes(480))
    return patches.resize(size, PillowImage.Resampling.BICUBIC)


def encoded(picture: PillowImage.Image, kind: str = "PNG", **how: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **how)
    return buffer.getvalue()


def animation() -> bytes:
    return encoded(drawing(70), "GIF", save_all=True, append_images=[drawing(71)])


@dataclass(frozen=True)
class Asked:
    """A question whose first message is its evidence; ``others`` are images of a later message."""

    name: str
    images: tuple[bytes | str, ...] = ()  # a string is a path where no file is
    others: tuple[bytes | str, ...] = ()
    gold: str = ""
    text: str = ""
    cluster: str = ""


def plain_carriers(count: int, start: int = 10) -> list[Asked]:
    return [Asked(f"plain{number}", (encoded(drawing(number)),)) for number in range(start, start + count)]


@dataclass
class Bench:
    """Writes questions as a MemLens corpus and draws for one of them; counts what is read and opened.

    Ids and paths can be renamed, texts and answers stay.
    """

    folder: Path
    reads: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def corpus(self, asked: Sequence[Asked], rename: Callable[[str], str] = str) -> IndexedCorpus:
        home = self.folder / f"corpus{len(list(self.folder.iterdir()))}"
        (home / "release_images").mkdir(parents=True)
        items = [self._item(home, each, rename) for each in asked]
        (home / f"dataset_{LENGTH}.json").write_text(json.dumps(items))
        labels = {rename(each.name): {"cluster": rename(each.cluster or each.name)} for each in asked}
        (home / "labels.json").write_text(json.dumps(labels))
        return self.watched(open_corpus(index_corpus(memlens_source(str(home)), self.folder / "cache")))

    def watched(self, corpus: IndexedCorpus) -> IndexedCorpus:
        bytes_of, history_of = corpus.image_bytes, corpus.history

        def image_bytes(image: Image) -> bytes:
            self.reads.append(image.path)
            return bytes_of(image)

        def history(history_id: str) -> Any:
            self.opened.append(history_id)
            return history_of(history_id)

        corpus.image_bytes, corpus.history = image_bytes, history  # type: ignore[method-assign]
        return corpus

    def draw(self, corpus: IndexedCorpus, count: int, seed: str = "5eed") -> list[Image]:
        """For the question that is in every corpus here."""
        outline = next(o for o in corpus.outline(LENGTH) if corpus.question(LENGTH, o.id).gold == ME.gold)
        return CorpusDecoys(corpus, LENGTH, self.folder / "hashes").draw(*opened(corpus, outline), count, seed)

    def drawn(self, *asked: Asked, count: int = 1) -> set[str]:
        """The digests that the first of these questions draws."""
        return {image.sha256 for image in self.draw(self.corpus(asked), count)}

    def _item(self, home: Path, asked: Asked, rename: Callable[[str], str]) -> dict[str, Any]:
        def shown(images: Iterable[bytes | str], place: str) -> list[str]:
            paths = []
            for number, image in enumerate(images):
                path = image if isinstance(image, str) else rename(f"{asked.name}-{place}{number}") + ".bin"
                if isinstance(image, bytes):
                    (home / "release_images" / path).write_bytes(image)
                paths.append(path)
            return paths

        first = {"content": asked.text or f"This is for {asked.gold or asked.name}.", "has_answer": True}
        later = {"content": "And so it went.", "has_answer": False}
        sessions = [
            [{"role": "user", **first, "images": shown(asked.images, "a")}],
            [{"role": "user", **later, "images": shown(asked.others, "b")}],
        ]
        return {
            "question_id": rename(asked.name),
            "question_type": "information_extraction",
            "question": f"What of {asked.name}?",
            "answer": asked.gold or f"gold {asked.name}",
            "haystack_session_ids": [rename(f"{asked.name}s1"), rename(f"{asked.name}s2")],
            "answer_session_ids": [rename(f"{asked.name}s1")],
            "haystack_sessions": sessions,
        }


def opened(corpus: IndexedCorpus, outline: Outline) -> tuple[Question, tuple[Item, ...]]:
    return corpus.question(LENGTH, outline.id), corpus.items(corpus.history(outline.history_id))


def digests(images: Iterable[Image]) -> list[str]:
    return [image.sha256 for image in images]


ME = Asked("me", (encoded(drawing(1)),), (encoded(drawing(2)),), gold="12.50 EUR", cluster="c1")
GOOD = Asked("good", (encoded(drawing(3)),))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexedCorpus]:
    corpus = open_corpus(index_corpus(memlens_source("memlens-mini"), tmp_path_factory.mktemp("cache")))
    yield corpus
    corpus.close()


@pytest.fixture(scope="module")
def pictures(mini: IndexedCorpus) -> dict[str, PillowImage.Image]:
    """Every picture of the shortest length, by digest."""
    items = [item for outline in mini.outline(LENGTH) for item in opened(mini, outline)[1]]
    images = {image.sha256: image for item in items for image in item.images}
    return {sha256: decode(mini.image_bytes(image), image) for sha256, image in images.items()}


def test_different_pictures_are_far_apart(pictures: dict[str, PillowImage.Image]) -> None:
    hashes = [perceptual_hash(picture) for picture in pictures.values()]
    near = [is_near(one, other) for place, one in enumerate(hashes) for other in hashes[:place]]
    assert len(near) > 10_000
    assert sum(near) / len(near) < 0.025


def test_the_same_picture_is_near_however_it_is_sent(pictures: dict[str, PillowImage.Image]) -> None:
    for picture in pictures.values():
        known, colours = perceptual_hash(picture), picture.convert("RGB")
        half = colours.resize((picture.width // 2, picture.height // 2), PillowImage.Resampling.LANCZOS)
        assert perceptual_hash(colours) == known
        for other in (half, PillowImage.open(io.BytesIO(encoded(colours, "JPEG", quality=80)))):
            assert is_near(perceptual_hash(other), known)


def test_near_is_a_number_of_bits() -> None:
    assert is_near(0, (1 << NEAR) - 1)
    assert not is_near(0, (1 << NEAR + 1) - 1)
    row = PillowImage.linear_gradient("L").rotate(90)  # darker from left to right, or the other way round
    assert {perceptual_hash(row), perceptual_hash(row.rotate(180))} == {0, (1 << 256) - 1}


def test_sixteen_bits_are_seen_as_they_are_sent() -> None:
    shallow = drawing(1)
    deep = PillowImage.new("I;16", shallow.size)
    deep.putdata([grey * 256 + 255 for grey in shallow.tobytes()])
    assert perceptual_hash(deep) == perceptual_hash(shallow)


@pytest.mark.parametrize("length", ["1x", "8x"])
def test_the_decoys_of_a_real_corpus_keep_every_rule(mini: IndexedCorpus, tmp_path: Path, length: str) -> None:
    decoys = CorpusDecoys(mini, length, tmp_path)
    hashes = PictureHashes(tmp_path)
    drawn = {}
    for outline in mini.outline(length):
        question, items = mini.question(length, outline.id), mini.items(mini.history(outline.history_id))
        found = decoys.draw(question, items, COUNT, outline.order)
        drawn[outline.id] = digests(found)
        own = {image.sha256: image for item in items for image in item.images}
        assert len(set(drawn[outline.id])) == COUNT
        assert not own.keys() & set(drawn[outline.id])
        marks = [hashes.of(image, mini.image_bytes) for image in found]
        for place, mark in enumerate(marks):
            others = [*marks[:place], *(hashes.of(image, mini.image_bytes) for image in own.values())]
            assert mark is not None
            assert all((mark ^ other).bit_count() > NEAR for other in others if other is not None)
        for kin in mini.outline(length):
            asked = mini.question(length, kin.id)
            if kin.cluster == outline.cluster or asked.gold == question.gold:
                turns = mini.items(mini.history(kin.history_id))
                gold = {i.sha256 for t in turns if t.id in asked.evidence.turn_ids for i in t.images}
                assert not gold & set(drawn[outline.id])
        assert digests(decoys.draw(question, items, 3, outline.order)) == drawn[outline.id][:3]
    assert len({tuple(each) for each in drawn.values()}) == len(drawn)
    assert len({sha256 for each in drawn.values() for sha256 in each}) > 4 * COUNT, "the same few again and again"


def test_another_process_draws_the_same_and_another_seed_does_not(mini: IndexedCorpus, tmp_path: Path) -> None:
    outline = mini.outline(LENGTH)[0]
    draws = [
        digests(CorpusDecoys(mini, LENGTH, tmp_path / folder).draw(*opened(mini, outline), COUNT, seed))
        for folder, seed in (("a", outline.order), ("a", outline.order), ("b", outline.order), ("b", "0" * 64))
    ]
    assert draws[0] == draws[1] == draws[2]
    assert set(draws[3]) != set(draws[0])


def test_threads_draw_what_one_thread_draws(mini: IndexedCorpus, tmp_path: Path) -> None:
    def all_of(folder: str, workers: int) -> list[list[str]]:
        decoys = CorpusDecoys(mini, LENGTH, tmp_path / folder)
        work = [(*opened(mini, outline), 4, outline.order) for outline in mini.outline(LENGTH)[:16]]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda each: digests(decoys.draw(*each)), work))

    assert all_of("many", 8) == all_of("one", 1)
    one, many = ((tmp_path / name / f"{HASH_VERSION}.jsonl").read_text() for name in ("one", "many"))
    assert sorted(one.splitlines()) == sorted(set(many.splitlines()))


def test_no_names_and_no_order_of_the_corpus_change_a_draw(bench: Bench) -> None:
    asked = [ME, *plain_carriers(4), Asked("rich", (), tuple(encoded(drawing(n)) for n in range(40, 46)))]
    plain = digests(bench.draw(bench.corpus(asked), 9))
    names = iter(random.Random(3).sample(range(10_000), 500))
    known: dict[str, str] = {}
    mixed = random.Random(4).sample(asked, len(asked))
    other = bench.corpus(mixed, lambda name: known.setdefault(name, f"n{next(names)}"))
    assert {outline.id for outline in other.outline(LENGTH)}.isdisjoint(each.name for each in asked)
    assert digests(bench.draw(other, 9)) == plain


def test_a_larger_count_draws_the_same_ones_first_down_to_the_last(bench: Bench) -> None:
    corpus = bench.corpus(
        [ME, *plain_carriers(6), Asked("rich", (), tuple(encoded(drawing(n)) for n in range(40, 43)))]
    )
    everything = digests(bench.draw(corpus, 9))
    assert [digests(bench.draw(corpus, count)) for count in range(10)] == [everything[:count] for count in range(10)]
    with pytest.raises(DataError, match="10 decoys are needed, other questions of length 1x have 9 to give"):
        bench.draw(corpus, 10)


def test_images_on_evidence_come_first_then_the_rest_of_the_histories(bench: Bench) -> None:
    carriers = [replace(each, others=(encoded(drawing(n)),)) for n, each in enumerate(plain_carriers(5), start=50)]
    corpus = bench.corpus([ME, *carriers])
    drawn = digests(bench.draw(corpus, 10))
    turns = [turn for o in corpus.outline(LENGTH) for turn in corpus.history(o.history_id).turns if o.id != "me"]
    assert set(drawn[:5]) == {i.sha256 for turn in turns if turn.id == "s1t1" for i in turn.images}
    assert set(drawn[5:]) == {i.sha256 for turn in turns if turn.id == "s2t1" for i in turn.images}


def test_only_as_many_histories_are_opened_as_are_needed(bench: Bench) -> None:
    corpus = bench.corpus([ME, *plain_carriers(40)])
    question, items = opened(corpus, corpus.outline(LENGTH)[0])
    bench.opened.clear()
    CorpusDecoys(corpus, LENGTH, bench.folder / "hashes").draw(question, items, 3, "5eed")
    assert len(bench.opened) == 3
    assert len(bench.reads) == 5, "two images of one's own, three decoys"


FAULTS = {
    "the same gold": Asked("bad", (encoded(drawing(4)),), gold="12.50 eur."),
    "the same cluster": Asked("bad", (encoded(drawing(4)),), cluster="c1"),
    "a text of the evidence": Asked("bad", (encoded(drawing(4)),), text="This is for 12.50 EUR. <image>"),
    "an image of the evidence": Asked("bad", (ME.images[0], encoded(drawing(4)))),
    "an image of the history": Asked("bad", (ME.others[0],)),
    "an image of the history, smaller": Asked("bad", (encoded(drawing(2, (60, 50))),)),
    "an image of the history as JPEG": Asked("bad", (encoded(drawing(2), "JPEG", quality=80),)),
    "a single pixel": Asked("bad", (encoded(PillowImage.new("L", (1, 1))),)),
    "a thin line": Asked("bad", (encoded(drawing(4, (400, LEAST_SIDE - 1))),)),
    "an animation": Asked("bad", (animation(),)),
    "a broken image": Asked("bad", (encoded(drawing(4))[:-900],)),
    "a missing image": Asked("bad", ("gone.png",)),
    "a remote image": Asked("bad", ("https://img.example.invalid/1.png",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_decoy(bench: Bench, fault: str) -> None:
    """With the good carrier beside it there is one decoy and no second."""
    corpus = bench.corpus([ME, FAULTS[fault], GOOD])
    assert digests(bench.draw(corpus, 1)) == digests(
        corpus.history(corpus.outline(LENGTH)[2].history_id).turns[0].images
    )
    with pytest.raises(DataError, match="2 decoys are needed, other questions of length 1x have 1 to give"):
        bench.draw(corpus, 2)


def test_each_of_these_carriers_would_do_without_its_fault(bench: Bench) -> None:
    sound = [Asked("bad", (encoded(drawing(4)),)), Asked("bad", (encoded(drawing(4, (400, LEAST_SIDE))),))]
    assert [len(bench.drawn(ME, each, GOOD, count=2)) for each in sound] == [2, 2]


@pytest.mark.parametrize("kin", [Asked("kin", GOOD.images, gold="12.50 EUR"), Asked("kin", GOOD.images, cluster="c1")])
def test_evidence_of_the_same_answer_or_cluster_is_no_decoy_in_other_hands_either(bench: Bench, kin: Asked) -> None:
    assert bench.drawn(ME, GOOD, *plain_carriers(1), count=2)
    with pytest.raises(DataError, match="have 1 to give"):
        bench.drawn(ME, kin, GOOD, *plain_carriers(1), count=2)


def test_questions_about_the_same_history_carry_nothing(bench: Bench) -> None:
    """Another question about it is known by its history, whatever its gold and cluster are."""
    corpus = bench.corpus([ME, GOOD])
    question, items = opened(corpus, corpus.outline(LENGTH)[0])
    twin = replace(question, gold="something else", cluster="c9")
    assert len(CorpusDecoys(corpus, LENGTH, bench.folder / "hashes").draw(twin, items, 1, "")) == 1
    with pytest.raises(DataError, match="have 1 to give"):
        CorpusDecoys(corpus, LENGTH, bench.folder / "hashes").draw(twin, items, 2, "")


def test_images_of_the_question_itself_are_no_decoys(bench: Bench) -> None:
    corpus = bench.corpus([ME, GOOD])
    question, items = opened(corpus, corpus.outline(LENGTH)[0])
    asked = replace(question, images=corpus.history(corpus.outline(LENGTH)[1].history_id).turns[0].images)
    decoys = CorpusDecoys(corpus, LENGTH, bench.folder / "hashes")
    assert len(decoys.draw(question, items, 1, "")) == 1
    with pytest.raises(DataError, match="have 0 to give"):
        decoys.draw(asked, items, 1, "")


def test_two_decoys_of_a_request_are_two_pictures(bench: Bench) -> None:
    again = [Asked("again", GOOD.images), Asked("jpeg", (encoded(drawing(3), "JPEG", quality=80),))]
    with pytest.raises(DataError, match="have 1 to give"):
        bench.drawn(ME, GOOD, *again, count=2)
    assert len(bench.drawn(ME, GOOD, *again, *plain_carriers(1), count=2)) == 2


def test_an_image_of_the_history_that_does_not_decode_is_left_out_by_its_digest(bench: Bench) -> None:
    broken = encoded(drawing(4))[:-900]
    with pytest.raises(DataError, match="have 1 to give"):
        bench.drawn(replace(ME, others=(broken, "gone.png", animation())), Asked("same", (broken,)), GOOD, count=2)


def test_too_few_is_one_line_that_names_the_question(bench: Bench) -> None:
    corpus = bench.corpus([ME])
    with pytest.raises(DataError) as caught:
        bench.draw(corpus, 2)
    assert str(caught.value) == (
        f"{corpus.name}: item me: images: 2 decoys are needed, other questions of length 1x have 0 to give"
    )
    assert bench.draw(corpus, 0) == []


def test_a_file_that_went_away_is_an_error_and_no_other_draw(bench: Bench) -> None:
    corpus = bench.corpus([ME, GOOD, *plain_carriers(3)])
    images = [
        image for o in corpus.outline(LENGTH) for turn in corpus.history(o.history_id).turns for image in turn.images
    ]
    good = next(image for image in images if image.path.startswith("good"))
    next(bench.folder.glob(f"corpus*/release_images/{good.path}")).unlink()
    with pytest.raises(DataError, match="went away"):
        bench.draw(corpus, 4)


def test_a_warm_run_reads_no_image(bench: Bench) -> None:
    corpus = bench.corpus([ME, *plain_carriers(5)])
    cold = digests(bench.draw(corpus, 4))
    assert len(bench.reads) == 6
    bench.reads.clear()
    assert digests(bench.draw(corpus, 4)) == cold
    assert bench.reads == []


def test_hashes_on_disk_that_were_cut_doubled_or_spoilt_do_no_harm(bench: Bench) -> None:
    corpus = bench.corpus([ME, *plain_carriers(5)])
    cold = digests(bench.draw(corpus, 4))
    file = bench.folder / "hashes" / f"{HASH_VERSION}.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    file.write_text("".join([lines[0], lines[0], "{}\n", lines[1][:70] + lines[2], *lines[3:5], lines[5][:-1]]))
    bench.reads.clear()
    assert digests(bench.draw(corpus, 4)) == cold
    assert len(bench.reads) == 3, "the two run together and the one cut"
    bench.reads.clear()
    assert digests(bench.draw(corpus, 4)) == cold
    assert bench.reads == []
    assert {tuple(json.loads(line)) for line in lines} <= {
        tuple(json.loads(line))
        for line in file.read_text().splitlines()
        if line.endswith('"]') and line.count("[") == 1
    }


def test_several_processes_share_the_hashes(bench: Bench) -> None:
    """Two that began with nothing keep both their finds."""
    corpus = bench.corpus([ME, *plain_carriers(2)])
    images = [
        image for o in corpus.outline(LENGTH) for turn in corpus.history(o.history_id).turns for image in turn.images
    ]
    first, second = PictureHashes(bench.folder / "hashes"), PictureHashes(bench.folder / "hashes")
    for hashes, some in ((first, images[:3]), (second, images[2:])):
        for image in some:
            hashes.of(image, corpus.image_bytes)
    first.save()
    second.save()
    bench.reads.clear()
    third = PictureHashes(bench.folder / "hashes")
    assert all(third.of(image, corpus.image_bytes) is not None for image in images)
    assert bench.reads == []
