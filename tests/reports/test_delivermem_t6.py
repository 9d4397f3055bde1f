"""DeliverMem Table 6 from rows and run facts: which stage differs is found, not written down."""

import re
from dataclasses import replace

from benchsuite_reports.arms import BOTH_WHOLE, DELIVERMEM, UNSTAMPED
from benchsuite_reports.delivermem_t6 import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.table import EncoderFacts


def stages(table):
    return {line[0]: line[1:] for line in table.blocks[0].rows}


def test_the_stages_in_order_with_those_that_differ_marked(rows_of, users):
    encoders = {"text": EncoderFacts("minilm", "all-MiniLM-L6-v2"), "image": EncoderFacts("ocr-minilm")}
    rows = rows_of({BOTH_WHOLE: (1.0, 0.0, 0.0, 1.0), DELIVERMEM: (1.0, 1.0, 1.0, 0.0)})
    table = build(rows, replace(users, encoders=encoders))
    assert [line[0] for line in table.blocks[0].rows] == [
        "Store",
        "Text channel",
        "Image channel",
        "Fusion",
        "Items delivered",
        "Delivery",
        "Answering model",
        "Scoring",
        "Constant refusal",
        "Accuracy",
        "W/L, p",
    ]
    read = stages(table)
    assert [stage for stage, line in read.items() if line[2] == "differs"] == ["Image channel", "Delivery"]
    assert read["Text channel"][:2] == ("minilm (all-MiniLM-L6-v2)",) * 2
    assert read["Image channel"] == (
        "ocr-minilm, whole image",
        "ocr-minilm, whole image plus 2x2 overlapping tiles, scored by MaxSim",
        "differs",
    )
    assert read["Delivery"][0] == "pixels: modality pixels, identity none, time none"
    assert read["Delivery"][1] == "deployed: modality pixels, identity tag, time date"
    assert read["Accuracy"] == ("50.00", "75.00", "+25.00")
    assert read["W/L, p"] == ("", "", "2/1, 1.0")
    assert table.blocks[0].values["p"] == 1.0
    assert read["Scoring"][0] == "memlens-strict/2"
    assert read["Answering model"][0] == "qwen-served"


def test_fewer_items_than_k_are_said(row, users):
    rows = [row("q0", BOTH_WHOLE, 1.0, n_items=4), row("q0", DELIVERMEM, 1.0, n_items=10)]
    assert stages(build(rows, users))["Items delivered"] == ("K = 10, delivered 4", "K = 10", "differs")


def test_encoders_that_no_one_recorded_are_not_made_up(rows_of, users):
    read = stages(build(rows_of({BOTH_WHOLE: (1.0,), DELIVERMEM: (1.0,)}), users))
    assert read["Text channel"] == ("encoder not recorded", "encoder not recorded", "")


def test_the_judge_stands_with_the_scoring(rows_of, users):
    rows = rows_of({BOTH_WHOLE: (1.0,), DELIVERMEM: (1.0,)}, judge="gpt", metric="judge", scorer="memlens-judge/1")
    read = stages(build(rows, replace(users, models={"gpt": "openai/gpt-5.4"})))
    assert read["Scoring"][0] == "memlens-judge/1, judge openai/gpt-5.4"


def test_errors_are_left_out_and_the_difference_bounded(rows_of, users):
    table = build(rows_of({BOTH_WHOLE: (1.0, 1.0), DELIVERMEM: (1.0, "error")}), users)
    facts = dict(table.blocks[0].facts)
    assert facts["n"] == "1 questions answered in both arms"
    assert facts["worst case bounds, errors and unparsed all wrong to all right"] == (
        "both-deployed-region 50.00 to 100.00; DeliverMem minus baseline -50.00 to +0.00"
    )


def test_a_length_with_one_arm_shows_the_gap(rows_of, users):
    rows = rows_of({BOTH_WHOLE: (1.0,), DELIVERMEM: (1.0,)}) + rows_of({DELIVERMEM: (1.0,)}, length="64k")
    _, _, longer = build(rows, users).blocks  # the shorter one has its contrast by cluster too
    assert dict(longer.facts)["missing arms"] == "none-pixels, both-pixels-whole"
    assert {line[0]: line[1:] for line in longer.rows}["Accuracy"] == ("n/a", "100.00", "n/a")


def test_one_arm_alone_is_no_table(rows_of, users):
    assert build(rows_of({DELIVERMEM: (1.0,), UNSTAMPED: (1.0,)}), users).blocks == ()


def test_forms(rows_of, mini):
    table = TABLE.build(rows_of({BOTH_WHOLE: (1.0, 0.0), DELIVERMEM: (1.0, 1.0)}), mini)
    lines = as_text(table).splitlines()
    assert lines[0].endswith("(pipeline check, not evidence)")
    assert max(map(len, lines)) <= 100
    latex = FORMATS["tex"](table)
    assert re.search(r"\\begin\{tabular\}\{lp\{0\.\d+\\linewidth\}p\{0\.\d+\\linewidth\}r\}", latex)
    assert latex.count("{") == latex.count("}")
