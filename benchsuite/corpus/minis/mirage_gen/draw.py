"""The forms of picture of the bank. All leave the top left corner free and stay within 640 x 448 px."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas, Colour

INK, SOFT, WHITE = (32, 36, 44), (104, 110, 122), (255, 255, 255)
Row = tuple[str, str]


def png(canvas: Canvas) -> bytes:
    """A palette PNG without metadata."""
    buffer = io.BytesIO()
    canvas.image.quantize(colors=48, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def heading(canvas: Canvas, title: str, subtitle: str, ink: Colour = INK, soft: Colour = SOFT) -> None:
    middle = canvas.width // 2 + 20
    room = canvas.width - 200
    canvas.text(middle, 28, title, 23, ink, "title", anchor="mm", bold=True, room=room)
    canvas.text(middle, 58, subtitle, 17, soft, "subtitle", anchor="mm", room=room)


def number(text: str) -> float:
    return float(text.replace(",", "").split()[0])


def footers(canvas: Canvas, notes: Sequence[Row], y: int, left: int = 24) -> None:
    """Label and value pairs side by side in a last line or two."""
    width = (canvas.width - 2 * left) // 2
    for place, (label, value) in enumerate(notes):
        x, line = left + width * (place % 2), y + 30 * (place // 2)
        canvas.text(x, line, f"{label}: {value}", 17, INK, "note", room=width - 8)


def bar_chart(title: str, subtitle: str, rows: Sequence[Row], notes: Sequence[Row], tone: Colour) -> Canvas:
    """Bars that lie: the label left, the value right of the bar."""
    canvas = Canvas(620, 448, WHITE, "aileron")
    heading(canvas, title, subtitle)
    most = max(number(value) for _, value in rows)
    step = 288 // len(rows)
    for place, (label, value) in enumerate(rows):
        y = 100 + step * place
        canvas.text(158, y, label, 17, INK, "label", anchor="rm", room=140)
        end = 170 + int(340 * number(value) / most)
        canvas.box(170, y - step // 3, end, y + step // 3, tone)
        canvas.text(end + 12, y, value, 17, INK, "value")
    footers(canvas, notes, 396)
    return canvas


def line_chart(title: str, subtitle: str, rows: Sequence[Row], notes: Sequence[Row], tone: Colour) -> Canvas:
    """Points joined by a line, the value above each point, the label below the axis."""
    canvas = Canvas(640, 448, (250, 250, 247), "cabin")
    heading(canvas, title, subtitle)
    values = [number(value) for _, value in rows]
    low, high = min(values), max(values)
    step = 584 // len(rows)
    points = [
        (28 + step * place + step // 2, 290 - int(160 * (value - low) / (high - low)))
        for place, value in enumerate(values)
    ]
    canvas.pen.line(points, fill=tone, width=3)
    canvas.rule(28, 332, 612, SOFT, 2)
    for x, y in points:
        canvas.pen.ellipse((x - 5, y - 5, x + 5, y + 5), fill=tone)
    heights = [high + 1, *values, high + 1]
    for place, ((x, y), (label, value)) in enumerate(zip(points, rows, strict=True)):
        lift = 20 if values[place] < min(heights[place], heights[place + 2]) else -20  # below where the line turns up
        x -= 24 if heights[place] < values[place] < heights[place + 2] else 0  # beside a line that rises on
        canvas.text(x, y + lift, value, 19, INK, "value", anchor="mm")
        canvas.text(points[place][0], 352, label, 19, INK, "label", anchor="mm")
    footers(canvas, notes, 392)
    return canvas


def grouped_chart(
    title: str, subtitle: str, series: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], notes: Sequence[Row]
) -> Canvas:
    """One block of bars for each group; group and series are the label of a bar."""
    canvas = Canvas(620, 448, WHITE, "aileron")
    tones = ((92, 122, 76), (204, 148, 62), (120, 92, 140))
    heading(canvas, title, subtitle)
    most = max(number(value) for _, values in rows for value in values)
    y = 92
    for group, values in rows:
        for name, value, tone in zip(series, values, tones, strict=True):
            canvas.text(168, y, f"{group} {name}", 16, INK, "label", anchor="rm")
            end = 180 + int(330 * number(value) / most)
            canvas.box(180, y - 8, end, y + 8, tone)
            canvas.text(end + 12, y, value, 16, INK, "value")
            y += 23
        y += 9
    footers(canvas, notes, 420)
    return canvas


def cards(title: str, subtitle: str, rows: Sequence[tuple[str, str, str, str]], notes: Sequence[Row]) -> Canvas:
    """A list of an app: name and price above, number and status below."""
    canvas = Canvas(600, 448, (238, 241, 236), "aileron")
    heading(canvas, title, subtitle)
    for place, (name, price, code, status) in enumerate(rows):
        y = 80 + 63 * place
        canvas.card(20, y, 580, y + 57, WHITE, (206, 212, 202))
        canvas.text(36, y + 17, name, 18, INK, "label", bold=True)
        canvas.text(564, y + 17, price, 18, INK, "value", anchor="rm")
        canvas.text(36, y + 41, code, 16, SOFT, "code")
        canvas.text(564, y + 41, status, 16, (36, 104, 72), "status", anchor="rm")
    footers(canvas, notes, 418)
    return canvas


def fields(title: str, subtitle: str, rows: Sequence[Row], tone: Colour) -> Canvas:
    """A profile: the label left, the value in a column of its own."""
    canvas = Canvas(560, 96 + 27 * len(rows), WHITE, "cabin")
    canvas.box(100, 8, 552, 74, tone)
    canvas.text(320, 30, title, 24, WHITE, "title", anchor="mm", bold=True)
    canvas.text(320, 58, subtitle, 17, WHITE, "subtitle", anchor="mm")
    for place, (label, value) in enumerate(rows):
        y = 98 + 27 * place
        canvas.text(40, y, label, 18, SOFT, "label")
        canvas.text(270, y, value, 18, INK, "value")
        canvas.rule(40, y + 14, 520, (228, 230, 234))
    return canvas


def tiles(title: str, subtitle: str, rows: Sequence[Row], tone: Colour) -> Canvas:
    """Three tiles a line: the label above its value."""
    lines = (len(rows) + 2) // 3
    canvas = Canvas(640, 84 + 88 * lines, (28, 36, 48), "cabin")
    heading(canvas, title, subtitle, WHITE, (196, 204, 216))
    for place, (label, value) in enumerate(rows):
        x, y = 16 + 206 * (place % 3), 82 + 88 * (place // 3)
        canvas.card(x, y, x + 196, y + 80, tone)
        canvas.text(x + 98, y + 24, label, 17, (210, 220, 230), "label", anchor="mm", room=184)
        canvas.text(x + 98, y + 55, value, 23, WHITE, "value", anchor="mm", bold=True, room=184)
    return canvas


def page(
    title: str, lines: Sequence[tuple[str, ...]], columns: Sequence[int], *, height: int, rules: Sequence[int] = ()
) -> Canvas:
    """A printed page: lines of cells at fixed columns, a rule under the lines named in ``rules``."""
    canvas = Canvas(600, height, WHITE, "aileron")
    canvas.text(110, 30, title, 24, INK, "title", bold=True)
    for place, cells in enumerate(lines):
        y = 68 + 25 * place
        for x, cell in zip(columns, cells, strict=False):
            if cell:
                canvas.text(x, y, cell, 17, INK, "cell")
        if place in rules:
            canvas.rule(24, y + 13, 576, SOFT)
    return canvas
