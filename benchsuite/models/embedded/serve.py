"""The reader as a process: ``python -m benchsuite.models.embedded.serve --port 0 --nonce X``.

Started by a launcher it prints one JSON line when it listens and lives only as long as its standard input
stays open, so it can outlive no parent, however that ended.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

OFFLINE_ONE_THREAD = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
# before numpy and torch are imported below: they read it once
os.environ.update(OFFLINE_ONE_THREAD)

import uvicorn  # noqa: E402

from benchsuite.models.embedded.app import ReaderService, build_app  # noqa: E402

HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """Leaves the process' signal handlers alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def main(argv: list[str] | None = None) -> int:
    """Serve under a launcher: ends when standard input does, at once on SIGTERM, and ignores SIGINT."""
    arguments = _parser("embedded reader, under a launcher").parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the launcher decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()
    return _serve(arguments.port, arguments.nonce)


def serve_command(argv: list[str]) -> int:
    """``benchsuite serve``: the same server for a person; Ctrl-C ends it."""
    arguments = _parser("serve the embedded reader on this machine").parse_args(argv)
    with contextlib.suppress(KeyboardInterrupt):
        return _serve(arguments.port, arguments.nonce)
    return 0


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--nonce", default="", help="what /health answers, so that a caller knows its server")
    return parser


def _serve(port: int, nonce: str) -> int:
    try:
        listener = socket.create_server((HOST, port), backlog=1024)
    except (OSError, OverflowError) as error:
        print(f"benchsuite: serve: port {port} on {HOST}: {error}", file=sys.stderr)
        return 4
    config = uvicorn.Config(
        build_app(ReaderService(nonce)), log_level="warning", access_log=False, lifespan="off", ws="none"
    )
    asyncio.run(_run(_Server(config), listener, nonce))
    return 0


async def _run(server: _Server, listener: socket.socket, nonce: str) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.005)
    if server.started:
        ready = {"ready": True, "port": listener.getsockname()[1], "nonce": nonce}
        print(json.dumps(ready), flush=True)
    await serving


def _exit_at_end_of_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
