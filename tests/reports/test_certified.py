"""Certificates of rows from the records in their runs' folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite.delivery.certificates.evidence import PixelEvidence
from benchsuite.delivery.spec import Delivery, parse_delivery
from benchsuite.models.wire import Message, Part, Request, WireImage, skeleton
from benchsuite_reports.certified import NAMED, Certificates, certify_pairs, open_certificates, recorded_presets
from benchsuite_reports.table import Condition, RunFacts

NOIMG, PIXELS = Condition("", "oracle", "noimg"), Condition("", "oracle", "pixels")
SMALL = Condition("", "oracle", "pixels+s32")
RUN = "0001_nogit_run"


def call(row: Mapping[str, Any], role: str = "answer", **params: int) -> dict[str, Any]:
    """The record of a row's request: one item, with an image where the delivery shows it."""
    image = Part("image", image=WireImage("1" * 64, "1" * 64, "image/png", 64, 48), item="s1t1")
    shown = [] if row["arm.delivery"] == "noimg" else [image]
    parts = (Part("text", "A walk.\n", item="s1t1"), *shown, Part("question", f"{row['question']}?"))
    request = Request("qwen", (Message("user", parts),), params)
    return {"cell": row["cell"], "role": role, **skeleton(f"{row['cell']} {role}", request)}


def write(folder: Path, lines: Sequence[dict[str, Any] | str], worker: str = "main") -> Path:
    (folder / "calls").mkdir(parents=True, exist_ok=True)
    texts = [each if isinstance(each, str) else json.dumps(each, separators=(",", ":")) for each in lines]
    (folder / "calls" / f"{worker}.jsonl").write_text("".join(f"{text}\n" for text in texts))
    return folder


def deliveries(text: str) -> Delivery:
    return parse_delivery(text, recorded_presets({}))


@pytest.fixture
def pair_of(row):
    """The rows of one question under two conditions, each of a run."""

    def make(
        question: str = "q0", a: Condition = NOIMG, b: Condition = PIXELS, runs: tuple[str, str] = (RUN, RUN)
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        found = []
        for condition, run in zip((a, b), runs, strict=True):
            made = row(question, condition, 1)
            found.append({**made, "requests": [f"{made['cell']} answer"], "run": {"id": run}})
        return found[0], found[1]

    return make


def test_records_are_found_over_the_files_of_all_workers(pair_of, tmp_path):
    first, second = pair_of("q0"), pair_of("q1")
    folder = tmp_path / RUN
    write(folder, [call(first[0]), call(second[1])], "gw0")
    write(folder, [call(first[1]), call(second[0], max_tokens=8)], "gw1")
    certificates = Certificates({RUN: folder}, deliveries)
    sound, unsound = certificates(*first), certificates(*second)
    assert isinstance(sound, Certificate)
    assert isinstance(unsound, Certificate)
    assert (sound.variables, sound.matched, sound.altered) == (("modality",), True, True)
    assert (unsound.matched, unsound.difference) == (False, "max_tokens 8 against not set")
    assert [json.loads(line)["matched"] for line in certificates.lines()] == [True, False]


def test_the_call_that_answered_counts_and_of_two_the_last(pair_of, tmp_path):
    a, b = pair_of()
    judged = {**call(b, "judge", max_tokens=1), "key": b["requests"][0]}  # a judge's call is never the answer's
    other = {**call(b, max_tokens=2), "key": "a call that failed"}
    folder = write(tmp_path / RUN, [call(a), call(b, max_tokens=3), other, call(b), judged])
    found = Certificates({RUN: folder}, deliveries)(a, b)
    assert isinstance(found, Certificate)
    assert found.matched


def test_pairs_across_two_runs_take_each_record_from_its_own(pair_of, tmp_path):
    a, b = pair_of(runs=("one", "two"))
    runs = {"one": write(tmp_path / "one", [call(a)]), "two": write(tmp_path / "two", [call(b), call(a, max_tokens=1)])}
    certificates = Certificates(runs, deliveries)
    found = certificates(a, b)
    assert isinstance(found, Certificate)
    assert found.matched
    assert json.loads(certificates.lines()[0])["runs"] == ["one", "two"]


def test_a_broken_line_is_named_where_a_record_is_missing(pair_of, tmp_path):
    first, second, third = pair_of("q0"), pair_of("q1"), pair_of("q2")
    cut = json.dumps(call(third[1]), separators=(",", ":"))[:-9]
    folder = write(tmp_path / RUN, ["no record", call(first[0]), call(first[1]), call(second[0]), call(third[0]), cut])
    certificates = Certificates({RUN: folder}, deliveries)
    assert isinstance(certificates(*first), Certificate)
    path = folder / "calls" / "main.jsonl"
    assert certificates(*second) == (
        f"no record of the request in calls/ of run {RUN}; {path}:1: not the record of a call"
    )
    assert certificates(*third) == f"{path}:6: not the record of a call"
    assert json.loads(certificates.lines()[1])["problem"] == certificates(*second)


def test_rows_without_records_say_why(pair_of, tmp_path):
    certificates = Certificates({RUN: tmp_path / RUN}, deliveries)
    assert certificates(*pair_of()) == f"no record of the request in calls/ of run {RUN}"
    assert certificates(*pair_of(runs=("other", RUN))) == "the records of its run are not at hand"
    a, b = pair_of()
    assert Certificates({}, deliveries)(a, {**b, "arm.delivery": "mine"}).startswith("delivery has no value 'mine'")
    folder = write(tmp_path / RUN, [call(a), call(b)])
    found = Certificates({RUN: folder}, deliveries)({**a, "arm.camera": "near"}, {**b, "arm.camera": "far"})
    assert found == "no certificate for axis camera"


def test_a_certificate_is_made_once(pair_of, tmp_path):
    a, b = pair_of()
    folder = write(tmp_path / RUN, [call(a), call(b)])
    certificates = Certificates({RUN: folder}, deliveries)
    found = certificates(a, b)
    (folder / "calls" / "main.jsonl").unlink()
    assert certificates(a, b) is found


class FullDisk(PixelEvidence):
    def as_recorded(self, part: Mapping[str, Any], corpus: str) -> str:
        raise OSError(28, "No space left on device", "pixels.jsonl")

    def prepare(self, checks: Any) -> None:
        for _, parts, corpus in checks:
            self.as_recorded(parts[0], corpus)


def test_evidence_that_cannot_be_kept_is_said_of_the_pair(pair_of, tmp_path):
    a, b = pair_of(a=PIXELS, b=SMALL)
    small = call(b)
    small["messages"][0][1][1] |= {"sha256": "2" * 64, "w": 32, "h": 24, "transform": "png/1", "params": {"side": 32}}
    folder = write(tmp_path / RUN, [call(a), small])
    evidence = FullDisk(tmp_path, lambda part, corpus: b"", lambda sha256, corpus: b"")
    facts = RunFacts({}, certificates=Certificates({RUN: folder}, deliveries, evidence))
    assert str(certify_pairs([(a, b)], facts)) == "not certified: pixels.jsonl: No space left on device"


def test_bytes_that_are_gone_are_said(pair_of, tmp_path):
    a, b = pair_of(a=PIXELS, b=SMALL)
    small = call(b)
    small["messages"][0][1][1] |= {"sha256": "2" * 64, "w": 32, "h": 24, "transform": "png/1", "params": {"side": 32}}
    folder = write(tmp_path / RUN, [call(a), small])
    with open_certificates({RUN: folder}, [tmp_path / "cache"], recorded_presets({})) as certificates:
        facts = RunFacts({}, certificates=certificates)
        found = certify_pairs([(a, b)], facts)
    assert found is not None
    assert (found.matched, found.altered) == (1, 0)
    assert "its bytes are not at hand" in next(iter(found.unaltered))


def test_a_preset_of_a_plugin_is_read_from_the_runs_that_record_it(pair_of, tmp_path):
    a, b = pair_of(b=Condition("", "oracle", "mine"))
    folder = write(tmp_path / RUN, [call(a), call(b)])
    info = {"deliveries": {"mine": asdict(Delivery(label_images=True))}}
    presets = recorded_presets({}, info)
    assert presets.keys() > {"mine", "pixels", "deployed"}
    with open_certificates({RUN: folder}, [tmp_path / "cache"], presets) as certificates:
        found = certificates(a, b)
    assert isinstance(found, Certificate)
    assert found.variables == ("modality", "label_images")


def test_a_contrast_counts_its_pairs_and_names_a_few(row):
    pairs = [(row(f"q{i}", NOIMG, 0), row(f"q{i}", PIXELS, 1)) for i in range(12)]

    def certify(a: Mapping[str, Any], b: Mapping[str, Any]) -> Certificate | str:
        number = int(str(a["question"])[1:])
        if number == 11:
            return "no record"
        reasons = ("identity: one tag alone cannot change places",) if number in (0, 1) else ()
        tokens = f"+{number} prompt tokens" if number < 7 else "the server's fingerprints differ"
        matched = number >= 8
        return Certificate(
            ("identity", "time"), matched, "" if matched else "it differs", not reasons, reasons, tokens, 1
        )

    found = certify_pairs(pairs, RunFacts({}, certificates=certify))
    assert found is not None
    assert (found.n, found.matched, found.altered, found.sound) == (12, 3, 9, False)
    assert found.faults == (*(f"q{i}: it differs" for i in range(NAMED)), "and 3 more")
    assert found.missing == Counter({"no record": 1})
    assert str(found) == (
        "identity + time: matched 3/12, altered 9/12; 2 not altered: identity: one tag alone cannot change places; "
        "1 not certified: no record; the server's fingerprints differ (4); +0 prompt tokens (1); +1 prompt tokens (1); "
        "+2 prompt tokens (1); +3 prompt tokens (1); others (3)"
    )


def test_without_a_certifier_or_pairs_there_is_none(row):
    assert certify_pairs([(row("q0", NOIMG, 0), row("q0", PIXELS, 1))], RunFacts({})) is None
    assert certify_pairs([], RunFacts({}, certificates=lambda a, b: "never asked")) is None
