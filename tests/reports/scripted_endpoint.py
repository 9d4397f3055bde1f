"""A loopback endpoint that answers as a function of the body says, and the frame of a project of cases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Body = dict[str, Any]


@contextmanager
def answering(script: Callable[[Body], tuple[int, Body]]) -> Iterator[str]:
    """The address; ``script`` gives status and reply."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, reply = script(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(10)


def reply_of(message: Body, **more: Any) -> Body:
    said = {"role": "assistant", **message}
    return {"model": "scripted-1", "choices": [{"finish_reason": "stop", "message": said}], **more}


def make_project(folder: Path, name: str, cases: str) -> None:
    (folder / "cases").mkdir()
    (folder / "cases" / name).write_text(cases)
    (folder / "conftest.py").write_text('pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]')
    (folder / "pytest.ini").write_text("[pytest]\nstrict = true\naddopts = --import-mode=importlib\n")
