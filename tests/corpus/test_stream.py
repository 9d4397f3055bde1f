"""The streaming reader: every shape, every fault, bounded memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.corpus import stream
from benchsuite.corpus.stream import stream_items
from benchsuite.errors import DataError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "data.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(JSON, max_size=6),
    wrapped=st.booleans(),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    chunk=st.sampled_from([1, 2, 7, 64]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[object],
    wrapped: bool,
    indent: int | None,
    ascii_only: bool,
    chunk: int,
) -> None:
    value = {"version": [1, {"data": 2}], "data": items, "n": 3} if wrapped else items
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    path = tmp_path_factory.mktemp("stream") / "data.json"
    path.write_bytes(text.encode("utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "CHUNK_BYTES", chunk)
        assert list(stream_items(path)) == items


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    assert list(stream_items(write(tmp_path, b"\xef\xbb\xbf[1, 2]"))) == [1, 2]


@pytest.mark.parametrize(
    ("content", "problem", "complete"),
    [
        ("", "neither a JSON list nor an object", 0),
        ('"text"', "neither a JSON list nor an object", 0),
        ("<html></html>", "neither a JSON list nor an object", 0),
        ("{}", "no 'data' list", 0),
        ('{"items": []}', "no 'data' list", 0),
        ('{"data": {}}', "'data' is not a list", 0),
        ('{"data": [1], "data": [2]}', "'data' occurs twice", 1),
        ('{"data": [1]', "truncated JSON", 1),
        ("{", "truncated JSON", 0),
        ("[", "truncated JSON", 0),
        ('[{"a": 1}, {"b": "text that sto', "truncated JSON", 1),
        ('[{"a": 1}, {"b": 1}', "truncated JSON", 2),
        ('[{"a": 1},', "truncated JSON", 1),
        ('[{"a": 1} {"b": 2}]', "malformed JSON", 1),
        ('[{"a": 1}]]', "malformed JSON: text after the end", 1),
        ("[NaN]", "NaN is not JSON", 0),
        ('[{"a": 1}, {"a" 1, "and": "much more text behind the fault"}]', "malformed JSON", 1),
        ("[" * 100_000, "malformed JSON", 0),
        (b'[{"a": "\xff"}]', "not UTF-8", 0),
    ],
)
def test_faults_name_the_file_and_the_place(tmp_path: Path, content: str | bytes, problem: str, complete: int) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError) as caught:
        list(stream_items(path))
    message = str(caught.value)
    assert message.startswith(str(path))
    assert problem in message
    assert f"after {complete} complete items" in message
    assert "\n" not in message


def test_every_cut_of_a_file_is_an_error(tmp_path: Path) -> None:
    text = '{"note": "x", "data": [{"a": "\\u00e9é"}, {"b": [1.5, true]}]}'
    for end in range(len(text)):
        with pytest.raises(DataError):
            list(stream_items(write(tmp_path, text[:end])))


def test_an_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(stream_items(tmp_path))
    with pytest.raises(DataError, match="cannot be read: No such file"):
        list(stream_items(tmp_path / "absent.json"))


def test_an_item_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK_BYTES", 64)
    path = write(tmp_path, json.dumps([{"a": "x" * 5000}]))
    assert len(list(stream_items(path, max_item_chars=10_000))) == 1
    with pytest.raises(DataError, match="an item of more than 1000 characters"):
        list(stream_items(path, max_item_chars=1000))


def test_memory_is_bounded_by_an_item(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    item = json.dumps({"turns": [{"content": "some words of a message " * 20}] * 400})
    with path.open("w") as handle:
        handle.write("[" + ",\n".join([item] * 100) + "]")
    assert path.stat().st_size > 19_000_000
    tracemalloc.start()
    count = sum(1 for _ in stream_items(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100
    assert peak < 8_000_000
