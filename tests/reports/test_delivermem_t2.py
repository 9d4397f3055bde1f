"""DeliverMem Table 2 from rows: lengths as columns, the baselines, the strata, and published figures where they may."""

from dataclasses import replace

import pytest

from benchsuite.errors import BenchError
from benchsuite_reports.arms import DELIVERMEM, NO_CONTEXT, TEXT_CHANNEL, UNSTAMPED, WITHHELD
from benchsuite_reports.delivermem_t2 import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.published import TYPES, published
from benchsuite_reports.table import CorpusFacts, EncoderFacts, RunFacts

ALL = "model qwen: all questions"
JUDGE = "Qwen/Qwen3-VL-235B-A22B-Instruct"


def cells(table, heading=ALL):
    (block,) = [block for block in table.blocks if block.heading == heading]
    return {line[0]: line[1:] for line in block.rows}


def facts(table):
    return dict(table.blocks[0].facts)


def four_questions(rows_of, row, length="1x", **changes):
    """q0 to q2 are answerable and q2 is a paraphrase; u0 is not answerable."""
    rows = rows_of(
        {
            NO_CONTEXT: (0.0, 0.0),
            WITHHELD: (1.0, 0.0),
            TEXT_CHANNEL: (1.0, 0.0),
            DELIVERMEM: (1.0, 1.0),
        },
        length=length,
        labels=["label"],
        **changes,
    )
    for condition, third, refusal in (
        (NO_CONTEXT, 0.0, 1.0),
        (WITHHELD, 0.0, 1.0),
        (TEXT_CHANNEL, 1.0, 0.0),
        (DELIVERMEM, 1.0, 0.0),
    ):
        rows.append(row("q2", condition, third, length=length, labels=["paraphrase"], **changes))
        rows.append(row("u0", condition, refusal, length=length, labels=["absent-entity"], answerable=False, **changes))
    return rows


def test_accuracy_by_length_with_the_baselines(rows_of, row, mini):
    longer = four_questions(rows_of, row, length="2x")
    table = build([*longer, *four_questions(rows_of, row)], mini)
    assert table.columns == ("Condition", "1x", "2x")
    assert cells(table) == {
        "n": ("4", "4"),
        "Constant refusal (by rule, no model)": ("25.00", "25.00"),
        "No context (retrieval none)": ("25.00", "25.00"),
        "Images withheld (text channel, no tag or date)": ("50.00", "50.00"),
        "Text-channel retrieval (no tag or date)": ("50.00", "50.00"),
        "DeliverMem (both channels, tag and date)": ("75.00", "75.00"),
    }
    assert facts(table)["n"] == "4 questions, 3 without refusal questions"
    assert "up to four variables" in table.notes[0]
    assert table.blocks[0].values["accuracy.both-deployed-region.2x"] == 0.75


def test_the_strata_stand_apart(rows_of, row, mini):
    table = build(four_questions(rows_of, row), mini)
    assert [block.heading for block in table.blocks] == [
        ALL,
        "model qwen: answerable questions only",
        "model qwen: paraphrase stratum only",
        "model qwen: without the paraphrase stratum",
    ]
    answerable = cells(table, "model qwen: answerable questions only")
    assert answerable["n"] == ("3",)
    assert answerable["Constant refusal (by rule, no model)"] == ("0.00",)
    assert answerable["DeliverMem (both channels, tag and date)"] == ("100.00",)
    paraphrase = cells(table, "model qwen: paraphrase stratum only")
    assert (paraphrase["n"], paraphrase["Text-channel retrieval (no tag or date)"]) == (("1",), ("100.00",))
    rest = cells(table, "model qwen: without the paraphrase stratum")
    assert (rest["n"], rest["DeliverMem (both channels, tag and date)"]) == (("3",), ("66.67",))


def test_no_strata_where_there_are_none(rows_of, mini):
    table = build(rows_of({DELIVERMEM: (1.0, 0.0), WITHHELD: (0.0, 0.0)}), mini)
    assert [block.heading for block in table.blocks] == [ALL]
    assert facts(table)["missing arms"] == "none-pixels, text-pixels"


def test_errors_are_left_out_at_their_length_alone(rows_of, row, mini):
    rows = four_questions(rows_of, row, length="1x") + four_questions(rows_of, row, length="2x")
    rows = [each for each in rows if each["cell"] != row("q1", DELIVERMEM, 1.0, length="2x")["cell"]]
    rows.append(row("q1", DELIVERMEM, "error", length="2x"))
    table = build(rows, mini)
    assert cells(table)["n"] == ("4", "3")
    assert dict(table.blocks[0].left_out) == {"q1 at 2x": "timeout error in both-deployed-region"}
    assert facts(table)["errors"] == "1x: 0; 2x: both-deployed-region 1"
    bounds = facts(table)["worst case bounds, errors and unparsed all wrong to all right"]
    assert bounds == "2x: both-deployed-region 50.00 to 75.00"
    assert facts(table)["n"].startswith("1x: 4 questions, 3 without refusal questions; 2x: 3 questions, 2 ")


def test_a_length_that_lacks_a_condition_shows_the_gap(rows_of, mini):
    rows = rows_of({DELIVERMEM: (1.0,), WITHHELD: (0.0,)}, length="1x") + rows_of({WITHHELD: (0.0,)}, length="2x")
    table = build(rows, mini)
    assert cells(table)["DeliverMem (both channels, tag and date)"] == ("100.00", "n/a")


def test_without_delivermem_there_is_no_table(rows_of, mini):
    assert build(rows_of({WITHHELD: (1.0,), TEXT_CHANNEL: (1.0,), UNSTAMPED: (1.0,)}), mini).blocks == ()
    assert build([], mini).blocks == ()


def test_models_stand_in_blocks_of_their_own(rows_of, mini):
    rows = rows_of({DELIVERMEM: (1.0,)}) + rows_of({DELIVERMEM: (0.0,)}, model="alpha")
    assert [block.heading for block in build(rows, mini).blocks] == ["model alpha: all questions", ALL]
    with pytest.raises(BenchError, match="corpora"):
        build([*rows, *rows_of({DELIVERMEM: (0.0,)}, model="beta", corpus="cd" * 32)], mini)


def test_the_order_of_rows_does_not_matter_and_every_form_is_within_its_width(rows_of, row, mini):
    rows = four_questions(rows_of, row) + four_questions(rows_of, row, length="16x")
    table = TABLE.build(rows, mini)
    assert table == TABLE.build(rows[::-1], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for form in FORMATS.values():
        form(table)


def test_the_mini_shows_no_published_figure(rows_of, row, mini):
    table = build(four_questions(rows_of, row), mini)
    assert facts(table)["published figures not shown"] == "corpus is memlens-mini, not the public release"
    text = as_text(table)
    assert "pipeline check, not evidence" in text
    assert "Published" not in text
    figures = [value for each in published().rows if each.table == "delivermem_t2" for value in each.values.values()]
    assert not [value for value in figures if f"{value:.2f}" in text]


@pytest.fixture
def release_run(row):
    """195 questions of the release's types with the published numbers of right answers, and what it stands on."""
    sizes = published().types["public release"]
    right = {NO_CONTEXT: 22, WITHHELD: 69, TEXT_CHANNEL: 95, DELIVERMEM: 100}
    kinds = [kind for kind in ("answer_refusal", *list(TYPES)[:-1]) for _ in range(sizes[kind])]
    rows = [
        row(
            f"q{i:03}",
            condition,
            float(i < count),
            type=kind,
            answerable=kind != "answer_refusal",
            judge="judge",
            metric="judge" if kind != "answer_refusal" else "refusal",
            scorer="memlens-judge/1" if kind != "answer_refusal" else "memlens-strict/2",
        )
        for condition, count in right.items()
        for i, kind in enumerate(kinds)
    ]
    facts = RunFacts(
        {str(rows[0]["corpus"]): CorpusFacts("dataset_32k.json", bundled=False, files={"d.json": sha()})},
        models={"judge": JUDGE},
        encoders={
            "text": EncoderFacts("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
            "image": EncoderFacts("siglip2", "google/siglip2-base-patch16-384"),
        },
    )
    return rows, facts


def sha():
    return published().files["public release"]["32k"][0]


def test_published_figures_stand_beside_equal_conditions(release_run):
    rows, run = release_run
    table = build(rows, run)
    assert "published figures not shown" not in facts(table)
    assert "arXiv:2609.32590v1" in facts(table)["published, judged with the benchmark's own wording"]
    shown = cells(table, "model qwen, judge judge: all questions")
    assert shown["DeliverMem (both channels, tag and date)"] == ("51.28",)
    assert shown["Published: Best published agent"] == ("32.82 (MemAgent-7B)",)
    assert shown["Published: DeliverMem (Qwen3-VL-8B)"] == ("51.28",)
    assert shown["DeliverMem minus the best published agent"] == ("+18.46",)
    assert shown["Constant refusal (by rule, no model)"] == ("11.28",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows, run: (rows, replace(run, models={"judge": "gpt-5.4"})), "judge is gpt-5.4, published"),
        (lambda rows, run: (rows, replace(run, encoders={})), "base condition: text encoder is not recorded"),
        (lambda rows, run: ([{**each, "n_missing": 1} for each in rows], run), "corpus: 780 images are missing"),
        (
            lambda rows, run: ([each for each in rows if each["question"] != "q194"], run),
            "label version: questions by type are 61 IE/35 MSR/48 TR/28 KU/22 AR",
        ),
        (lambda rows, run: ([each for each in rows if each["cell"] != rows[-1]["cell"]], run), "n is 194"),
    ],
)
def test_one_difference_and_no_published_figure_is_left(release_run, change, reason):
    table = build(*change(*release_run))
    assert facts(table)["published figures not shown"].startswith(reason)
    assert not any(line[0].startswith("Published") for block in table.blocks for line in block.rows)
    assert "32.82" not in as_text(table)
