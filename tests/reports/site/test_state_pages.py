"""Cells at a conversation state on their pages: the conversation apart, rounds and tools in order, nothing lost."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchsuite_reports.inspect import inspect_command
from benchsuite_reports.report import report_command
from benchsuite_reports.shown import Picture, Segment, ShownArm, ShownMessage, ShownRequest
from benchsuite_reports.site.question import talk_name
from benchsuite_reports.talk import LEAST, OPEN, added, earlier, rounds, state_facts, steps

from ..mirage_rows import mirage_row
from .state_run import ANSWER, ODD_QUERY, QUESTIONS, WRITTEN, Body, state_run
from .test_site import Element, Site, words

ASKED, UNANSWERABLE, ENDLESS = "mq_136bade5", "mq_e52569f6", "mq_1cf1d7fa"
ENDLESS_TEXT = "What value stands directly below Belay card on the climbing club profile?"
FIRST_WORDS = "directly below the pruning saw"  # of the question ASKED


class States(Site):
    """The pages of the run with states."""

    def page_of(self, question: str = ASKED) -> Element:
        return self.pages[f"questions/mirage-{question}.html"]

    def at(self, state: str, question: str = ASKED) -> Element:
        found = self.page_of(question).find(f".//section[@id='cell-tenth-{state}-scripted-none-direct-scripted']")
        assert found is not None
        return found

    def talk(self, state: str, question: str = ASKED) -> str:
        frames = [frame.attrib["src"] for frame in self.at(state, question).iter("iframe")]
        assert len(frames) == 1
        return frames[0].removeprefix("../")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[tuple[Path, list[Body]]]:
    folder = tmp_path_factory.mktemp("states")
    with state_run(folder, ENDLESS_TEXT) as bodies:
        yield folder / ".bench", bodies


@pytest.fixture(scope="module")
def site(project, tmp_path_factory) -> States:
    return make(project[0], tmp_path_factory.mktemp("pages"))


@pytest.fixture
def bench(project, tmp_path) -> Path:
    """A copy of the finished run and its caches, to be spoiled."""
    shutil.copytree(project[0], tmp_path / ".bench")
    return tmp_path / ".bench"


def make(bench: Path, out: Path) -> States:
    assert report_command(["--bench-dir", str(bench), "--format", "html", "--out", str(out)]) == 0
    return States(out)


def facts(element: Element) -> dict[str, str]:
    return dict(zip(map(words, element.iterfind("dl/dt")), map(words, element.iterfind("dl/dd")), strict=True))


def said(body: Body) -> list[str]:
    """The texts of a body, a message each; white space is one."""
    found = []
    for message in body["messages"]:
        content = message["content"] or ""
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        found.append(" ".join("".join(texts).split()))
    return found


def told(site: States, messages: list[Element]) -> list[str]:
    """The same from a page: what stands at its end is put in its place, kinds, headings and captions are left out."""
    shared = {
        each.find("b").text: "".join(each.itertext()).split(" ", 1)[1]
        for each in site.page_of().iterfind(".//main/div[@class='m']/p")
    }
    found = []
    for message in messages:
        texts = []
        for paragraph in message.iterfind("p"):
            if paragraph.attrib.get("class") is None:
                texts.append(paragraph.text or "")
                for child in paragraph:
                    number = child.text if child.tag == "b" else ""
                    texts.append(shared[number] + (child.tail or "").partition("\n")[2] if number else child.tail or "")
        found.append(" ".join("".join(texts).split()))
    return found


def test_page_frame_and_rounds_together_are_what_the_endpoint_got(project, site):
    cell = site.at("S1-d80k")
    bodies = [body for body in project[1] if FIRST_WORDS in json.dumps(body) and "Before you answer" not in str(body)]
    deep = max((body for body in bodies if len(body["messages"]) > 40), key=lambda body: len(body["messages"]))
    shown = list(cell.iterfind("div[@class='m']"))
    apart = list(site.pages[site.talk("S1-d80k")].iter("div"))
    whole = told(site, [shown[0], *apart, *shown[1:]])
    got = said(deep)
    assert len(whole) == len(got) > 40
    calling = [at for at, message in enumerate(deep["messages"]) if message.get("tool_calls")]
    for at, (mine, theirs) in enumerate(zip(whole, got, strict=True)):
        if at not in calling:
            assert mine == theirs, at
    made = [call["function"] for at in calling for call in deep["messages"][at]["tool_calls"]]
    assert [call["name"] for call in made] == ["artifact_recall", "memory_search", "read_file"]
    for at in calling:
        for call in deep["messages"][at]["tool_calls"]:
            assert f"{call['id']} {call['function']['name']} {call['function']['arguments']}" in whole[at]


def test_a_conversation_stands_once_for_all_cells_of_its_state(site):
    questions = [name for name in site.pages if name.startswith("questions/")]
    assert len(questions) == QUESTIONS
    files = {}
    for state in ("S1-d0", "S1-d80k"):
        of_state = {
            site.talk(f"{state}{condition}", name.removeprefix("questions/mirage-").removesuffix(".html"))
            for name in questions
            for condition in ("", "-Cm")
            if site.at(f"{state}{condition}", name[17:-5]).find(".//iframe") is not None
        }
        assert len(of_state) == 1
        files[state] = of_state.pop()
    assert set(files.values()) == {name for name in site.pages if name.startswith("talks/")}
    assert len(set(files.values())) == 2
    for name in questions:
        assert len((site.folder / name).read_text()) < 60_000


def test_a_folded_conversation_says_its_size_and_where_gold_is(site):
    cell = site.at("S1-d80k")
    count = len(list(site.pages[site.talk("S1-d80k")].iter("div")))
    assert count > 40
    summary = words(cell.find("details/summary"))
    assert re.fullmatch(rf"{count} earlier messages, 6 images, gold \d+ t\d+", summary)
    assert words(site.pages[site.talk("S1-d80k")].find(".//h1")) == f"{count} messages, 6 images"
    link = cell.findall("details/p/a")[1].attrib["href"]
    file, _, fragment = link.removeprefix("../").partition("#")
    assert words(site.pages[file].find(f".//h4[@id='{fragment}']")) == summary.partition("gold ")[2]
    assert "gold" not in words(site.at("S1-d80k", UNANSWERABLE).find("details/summary"))


def test_the_summary_at_s2_is_open(site):
    cell = site.at("S2")
    assert cell.find(".//iframe") is None
    assert WRITTEN in words(cell.findall("div[@class='m']")[1])
    assert facts(cell)["depth"].endswith("1 compaction")


def test_the_answer_keeps_its_lines_and_gold_its_source(site):
    answer = site.at("S1-d0").find("div[@class='answer']/p")
    assert "".join(answer.itertext()) == ANSWER
    header = facts(site.page_of().find("body/header"))
    assert (header["gold"], header["gold source"]) == ("Herb drawer set", "ax_2c541f58")
    header = facts(site.page_of(UNANSWERABLE).find("body/header"))
    assert (header["gold"], header["gold source"], header["asks about"]) == ("NONE", "NONE", "ax_cd3f0982")


def test_indicators_and_what_was_measured_stand_apart(site):
    cell = site.at("S1-d0")
    score = words(cell.findall("div[@class='answer']/p")[1])
    assert re.match(r"mirage gc 0, yes 1, ac 1, sc 0, vc 0, ws 1; by mirage-strict", score)
    assert "depth" not in score
    found = facts(cell)
    assert found["state"] == "S1-d0, condition C0, recall intact, summary verbatim, retention all"
    assert re.match(r"[\d,]+ reference tokens at capture, [\d,]+ in the context at the probe, 0 comp", found["depth"])
    assert re.fullmatch(r"\d+ at capture, \d+ at the probe", found["EIT"])
    assert found["route"] == "tool: 3 calls"
    assert found["recall"].startswith("1 call, 1 with a match, 0 without; came back from any tool: gold text")
    assert facts(site.at("S1-d0-Cm"))["route"] == "context: no tool was run"


def test_the_trace_has_requests_and_tools_in_their_order(site):
    found = [words(step) for step in site.at("S1-d0").iterfind("ol/li")]
    assert "context, 1 of 1 gold" in found[0]
    assert "index" not in found[0]  # nothing is retrieved
    kinds = [step.split()[0] + " " + step.split()[1].rstrip(":") for step in found[1:]]
    assert [kind for kind in kinds if not kind.startswith("answer")][:2] == [
        "call_1 artifact_recall",
        "call_2 memory_search",
    ]
    assert [at for at, kind in enumerate(kinds) if kind.startswith("answer")] == [0, len(kinds) - 3, len(kinds) - 1]
    assert kinds[-2] == "call_3 read_file"
    assert json.dumps({"query": ODD_QUERY}) in next(step for step in found if step.startswith("call_2"))
    assert "tokens in" not in found[1]
    assert "tokens in 3 requests" in found[-1]


def test_arms_stand_by_depth(site):
    arms = [words(link) for link in site.page_of().iterfind(".//table/tbody/tr/th/a")]
    states = [re.sub(r"^tenth-|(-Cm)?-scripted.*", "", arm) for arm in arms]
    assert states == ["S1-d0", "S1-d0", "S1-d80k", "S1-d80k", "S2", "S2"]


def test_a_model_that_never_stops_calling_is_shown_to_its_last_call(site):
    cell = site.at("S1-d0", ENDLESS)
    assert "it went on calling until the limit" in facts(cell)["route"]
    heads = [words(each) for each in cell.iterfind("h3")]
    assert [head for head in heads if head.startswith("request")] == [
        f"request {number} of 6: what was added" for number in range(2, 7)
    ]
    assert heads[-1] == "reply as it came"
    assert words(cell.findall("div[@class='m']")[-1]) == 'artifact_recall {"query": "again 5"}'


def test_every_frame_and_link_to_a_conversation_is_there(site):
    for name, page in site.pages.items():
        ids = [element.attrib["id"] for element in page.iter() if "id" in element.attrib]
        assert len(ids) == len(set(ids)), name
        for element in page.iter():
            file = element.attrib.get("src", element.attrib.get("href", "")).partition("#")[0]
            if "talks/" in file:
                assert (site.folder / "questions" / file).resolve().is_file(), (name, file)
        assert not list(page.iter("script"))


def test_a_lost_text_is_said_in_the_conversation(bench, tmp_path):
    with closing(sqlite3.connect(bench / "cache" / "answers.sqlite")) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(parts)")]
        text = "Before we start on work"
        done = db.execute(f"DELETE FROM parts WHERE instr(CAST({names[1]} AS TEXT), ?) = 1", (text,))
        assert done.rowcount == 1
        db.commit()
    site = make(bench, tmp_path / "out")
    page = site.pages[site.talk("S1-d80k")]
    assert "it is not stored" in words(page.find(".//p[@class='gone']"))
    assert len(list(page.iter("div"))) > 40


def test_a_lost_round_is_said_and_what_follows_is_shown_whole(bench, tmp_path):
    run = next((bench / "runs").glob("0001*"))
    rows = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    row = next(row for row in rows if row["question"] == ASKED and len(row["requests"]) == 3)
    for calls in (run / "calls").glob("*.jsonl"):
        kept = [line for line in calls.read_text().splitlines() if json.loads(line)["key"] != row["requests"][1]]
        calls.write_text("".join(f"{line}\n" for line in kept))
    cell = make(bench, tmp_path / "out").at("S1-d0")
    assert "has no record of request" in words(cell.find("div[@class='answer']"))
    assert [words(each) for each in cell.iterfind("h3") if words(each).startswith("request")] == [
        "request 2 of 2: what was added"
    ]
    assert "call_3 read_file" in words(cell)
    assert "call_1 artifact_recall" in words(cell)


def inspected(bench: Path, out: Path, *args: str) -> Element:
    assert inspect_command(["--bench-dir", str(bench), "--out", str(out), *args]) == 0
    return ElementTree.fromstring(out.read_text(encoding="utf-8"))


def test_inspect_shows_the_first_request_and_then_its_rounds(project, tmp_path):
    page = inspected(project[0], tmp_path / "page.html", ASKED, "--arms", "state=S1-d0,condition=C0")
    column = page.find(".//section[@id='arm-1']")
    heads = [words(each) for each in column.iterfind("h3")]
    first = heads[: heads.index("request 2 of 3: what was added")]
    assert first == ["system", "user", "assistant", "user"]  # the conversation but for its end is folded
    later = heads[len(first) :]
    assert later[:4] == ["request 2 of 3: what was added", "assistant", "tool", "tool"]
    assert "request 3 of 3: what was added" in later
    text = words(column)
    places = [text.index(each) for each in ("call_1 artifact_recall", "call_2 memory_search", "call_3 read_file")]
    assert places == sorted(places)
    assert ODD_QUERY.replace('"', '\\"') in text
    assert re.search(r"\d+ items \(1 of 1 gold\), 6 images; then 3 tool calls", words(page.find(".//tbody/tr/td")))
    answer = page.find(".//td[@class='lines']")
    assert "".join(answer.itertext()) == ANSWER


def test_inspect_shows_a_conversation_in_one_column_and_folds_what_is_missing(project, tmp_path):
    arms = ("state=S1-d80k,condition=C0", "state=S1-d0", "state=S2,condition=C0")
    page = inspected(project[0], tmp_path / "page.html", ASKED, "--arms", *arms)
    columns = page.findall(".//section[@class='arm']")
    assert re.match(r"\d+ earlier messages, 6 images, gold: t\d+", words(columns[0].find("details/summary")))
    assert columns[1].find("details[@class='earlier']") is not None
    same = columns[2].find("p[@class='earlier']")  # C0 and Cm at d0 have one conversation
    assert words(same).endswith(": as in tenth-S1-d0-scripted-none-direct-scripted")
    assert same.find("a").attrib["href"] == "#arm-2"
    away = [words(each) for each in columns[3].iter("summary") if "missing here" in words(each)]
    assert len(away) == 1
    assert int(away[0].split()[0]) > 40


def text(kind: str, words: str, item: str = "") -> Segment:
    return Segment(kind, f"sha of {words}", item, words)


def talk_of(messages: int, asked: bool = True) -> list[ShownMessage]:
    said = [ShownMessage(("user", "assistant")[at % 2], (text("text", f"m{at}", f"t{at}"),)) for at in range(messages)]
    ends = [ShownMessage("user", (text("question", "Which?"),))] if asked else []
    return [ShownMessage("system", (text("instruction", "You"),)), *said, *ends]


@pytest.mark.parametrize("asked", [True, False])
def test_only_a_long_conversation_is_folded(asked):
    assert not earlier(talk_of(LEAST + OPEN - 1, asked))
    found = earlier(talk_of(LEAST + OPEN, asked))
    assert (found.start, len(found)) == (1, LEAST)
    assert not earlier([])
    assert not earlier(talk_of(0))


def test_what_was_added_is_told_by_what_was_sent():
    first = ShownRequest("answer", "a", "m", tuple(talk_of(2)))
    more = ShownMessage("assistant", (text("call", "x"),))
    assert added(ShownRequest("answer", "b", "m", (*first.messages, more)), first) == (more,)
    other = ShownRequest("answer", "b", "m", (*talk_of(1), more))
    assert added(other, first) == other.messages
    arm = ShownArm("a", {}, (), None, "", "", "")
    assert list(rounds(arm)) == []


def call(number: int, name: str) -> Segment:
    body = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return text("call", json.dumps(body))


def test_results_are_told_by_the_order_of_their_calls():
    image = Segment("image", "i", picture=Picture("i", "i", "image/png", 4, 4))
    found = steps(
        [
            ShownMessage("assistant", (text("text", "Let me see."), call(1, "a"), call(2, "b"), text("call", "odd"))),
            ShownMessage("tool", (text("text", "one"),)),
            ShownMessage("tool", (Segment("text", "s", problem="it is not stored"),)),
            ShownMessage("user", (text("note", "Pictures:\n"), image, image)),
        ]
    )
    assert [(step.what, step.text, step.images) for step in found] == [
        ("call_1 a {}", "one", 0),
        ("call_2 b {}", "it is not stored", 0),
        ("odd", None, 0),
        ("Pictures:", "", 2),
    ]
    assert steps([ShownMessage("tool", (text("text", "stray"),))])[0].what == "a result without a call"


def test_a_cell_without_a_trace_claims_no_route():
    row: dict[str, Any] = mirage_row("a0", "e")
    assert list(state_facts(row)) == []
    assert list(state_facts({**mirage_row("a0", "g"), "arm.state": "none"})) == []
    told = dict(state_facts(mirage_row("a0", "g", scores={"tool": 1, "tool_calls": 2, "tool_faults": 1})))
    assert told["EIT"] == "not reported"
    assert told["route"] == "tool: 2 calls; 1 faulty call"


def test_other_words_of_the_same_messages_are_another_conversation():
    said, corpus = talk_of(3), "cd" * 32
    other = [*said[:2], ShownMessage(said[2].role, (text("text", "else", "t1"),)), *said[3:]]
    names = {
        talk_name(said, corpus),
        talk_name(other, corpus),
        talk_name(said, "ef" * 32),
        talk_name([*said[:2], *said[3:]], corpus),
        talk_name([ShownMessage("user", said[0].segments), *said[1:]], corpus),
    }
    assert len(names) == 5
    assert talk_name(talk_of(3), corpus) in names


def test_images_that_a_tool_returned_are_numbered_after_those_of_the_conversation(site):
    images = [image.attrib["alt"].partition(",")[0] for image in site.at("S1-d80k").iter("img")]
    assert images == [f"image {7 + at}" for at in range(len(images))]
    assert images
    folded = [image.attrib["alt"].partition(",")[0] for image in site.pages[site.talk("S1-d80k")].iter("img")]
    assert folded == [f"image {at}" for at in range(1, 7)]
