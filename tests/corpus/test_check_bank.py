"""`benchsuite data check` of a MIRAGE bank: each fault is found in the loader's words, and the check goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage
from PIL.PngImagePlugin import PngInfo

from benchsuite.commands.data import bank_measures, data_command
from benchsuite.corpus.check.bank import BankPath, Measures, Reached, bank_path, check_bank
from benchsuite.corpus.check.report import Report
from benchsuite.corpus.images import ImageIndex
from benchsuite.corpus.mirage import MINI_FOLDER, mirage_source
from benchsuite.corpus.model import Turn
from benchsuite.delivery.images import decode
from benchsuite.errors import ConfigError, DataError

from .conftest import write_bank

Raw = dict[str, Any]


def words(turns: Sequence[Turn]) -> int:
    return sum(len(turn.text.split()) for turn in turns)


PLAIN = Measures("words", words, lambda bank, split, scale, state: Reached(100, 100))
"""Measures that play no trunk."""


@pytest.fixture
def raw(example_bank: Raw) -> Raw:
    return example_bank


@pytest.fixture
def folder(bank_folder: Path) -> Path:
    return bank_folder


def checked(folder: Path, raw: object, measures: Measures = PLAIN, split: str = "") -> Report:
    return check_bank(BankPath(write_bank(folder, raw) / "bank.json", split), decode, measures)


def main(raw: Raw) -> Raw:
    found: Raw = raw["splits"]["main"]
    return found


def table(report: Report, number: int) -> dict[str, tuple[str, ...]]:
    return {row[0].strip(): row[1:] for row in report.tables[number]}


def test_the_example_of_the_page_has_no_errors(raw: Raw, folder: Path) -> None:
    report = checked(folder, raw)
    assert not report.errors.counts
    sizes = table(report, 0)
    assert sizes["counts"] == ("main",)
    wanted = {
        "probes": "2",
        "answerable": "1",
        "unanswerable": "1",
        "difficulty lookup": "2",
        "risk none": "2",
        "query value": "2",
        "family bar_chart+": "1",
        "family bar_chart-": "1",
        "artefacts": "2",
        "with images": "1",
        "workspace files beside them": "3",
        "planting turns": "4",
        "images shown": "1",
    }
    assert {name: sizes[name] for name in wanted} == {name: (count,) for name, count in wanted.items()}
    text = "\n".join(report.lines())
    assert re.search(r"^bank\.json +[\d,]+ bytes  sha256 [0-9a-f]{64}$", text, re.MULTILINE)
    assert "filler: 1 tasks, 2 exchanges, 12 reference tokens, the longest exchange 8" in text
    assert "audits of topics, of what is shown and of what is absent: not made, without a drawn.json" in text


FAULTS: dict[str, tuple[Callable[[Raw], object], str]] = {
    "unknown difficulty": (lambda raw: main(raw)["probes"][0].update(difficulty="hard"), "difficulty"),
    "no question": (lambda raw: main(raw)["probes"][1].pop("question"), "question"),
    "an id twice": (lambda raw: main(raw)["probes"][1].update(id="mq_00000001"), "id"),
    "no probe": (lambda raw: main(raw)["probes"].append(7), "bank.json"),
    "an artefact that is not there": (lambda raw: main(raw)["probes"][0].update(source="ax_09"), "source"),
    "an answer in vain": (lambda raw: main(raw)["probes"][1].update(answer="3"), "answer"),
    "an unknown field of an artefact": (lambda raw: main(raw)["artifacts"][0].update(moon=1), "moon"),
    "an artefact without a kind": (lambda raw: main(raw)["artifacts"][1].pop("kind"), "kind"),
    "an artefact without an id": (lambda raw: main(raw)["artifacts"][1].pop("id"), "id"),
    "a path that leaves": (lambda raw: main(raw)["artifacts"][1].update(path="../a.eml"), "path"),
    "an image that is not there": (lambda raw: main(raw)["artifacts"][0].update(images=["no.png"]), "images[]"),
    "a picture of the assistant": (lambda raw: main(raw)["turns"][1].update(images=["ax_01.png"]), "turns[].images"),
    "planted twice": (lambda raw: main(raw)["turns"][2].update(artifact="ax_01"), "turns[].artifact"),
    "a turn without a text": (lambda raw: main(raw)["turns"][3].pop("text"), "turns[].text"),
    "no probes": (lambda raw: main(raw).update(probes=[]), "probes"),
    "an unknown field of a split": (lambda raw: main(raw).update(moon=1), "moon"),
    "a scale without depth": (lambda raw: raw["scales"]["short"].update(per_k=0), "scales.per_k"),
    "a task without turns": (lambda raw: raw["filler"][0].update(turns=[]), "turns"),
    "a lone text": (lambda raw: raw["filler"][0]["turns"][1].pop(), "turns[]"),
    "a leak": (lambda raw: raw["filler"][0]["turns"][1].__setitem__(1, "It took 214.60 s."), "turns[][]"),
    "a name in the filler": (lambda raw: raw["filler"][0]["turns"][0].__setitem__(0, "See ax_02."), "turns[][]"),
    "the same planting": (lambda raw: raw["splits"].update(other=twin(main(raw))), "turns"),
    "no persona": (lambda raw: raw.pop("persona"), "persona"),
    "no filler": (lambda raw: raw.pop("filler"), "filler"),
    "another format": (lambda raw: raw.update(format="mirage-bank/9"), "format"),
}


def load(folder: Path) -> None:
    source = mirage_source(str(folder))
    source.bank(ImageIndex(source.image_root))


def twin(split: Raw) -> Raw:
    """The same split with other ids of probes and artefacts."""
    text = json.dumps(split)
    for old, new in (("mq_0", "mq_1"), ('ax_01"', 'ax_11"'), ('ax_02"', 'ax_12"')):
        text = text.replace(old, new)
    made: Raw = json.loads(text)
    return made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_once_and_in_the_words_of_the_loader(fault: str, raw: Raw, folder: Path) -> None:
    spoil, kind = FAULTS[fault]
    spoil(raw)
    report = checked(folder, raw)
    with pytest.raises(DataError) as caught:
        load(folder)
    assert report.errors.counts == {kind: 1}
    assert report.errors.examples[kind] == [str(caught.value)]
    assert str(caught.value).startswith(str(folder / "bank.json"))
    assert list(report.lines())[-1].startswith("1 error, 0 notes")


def test_the_check_goes_on_behind_every_fault(raw: Raw, folder: Path) -> None:
    raw["filler"].append({"id": "f02", "topic": "leaks", "turns": [["It is 214.6.", "Good."], ["And 214.6.", "Yes."]]})
    raw["filler"].append({"id": "f03", "topic": "leaks", "turns": [["See artifacts/ax_02.eml.", "Good."]]})
    raw["scales"]["short"]["per_k"] = raw["scales"]["long"]["kept"] = -1
    main(raw)["turns"][3]["role"] = "robot"
    main(raw)["probes"][1]["risk"] = "high"
    main(raw)["artifacts"][1]["text"] = 7
    report = checked(folder, raw)
    kinds = ("turns[][]", "scales.per_k", "scales.kept", "turns[].role", "risk", "text")
    assert report.errors.counts == {**dict.fromkeys(kinds, 1), "turns[][]": 2}
    assert [line.partition(": item ")[2][:3] for line in report.errors.examples["turns[][]"]] == ["f02", "f03"]
    assert table(report, 0)["probes"] == ("1",)
    assert "states and audits: not looked at, since there are errors" in report.remarks


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "not JSON: "), ("[]", "an object is needed, not a list"), ("{}", "format: missing")],
)
def test_a_file_that_is_no_bank_is_one_error(text: str, problem: str, folder: Path) -> None:
    report = checked(folder, text)
    assert report.errors.counts.total() == 1
    assert any(problem in line for line in report.lines())
    assert report.tables == []


def test_a_bank_that_is_not_there_is_an_error_too(folder: Path) -> None:
    report = check_bank(BankPath(folder / "bank.json", ""), decode, PLAIN)
    assert report.errors.examples["bank.json"] == [f"{folder / 'bank.json'}: cannot be read: No such file or directory"]


def test_images_are_looked_into(raw: Raw, folder: Path) -> None:
    note = PngInfo()
    note.add_text("Comment", "Quarry Lane 214.60")
    PillowImage.new("RGB", (40, 30), "teal").save(folder / "images" / "ax_01.png", pnginfo=note)
    PillowImage.effect_noise((40, 30), 90).save(folder / "images" / "cut.png")
    whole = (folder / "images" / "cut.png").read_bytes()
    (folder / "images" / "cut.png").write_bytes(whole[: len(whole) // 2])
    main(raw)["artifacts"][1]["images"] = ["cut.png"]
    report = checked(folder, raw)
    assert report.errors.counts == {"image": 1, "gold answer in the metadata of an image": 1}
    assert "item ax_02: images[0]: cut.png: image does not decode" in report.errors.examples["image"][0]
    (said,) = report.errors.examples["gold answer in the metadata of an image"]
    assert said.endswith("bank.json: item mq_00000001: answer: '214.6' is in the metadata of ax_01.png")


def test_what_an_audit_finds_is_a_note(raw: Raw, folder: Path) -> None:
    main(raw)["probes"] += [
        {**main(raw)["probes"][0], "id": "mq_00000003", "pair": "p2"},
        {**main(raw)["probes"][1], "id": "mq_00000004", "question": "And Marsh End?", "pair": "p3"},
    ]
    main(raw)["artifacts"][0]["path"] = "artifacts/quarry.png"
    raw["filler"][0]["turns"].append(raw["filler"][0]["turns"][0])
    report = checked(folder, raw)
    assert not report.errors.counts
    assert report.notes.counts["question that is asked twice"] == 1
    assert report.notes.counts["filler text that stands twice"] == 2
    (named,) = report.notes.examples["name that says something"]
    assert named == "bank.json: artifacts/quarry.png: says 'quarry'"
    assert any(
        line.startswith("bank.json: main: pair p3: mq_00000004 are no matched pair")
        for line in report.notes.examples["probes that do not match"]
    )


def test_with_the_texts_of_its_pictures_a_bank_is_audited_whole(raw: Raw, folder: Path) -> None:
    drawn: Raw = {"images": {"ax_01": [["value", "214.6"], ["value", "214.60"]]}, "absent": {}}
    (folder / "drawn.json").write_text(json.dumps(drawn))
    report = checked(folder, raw)
    assert [each.name for each in report.files] == ["bank.json", "drawn.json"]
    (twice,) = report.notes.examples["answer that is not shown once"]
    assert twice == "bank.json: main: mq_00000001: '214.6' is shown more than once"
    assert report.notes.counts["what is asked in vain is there"] == 1
    (folder / "drawn.json").write_text("{")
    assert "cannot be read" in checked(folder, raw).notes.examples["drawn.json"][0]


@pytest.fixture(scope="module")
def measures() -> Measures:
    return bank_measures()


def test_states_are_played_as_a_run_plays_them(raw: Raw, folder: Path, measures: Measures) -> None:
    raw["scales"] = {
        "near": {"per_k": 1, "compaction": 110, "kept": 1, "summary_words": 20, "rounds": 9},
        "tight": {"per_k": 1, "compaction": 110, "kept": 1, "summary_words": 200, "rounds": 9},
        "far": {"per_k": 1, "planted": 0, "compaction": 9_000, "rounds": 2},
    }
    raw["persona"] = "P."
    report = checked(folder, raw, measures)
    states = table(report, 1)
    assert states["depth at"] == ("near, main", "tight, main", "far, main")
    reasons = [line for line in report.remarks if ": never: " in line]
    for state, row in states.items():
        for scale, cell in zip(raw["scales"], row, strict=True) if state != "depth at" else ():
            assert (cell == "never") == any(line.startswith(f"{state} at {scale}: ") for line in reasons)
    assert states["S3"][1:] == ("never", "never")
    assert any("S2 at far: never: the filler ends at " in line for line in reasons)
    assert any("summary and kept turns alone are past the compaction (split main)" in line for line in reasons)
    raw["scales"] = {"low": {"per_k": 1000, "compaction": 60_000}}
    (shallow,) = [line for line in checked(folder, raw, measures).remarks if line.startswith("S1-d80k at low")]
    assert "never: it is at 80000 tokens, and the conversation is compacted at 60000" in shallow


def test_the_bundled_bank(measures: Measures) -> None:
    report = check_bank(BankPath(MINI_FOLDER / "bank.json", ""), decode, measures)
    assert not report.errors.counts
    assert not report.notes.counts
    sizes, states = table(report, 0), table(report, 1)
    assert (sizes["counts"], sizes["probes"]) == (("main", "extension"), ("200", "109"))
    assert states["depth at"] == ("tenth, main", "tenth, extension", "paper, main", "paper, extension")
    assert "never" not in "".join(cell for row in states.values() for cell in row)
    for state, planned in (("S1-d50k", 5_000), ("S1-d80k", 8_000)):
        for cell, factor in zip(states[state], (1, 1, 10, 10), strict=True):
            assert 1 <= int(cell.replace(",", "")) / (planned * factor) < 1.02


@pytest.mark.parametrize(
    ("spec", "split"), [("mirage-mini", ""), ("mirage-mini#main", "main"), (f"{MINI_FOLDER}#all", "all")]
)
def test_a_bank_is_known_by_its_name_or_folder(spec: str, split: str) -> None:
    found = bank_path(spec)
    assert found == BankPath(MINI_FOLDER / "bank.json", split)


def test_the_suite_is_found_out_from_the_content(raw: Raw, folder: Path) -> None:
    assert bank_path("memlens-mini") is None
    with pytest.raises(ConfigError, match=r"no bank\.json \(MIRAGE\) and no dataset_<length>\.json"):
        bank_path(str(folder))
    with pytest.raises(ConfigError, match="no such file or folder"):
        bank_path(str(folder / "none"))
    write_bank(folder, raw).joinpath("bank.json").rename(folder / "other.json")
    assert bank_path(f"{folder / 'other.json'}#main") == BankPath(folder / "other.json", "main")
    (folder / "dataset_32k.json").write_text("[]")
    assert bank_path(str(folder)) is None
    assert bank_path(str(folder / "dataset_32k.json")) is None
    (folder / "bank.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"there are a bank\.json and a dataset_32k\.json: name the file"):
        bank_path(str(folder))
    (folder / "dataset_32k.json").write_text("{}")  # its name still says what it was to be
    assert bank_path(str(folder / "dataset_32k.json")) is None


def test_the_command(raw: Raw, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data_command(["check", str(write_bank(folder, raw))]) == 0
    assert capsys.readouterr().out.endswith("\n0 errors, 1 note\n")
    main(raw)["probes"][0]["difficulty"] = "hard"
    assert data_command(["check", str(write_bank(folder, raw) / "bank.json")]) == 1
    said = capsys.readouterr().out
    assert f"    {folder / 'bank.json'}: item mq_00000001: difficulty: 'hard' is unknown; there is: lookup, " in said
    with pytest.raises(ConfigError, match="no split 'moon'; there is: main, all"):
        data_command(["check", f"{folder}#moon"])
