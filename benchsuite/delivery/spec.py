"""Delivery: the form in which retrieved items reach the model (DeliverMem section 7; CANON 'delivery')."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchsuite.errors import ConfigError

if TYPE_CHECKING:
    from benchsuite.registry import Registry


@dataclass(frozen=True, slots=True)
class Delivery:
    """One value on each delivery axis. ``side`` is the longest image side in pixels (0: as stored);
    ``codec`` is ``png`` (lossless, re-encoded only when it must be) or ``stored`` (bytes as they are)."""

    modality: str = "pixels"
    order: str = "rank"
    side: int = 768
    codec: str = "png"

    @property
    def shows_images(self) -> bool:
        return self.modality != "withheld"


# what a token changes; it replaces what the preset sets on the same axis
_TOKENS: Mapping[str, Callable[[Delivery], Delivery]] = {
    "noimg": lambda delivery: replace(delivery, modality="withheld"),
    "conv": lambda delivery: replace(delivery, order="conv"),
}
_SIDE = re.compile(r"s([1-9]\d{1,4})")


def register(registry: Registry) -> None:
    registry.delivery("pixels", Delivery())
    registry.delivery("noimg", Delivery(modality="withheld"))
    registry.delivery("stored", Delivery(side=0, codec="stored"))


def parse_delivery(text: str, presets: Mapping[str, Delivery]) -> Delivery:
    """`<preset>[+token...]`. Raises ConfigError that names the known presets or tokens."""
    name, *tokens = text.split("+")
    if name not in presets:
        raise ConfigError(f"delivery has no value {name!r}; known: {', '.join(presets)}")
    delivery = presets[name]
    for token in tokens:
        side = _SIDE.fullmatch(token)
        if side and delivery.codec != "stored":
            delivery = replace(delivery, side=int(side[1]))
        elif token in _TOKENS:
            delivery = _TOKENS[token](delivery)
        else:
            raise ConfigError(f"delivery {text!r} has no token {token!r}; known: {', '.join(_TOKENS)}, s<pixels>")
    return delivery
