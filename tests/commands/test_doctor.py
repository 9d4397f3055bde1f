"""``benchsuite doctor``: what it finds, what it never shows, and that it sends nothing unless it is asked to."""

from __future__ import annotations

import http.server
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchsuite.commands import machine
from benchsuite.commands.doctor import doctor_command
from benchsuite.errors import ConfigError
from benchsuite.runs import RunStore

SECRET = "sk-very-secret-1234"
TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"
EMPTY = {"test": ["memlens:a", "memlens:b"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, without keys."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("BENCH_API_KEY", "LAB_KEY"):
        monkeypatch.delenv(name, raising=False)
    return here


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench dir whose corpora are indexed already."""
    bench_dir = tmp_path_factory.mktemp("indexed") / ".bench"
    bench_dir.mkdir()
    doctor_command(["--bench-dir", str(bench_dir), "--json"])
    return bench_dir


@pytest.fixture
def bench_dir(indexed: Path, folder: Path) -> Path:
    shutil.copytree(indexed, folder / ".bench")
    return folder / ".bench"


@dataclass
class Server:
    """A loopback endpoint that answers GET with ``status`` and ``body`` and notes what it is asked."""

    status: int = 200
    body: str = json.dumps({"object": "list", "data": [{"id": "qwen", "object": "model"}]})
    location: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, self.headers.get("Authorization", "")))
            self.send_response(served.status)
            if served.location:
                self.send_header("Location", served.location)
            self.end_headers()
            self.wfile.write(served.body.encode())

        def log_message(self, *args: object) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = listening.server_address[1]
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield served
    listening.shutdown()
    listening.server_close()
    thread.join(10)


def lines_of(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, list[str]]:
    code = doctor_command(list(args))
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err
    return code, captured.out.splitlines()


def about(lines: list[str], area: str) -> list[str]:
    """The lines of an area, without the blanks after their state."""
    return [" ".join(line.split()) for line in lines if line[9:].startswith(f"{area}: ")]


def test_a_sound_machine_has_no_problem(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys)
    assert code == 0, lines
    assert all(line.split()[0] in ("ok", "note") for line in lines[:-1])
    assert all(" -> " in line for line in lines if line.startswith("note"))
    areas = {line[9:].partition(":")[0] for line in lines[:-1]}
    assert {"python", "cores", "memory", "gpu", "versions", "open files", "local network", "processes"} < areas
    assert {"file system", "sqlite", "disk", "bench dir", "runs", "corpus memlens", "encoder text", "models"} < areas
    (corpus,) = about(lines, "corpus memlens")
    assert corpus.startswith("ok corpus memlens: memlens-mini, digest ")
    assert lines[-1] == f"{len(lines) - 1} checks: problems 0, notes {sum(x.startswith('note') for x in lines)}"


def test_json_says_the_same(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys, "--model", "nonsense")
    assert code == 1
    assert doctor_command(["--json", "--model", "nonsense"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["problems"] == 1
    assert [finding["area"] for finding in told["findings"]] == [line[9:].partition(": ")[0] for line in lines[:-1]]
    (wrong,) = [finding for finding in told["findings"] if finding["state"] == "problem"]
    assert wrong["text"].startswith("unknown model 'nonsense'")


def test_without_a_bench_dir_nothing_is_left_behind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys)
    assert code == 0
    assert about(lines, "bench dir") == ["note bench dir: .bench is not there -> the first run makes it"]
    assert list(folder.iterdir()) == []


def test_an_unmet_range_is_a_problem_with_the_command_that_mends_it(
    bench_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, version in (("transformers", "5.99.0"), ("pyarrow", "1.0")):
        meta = tmp_path / "site" / f"{name}-{version}.dist-info"
        meta.mkdir(parents=True)
        (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    code, lines = lines_of(capsys)
    assert code == 1
    (line,) = about(lines, "versions")
    assert line.startswith("problem versions: transformers 5.99.0 is installed, transformers<5.25,>=5.20 is needed -> ")
    assert line.endswith("pip install 'transformers<5.25,>=5.20'")
    assert about(lines, "extra parquet")[0].startswith("problem extra parquet: pyarrow 1.0 is installed")


def test_an_absent_extra_says_what_it_is_for(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = lines_of(capsys)
    (line,) = about(lines, "extra ray")
    assert line == (
        "note extra ray: not installed (ray); for the workers of very large runs -> pip install 'benchsuite[ray]'"
    )


def test_corpora_are_opened_and_counted(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys, "--corpus", f"memlens={TINY}")
    assert code == 0, lines
    line = about(lines, "corpus memlens")[1]
    assert "memlens-tiny, digest" in line
    assert "questions " in line


def test_a_faulty_corpus_is_a_problem_and_the_rest_is_still_looked_at(
    bench_dir: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dataset_32k.json").write_text('[{"question_id": 3}]')
    code, lines = lines_of(capsys, "--corpus", "memlens=dataset_32k.json", "--corpus", "memeye=x")
    assert code == 1
    assert "problem corpus memlens: dataset_32k.json: " in " ".join(about(lines, "corpus memlens"))
    assert about(lines, "corpus memeye")[0].startswith("problem corpus memeye: no suite 'memeye'; suites: memlens")
    assert about(lines, "models")
    with pytest.raises(ConfigError, match="'memlens' is not SUITE=PATH"):
        doctor_command(["--corpus", "memlens"])


def test_models_are_named_with_their_address_and_whether_a_key_is_set(
    bench_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bench-models.toml").write_text(
        '[lab]\nbase_url = "https://lab.example/v1"\nmodel = "m"\nkey_env = "LAB_KEY"\n'
        '[free]\nbase_url = "http://127.0.0.1:9"\nmodel = "f"\n'
        '[wrong]\nbase_url = "ftp://lab"\nmodel = "m"\n'
    )
    code, lines = lines_of(capsys, "--model", "embedded", "--model", "vllm:a/b", "--model", f"http://u:{SECRET}@h#m")
    assert code == 1
    text = [" ".join(line.split()) for line in lines]
    assert "problem model: model 'lab': its key variable LAB_KEY is not set -> see docs/models.md" in text
    assert "ok model free: http://127.0.0.1:9/v1, model f, without a key" in text
    assert any(line.startswith("problem model: bench-models.toml: entry 'wrong': field 'base_url'") for line in text)
    assert any(line.startswith("ok model embedded: embedded/") for line in text)
    assert any(line.startswith("problem model: model URL 'http://***@h#m' holds credentials") for line in text)
    (vllm,) = [line for line in text if "model a_b" in line]
    assert vllm.startswith("problem" if shutil.which("vllm") is None else "ok")
    monkeypatch.setenv("LAB_KEY", SECRET)
    _, lines = lines_of(capsys)
    assert about(lines, "model lab") == [
        "ok model lab: https://lab.example/v1, model m, key from LAB_KEY, which is set"
    ]


def test_a_broken_file_of_models_is_one_problem(
    bench_dir: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bench-models.toml").write_text("[lab\n")
    code, lines = lines_of(capsys)
    assert code == 1
    assert about(lines, "models")[0].startswith("problem models: bench-models.toml: not valid TOML")


def test_nothing_is_sent_unless_asked(bench_dir: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys, "--model", f"{server.url}#qwen")
    assert code == 0
    assert server.asked == []
    assert about(lines, "endpoint qwen") == []


def test_online_each_endpoint_is_asked_once(
    bench_dir: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCH_API_KEY", SECRET)
    code, lines = lines_of(capsys, "--online", "--model", f"{server.url}#qwen", "--model", f"{server.url}#absent")
    assert code == 1
    assert server.asked == [("/v1/models", f"Bearer {SECRET}")]
    (served,) = about(lines, "endpoint qwen")
    assert served.startswith(f"ok endpoint qwen: GET {server.url}/models: HTTP 200 after ")
    assert served.endswith("qwen is served")
    (absent,) = about(lines, "endpoint absent")
    assert absent.startswith("problem endpoint absent: ")
    assert absent.endswith("but absent is not among its models -> name one that it lists: qwen")


@pytest.mark.parametrize(
    ("status", "body", "state", "words"),
    [
        (401, json.dumps({"error": {"message": f"bad key {SECRET}"}}), "problem", "HTTP 401"),
        (404, "not here", "note", "not every server lists its models"),
        (503, "busy", "problem", "busy"),
        (302, "", "problem", "redirects are not followed"),
        (200, "<html><title>Portal</title></html>", "note", "its reply is no list of models"),
        (200, '{"data": [{"name": "x"}]}', "note", "its reply is no list of models"),
        (200, '{"data": []}', "problem", "name one that it lists: none"),
        (200, json.dumps({"data": [{"id": f"m{i}\x1b[31m"} for i in range(7)]}), "problem", "m4 [31m and 2 more"),
    ],
)
def test_an_answer_that_is_no_list_with_the_model_is_said(
    bench_dir: Path,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    body: str,
    state: str,
    words: str,
) -> None:
    monkeypatch.setenv("BENCH_API_KEY", SECRET)
    server.status, server.body = status, body
    server.location = f"{server.url}/elsewhere" if status == 302 else ""
    code, lines = lines_of(capsys, "--online", "--model", f"{server.url}#qwen")
    (line,) = about(lines, "endpoint qwen")
    assert line.startswith(f"{state} endpoint qwen: ")
    assert words in line
    assert "\x1b" not in line
    assert code == (state == "problem")
    assert len(server.asked) == 1


def test_an_endpoint_that_is_not_there_is_a_problem(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lines_of(capsys, "--online", "--model", "http://127.0.0.1:9#qwen")
    assert code == 1
    (line,) = about(lines, "endpoint qwen")
    assert "cannot connect: " in line
    assert line.endswith("-> start the server, or correct the address")


def test_runs_that_are_open_or_broken_are_noted(bench_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunStore.open(bench_dir, "cut", EMPTY, {}).close()
    (bench_dir / "runs" / "0002_nogit_broken").mkdir()
    with RunStore.open(bench_dir, "held", EMPTY, {}) as held:
        code, lines = lines_of(capsys)
        assert held.path.name == "0003_nogit_held"
    assert code == 0
    found = about(lines, "runs")
    assert found[0] == "ok runs: 3, finished 0"
    assert any("0002_nogit_broken" in line and line.endswith("-> benchsuite rm 2") for line in found)
    assert "note runs: 0001_nogit_cut: 0 of 2 cells, cut short -> the same command continues it" in found
    assert "note runs: 0003_nogit_held: 0 of 2 cells, being written now -> let it end" in found


def test_few_open_files_are_a_problem(
    bench_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 4096))
    code, lines = lines_of(capsys)
    assert code == 1
    (line,) = about(lines, "open files")
    assert line.startswith("problem open files: at most 64 -> ulimit -n 4096")


def test_a_socket_path_that_is_too_long_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    found = machine.loopback()
    assert (found.state, found.area) == ("problem", "local network")
    assert "Unix socket" in found.text


def test_a_python_that_starts_no_worker_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.processes().state == "ok"
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert machine.processes().state == "problem"
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert machine.processes().action == "run with -n 0"


@pytest.mark.parametrize(
    ("kind", "state"), [("ext4", "ok"), ("nfs4", "problem"), ("cifs", "problem"), ("fuse.sshfs", "problem")]
)
def test_a_network_file_system_is_a_problem(tmp_path: Path, kind: str, state: str) -> None:
    home = tmp_path / "a home"
    home.mkdir()
    mounts = tmp_path / "mounts"
    escaped = str(home).replace(" ", "\\040")
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nhost:/x {escaped} {kind} rw 0 0\n")
    found = machine.file_system(home, mounts)
    assert (found.state, kind in found.text) == (state, True)
    assert machine.file_system(tmp_path, mounts).state == "ok"


def test_a_folder_that_takes_no_database_is_a_problem(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert machine.sqlite_files(empty).state == "ok"
    assert list(empty.iterdir()) == []
    found = machine.sqlite_files(tmp_path / "absent")
    assert found.state == "problem"
    assert str(tmp_path / "absent") in found.text


def test_the_gpu_is_asked_of_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpu().text.startswith("none found")
    program.write_text("#!/bin/sh\necho 'Some GPU, 1024 MiB'\n")
    program.chmod(0o755)
    assert machine.gpu().text.startswith("Some GPU, 1024 MiB")
    program.write_text("#!/bin/sh\nexit 9\n")
    assert (machine.gpu().state, "status 9" in machine.gpu().text) == ("note", True)


def test_nothing_heavy_is_loaded(bench_dir: Path) -> None:
    program = (
        "import sys\nfrom benchsuite.commands.doctor import doctor_command\n"
        "code = doctor_command([])\n"
        "heavy = {'torch', 'transformers', 'onnxruntime', 'rapidocr'}.intersection(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
