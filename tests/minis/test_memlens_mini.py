"""The committed corpus: what it promises of itself."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from benchsuite.corpus import minis
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.minis import audit
from benchsuite.corpus.minis.memlens_gen.content_dev import DEV
from benchsuite.corpus.minis.memlens_gen.content_eval import EVAL
from benchsuite.corpus.minis.memlens_gen.write import image_names

ROOT = Path(minis.__file__).parent / "memlens_mini"


@pytest.fixture(scope="module")
def folder() -> audit.Folder:
    return audit.read_folder(ROOT)


def split_of(folder: audit.Folder, split: str, length: str = "1x") -> list[dict]:
    return [item for item in folder.lengths[length] if folder.labels[item["question_id"]]["split"] == split]


def test_every_audit_finds_nothing(folder):
    assert audit.audit(folder) == []


def test_the_shortest_length_is_frozen(folder):
    """Its figures are compared over time, so neither it nor an image of it may change."""
    digests = {name: sha256((ROOT / name).read_bytes()).hexdigest() for name in ("dataset_1x.json", "labels.json")}
    assert digests == {
        "dataset_1x.json": "3cf27915e194141727047a5830b2554e8c75958a4b92303944ce1336d222839c",
        "labels.json": "66430cb7c9a81455597897e0dd87b81c2b1da94a04e6752bc3bfd4fe453b40e2",
    }
    images = sha256()
    for file in sorted({file for item in folder.lengths["1x"] for file in audit.image_files(item)}):
        images.update(sha256((ROOT / "release_images" / file).read_bytes()).digest())
    assert images.hexdigest() == "65f689d88866473ac3b32b49ac57318621560d2c3521784325d6af5f7c3b92b0"


def test_there_are_four_lengths_of_the_same_questions(folder):
    assert list(folder.lengths) == ["1x", "2x", "4x", "8x"]
    source = memlens_source("memlens-mini#all")
    assert source.lengths == ("1x", "2x", "4x", "8x")
    asked = {}
    for length in source.lengths:
        records = list(source.records(length, ImageIndex(source.image_root)))
        asked[length] = [
            (r.question.id, r.question.text, r.question.gold, r.question.labels, r.question.split, r.question.cluster)
            for r in records
        ]
        for record in records:
            gold = {turn.id: (turn.text, turn.date, turn.images) for turn in record.history.turns}
            asked[length].append([gold[turn_id] for turn_id in record.question.evidence.turn_ids])
    assert asked["1x"] == asked["2x"] == asked["4x"] == asked["8x"]
    assert sum(labels == ("paraphrase",) for _, _, _, labels, _, _ in asked["8x"][:102]) >= 10


def test_longer_histories_share_what_they_add(folder):
    for split in ("eval", "dev"):
        known = {file for item in split_of(folder, split) for file in audit.image_files(item)}
        longest = {item["haystack_session_ids"][0]: item for item in split_of(folder, split, "8x")}
        uses = Counter(file for item in longest.values() for file in audit.image_files(item) - known)
        assert len(uses) >= 60
        assert min(uses.values()) >= 2
        assert all(file.startswith("haystack_images/") for file in uses)


def test_longer_histories_have_more_that_looks_like_the_asked_thing(folder):
    """Images of the asked template and messages with a figure, not only small talk."""
    for split in ("eval", "dev"):
        alike, told = {}, {}
        for length in folder.lengths:
            items = split_of(folder, split, length)
            alike[length] = told[length] = 0
            for item in items:
                template = folder.labels[item["question_id"]]["template"]
                alike[length] += sum(folder.drawn[file]["template"] == template for file in audit.image_files(item))
                told[length] += sum(
                    bool(audit.figures(turn["content"])) for session in item["haystack_sessions"] for turn in session
                )
        for count in (alike, told):
            assert count["1x"] < count["2x"] < count["4x"] < count["8x"]
            assert count["8x"] > 3 * count["1x"]


def test_the_halves_have_their_sizes(folder):
    assert len(split_of(folder, "eval")) >= 64
    assert len(split_of(folder, "dev")) >= 30


def test_strata_are_minorities_beside_questions_that_repeat_the_label(folder):
    for split in ("eval", "dev"):
        items = split_of(folder, split)
        share = Counter(folder.labels[item["question_id"]]["stratum"] for item in items)
        assert 0.10 <= share["paraphrase"] / len(items) <= 0.20
        assert 0.10 <= share["text"] / len(items) <= 0.20
        assert share["label"] == max(share.values())


def test_every_kind_of_image_is_there_in_both_halves(folder):
    for split in ("eval", "dev"):
        files = {file for item in split_of(folder, split) for file in audit.image_files(item)}
        kinds = {folder.drawn[file]["kind"] for file in files}
        assert kinds == {"receipt", "dashboard", "label", "ticket", "screen", "note", "chart"}
        assert len(files) <= 220


def test_histories_are_long_enough_for_retrieval_to_matter(folder):
    for item in folder.lengths["1x"]:
        turns = [turn for session in item["haystack_sessions"] for turn in session]
        assert 10 <= len(item["haystack_sessions"]) <= 14
        assert 36 <= len(turns) <= 62
        assert 10 <= len(audit.image_files(item)) <= 16


def test_updates_have_an_older_answer_in_an_earlier_session(folder):
    updates = [item for _, item in folder.all_items() if item["question_type"] == "knowledge_update"]
    assert updates
    for item in updates:
        assert item["old_answer"] != item["answer"]
        assert len(item["answer_session_ids"]) == 2
        first, last = (
            session
            for session_id, session in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True)
            if session_id in item["answer_session_ids"]
        )
        for session, value, other in ((first, "old_answer", "answer"), (last, "answer", "old_answer")):
            shown = set()
            for turn in session:
                if turn["has_answer"]:
                    shown |= audit.figures(turn["content"])
                    for image in turn["images"]:
                        shown |= audit.drawn_figures(folder, image["file"])
            assert audit.figures(item[value]) <= shown
            assert not audit.figures(item[other]) <= shown


def test_file_names_come_from_the_seed_and_a_running_number(folder):
    stems = {Path(file).stem for file in folder.drawn}
    possible = set()
    for split in ("eval", "dev"):
        supply = image_names(split)
        possible |= {next(supply) for _ in range(len(folder.drawn))}
    assert stems <= possible


def test_questions_of_one_history_are_one_cluster(folder):
    for items in folder.lengths.values():
        histories: dict[str, set[tuple[str, ...]]] = {}
        for item in items:
            cluster = folder.labels[item["question_id"]]["cluster"]
            histories.setdefault(cluster, set()).add(tuple(item["haystack_session_ids"]))
        assert all(len(known) == 1 for known in histories.values())
        assert len({ids for known in histories.values() for ids in known}) == len(histories)


def test_the_halves_are_written_from_different_words():
    def words(content):
        for template in content.templates:
            for field in template.fields:
                yield from (text for text in (field.ask, field.reword, field.current) if text)
            yield from (*template.tells, *template.hints, *template.absent, *template.entities, *template.others)
            yield from (template.id, template.plain, template.subtitle)
        for fact in content.facts:
            yield from (fact.said, fact.other, fact.ask)
        yield from (*content.vague, *content.seen, *content.noted)
        yield from (said for said, _ in content.chatter)
        yield from (entity for entities in content.filler.entities.values() for entity in entities)
        yield from (phrase.said for phrase in content.filler.phrases)
        yield from (aside.said for aside in content.filler.asides)

    assert set(words(EVAL)) & set(words(DEV)) == set()
    assert set(EVAL.faces) & set(DEV.faces) == set()


def test_small_talk_holds_no_figure():
    for content in (EVAL, DEV):
        for text in (
            *content.vague,
            *content.seen,
            *content.noted,
            *(part for pair in content.chatter for part in pair),
            *(part for phrase in content.filler.phrases for part in (phrase.said, phrase.reply, *phrase.its)),
        ):
            assert not any(letter.isdigit() for letter in text)


def test_it_is_small_enough_to_commit():
    fonts = ROOT.parent / "memlens_gen" / "fonts"
    size = sum(path.stat().st_size for base in (ROOT, fonts) for path in base.rglob("*") if path.is_file())
    assert size < 15_000_000
    assert max(path.stat().st_size for path in ROOT.glob("*.json")) < 6_000_000
    assert sum(path.stat().st_size for path in (ROOT / "release_images").rglob("*.png")) < 3_000_000


def test_the_notice_names_every_font(folder):
    notice = (ROOT / "NOTICE.md").read_text(encoding="utf-8").lower()
    assert "synthetic" in notice
    for font in {drawn["font"] for drawn in folder.drawn.values()}:
        assert font.replace("-", " ") in notice
