"""Delivery: the form in which retrieved items reach the model (DeliverMem section 7, appendices C.1 and D.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from benchsuite.errors import ConfigError

if TYPE_CHECKING:
    from benchsuite.registry import Registry


@dataclass(frozen=True, slots=True)
class Delivery:
    """One value on each delivery axis. Raises ConfigError for a combination that no request could honour.

    modality: ``pixels``; ``withheld`` (no placeholder, no caption); ``caption`` (the corpus' own, in the image's
    place); or a counterfactual image in the same slot, at the same size: ``scramble`` (its sixteen tiles change
    places), ``phase`` (its own statistics, no object), ``decoy`` (a photograph of another question).

    identity: the tag of an item whose images are shown (M1 for the first item delivered): ``none``, ``tag`` (stamped
    into the pixels and named in the text), ``tag_pixels_only`` (stamped, and the text is that of ``none``),
    ``tag_in_text`` (in the item's text, the image untouched), ``constant`` (one mark on every image), ``shuffled``
    (the tags change places, and the text names what is stamped) or ``shuffled_pixels_only`` (the stamps change
    places, and the text is that of ``tag``); where no pixels are shown nothing is said of tags.

    time: ``none``, ``date``, ``permuted`` (the dates of the delivered items change places) or ``ordinal`` (the item's
    place in the history). binding: ``intact`` or ``shuffled`` (which image follows which message). order: ``rank`` or
    ``conv``. side: the longest image side in pixels (0: as stored). codec: ``png`` (lossless, re-encoded only when it
    must be) or ``stored`` (bytes as they are). form: ``items`` (one user message with a line before each item) or
    ``sessions`` (a message per turn, a header at the start of each session). label_images: ``[Image N]`` before each
    image.
    """

    modality: str = "pixels"
    identity: str = "none"
    time: str = "none"
    binding: str = "intact"
    order: str = "rank"
    side: int = 768
    codec: str = "png"
    form: str = "items"
    label_images: bool = False

    def __post_init__(self) -> None:
        for axis, values in _VALUES.items():
            if getattr(self, axis) not in values:
                raise ConfigError(f"{axis} has no value {getattr(self, axis)!r}; known: {', '.join(values)}")
        if self.codec == "stored":
            for what, wrong in (
                ("have no side", self.side),
                ("carry no tag in their pixels", self.stamps),
                (f"cannot be a {self.modality} image", self.modality in CONTROLS),
            ):
                if wrong:
                    raise ConfigError(f"stored bytes are sent as they are and {what}")
        if self.identity in ("tag_pixels_only", "shuffled_pixels_only") and not self.shows_images:
            raise ConfigError(f"a tag in the pixels alone needs pixels, and modality is {self.modality}")
        if self.form == "sessions":
            for what, wrong in (
                ("has no items to tag", self.identity != "none"),
                ("has no items whose dates could change places or be numbered", self.time in ("permuted", "ordinal")),
                ("keeps every image in its message", self.binding != "intact"),
                ("is in conversation order", self.order != "conv"),
            ):
                if wrong:
                    raise ConfigError(f"the session form {what}")

    @property
    def shows_images(self) -> bool:
        return self.modality == "pixels" or self.modality in CONTROLS

    @property
    def stamps(self) -> bool:
        return self.identity not in ("none", "tag_in_text")

    @property
    def names_tags(self) -> bool:
        """Whether the text says anything of tags."""
        return self.shows_images and self.identity not in ("none", "tag_pixels_only")


CONTROLS = ("scramble", "phase", "decoy")
"""Modalities that put another image into the same slot."""
_VALUES: Mapping[str, tuple[str, ...]] = {
    "modality": ("pixels", "withheld", "caption", *CONTROLS),
    "identity": ("none", "tag", "tag_pixels_only", "tag_in_text", "constant", "shuffled", "shuffled_pixels_only"),
    "time": ("none", "date", "permuted", "ordinal"),
    "binding": ("intact", "shuffled"),
    "order": ("rank", "conv"),
    "codec": ("png", "stored"),
    "form": ("items", "sessions"),
}
# what a token changes; it replaces what the preset sets on the same axis
_TOKENS: Mapping[str, Mapping[str, Any]] = {
    "noimg": {"modality": "withheld"},
    "caption": {"modality": "caption"},
    **{name: {"modality": name} for name in CONTROLS},
    "notag": {"identity": "none"},
    "tag": {"identity": "tag"},
    "tagpix": {"identity": "tag_pixels_only"},
    "tagtext": {"identity": "tag_in_text"},
    "tagconst": {"identity": "constant"},
    "tagshuf": {"identity": "shuffled"},
    "tagshufpix": {"identity": "shuffled_pixels_only"},
    "nodate": {"time": "none"},
    "date": {"time": "date"},
    "dateperm": {"time": "permuted"},
    "ordinal": {"time": "ordinal"},
    "bindshuf": {"binding": "shuffled"},
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


def differing(a: Delivery, b: Delivery) -> tuple[str, ...]:
    """The axes on which two deliveries send something else: tags, sides and bindings of images that neither shows
    make no difference."""
    return tuple(
        field.name
        for field in fields(Delivery)
        if _effective(a, field.name) != _effective(b, field.name)
        and not (field.name in ("side", "codec") and not (a.shows_images and b.shows_images))
    )


def _effective(delivery: Delivery, axis: str) -> object:
    unseen = {"identity": "none", "binding": "intact", "label_images": False}
    if axis in unseen and not delivery.shows_images:
        return unseen[axis]
    return getattr(delivery, axis)
