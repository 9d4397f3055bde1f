"""Files that survive a kill: appended line by line, or replaced whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_BLOCK = 65536


class AppendFile:
    """One writer's end of a JSON-lines file; a last line cut by a kill is taken away when it is opened.

    What is appended is handed to the operating system before ``append`` returns.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("ab+")
        self._file.truncate(_whole_length(self._file))

    def append(self, *lines: str) -> None:
        self._file.write("".join(f"{line}\n" for line in lines).encode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers from 1; a last line without its newline was cut and is left out."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield number, line


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replace the file: a reader, or a run after a kill, finds the old content or the new, never a part."""
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temp.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    temp.replace(path)


def _whole_length(file: IO[bytes]) -> int:
    """The length in bytes of the file up to and with its last newline."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
