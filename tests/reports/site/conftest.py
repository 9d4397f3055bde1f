"""A finished run of a real endpoint on loopback, with a judge, an error, odd texts and a long one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..judged_run import Bench, judged_run

HOSTILE = '</script><script>alert(1)</script> & "red" *md* \u202e\x07 ' + "w" * 200
LONG = "A long message. " * 90


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("site")
    with judged_run(folder, "<b>red</b>", HOSTILE, LONG) as bodies:
        yield Bench(folder, bodies)
