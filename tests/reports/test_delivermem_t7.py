"""DeliverMem Table 7 from rows: by type, task key and stratum, and the published pool where it may stand."""

import pytest

from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, NO_CONTEXT, TEXT_CHANNEL, UNSTAMPED, WITHHELD
from benchsuite_reports.delivermem_t7 import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.published import TYPES, published
from benchsuite_reports.table import CorpusFacts, EncoderFacts, RunFacts

OURS = (WITHHELD, TEXT_CHANNEL, BOTH_WHOLE, UNSTAMPED, DELIVERMEM)


def cells(block):
    return {line[0]: line[1:] for line in block.rows}


def one_of_each_type(row, condition, right, **changes):
    """q0 to q4, one of each type in the paper's order, the last not answerable; ``right`` is whose answer is right."""
    return [
        row(f"q{i}", condition, float(short in right), type=kind, answerable=short != "AR", **labels(short), **changes)
        for i, (kind, short) in enumerate(TYPES.items())
    ]


def labels(short):
    return {"labels": ["label" if short in ("IE", "AR") else "bridge", f"task:{short}_Key", "task-inferred"]}


def test_by_question_type(row, mini):
    rows = [
        *one_of_each_type(row, NO_CONTEXT, {"AR"}),
        *one_of_each_type(row, WITHHELD, {"AR"}),
        *one_of_each_type(row, BOTH_WHOLE, {"IE", "KU", "AR"}),
        *one_of_each_type(row, DELIVERMEM, {"IE", "TR", "KU"}),
    ]
    table = build(rows, mini)
    assert table.columns == ("Condition", "all", "non-AR", "IE", "MSR", "TR", "KU", "AR")
    assert cells(table.blocks[0]) == {
        "n": ("5", "4", "1", "1", "1", "1", "1"),
        "Constant refusal (by rule)": ("20.00", "0.00", "0.00", "0.00", "0.00", "0.00", "100.00"),
        "No context": ("20.00", "0.00", "0.00", "0.00", "0.00", "0.00", "100.00"),
        "Default index: images withheld": ("20.00", "0.00", "0.00", "0.00", "0.00", "0.00", "100.00"),
        "Default index: text and image channels": ("60.00", "50.00", "100.00", "0.00", "0.00", "100.00", "100.00"),
        "Region index: DeliverMem": ("60.00", "75.00", "100.00", "0.00", "100.00", "100.00", "0.00"),
    }
    facts = dict(table.blocks[0].facts)
    assert facts["n"] == "5 questions, 4 without refusal questions"
    assert facts["missing arms"] == "text-pixels, both-pixels-region"
    assert facts["published figures not shown"] == "corpus is memlens-mini, not the public release"
    assert table.blocks[0].values["accuracy.both-deployed-region.non-AR"] == 0.75


def test_by_task_key_and_by_stratum(row, mini):
    rows = [*one_of_each_type(row, BOTH_WHOLE, {"IE", "KU"}), *one_of_each_type(row, DELIVERMEM, {"TR"})]
    _, keys, strata = build(rows, mini).blocks
    assert keys.heading == "length 32k, model qwen: by task key"
    assert keys.columns == ("Task key", "n", "both, whole", "DeliverMem")
    assert cells(keys)["TR_Key"] == ("1", "0.00", "100.00")
    assert "inferred from the question, since the data has no subtype: 5 of 5" in keys.notes[0]
    assert strata.columns[0] == "Stratum"
    assert cells(strata) == {"bridge": ("3", "33.33", "33.33"), "label": ("2", "50.00", "0.00")}
    assert strata.notes == ()


def test_without_labels_there_is_one_block(rows_of, mini):
    assert len(build(rows_of({DELIVERMEM: (1.0,)}), mini).blocks) == 1


def test_a_type_of_ones_own_counts_in_all_and_is_said(row, mini):
    rows = [row("q0", DELIVERMEM, 1.0), row("q1", DELIVERMEM, 0.0, type="riddle")]
    (block,) = build(rows, mini).blocks
    assert cells(block)["n"] == ("2", "2", "1", "0", "0", "0", "0")
    assert cells(block)["Region index: DeliverMem"] == ("50.00", "50.00", "100.00", "n/a", "n/a", "n/a", "n/a")
    assert dict(block.facts)["questions of no such type, in 'all' alone"] == "1"


def test_nothing_of_its_own_is_no_table(rows_of, mini):
    assert build(rows_of({WITHHELD: (1.0,), TEXT_CHANNEL: (1.0,), NO_CONTEXT: (0.0,)}), mini).blocks == ()


@pytest.fixture
def release_run(row):
    """The release's 195 questions with as many right answers by type as the published rows of our conditions."""
    read = published()
    right = dict(zip(OURS, ("withheld", "text", "whole", "region", "delivermem"), strict=True))
    sizes = read.types["public release"]
    rows = []
    for condition, name in right.items():
        (figures,) = [each.values for each in read.rows if (each.table, each.name) == ("delivermem_t7", name)]
        for kind, short in TYPES.items():
            count = round(figures[short] * sizes[kind] / 100)
            rows += [
                row(
                    f"{short}{i:02}",
                    condition,
                    float(i < count),
                    type=kind,
                    answerable=short != "AR",
                    judge="judge",
                    metric="judge",
                    scorer="memlens-judge/1",
                )
                for i in range(sizes[kind])
            ]
    sha = read.files["public release"]["32k"][1]
    facts = RunFacts(
        {str(rows[0]["corpus"]): CorpusFacts("dataset_32k.parquet", bundled=False, files={"d.parquet": sha})},
        models={"judge": "qwen3-vl-235b"},
        encoders={
            "text": EncoderFacts("bge-small-en-v1.5"),
            "image": EncoderFacts("siglip2", "google/siglip2-base-patch16-384"),
        },
    )
    return rows, facts


def test_equal_counts_give_the_published_rows_and_the_published_rows_stand_beside(release_run):
    rows, run = release_run
    refused = build(rows, run)
    assert dict(refused.blocks[0].facts)["published figures not shown"].startswith("judge is qwen3-vl-235b, published")
    assert not any(name.startswith("Published") for name in cells(refused.blocks[0]))

    run = RunFacts(run.corpora, models={"judge": "Qwen3-VL-235B-A22B"}, encoders=run.encoders)
    table = build(rows, run)
    read = cells(table.blocks[0])
    for measured, name in (
        ("Default index: images withheld", "Images withheld (Qwen3-VL-8B)"),
        ("Default index: text channel", "Text-channel retrieval (Qwen3-VL-8B)"),
        ("Default index: text and image channels", "Text and image channels (Qwen3-VL-8B)"),
        ("Region index: without tag or date", "Without tag or date (Qwen3-VL-8B)"),
        ("Region index: DeliverMem", "DeliverMem (Qwen3-VL-8B)"),
    ):
        assert read[measured] == read[f"Published: {name}"]
    assert read["Published: MemOS (Qwen3-8B) *"] == ("30.26", "25.44", "18.03", "22.86", "39.58", "24.14", "68.18")
    assert [name for name in read if name.endswith(" *")] == [
        "Published: M2A (Qwen3-VL-8B) *",
        "Published: MemOS (Qwen3-8B) *",
        "Published: Mem0 (Qwen3-8B) *",
        "Published: MemAgent-7B (Qwen2.5-7B) *",
    ]
    assert len([name for name in read if name.startswith("Published")]) == 18
    assert (
        "M2A (18 against 30), MemOS (60 against 59), Mem0 (63 against 62), MemAgent-7B (65 against 64)"
        in (table.blocks[0].notes[0])
    )
    assert max(map(len, as_text(table).splitlines())) <= 100


def test_forms_with_blocks_of_other_columns(row, mini):
    rows = [
        *(each for condition in OURS for each in one_of_each_type(row, condition, {"IE", "AR"})),
        *one_of_each_type(row, NO_CONTEXT, {"AR"}),
    ]
    table = TABLE.build(rows, mini)
    assert table == TABLE.build(rows[::-1], mini)
    assert max(map(len, as_text(table).splitlines())) <= 100
    latex = FORMATS["tex"](table)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3
    assert latex.count("{") == latex.count("}")
