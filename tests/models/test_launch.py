from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from benchsuite.errors import EndpointError
from benchsuite.models.launch import LaunchedServer, launch, launch_server, launch_vllm
from benchsuite.models.spec import ModelSpec, vllm_spec

ROOT = Path(__file__).parents[2]

SERVER = textwrap.dedent("""
    import json, os, sys, threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    mode, nonce = sys.argv[1], sys.argv[2]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"nonce": "other" if mode == "stolen" else nonce}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *args):
            pass

    def until_eof():
        while os.read(0, 100):
            pass
        os._exit(0)

    print("loading", file=sys.stderr, flush=True)
    if mode == "crash":
        print("CUDA out of memory\\x1b[0m", file=sys.stderr)
        sys.exit(3)
    if mode == "silent":
        os.read(0, 100)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if mode != "deaf":
        threading.Thread(target=until_eof, daemon=True).start()
    ready = {"ready": True, "port": server.server_address[1], "nonce": "other" if mode == "wrong" else nonce}
    print("not json" if mode == "chatty" else json.dumps(ready), flush=True)
    print("secret:" + os.environ.get("BENCH_API_KEY", "none"), flush=True)
    for _ in range(3000):
        print("x" * 100, flush=True)  # more than a pipe holds
    server.serve_forever()
""")


def start(tmp_path: Path, mode: str, ready_s: float = 30.0) -> LaunchedServer:
    command = [sys.executable, "-c", SERVER, mode, "n0nce"]
    return launch("fake/1", command, tmp_path / "log" / "fake.log", "n0nce", ready_s)


def alive(pid: int) -> bool:
    """A process that runs; a zombie that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_within(pids: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_server_is_ready_serves_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_API_KEY", "sk-secret")
    server = start(tmp_path, "good")
    server.wait_ready()
    assert server.base_url.startswith("http://127.0.0.1:")
    assert server.base_url.endswith("/v1")
    assert server.death() == ""
    server.stop()
    server.stop()
    assert not alive(server.pid)
    log = (tmp_path / "log" / "fake.log").read_text()
    assert "loading" in log
    assert "secret:none" in log


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("crash", "the server died (exit status 3); last log line: CUDA out of memory [0m"),
        ("chatty", "its first line is not the ready line: not json"),
        ("wrong", "answered by another server"),
        ("stolen", "answered by another server"),
    ],
)
def test_a_server_that_is_not_ours_is_refused_and_ended(tmp_path: Path, mode: str, problem: str) -> None:
    server = start(tmp_path, mode)
    with pytest.raises(EndpointError) as caught:
        server.wait_ready()
    assert caught.value.kind == "launch"
    assert problem in str(caught.value)
    assert str(caught.value).startswith("fake/1: ")
    assert not alive(server.pid)


def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    server = start(tmp_path, "silent", ready_s=0.5)
    with pytest.raises(EndpointError, match=r"not ready after 0\.5 s"):
        server.wait_ready()
    assert not alive(server.pid)


def test_a_server_that_ignores_its_stdin_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchsuite.models.launch._STOP_S", 0.2)
    server = start(tmp_path, "deaf")
    server.wait_ready()
    server.stop()
    assert not alive(server.pid)


def test_how_it_died_is_told(tmp_path: Path) -> None:
    server = start(tmp_path, "good")
    server.wait_ready()
    os.kill(server.pid, signal.SIGKILL)
    assert server.death(within_s=5.0) == "the server was killed (signal 9)"
    server.stop()


def test_what_cannot_be_run(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match=r"fake/1: /no/such/program: No such file"):
        launch("fake/1", ["/no/such/program"], tmp_path / "l.log", "n", 1.0)
    with pytest.raises(EndpointError, match=r"vllm/org/m: vllm is not installed: pip install 'benchsuite\[vllm\]'"):
        launch_vllm(vllm_spec("org/m"), tmp_path / "l.log", executable="no-such-vllm")
    with pytest.raises(EndpointError, match="unknown kind"):
        launch_server(ModelSpec("m", "m", "", "f", launch="other"), tmp_path / "l.log")


FAKE_VLLM = """#!{python}
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
names = sys.argv[sys.argv.index("--served-model-name") + 1:]
if {broken}:
    sys.exit("ValueError: no such model")

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({{"data": [{{"id": name}} for name in names]}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


def test_vllm_is_recognised_by_its_nonce_and_ends_with_its_supervisor(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text(FAKE_VLLM.format(python=sys.executable, broken=False))
    program.chmod(0o755)
    server = launch_vllm(vllm_spec("org/m"), tmp_path / "v.log", executable=str(program))
    server.wait_ready()
    children = [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]
    assert len(children) == 1
    server.stop()
    assert gone_within([server.pid, *children], 2.0)


def test_vllm_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text(FAKE_VLLM.format(python=sys.executable, broken=True))
    program.chmod(0o755)
    server = launch_vllm(vllm_spec("org/m"), tmp_path / "v.log", executable=str(program))
    with pytest.raises(EndpointError, match="last log line: ValueError: no such model"):
        server.wait_ready()


LAUNCHER = textwrap.dedent("""
    import subprocess, sys, time
    server = subprocess.Popen([sys.executable, "-m", "benchsuite.models.supervise", *sys.argv[1:]],
                              stdin=subprocess.PIPE, start_new_session=True)
    print(server.pid, flush=True)
    time.sleep(100)
""")
STUBBORN = textwrap.dedent("""
    import os, signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    print(os.getpid(), grandchild.pid, flush=True)
    time.sleep(100)
""")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_launcher(number: int) -> None:
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, sys.executable, "-c", STUBBORN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert launcher.stdout is not None
    supervisor = int(launcher.stdout.readline())
    pids = [supervisor, *map(int, launcher.stdout.readline().split())]
    assert len(pids) == 3
    assert all(alive(pid) for pid in pids)
    launcher.send_signal(number)
    launcher.wait(10)
    assert gone_within(pids, 2.0)


def test_the_supervisor_ends_its_group_on_sigterm_and_passes_the_exit_status() -> None:
    command = [sys.executable, "-m", "benchsuite.models.supervise", sys.executable, "-c"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, STUBBORN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as supervisor:
        assert supervisor.stdout is not None
        pids = [*map(int, supervisor.stdout.readline().split())]
        supervisor.terminate()
        supervisor.wait(10)
        assert gone_within(pids, 2.0)
    with subprocess.Popen([*command, "import sys; sys.exit(7)"], stdin=subprocess.PIPE, env=environment) as ended:
        assert ended.wait(20) == 7
    missing = subprocess.run(
        [*command[:3], "/no/such/program"],
        stdin=subprocess.PIPE,
        env=environment,
        capture_output=False,
        stderr=subprocess.PIPE,
        text=True,
        timeout=20,
        check=False,
    )
    assert missing.returncode == 127
    assert "No such file" in missing.stderr
