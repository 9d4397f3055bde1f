"""DeliverMem Table 8 from rows: models that read the whole history, beside DeliverMem."""

from benchsuite_reports import delivermem_t6, delivermem_t18
from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, DIRECT, NO_CONTEXT
from benchsuite_reports.delivermem_t8 import TABLE, build
from benchsuite_reports.formats import as_text
from benchsuite_reports.published import TYPES, published
from benchsuite_reports.table import CorpusFacts, EncoderFacts, RunFacts


def cells(table, block=0):
    return {line[0]: line[1:] for line in table.blocks[block].rows}


def facts(table, block=0):
    return dict(table.blocks[block].facts)


def test_models_are_rows_and_lengths_columns(rows_of, mini):
    rows = [
        *rows_of({DIRECT: (1.0, 0.0), DELIVERMEM: (1.0, 1.0)}, length="64k", model="small"),
        *rows_of({DIRECT: (1.0, 1.0), DELIVERMEM: (1.0, 0.0)}, length="32k", model="small"),
        *rows_of({DIRECT: (1.0, 1.0, 0.0), DELIVERMEM: (1.0, 1.0, "error")}, length="32k", model="large"),
    ]
    table = build(rows, mini)
    assert table.columns == ("Model", "32k", "64k")
    assert cells(table) == {
        "large: n": ("2", "n/a"),
        "large: constant refusal (by rule)": ("0.00", "n/a"),
        "large: whole history": ("100.00", "n/a"),
        "large: DeliverMem": ("100.00", "n/a"),
        "small: n": ("2", "2"),
        "small: constant refusal (by rule)": ("0.00", "0.00"),
        "small: whole history": ("100.00", "50.00"),
        "small: DeliverMem": ("50.00", "100.00"),
    }
    assert facts(table)["large, model as served"] == "large-served"
    assert facts(table)["small, errors"] == "0"
    assert facts(table)["large, errors"] == "both-deployed-region 1"
    assert dict(table.blocks[0].left_out) == {"q2 at 32k by large": "timeout error in both-deployed-region"}
    assert facts(table)["published figures not shown"] == "corpus is memlens-mini, not the public release"
    assert dict(table.facts)["renderer"] == "memory/2, session/1"


def test_direct_inference_alone_is_shown_without_delivermem(rows_of, mini):
    table = build(rows_of({DIRECT: (1.0, 0.0)}), mini)
    assert cells(table)["qwen: whole history"] == ("50.00",)
    assert cells(table)["qwen: DeliverMem"] == ("n/a",)
    assert facts(table)["missing arms"] == "none-pixels, both-deployed-region"


def test_without_direct_inference_there_is_no_table(rows_of, mini):
    assert build(rows_of({DELIVERMEM: (1.0,)}), mini).blocks == ()


def test_a_block_a_judge(rows_of, mini):
    scores = {DIRECT: (1.0,), DELIVERMEM: (0.0,)}
    rows = rows_of(scores) + rows_of(scores, judge="gpt", metric="judge", scorer="memlens-judge/1")
    table = TABLE.build(rows, mini)
    assert [block.heading for block in table.blocks] == ["judge gpt: all questions", "no judge: all questions"]
    assert table == TABLE.build(rows[::-1], mini)


def test_the_published_pool_where_it_may_stand(row):
    sizes = published().types["public release"]
    rows = [
        row(
            f"{kind}{i}",
            condition,
            1.0,
            type=kind,
            answerable=kind != "answer_refusal",
            length=length,
            judge="judge",
            metric="judge",
            scorer="memlens-judge/1",
        )
        for condition in (DIRECT, DELIVERMEM)
        for length in ("32k", "64k")
        for kind in TYPES
        for i in range(sizes[kind])
    ]
    run = RunFacts(
        {
            str(rows[0]["corpus"]): CorpusFacts(
                "release", bundled=False, files={"dataset_32k.json": published().files["public release"]["32k"][0]}
            )
        },
        models={"judge": "Qwen3-VL-235B-A22B"},
        encoders={
            "text": EncoderFacts("bge-small-en-v1.5"),
            "image": EncoderFacts("siglip2", "siglip2-base-patch16-384"),
        },
    )
    table = build(rows, run)
    read = cells(table)
    assert read["Published: GPT-5.4"] == ("51.28", "n/a")  # no digest of the 64k file is known
    assert read["Published: DeliverMem (Qwen3-VL-8B)"] == ("51.28", "n/a")
    assert facts(table)["published figures not shown"] == (
        "64k: corpus: no digest of the public release is known for length 64k"
    )
    assert max(map(len, as_text(table).splitlines())) <= 100


def test_the_baselines_of_tables_that_count_refusal_questions(rows_of, mini):
    """Two answerable questions and two that nothing answers: whoever always refuses has half of them."""
    conditions = (NO_CONTEXT, BOTH_WHOLE, DELIVERMEM, DIRECT)
    rows = rows_of({each: (1.0 if each is DIRECT else 0.0,) * 4 for each in conditions})
    rows = [{**row, "answerable": row["question"] in ("q0", "q1")} for row in rows]
    rows = [{**row, "score": 1.0} if row["arm.retrieval"] == "none" and not row["answerable"] else row for row in rows]
    assert cells(build(rows, mini))["qwen: constant refusal (by rule)"] == ("50.00",)
    assert cells(build(rows, mini))["qwen: no context"] == ("50.00",)
    assert cells(delivermem_t18.build(rows, mini))["Constant refusal (by rule)"] == ("50.00",)
    assert cells(delivermem_t18.build(rows, mini))["No context"] == ("50.00",)
    assert cells(delivermem_t6.build(rows, mini))["Constant refusal"] == ("50.00", "50.00", "")
    assert cells(delivermem_t6.build(rows, mini))["No context"] == ("50.00", "50.00", "")
