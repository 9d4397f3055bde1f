"""A finished run of a real endpoint on loopback, with a judge, an error, odd texts and a long one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..judged_run import judged_run

HOSTILE = '</script><script>alert(1)</script> & "red" *md* \u202e\x07 ' + "w" * 200
LONG = "A long message. " * 90


@dataclass
class Bench:
    """A project with one finished run, and the bodies that its endpoint got."""

    folder: Path
    bodies: list[dict[str, Any]]

    @property
    def dir(self) -> Path:
        return self.folder / ".bench"

    @property
    def run(self) -> Path:
        return next((self.dir / "runs").glob("0001*"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("site")
    with judged_run(folder, "<b>red</b>", HOSTILE, LONG) as bodies:
        yield Bench(folder, bodies)
