"""The CI recipe of docs/nightly.md, run as its jobs would: a sharded matrix with merge, and a replay-only check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

QUESTIONS = 12
GATE = "memlens.accuracy:-3pp@p<0.05"


@pytest.fixture
def nightly(project, endpoint):
    project.corpus(QUESTIONS)
    cases = project.pytester.path / "cases" / "test_delivery.py"
    cases.write_text(
        cases.read_text().replace(
            'tables=["delivermem_t1"]', 'contrasts=["delivery: noimg -> pixels"], tables=["delivermem_t1"]'
        )
    )
    project.wrong = frozenset()

    def answer(body):
        number = int(json.dumps(body["messages"]).rpartition("What is fact ")[2].partition("?")[0])
        return "no such thing" if number in project.wrong else f"value{number}"

    endpoint.script = answer
    return project


def command(project, *args: str) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name("benchsuite")
    return subprocess.run(
        [str(tool), *args], cwd=project.pytester.path, capture_output=True, text=True, timeout=100, check=False
    )


def shards(project, wrong=frozenset()):
    project.wrong = wrong
    folders = []
    for number in (1, 2, 3):
        folder = f"shard{number}-{len(wrong)}"
        run = project.run("--bench-shard", f"{number}/3", "--bench-save", f"shard{number}", "--bench-dir", folder)
        assert run.ret == 0, run.stdout.str()
        folders += [str(path) for path in (project.pytester.path / folder / "runs").glob("0*")]
    return folders


def test_shards_are_merged_judged_and_reported(nightly):
    assert nightly.run("--bench-save", "anchor").ret == 0
    merged = command(nightly, "merge", *shards(nightly), "--name", "nightly")
    assert merged.returncode == 0, merged.stderr
    judged = command(nightly, "gates", "nightly", "--compare", "anchor", "--fail", GATE)
    assert (judged.returncode, judged.stdout.partition("\n")[0]) == (0, "gates: 1 pass")
    rows = json.loads(command(nightly, "show", "nightly", "--json").stdout)
    assert set(rows["cells"].values()) == {0, 2 * QUESTIONS}
    worse = command(nightly, "merge", *shards(nightly, frozenset(range(8))), "--name", "nightly")
    assert worse.returncode == 0, worse.stderr
    judged = command(nightly, "gates", "nightly", "--compare", "anchor", "--fail", GATE, "--markdown")
    assert judged.returncode == 10
    assert "| memlens.accuracy | anchor " in judged.stdout
    reported = command(nightly, "report", "--run", "nightly", "--all")
    assert reported.returncode == 0, reported.stderr
    assert (nightly.runs[-1] / "tables" / "contrasts.md").read_text().count(f"{QUESTIONS}/{QUESTIONS}") == 2
    assert (nightly.runs[-1] / "report" / "index.html").exists()


def test_a_pull_request_is_checked_from_the_cache_alone(nightly, endpoint):
    assert nightly.run("--bench-save", "nightly").ret == 0
    asked = len(endpoint.bodies)
    assert nightly.run("--bench-replay", "--bench-save", "pr", workers=2).ret == 0
    changed = nightly.run("--bench-replay", "--bench-axis", "delivery=pixels+conv+date", "--bench-save", "pr")
    assert changed.ret == 1
    changed.stdout.fnmatch_lines(["*no stored answer to this request, and replay sends none*"])
    assert len(endpoint.bodies) == asked
