"""The pages of a real run: what was sent stands in them, nothing foreign can break them, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from benchsuite_reports.report import report_command

from ..judged_run import BROKEN, QUESTION

ARMS = ("noimg", "pixels", "pixels+s32", "noimg+conv")
Element = ElementTree.Element


def words(element: Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


class Site:
    """The pages of a run by their names, as trees: all of them are well-formed XML."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = {
            str(path.relative_to(folder)): ElementTree.fromstring(path.read_text(encoding="utf-8"))
            for path in folder.rglob("*.html")
        }

    @property
    def index(self) -> Element:
        return self.pages["index.html"]

    def question(self, question: str = QUESTION) -> Element:
        return self.pages[f"questions/memlens-{question}.html"]

    def cell(self, delivery: str, question: str = QUESTION) -> Element:
        found = self.question(question).find(f".//section[@id='cell-32k-recency-k3-{delivery}-scripted-judge.grader']")
        assert found is not None, [each.attrib for each in self.question(question).iter("section")]
        return found


@pytest.fixture(scope="module")
def site(finished, tmp_path_factory) -> Site:
    out = tmp_path_factory.mktemp("pages")
    assert report_command(["--bench-dir", str(finished.dir), "--format", "html", "--out", str(out)]) == 0
    return Site(out)


@pytest.fixture
def bench(finished, tmp_path) -> Path:
    """A copy of the finished project's folder of runs and caches, to be spoiled."""
    shutil.copytree(finished.dir, tmp_path / ".bench")
    return tmp_path / ".bench"


def make(bench: Path, *args: str) -> Site:
    assert report_command(["--bench-dir", str(bench), "--format", "html", "--run", "1", *args]) == 0
    return Site(next((bench / "runs").glob("0001*")) / "report")


def sent(site: Site, delivery: str) -> str:
    """The text of a cell's request as the page has it, without the names of its parts, frames followed."""
    shared = {
        each.find("b").text: "".join(each.itertext()).split(" ", 1)[1]
        for each in site.question().iterfind(".//main/div[@class='m']/p")
    }
    parts = []
    for message in site.cell(delivery).iterfind("div[@class='m']"):
        for each in message:
            if each.tag == "iframe":
                frame = site.pages[each.attrib["src"].removeprefix("../")]
                parts.append("".join(frame.find(".//p").itertext()))
            elif each.tag == "p" and each.find("a") is None and each.attrib.get("class") is None:
                parts.append(text_of(each, shared))
    return "".join(parts)


def text_of(paragraph: Element, shared: dict[str | None, str]) -> str:
    found, skip = [paragraph.text or ""], False
    for child in paragraph:
        if child.tag == "b":
            found.append(shared[child.text])
            skip = True
        else:
            found.append(child.tail or "")
            skip = False
        if skip:
            rest = (child.tail or "").partition("\n")[2]
            found.append(rest)
    return "".join(found)


def test_a_cell_shows_the_texts_and_images_that_the_endpoint_got(finished, site):
    got = [as_sent(body) for body in finished.bodies if body["model"] == "scripted"]
    shown = []
    for delivery in ARMS:
        files = [image.attrib["src"] for image in site.cell(delivery).iter("img")]
        images = [(site.folder / "questions" / file).read_bytes() for file in files]
        assert [Path(file).stem for file in files] == [hashlib.sha256(image).hexdigest()[:24] for image in images]
        shown.append((sent(site, delivery), images))
    assert len(got) == len(ARMS)
    assert sorted(shown) == sorted(got)


def as_sent(body: dict[str, Any]) -> tuple[str, list[bytes]]:
    """The texts and the images of a request's body, a control character as a page shows it."""
    texts, images = "", []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            if "text" in block:
                texts += block["text"].replace("\x07", "\u2407")
            else:
                images.append(base64.b64decode(block["image_url"]["url"].partition(";base64,")[2]))
    return texts, images


def test_images_and_long_texts_stand_once_for_all_pages(site):
    used = [image.attrib["src"] for page in site.pages.values() for image in page.iter("img")]
    assert {Path(file).name for file in used} == {path.name for path in (site.folder / "images").iterdir()}
    frames = [frame.attrib["src"] for arm in ARMS for frame in site.cell(arm).iterfind("div/iframe")]
    assert len(frames) == len(ARMS)
    assert len(set(frames)) == 1
    whole = "".join(site.pages[frames[0].removeprefix("../")].find(".//p").itertext())
    assert whole.startswith("A long message. A long")
    for page in site.folder.joinpath("questions").iterdir():
        assert "A long message. " * 20 not in page.read_text()


def test_a_cell_has_its_trace_its_answer_and_why_it_scored(site):
    cell = site.cell("pixels")
    steps = [words(step) for step in cell.iterfind("ol/li")]
    assert steps[0].startswith("length 32k,")
    assert "delivery pixels" in steps[0]
    assert "3 items, 1 of 1 gold, 2 images" in steps[0]
    assert [step.split()[0] for step in steps[1:]] == ["answer", "judge"]
    assert "served as scripted-1" in steps[1]
    answer = cell.find("div[@class='answer']")
    assert words(answer.find("p")) == "<b>red</b>"
    assert "by memlens" in words(answer)
    judge = cell.find("details")
    assert words(judge.find("summary")) == "judge grader: VERDICT=1"
    assert "VERDICT=1" in words(judge.find("div[last()]"))
    assert [words(each) for each in cell.iterfind("div[@class='m']/h4/b")] == ["gold"]


def test_a_cell_with_an_error_says_what_happened_and_is_not_scored(site):
    cell = site.cell("pixels", BROKEN)
    assert "not scored; an error is never scored" in words(cell.find("div[@class='answer']"))
    assert "no <i>such</i> thing" in words(cell.find("div[@class='answer']/p[@class='gone']"))
    causes = [words(each) for each in site.index.iterfind(".//section[@aria-labelledby='errors']//summary")]
    assert len(causes) == 1
    assert causes[0].startswith("4 cells: ")


def test_nothing_runs_and_nothing_is_fetched_from_elsewhere(site):
    for name, page in site.pages.items():
        assert not list(page.iter("script")), name
        policy = page.find(".//meta[@http-equiv='Content-Security-Policy']").attrib["content"]
        assert policy.startswith("default-src 'none'"), name
        assert "script" not in policy
        for element in page.iter():
            assert not [key for key in element.attrib if key.startswith("on") or key == "style"], (name, element.tag)
            for key in ("href", "src"):
                address = element.attrib.get(key, "")
                parts = urlsplit(address)
                assert not parts.scheme, (name, address)
                assert not parts.netloc, (name, address)


def test_every_link_leads_to_a_page_and_a_place_in_it(site):
    links = 0
    for name, page in site.pages.items():
        for link in page.iter("a"):
            path, _, fragment = link.attrib["href"].partition("#")
            file = (site.folder / name).parent / unquote(path) if path else site.folder / name
            assert file.is_file(), (name, link.attrib["href"])
            if fragment:
                target = site.pages[str(file.resolve().relative_to(site.folder.resolve()))]
                ids = {element.attrib["id"] for element in target.iter() if "id" in element.attrib}
                assert fragment in ids or unquote(fragment) in ids, (name, fragment)
            links += 1
    assert links > 20


def test_every_cell_is_linked_from_the_index_by_arm_and_outcome(site):
    section = site.index.find(".//section[@aria-labelledby='cells']")
    summaries = [words(each) for each in section.iter("summary")]
    assert len(summaries) == len(ARMS)
    assert all(re.fullmatch(r"memlens:32k-\S+: 1 \w+, 1 error", each) for each in summaries)
    assert len(list(section.iterfind(".//p[@class='links']/a"))) == 2 * len(ARMS)


def test_pages_are_for_keyboards_and_readers_of_screens(site):
    for name, page in site.pages.items():
        assert page.attrib["lang"] == "en"
        assert all(image.attrib.get("alt") for image in page.iter("img")), name
        for table in page.iter("table"):
            assert table.find(".//th[@scope='col']") is not None
        for region in page.iterfind(".//div[@class='wide']"):
            assert region.attrib["tabindex"] == "0"
            assert region.attrib["aria-label"]
        ids = [element.attrib["id"] for element in page.iter() if "id" in element.attrib]
        assert len(ids) == len(set(ids)), name
    style = (site.folder / "site.css").read_text()
    assert "a:focus-visible" in style
    assert "summary:focus-visible" in style


def test_what_is_gone_or_changed_is_said_in_its_place(bench):
    run = next((bench / "runs").glob("0001*"))
    for file in (bench / "cache" / "image").rglob("image.png"):
        file.write_bytes(b"other bytes")
    calls = next((run / "calls").glob("*.jsonl"))
    calls.write_text("not a call\n" + calls.read_text())
    site = make(bench)
    assert "has another sha256" in words(site.cell("pixels+s32"))
    assert not list(site.cell("pixels+s32").iter("img"))
    assert f"{calls.name}:1: not the record of a call" in words(site.index.find("body/header"))


def test_a_run_without_its_calls_still_has_its_answers(bench):
    run = next((bench / "runs").glob("0001*"))
    shutil.rmtree(run / "calls")
    cell = make(bench).cell("pixels")
    assert "<b>red</b>" in words(cell)
    assert "has no record of request" in words(cell)


def test_changes_against_a_baseline_show_both_answers(bench):
    run = next((bench / "runs").glob("0001*"))
    other = run.with_name("0002_nogit_base")
    shutil.copytree(run, other)
    rows = [json.loads(line) for line in (other / "outcomes.jsonl").read_text().splitlines()]
    for row in rows:
        if row["status"] == "scored" and row["arm.delivery"] == "pixels":
            row.update(score=1 - row["score"], word="wrong" if row["score"] else "right", answer='was "x" <i>')
        if row["status"] == "scored" and row["arm.delivery"] == "noimg":
            row["scorer"] = "other/1"
    (other / "outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    site = make(bench, "--against", "2")
    section = site.index.find(".//section[@aria-labelledby='changes']")
    assert "3 cells compared: 1 won, 0 lost" in words(section)
    assert "4, an error in the baseline and this run" in words(section)
    assert "another scorer: other/1 there" in words(section)
    row = section.find(".//details//tbody/tr")
    assert words(row.findall("td")[0]).endswith('was "x" <i>')
    assert words(row.findall("td")[1]).endswith("<b>red</b>")
    before = site.cell("pixels").find("div[@class='answer']/p[@class='baseline']")
    assert 'was "x" <i>' in words(before)
    assert before.find("a") is None  # the baseline has no pages yet
    assert report_command(["--bench-dir", str(bench), "--format", "html", "--run", "2"]) == 0
    link = make(bench, "--against", "2").cell("pixels").find("div[@class='answer']/p[@class='baseline']/a")
    path, _, fragment = link.attrib["href"].partition("#")
    there = ElementTree.fromstring((run / "report" / "questions" / path).read_text())
    assert there.find(f".//section[@id='{fragment}']") is not None


def test_gates_stand_first_and_link_the_questions_that_moved(bench):
    run = next((bench / "runs").glob("0001*"))
    judgement = {
        "gate": "memlens.accuracy:-3pp",
        "suite": "memlens",
        "baseline": "anchor",
        "run": "0000_<b>",
        "verdict": "fail",
        "reason": "a loss",
        "questions": 2,
        "a": 1.0,
        "b": 0.5,
        "difference": -0.5,
        "p": 0.01,
        "holm_p": None,
        "slices": [{"kind": "type", "name": "t & u", "n": 2, "a": 1.0, "b": 0.5, "difference": -0.5, "p": None}],
        "moved": [
            {"question": QUESTION, "difference": -0.5, "type": "t", "arms": ["a"]},
            {"question": "q_gone", "difference": 0.25, "type": "t", "arms": ["a"]},
        ],
    }
    (run / "gates.json").write_text(json.dumps({"failed": True, "judgements": [judgement]}))
    section = make(bench).index.find(".//main/section")
    assert section.attrib["aria-labelledby"] == "gates"
    line = [words(each) for each in section.find(".//tbody/tr")]
    assert line == [
        "memlens.accuracy:-3pp",
        "anchor (0000_<b>)",
        "fail",
        "a loss",
        "2",
        "100.00",
        "50.00",
        "-50.00",
        "0.010",
        "",
    ]
    assert [link.attrib["href"] for link in section.iterfind(".//p[@class='links']/a")] == [
        f"questions/memlens-{QUESTION}.html"
    ]
    (run / "gates.json").write_text('{"judgements": [{"gate": "x"}]}')
    site = make(bench)
    assert "gates.json: not what gates found" in words(site.index.find("body/header"))
    assert site.index.find(".//section[@aria-labelledby='gates']") is None


def test_images_beyond_the_budget_are_shown_smaller_and_said_so(bench, monkeypatch):
    monkeypatch.setattr("benchsuite_reports.site.build.image_budget", lambda cells: 300)
    cell = make(bench).cell("pixels")
    small = [image for image in cell.iter("img") if image.attrib["src"].endswith("-small.webp")]
    assert small
    assert "; smaller" in words(cell)
    assert small[0].attrib["width"] in ("64", "90")  # the size that was sent


def test_pages_that_cannot_be_written_are_one_line(finished, tmp_path):
    from benchsuite.errors import ConfigError

    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        report_command(["--bench-dir", str(finished.dir), "--format", "html", "--out", str(tmp_path / "file")])
