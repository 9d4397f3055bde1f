"""The contact sheet, from records of requests that were really rendered, with their texts and images stored."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.model import Image, Item, Query
from benchsuite.delivery.arrange import all_slots, arrange, seed_of, with_decoys
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.protocol import bundled_protocol
from benchsuite.delivery.render import render
from benchsuite.delivery.spec import Delivery, parse_delivery, register
from benchsuite.errors import DataError
from benchsuite.models.cache import AnswerStore
from benchsuite.models.wire import Request, request_key, sha256_text, skeleton
from benchsuite_reports.contents import Contents
from benchsuite_reports.delivermem_f3 import (
    CONDITIONS,
    NEVER,
    ROWS,
    SAME,
    Sheet,
    Words,
    draw,
    lay_out,
    printable,
    wrap,
)

ASKED = "Which colour is the gate?"


def presets() -> dict[str, Delivery]:
    found: dict[str, Delivery] = {}

    class Names:
        def delivery(self, name: str, value: Delivery) -> None:
            found[name] = value

    register(Names())  # type: ignore[arg-type]
    return found


def photograph(colour: str) -> bytes:
    picture = PillowImage.new("RGB", (420, 300), colour)
    picture.paste(PillowImage.linear_gradient("L").resize((200, 150)), (20, 40))
    out = io.BytesIO()
    picture.save(out, "JPEG")
    return out.getvalue()


PHOTOGRAPHS = [photograph(colour) for colour in ("red", "green", "blue", "grey")]
IMAGES = [
    Image(hashlib.sha256(d).hexdigest(), f"{n}.jpg", "image/jpeg", 420, 300, len(d)) for n, d in enumerate(PHOTOGRAPHS)
]
HISTORY = [
    Item("t1", ("t1",), "user", "Nothing to see in this one.", (), "2024/05/01 (Wed) 10:00", 1),
    Item("t2", ("t2",), "user", "The garden gate <image>", (IMAGES[0],), "2024/05/02 (Thu) 11:00", 2),
    Item("t3", ("t3",), "assistant", "And the shed. " + "It is old. " * 90, (IMAGES[1],), "2024/05/03 (Fri) 12:00", 3),
]


@dataclass
class Recorder:
    """A run's folder and caches, filled with what the renderer makes of an arm."""

    run: Path
    cache: Path
    row: Callable[..., dict[str, object]]
    desk: ImageDesk
    store: AnswerStore
    presets: Mapping[str, Delivery]

    def ask(
        self, question: str, items: Sequence[Item] = HISTORY, asked: str = ASKED, **changes: Any
    ) -> list[dict[str, object]]:
        return [self.arm(condition, question, items, asked, **changes) for condition in CONDITIONS]

    def arm(
        self, condition: Any, question: str, items: Sequence[Item], asked: str, **changes: Any
    ) -> dict[str, object]:
        """One request, recorded and stored, and its row."""
        delivery = parse_delivery(condition.delivery, self.presets)
        placed = arrange(items, delivery, seed_of(asked), HISTORY)
        if delivery.modality == "decoy":
            placed = with_decoys(placed, IMAGES[2:])
        by_digest = dict(zip((image.sha256 for image in IMAGES), PHOTOGRAPHS, strict=True))
        sent = {
            slot.key: self.desk.prepare(slot, delivery, lambda image: by_digest[image.sha256])
            for slot in all_slots(placed)
        }
        protocol = bundled_protocol("memlens")
        messages = render(placed, Query(asked, "2024/06/01 (Sat) 10:00"), delivery, protocol, sent, len(HISTORY))
        request = Request("m", messages, {"temperature": 0})
        key = request_key("f", request)
        texts = [part.text for message in messages for part in message.parts if part.text]
        self.store.put_parts({sha256_text(text): text.encode() for text in texts})
        made = self.row(question, condition, 1.0, requests=(key,), gold="red", **changes)
        with (self.run / "calls" / "main.jsonl").open("a") as file:
            file.write(json.dumps({"cell": made["cell"], "role": "answer", **skeleton(key, request)}) + "\n")
        return made


@pytest.fixture
def recorder(tmp_path: Path, row: Callable[..., dict[str, object]]) -> Iterator[Recorder]:
    (tmp_path / "run" / "calls").mkdir(parents=True)
    cache = tmp_path / "cache"
    store = AnswerStore.create(cache)
    yield Recorder(tmp_path / "run", cache, row, ImageDesk(cache / "image"), store, presets())
    store.close()


@pytest.fixture
def sheet_of(recorder: Recorder, mini: Any) -> Iterator[Callable[..., Sheet]]:
    contents = Contents([recorder.cache])

    def make(rows: Sequence[Mapping[str, object]]) -> Sheet:
        found = draw(rows, mini, recorder.run, contents)
        assert isinstance(found, Sheet)
        return found

    yield make
    contents.close()


def tiles(sheet: Sheet) -> dict[str, Any]:
    return {tile.arm: tile for row in sheet.rows for tile in row.tiles}


def said(tile: Any, kind: str) -> list[str]:
    return [each.text.strip() for each in tile.segments if each.kind == kind]


def pictures(tile: Any) -> list[Any]:
    return [each.picture for each in tile.segments if each.picture is not None]


def test_eleven_tiles_show_one_memory_as_it_was_sent(recorder, sheet_of):
    sheet = sheet_of(recorder.ask("q0"))
    found = tiles(sheet)
    assert [len(row.tiles) for row in sheet.rows] == [5, 4, 2]
    assert len(found) == 11
    assert sheet.item == "t2"  # the first in the order of delivery that has an image
    assert {said(tile, "text")[0] for tile in found.values()} == {"The garden gate"}
    assert {tile.arm: len(pictures(tile)) for tile in found.values()} == {
        condition.name: int(condition.delivery != "noimg") for condition in CONDITIONS
    }
    assert ASKED in sheet.wording
    assert [row.base for row in sheet.rows] == [base for _, base, _ in ROWS]


def test_each_form_differs_in_what_it_declares(recorder, sheet_of):
    found = tiles(sheet_of(recorder.ask("q0")))
    date = "[2024/05/02 (Thu) 11:00]"
    plain = found["both-deployed-region"]
    assert said(plain, "date") == [date]
    assert said(found["both-deployed+dateperm-region"], "date") not in ([date], [])
    assert said(found["both-deployed+nodate-region"], "date") == []
    assert "M*" in said(found["both-deployed+tagconst-region"], "tag")[0]
    assert "M2" in said(plain, "tag")[0]
    sources = {arm: pictures(tile)[0].source for arm, tile in found.items() if pictures(tile)}
    assert sources["both-deployed+bindshuf-whole"] == IMAGES[1].sha256
    assert sources["oracle-pixels+decoy"] == IMAGES[2].sha256
    others = {source for arm, source in sources.items() if "bindshuf" not in arm and "decoy" not in arm}
    assert others == {IMAGES[0].sha256}
    shas = [pictures(tile)[0].sha256 for tile in found.values() if tile.arm.startswith("oracle") and pictures(tile)]
    assert len(set(shas)) == 4


def test_the_pictures_hold_the_images_and_all_words(recorder, sheet_of):
    sheet = sheet_of(recorder.ask("q0"))
    drawn = sheet.pictures()
    assert drawn == sheet.pictures()
    tree = ElementTree.fromstring(drawn["svg"])
    shots = [each.attrib["href"] for each in tree.iter("{http://www.w3.org/2000/svg}image")]
    assert len(shots) == 10
    for each in shots:
        PillowImage.open(io.BytesIO(base64.b64decode(each.partition(",")[2]))).verify()
    words = " ".join(each.text or "" for each in tree.iter("{http://www.w3.org/2000/svg}text"))
    for wanted in ("The garden gate", NEVER, "Compare only within this row.", "pipeline check, not evidence", ASKED):
        assert wanted in words
    with PillowImage.open(io.BytesIO(drawn["png"])) as png:
        assert png.size == (int(tree.attrib["width"]), int(tree.attrib["height"]))


def test_no_word_leaves_the_sheet(recorder, sheet_of):
    page = lay_out(sheet_of(recorder.ask("q0")))
    for mark in page.marks:
        reach = mark.x + (len(mark.text) if isinstance(mark, Words) else mark.width)
        assert 0 <= mark.x < reach <= page.width
        assert 0 <= mark.y < page.height


def test_a_form_that_changed_nothing_says_so(recorder, sheet_of):
    """One image and one date: nothing can change places."""
    found = tiles(sheet_of(recorder.ask("q0", [HISTORY[1]])))
    assert found["both-deployed+bindshuf-whole"].remark == SAME
    assert found["both-deployed+dateperm-region"].remark == SAME
    assert found["both-deployed+tagconst-region"].remark == ""


def test_a_long_text_is_counted_not_cut_in_silence(recorder, sheet_of):
    sheet = sheet_of(recorder.ask("q0", [HISTORY[2]]))
    shown = [mark.text for mark in lay_out(sheet).marks if isinstance(mark, Words)]
    assert any("further characters" in each for each in shown)
    assert HISTORY[2].text.strip() in json.dumps(sheet.data())


def test_the_question_is_chosen_by_content_and_never_by_id(recorder, sheet_of):
    """Of two the one whose gold answer comes first; a question that refuses comes last whatever its answer."""
    rows = [
        *recorder.ask("a", asked="Which one is refused?", answerable=False),
        *recorder.ask("b", asked="Which one is second?"),
        *recorder.ask("c", asked="Which one is first?"),
    ]
    for each in rows:
        each["gold"] = {"a": "apple", "b": "pear", "c": "banana"}[str(each["question"])]
    assert sheet_of(rows).question == "c"
    assert sheet_of(rows[::-1]).question == "c"


def test_a_question_whose_memory_is_not_everywhere_is_passed_over(recorder, sheet_of):
    partly = recorder.ask("a", asked="Which one has no image in one arm?")
    whole = recorder.ask("b")
    for each in partly:
        each["gold"] = "apple"
    cell = next(str(each["cell"]) for each in partly if each["arm.delivery"] == "pixels+phase")
    log = recorder.run / "calls" / "main.jsonl"
    lines = [line for line in log.read_text().splitlines() if f'"{cell}"' not in line]
    log.write_text("\n".join(lines) + "\n")
    assert sheet_of([*partly, *whole]).question == "b"
    with pytest.raises(DataError, match=r"no message reached the model under all of oracle-pixels, .* with an image"):
        sheet_of(partly)


def test_missing_arms_are_named(recorder, sheet_of):
    rows = [each for each in recorder.ask("q0") if each["arm.delivery"] not in ("pixels+decoy", "deployed+tagconst")]
    sheet = sheet_of(rows)
    assert "Missing arms: oracle-pixels+decoy, both-deployed+tagconst-region." in sheet.caption
    assert tiles(sheet)["oracle-pixels+decoy"].problem == "This arm was not run."
    assert len(sheet.pictures()["png"]) > 1000


def test_texts_and_images_that_are_not_stored_are_said_to_be(recorder, mini, tmp_path):
    rows = recorder.ask("q0")
    contents = Contents([tmp_path / "empty"])
    sheet = draw(rows, mini, recorder.run, contents)
    (first, *_) = sheet.rows[0].tiles
    assert all("not stored" in each.problem for each in first.segments if each.picture is None)
    assert all(each.picture.data is None for each in first.segments if each.picture is not None)
    words = " ".join(mark.text for mark in lay_out(sheet).marks if isinstance(mark, Words))
    assert "it is not stored" in words
    assert "cannot be read" in words
    assert sheet.pictures()["svg"]


def test_too_few_arms_are_no_sheet(recorder, mini):
    rows = recorder.ask("q0")
    contents = Contents([recorder.cache])
    assert draw(rows[:1], mini, recorder.run, contents) is None
    assert draw([], mini, recorder.run, contents) is None
    contents.close()


def test_the_data_has_the_texts_and_the_digests(recorder, sheet_of):
    sheet = sheet_of(recorder.ask("q0"))
    data = json.loads(json.dumps(sheet.data()))
    segments = data["rows"][0]["tiles"][1]["segments"]
    image = next(each for each in segments if each["kind"] == "image")
    assert image["transform"] == "png/1+scramble/1"
    assert image["source"] == IMAGES[0].sha256
    assert image["params"]["control"] == "scramble"
    assert data["pipeline_check"] is True
    assert data["item"] == "t2"


@pytest.mark.parametrize("text", ["a " * 300, "x" * 900, "one\n\ntwo", ""])
def test_wrapped_lines_hold_every_letter(text):
    lines = wrap(text, 120, 13)
    assert "".join(lines).replace(" ", "") == "".join(text.split())


def test_letters_that_the_font_lacks_stand_as_question_marks():
    assert printable("caf\u00e9 \u4e2d \x07") == "caf? ? ?"
    assert printable("plain, [2024/05/02]") == "plain, [2024/05/02]"


def test_words_that_xml_cannot_hold_are_marked(recorder, sheet_of):
    spoiled = [Item("t9", ("t9",), "user", "A bell \x07 & <b>\u4e2d</b>", (IMAGES[0],), "2024/05/02", 1)]
    tree = ElementTree.fromstring(sheet_of(recorder.ask("q0", spoiled)).pictures()["svg"])
    words = " ".join(each.text or "" for each in tree.iter("{http://www.w3.org/2000/svg}text"))
    assert "A bell \ufffd & <b>\u4e2d</b>" in words
