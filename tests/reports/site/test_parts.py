"""The parts of a site by themselves: shares of a budget, changes, tables as HTML, and how large it all grows."""

from __future__ import annotations

import hashlib
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from benchsuite.delivery.images import prepared_file
from benchsuite.models.cache import AnswerStore
from benchsuite.outcome import Outcome
from benchsuite.runs import Run
from benchsuite_reports.site.build import Filled, write_site
from benchsuite_reports.site.flips import LOST, OTHER, WON, by_arm, find_flips
from benchsuite_reports.site.images import LEAST, fair_share, image_budget, total_size
from benchsuite_reports.site.markup import escape
from benchsuite_reports.site.question import anchor, cell_link
from benchsuite_reports.site.tables import as_html, table_page
from benchsuite_reports.table import Block, RunFacts, Table

CELLS = 10_000
TARGET = 50_000_000
QUESTIONS, ARMS = 4, 50
STAMPED = 3 * QUESTIONS * ARMS // 4  # images that a run of mostly stamped arms has for its cells


@pytest.mark.parametrize(
    ("sizes", "budget", "share"),
    [([], 10, 0), ([1, 2, 3], 6, 3), ([1, 2, 3], 100, 3), ([1, 10, 10], 9, 4), ([5, 5, 5], 3, 1), ([0, 0, 9], 4, 4)],
)
def test_small_images_leave_their_share_to_the_large_ones(sizes, budget, share):
    assert fair_share(sizes, budget) == share
    assert sum(min(size, share) for size in sizes) <= budget


def test_the_budget_of_images_shrinks_with_the_cells_to_a_least():
    assert image_budget(10) > image_budget(10_000) > LEAST
    assert image_budget(10_000) + 10_000 * 3200 <= TARGET
    assert image_budget(10**6) == LEAST


def outcome(cell: str, word: str = "right", score: float | None = 1.0, **changes: Any) -> dict[str, object]:
    values: dict[str, Any] = {"cell": cell, "suite": "s", "corpus": "c", "question": "q", "type": "t", "arm": {}}
    status = "scored" if score is not None else "unparsed"
    values |= {"answerable": True, "status": status, "word": word, "score": score, "scorer": "x/1", "metric": "m"}
    return Outcome(**{**values, **changes}).to_row()


def test_what_changed_is_won_lost_or_another_outcome_and_errors_are_not_compared():
    error = {"status": "error", "word": "error", "score": None, "error_kind": "timeout", "error_message": "late"}
    before = {
        "same": outcome("same"),
        "won": outcome("won", "wrong", 0.0),
        "lost": outcome("lost"),
        "unparsed": outcome("unparsed"),
        "refused": outcome("refused", "wrong", 0.0),
        "error": outcome("error", **error),
        "gone": outcome("gone"),
        "rescored": outcome("rescored", scorer="y/1"),
        "other corpus": outcome("other corpus", corpus="d"),
    }
    after = {
        "same": outcome("same"),
        "won": outcome("won"),
        "lost": outcome("lost", "wrong", 0.0),
        "unparsed": outcome("unparsed", "unparsed", None),
        "refused": outcome("refused", "refused", 0.0),
        "error": outcome("error"),
        "new": outcome("new"),
        "rescored": outcome("rescored", "wrong", 0.0),
        "other corpus": outcome("other corpus"),
    }
    found = find_flips("base", Path("base"), before, after)
    assert {flip.cell: flip.kind for flip in found.flips} == {
        "won": WON,
        "lost": LOST,
        "unparsed": LOST,
        "refused": OTHER,
    }
    assert found.compared == 5
    assert found.apart == {
        "an error in the baseline": 1,
        "only in the baseline": 1,
        "only in this run": 1,
        "another corpus: d there, c here": 1,
        "another scorer: y/1 there, x/1 here": 1,
    }
    assert by_arm(found.flips, dict.fromkeys(after, "arm")) == {"arm": {WON: 1, LOST: 2, OTHER: 1}}


HOSTILE = '</table><script>x</script> & "q" \x00\x1b\u202e\ufffe\ud800 end'


def test_a_table_as_html_is_captioned_scoped_and_escaped():
    block = Block(
        HOSTILE,
        (("n", "3"), ("worst", HOSTILE)),
        ((HOSTILE, "+13.87", "1.2e-4", "words"), ("b", "n/a", "0.85", "more")),
        left_out=(("q1", HOSTILE),),
        notes=(HOSTILE,),
    )
    table = Table("t", HOSTILE, ("Set", "Delta", "p", HOSTILE), (block,), (("corpus", HOSTILE),), (HOSTILE,), True)
    page = ElementTree.fromstring(table_page(table))
    assert not list(page.iter("script"))
    assert len(list(page.iter("table"))) == 1
    assert "pipeline check" in "".join(page.find("body/p").itertext())
    heads = list(page.iterfind(".//thead//th"))
    assert [head.attrib.get("scope") for head in heads] == ["col"] * 4
    assert [head.attrib.get("class") for head in heads] == [None, "n", "n", None]
    rows = list(page.iterfind(".//tbody/tr"))
    assert [row.find("th").attrib["scope"] for row in rows] == ["row", "row"]
    assert [cell.text for cell in rows[1].iterfind("td")] == ["n/a", "0.85", "more"]
    shown = '</table><script>x</script> & "q" \u2400\u241b\u202e\ufffd\ufffd end'
    assert page.find(".//caption").text == shown
    assert rows[0].find("th").text == shown
    assert as_html(table).count("<script>") == 0


def test_text_that_needs_no_escape_is_the_same_as_with_it():
    for text in ("plain [x] (y) #1 50%", "a\tb\nc", "", "~"):
        assert escape(text) == text
    assert escape("a\rb") == "a\u240db"
    assert escape("'<&>\"") == "&#x27;&lt;&amp;&gt;&quot;"


def test_the_address_of_a_cell_is_that_of_its_page_whatever_its_name():
    row = {"suite": "s", "question": 'q "1" <x>'}
    link = cell_link(row, 'arm "1"&<x>+y')
    assert not set(link) & set('"<>& ')
    assert "#" in link
    assert not set(anchor('arm "1"&<x>+y')) & set('"<>& ')


def drawing(number: int) -> bytes:
    """A drawing such as a screenshot: text, lines and a stamp, no two alike."""
    picture = Image.new("RGB", (520, 356), (255, 252 - number % 9, 250))
    draw = ImageDraw.Draw(picture)
    for line in range(9):
        draw.rectangle((20, 20 + 36 * line, 300, 46 + 36 * line), outline="black", fill=(230, 225, 245))
        draw.text((30, 26 + 36 * line), f"{number * 7919 % 10007} field {line} of {number}", fill="black")
    draw.rectangle((0, 0, 38, 24), fill="purple")
    draw.text((4, 4), f"M{number % 20}", fill="white")
    for bar in range(40):
        draw.line((340 + 4 * bar, 40, 340 + 4 * bar, 120), fill="black", width=1 + (number + bar) % 3)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def made_run(folder: Path) -> Run:
    """A run of as many cells as QUESTIONS x ARMS, whose requests are as long as those of the bundled corpus are on
    average: 36 parts and 1,430 characters, with four images. No two are alike."""
    cache, calls = folder / "cache", folder / "run" / "calls"
    calls.mkdir(parents=True)
    store = AnswerStore.create(cache)
    images = []
    for number in range(STAMPED):
        data, source = drawing(number), sha256(str(number).encode())
        params = {"side": 768, "tag": f"M{number % 20}", "box": "0,0,38,24"}
        file = prepared_file(cache / "image", "png/1+stamp/1", source, params)
        file.parent.mkdir(parents=True)
        file.write_bytes(data)
        image = {"kind": "image", "sha256": sha256(data), "n": 1, "source": source, "w": 520, "h": 356}
        images.append({**image, "mime": "image/png", "transform": "png/1+stamp/1", "params": params})
    texts: dict[str, bytes] = {}

    def part(kind: str, item: str, text: str) -> dict[str, Any]:
        texts[sha256(text.encode())] = text.encode()
        return {"kind": kind, "item": item, "sha256": sha256(text.encode()), "n": len(text)}

    rows, lines = {}, []
    for number in range(QUESTIONS * ARMS):
        question, arm = f"q_{number % QUESTIONS:08x}", f"1x-both-deployed+variant{number // QUESTIONS}-embedded"
        parts = [part("head", "", "Messages from earlier conversations:\n"), part("tag", "", "Every picture " * 16)]
        for place in range(10):
            item = f"s{place}t{number % 7}"
            parts.append(part("role", item, f"({place}) user:\n"))
            parts.append(part("text", item, f"In case we need more of {place}, this is it.\n"))
            if place < 4:
                parts.append(part("date", item, "[2024/03/29 (Fri) 17:11]\n"))
                parts.append(part("tag", item, f"[M{place} is printed in the top left corner of every picture]\n"))
                parts.append({**images[(number * 3 // 4 + place) % len(images)], "item": item})
        parts.append(part("question", "", f"Question date: 2025/01/05\nQuestion {question}: {'which day ' * 9}\n"))
        key = sha256(f"{question} {arm}".encode())
        system = [part("instruction", "", "You help a person by looking things up. " * 7)]
        call = {"role": "answer", "key": key, "model": "embedded", "params": {"temperature": 0, "max_tokens": 1024}}
        cell = f"memlens:{arm}-{question}"
        messages = [["system", system], ["user", parts]]
        assert len(parts) + len(system) == 36
        assert 1300 < sum(each["n"] for each in [*system, *parts]) < 1600
        lines.append(json.dumps({"cell": cell, **call, "tools": "", "messages": messages}, separators=(",", ":")))
        arms = {"length": "1x", "retrieval": "both", "k": 10, "delivery": "deployed", "model": "embedded"}
        counts = {"n_items": 10, "n_images": 4, "n_gold": 2, "n_gold_delivered": 2, "usage_prompt": 1377}
        changes = {"suite": "memlens", "question": question, "corpus": "ab" * 32, "arm": arms, "requests": [key]}
        rows[cell] = outcome(cell, answer="2024/10/25", gold="2024/10/25", **changes, **counts)
    store.put_parts(texts)
    store.close()
    (calls / "main.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return Run(folder / "run", {"plan": {"t": list(rows)}, "corpora": {}}, rows)


def test_ten_thousand_cells_are_below_fifty_megabytes(tmp_path):
    run = made_run(tmp_path)
    cells = QUESTIONS * ARMS
    budget = image_budget(CELLS) * cells // CELLS
    site = write_site(run, tmp_path / "site", [tmp_path / "cache"], Filled(), RunFacts({}), budget=budget)
    _, images = total_size(tmp_path / "site" / "images")
    assert len(list((tmp_path / "site" / "images").iterdir())) == STAMPED
    assert images <= budget
    pages = (site.bytes - images) / cells
    assert pages < 3600
    assert pages * CELLS + image_budget(CELLS) < TARGET
    page = ElementTree.fromstring((tmp_path / "site" / "questions" / "memlens-q_00000000.html").read_text())
    assert len(list(page.iter("img"))) == 4 * ARMS
    assert "In case we need more of 9, this is it." in "".join(page.itertext())


def test_equal_runs_make_equal_sites(tmp_path):
    run = made_run(tmp_path)
    for name in ("a", "b"):
        write_site(run, tmp_path / name, [tmp_path / "cache"], Filled(), RunFacts({}), budget=100_000)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)
