"""``--bench-dry-run``: the numbers are those of the run that follows, and nothing is sent or written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchsuite.models.tokenizer import load_tokenizer

Project = Any  # tests/plugin/conftest.py

ARM = "32k-recency-{}-scripted"
COLUMNS = ("cells", "requests", "cached", "sent", "images", "text", "image_tokens")


def shown(result: pytest.RunResult, label: str) -> dict[str, int]:
    """The numbers of a line of the table of arms."""
    (line,) = [line for line in result.outlines if line.startswith(f"{label} ")]
    numbers = [int(text.replace(",", "")) for text in line.removeprefix(label).split()]
    return dict(zip(COLUMNS, numbers, strict=True))


def model_line(result: pytest.RunResult, name: str = "scripted") -> list[str]:
    """The cells of a line of the table of models: model, requests, input, output, cost, time."""
    (line,) = [line for line in result.outlines if re.match(rf"{name} +\d", line)]
    return re.split(r"  +", line.strip())


def dry(project: Project, *args: str) -> pytest.RunResult:
    """A dry run that must have sent nothing and written no run."""
    before, runs = list(project.endpoint.bodies), project.runs
    result = project.run("--bench-dry-run", *args)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert project.endpoint.bodies == before
    assert project.runs == runs
    return result


def texts_of(body: dict[str, Any]) -> list[str]:
    contents = [message["content"] for message in body["messages"]]
    return [
        part if isinstance(part, str) else part.get("text", "")
        for content in contents
        for part in ([content] if isinstance(content, str) else content)
    ]


def test_the_numbers_are_those_of_the_run_that_follows(project: Project) -> None:
    project.corpus(5)
    axes = ("--bench-axis", "delivery=noimg,pixels,pixels+s40,deployed")
    planned = dry(project, *axes)
    assert "nothing was sent to a model under test or a judge, and no run was written" in planned.stdout.str()
    assert not (project.pytester.path / ".bench" / "cache" / "answers.sqlite").exists()
    assert project.run(*axes).ret == 0
    rows = list(project.rows().values())
    assert {row["arm.delivery"] for row in rows} == {"noimg", "pixels", "pixels+s40", "deployed"}
    for delivery in ("noimg", "pixels", "pixels+s40", "deployed"):
        mine = [row for row in rows if row["arm.delivery"] == delivery]
        found = shown(planned, ARM.format(delivery))
        assert found["cells"] == found["requests"] == found["sent"] == len(mine) == 5
        assert found["images"] == sum(row["n_images"] for row in mine) == (0 if delivery == "noimg" else 5)
        assert found["image_tokens"] == sum(row["image_tokens"] for row in mine)
    assert shown(planned, ARM.format("pixels+s40"))["image_tokens"] == 5 * 2 * 1  # 64x48 within 40 pixels: 40x30
    every = shown(planned, "all")
    assert every["sent"] == len(project.endpoint.bodies) == 20
    assert every["images"] == sum(row["n_images"] for row in rows)


def test_text_is_counted_as_the_tables_count_what_was_sent(project: Project) -> None:
    project.corpus(3)
    (project.pytester.path / "cases" / "test_delivery.py").write_text(
        "import pytest\n"
        "@pytest.mark.memlens\n"
        "@pytest.mark.experiment(retrieval=['recency'], delivery=['deployed'], tables=['delivermem_t18'])\n"
        "def test_cost(outcome):\n    assert outcome.answered\n"
    )
    planned = shown(dry(project), ARM.format("deployed"))
    assert project.run().ret == 0
    counted = json.loads((project.runs[-1] / "tokens.json").read_text())["delivered"]
    assert planned["text"] == sum(counted.values()) > 0
    _, count = load_tokenizer()
    joined = sum(sum(count(texts_of(body))) for body in project.endpoint.bodies)
    assert planned["text"] == pytest.approx(joined, rel=0.02)  # as sent, neighbouring parts are one text


def test_what_the_cache_answers_is_not_sent_again(project: Project) -> None:
    project.corpus(4)
    axes = ("--bench-axis", "delivery=noimg,pixels+s40")
    assert project.run(*axes, "--bench-axis", "delivery=noimg").ret == 0
    part = dry(project, *axes)
    assert shown(part, ARM.format("noimg"))["cached"] == 4
    assert shown(part, ARM.format("pixels+s40")) | {"text": 0} == dict(zip(COLUMNS, (4, 4, 0, 4, 4, 0, 8), strict=True))
    assert "4 requests show images that are not prepared yet" in part.stdout.str()
    assert project.run(*axes).ret == 0
    full = dry(project, *axes)
    assert shown(full, "all") == dict(zip(COLUMNS, (8, 8, 8, 0, 0, 0, 0), strict=True))
    assert "not prepared yet" not in full.stdout.str()
    assert shown(dry(project, *axes, "--bench-cache", "refresh"), "all")["sent"] == 8


def test_identical_requests_are_one(project: Project) -> None:
    """Without items there are no images to withhold, so both arms send the same."""
    project.corpus(3)
    axes = ("--bench-axis", "retrieval=none", "--bench-axis", "repeat=0,1")
    planned = shown(dry(project, *axes), "all")
    assert (planned["cells"], planned["requests"]) == (12, 6)
    assert project.run(*axes).ret == 0
    assert len(project.endpoint.bodies) == 6


def test_a_cell_of_two_experiments_is_counted_once(project: Project) -> None:
    project.corpus(2)
    cases = project.pytester.path / "cases"
    (cases / "test_again.py").write_text((cases / "test_delivery.py").read_text())
    result = dry(project)
    assert sum(line.startswith(ARM.format("pixels")) for line in result.outlines) == 2
    assert shown(result, "all")["cells"] == 4


def test_costs_come_from_prices_and_typical_values_from_earlier_runs(project: Project) -> None:
    project.corpus(4)
    file = project.pytester.path / "prices.toml"
    file.write_text('currency = "EUR"\n[scripted]\ninput = 1000.0\noutput = 2000.0\nimage_tokens = 100\n')
    prices = ("--bench-prices", "prices.toml")
    first = dry(project, *prices)
    every = shown(first, "all")
    tokens = every["text"] + 100 * every["images"]
    _, requests, counted, output, cost, time = model_line(first)
    assert (int(requests), int(counted.replace(",", ""))) == (8, tokens)
    assert (output, time) == ("- / 8,192", "-")
    assert cost == f"- / {(tokens * 1000 + 8192 * 2000) / 1e6:.2f} EUR"
    assert "no earlier answers here" in first.stdout.str()

    assert project.run("--bench-axis", "delivery=noimg").ret == 0  # each answer is said to have 2 tokens
    second = dry(project, *prices, "--bench-axis", "delivery=pixels")
    found = shown(second, "all")
    typical = ((found["text"] + 100 * 4) * 1000 + 4 * 2 * 2000) / 1e6
    at_most = ((found["text"] + 100 * 4) * 1000 + 4 * 1024 * 2000) / 1e6
    _, _, _, output, cost, time = model_line(second)
    assert 0 < typical < 1 < at_most
    assert (output, cost) == ("8 / 4,096", f"{typical:.4f} / {at_most:.2f} EUR")
    assert time.endswith(" s")
    assert "scripted: 4 earlier answers, median output 2 tokens" in second.stdout.str()


def test_without_a_price_there_are_tokens_only(project: Project) -> None:
    project.corpus(1)
    result = dry(project)
    assert model_line(result)[4] == "- / -"
    assert "no prices were given, so these are tokens only" in result.stdout.str()
    (project.pytester.path / "p.toml").write_text('currency = "USD"\n[another]\ninput = 1.0\noutput = 1.0\n')
    result = dry(project, "--bench-prices", "p.toml")
    assert model_line(result)[4] == "- / -"
    assert "the price file has no entry 'scripted' or 'scripted'; it has: another" in " ".join(result.outlines)


def test_the_judge_is_bounded_until_answers_are_known(project: Project) -> None:
    project.corpus(3)
    judge = f"{project.endpoint.model.partition('#')[0]}#arbiter"
    project.endpoint.script = lambda body: (
        "VERDICT=1" if body["model"] == "arbiter" else "value1" if "value" not in str(body) else "no"
    )
    args = ("--bench-judge", judge, "--bench-judge-votes", "3", "--bench-axis", "delivery=noimg")
    planned = dry(project, *args)
    assert model_line(planned, "arbiter")[1] == str(3 * 3)
    assert "answers of 3 cells are not known: each may need 3 verdicts" in " ".join(planned.outlines)
    assert project.run("--bench-axis", "delivery=noimg").ret == 0  # the answers, without verdicts
    known = dry(project, *args)
    assert "are not known" not in known.stdout.str()
    before = len(project.endpoint.bodies)
    assert project.run(*args).ret == 0
    assert int(model_line(known, "arbiter")[1]) == len(project.endpoint.bodies) - before > 0
    assert model_line(dry(project, *args), "arbiter")[1] == "0"


def test_a_cell_that_cannot_be_composed_fails_the_dry_run(project: Project) -> None:
    project.corpus(3)
    project.pytester.makeconftest(
        'pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]\n'
        "class Broken:\n"
        "    version = 'broken/1'\n"
        "    def rank(self, query, items, k):\n"
        "        if 'fact 1?' in query.text:\n"
        "            raise ValueError('cannot rank this')\n"
        "        return [(items[0].id, 1.0)]\n"
        "def pytest_bench_register(registry):\n"
        "    registry.retriever('broken', Broken)\n"
    )
    result = project.run("--bench-dry-run", "--bench-axis", "retrieval=broken", "--bench-axis", "delivery=noimg")
    assert result.ret == 1
    assert "ValueError: cannot rank this (1 cell, not scored)" in result.stdout.str()
    found = shown(result, "all")
    assert (found["cells"], found["requests"]) == (3, 2)
    assert project.endpoint.bodies == []
    assert project.runs == []


def test_other_tests_are_not_run_but_named(project: Project) -> None:
    project.corpus(1)
    (project.pytester.path / "cases" / "test_own.py").write_text(
        "from pathlib import Path\n"
        "def test_plain():\n    Path('ran').touch()\n"
        "def test_asks(bench):\n    Path('ran').touch()\n"
    )
    result = dry(project)
    assert "tests that ask by bench.ask, not run and not counted: 1" in result.stdout.str()
    assert "tests that show no cell, not run: 1" in result.stdout.str()
    assert not (project.pytester.path / "ran").exists()


def test_nothing_is_run_after_a_fault_of_collection(project: Project) -> None:
    project.corpus(1)
    (project.pytester.path / "cases" / "test_broken.py").write_text("import nothing_of_this_name\n")
    result = project.run("--bench-dry-run", "--continue-on-collection-errors")
    assert result.ret == 2
    assert project.endpoint.bodies == []
    assert project.runs == []


def test_workers_are_refused(project: Project) -> None:
    project.corpus(1)
    assert project.refused("--bench-dry-run", workers=2) == ["--bench-dry-run works in one process: add -n 0"]
    assert project.refused("--bench-dry-run", "-n", "auto") == ["--bench-dry-run works in one process: add -n 0"]
    several = ("--dist", "load", "--tx", "2*popen")
    assert project.refused("--bench-dry-run", *several, workers=1) == ["--bench-dry-run works in one process: add -n 0"]
    assert project.run("--bench-dry-run", "-n", "0", workers=2).ret == 0


def test_a_faulty_price_file_is_refused(project: Project) -> None:
    project.corpus(1)
    (project.pytester.path / "p.toml").write_text('currency = "USD"\n[scripted]\ninput = -1.0\noutput = 1.0\n')
    (problem,) = project.refused("--bench-dry-run", "--bench-prices", "p.toml")
    assert "p.toml: model 'scripted': field 'input': " in problem
    (problem,) = project.refused("--bench-dry-run", "--bench-prices", "absent.toml")
    assert problem == f"{project.pytester.path / 'absent.toml'}: cannot be read: No such file or directory"


@pytest.mark.slow
def test_encoders_work_and_keep_what_they_did(project: Project) -> None:
    project.corpus(3)
    axes = ("--bench-axis", "retrieval=text")
    planned = dry(project, *axes)
    vectors = list((project.pytester.path / ".bench" / "cache" / "embedding").rglob("vectors.sqlite"))
    assert [Path(file).stat().st_size > 0 for file in vectors] == [True]
    assert project.run(*axes).ret == 0
    assert shown(planned, "all")["sent"] == len(project.endpoint.bodies)
