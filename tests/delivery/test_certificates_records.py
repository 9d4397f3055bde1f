"""The records of a run's calls: found by cell and request, parsed as they are, what they share once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchsuite.delivery.certificates.records import Records
from benchsuite.errors import BenchError, DataError
from benchsuite.models.wire import Message, Part, Request, WireImage, skeleton, skeleton_line

ODD = 'odd ]],["user",[ "messages":[ \\" ü]],['
TALK = (
    Message("system", (Part("instruction", "Be short."),)),
    Message("user", (Part("image", image=WireImage("1" * 64, "1" * 64, "image/png", 8, 6), item="t1"),)),
    Message("assistant", (), call_id=""),
    Message("user", (Part("text", "Hello", item=ODD),)),
)


def request(asked: str, talk: tuple[Message, ...] = TALK, **params: Any) -> Request:
    return Request("m", (*talk, Message("user", (Part("question", asked),))), params)


def line(cell: str, key: str, role: str = "answer", sent: Request | None = None) -> str:
    return skeleton_line(key, sent or request(key), cell=cell, role=role)


def records(folder: Path, *lines: str) -> Records:
    (folder / "calls").mkdir()
    (folder / "calls" / "main.jsonl").write_text("".join(f"{each}\n" for each in lines))
    return Records(folder)


def test_the_first_and_the_last_answer_stand_in_the_order_of_the_row(tmp_path):
    found = records(tmp_path, line("c", "2"), line("c", "j", "judge"), line("d", "1"), line("c", "1"), line("c", "0"))
    keys = ["1", "2", "j"]
    first = found.first("c", keys)
    assert first is not None
    assert [place.key for place in found.answers("c", keys)] == [first.key, "2"] == ["1", "2"]
    assert found.read(first)["key"] == "1"
    assert found.first("c", ["j"]) is None
    with pytest.raises(BenchError, match="no record of the request"):
        found.first("c", ["lost", "2"])  # not the first one, and none that follows from it
    assert found.first("c", ["1", "lost"]) == first
    with pytest.raises(BenchError, match="no record of the request"):
        found.answers("c", ["1", "lost"])


def test_of_a_request_that_was_sent_twice_the_last_record_counts(tmp_path):
    found = records(tmp_path, line("c", "1", sent=request("a")), line("c", "1", sent=request("b")), line("c", "2"))
    (place,) = found.answers("c", ["1"])
    assert place.number == 2


def test_a_record_is_what_was_written(tmp_path):
    sent = [
        request("plain"),
        request("alone", ()),
        request("two", TALK[:1]),
        request("nested", messages=[1], other={"messages": [["x"]]}),
        Request("m", (), {}),
    ]
    found = records(tmp_path, *(line("c", str(n), sent=each) for n, each in enumerate(sent)))
    for number, each in enumerate(sent):
        place = found.first("c", [str(number)])
        assert place is not None
        assert found.read(place) == {"cell": "c", "role": "answer", **skeleton(str(number), each)}


def test_what_records_share_is_parsed_once(tmp_path):
    plain = tuple(Message(each.role, tuple(Part(p.kind, p.text, p.image, "t") for p in each.parts)) for each in TALK)
    longer = request("3", (*plain, Message("assistant", (Part("text", "Yes"),))))
    found = records(tmp_path, *(line("c", key, sent=request(key, plain)) for key in "12"), line("c", "3", sent=longer))
    calls = [found.read(place) for place in found.answers("c", ["1", "2"])]
    assert all(one is other for one, other in zip(*(call["messages"][:-1] for call in calls), strict=True))
    assert calls[0]["messages"][-1] != calls[1]["messages"][-1]
    third = found.read(found.answers("c", ["3"])[0])
    assert third["messages"][0] is calls[0]["messages"][0]


def test_lines_that_are_no_record_are_named(tmp_path):
    whole = line("c", "1")
    found = records(tmp_path, "[]", json.dumps({"role": "answer"}), '{"cell":1,"role":"answer","key":"k"}', whole[:-9])
    assert [each.rpartition(":")[2] for each in found.problem.split("; ")] == [" not the record of a call"] * 3
    place = found.first("c", ["1"])
    assert place is not None
    with pytest.raises(DataError, match=r"main.jsonl:4: not the record of a call"):
        found.read(place)
