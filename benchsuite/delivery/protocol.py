"""The wording around delivered items: versioned data files, one per suite, replaceable by the user's own."""

from __future__ import annotations

import string
import tomllib
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from pathlib import Path

from benchsuite.delivery.spec import Delivery
from benchsuite.errors import ConfigError

_FIELDS = {
    "system": {"refusal", "persona"},
    "head": set(),
    "empty": set(),
    "role": {"rank", "role"},
    "question": {"date", "question"},
    "date": {"date"},
    "tag": {"tag"},
    "tag_note": {"tag"},
    "tags_in_pixels": set(),
    "tags_in_text": set(),
    "by_rank": set(),
    "by_time": set(),
    "mark_in_pixels": set(),
    "listed_by_rank": set(),
    "listed_by_time": set(),
    "ordinals": set(),
    "ordinal": {"place", "total"},
    "caption": {"caption"},
    "no_caption": set(),
    "session": {"session", "date"},
    "session_date": {"date"},
    "image_label": {"number"},
    "reply_format": set(),
    "pressure": set(),
    "image_stub": set(),
    "tool_images": {"tool"},
    "summarise": {"words"},
    "rewrite_free": {"words"},
    "rewrite_cited": {"words"},
    "conversation": set(),
    "summary": {"summary"},
    "summary_reply": set(),
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """Templates of one suite. Text parts end with their own separator, so that leaving a part out of one arm
    changes nothing else in the text.

    From ``date`` on a field may be absent (None): a file written before it existed serves every delivery that
    does not need it, and :meth:`check` refuses the others. An empty text is a text, and says nothing on purpose.
    """

    name: str
    version: str
    refusal: str
    system: str
    head: str
    empty: str
    role: str
    question: str
    date: str | None = None  # before an item's text
    tag: str | None = None  # before the text of an item that is tagged in the text
    tag_note: str | None = None  # after the text of an item whose images carry its tag
    tags_in_pixels: str | None = None  # in the head: what the tags in the pixels are
    tags_in_text: str | None = None  # in its place where the tags stand in the text
    by_rank: str | None = None  # in the head: what the numbers of the tags mean, in rank order
    by_time: str | None = None  # the same in conversation order
    mark_in_pixels: str | None = None  # in place of tags_in_pixels where one mark stands on every image
    listed_by_rank: str | None = None  # in place of by_rank: the order, by no mark
    listed_by_time: str | None = None
    ordinals: str | None = None  # in the head: what the ordinals are
    ordinal: str | None = None  # in a date's place
    caption: str | None = None  # in an image's place
    no_caption: str | None = None  # in the place of an image that has none
    session: str | None = None  # before a session's first turn; its ``date`` is session_date, or nothing
    session_date: str | None = None
    image_label: str | None = None  # before an image, where images are labelled
    reply_format: str | None = None  # after the question of a probe: the form of the reply
    pressure: str | None = None  # before the question of a probe under Cm
    image_stub: str | None = None  # in the place of an image that retention took out of the context
    tool_images: str | None = None  # before the images that a tool returned
    summarise: str | None = None  # instruction of a compaction; rewrite_* of one that rewrites its summary
    rewrite_free: str | None = None
    rewrite_cited: str | None = None
    conversation: str | None = None  # before the conversation that is summarised
    summary: str | None = None  # the summary as it stands in the context, and the assistant's reply to it
    summary_reply: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name}/{self.version}"

    def check(self, delivery: Delivery) -> None:
        """Raises ConfigError naming the first field that this delivery needs and the protocol has not."""
        for field in _needed(delivery):
            self.template(field)

    def template(self, field: str) -> str:
        """An optional template. Raises ConfigError when the protocol has none."""
        template: str | None = getattr(self, field)
        if template is None:
            raise ConfigError(f"protocol {self.label} has no {field!r}, which this delivery needs")
        return template


def load_protocol(path: Path) -> Protocol:
    """Read a protocol TOML. Raises ConfigError naming file and field."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not a protocol file: {error}") from None
    known = fields(Protocol)
    names = [field.name for field in known]
    needed = [field.name for field in known if field.default is MISSING]
    for name in [*needed, *table]:
        if name not in names:
            raise ConfigError(f"{path}: {name}: unknown field; fields: {', '.join(names)}")
        if not isinstance(table.get(name), str):
            raise ConfigError(f"{path}: {name}: {'is missing' if name not in table else 'must be text'}")
    for name, allowed in _FIELDS.items():
        if name in table:
            _check_template(path, name, table[name], allowed)
    return Protocol(**table)


def _check_template(path: Path, name: str, template: str, allowed: set[str]) -> None:
    try:
        used = {each for _, each, _, _ in string.Formatter().parse(template) if each is not None}
    except ValueError as error:
        raise ConfigError(f"{path}: {name}: {error}") from None
    if used - allowed:
        raise ConfigError(f"{path}: {name}: no value for {{{sorted(used - allowed)[0]}}}")


def head_tags(delivery: Delivery) -> tuple[str, ...]:
    """The fields with what the head says of tags; none where the text must not know of them."""
    if not delivery.names_tags:
        return ()
    ranked = delivery.order == "rank"
    if delivery.identity == "constant":
        return "mark_in_pixels", "listed_by_rank" if ranked else "listed_by_time"
    where = "tags_in_text" if delivery.identity == "tag_in_text" else "tags_in_pixels"
    return where, "by_rank" if ranked else "by_time"


def _needed(delivery: Delivery) -> list[str]:
    found: list[str] = []
    if delivery.form == "sessions":
        found += ["session", *(["session_date"] if delivery.time == "date" else [])]
    elif delivery.time == "ordinal":
        found += ["ordinals", "ordinal"]
    elif delivery.time != "none":
        found.append("date")
    if delivery.modality == "caption":
        found += ["caption", "no_caption"]
    if delivery.names_tags:
        found += [*head_tags(delivery), "tag" if delivery.identity == "tag_in_text" else "tag_note"]
    if delivery.shows_images and delivery.label_images:
        found.append("image_label")
    return found


def bundled_protocol(suite: str) -> Protocol:
    """The suite's own wording. Raises ConfigError for a suite that ships none."""
    with resources.as_file(resources.files("benchsuite.delivery") / "protocols" / f"{suite}.toml") as path:
        return load_protocol(path)
