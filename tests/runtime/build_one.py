"""One process that wants a checkpoint: ``python -m tests.runtime.build_one FOLDER STATE LOG HOW [N]``.

HOW: ``plain``; ``slow`` (the summary takes half a second); ``hang`` (it never comes); ``writing`` (a model writes the
replies; this process kills itself at the N-th). LOG gets a line a request.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request
from benchsuite.runtime import build

from .world import WRITER, Teller, builder, summing_up, wanted, words, written


async def main(folder: Path, state: str, log: Path, how: str, last: int) -> None:
    build.BUNDLED, build.count_bundled = "words", words
    teller = Teller(lambda n, request: written(request) if request.tools else summing_up(), log)

    async def send(spec: ModelSpec, request: Request) -> Reply:
        reply = await teller(spec, request)
        if how == "writing" and len(teller.asked) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "hang":
            print("asked", flush=True)
        await asyncio.sleep({"slow": 0.5, "hang": 60}.get(how, 0))
        return reply

    asked = wanted(state, writer=WRITER if how == "writing" else None)
    print((await builder(folder, send).checkpoint(asked)).id)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4], int((*sys.argv, "0")[5])))
