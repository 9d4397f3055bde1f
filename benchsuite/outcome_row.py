"""The edge where outcome rows enter from disk or from another process, and their published JSON schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchsuite.errors import DataError
from benchsuite.outcome import SCHEMA, WORDS, contradiction
from benchsuite.runs.folder import migrate

SCHEMA_ID = "urn:benchsuite:outcome:1"
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By schema of a row: the row as the next schema has it. Rows are migrated one by one as they are read."""

Scalar = str | int | float | bool | None
Status = Literal["scored", "unparsed", "error"]
Word = Literal["right", "wrong", "refused", "grounded", "mirage", "unparsed", "error"]


class OutcomeRow(BaseModel):
    """One line of ``outcomes.jsonl``: the flat record of one cell (schema 1)."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, Any] = Field(init=False)

    schema_: Literal[1] = Field(alias="schema")
    cell: str = Field(description="suite:arm key-question id")
    suite: str
    corpus: str = Field(description="corpus digest")
    question: str
    type: str
    split: str
    cluster: str = Field(description="questions of one cluster are not independent")
    labels: list[str]
    answerable: bool
    status: Status
    word: Word
    answer: str | None
    gold: str | None
    refused: bool | None
    metric: str
    score: float | None = Field(description="set exactly when status is scored")
    scorer: str = Field(description="name/version")
    protocol: str = Field(description="name/version")
    renderer: str = Field(description="name/version")
    items: list[str] = Field(description="delivered items in order; one digest when there are over 100")
    n_items: int = Field(ge=0)
    n_images: int = Field(ge=0)
    n_missing: int = Field(ge=0, description="images that would have been shown and are missing")
    n_gold: int = Field(ge=0)
    n_gold_delivered: int = Field(ge=0)
    sees_gold: bool = Field(description="true when retrieval is a registered oracle")
    n_calls: int = Field(ge=0)
    requests: list[str] = Field(description="request keys in order")
    usage_prompt: int | None = Field(alias="usage.prompt", description="tokens")
    usage_completion: int | None = Field(alias="usage.completion", description="tokens")
    image_tokens: int | None
    model_served: str
    fingerprint: str
    finish: str
    ingest_calls: int = Field(alias="ingest.calls", ge=0)
    ingest_tokens: int = Field(alias="ingest.tokens", ge=0)
    ingest_bytes: int = Field(alias="ingest.bytes", ge=0)
    error_kind: str = Field(alias="error.kind", description="not empty exactly when status is error")
    error_message: str = Field(alias="error.message")
    run: dict[str, Scalar | list[Scalar]] = Field(
        description="what depends on worker, clock and cache: id, worker, shard, cached, latency_s, ingest_s, "
        "attempts, cached_tokens, t, direct; equal runs have equal rows without it"
    )

    @model_validator(mode="after")
    def _groups_and_ending(self) -> OutcomeRow:
        for key, value in self.__pydantic_extra__.items():
            group, _, name = key.partition(".")
            if group == "arm" and name:
                if type(value) not in (str, int):
                    raise ValueError(f"{key}: {value!r} is neither text nor a whole number")
            elif group == "scores" and name:
                if type(value) not in (int, float) or value != value or value in (float("inf"), float("-inf")):
                    raise ValueError(f"{key}: {value!r} is not a finite number")
            else:
                raise ValueError(f"{key}: unknown field")
        if problem := contradiction(self.status, self.word, self.score, self.error_kind):
            raise ValueError(problem)
        return self


def validate_row(row: object, file: str) -> dict[str, Any]:
    """The row, brought to this version's schema and checked.

    Raises DataError naming file, cell and field; for a row of a newer schema it names both versions.
    """
    if not isinstance(row, Mapping):
        raise DataError(file, None, None, "a row must be a JSON object")
    checked = row if type(row) is dict else dict(row)
    if checked.get("schema") != SCHEMA:
        cell = checked.get("cell")
        checked = migrate(checked, SCHEMA, MIGRATIONS, file, cell if isinstance(cell, str) else None)
    try:
        OutcomeRow.model_validate(checked)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or None
        cell = checked.get("cell")
        item = cell if isinstance(cell, str) else None
        raise DataError(file, item, name, first["msg"].removeprefix("Value error, ")) from None
    return checked


def json_schema() -> dict[str, Any]:
    """The published JSON schema (draft 2020-12) of a row; ``benchsuite schema`` prints it."""
    built = _without_titles(OutcomeRow.model_json_schema(by_alias=True))
    ending = [
        _when(
            status,
            {
                "word": {"enum": list(WORDS[status])},
                "score": {"type": "number" if status == "scored" else "null"},
                "error.kind": {"minLength": 1} if status == "error" else {"maxLength": 0},
            },
        )
        for status in get_args(Status)
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "benchsuite outcome row, schema 1",
        "description": built["description"],
        "type": "object",
        "properties": built["properties"],
        "patternProperties": {
            r"^arm\..+": {"type": ["string", "integer"], "description": "the arm's value on one axis"},
            r"^scores\..+": {"type": "number", "description": "one further metric"},
        },
        "additionalProperties": False,
        "required": built["required"],
        "allOf": ending,
    }


def _when(status: str, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {"status": {"const": status}}}, "then": {"properties": then}}


def _without_titles(node: Any) -> Any:
    """pydantic gives every field a title made from its name; they say nothing."""
    if isinstance(node, dict):
        return {
            key: _without_titles(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_titles(value) for value in node]
    return node
