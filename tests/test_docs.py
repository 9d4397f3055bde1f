"""Every command and snippet in README and docs runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parent.parent
MINI = ROOT / "benchsuite" / "corpus" / "minis" / "memlens_mini"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(word: str) -> list[tuple[str, str]]:
    """(page, command) for every indented line that starts with ``word``."""
    found = []
    for page in PAGES:
        for line in re.findall(rf"^    ({word} .*)$", page.read_text(), re.MULTILINE):
            found.append((page.name, line))
    return found


@pytest.mark.parametrize(("page", "line"), commands("pytest"))
def test_a_pytest_command_selects_cells(page, line, tmp_path):
    command, _, remark = line.partition("#") if "http" not in line else (line, "", "")
    words = shlex.split(command)
    words = [word.replace("PATH", str(MINI)) for word in words]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--collect-only", "-q", "-n", "0", "--bench-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    if "exit 4" in remark:
        assert done.returncode == 4
        assert done.stderr.startswith("benchsuite: ")
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"::test_\w+\[", done.stdout)


@pytest.mark.parametrize(("page", "line"), commands("benchsuite"))
def test_a_benchsuite_command_runs(page, line, tmp_path):
    words = [word.replace("PATH", str(MINI)) for word in shlex.split(line.split("  ")[0])]
    (tmp_path / ".bench").mkdir()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("benchsuite")), *words[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr


def test_the_extending_page_runs_as_written(pytester, monkeypatch):
    page = (ROOT / "docs/extending.md").read_text()
    retriever, experiment, direct = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    pytester.makeconftest('pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]')
    pytester.makepyfile(my_first_words=retriever)
    (pytester.path / "cases").mkdir()
    (pytester.path / "cases" / "test_recency.py").write_text(experiment)
    (pytester.path / "cases" / "test_mine.py").write_text(direct)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    result = pytester.runpytest_subprocess(
        "cases",
        "-p",
        "my_first_words",
        "--bench-axis",
        "retrieval=first",
        "--bench-axis",
        "delivery=noimg",
        "--bench-limit",
        "2",
    )
    result.assert_outcomes(passed=3)
    assert "1x-first-noimg-embedded" in next(pytester.path.glob(".bench/runs/*/outcomes.jsonl")).read_text()


def test_the_models_page_is_a_models_file(tmp_path):
    from benchsuite.models.spec import parse_models

    (tmp_path / "bench-models.toml").write_text(
        re.findall(r"```toml\n(.*?)```", (ROOT / "docs/models.md").read_text(), re.DOTALL)[0]
    )
    (spec,) = parse_models(["qwen8b"], tmp_path / "bench-models.toml", environ={"QWEN_KEY": "k"})
    assert spec.model == "Qwen/Qwen3-VL-8B-Instruct"
    assert spec.params["max_tokens"] == 512
    assert spec.params["top_p"] == 1.0
