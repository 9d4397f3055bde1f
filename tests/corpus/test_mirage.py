"""The MIRAGE loader: a bank is read as written, every fault names file, item and field, scripts reach each process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchsuite.corpus.codec import decode_script, encode_script
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.mirage import MINI_FOLDER, mirage_source
from benchsuite.corpus.model import Evidence
from benchsuite.corpus.script import Scale, WorkspaceFile
from benchsuite.corpus.store import IndexedCorpus, index_corpus, open_corpus
from benchsuite.errors import ConfigError, DataError

from .conftest import write_bank

Bank = dict[str, Any]


@pytest.fixture
def bank(example_bank: Bank) -> Bank:
    return example_bank


@pytest.fixture
def folder(bank_folder: Path) -> Path:
    return bank_folder


def opened(spec: str, cache: Path) -> IndexedCorpus:
    return open_corpus(index_corpus(mirage_source(spec), cache))


def test_the_example_of_the_page_is_a_bank(bank: Bank, folder: Path, tmp_path: Path) -> None:
    corpus = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    assert (corpus.suite, corpus.name, corpus.bundled, corpus.lengths) == ("mirage", "mine", False, ("short", "long"))
    first, second = (corpus.question("short", outline.id) for outline in corpus.outline("short"))
    assert (first.id, first.type, first.gold, first.answerable) == ("mq_00000001", "value", "214.6", True)
    assert (first.split, first.cluster, first.date) == ("main", "ax_01", "")
    assert first.labels == ("difficulty:lookup", "query:value", "risk:none", "family:bar_chart+")
    assert first.evidence == Evidence(turn_ids=("t1",), sources=("ax_01",))
    assert (second.gold, second.answerable, second.cluster) == ("NONE", False, "ax_01")
    assert second.evidence == Evidence()
    assert second.labels[-1] == "family:bar_chart-"


def test_the_history_is_the_planting(bank: Bank, folder: Path, tmp_path: Path) -> None:
    corpus = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    history = corpus.history(corpus.outline("short")[0].history_id)
    assert [(turn.id, turn.role, len(turn.images)) for turn in history.turns] == [
        ("t1", "user", 1),
        ("t2", "assistant", 0),
        ("t3", "user", 0),
        ("t4", "assistant", 0),
    ]
    image = history.turns[0].images[0]
    assert (image.width, image.height, len(corpus.image_bytes(image))) == (40, 30, image.size)
    assert list(corpus.outline("short")) == list(corpus.outline("long"))


def test_the_script_is_read_back(bank: Bank, folder: Path, tmp_path: Path) -> None:
    corpus = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    history_id = corpus.outline("short")[0].history_id
    script = corpus.script(history_id)
    assert script is not None
    assert script is corpus.script(history_id)
    assert (script.persona, script.seed) == ("Your user keeps bees and writes software.", 7)
    assert dict(script.scales) == {
        "short": Scale(per_k=100, planted=0, compaction=10_000),
        "long": Scale(per_k=1000, planted=23_000, compaction=100_000, kept=2, summary_words=1200, rounds=3),
    }
    assert list(script.scales) == ["short", "long"]
    chart, mail = script.artifacts
    assert (chart.id, chart.kind, chart.path, chart.turn) == ("ax_01", "bar_chart", "artifacts/ax_01.png", "t1")
    assert chart.images == corpus.history(history_id).turns[0].images
    assert chart.records == (WorkspaceFile("records/ax_01.csv", "hive,kg\nQuarry Lane,214.6\n", "t1"),)
    assert (mail.turn, mail.text, mail.images) == ("t3", "The fee is 318.75.", ())
    assert script.files == (
        WorkspaceFile("README.md", "There from the start."),
        WorkspaceFile("memory/2026-03-02.md", "A chart came.", "t2"),
    )
    assert script.filler[0].turns[1] == ("Here it is.", "Thanks.")
    assert script.aliases["records/ax_01.csv"] == "ax_01"
    assert decode_script(encode_script(script)) == script
    with pytest.raises(ConfigError, match="no history 'x'"):
        corpus.script("x")


def test_a_corpus_without_scripts_has_none(tmp_path: Path) -> None:
    tiny = Path(__file__).parents[1] / "data" / "memlens-tiny"
    corpus = open_corpus(index_corpus(memlens_source(str(tiny)), tmp_path))
    assert corpus.script(corpus.outline("32k")[0].history_id) is None
    assert not list(tmp_path.rglob("*.script.json"))


def test_another_process_reads_the_same_script(tmp_path: Path) -> None:
    path = index_corpus(mirage_source("mirage-mini#main"), tmp_path)
    corpus = open_corpus(path)
    history_id = corpus.outline("tenth")[0].history_id
    code = (
        "import sys, pathlib; from benchsuite.corpus.store import open_corpus;"
        "from benchsuite.corpus.codec import encode_script;"
        f"sys.stdout.buffer.write(encode_script(open_corpus(pathlib.Path({str(path)!r})).script({history_id!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert decode_script(done.stdout) == corpus.script(history_id)


def test_a_folder_and_its_file_are_one_corpus(bank: Bank, folder: Path, tmp_path: Path) -> None:
    write_bank(folder, bank)
    by_folder, by_file = (opened(str(path), tmp_path / "cache") for path in (folder, folder / "bank.json"))
    assert by_folder.digest == by_file.digest
    assert by_file.files.keys() == {"bank.json"}


def test_a_change_of_the_bank_is_another_corpus(bank: Bank, folder: Path, tmp_path: Path) -> None:
    one = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    bank["filler"][0]["turns"][0][0] = "Two tests are red."
    other = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    assert one.digest != other.digest
    assert one.outline("short")[0].history_id == other.outline("short")[0].history_id


@pytest.mark.parametrize(("spec", "splits"), [("", {"main", "extension"}), ("#all", {"main", "extension"})])
def test_every_split_is_asked_unless_one_is_named(spec: str, splits: set[str], tmp_path: Path) -> None:
    corpus = opened(f"mirage-mini{spec}", tmp_path)
    assert corpus.bundled
    assert {outline.split for outline in corpus.outline("tenth")} == splits
    assert len({outline.history_id for outline in corpus.outline("tenth")}) == 2


def test_a_split_is_asked_alone(tmp_path: Path) -> None:
    corpus = opened("mirage-mini#extension", tmp_path)
    assert corpus.name == "mirage-mini#extension"
    assert {outline.split for outline in corpus.outline("paper")} == {"extension"}
    assert len(list(tmp_path.rglob("*.script.json"))) == 1


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("mirage-mini#dev", "no split 'dev'; there is: main, extension, all"),
        ("no/such/place", "no such file or folder"),
        (str(MINI_FOLDER / "images"), "no bank.json in this folder"),
    ],
)
def test_a_spec_that_means_nothing(spec: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        mirage_source(spec)


def _split(bank: Bank) -> Bank:
    main: Bank = bank["splits"]["main"]
    return main


def _probe(bank: Bank, number: int = 0) -> Bank:
    probe: Bank = _split(bank)["probes"][number]
    return probe


def _twin(bank: Bank) -> None:
    other = json.loads(json.dumps(_split(bank)))
    for place, artifact in enumerate(other["artifacts"]):
        artifact["id"] = f"bx_{place}"
        artifact["path"] = f"artifacts/bx_{place}.png"
    other["turns"][0]["artifact"], other["turns"][2]["artifact"] = "bx_0", "bx_1"
    other["probes"] = [{**other["probes"][1], "id": "mq_9", "artifact": "bx_0"}]
    bank["splits"]["again"] = other


FAULTS: dict[str, tuple[Callable[[Bank], object], str]] = {
    "probe twice": (
        lambda b: _split(b)["probes"].append(dict(_probe(b))),
        "item mq_00000001: id: the probe id occurs twice",
    ),
    "artefact twice": (
        lambda b: _split(b)["artifacts"].append({**_split(b)["artifacts"][1], "path": "artifacts/else.eml"}),
        "item ax_02: id: the artefact id occurs twice",
    ),
    "task twice": (lambda b: b["filler"].append(b["filler"][0]), "item f01: id: the task id occurs twice"),
    "path twice": (
        lambda b: _split(b)["artifacts"][1].update(path="artifacts/ax_01.png"),
        "item ax_02: path: the path 'artifacts/ax_01.png' occurs twice",
    ),
    "record's path twice": (
        lambda b: _split(b)["files"].append({"path": "records/ax_01.csv", "text": "x"}),
        "item split main: files[1].path: the path 'records/ax_01.csv' occurs twice",
    ),
    "id is a path": (
        lambda b: _split(b)["files"].append({"path": "ax_02", "text": "x"}),
        "item split main: artifacts: 'ax_02' is an artefact id and a path",
    ),
    "path outside": (
        lambda b: _split(b)["artifacts"][1].update(path="../ax_02.eml"),
        "item ax_02: path: '../ax_02.eml' is no plain path inside the workspace",
    ),
    "absolute path": (
        lambda b: _split(b)["turns"][1]["files"][0].update(path="/etc/x"),
        "item split main: turns[1].files[0].path: '/etc/x' is no plain path",
    ),
    "unknown artefact": (
        lambda b: _probe(b).update(artifact="ax_09"),
        "item mq_00000001: artifact: there is no artefact 'ax_09'",
    ),
    "unknown source": (
        lambda b: _probe(b).update(source="ax_09"),
        "item mq_00000001: source: there is no artefact 'ax_09'",
    ),
    "unknown artefact planted": (
        lambda b: _split(b)["turns"][2].update(artifact="ax_09"),
        "item split main: turns[2].artifact: there is no artefact 'ax_09'",
    ),
    "planted twice": (
        lambda b: _split(b)["turns"][2].update(artifact="ax_01"),
        "item split main: turns[2].artifact: the artefact 'ax_01' is planted twice",
    ),
    "never planted": (
        lambda b: _split(b)["turns"][2].pop("artifact"),
        "item split main: turns: no turn plants the artefact 'ax_02'",
    ),
    "answer missing": (
        lambda b: _probe(b).pop("answer"),
        "item mq_00000001: answer: missing: the probe is answerable",
    ),
    "source missing": (
        lambda b: _probe(b).update(source="NONE"),
        "item mq_00000001: source: missing: the probe is answerable",
    ),
    "answer given": (
        lambda b: _probe(b, 1).update(answer="3"),
        "item mq_00000002: answer: '3' is given, but the probe is unanswerable",
    ),
    "source given": (
        lambda b: _probe(b, 1).update(source="ax_01"),
        "item mq_00000002: source: 'ax_01' is given, but the probe is unanswerable",
    ),
    "answer is a number": (lambda b: _probe(b).update(answer=3), "answer: a string is needed, not a number"),
    "no flag": (lambda b: _probe(b).update(answerable="yes"), "answerable: true or false is needed, not a string"),
    "difficulty": (lambda b: _probe(b).update(difficulty="hard"), "difficulty: 'hard' is unknown; there is: lookup"),
    "risk": (lambda b: _probe(b).update(risk=""), "mq_00000001: risk: empty"),
    "family": (lambda b: _probe(b).update(family="bar_chart-"), "family: 'bar_chart-' must end in '+'"),
    "unknown field": (lambda b: _probe(b).update(anwser="3"), "item mq_00000001: anwser: unknown field"),
    "question missing": (lambda b: _probe(b).pop("question"), "item mq_00000001: question: missing"),
    "half a surrogate": (lambda b: _probe(b).update(question="\ud83d"), "question: half a surrogate pair"),
    "nothing shown": (
        lambda b: _split(b)["artifacts"][1].pop("text"),
        "item ax_02: images: an artefact needs images or a text",
    ),
    "image missing": (
        lambda b: _split(b)["artifacts"][0].update(images=["ax_07.png"]),
        "item ax_01: images[0]: ax_07.png: the image is absent",
    ),
    "image outside": (
        lambda b: _split(b)["artifacts"][0].update(images=["../bank.json"]),
        "item ax_01: images[0]: the image path '../bank.json' leaves the image folder",
    ),
    "turn's image missing": (
        lambda b: _split(b)["turns"][2].update(images=["no.png"]),
        "item split main: turns[2].images[0]: no.png: the image is absent",
    ),
    "image is a URL": (
        lambda b: _split(b)["artifacts"][0].update(images=["http://x/y.png"]),
        "images[0]: http://x/y.png: the image is remote",
    ),
    "image of the assistant": (
        lambda b: _split(b)["turns"][1].update(images=["ax_01.png"]),
        "turns[1].images: only the user shows images",
    ),
    "role": (lambda b: _split(b)["turns"][0].update(role="system"), "turns[0].role: 'system' is unknown"),
    "compaction": (lambda b: b["scales"]["long"].update(compaction=0), "item long: scales.compaction: 0 is below 1"),
    "per_k": (lambda b: b["scales"]["short"].pop("per_k"), "item short: scales.per_k: missing"),
    "scale of text": (lambda b: b["scales"]["short"].update(kept="2"), "scales.kept: a whole number is needed"),
    "no scales": (lambda b: b.update(scales={}), "scales: an object with at least one entry is needed"),
    "scale's name": (lambda b: b.update(scales={"a/b": {}}), "item a/b: scales: a scale needs a plain name"),
    "no probes": (lambda b: _split(b).update(probes=[]), "item split main: probes: empty"),
    "no filler": (lambda b: b.pop("filler"), "bank.json: filler: missing"),
    "filler pair": (
        lambda b: b["filler"][0]["turns"].append(["alone"]),
        "item f01: turns[2]: two texts are needed",
    ),
    "answer in the filler": (
        lambda b: b["filler"][0]["turns"][1].__setitem__(1, "It took 0,214.60 s, or 214.60kg."),
        "item f01: turns[1][1]: the filler says '214.6', the answer of probe mq_00000001",
    ),
    "id in the filler": (
        lambda b: b["filler"][0]["turns"][0].__setitem__(0, "Look at AX_02 again"),
        "item f01: turns[0][0]: the filler names 'ax_02'",
    ),
    "path in the filler": (
        lambda b: b["filler"][0]["turns"][0].__setitem__(0, "cat records/ax_01.csv"),
        "item f01: turns[0][0]: the filler names",
    ),
    "two splits alike": (_twin, "item split again: turns: the same as those of 'main'"),
    "another format": (lambda b: b.update(format="2"), "format: '2' is unknown; there is: mirage-bank/1"),
    "split named all": (lambda b: b["splits"].update(all=b["splits"].pop("main")), "a split needs another name"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_with_file_item_and_field(fault: str, bank: Bank, folder: Path) -> None:
    spoil, problem = FAULTS[fault]
    spoil(bank)
    write_bank(folder, bank)
    with pytest.raises(DataError) as caught:
        _read(folder)
    line = str(caught.value)
    assert line.startswith(str(folder / "bank.json"))
    assert problem in line
    assert "\n" not in line


def _read(folder: Path) -> None:
    source = mirage_source(str(folder))
    images = ImageIndex(source.image_root)
    for length in source.lengths:
        list(source.records(length, images))
    source.scripts(images)


@pytest.mark.parametrize(
    ("text", "problem"), [("{", "not JSON"), ("[]", "an object is needed, not a list"), ('{"format": null}', "missing")]
)
def test_a_file_that_is_no_bank(text: str, problem: str, folder: Path) -> None:
    with pytest.raises(DataError, match=problem):
        mirage_source(str(write_bank(folder, text)))


def test_a_broken_picture_is_refused(bank: Bank, folder: Path) -> None:
    (folder / "images" / "ax_01.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"item ax_01: images\[0\]: ax_01\.png: not a PNG"):
        _read(write_bank(folder, bank))


@pytest.mark.parametrize("said", ["version 2.214.6", "1214.6 rows", "at 2:14.6", "214.65", "214 6"])
def test_another_number_is_no_answer(said: str, bank: Bank, folder: Path) -> None:
    bank["filler"][0]["turns"][0][0] = said
    _read(write_bank(folder, bank))


def test_a_name_is_looked_for_as_words(bank: Bank, folder: Path) -> None:
    _probe(bank)["answer"] = "Oda Ferrand"
    bank["filler"][0]["turns"][0][0] = "the coda ferrand"
    _read(write_bank(folder, bank))
    bank["filler"][0]["turns"][0][0] = "ask ODA  ferrand."
    with pytest.raises(DataError, match="the filler says 'Oda Ferrand'"):
        _read(write_bank(folder, bank))


def test_a_turn_may_show_other_pictures(bank: Bank, folder: Path, tmp_path: Path) -> None:
    _split(bank)["turns"][0]["images"] = []
    corpus = opened(str(write_bank(folder, bank)), tmp_path / "cache")
    history_id = corpus.outline("short")[0].history_id
    script = corpus.script(history_id)
    assert script is not None
    assert corpus.history(history_id).turns[0].images == ()
    assert len(script.artifacts[0].images) == 1
