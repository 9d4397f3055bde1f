"""How the eval half looks: seven layouts, none of which dev has."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas, Colour
from benchsuite.corpus.minis.memlens_gen.specs import Sheet

INK: Colour = (28, 30, 34)
SOFT: Colour = (96, 100, 106)
WHITE: Colour = (255, 255, 255)
TONES: tuple[Colour, ...] = ((88, 60, 128), (20, 104, 110), (150, 82, 22))
TINTS: tuple[Colour, ...] = ((238, 232, 247), (224, 242, 243), (250, 236, 220))


def leader_bill(sheet: Sheet) -> Canvas:
    """A bill with dotted leaders between label and amount; the last row stands in a dark band."""
    canvas = Canvas(480, 222 + 42 * len(sheet.rows), (248, 246, 240), sheet.face)
    canvas.text(108, 34, sheet.title, 25, INK, "title", bold=True, room=350)
    canvas.text(36, 82, sheet.subtitle, 18, SOFT, "subtitle", room=400)
    canvas.rule(36, 104, 444, INK)
    canvas.rule(36, 108, 444, INK)
    y = 138
    for label, value in sheet.rows[:-1]:
        used = canvas.text(36, y, label, 19, INK, "label", room=230)
        wide = canvas.text(444, y, value, 19, INK, "value", anchor="rm")
        for x in range(36 + used + 12, 444 - wide - 12, 8):
            canvas.box(x, y + 6, x + 1, y + 7, SOFT)
        y += 42
    canvas.box(26, y - 6, 454, y + 42, INK)
    label, value = sheet.rows[-1]
    canvas.text(40, y + 18, label, 23, WHITE, "label", bold=True, room=220)
    canvas.text(440, y + 18, value, 23, WHITE, "value", anchor="rm", bold=True)
    canvas.text(36, y + 76, sheet.footer, 17, SOFT, "footer", room=400)
    return canvas


def strip_board(sheet: Sheet) -> Canvas:
    """A dashboard of wide strips: a large value over a small label, with a sparkline."""
    tone, tint = TONES[sheet.tone % 3], TINTS[sheet.tone % 3]
    canvas = Canvas(520, 110 + 96 * len(sheet.rows), (236, 238, 240), sheet.face)
    canvas.text(110, 30, sheet.title, 25, INK, "title", bold=True, room=390)
    canvas.text(20, 74, sheet.subtitle, 17, SOFT, "subtitle", room=470)
    state = sheet.decor * 2 + 1
    for index, (label, value) in enumerate(sheet.rows):
        y = 96 + 96 * index
        canvas.card(16, y, 504, y + 86, WHITE)
        canvas.text(36, y + 32, value, 27, tone, "value", bold=True, room=240)
        canvas.text(36, y + 64, label, 18, SOFT, "label", room=260)
        for bar in range(12):
            state = (state * 1103515245 + 12345) % 2**31
            height = 8 + (state >> 16) % 44
            canvas.box(330 + 13 * bar, y + 70 - height, 338 + 13 * bar, y + 70, tint)
    return canvas


def grid_plate(sheet: Sheet) -> Canvas:
    """A rating plate: a ruled table with the label in a shaded cell and the value beside it."""
    tone, tint = TONES[sheet.tone % 3], TINTS[sheet.tone % 3]
    canvas = Canvas(520, 156 + 50 * len(sheet.rows), (255, 255, 255), sheet.face)
    canvas.text(106, 32, sheet.title, 26, tone, "title", bold=True, room=390)
    canvas.text(22, 76, sheet.subtitle, 17, SOFT, "subtitle", room=470)
    top = 98
    for index, (label, value) in enumerate(sheet.rows):
        y = top + 50 * index
        canvas.box(20, y, 230, y + 50, tint, tone)
        canvas.box(230, y, 500, y + 50, WHITE, tone)
        canvas.text(34, y + 25, label, 19, INK, "label", room=186)
        canvas.text(246, y + 25, value, 21, INK, "value", bold=True, room=240)
    bottom = top + 50 * len(sheet.rows)
    canvas.text(22, bottom + 28, sheet.footer, 16, SOFT, "footer", room=300)
    canvas.bars(380, bottom + 14, 118, 28, sheet.decor, INK)
    return canvas


def right_stub(sheet: Sheet) -> Canvas:
    """A ticket torn on the right; labels stand over values in one row or two."""
    tone, tint = TONES[sheet.tone % 3], TINTS[sheet.tone % 3]
    rows = (len(sheet.rows) + 1) // 2
    canvas = Canvas(620, 144 + 92 * rows, tint, sheet.face)
    canvas.box(0, 56, 492, 60, tone)
    canvas.text(106, 30, sheet.title, 26, tone, "title", bold=True, room=376)
    canvas.text(26, 84, sheet.subtitle, 17, SOFT, "subtitle", room=440)
    for index, (label, value) in enumerate(sheet.rows):
        x, y = 26 + 236 * (index % 2), 122 + 92 * (index // 2)
        canvas.text(x, y, label.upper(), 16, SOFT, "label", room=216)
        canvas.text(x, y + 30, value, 23, INK, "value", bold=True, room=216)
    canvas.text(26, canvas.height - 24, sheet.footer, 16, SOFT, "footer", room=440)
    for y in range(8, canvas.height - 8, 14):
        canvas.box(496, y, 498, y + 7, tone)
    for line in range(8):
        canvas.bars(522, 30 + line * (canvas.height - 60) // 8, 76, (canvas.height - 60) // 8, sheet.decor, INK)
    return canvas


def dark_cards(sheet: Sheet) -> Canvas:
    """An app in its dark theme: one card a setting, the label over the value."""
    tone = ((128, 196, 255), (140, 226, 178), (255, 190, 120))[sheet.tone % 3]
    canvas = Canvas(440, 182 + 90 * len(sheet.rows), (22, 24, 30), sheet.face)
    canvas.text(104, 34, sheet.title, 25, WHITE, "title", bold=True, room=316)
    canvas.text(26, 80, sheet.subtitle, 17, (178, 184, 194), "subtitle", room=390)
    for index, (label, value) in enumerate(sheet.rows):
        y = 102 + 90 * index
        canvas.card(18, y, 422, y + 80, (38, 42, 52))
        canvas.text(38, y + 25, label, 18, (178, 184, 194), "label", room=360)
        canvas.text(38, y + 55, value, 24, tone, "value", bold=True, room=360)
    bottom = canvas.height - 42
    canvas.rule(18, bottom - 22, 422, (60, 66, 78))
    canvas.text(220, bottom + 4, sheet.footer, 17, (178, 184, 194), "footer", anchor="mm", room=380)
    return canvas


def ruled_sheet(sheet: Sheet) -> Canvas:
    """A page of a ruled pad with a margin line."""
    canvas = Canvas(480, 176 + 44 * len(sheet.rows), (251, 250, 244), sheet.face)
    for y in range(106, canvas.height - 10, 44):
        canvas.rule(0, y, 480, (190, 206, 226))
    canvas.pen.line((62, 60, 62, canvas.height), fill=(226, 140, 140), width=2)
    blue = ((34, 52, 120), (40, 40, 44), (96, 36, 84))[sheet.tone % 3]
    canvas.text(106, 38, sheet.title, 26, blue, "title", bold=True, room=350)
    canvas.text(78, 88, sheet.subtitle, 18, blue, "subtitle", room=380)
    y = 132
    for label, value in sheet.rows:
        canvas.text(78, y, f"{label}: {value}", 22, blue, "pair", room=390)
        y += 44
    return canvas


def bar_rows(sheet: Sheet) -> Canvas:
    """Lying bars: the category on the left, the value at the bar's end."""
    tone = TONES[sheet.tone % 3]
    canvas = Canvas(600, 130 + 50 * len(sheet.rows), (252, 252, 252), sheet.face)
    canvas.text(108, 32, sheet.title, 25, INK, "title", bold=True, room=470)
    canvas.text(24, 76, sheet.subtitle, 17, SOFT, "subtitle", room=550)
    numbers = [float(value.replace(",", "").lstrip("$")) for _, value in sheet.rows]
    for index, (label, value) in enumerate(sheet.rows):
        y = 122 + 50 * index
        length = int(300 * numbers[index] / max(numbers))
        canvas.text(24, y, label, 20, INK, "label", room=160)
        canvas.box(196, y - 15, 196 + length, y + 15, tone)
        canvas.text(196 + length + 12, y, value, 20, INK, "value", bold=True)
    canvas.pen.line((194, 98, 194, canvas.height - 14), fill=SOFT, width=2)
    return canvas
