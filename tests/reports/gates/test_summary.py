"""The forms of a report: terminal lines, Markdown, JSON and the table, with text from anywhere in it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from benchsuite_reports.formats import FORMATS
from benchsuite_reports.gates.baseline import Baseline
from benchsuite_reports.gates.evaluate import Against, confirm, evaluate
from benchsuite_reports.gates.grammar import parse_gate
from benchsuite_reports.gates.summary import as_json, as_lines, as_markdown, gates_table, headline
from benchsuite_reports.table import CorpusFacts, RunFacts

HOSTILE = "`x`|<script>alert(1)</script>\n# h\x1b[31m @all **b** [l](http://e.org) </details>"
GATES = ["memlens.accuracy:-3pp@p<0.05", "memlens.errors:+1pp", "memlens.nothing:-3pp", "memlens.prompt_tokens:+5%"]


@pytest.fixture
def report(night, cell):
    """One gate of each verdict but to confirm; type, questions and the model as served have hostile names."""
    baseline = night([1] * 40)
    run = night([0] * 12 + [1] * 28, model_served=HOSTILE)
    for rows in (baseline, run):
        for i, row in enumerate(rows):
            row.update(question=f"{row['question']} {HOSTILE}", type=HOSTILE if i < 20 else "extraction")
    sides = [
        Against(Baseline("anchor", Path("0001_nogit_anchor")), baseline),
        Against(Baseline("last-green", None, "no finished run 'nightly' with exit 0 yet")),
    ]
    return evaluate([parse_gate(text) for text in GATES], run, sides, resamples=40, draws=2000)


def test_lines_say_the_verdict_first_and_are_lines(report):
    lines = as_lines(report)
    assert lines[0] == headline(report) == "gates: 1 fail, 1 not judged, 4 no baseline, 2 pass"
    assert lines[1].startswith(
        "FAIL memlens.accuracy against anchor (0001_nogit_anchor): -30.00 pp (100.00 -> 70.00), fails at -3pp with "
        "p < 0.05; p 4.9e-4, 0.0015 after Holm over 3; 40 questions under 1 arm, lost/won 12/0"
    )
    assert all(line.isprintable() for line in lines)
    assert "; and 2 more" in next(line for line in lines if line.startswith("  questions lost: "))
    assert lines[-1] == (
        "NO BASELINE last-green: no finished run 'nightly' with exit 0 yet; not judged and not failed: "
        "memlens.accuracy, memlens.errors, memlens.nothing, memlens.prompt_tokens"
    )


def test_a_list_is_cut_where_it_is_told(report):
    few, all_of_them = "\n".join(as_lines(report, 2)), "\n".join(as_lines(report, 100))
    assert few.count("q0") < all_of_them.count("q0")
    assert "and 10 more" in few
    assert "more" not in all_of_them


def test_markdown_holds_nothing_that_acts(report):
    text = as_markdown(report)
    assert text.startswith("## gates: 1 fail, 1 not judged, 4 no baseline, 2 pass\n\n| gate | baseline | verdict |")
    assert set(re.findall(r"<[^>]*>", text)) == {"<details>", "</details>", "<summary>", "</summary>"}
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>") > 0
    for raw in ("@all", "**b**", "[l](", "http://", "\x1b", "`x`|", "\n# h"):
        assert raw not in text
    shown = html.unescape(re.sub(r"\\(.)", r"\1", text))
    assert HOSTILE.replace("\n", " ").replace("\x1b", " ") in shown


def test_markdown_tables_keep_their_columns(report):
    tables = re.findall(r"(?:^\|.*\n)+", as_markdown(report), flags=re.MULTILINE)
    assert len(tables) == 4  # the verdicts, and the slices of each gate that was measured
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_markdown_lists_slices_and_questions_folded(report):
    text = as_markdown(report, 3)
    assert "<details><summary>Slices: 1 of 2 lost</summary>" in text
    assert "<details><summary>Questions lost: 12</summary>" in text
    assert "- and 9 more, in the JSON form" in text
    assert "Questions won" not in text


def test_json_has_everything_unrounded(report):
    found = json.loads(as_json(report))
    assert found["failed"] is True
    assert found["verdicts"] == {"fail": 1, "no baseline": 4, "pass": 2, "not judged": 1}
    first = found["judgements"][0]
    assert (first["gate"], first["suite"], first["run"]) == (GATES[0], "memlens", "0001_nogit_anchor")
    assert (first["a"], first["b"], first["p"], first["holm_p"]) == (1.0, 0.7, 2 / 2**12, 3 * 2 / 2**12)
    assert first["difference"] == first["change"] == pytest.approx(-0.3)
    assert len(first["moved"]) == 12
    assert first["moved"][0] == {
        "question": f"q000 {HOSTILE}",
        "type": HOSTILE,
        "difference": -1.0,
        "arms": [first["arms"][0]],
    }
    assert [part["difference"] for part in first["slices"] if part["kind"] == "type"] == pytest.approx([-0.6, 0.0])
    assert first["second"] is None
    missing = next(each for each in found["judgements"] if each["verdict"] == "not judged")
    assert missing["reason"].startswith("no metric 'nothing'")


def test_the_second_asking_stands_in_every_form(night):
    sides = [Against(Baseline("anchor", Path("0001_nogit_anchor")), night([1] * 40))]
    first = evaluate([parse_gate("memlens.accuracy:-3pp@confirm")], night([0] * 8 + [1] * 32), sides)
    assert as_lines(first)[1].startswith("TO CONFIRM memlens.accuracy")
    report = confirm(first, night([0] * 7 + [1] * 33, repeat=1), sides)
    assert as_lines(report)[1].startswith(
        "FAIL memlens.accuracy against anchor (0001_nogit_anchor): both askings show the loss; -20.00 pp"
    )
    assert any(line.startswith("  second asking: -17.50 pp (100.00 -> 82.50)") for line in as_lines(report))
    assert "second asking" in as_markdown(report)
    assert json.loads(as_json(report))["judgements"][0]["second"]["difference"] == pytest.approx(-0.175)


def test_percentages_and_tokens_have_their_units(night, judge):
    report = judge("memlens.prompt_tokens:+5%", night([1] * 30, usage__prompt=1100), night([1] * 30))
    line = as_lines(report)[1]
    assert "+10.00% (1000 -> 1100), fails at +5% with p < 0.05" in line
    assert "lost/won 30/0" in line
    assert any("95% by cluster: +100 tokens to +100 tokens" in each for each in as_lines(report))


@pytest.mark.parametrize("ending", FORMATS)
def test_the_table_stands_in_every_format(report, ending):
    table = gates_table(report, RunFacts({"ab" * 32: CorpusFacts("memlens-mini", bundled=True)}))
    assert table.heading == "Gates (pipeline check, not evidence)"
    text = FORMATS[ending](table)
    assert "memlens" in text
    assert text == FORMATS[ending](table)
    if ending == "json":
        values = json.loads(text)["blocks"][0]["values"]
        assert values[f"{GATES[0]} on memlens against anchor (0001_nogit_anchor): holm_p"] == 3 * 2 / 2**12


def test_no_gate_no_table(night):
    empty = evaluate([], night([1]), [])
    assert gates_table(empty, RunFacts({})).blocks == ()
    assert as_lines(empty) == ["gates: none"]
    assert as_markdown(empty).startswith("## gates: none")
    assert json.loads(as_json(empty))["judgements"] == []
