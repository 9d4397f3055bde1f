"""What this machine is ready for: Python, memory, GPU, installed versions, files, sockets, processes, SQLite."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import platform
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OK, NOTE, PROBLEM = "ok", "note", "problem"
EXTRAS: Mapping[str, str] = {
    "vllm": "--bench-model vllm:ID on a GPU",
    "vllm-cpu": "--bench-model vllm:ID without a GPU",
    "clip": "open_clip image encoders",
    "parquet": "Parquet files",
    "report": "figures",
    "ray": "the workers of very large runs",
    "dev": "tests and lint",
}
NETWORK_FILE_SYSTEM = re.compile(
    r"(fuse\.)?(nfs4?|cifs|smb\w*|9p|afs|ceph|gluster\w*|lustre|beegfs|gpfs|davfs2?|sshfs|s3fs|rclone)"
)
MEMORY_GB = 2
OPEN_FILES = 512
_GB = 2**30
_START_S = 30
_DRIVER_S = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, its ``state`` (ok, note, problem), what was found, and what to do about it."""

    area: str
    state: str
    text: str
    action: str = ""

    def __str__(self) -> str:
        return f"{self.state:<8} {self.area}: {self.text}" + (f" -> {self.action}" if self.action else "")


def machine() -> Iterator[Finding]:
    """Python, cores, memory and GPU. torch is not imported: the driver's own program is asked."""
    yield Finding("python", OK, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Finding("cores", OK, f"{len(os.sched_getaffinity(0))} usable of {os.cpu_count()}")
    total, free = _memory()
    low = free < MEMORY_GB * _GB
    action = f"the bundled reader and encoders want {MEMORY_GB} GB; use fewer workers (-n)" if low else ""
    yield Finding("memory", NOTE if low else OK, f"{total / _GB:.1f} GB, {free / _GB:.1f} GB of it free", action)
    yield gpu()


def gpu() -> Finding:
    program = shutil.which("nvidia-smi")
    if program is None:
        return Finding("gpu", OK, "none found; the bundled reader and encoders need none")
    try:
        done = subprocess.run(
            [program, "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_DRIVER_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("gpu", NOTE, f"nvidia-smi does not answer: {type(error).__name__}", "look at the driver")
    if done.returncode or not done.stdout.strip():
        return Finding("gpu", NOTE, f"nvidia-smi failed with status {done.returncode}", "look at the driver")
    names = "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())
    if _installed("torch").endswith("+cpu"):
        action = "install a CUDA build of torch to have encoders use it"
        return Finding("gpu", NOTE, f"{names}, but torch is a CPU build", action)
    return Finding("gpu", OK, names)


def _memory() -> tuple[int, int]:
    """Bytes in all and free, under the control group's limit where it is the smaller."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    total, free = kilobytes["MemTotal"] * 1024, kilobytes["MemAvailable"] * 1024
    limit, used = (_number(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None and limit < total:
        total, free = limit, min(free, max(0, limit - used))
    return total, free


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def versions() -> Iterator[Finding]:
    """Each requirement of the package against what is installed, then the extras."""
    from packaging.requirements import Requirement  # pytest has it

    extras: dict[str, list[Requirement]] = {name: [] for name in EXTRAS}
    wrong = []
    core = 0
    for requirement in map(Requirement, importlib.metadata.requires("benchsuite") or ()):
        marker = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", str(requirement.marker or ""))
        if marker is not None:
            extras.setdefault(marker[1], []).append(requirement)
            continue
        core += 1
        if problem := _unmet(requirement):
            wrong.append(Finding("versions", PROBLEM, problem, f"pip install '{_plain(requirement)}'"))
    yield from wrong
    if not wrong:
        yield Finding("versions", OK, f"benchsuite {_installed('benchsuite')} and its {core} requirements")
    for name, requirements in extras.items():
        yield _extra(name, requirements)


def _extra(name: str, requirements: Sequence[Requirement]) -> Finding:
    absent = [each.name for each in requirements if not _installed(each.name)]
    area, use, action = f"extra {name}", EXTRAS.get(name, ""), f"pip install 'benchsuite[{name}]'"
    if absent:
        return Finding(area, NOTE, f"not installed ({', '.join(absent)}); for {use}", action)
    for each in requirements:
        if problem := _unmet(each):
            return Finding(area, PROBLEM, problem, f"pip install '{_plain(each)}'")
    return Finding(area, OK, ", ".join(f"{each.name} {_installed(each.name)}" for each in requirements))


def _unmet(requirement: Requirement) -> str:
    there = _installed(requirement.name)
    if not there:
        return f"{requirement.name} is not installed, {_plain(requirement)} is needed"
    if not requirement.specifier.contains(there, prereleases=True):
        return f"{requirement.name} {there} is installed, {_plain(requirement)} is needed"
    return ""


def _plain(requirement: Requirement) -> str:
    return str(requirement).partition(";")[0].strip()


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def system(bench_dir: Path) -> Iterator[Finding]:
    """Open files, local sockets, processes, and SQLite on the bench dir's file system."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = soft < OPEN_FILES and soft != resource.RLIM_INFINITY
    words = "no limit" if soft == resource.RLIM_INFINITY else f"at most {soft}"
    action = f"ulimit -n {OPEN_FILES if hard < 0 else min(hard, 4096)}, or a lower --bench-concurrency" if few else ""
    yield Finding("open files", PROBLEM if few else OK, words, action)
    yield loopback()
    yield processes()
    place = existing_part(bench_dir)
    yield file_system(place)
    yield sqlite_files(place)


def loopback() -> Finding:
    """A connection to this machine, over TCP as servers use it and over a Unix socket as workers do."""
    what = "127.0.0.1"
    try:
        with closing(socket.create_server((what, 0))) as server:
            _shake_hands(server, socket.AF_INET)
        with tempfile.TemporaryDirectory() as folder, closing(socket.socket(socket.AF_UNIX)) as server:
            what = "a Unix socket in the temporary folder"
            server.bind(f"{folder}/s")
            server.listen()
            _shake_hands(server, socket.AF_UNIX)
    except OSError as error:
        action = "launched servers and workers need it: allow loopback, or set TMPDIR to a short local path"
        return Finding("local network", PROBLEM, f"{what}: {error.strerror or error}", action)
    return Finding("local network", OK, "127.0.0.1 and Unix sockets")


def _shake_hands(server: socket.socket, family: int) -> None:
    server.settimeout(5)
    with closing(socket.socket(family)) as client:
        client.settimeout(5)
        client.connect(server.getsockname())
        accepted, _ = server.accept()
        with closing(accepted):
            client.sendall(b"x")
            if accepted.recv(1) != b"x":
                raise OSError("what was sent did not arrive")


def processes() -> Finding:
    """A process as a worker is started: this Python, with what it can import."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import execnet"], capture_output=True, text=True, timeout=_START_S
        )
        problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        return Finding("processes", PROBLEM, f"a worker does not start: {problem}", "run with -n 0")
    return Finding("processes", OK, "workers start")


def file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> Finding:
    """What kind of file system a folder is on. ``mounts`` lists the mounted ones as Linux does."""
    kind = _mounted_as(folder.resolve(), mounts)
    if NETWORK_FILE_SYSTEM.fullmatch(kind):
        action = "put the bench dir on a local disk (--bench-dir, ini bench_dir): SQLite's log is not safe here"
        return Finding("file system", PROBLEM, f"{folder} is on {kind}, a network file system", action)
    return Finding("file system", OK, f"{folder} is on {kind or 'a file system of unknown kind'}")


def _mounted_as(folder: Path, mounts: Path) -> str:
    """The type of the file system that a resolved folder is on; empty where that is not told."""
    try:
        rows = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    known = {re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), row[1]): row[2] for row in rows if len(row) > 2}
    return next((known[str(each)] for each in (folder, *folder.parents) if str(each) in known), "")


def sqlite_files(folder: Path) -> Finding:
    """A database with a write-ahead log, read beside its writer, and a lock, where the caches will stand."""
    area = "sqlite"
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as scratch:
            file = Path(scratch) / "wal.sqlite"
            with closing(sqlite3.connect(file, isolation_level=None)) as writer:
                mode = writer.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                writer.execute("CREATE TABLE t(x)")
                writer.execute("INSERT INTO t VALUES(1)")
                with closing(sqlite3.connect(file)) as reader:
                    seen = reader.execute("SELECT count(*) FROM t").fetchone()[0]
            with (Path(scratch) / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, sqlite3.Error) as error:
        action = "choose a folder that can be written, on a local disk (--bench-dir, ini bench_dir)"
        return Finding(area, PROBLEM, f"{folder}: {error}", action)
    if mode != "wal" or seen != 1:
        return Finding(area, PROBLEM, f"{folder}: no write-ahead log here (it says {mode})", "use a local disk")
    return Finding(area, OK, f"{sqlite3.sqlite_version}, with a write-ahead log and locks in {folder}")


def existing_part(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())
