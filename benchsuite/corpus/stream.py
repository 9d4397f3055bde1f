"""Read a large JSON list one item at a time, in memory bounded by its largest item."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from benchsuite.errors import DataError

CHUNK_BYTES = 1 << 20
MAX_ITEM_CHARS = 64 << 20
_BLANK = " \t\r\n"
_NUMBER_TAIL = 3  # "1e+" reads as 1 until a digit follows
_TAIL = 16  # a literal or escape cut by the end of the buffer fails within this many characters of it


def stream_items(path: Path, *, max_item_chars: int = MAX_ITEM_CHARS) -> Iterator[object]:
    """Yield the items of a JSON list, or of the ``data`` list of a JSON object, in file order.

    Other keys of the wrapper are read and dropped. Raises DataError, naming the file and how many items were
    complete, for a file that cannot be read, is truncated, is not JSON or holds no such list, and for an item
    of more than ``max_item_chars`` characters.
    """
    try:
        with path.open("rb") as handle:
            yield from _Reader(handle, path, max_item_chars).items()
    except OSError as error:
        raise DataError(str(path), None, None, f"cannot be read: {error.strerror or error}") from None


class _Reader:
    """A sliding window of decoded text over one open file."""

    def __init__(self, handle: BinaryIO, path: Path, max_item_chars: int) -> None:
        self._handle, self._path, self._max = handle, path, max_item_chars
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._json = json.JSONDecoder(parse_constant=_refuse_constant)
        self._text, self._at, self._end_of_file = "", 0, False
        self._done = 0

    def items(self) -> Iterator[object]:
        opening = self._peek()
        if opening == "[":
            yield from self._list()
        elif opening == "{":
            yield from self._wrapper()
        else:
            self._fail("neither a JSON list nor an object with a 'data' list")
        if self._peek():
            self._fail("malformed JSON: text after the end of the value")

    def _list(self) -> Iterator[object]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            item = self._value()
            self._done += 1
            yield item
            if self._step_over(",]") == "]":
                return

    def _wrapper(self) -> Iterator[object]:
        self._at += 1
        found = False
        closed = self._peek() == "}"
        while not closed:
            if self._peek() not in ('"', ""):
                self._fail("malformed JSON: a key is expected")
            key = self._value()
            self._step_over(":")
            if key == "data":
                if found or self._peek() != "[":
                    self._fail("'data' occurs twice" if found else "'data' is not a list")
                found = True
                yield from self._list()
            else:
                self._value()
            closed = self._step_over(",}") == "}"
        if not found:
            self._fail("no 'data' list in the JSON object")

    def _step_over(self, allowed: str) -> str:
        mark = self._peek()
        if not mark:
            self._fail("truncated JSON: the file ends early")
        if mark not in allowed:
            self._fail(f"malformed JSON: one of {allowed} is expected, not {mark!r}")
        self._at += 1
        return mark

    def _peek(self) -> str:
        """The next character that is not blank; empty at a well-placed end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(CHUNK_BYTES):
                return ""

    def _value(self) -> object:
        if not self._peek():
            self._fail("truncated JSON: the file ends early")
        grow = CHUNK_BYTES
        while True:
            problem = ""
            try:
                value, end = self._json.raw_decode(self._text, self._at)
                behind = _NUMBER_TAIL if isinstance(value, int | float) else 0
                if end + behind < len(self._text) or self._end_of_file:
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                problem = error.msg
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _TAIL
                if not cut:
                    self._fail(f"malformed JSON: {problem}")
                if self._end_of_file:
                    self._fail(f"truncated JSON, or malformed at its end: {problem}")
            except (ValueError, RecursionError) as error:
                self._fail(f"malformed JSON: {error}")
            if len(self._text) - self._at > self._max:
                self._fail(f"an item of more than {self._max} characters: {problem or 'too large'}")
            self._more(grow)
            grow *= 2

    def _more(self, size: int) -> bool:
        """Drop what was consumed and read ``size`` more bytes; False once the file has ended."""
        if self._end_of_file:
            return False
        data = self._handle.read(size)
        self._end_of_file = not data
        try:
            fresh = self._decode(data, self._end_of_file)
        except UnicodeDecodeError as error:
            self._fail(f"not UTF-8: {error.reason}")
        self._text = self._text[self._at :] + fresh
        self._at = 0
        return True

    def _fail(self, problem: str) -> NoReturn:
        raise DataError(str(self._path), None, None, f"{problem} (after {self._done} complete items)")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
