"""Delivery: the form in which retrieved items reach the model (DeliverMem section 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchsuite.errors import ConfigError

if TYPE_CHECKING:
    from benchsuite.registry import Registry


@dataclass(frozen=True, slots=True)
class Delivery:
    """One value on each delivery axis. Raises ConfigError for a combination that no request could honour.

    modality: ``pixels``, ``withheld`` (no placeholder, no caption) or ``caption`` (the corpus' own, in the
    image's place). identity: the tag of an item whose images are shown (M1 for the first item delivered):
    ``none``, ``tag`` (stamped into the pixels and named in the text), ``tag_pixels_only`` (stamped, and the text
    is that of ``none``) or ``tag_in_text`` (in the item's text, the image untouched); where no pixels are shown
    ``tag`` and ``tag_in_text`` say nothing. time: ``none`` or ``date``. order: ``rank`` or ``conv``. side: the
    longest image side in pixels (0: as stored). codec: ``png`` (lossless, re-encoded only when it must be) or
    ``stored`` (bytes as they are). form: ``items`` (one user message with a line before each item) or
    ``sessions`` (a message per turn, a header at the start of each session). label_images: ``[Image N]`` before
    each image.
    """

    modality: str = "pixels"
    identity: str = "none"
    time: str = "none"
    order: str = "rank"
    side: int = 768
    codec: str = "png"
    form: str = "items"
    label_images: bool = False

    def __post_init__(self) -> None:
        for axis, values in _VALUES.items():
            if getattr(self, axis) not in values:
                raise ConfigError(f"{axis} has no value {getattr(self, axis)!r}; known: {', '.join(values)}")
        if self.codec == "stored" and self.side:
            raise ConfigError("stored bytes are sent as they are and have no side")
        if self.codec == "stored" and self.stamps:
            raise ConfigError("stored bytes are sent as they are and carry no tag in their pixels")
        if self.identity == "tag_pixels_only" and not self.shows_images:
            raise ConfigError(f"a tag in the pixels alone needs pixels, and modality is {self.modality}")
        if self.form == "sessions" and self.identity != "none":
            raise ConfigError("the session form has no items to tag")
        if self.form == "sessions" and self.order != "conv":
            raise ConfigError("the session form is in conversation order")

    @property
    def shows_images(self) -> bool:
        return self.modality == "pixels"

    @property
    def stamps(self) -> bool:
        return self.identity in ("tag", "tag_pixels_only")


_VALUES: Mapping[str, tuple[str, ...]] = {
    "modality": ("pixels", "withheld", "caption"),
    "identity": ("none", "tag", "tag_pixels_only", "tag_in_text"),
    "time": ("none", "date"),
    "order": ("rank", "conv"),
    "codec": ("png", "stored"),
    "form": ("items", "sessions"),
}
# what a token changes; it replaces what the preset sets on the same axis
_TOKENS: Mapping[str, Mapping[str, Any]] = {
    "noimg": {"modality": "withheld"},
    "caption": {"modality": "caption"},
    "notag": {"identity": "none"},
    "tag": {"identity": "tag"},
    "tagpix": {"identity": "tag_pixels_only"},
    "tagtext": {"identity": "tag_in_text"},
    "nodate": {"time": "none"},
    "date": {"time": "date"},
    "conv": {"order": "conv"},
    "label_images": {"label_images": True},
}
_SIDE = re.compile(r"s([1-9]\d{1,4})")


def register(registry: Registry) -> None:
    registry.delivery("pixels", Delivery())
    registry.delivery("noimg", Delivery(modality="withheld"))
    registry.delivery("deployed", Delivery(identity="tag", time="date"))
    registry.delivery("stored", Delivery(side=0, codec="stored"))
    registry.delivery("direct", Delivery(side=0, codec="stored", order="conv", time="date", form="sessions"))


def parse_delivery(text: str, presets: Mapping[str, Delivery]) -> Delivery:
    """`<preset>[+token...]`. Raises ConfigError that names the known presets or tokens, or what does not go
    together. Of two tokens for one axis the later one counts."""
    name, *tokens = text.split("+")
    if name not in presets:
        raise ConfigError(f"delivery has no value {name!r}; known: {', '.join(presets)}")
    changes: dict[str, Any] = {}
    for token in tokens:
        if token in _TOKENS:
            changes.update(_TOKENS[token])
        elif side := _SIDE.fullmatch(token):
            changes["side"] = int(side[1])
        else:
            raise ConfigError(f"delivery {text!r} has no token {token!r}; known: {', '.join(_TOKENS)}, s<pixels>")
    try:
        return replace(presets[name], **changes)
    except ConfigError as error:
        raise ConfigError(f"delivery {text!r}: {error}") from None
