"""The launcher's contract for a served process.

It prints one JSON line when it listens and lives only as long as its standard input stays open, so it can outlive
no parent, however that ended.
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

import uvicorn
from starlette.applications import Starlette

HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """Leaves the process' signal handlers alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def parser(description: str) -> argparse.ArgumentParser:
    """The options that every served process takes."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    options.add_argument("--nonce", default="", help="what /health answers, so that a caller knows its server")
    return options


def obey_launcher() -> None:
    """End when standard input does, at once on SIGTERM, and ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the launcher decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()


def serve_app(app: Starlette, port: int, nonce: str) -> int:
    """Serve until ended; the exit status. 4, with one line on stderr, when the port cannot be had."""
    try:
        listener = socket.create_server((HOST, port), backlog=1024)
    except (OSError, OverflowError) as error:
        print(f"benchsuite: serve: port {port} on {HOST}: {error}", file=sys.stderr)
        return 4
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", ws="none")
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
