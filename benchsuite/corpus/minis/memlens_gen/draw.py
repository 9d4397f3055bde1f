"""From the words of an image to the bytes of its PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

from PIL import Image

from benchsuite.corpus.minis.memlens_gen import layouts_dev, layouts_eval
from benchsuite.corpus.minis.memlens_gen.canvas import Canvas
from benchsuite.corpus.minis.memlens_gen.specs import Sheet

LAYOUTS: Mapping[str, Callable[[Sheet], Canvas]] = {
    layout.__name__.replace("_", "-"): layout
    for layout in (
        layouts_dev.till_slip,
        layouts_dev.tile_board,
        layouts_dev.boxed_label,
        layouts_dev.left_stub,
        layouts_dev.list_screen,
        layouts_dev.sticky_note,
        layouts_dev.column_chart,
        layouts_eval.leader_bill,
        layouts_eval.strip_board,
        layouts_eval.grid_plate,
        layouts_eval.right_stub,
        layouts_eval.dark_cards,
        layouts_eval.ruled_sheet,
        layouts_eval.bar_rows,
    )
}


def draw(sheet: Sheet) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The PNG of a sheet (palette, no metadata) and the strings drawn, each with its role."""
    canvas = LAYOUTS[sheet.layout](sheet)
    buffer = io.BytesIO()
    palette = canvas.image.quantize(colors=32, dither=Image.Dither.NONE)
    palette.save(buffer, "PNG", optimize=True)
    return buffer.getvalue(), tuple(canvas.lines)
