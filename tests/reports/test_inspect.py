"""``benchsuite inspect`` on a real run: the page shows exactly what an endpoint was sent, or says what is gone."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.cli import main
from benchsuite.errors import ConfigError, DataError
from benchsuite_reports.inspect import arm_name, find_question, inspect_command, select_arms

from . import judged_run as judged
from .judged_run import BROKEN, HOSTILE, PICTURES, QUESTION, judged_run

Element = ElementTree.Element


class Bench(judged.Bench):
    """Looked at by ``benchsuite inspect``."""

    def page(self, *args: str) -> Element:
        """The page of QUESTION, unless other words are given, as a tree."""
        out = self.folder / "page.html"
        given = args if args and not args[0].startswith("--") else (QUESTION, *args)
        assert inspect_command(["--bench-dir", str(self.dir), "--out", str(out), *given]) == 0
        return ElementTree.fromstring(out.read_text(encoding="utf-8"))

    def refused(self, *args: str) -> str:
        """The one line of a command that cannot be carried out."""
        with pytest.raises(ConfigError) as caught:
            inspect_command([*args, "--bench-dir", str(self.dir)])
        assert len(str(caught.value).splitlines()) == 1
        return str(caught.value)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("inspect")
    with judged_run(folder) as bodies:
        yield Bench(folder, bodies)


@pytest.fixture
def bench(finished: Bench, tmp_path: Path) -> Bench:
    """A copy of the finished project, to be spoiled."""
    shutil.copytree(finished.folder / ".bench", tmp_path / ".bench")
    return Bench(tmp_path, finished.bodies)


def overview(page: Element) -> Element:
    found = page.find(".//div[@aria-label='conditions']/table/tbody")
    assert found is not None
    return found


def certificates(page: Element) -> list[list[str]]:
    """A line for each arm that is compared."""
    rows = page.iterfind(".//div[@aria-label='certificates']/table/tbody/tr")
    return [[words(each) for each in row] for row in rows]


def column(page: Element, number: int) -> Element:
    found = page.find(f".//section[@id='arm-{number}']")
    assert found is not None
    return found


def columns(page: Element) -> list[str]:
    return [heading.text or "" for heading in page.iterfind(".//section[@class='arm']/h2")]


def words(element: Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def facts(element: Element | None) -> dict[str, str]:
    """A list of labels and texts."""
    assert element is not None
    return dict(zip(map(words, element.iterfind("dt")), map(words, element.iterfind("dd")), strict=True))


def pictures(page: Element) -> dict[str, bytes]:
    """Every image in the file by the id that columns refer to."""
    found = {}
    for image in page.iterfind(".//section[@class='pictures']//image"):
        kind, _, data = image.attrib["href"].partition(";base64,")
        assert kind.startswith("data:image/")
        found["#" + image.attrib["id"]] = base64.b64decode(data)
    return found


def sent(page: Element, number: int) -> list[list[str | bytes]]:
    """What a column shows, message by message: texts joined as they stand, image bytes between them."""
    known, messages = pictures(page), []
    for message in column(page, number).findall("div[@class='message']"):
        blocks: list[str | bytes] = [""]
        for segment in message.iterfind(".//div[@data-kind]"):
            if "missing" in segment.attrib["class"]:
                continue
            beside = segment.find("div/div[@class='here']")
            if (use := (segment if beside is None else beside).find(".//use")) is not None:
                blocks += [known[use.attrib["href"]], ""]
            else:
                shown = segment.find("div[@class='text']")
                assert shown is not None
                texts = [shown.text, *(f"{each.text if each.tag != 'del' else ''}{each.tail or ''}" for each in shown)]
                blocks[-1] += "".join(text or "" for text in texts)
        messages.append([block for block in blocks if block])
    return messages


def as_blocks(body: dict[str, Any]) -> list[list[str | bytes]]:
    """A request body in the same form, a control character as the page shows it."""
    messages = []
    for message in body["messages"]:
        content = message["content"]
        given = [{"text": content}] if isinstance(content, str) else content
        messages.append(
            [
                block["text"].replace("\x07", "\u2407")
                if "text" in block
                else base64.b64decode(block["image_url"]["url"].partition(";base64,")[2])
                for block in given
            ]
        )
    return messages


def test_every_column_shows_exactly_what_was_sent(finished):
    page = finished.page()
    names = columns(page)
    assert [name.split("-scripted")[0] for name in names] == [
        "32k-recency-k3-noimg",
        "32k-recency-k3-pixels",
        "32k-recency-k3-pixels+s32",
        "32k-recency-k3-noimg+conv",
    ]
    bodies = [as_blocks(body) for body in finished.bodies if body["model"] == "scripted"]
    shown = [sent(page, number) for number in range(1, 5)]
    assert len(bodies) == 4
    assert all(each in bodies for each in shown)
    assert len({repr(each) for each in shown}) == 4
    assert PICTURES["door.png"] in shown[1][1]
    assert any(HOSTILE.replace("\x07", "\u2407") in block for block in shown[0][1])


def test_each_image_is_in_the_file_once_and_a_withheld_arm_has_none(finished):
    page = finished.page()
    beside = {use for there in page.iterfind(".//div[@class='there']") for use in there.iterfind(".//use")}
    used = [
        {use.attrib["href"] for use in column(page, number).iterfind(".//use") if use not in beside}
        for number in range(1, 5)
    ]
    assert used[0] == used[3] == set()
    assert len(used[1]) == len(used[2]) == 2
    assert used[1].isdisjoint(used[2])
    assert pictures(page).keys() == used[1] | used[2]
    for number in (1, 4):
        assert column(page, number).find(".//svg") is None
    sizes = {PillowImage.open(io.BytesIO(pictures(page)[each])).size for each in used[2]}
    assert sizes == {(32, 24), (32, 21)}


def test_differences_are_marked_where_they_are(finished):
    page = finished.page("--arms", "pixels", "pixels+s32", "noimg", "noimg+conv")
    said = words(page.find(".//p[@class='differs']"))
    assert said == (
        "differs in: delivery (pixels, pixels+s32, noimg, noimg+conv); segments: image, role; order of items"
    )
    against = [words(each) for each in overview(page).iterfind("tr/td[2]")]
    assert against == [
        "",
        "changed: 2 images",
        "missing here: 2 images",
        "missing here: 2 images; changed: 2 roles; items in another order",
    ]
    captions = " ".join(words(each) for each in column(page, 2).iterfind(".//p[@class='caption']"))
    assert "there: image 2, 64x48; as stored image 2, 32x24, item 3; png/1 (side 32); the same stored image" in captions
    assert "there: image 1, 90x60; png/1 (side 768) image 1, 32x21, item 2; png/1 (side 32); the same" in captions
    assert [words(each) for each in column(page, 3).iterfind("h3")] == ["system", "user", "answer"]


def test_each_pair_has_its_certificate_above_the_requests(finished):
    lines = certificates(finished.page("--arms", "noimg", "pixels", "pixels+s32", "noimg+conv"))
    assert [line[1:] for line in lines] == [
        ["modality", "yes", "yes", "no count of prompt tokens"],
        ["modality", "yes", "yes", "no count of prompt tokens"],
        ["order", "yes", "yes", "no count of prompt tokens"],
    ]
    assert [line[1] for line in certificates(finished.page("--arms", "pixels", "pixels+s32"))] == ["side"]
    assert certificates(finished.page("--arms", "pixels")) == []


def test_a_pair_that_differs_elsewhere_or_has_no_record_says_so(bench):
    (calls,) = (bench.run / "calls").iterdir()
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    for line in lines:
        if "-pixels-" in line["cell"] and line["role"] == "answer":
            line["params"]["max_tokens"] = 7
    calls.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    ((_, _, matched, altered, _),) = certificates(bench.page("--arms", "noimg", "pixels"))
    assert re.fullmatch(r"no max_tokens (\d+|not set) against 7", matched)
    assert altered == "yes"
    kept = [line for line in lines if not ("-pixels-" in line["cell"] and line["role"] == "answer")]
    calls.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept))
    ((_, _, matched, *_),) = certificates(bench.page("--arms", "noimg", "pixels"))
    assert matched == "not certified: no record of the request in calls/ of run 0001_nogit_run"


def test_an_image_that_is_not_what_its_record_makes_is_not_altered(bench):
    """The pixels are looked at: a record alone is no proof."""
    buffer = io.BytesIO()
    PillowImage.new("RGB", (32, 24), "blue").save(buffer, "PNG")
    (calls,) = (bench.run / "calls").iterdir()
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    for path in bench.dir.glob("cache/image/*/image.png"):
        if PillowImage.open(path).size == (32, 24):
            calls.write_text(calls.read_text().replace(hashlib.sha256(path.read_bytes()).hexdigest(), digest))
            path.write_bytes(buffer.getvalue())
    ((_, variables, _, altered, _),) = certificates(bench.page("--arms", "pixels", "pixels+s32"))
    assert variables == "side"
    assert altered.endswith("it is not what its record makes of the stored image")


def test_a_run_of_another_folder_brings_its_own_caches(bench, tmp_path):
    page = bench.page("--arms", "pixels", "pixels+s32", "--run", str(bench.run), "--bench-dir", str(tmp_path / "other"))
    assert page.find(".//p[@class='gone']") is None
    assert [line[1:4] for line in certificates(page)] == [["side", "yes", "yes"]]


def test_question_answer_and_facts_are_shown(finished):
    page = finished.page("--arms", "pixels")
    assert words(page.find(".//h1")) == f"Which colour has the <b>door</b> of {QUESTION}?"
    about = facts(page.find("body/header/dl"))
    assert about["gold"] == "red"
    assert about["type"] == "information_extraction"
    assert about["date"] == "2024/05/31 (Fri) 07:58"
    assert about["run"].startswith("0001_nogit_run")
    content, answer, outcome = (words(each) for each in overview(page).iterfind("tr/td"))
    assert (content, answer) == ("3 items (1 of 1 gold), 2 images", "red")
    assert outcome.startswith("right ")
    assert [words(each) for each in page.iterfind(".//p[@class='name']") if each.find("span") is not None] == [
        "item 3 s1t1 gold"
    ]
    arm = column(page, 1)
    about = facts(arm.find("dl"))
    row_on_disk = next(row for row in rows(finished.run) if "-pixels-" in row["cell"] and row["question"] == QUESTION)
    assert about["request"] == row_on_disk["requests"][0]
    assert about["judge request"] == row_on_disk["requests"][1]
    assert about["served as"] == "scripted-1"
    assert about["k"] == "3"
    assert about["retrieval"] == "recency"
    assert "judge grader: VERDICT=1" in [words(each) for each in arm.iterfind("details/summary")]
    assert page.find(".//p[@class='check']") is None  # a user's corpus may be evidence


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]


def test_a_cell_without_an_answer_has_its_error_and_no_request(finished):
    page = finished.page(BROKEN, "--arms", "noimg")
    assert "no request to show: http error: " in words(column(page, 1))
    assert "HTTP 400: no <i>such</i> thing" in words(column(page, 1))
    assert words(overview(page).find("tr/td[3]")) == "error not scored"
    assert page.find(".//i") is None


def test_a_bundled_corpus_is_no_evidence(bench):
    info = json.loads((bench.run / "run.json").read_text())
    for corpus in info["corpora"].values():
        corpus["bundled"] = True
    (bench.run / "run.json").write_text(json.dumps(info))
    assert words(bench.page().find(".//p[@class='check']")) == "pipeline check, not evidence"


def spoil_prepared(bench: Bench) -> None:
    for path in bench.dir.glob("cache/image/*/image.png"):
        if PillowImage.open(path).size == (32, 24):
            path.write_bytes(PICTURES["door.png"])


def remove_prepared(bench: Bench) -> None:
    shutil.rmtree(bench.dir / "cache" / "image")


def spoil_stored(bench: Bench) -> None:
    """The corpus' own image changes after the run."""
    images = bench.folder / "images"
    images.mkdir()
    (images / "door.png").write_bytes(PICTURES["gate.jpg"])
    metas = bench.dir.glob("cache/corpus/*/meta.json")
    [mine] = [path for path in metas if json.loads(path.read_text())["suite"] == "memlens"]
    edit_json(mine, lambda meta: meta.update(image_root=str(images)))


def remove_corpus(bench: Bench) -> None:
    shutil.rmtree(bench.dir / "cache" / "corpus")


def edit_json(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def spoil_text(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.dir / "cache" / "answers.sqlite")) as db:
        assert db.execute("UPDATE parts SET bytes=? WHERE bytes=?", (b"Bad.\n", b"Fine.\n")).rowcount == 1
        db.commit()


def remove_text(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.dir / "cache" / "answers.sqlite")) as db:
        assert db.execute("DELETE FROM parts WHERE bytes=?", (b"Fine.\n",)).rowcount == 1
        db.commit()


@pytest.mark.parametrize(
    ("spoil", "arm", "said", "images_left"),
    [
        (
            spoil_prepared,
            "pixels+s32",
            "image 2, 32x24, item 3: sha256 {}: what is stored for it has another sha256",
            1,
        ),
        (remove_prepared, "pixels+s32", "image 1, 32x21, item 2: sha256 {}: it cannot be read: No such file", 0),
        (spoil_stored, "pixels", "image 2, 64x48, item 3: sha256 {}: .*door.png: the image changed after it was", 1),
        (remove_corpus, "pixels", "image 2, 64x48, item 3: sha256 {}: there is no corpus", 1),
        (spoil_text, "noimg", "a text of 6 characters, sha256 {}: what is stored for it has another sha256", 0),
        (remove_text, "noimg", "a text of 6 characters, sha256 {}: it is not stored", 0),
    ],
)
def test_what_is_gone_or_changed_is_shown_as_such(bench, spoil, arm, said, images_left):
    before = bench.page("--arms", arm)
    assert before.find(".//p[@class='gone']") is None
    spoil(bench)
    after = bench.page("--arms", arm)
    found = [words(each) for each in after.iterfind(".//p[@class='gone']")]
    assert any(re.match(said.format("[0-9a-f]{64}"), line) for line in found), found
    assert len(pictures(after)) == images_left
    assert len(after.findall(".//div[@data-kind]")) == len(before.findall(".//div[@data-kind]"))


def test_without_its_corpus_the_question_is_the_one_that_was_sent(bench):
    remove_corpus(bench)
    page = bench.page("--arms", "noimg")
    assert f"<b>door</b> of {QUESTION}?" in words(page.find(".//h1"))
    assert facts(page.find("body/header/dl"))["corpus index"].startswith("there is no corpus ")


@pytest.mark.parametrize("file", ["answers.sqlite", "parts"])
def test_a_run_whose_texts_were_not_stored_has_no_page(bench, file):
    if file == "parts":
        with closing(sqlite3.connect(bench.dir / "cache" / "answers.sqlite")) as db:
            db.execute("DELETE FROM parts")
            db.commit()
    else:
        for path in (bench.dir / "cache").glob("answers.sqlite*"):
            path.unlink()
    said = bench.refused(QUESTION)
    assert said.startswith("run 0001_nogit_run: none of the texts that it sent is in ")
    assert "--bench-cache off" in said


def test_a_lost_or_broken_record_is_named(bench):
    (calls,) = (bench.run / "calls").iterdir()
    lines = calls.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not ("-noimg-" in line and '"role":"answer"' in line)]
    assert len(kept) == len(lines) - 1
    calls.write_text("".join(kept))
    page = bench.page("--arms", "noimg", "pixels")
    assert "no request to show: calls/ has no record of request " in words(column(page, 1))
    calls.write_text("".join(line.replace('"messages"', '"massages"') for line in lines))
    with pytest.raises(DataError, match="not the record of a request: KeyError"):
        bench.page()
    calls.write_text("".join(line.replace('"key"', '"quay"') for line in lines))
    with pytest.raises(DataError, match=r"main\.jsonl:\d+: not the record of a call"):
        bench.page()


def test_what_cannot_be_found_is_one_line(bench):
    assert bench.refused("q_eb8f0326").startswith("no question 'q_eb8f0326' in any finished run in ")
    assert "nearest: " in bench.refused("q_eb8f0326")
    assert QUESTION in bench.refused("q_eb8f0326", "--run", "1")
    assert bench.refused("q_eb8f031") == (
        f"'q_eb8f031' may be 2 questions of run 0001_nogit_run: {QUESTION} (memlens), {BROKEN} (memlens)"
    )
    assert bench.refused(QUESTION, "--run", "7") == f"no run '7' in {bench.dir}; the last are: 0001_nogit_run"
    said = bench.refused(QUESTION, "--arms", "pixels", "oracle-pixels")
    assert said.startswith("no arm 'oracle-pixels'; there are: 32k-recency-k3-noimg-")
    assert bench.refused(QUESTION, "--arms", "delivry=pixels").startswith(
        "no axis 'delivry' in 'delivry=pixels'; axes: "
    )
    assert bench.refused(QUESTION, "--against", "recency").startswith("--against 'recency' fits 4 arms: ")
    assert bench.refused(QUESTION, "--against", "x").startswith("--against 'x' fits no arm; there are: ")
    nowhere = bench.folder / "file" / "page.html"
    nowhere.parent.write_text("")
    assert "cannot be written: " in bench.refused(QUESTION, "--out", str(nowhere))
    with pytest.raises(ConfigError, match="no such folder"):
        inspect_command([QUESTION, "--bench-dir", str(bench.folder / "absent")])


def test_the_newest_finished_run_is_taken_unless_another_is_named(bench):
    newer, open_one = bench.run.with_name("0002_nogit_nightly"), bench.run.with_name("0003_nogit_open")
    for copy in (newer, open_one):
        shutil.copytree(bench.run, copy)
    edit_json(newer / "run.json", lambda info: info.update(number=2, name="nightly"))
    edit_json(open_one / "run.json", lambda info: info.update(number=3, name="open", finished=None))
    empty = newer.with_name("0004_nogit_empty")
    shutil.copytree(newer, empty)
    edit_json(empty / "run.json", lambda info: info.update(number=4, name="empty", cells=0))
    (empty / "outcomes.jsonl").write_text("")

    def taken(*args: str) -> str:
        return facts(bench.page(*args).find("body/header/dl"))["run"].partition(",")[0]

    assert taken() == "0002_nogit_nightly"
    assert taken("--run", "1") == taken("--run", "0001") == taken("--run", "run") == "0001_nogit_run"
    assert taken("--run", "nightly") == "0002_nogit_nightly"
    assert taken("--run", str(open_one)) == taken("--run", "3") == "0003_nogit_open"
    for run in (bench.run, newer, empty):
        shutil.rmtree(run)
    assert bench.refused(QUESTION) == f"{bench.dir}: no finished run; --run names one that is not finished"


def test_a_cell_names_its_question_and_comes_first(finished):
    run, found = find_question(finished.dir, QUESTION)
    cell = str(found[2]["cell"])
    assert [arm_name(row) for row in found] == columns(finished.page())
    for asked in (cell, cell.partition(":")[2]):
        assert columns(finished.page(asked))[0] == arm_name(found[2])
    assert run.path == finished.run


def test_arms_are_selected_by_axes_or_by_words(finished):
    _, found = find_question(finished.dir, QUESTION)

    def names(selections: list[str], against: str = "") -> tuple[list[str], int]:
        chosen, base = select_arms(found, selections, against)
        return [str(row["arm.delivery"]) for row in chosen], base

    assert names([]) == (["noimg", "pixels", "pixels+s32", "noimg+conv"], 0)
    assert names(["noimg"]) == (["noimg"], 0)
    assert names(["recency-pixels", "32k-noimg"]) == (["pixels", "noimg"], 0)
    assert names(["retrieval=recency,delivery=noimg+conv", "k=3"])[0] == ["noimg+conv", "noimg", "pixels", "pixels+s32"]
    assert names(["noimg", "pixels"], "pixels") == (["noimg", "pixels"], 1)
    assert names(["noimg"], "pixels+s32") == (["pixels+s32", "noimg"], 0)


def test_the_command_is_one_of_benchsuite(bench, tmp_path, monkeypatch, capsys):
    meta = tmp_path / "site" / "benchsuite_inspect-1.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: benchsuite-inspect\nVersion: 1\n")
    (meta / "entry_points.txt").write_text(
        "[benchsuite.commands]\ninspect = benchsuite_reports.inspect:inspect_command\n"
    )
    monkeypatch.syspath_prepend(str(meta.parent))
    monkeypatch.chdir(bench.folder)
    assert main(["inspect", QUESTION]) == 0
    page = Path(".bench") / "runs" / "0001_nogit_run" / "pages" / f"{QUESTION}.html"
    assert capsys.readouterr().out == f"{page}: {QUESTION} under 4 arms of run 0001_nogit_run\n"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["inspect", "nothing"]) == 4
    error = capsys.readouterr().err
    assert error.startswith("benchsuite: no question 'nothing' in any finished run in .bench; nearest: ")
    assert error.count("\n") == 1


DOCS = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text()


@pytest.mark.parametrize("line", re.findall(r"^benchsuite inspect (.*)$", DOCS, re.MULTILINE))
def test_a_command_of_the_docs_runs(bench, monkeypatch, line):
    monkeypatch.chdir(bench.folder)
    given = line.replace("oracle", "recency").replace("q_eb8 ", f"{QUESTION} ")  # arms and ids of this run
    assert inspect_command(shlex.split(given)) == 0
