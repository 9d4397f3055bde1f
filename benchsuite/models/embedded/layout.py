"""Text boxes of one image to a title and label/value pairs, from geometry and the shape of the text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchsuite.models.embedded.ocr import Box
from benchsuite.models.embedded.text import has_digit, letters

_INLINE = re.compile(r"^(.{0,44}?[^\d\s:：=])\s*(?:[:：]\s*|\s=\s*|\s[-–—]\s|\s{2,}|\.{3,}\s*)(\S.*)$")
_GLUED = re.compile(r"^([^\W\d][^\d$€£¥]*?)\s+((?:[$€£¥]\s?)?\d[\d.,:%/-]*(?:\s?[a-z%]{1,4})?)$", re.I)
_PLAIN_NUMBER = re.compile(r"[-+]?[$€£¥]?\s?\d[\d.,]*\s?(?:%|[kKmM]|[a-z]{1,3})?")


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and its value. ``how``: row, below, inline, glued, bar or free (a line without a label).

    ``prior`` in 0..1 says how sure the geometry is. ``order`` is the value's reading position.
    """

    label: str
    value: str
    how: str
    prior: float
    order: int


@dataclass(frozen=True, slots=True)
class Layout:
    """``lines`` is every line of text in reading order; ``title`` the most prominent line near the top."""

    title: str
    header: str
    lines: tuple[str, ...]
    pairs: tuple[Pair, ...]


def analyse(boxes: Sequence[Box]) -> Layout:
    """The layout of one image's boxes."""
    if not boxes:
        return Layout("", "", (), ())
    rows = _rows(boxes)
    reading = [box for row in rows for box in row]
    order = {id(box): position for position, box in enumerate(reading)}
    title = _title(reading)
    inline = {id(box): split for box in reading if (split := _split(box.text, _INLINE)) is not None}
    stacked = _stacked([box for box in reading if id(box) not in inline], rows, title)
    bars = _bars(rows, reading)
    in_bars = {id(box) for pair in bars for box in pair}
    pairs: list[Pair] = []
    used: set[int] = set(in_bars)
    for label, value in bars:
        pairs.append(Pair(label.text, value.text, "bar", 1.0, order[id(value)]))
    for label, value, prior in stacked:
        if id(label) in in_bars or id(value) in in_bars:
            continue
        pairs.append(Pair(label.text, value.text, "below", prior, order[id(value)]))
        if prior >= 1.0:
            used.update((id(label), id(value)))
    for label_text, label, value in _row_pairs(rows):
        if (id(label) in in_bars and id(value) in in_bars) or id(label) in inline or id(value) in inline:
            continue
        if id(label) in used and id(value) in used:
            continue
        firm = id(label) not in used and id(value) not in used
        pairs.append(Pair(label_text, value.text, "row", 1.0 if firm else 0.2, order[id(value)]))
        used.update((id(label), id(value)))
    for box in reading:
        if id(box) in inline:
            pairs.append(Pair(*inline[id(box)], "inline", 1.0, order[id(box)]))
            used.add(id(box))
            continue
        glued = _split(box.text, _GLUED)
        if glued is not None:
            pairs.append(Pair(*glued, "glued", 0.6, order[id(box)]))
        if id(box) not in used:
            pairs.append(Pair("", box.text, "free", 0.0, order[id(box)]))
    header = " ".join(box.text for box in reading if id(box) not in used and not has_digit(box.text))
    return Layout(title.text, header, tuple(box.text for box in reading), tuple(pairs))


def _split(text: str, pattern: re.Pattern[str]) -> tuple[str, str] | None:
    """Label and value that stand in one box."""
    match = pattern.match(text)
    if match is None or letters(match[1]) < 2:
        return None
    return match[1].strip(), match[2].strip()


def _rows(boxes: Sequence[Box]) -> list[list[Box]]:
    """Boxes grouped by height on the page, each row from left to right."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda b: (b.cy, b.x0)):
        for row in rows[-3:]:
            if abs(row[-1].cy - box.cy) < 0.5 * min(row[-1].height, box.height):
                row.append(box)
                break
        else:
            rows.append([box])
    for row in rows:
        row.sort(key=lambda b: b.x0)
    return rows


def _title(reading: Sequence[Box]) -> Box:
    """The tallest line of words in the top third; higher ones are preferred among equals."""
    top = min(box.y0 for box in reading)
    bottom = max(box.y1 for box in reading)
    head = [box for box in reading if box.y0 <= top + 0.33 * (bottom - top)]
    worded = [box for box in head if letters(box.text) >= 3 and letters(box.text) * 2 >= len(box.text)]
    return max(worded or head, key=lambda b: b.height - 0.12 * (b.y0 - top))


def _aligned(a: Box, b: Box) -> bool:
    """One column: a common left edge, middle or right edge, or one box mostly over the other."""
    slack = 0.5 * min(a.height, b.height)
    overlap = min(a.x1, b.x1) - max(a.x0, b.x0)
    near = min(abs(a.x0 - b.x0), abs(a.cx - b.cx), abs(a.x1 - b.x1)) < slack
    return near or overlap > 0.6 * min(a.x1 - a.x0, b.x1 - b.x0)


def _stacked(reading: Sequence[Box], rows: Sequence[Sequence[Box]], title: Box) -> list[tuple[Box, Box, float]]:
    """Label above value, or a large value above its label, where the two stand closest."""
    row_of = {id(box): row for row in rows for box in row}
    below: dict[int, Box] = {}
    for a in reading:
        under = [b for b in reading if b is not a and b.y0 > a.cy and _aligned(a, b)]
        if under:
            below[id(a)] = min(under, key=lambda b: b.y0)
    found: list[tuple[Box, Box, float]] = []
    for a in reading:
        b = below.get(id(a))
        if b is None or (a is title and len(reading) > 3):
            continue
        gap = b.cy - a.cy
        after = below.get(id(b))
        gap_after = after.cy - b.cy if after is not None else float("inf")
        before = [c for c in reading if below.get(id(c)) is a and c is not title]
        gap_before = min((a.cy - c.cy for c in before), default=float("inf"))
        if b.y0 - a.y1 > 1.1 * max(a.height, b.height):
            continue
        label, value = _which_is_label(a, b)
        if letters(label.text) < 2:
            continue
        if _two_rows_of_pairs(row_of[id(a)], row_of[id(b)], a, b):
            continue
        tight = gap < 0.8 * gap_after and gap < 0.8 * gap_before
        found.append((label, value, 1.0 if tight else 0.25))
    return found


def _which_is_label(upper: Box, lower: Box) -> tuple[Box, Box]:
    """The upper box is the label unless only it looks like a value, or it is set clearly larger."""
    if has_digit(upper.text) and not has_digit(lower.text):
        return lower, upper
    if has_digit(upper.text) == has_digit(lower.text) and upper.height > 1.3 * lower.height:
        return lower, upper
    return upper, lower


def _two_rows_of_pairs(upper: Sequence[Box], lower: Sequence[Box], a: Box, b: Box) -> bool:
    """True where ``a`` and ``b`` head two rows 'label  value', so that neither is the other's label."""
    right_a = next((c for c in upper if c.x0 > a.x1), None)
    right_b = next((c for c in lower if c.x0 > b.x1), None)
    if right_a is None or right_b is None:
        return False
    return has_digit(right_a.text) and has_digit(right_b.text) and not has_digit(a.text + b.text)


def _bars(rows: Sequence[Sequence[Box]], reading: Sequence[Box]) -> list[tuple[Box, Box]]:
    """Chart categories with the number that stands above each of them."""
    found: list[tuple[Box, Box]] = []
    for row in rows:
        names = [box for box in row if letters(box.text) >= 1 and not _PLAIN_NUMBER.fullmatch(box.text)]
        if len(names) < 3:
            continue
        step = min(b.cx - a.cx for a, b in pairwise(names))
        pairs = []
        for name in names:
            over = [
                box
                for box in reading
                if box.y1 <= name.y0 + 3
                and abs(box.cx - name.cx) < max(9.0, 0.3 * step)
                and _PLAIN_NUMBER.fullmatch(box.text)
            ]
            if over:
                pairs.append((name, max(over, key=lambda b: b.y1)))
        values_below = sum(
            any(box.y0 > name.cy and has_digit(box.text) and _aligned(box, name) for box in reading) for name in names
        )
        if len(pairs) >= 3 and values_below < 2:
            found.extend(pairs)
    return found


def _row_pairs(rows: Sequence[Sequence[Box]]) -> list[tuple[str, Box, Box]]:
    """Label left of value. With three columns or more the row's head and the column's head make the label."""
    found: list[tuple[str, Box, Box]] = []
    for index, row in enumerate(rows):
        for position, value in enumerate(row):
            if position == 0:
                continue
            label = row[0] if len(row) >= 3 else row[position - 1]
            if letters(label.text) < 2:
                continue
            text = label.text
            if len(row) >= 3:
                head = _column_head(rows[:index], value)
                if head is not None:
                    text = f"{label.text} {head.text}"
            found.append((text, label, value))
    return found


def _column_head(above: Sequence[Sequence[Box]], value: Box) -> Box | None:
    """The topmost word in a row of three or more that stands over the value's column."""
    for row in above:
        if len(row) < 3:
            continue
        for head in row[1:]:
            overlaps = min(head.x1, value.x1) - max(head.x0, value.x0) > 0
            if not has_digit(head.text) and (overlaps or _aligned(head, value)):
                return head
    return None
