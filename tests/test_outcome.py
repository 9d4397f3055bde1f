"""The outcome row: what may stand in it, its way through JSON and its published schema."""

import enum
import json
from decimal import Decimal
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.errors import BenchError, DataError
from benchsuite.outcome import Outcome, row_json
from benchsuite.outcome_row import OutcomeRow, json_schema, validate_row

SCHEMA = jsonschema.Draft202012Validator(json_schema())


def make(**changes):
    values = {
        "cell": "memlens:1x-oracle-pixels-embedded-q1",
        "suite": "memlens",
        "corpus": "c" * 64,
        "question": "q1",
        "type": "information_extraction",
        "answerable": True,
        "arm": {"length": "1x", "retrieval": "oracle", "k": 10, "delivery": "pixels", "model": "embedded"},
        "status": "scored",
        "word": "right",
        "answer": "12",
        "gold": "12",
        "refused": False,
        "metric": "subem",
        "score": 1.0,
        "scores": {"subem": 1.0},
        "scorer": "subem/1",
        "protocol": "memlens/1",
        "renderer": "chat/1",
        "run": {"worker": "gw0", "latency_s": 0.25, "cached": False, "cached_tokens": None},
    }
    return Outcome(**{**values, **changes})


ERROR = {
    "status": "error",
    "word": "error",
    "answer": None,
    "score": None,
    "refused": None,
    "scores": {},
    "error_kind": "timeout",
    "error_message": "http://x: no answer in 300 s",
}


def test_a_row_has_exactly_the_canonical_keys_in_their_order():
    assert list(make().to_row()) == [
        "schema",
        "cell",
        "suite",
        "corpus",
        "question",
        "type",
        "split",
        "cluster",
        "labels",
        "answerable",
        "arm.length",
        "arm.retrieval",
        "arm.k",
        "arm.delivery",
        "arm.model",
        "status",
        "word",
        "answer",
        "gold",
        "refused",
        "metric",
        "score",
        "scores.subem",
        "scorer",
        "protocol",
        "renderer",
        "items",
        "n_items",
        "n_images",
        "n_missing",
        "n_gold",
        "n_gold_delivered",
        "sees_gold",
        "n_calls",
        "requests",
        "usage.prompt",
        "usage.completion",
        "image_tokens",
        "model_served",
        "fingerprint",
        "finish",
        "ingest.calls",
        "ingest.tokens",
        "ingest.bytes",
        "error.kind",
        "error.message",
        "run",
    ]


@pytest.mark.parametrize(
    "outcome",
    [
        make(),
        make(**ERROR),
        make(status="unparsed", word="unparsed", score=None, scores={}),
        make(labels=["X1", "Y2"], items=("t1", "t2"), requests=["k"], usage_prompt=3, arm={"length": "32k", "k": 5}),
    ],
    ids=["scored", "error", "unparsed", "lists"],
)
def test_rows_come_back_equal_and_fit_both_schemas(outcome):
    row = json.loads(row_json(outcome.to_row()))
    assert validate_row(row, "x") == row
    SCHEMA.validate(row)
    assert Outcome.from_row(row) == outcome
    assert Outcome.from_row(row).to_row() == row


@pytest.mark.parametrize(
    ("outcome", "answered"),
    [
        (make(), True),
        (make(word="wrong", score=0.0), True),
        (make(status="unparsed", word="unparsed", score=None), True),
        (make(**ERROR), False),
    ],
)
def test_answered(outcome, answered):
    assert outcome.answered is answered


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    RIGHT = "right"


def test_numpy_scalars_and_enums_become_builtins():
    outcome = make(
        score=np.float32(0.5),
        n_items=np.int64(3),
        sees_gold=np.bool_(True),
        word=Word.RIGHT,
        run={"colour": Colour.RED},
    )
    row = outcome.to_row()
    assert [type(row[key]) for key in ("score", "n_items", "sees_gold", "word")] == [float, int, bool, str]
    assert row["run"] == {"colour": "red"}
    SCHEMA.validate(row)


@given(
    st.text(alphabet=st.characters(codec=None), max_size=20) | st.sampled_from(["a\ud800b", "\udfff", "\ud83d\ude00"])
)
def test_any_text_can_be_encoded_after_it_entered(text):
    row = make(answer=text, labels=[text], run={"t": text}).to_row()
    line = row_json(row)
    line.encode("ascii")
    assert json.loads(line)["answer"].encode("utf-8") is not None
    SCHEMA.validate(json.loads(line))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": float("nan")}, "score: nan"),
        ({"run": {"latency_s": float("inf")}}, "run.latency_s: inf"),
        ({"scores": {"f1": float("nan")}}, "scores.f1: nan"),
        ({"answer": Path("x")}, "answer: a Posix"),
        ({"score": Decimal("0.5")}, "score: a Decimal"),
        ({"labels": {"X1"}}, "labels: a set"),
        ({"status": "done"}, "status: 'done'"),
        ({"word": "mirgae"}, "word: 'mirgae'"),
        ({"word": "error"}, "word: 'error'"),
        ({"score": None}, "score: missing"),
        ({**ERROR, "score": 0.0}, "score: given"),
        ({**ERROR, "error_kind": ""}, "error.kind: missing"),
        ({"error_kind": "timeout"}, "error.kind: given"),
    ],
)
def test_what_cannot_stand_in_a_row_is_refused_by_name(changes, words):
    with pytest.raises(BenchError) as caught:
        make(**changes)
    assert words in str(caught.value)


FAULTS = [
    ({"word": "rihgt"}, "word"),
    ({"status": "ok"}, "status"),
    ({"score": "1.0"}, "score"),
    ({"score": True}, "score"),
    ({"n_items": "3"}, "n_items"),
    ({"n_items": -1}, "n_items"),
    ({"n_items": 1.5}, "n_items"),
    ({"answerable": 1}, "answerable"),
    ({"labels": "X1"}, "labels"),
    ({"labels": [1]}, "labels.0"),
    ({"arm.k": 1.5}, "arm.k"),
    ({"arm.k": None}, "arm.k"),
    ({"arm.": "x"}, "arm."),
    ({"scores.f1": "high"}, "scores.f1"),
    ({"scores.f1": True}, "scores.f1"),
    ({"colour": "red"}, "colour"),
    ({"schema": 2}, "schema"),
    ({"gold": 12}, "gold"),
    ({"run": {"deep": {"er": 1}}}, "run"),
    ({"run": []}, "run"),
    ({"usage.prompt": 1.5}, "usage.prompt"),
    ({"score": None}, "score"),
    ({"error.kind": "timeout"}, "error.kind"),
    ({"error.kind": None}, "error.kind"),
    ({"word": "unparsed"}, "word"),
    ({"status": "error"}, "word"),
]


@pytest.mark.parametrize(("changes", "name"), FAULTS, ids=lambda value: str(value)[:40])
def test_a_planted_fault_is_named_and_both_schemas_refuse_it(changes, name):
    row = {**make().to_row(), **changes}
    with pytest.raises(DataError) as caught:
        validate_row(row, "outcomes.jsonl:3")
    message = str(caught.value)
    assert message.startswith("outcomes.jsonl:3: item memlens:1x-oracle-pixels-embedded-q1")
    assert name in message
    assert "\n" not in message
    assert not SCHEMA.is_valid(row)


def test_nan_and_infinity_are_refused_where_rows_are_read():
    for key in ("score", "scores.f1"):
        for text in ("NaN", "Infinity", "-Infinity"):
            row = json.loads(f'{{"{key}": {text}}}')
            with pytest.raises(DataError, match=key):
                validate_row({**make().to_row(), **row}, "x")
    with pytest.raises(DataError, match="run"):
        validate_row({**make().to_row(), "run": {"t": float("nan")}}, "x")


@pytest.mark.parametrize("key", list(make().to_row()))
def test_no_field_may_be_absent(key):
    row = make().to_row()
    del row[key]
    optional = key.startswith(("arm.", "scores."))
    assert SCHEMA.is_valid(row) is optional
    if not optional:
        with pytest.raises(DataError, match=key):
            validate_row(row, "x")


def test_a_row_that_is_no_object_is_refused():
    with pytest.raises(DataError, match="object"):
        validate_row([1], "x")


def test_row_json_refuses_what_is_not_json():
    with pytest.raises(BenchError, match="q1"):
        row_json({"cell": "q1", "score": float("nan")})
    with pytest.raises(BenchError, match="Path"):
        row_json({"cell": "q1", "score": Path("x")})


def test_from_row_refuses_unknown_and_missing_fields_and_other_schemas():
    row = make().to_row()
    with pytest.raises(BenchError, match="colour"):
        Outcome.from_row({**row, "colour": 1})
    with pytest.raises(BenchError, match="schema 7"):
        Outcome.from_row({**row, "schema": 7})
    with pytest.raises(BenchError, match="suite"):
        Outcome.from_row({key: value for key, value in row.items() if key != "suite"})


def test_the_published_schema_is_the_one_in_the_docs():
    published = Path(__file__).parents[1] / "docs" / "outcome.schema.json"
    assert json.loads(published.read_text()) == json_schema()
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_model_knows_every_field_of_the_outcome():
    known = {field.alias or name for name, field in OutcomeRow.model_fields.items()}
    written = {key for key in make().to_row() if not key.startswith(("arm.", "scores."))}
    assert known == written
