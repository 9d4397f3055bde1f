"""Runs are removed whole or not at all, and only those that nobody needs."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchsuite.commands.rm import rm_command
from benchsuite.errors import ConfigError
from benchsuite.runs import RunStore, list_runs
from benchsuite.runs.folder import aside, gate, sweep, try_lock

ROOT = Path(__file__).parents[2]


def rm(runs, *arguments):
    assert rm_command([*map(str, arguments), "--bench-dir", str(runs.bench_dir)]) == 0


def names(runs):
    return [run.path.name for run in list_runs(runs.bench_dir)]


def refused(runs, *arguments):
    before = sorted(runs.bench_dir.rglob("*"))
    with pytest.raises(ConfigError) as caught:
        rm_command([*map(str, arguments), "--bench-dir", str(runs.bench_dir)])
    assert sorted(runs.bench_dir.rglob("*")) == before
    return str(caught.value)


def age(path, **changes):
    """Make a run one of long ago."""
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, "started": "2020-01-01T00:00:00+00:00", **changes}))


def test_runs_go_by_number_folder_and_path_and_caches_stay(runs, capsys):
    paths = [runs.make(name) for name in "abcd"]
    cache = runs.bench_dir / "cache" / "answers.sqlite"
    cache.parent.mkdir()
    cache.write_bytes(b"x")
    size = sum(file.stat().st_size for path in paths[:3] for file in path.rglob("*") if file.is_file())
    rm(runs, "1", "0002_nogit_b", paths[2], "1", "--json")
    said = json.loads(capsys.readouterr().out)
    assert [each["run"] for each in said["removed"]] == ["0001_nogit_a", "0002_nogit_b", "0003_nogit_c"]
    assert said["bytes"] == size
    assert names(runs) == ["0004_nogit_d"]
    assert sorted(each.name for each in runs.folder.iterdir()) == [".lock", "0004_nogit_d"]
    assert cache.read_bytes() == b"x"
    with RunStore.open(runs.bench_dir, "", {"e": ["x"]}, {}) as store:
        assert store.info["number"] == 5


def test_a_dry_run_removes_nothing(runs, capsys):
    runs.make("a")
    rm(runs, "1", "--dry-run")
    out = capsys.readouterr().out
    assert out.startswith("would remove 0001_nogit_a: ")
    assert "would free" in out
    assert names(runs) == ["0001_nogit_a"]


def test_one_that_is_refused_keeps_all(runs, tmp_path):
    kept, other, elsewhere = runs.make("anchor"), runs.make("b"), runs.make("c", bench_dir=tmp_path / "elsewhere")
    assert refused(runs, 2, 1, "--keep", "anchor") == "run 0001_nogit_anchor is kept by --keep anchor"
    assert "kept by --keep 1" in refused(runs, kept.name, "--keep", "1")
    assert "--keep ancor: no such run" in refused(runs, 2, "--keep", "ancor")
    assert "not a run in" in refused(runs, elsewhere)
    assert "not a run in" in refused(runs, runs.bench_dir)
    assert "not a run in" in refused(runs, other / "..")
    assert "no run '7'" in refused(runs, 7)
    assert "no run '../absent'" in refused(runs, "../absent")
    assert "'b' is the name of 1 runs: say which, of 0002_nogit_b" in refused(runs, "b")
    (runs.folder / "0009_nogit_link").symlink_to(elsewhere)
    assert "a link" in refused(runs, 9)
    assert (elsewhere / "run.json").exists()


def test_a_run_that_is_being_written_is_refused(runs):
    runs.make("a")
    with RunStore.open(runs.bench_dir, "b", {"e": ["x"]}, {}):
        assert refused(runs, 1, 2) == "run 0002_nogit_b is being written"
    rm(runs, 2)
    assert names(runs) == ["0001_nogit_a"]


def test_a_folder_that_cannot_be_read_can_be_removed(runs):
    runs.make("a")
    (runs.folder / "0002_nogit_torn").mkdir()
    (runs.folder / "0002_nogit_torn" / "run.json").write_text("{")
    rm(runs, 2)
    assert names(runs) == ["0001_nogit_a"]


def test_old_nightlies_go_but_the_newest_and_the_newest_green_stay(runs, capsys):
    for name, exit_code in [("nightly", 0), ("nightly", 0), ("nightly", 10), ("other", 0), ("nightly", 1)]:
        age(runs.make(name), exit=exit_code)
    age(runs.make("nightly", exit_code=None))
    rm(runs, "--older-than", 100_000, "--name", "nightly")
    assert len(names(runs)) == 6
    capsys.readouterr()
    rm(runs, "--older-than", 30, "--name", "nightly", "--keep", "1")
    assert names(runs) == ["0001_nogit_nightly", "0002_nogit_nightly", "0004_nogit_other", "0006_nogit_nightly"]
    out = capsys.readouterr().out
    assert "stays 0001_nogit_nightly: --keep 1" in out
    assert "stays 0002_nogit_nightly: the newest with exit 0 of nightly" in out
    assert "stays 0006_nogit_nightly: the newest of nightly" in out
    runs.make("nightly", "another plan")
    rm(runs, "--older-than", 30, "--name", "nightly")
    assert names(runs) == ["0004_nogit_other", "0007_nogit_nightly"]


def test_a_young_run_stays(runs):
    runs.make("nightly")
    runs.make("nightly")
    rm(runs, "--older-than", 0.5, "--name", "nightly")
    assert len(names(runs)) == 2
    rm(runs, "--older-than", 0, "--name", "other")
    assert len(names(runs)) == 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["1", "--older-than", "3", "--name", "x"], ["--older-than", "3"], ["1", "--name", "x"], ["--older-than", "x"]],
)
def test_a_wrong_command_line_is_exit_2(runs, arguments, capsys):
    runs.make()
    with pytest.raises(SystemExit) as caught:
        rm_command([*arguments, "--bench-dir", str(runs.bench_dir)])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert len(names(runs)) == 1


def test_days_that_are_none_are_refused(runs):
    runs.make()
    for days in ("-1", "nan"):
        assert "not a number of days" in refused(runs, f"--older-than={days}", "--name", "run")


REMOVER = """
import sys, time
from pathlib import Path
import benchsuite.runs.remove as remove
def slow(path):
    next(path.glob("*.jsonl")).unlink()
    print("half", flush=True)
    time.sleep(60)
remove.shutil.rmtree = slow
remove.remove_runs(Path(sys.argv[1]), [Path(sys.argv[2])])
"""


def test_a_removal_that_is_killed_leaves_no_half_run(runs):
    path = runs.make("a")
    other = runs.make("b")
    process = subprocess.Popen(
        [sys.executable, "-c", REMOVER, str(runs.bench_dir), str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "half\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert names(runs) == ["0002_nogit_b"]
    assert len(list(runs.folder.glob(".aside-*"))) == 1
    rm(runs, other)
    assert list(runs.folder.iterdir()) == [runs.folder / ".lock"]


def test_sweeping_leaves_what_is_still_in_work(runs):
    runs.make("a")
    made = aside(runs.folder, "merge-1")
    made.mkdir()
    with try_lock(made), gate(runs.folder):
        sweep(runs.folder)
        assert made.exists()
    with gate(runs.folder):
        sweep(runs.folder)
    assert not made.exists()


@pytest.fixture
def read_only(runs):
    """A bench dir that this process may only read, root or not."""
    runs.make("a")
    folder = Path(tempfile.mkdtemp(prefix="benchsuite-test-"))
    shutil.copytree(runs.bench_dir, folder / "bench")
    folder.chmod(0o755)
    for each in (folder / "bench").rglob("*"):
        each.chmod(0o555 if each.is_dir() else 0o444)
    (folder / "bench").chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder / "bench"
    finally:
        if root:
            os.seteuid(0)
        for each in (folder / "bench", *(folder / "bench").rglob("*")):
            each.chmod(each.stat().st_mode | stat.S_IWUSR)
        shutil.rmtree(folder)


def test_a_read_only_bench_dir_is_one_error_and_can_still_be_listed(read_only, capsys):
    with pytest.raises(ConfigError, match=r"\.lock: Permission denied"):
        rm_command(["1", "--bench-dir", str(read_only)])
    assert [run.name for run in list_runs(read_only)] == ["a"]
    with pytest.raises(ConfigError, match="Permission denied"):
        RunStore.open(read_only, "", {"e": ["x"]}, {})
