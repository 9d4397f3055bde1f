"""``benchsuite report`` on planted runs: what is filled is written in every form, what is not is named."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchsuite.errors import ConfigError, DataError
from benchsuite.runs import RunStore
from benchsuite_reports.arms import DELIVERMEM
from benchsuite_reports.formats import FORMATS, as_latex, as_latex_document
from benchsuite_reports.report import missing_arms, report_command
from benchsuite_reports.table import Block, Condition, Table
from benchsuite_reports.tokens import write_tokens
from benchsuite_reports.write import discover_figures, discover_tables

ODD = "m&m_50%$#{x}~^\\ <b>"
Rows = list[dict[str, object]]
Plant = Callable[..., Path]


def conditions() -> list[Condition]:
    """Every arm of every table and figure, each once."""
    specs = [*discover_tables()[0].values(), *discover_figures().values()]
    return list({each.name: replace(each, label="") for spec in specs for each in spec.conditions}.values())


@pytest.fixture
def planted(row) -> Callable[..., Rows]:
    """Rows of eight questions under the conditions, three of them right, whichever depends on the arm."""

    def build(arms: Iterable[Condition], **changes) -> Rows:
        found = []
        for place, arm in enumerate(arms):
            for number in range(8):
                axes = {"k": arm.k, "repeat": arm.repeat, **changes.get("axes", {})}
                score = float((number + place) % 8 < 3)
                made = row(f"q{number}", arm, score, **{**changes, "axes": axes, "n_gold": 2, "answer": f"a{score}"})
                made["cell"] = f"{made['cell']}-{arm.name}"
                found.append(made)
        return found

    return build


@pytest.fixture
def plant(tmp_path) -> Plant:
    """A run folder of these rows."""

    def make(rows: Rows, name: str = "run", finished: bool = True, **info) -> Path:
        corpora = {str(each["corpus"]): {"name": "mini", "bundled": False} for each in rows}
        facts = {"corpora": corpora, "models": {}, "experiments": {}, **info}
        store = RunStore.open(tmp_path / ".bench", name, {"t": [str(each["cell"]) for each in rows]}, facts)
        for each in rows:
            store.append({**each, "run": {"id": store.path.name}})
        if finished:
            store.finish(0)
        else:
            store.close()
        return store.path

    return make


@pytest.fixture
def report(tmp_path, capsys) -> Callable[..., tuple[str, list[str]]]:
    """Runs the command in the planted folder: what it prints, and its lines of problems."""

    def run(*args: str) -> tuple[str, list[str]]:
        assert report_command([*args, "--bench-dir", str(tmp_path / ".bench")]) == 0
        out, err = capsys.readouterr()
        return out, err.splitlines()

    return run


def of_memlens(specs):
    """Without those of other suites, of which the planted runs have no row."""
    return {name: spec for name, spec in specs.items() if spec.suites in ((), ("memlens",))}


def test_every_table_and_figure_is_written_in_every_form_or_named(planted, plant, report):
    run = plant(planted(conditions()))
    out, problems = report("--all")
    there = {path.name for path in (run / "tables").iterdir()}
    named = {line.split()[3].rstrip(":") for line in out.splitlines() if line.startswith("not filled:")}
    faulty = {line.split()[2].rstrip(":") for line in problems}
    tables, figures = of_memlens(discover_tables()[0]), of_memlens(discover_figures())
    filled = [name for name in tables if {f"{name}.{form}" for form in ("md", "csv", "json", "tex")} <= there]
    drawn = [name for name in figures if {f"{name}.{form}" for form in ("json", "svg", "png")} <= there]
    assert named == {"contrasts", "delivermem_cost"}  # the planted rows have no prompt tokens
    assert {*filled, *drawn, *named} | faulty == {*tables, *figures}
    assert faulty - {"delivermem_f3"} <= {"delivermem_e6", "delivermem_t18"}  # no calls were planted, no tokens counted
    assert len(filled) == len(tables) - 1
    assert set(drawn) == {"delivermem_kcurve", "delivermem_types"}
    assert (run / "report" / "index.html").is_file()
    for name in filled:
        ElementTree.fromstring(report("--table", name, "--format", "html")[0])
        assert json.loads(report("--table", name, "--format", "json")[0])["id"] == name


def test_the_arms_that_are_missing_are_named_for_each_table_that_is_not_filled(planted, plant, report):
    plant(planted([DELIVERMEM]))
    out, _ = report("--all")
    line = next(line for line in out.splitlines() if line.startswith("not filled: table delivermem_t4:"))
    specs = discover_tables()[0]
    absent = [each.name for each in specs["delivermem_t4"].conditions if each.name != DELIVERMEM.name]
    assert line.partition("missing arms: ")[2].split(", ") == absent
    assert "figure delivermem_kcurve: missing arms: both-deployed-region-k3, " in out
    assert "table contrasts: the experiments of the run declare no contrast" in out


def test_without_more_words_it_lists_what_the_run_fills(planted, plant, report):
    plant(planted(conditions()[:6]))
    lines = report()[0].splitlines()
    assert {line.split(":")[0].strip() for line in lines[1:]} == {*discover_tables()[0], *discover_figures()}
    assert any("no: missing arms:" in line for line in lines)


def test_every_spec_but_the_contrasts_says_its_arms(planted):
    specs = of_memlens({**discover_tables()[0], **discover_figures()})
    assert [name for name, spec in specs.items() if not spec.conditions] == ["contrasts"]
    for name, spec in specs.items():
        assert missing_arms(spec.conditions, planted(spec.conditions)) == [], name


@pytest.mark.parametrize("form", ["text", "md", "csv", "json", "latex", "html"])
def test_one_table_is_printed_in_each_form(planted, plant, report, form):
    plant(planted(conditions(), model=ODD, model_served=ODD))
    out, problems = report("--table", "delivermem_t1", "--format", form)
    assert not problems
    if form == "json":
        assert ODD in json.dumps(json.loads(out), ensure_ascii=False).replace("\\\\", "\\")
    elif form == "csv":
        assert any(ODD in cell for line in csv.reader(io.StringIO(out)) for cell in line)
    elif form == "html":
        assert ODD in "".join(ElementTree.fromstring(out).itertext())
        assert "<b>" not in out.partition("<main>")[2]
    elif form == "latex":
        assert r"m\&m\_50\%\$\#\{x\}\textasciitilde{}\textasciicircum{}\textbackslash{} \textless{}b" in out
    else:
        assert "Table 1" in out


def test_several_tables_as_json_are_one_array(planted, plant, report):
    plant(planted(conditions()))
    read = json.loads(report("--table", "delivermem_t1", "delivermem_t2", "delivermem_kcurve", "--format", "json")[0])
    assert [each["id"] for each in read] == ["delivermem_t1", "delivermem_t2", "delivermem_kcurve"]


def test_a_table_that_refuses_its_rows_says_so_in_one_line_and_the_others_are_printed(planted, plant, report):
    rows = planted(conditions())
    for each in rows:
        if each["arm.retrieval"] == "oracle":
            each["scorer"] = "other/1"
    plant(rows)
    out, problems = report("--table", "delivermem_t1", "delivermem_t2")
    assert "Table 2" in out
    assert len(problems) == 1
    assert problems[0].startswith("benchsuite: table delivermem_t1: ")
    assert "different scorers" in problems[0]
    with pytest.raises(ConfigError, match="different scorers"):
        report("--table", "delivermem_t1")


@pytest.mark.parametrize(
    ("field", "values", "words"),
    [("corpus", "cd" * 32, "different corpora"), ("model_served", "other", "different models as served")],
)
def test_mixed_corpora_and_models_are_refused(planted, plant, report, field, values, words):
    rows = planted(conditions())
    for each in rows[::2]:
        each[field] = values
    plant(rows)
    with pytest.raises(ConfigError, match=words):
        report("--table", "delivermem_t1")


def test_what_cannot_be_made_is_one_line(planted, plant, report):
    plant(planted([DELIVERMEM]))
    for args, words in (
        (("--table", "delivermem_t99"), "no such table; there are contrasts, "),
        (("--table", "delivermem_t4"), "missing arms: "),
        (("--table", "delivermem_f3"), "missing arms: "),
        (("--format", "latex"), "need --table ID or --all"),
        (("--table", "delivermem_k", "--standalone"), "--standalone goes with --format latex"),
        (("--run", "no-such-run"), "no run 'no-such-run'"),
        (("--all", "--against", "1"), "that is the run itself"),
    ):
        with pytest.raises(ConfigError, match=re.escape(words)) as caught:
            report(*args)
        assert len(str(caught.value).splitlines()) == 1


def test_the_newest_finished_run_is_taken_and_half_a_run_only_when_named(planted, plant, report):
    plant(planted([DELIVERMEM]), "first")
    plant(planted([DELIVERMEM]), "second")
    half = plant(planted([DELIVERMEM])[:3], "half", finished=False)
    assert report()[0].startswith("run 0002")
    assert report("--run", "half")[0].startswith(f"run {half.name}: 3 cells")
    (half / "outcomes.jsonl").write_text((half / "outcomes.jsonl").read_text() + '{"cell": "cut')
    assert report("--run", "half")[0].startswith(f"run {half.name}: 3 cells")
    (half / "outcomes.jsonl").write_text('{"schema": 99, "cell": "x"}\n')
    with pytest.raises(DataError, match="99"):
        report("--run", "half")


def test_out_is_a_file_for_one_table_and_a_folder_for_several(planted, plant, report, tmp_path):
    plant(planted(conditions()))
    report("--table", "delivermem_t1", "--format", "latex", "--out", str(tmp_path / "one.tex"))
    assert (tmp_path / "one.tex").read_text().startswith(r"\begin{table}")
    report("--table", "delivermem_t1", "delivermem_kcurve", "--format", "md", "--out", str(tmp_path / "some"))
    assert {path.name for path in (tmp_path / "some").iterdir()} == {
        "delivermem_t1.md",
        *(f"delivermem_kcurve.{form}" for form in ("json", "svg", "png")),
    }
    report("--all", "--format", "latex", "--out", str(tmp_path / "paper"))
    assert not list((tmp_path / "paper").glob("*.md"))
    assert len(list((tmp_path / "paper").glob("*.tex"))) == len(of_memlens(discover_tables()[0])) - 1
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        report("--table", "delivermem_t1", "--out", str(tmp_path / "file" / "below.md"))


def test_token_counts_that_were_kept_are_shown_and_missing_ones_named(planted, plant, report, users):
    from benchsuite_reports.table import FullContext, TokenCounts

    rows = planted(conditions())
    run = plant(rows)
    _, problems = report("--table", "delivermem_e6")
    assert problems == ["benchsuite: table delivermem_e6: the run counted no tokens (tokens.json), so it shows none"]
    cells = {str(each["cell"]): 1234 for each in rows}
    full = {(str(rows[0]["corpus"]), "32k", f"q{number}"): FullContext(9000, 10) for number in range(8)}
    write_tokens(run, TokenCounts("some-tokenizer", cells, full))
    out, problems = report("--table", "delivermem_e6")
    assert not problems
    assert "some-tokenizer" in out
    assert "1334" in out.replace(",", "")


def test_a_suite_of_another_kind_has_its_contrasts_and_its_pages(planted, plant, report):
    arms = [Condition("", "oracle", "pixels"), Condition("", "oracle", "noimg")]
    rows = planted(arms)
    for each in rows:
        each["suite"] = "fixture"
        each["cell"] = str(each["cell"]).replace("memlens:", "fixture:")
        for axis in ("state", "index", "method", "length"):
            each[f"arm.{axis}"] = "none"
    experiment = {
        "suite": "fixture",
        "family": "",
        "primary": "delivery: noimg -> pixels",
        "contrasts": [],
        "tables": ["contrasts"],
    }
    run = plant(rows, experiments={"t": experiment})
    out, _ = report("--table", "contrasts", "--format", "md")
    assert "delivery noimg \\-> pixels" in out or "noimg" in out
    report("--all")
    page = ElementTree.fromstring((run / "report" / "index.html").read_text())
    assert page.find(".//details[@id='table-contrasts']") is not None
    assert len(list((run / "report" / "questions").iterdir())) == 8


def cells_of(latex: str) -> Mapping[str, set[int]]:
    """The numbers of cells of the rows of each tabular, by its columns."""
    found = {}
    for kinds, body in re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", latex, re.S):
        rows = [line for line in body.splitlines() if line.endswith(r"\tabularnewline") and "multicolumn" not in line]
        found[kinds] = {len(re.split(r"(?<!\\)&", row)) for row in rows}
    return found


def test_every_row_of_every_latex_table_has_the_cells_of_its_columns_and_every_group_is_closed(planted, plant, report):
    run = plant(planted(conditions(), model=ODD, model_served=ODD))
    report("--all", "--format", "latex")
    for file in (run / "tables").glob("*.tex"):
        latex = file.read_text()
        for kinds, counts in cells_of(latex).items():
            assert counts == {len(re.findall(r"[lr]|p\{[^}]*\}", kinds))}, file.name
        depth = 0
        for sign in re.findall(r"(?<!\\)[{}]", re.sub(r"\\\\", "", latex)):
            depth += 1 if sign == "{" else -1
            assert depth >= 0
        assert depth == 0
        for name in ("table", "tabular"):
            assert latex.count(rf"\begin{{{name}}}") == latex.count(rf"\end{{{name}}}")
        assert set(re.findall(r"\\([a-zA-Z]+)", latex)) <= KNOWN, file.name


KNOWN = {
    *("begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "multicolumn", "par"),
    *("smallskip", "parbox", "linewidth", "footnotesize", "scriptsize", "small", "tiny", "setlength", "tabcolsep"),
    *("textit", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"),
    *("times", "Delta", "addtocounter", "raggedright", "noindent", "tabularnewline", "rightarrow"),
}
"""What LaTeX has by itself, and booktabs."""


def table(rows: Iterable[tuple[str, ...]], columns: tuple[str, ...] = ("a", "b")) -> Table:
    return Table("demo", "Demo", columns, (Block("block", (), tuple(rows)),))


def test_a_table_longer_than_a_page_goes_on_in_further_ones_of_the_same_number():
    latex = as_latex(table([(f"row {number}", "1") for number in range(100)]))
    assert latex.count(r"\begin{table}") == latex.count(r"\addtocounter{table}{-1}") + 1 == 3
    assert latex.count(r"\label{tab:demo}") == 1
    assert [f"row {number} & 1" in latex for number in range(100)] == [True] * 100
    assert latex.count(r"\toprule") == 3


def test_long_words_and_many_columns_are_set_smaller_and_as_paragraphs():
    wide = [("a label that goes on and on " * 4, *["+13.87 to +20.11"] * 5)]
    latex = as_latex(table(wide, ("label", *"bcdef")))
    (kinds,) = cells_of(latex)
    assert r"p{" in kinds
    shares = [float(share) for share in re.findall(r"p\{([\d.]+)\\linewidth\}", kinds)]
    assert sum(shares) < 0.95  # the rest is what stands between columns
    assert r"\setlength{\tabcolsep}" in latex
    assert r"\setlength{\tabcolsep}" not in as_latex(table([("short", "1")]))


def test_latex_holds_no_character_that_an_engine_may_lack():
    latex = as_latex(table([("漢字 é – “q” \x07\n\u202e→", "1"), ("[first]", "*")]))
    assert "[U+6F22]" in latex
    assert "é -- ``q''" in latex
    assert r"$\rightarrow$" in latex
    assert "{}[first] &" in latex
    assert not re.search(r"[^\n -~À-ſ]", latex)


def test_a_standalone_document_is_the_table_in_a_document_with_booktabs(planted, plant, report):
    plant(planted(conditions()))
    out, _ = report("--table", "delivermem_t1", "--format", "latex", "--standalone")
    inner, _ = report("--table", "delivermem_t1", "--format", "latex")
    assert out == "\n".join(
        [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", inner + r"\end{document}", ""]
    )
    assert as_latex_document(table([("a", "1")])).count(r"\usepackage") == 1
    assert "tex" in FORMATS
