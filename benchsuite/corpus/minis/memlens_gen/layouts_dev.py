"""How the dev half looks: seven layouts."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas, Colour
from benchsuite.corpus.minis.memlens_gen.specs import Sheet

INK: Colour = (38, 40, 46)
SOFT: Colour = (104, 108, 118)
TONES: tuple[Colour, ...] = ((38, 84, 124), (122, 62, 52), (48, 104, 74))
TINTS: tuple[Colour, ...] = ((226, 236, 245), (247, 232, 226), (227, 241, 232))


def till_slip(sheet: Sheet) -> Canvas:
    """A shop receipt: name on top, labels left, amounts right, the last row large."""
    canvas = Canvas(440, 210 + 40 * len(sheet.rows), (253, 252, 248), sheet.face)
    canvas.text(220, 74, sheet.title, 26, INK, "title", anchor="mm", bold=True, room=380)
    canvas.text(220, 106, sheet.subtitle, 18, SOFT, "subtitle", anchor="mm", room=380)
    canvas.dashes(28, 130, 412, SOFT)
    y = 156
    for label, value in sheet.rows[:-1]:
        canvas.text(30, y, label, 20, INK, "label", room=220)
        canvas.text(410, y, value, 20, INK, "value", anchor="rm")
        y += 40
    canvas.dashes(28, y - 14, 412, SOFT)
    label, value = sheet.rows[-1]
    canvas.text(30, y + 14, label, 26, INK, "label", bold=True, room=210)
    canvas.text(410, y + 14, value, 26, INK, "value", anchor="rm", bold=True)
    canvas.text(220, y + 62, sheet.footer, 17, SOFT, "footer", anchor="mm", room=380)
    return canvas


def tile_board(sheet: Sheet) -> Canvas:
    """A dashboard of two columns of tiles: a small label over a large value."""
    tone, tint = TONES[sheet.tone % 3], TINTS[sheet.tone % 3]
    rows = (len(sheet.rows) + 1) // 2
    canvas = Canvas(560, 118 + 112 * rows, (243, 244, 247), sheet.face)
    canvas.box(0, 0, 560, 62, tone)
    canvas.text(108, 31, sheet.title, 24, (255, 255, 255), "title", bold=True, room=430)
    canvas.text(20, 84, sheet.subtitle, 17, SOFT, "subtitle", room=500)
    for index, (label, value) in enumerate(sheet.rows):
        x, y = 18 + 266 * (index % 2), 102 + 112 * (index // 2)
        canvas.card(x, y, x + 256, y + 98, (255, 255, 255), tint)
        canvas.box(x, y + 18, x + 4, y + 80, tone)
        canvas.text(x + 22, y + 32, label, 18, SOFT, "label", room=220)
        canvas.text(x + 22, y + 66, value, 27, INK, "value", bold=True, room=220)
    return canvas


def boxed_label(sheet: Sheet) -> Canvas:
    """A printed sticker in a frame: ``label: value`` lines and a barcode."""
    canvas = Canvas(460, 220 + 38 * len(sheet.rows), (250, 250, 246), sheet.face)
    bottom = canvas.height - 14
    canvas.pen.rounded_rectangle((14, 58, 446, bottom), 14, outline=INK, width=3)
    canvas.text(34, 90, sheet.title, 27, INK, "title", bold=True, room=390)
    canvas.text(34, 120, sheet.subtitle, 17, SOFT, "subtitle", room=390)
    canvas.rule(32, 140, 428, INK, 2)
    y = 164
    for label, value in sheet.rows:
        canvas.text(34, y, f"{label}: {value}", 20, INK, "pair", room=390)
        y += 38
    canvas.bars(34, y - 6, 250, 30, sheet.decor, INK)
    return canvas


def left_stub(sheet: Sheet) -> Canvas:
    """A ticket with a coloured stub on the left; labels over values in two columns."""
    tone = TONES[sheet.tone % 3]
    rows = (len(sheet.rows) + 1) // 2
    canvas = Canvas(600, 150 + 88 * rows, (252, 248, 238), sheet.face)
    canvas.box(0, 0, 104, canvas.height, tone)
    for y in range(64, canvas.height - 6, 16):
        canvas.pen.ellipse((99, y, 109, y + 10), fill=(252, 248, 238))
    canvas.bars(22, canvas.height - 70, 60, 46, sheet.decor, (240, 240, 240))
    canvas.text(136, 44, sheet.title, 27, INK, "title", bold=True, room=440)
    canvas.text(136, 76, sheet.subtitle, 18, SOFT, "subtitle", room=440)
    canvas.rule(136, 98, 576, tone, 2)
    for index, (label, value) in enumerate(sheet.rows):
        x, y = 136 + 226 * (index % 2), 124 + 88 * (index // 2)
        canvas.text(x, y, label, 17, SOFT, "label", room=210)
        canvas.text(x, y + 29, value, 24, INK, "value", bold=True, room=210)
    canvas.text(136, canvas.height - 24, sheet.footer, 16, SOFT, "footer", room=430)
    return canvas


def list_screen(sheet: Sheet) -> Canvas:
    """A phone screen: a heading and a list of settings with values on the right."""
    tone = TONES[sheet.tone % 3]
    canvas = Canvas(420, 232 + 58 * len(sheet.rows), (245, 245, 248), sheet.face)
    for bar in range(4):
        canvas.box(348 + 9 * bar, 30 - 4 * bar, 353 + 9 * bar, 32, SOFT)
    canvas.text(24, 82, sheet.title, 27, INK, "title", bold=True, room=370)
    canvas.text(24, 114, sheet.subtitle, 17, SOFT, "subtitle", room=370)
    top = 136
    canvas.card(14, top, 406, top + 58 * len(sheet.rows), (255, 255, 255), (222, 223, 229))
    for index, (label, value) in enumerate(sheet.rows):
        y = top + 29 + 58 * index
        canvas.text(32, y, label, 20, INK, "label", room=190)
        canvas.text(388, y, value, 20, tone, "value", anchor="rm", room=170)
        if index:
            canvas.rule(32, y - 29, 388, (226, 227, 232))
    canvas.card(110, canvas.height - 70, 310, canvas.height - 26, tone)
    canvas.text(210, canvas.height - 48, sheet.footer, 18, (255, 255, 255), "footer", anchor="mm", room=180)
    return canvas


def sticky_note(sheet: Sheet) -> Canvas:
    """A square of yellow paper with one item a line and a folded corner."""
    paper = ((255, 240, 170), (214, 238, 204), (255, 222, 212))[sheet.tone % 3]
    fold = ((232, 212, 128), (184, 214, 172), (232, 190, 178))[sheet.tone % 3]
    canvas = Canvas(440, 186 + 48 * len(sheet.rows), paper, sheet.face)
    width, height = canvas.width, canvas.height
    canvas.pen.polygon(((width - 46, height), (width, height - 46), (width, height)), fill=(238, 238, 234))
    canvas.pen.polygon(((width - 46, height), (width, height - 46), (width - 46, height - 46)), fill=fold)
    canvas.text(34, 86, sheet.title, 28, INK, "title", bold=True, room=370)
    canvas.text(34, 118, sheet.subtitle, 18, SOFT, "subtitle", room=370)
    y = 162
    for label, value in sheet.rows:
        canvas.pen.ellipse((36, y - 4, 44, y + 4), fill=INK)
        canvas.text(58, y, f"{label} - {value}", 22, INK, "pair", room=350)
        y += 48
    return canvas


def column_chart(sheet: Sheet) -> Canvas:
    """Upright bars: the value above, the category below."""
    canvas = Canvas(600, 400, (255, 255, 255), sheet.face)
    tone = TONES[sheet.tone % 3]
    canvas.text(300, 34, sheet.title, 24, INK, "title", anchor="mm", bold=True, room=390)
    canvas.text(300, 66, sheet.subtitle, 17, SOFT, "subtitle", anchor="mm", room=390)
    base, reach = 346, 210
    numbers = [float(value.replace(",", "").lstrip("$")) for _, value in sheet.rows]
    step = 540 // len(sheet.rows)
    for index, (label, value) in enumerate(sheet.rows):
        middle = 30 + step * index + step // 2
        height = int(reach * numbers[index] / max(numbers))
        canvas.box(middle - 26, base - height, middle + 26, base, tone)
        canvas.text(middle, base - height - 16, value, 19, INK, "value", anchor="mm")
        canvas.text(middle, base + 22, label, 18, INK, "label", anchor="mm", room=step - 8)
    canvas.rule(28, base, 572, SOFT, 2)
    return canvas
