"""DeliverMem Table 18 from rows, token counts and index costs."""

from dataclasses import replace

from benchsuite_reports.arms import DELIVERMEM, DIRECT
from benchsuite_reports.delivermem_t18 import TABLE, build
from benchsuite_reports.formats import FORMATS, as_text
from benchsuite_reports.table import FullContext, IndexCost, RunFacts, TokenCounts

PUBLISHED_32K = {"delivered": 2405, "full": 24001}


def cells(table, block=0):
    return {line[0]: line[1:] for line in table.blocks[block].rows}


def with_tokens(facts, rows, texts, full, tokenizer="all-MiniLM-L6-v2"):
    """Text tokens by question for every row, and each question's whole history."""
    counts = TokenCounts(
        tokenizer,
        {str(each["cell"]): texts[each["question"]] for each in rows if each["question"] in texts},
        {(str(each["corpus"]), str(each["arm.length"]), str(each["question"])): full for each in rows},
    )
    return replace(facts, tokens=counts)


def test_medians_ratio_and_the_paired_difference(rows_of, mini):
    rows = rows_of({DELIVERMEM: (1.0, 1.0, 0.0), DIRECT: (0.0, 1.0, 0.0)}, image_tokens=1400)
    table = build(rows, with_tokens(mini, rows, {"q0": 900, "q1": 1005, "q2": 3000}, FullContext(4001, 20000)))
    assert cells(table) == {
        "Delivered input (tokens, median)": ("2,405",),
        "  of it text": ("1,005",),
        "  of it images": ("1,400",),
        "Full context (tokens, median)": ("24,001",),
        "Input ratio": ("10.0x",),
        "Questions counted": ("3",),
        "n of the accuracies": ("3",),
        "Constant refusal (by rule)": ("0.00",),
        "DeliverMem": ("66.67",),
        "Direct inference, same model": ("33.33",),
        "Accuracy difference": ("+33.33",),
        "W/L": ("1/0",),
        "p": ("1.0",),
    }
    assert table.blocks[0].values["ratio.32k"] == 24001 / 2405
    assert dict(table.facts)["tokens of text"] == "by all-MiniLM-L6-v2"
    assert "one token for every 32x32 pixels" in table.notes[0]


def test_a_question_that_was_not_counted_is_not_in_the_medians(rows_of, mini):
    rows = rows_of({DELIVERMEM: (1.0, 1.0)})
    table = build(rows, with_tokens(mini, rows, {"q1": 500}, FullContext(1000, 0)))
    assert cells(table)["Questions counted"] == ("1",)
    assert cells(table)["Delivered input (tokens, median)"] == ("600",)
    assert cells(table)["Accuracy difference"] == ("n/a",)


def test_without_counts_the_table_says_so(rows_of, mini):
    table = build(rows_of({DELIVERMEM: (1.0,), DIRECT: (1.0,)}), mini)
    assert dict(table.facts)["tokens of text"] == "not counted in this run"
    assert cells(table)["Input ratio"] == ("n/a",)
    assert cells(table)["Accuracy difference"] == ("+0.00",)


def test_lengths_are_columns_and_one_without_direct_inference_has_a_gap(rows_of, mini):
    rows = [
        *rows_of({DELIVERMEM: (1.0,), DIRECT: (1.0,)}, length="1x"),
        *rows_of({DELIVERMEM: (0.0,)}, length="8x"),
    ]
    table = build(rows, mini)
    assert table.columns == ("Measure", "1x", "8x")
    assert cells(table)["Direct inference, same model"] == ("100.00", "n/a")
    assert cells(table)["DeliverMem"] == ("100.00", "0.00")
    assert dict(table.blocks[0].facts)["missing arms"] == "1x: none-pixels; 8x: none-pixels, full-direct"


def test_what_the_index_cost(rows_of, mini):
    costs = {
        "region": IndexCost("siglip2", 4690, 5, 72_038_400, 170.2, 200, 400.0, "cuda"),
        "whole": IndexCost("siglip2", 4690, 1, 14_407_680, 55.0, 0, 0.0),
    }
    table = build(rows_of({DELIVERMEM: (1.0,)}), replace(mini, index_costs=costs))
    block = table.blocks[1]
    assert block.columns == ("Index", "Encoder", "Images", "Vectors", "MB", "Encode s", "ms a query")
    assert block.rows == (
        ("region", "siglip2 on cuda", "4,690", "23,450", "72.04", "170.2", "2.00"),
        ("whole", "siglip2", "4,690", "4,690", "14.41", "55.0", "n/a"),
    )


def test_costs_come_from_run_json():
    facts = RunFacts.from_info(
        {
            "encoders": {"image": {"name": "siglip2", "checkpoint": "google/x", "identity": "ab", "more": 1}},
            "index_costs": {
                "region": {
                    "encoder": "siglip2",
                    "tiling": "region/1",
                    "width": 768,
                    "tiles": 5,
                    "images": 2,
                    "bytes": 30720,
                    "encode_s": 1.5,
                    "device": "cpu",
                    "queries": 3,
                    "score_ms": 0.9,
                }
            },
            "models": {"judge": {"model": "m", "family": "f"}},
            "corpora": {"d": {"name": "n", "bundled": False, "files": {"a.json": "00"}}},
        }
    )
    assert facts.index_costs["region"] == IndexCost("siglip2", 2, 5, 30720, 1.5, 3, 0.9, "cpu")
    assert facts.encoders["image"].shown == "siglip2 (google/x)"
    assert facts.models == {"judge": "m"}
    assert facts.corpora["d"].files == {"a.json": "00"}


def test_without_delivermem_there_is_no_table(rows_of, mini):
    assert build(rows_of({DIRECT: (1.0,)}), mini).blocks == ()


def test_it_asks_for_token_counts_and_every_form_says_them(rows_of, mini):
    assert TABLE.needs_tokens
    rows = rows_of({DELIVERMEM: (1.0,), DIRECT: (1.0,)})
    costs = {"region": IndexCost("ocr-minilm", 100, 5, 768000, 20.0, 10, 5.0, "cpu")}
    facts = with_tokens(replace(mini, index_costs=costs), rows, {"q0": 77}, FullContext(1000, 234))
    table = build(rows, facts)
    assert max(map(len, as_text(table).splitlines())) <= 100
    for name, form in FORMATS.items():
        assert "1,234" in form(table), name
        assert "ocr-minilm on cpu" in form(table), name
