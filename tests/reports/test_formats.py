"""Every form of a table says the same things, in its own escaping."""

import csv
import io
import json
import re

import pytest

from benchsuite_reports.formats import FORMATS, WIDTH, as_csv, as_json, as_latex, as_markdown, as_text
from benchsuite_reports.table import Block, Table, p_value, percent, signed


def table(**changes):
    values = {
        "id": "demo",
        "title": "A demonstration",
        "columns": ("Set", "Score", "Delta_D", "p"),
        "blocks": (
            Block(
                "length 32k, model m_1",
                (("n", "3 questions"),),
                (("gold", "43.93", "+13.87", "1.2e-4"), ("text", "41.62", "-0.58", "0.85")),
                left_out=tuple((f"q{i:02d}", "timeout error in oracle-pixels") for i in range(13)),
                notes=("A note.",),
                values={"n": 3, "delta": 0.1387},
            ),
        ),
        "facts": (("corpus", "mini, digest 12e45"), ("protocol", "memlens/1")),
        "notes": ("n: what n is.",),
        "pipeline_check": True,
    }
    return Table(**{**values, **changes})


def test_terminal_text_is_aligned():
    lines = as_text(table()).splitlines()
    assert lines[0] == "A demonstration (pipeline check, not evidence)"
    rows = [line for line in lines if line.startswith(("Set", "gold", "text"))]
    assert rows == [
        "Set   Score  Delta_D       p",
        "gold  43.93   +13.87  1.2e-4",
        "text  41.62    -0.58    0.85",
    ]


def test_terminal_text_lists_ten_left_out_ids_and_counts_the_rest_while_files_list_all():
    assert "q09" in as_text(table())
    assert "q10" not in as_text(table())
    assert "13: q00" in as_text(table())
    assert "3 more" in as_text(table())
    for name, form in FORMATS.items():
        assert "q12" in form(table()), name


def test_terminal_text_fits_however_long_the_cells_are():
    wide = table(
        title="word " * 40,
        columns=("Retrieved set " * 6, "Pixels delivered", "x" * 90, "p"),
        facts=(("corpus", "y" * 250),),
        blocks=(Block("model " + "m" * 120, (), (("long label " * 12, "43.93", "z" * 40, "1.2e-4"),)),),
    )
    lines = as_text(wide).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "".join(lines).count("z") == 40
    assert any("43.93" in line and line.rstrip().endswith("1.2e-4") for line in lines)


def test_csv_round_trip_with_commas_quotes_and_line_ends():
    nasty = 'a "quoted", two-line\ncell; ümlaut'
    block = Block("block, one", (("fact", "1, 2"),), ((nasty, "1", "2", "3"),), notes=("note, too",))
    read = list(csv.reader(io.StringIO(as_csv(table(blocks=(block,))))))
    assert read[0] == ["table", "kind", "block", "Set", "Score", "Delta_D", "p"]
    assert ["demo", "row", "block, one", nasty, "1", "2", "3"] in read
    assert ["demo", "fact", "block, one", "fact", "1, 2"] in read
    assert ["demo", "title", "", "A demonstration (pipeline check, not evidence)"] in read
    assert ["demo", "note", "block, one", "note, too"] in read


def test_json_has_texts_and_unrounded_numbers():
    read = json.loads(as_json(table()))
    assert read["pipeline_check"] is True
    assert read["blocks"][0]["values"] == {"n": 3, "delta": 0.1387}
    assert read["blocks"][0]["rows"][0] == ["gold", "43.93", "+13.87", "1.2e-4"]
    assert read["blocks"][0]["left_out"]["q12"] == "timeout error in oracle-pixels"
    assert read["facts"]["corpus"] == "mini, digest 12e45"


def test_json_refuses_what_is_no_number():
    block = Block("b", (), (), values={"x": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        as_json(table(blocks=(block,)))


def test_markdown_is_a_table_with_escaped_bars():
    block = Block("m|n", (), (("a|b*c_d", "1", "2", "3"),))
    text = as_markdown(table(blocks=(block,)))
    assert "| Set | Score | Delta\\_D | p |" in text
    assert "| :-- | --: | --: | --: |" in text
    assert "| a\\|b\\*c\\_d | 1 | 2 | 3 |" in text
    assert "## m\\|n" in text


def test_latex_escapes_every_special_character():
    special = r"\ { } $ & # % _ ~ ^ < > |"
    block = Block("50% of m_1 & more", (("corpus", "a_b#c"),), ((special, "1", "2", "3"),), notes=("x^2 ~ $y$",))
    text = as_latex(table(blocks=(block,), title="R&D"))
    assert (
        r"\textbackslash{} \{ \} \$ \& \# \% \_ \textasciitilde{} \textasciicircum{} "
        r"\textless{} \textgreater{} \textbar{} & 1 & 2 & 3 \tabularnewline"
    ) in text
    assert r"\caption{R\&D (pipeline check, not evidence)}" in text
    assert r"50\% of m\_1 \& more" in text
    assert r"corpus: a\_b\#c." in text
    assert r"x\textasciicircum{}2 \textasciitilde{} \$y\$" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrr}", r"\label{tab:demo}"):
        assert rule in text
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0


def test_latex_sets_signs_powers_and_deltas_as_mathematics_in_cells_only():
    text = as_latex(table())
    assert r"gold & 43.93 & $+13.87$ & $1.2\times 10^{-4}$ \tabularnewline" in text
    assert r"text & 41.62 & $-0.58$ & 0.85 \tabularnewline" in text
    assert r"$\Delta_{D}$" in text
    assert "digest 12e45" in text


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.0, "1.0"),
        (0.58466, "0.58"),
        (0.85, "0.85"),
        (0.1, "0.10"),
        (0.0127, "0.013"),
        (0.0012, "0.0012"),
        (0.000116, "1.2e-4"),
        (2.236e-05, "2.2e-5"),
        (7.9e-12, "7.9e-12"),
        (0.00099999, "1.0e-3"),
        (0.0, "<1e-300"),
    ],
)
def test_p_values(p, text):
    assert p_value(p) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (24 / 173, "+13.87"),
        (-1 / 173, "-0.58"),
        (0.0, "+0.00"),
        (-0.0, "+0.00"),
        (-1e-9, "+0.00"),
        (-1.0, "-100.00"),
    ],
)
def test_signed_points(fraction, text):
    assert signed(fraction) == text


def test_percent():
    assert percent(76 / 173) == "43.93"


def columns_of_ones_own():
    shared = table().blocks[0]
    other = Block("by stratum", (), (("label", "7"),), left_out=None, values={"n": 7}, columns=("Stratum", "n"))
    return table(blocks=(shared, other, Block("more", (), (("a", "b", "c", "d"),))))


def test_a_block_with_columns_of_its_own_has_them_in_every_form():
    lines = as_text(columns_of_ones_own()).splitlines()
    assert "Stratum  n" in lines
    assert "label    7" in lines
    assert lines.count("Set   Score  Delta_D       p") == 2
    assert "| Stratum | n |" in as_markdown(columns_of_ones_own())
    read = list(csv.reader(io.StringIO(as_csv(columns_of_ones_own()))))
    assert ["demo", "columns", "by stratum", "Stratum", "n"] in read
    blocks = json.loads(as_json(columns_of_ones_own()))["blocks"]
    assert [block["columns"][0] for block in blocks] == ["Set", "Stratum", "Set"]
    latex = as_latex(columns_of_ones_own())
    assert latex.count(r"\begin{tabular}{lrrr}") == 2
    assert r"\begin{tabular}{lr}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3


def test_a_part_of_another_blocks_questions_says_nothing_of_what_is_left_out():
    assert as_text(columns_of_ones_own()).count("left out:") == 2
    assert json.loads(as_json(columns_of_ones_own()))["blocks"][1]["left_out"] is None
