"""Drawn images, items that show them, and the presets."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.images import Place, read_header
from benchsuite.corpus.model import Image, Item, Query
from benchsuite.delivery.arrange import all_slots, arrange
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.protocol import Protocol, bundled_protocol
from benchsuite.delivery.render import render
from benchsuite.delivery.spec import Delivery, parse_delivery, register
from benchsuite.models.wire import Message, WireImage


@dataclass
class Store:
    """Images by digest, as a corpus would give them; ``reads`` counts what was asked for."""

    data: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0

    def add(self, data: bytes, caption: str = "", **changes: Any) -> Image:
        mime, width, height = read_header(data, "image", Place("test", "", ""))
        digest = hashlib.sha256(data).hexdigest()
        self.data[digest] = data
        facts = {"mime": mime, "width": width, "height": height, "size": len(data), **changes}
        return Image(digest, f"{digest[:6]}.bin", caption=caption, **facts)

    def draw(
        self, width: int = 300, height: int = 200, kind: str = "PNG", mode: str = "RGB", caption: str = ""
    ) -> Image:
        """A gradient under noise, so that every shift and every lossy step shows."""
        gradient = PillowImage.linear_gradient("L").resize((width, height))
        picture = PillowImage.blend(gradient, PillowImage.effect_noise((width, height), 90), 0.5)
        buffer = io.BytesIO()
        picture.convert("RGB").convert(mode).save(buffer, kind)
        return self.add(buffer.getvalue(), caption)

    def read(self, image: Image) -> bytes:
        self.reads += 1
        return self.data[image.sha256]


def item(number: int, text: str, *images: Image, role: str = "user", date: str = "", session: int = 1) -> Item:
    return Item(f"t{number}", (f"t{number}",), role, text, images, date, session)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def desk(tmp_path: Path) -> ImageDesk:
    return ImageDesk(tmp_path / "image")


@pytest.fixture
def turn() -> Callable[..., Item]:
    return item


@pytest.fixture(scope="session")
def presets() -> dict[str, Delivery]:
    found: dict[str, Delivery] = {}

    class Names:
        def delivery(self, name: str, value: Delivery) -> None:
            found[name] = value

    register(Names())  # type: ignore[arg-type]
    return found


SEED = "0123456789abcdef"


@pytest.fixture(scope="session")
def delivery(presets: dict[str, Delivery]) -> Callable[[str], Delivery]:
    return lambda text: parse_delivery(text, presets)


@pytest.fixture(scope="session")
def protocol() -> Protocol:
    return bundled_protocol("memlens")


@pytest.fixture
def rendered(delivery: Callable[[str], Delivery], protocol: Protocol) -> Callable[..., tuple[Message, ...]]:
    """Messages as rendered; an image stands under the key of its slot."""

    def make(items: list[Item], text: str, wording: Protocol = protocol) -> tuple[Message, ...]:
        chosen = delivery(text)
        placed = arrange(items, chosen, SEED, items)
        sent = {s.key: WireImage(s.key, s.image.sha256, "image/png", 1, 1) for s in all_slots(placed)}
        return render(placed, Query("What is it?", "2024/06/01 (Sat) 10:00"), chosen, wording, sent, len(items))

    return make
