"""A drawing surface that records every string it draws, and the faces it draws with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Font = ImageFont.FreeTypeFont

FACES: dict[str, tuple[str, str]] = {  # face -> (regular file, bold file); Pillow's own face has no file
    "aileron": ("", ""),
    "inconsolata": ("Inconsolata.otf", "Inconsolata.otf"),
    "cabin": ("Cabin-Regular.otf", "Cabin-Bold.otf"),
    "junction": ("Junction.otf", "Junction.otf"),
    "liberation-mono": ("LiberationMono-Regular.ttf", "LiberationMono-Regular.ttf"),
}
CORNER = (90, 50)
"""Width and height, in px, of the top-left box that every image leaves without ink."""


@lru_cache(maxsize=256)
def load_font(face: str, size: int, bold: bool = False) -> Font:
    """A font of ``face`` at ``size`` px. Raises KeyError for an unknown face."""
    name = FACES[face][bold]
    if not name:
        font = ImageFont.load_default(size)
        if not isinstance(font, ImageFont.FreeTypeFont):
            raise RuntimeError("Pillow was built without FreeType")
        return font
    path = Path(__file__).with_name("fonts") / name
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


@dataclass(slots=True)
class Canvas:
    """An RGB image of one face. ``lines`` holds each drawn string with its role, in drawing order."""

    width: int
    height: int
    ground: Colour
    face: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    image: Image.Image = field(init=False)
    pen: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        self.image = Image.new("RGB", (self.width, self.height), self.ground)
        self.pen = ImageDraw.Draw(self.image)

    def text(
        self,
        x: int,
        y: int,
        text: str,
        size: int,
        ink: Colour,
        role: str,
        *,
        anchor: str = "lm",
        bold: bool = False,
        room: int = 0,
    ) -> int:
        """Draws ``text`` and returns its width in px; shrinks it to ``room`` px, never below 15 px high."""
        font = load_font(self.face, size, bold)
        while room and size > 15 and font.getlength(text) > room:
            size -= 1
            font = load_font(self.face, size, bold)
        self.pen.text((x, y), text, font=font, fill=ink, anchor=anchor)
        self.lines.append((role, text))
        return int(font.getlength(text))

    def rule(self, x0: int, y: int, x1: int, ink: Colour, width: int = 1) -> None:
        self.pen.line((x0, y, x1, y), fill=ink, width=width)

    def dashes(self, x0: int, y: int, x1: int, ink: Colour, step: int = 10, width: int = 2) -> None:
        for x in range(x0, x1, step):
            self.pen.line((x, y, min(x + step // 2, x1), y), fill=ink, width=width)

    def box(self, x0: int, y0: int, x1: int, y1: int, fill: Colour | None, edge: Colour | None = None) -> None:
        self.pen.rectangle((x0, y0, x1, y1), fill=fill, outline=edge)

    def card(self, x0: int, y0: int, x1: int, y1: int, fill: Colour, edge: Colour | None = None) -> None:
        self.pen.rounded_rectangle((x0, y0, x1, y1), 12, fill=fill, outline=edge)

    def bars(self, x: int, y: int, width: int, height: int, seed: int, ink: Colour) -> None:
        """A barcode-like ornament; it encodes nothing."""
        end, state = x + width, seed * 2 + 1
        while x < end - 4:
            state = (state * 1103515245 + 12345) % 2**31
            thick, gap = 1 + (state >> 16) % 4, 2 + (state >> 20) % 3
            self.pen.rectangle((x, y, x + thick - 1, y + height), fill=ink)
            x += thick + gap
