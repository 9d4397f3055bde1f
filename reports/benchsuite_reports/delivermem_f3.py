"""DeliverMem Figure 3: one retrieved memory as it was delivered in eleven forms, from the requests of a run.

A contact sheet whose rows of tiles are experiments of their own. Texts and images are those that were sent, checked
against their sha256; what is not stored is said to be. It is laid out once, then drawn with Pillow or as SVG.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from benchsuite.errors import DataError
from benchsuite_reports.arms import DELIVERMEM, Facts, Group, answered, group_rows, only, table_facts
from benchsuite_reports.contents import Call, read_calls
from benchsuite_reports.figure import FigureSpec, facts_caption, headed
from benchsuite_reports.shown import Segment
from benchsuite_reports.table import Condition, Row, RunFacts

if TYPE_CHECKING:
    from benchsuite_reports.contents import Contents

ID = "delivermem_f3"
TITLE = "DeliverMem Figure 3: one memory in eleven delivered forms"
WITHHELD = Condition("Withheld", "oracle", "noimg")
ROWS: tuple[tuple[str, str, tuple[Condition, ...]], ...] = (
    (
        "What the image slot carries",
        "oracle retrieval, K = 10, no tag, no date",
        (
            Condition("Pixels as they are", "oracle", "pixels"),
            Condition("Tiles scrambled", "oracle", "pixels+scramble"),
            Condition("Phase scrambled", "oracle", "pixels+phase"),
            Condition("Decoy photograph", "oracle", "pixels+decoy"),
            WITHHELD,
        ),
    ),
    (
        "Identity and time",
        "both channels, region index, K = 10, tag and date; one of the two varies",
        (
            Condition("Own tag, own date", DELIVERMEM.retrieval, DELIVERMEM.delivery, DELIVERMEM.index),
            Condition("One mark on every item", "both", "deployed+tagconst", "region"),
            Condition("Dates permuted", "both", "deployed+dateperm", "region"),
            Condition("No date", "both", "deployed+nodate", "region"),
        ),
    ),
    (
        "Binding",
        "both channels, whole-image index, K = 10, tag and date",
        (
            Condition("Image at its own message", "both", "deployed", "whole"),
            Condition("Images at other messages", "both", "deployed+bindshuf", "whole"),
        ),
    ),
)
CONDITIONS = tuple(condition for _, _, row in ROWS for condition in row)
CAPTION = (
    "Each tile is what one request said of the same delivered message: its texts in the order sent, those on tag and "
    "date on grey, then its image, shown smaller. Tiles compare only within their row: each row is an experiment of "
    "its own, and its base condition stands at the right. The question is the first, answerable ones first and then "
    "by gold answer, of which one message reached the model under every arm that was run, with its image wherever "
    "images are shown; of several such messages it is the one of the best rank."
)
SAME = "The same bytes as the first tile of the row."
NEVER = "(no image sent)"
_AT_ONCE = 8
"""Questions whose records are read in one pass over the calls."""


@dataclass(frozen=True, slots=True)
class Tile:
    """What a request said of the message: ``segments`` in the order sent, or the ``problem`` that there is none."""

    label: str
    arm: str
    segments: tuple[Segment, ...] = ()
    problem: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class TileRow:
    """Tiles of one experiment; ``base`` is what they share."""

    heading: str
    base: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The contact sheet of one message, ``item``, of a question as it was worded in the request."""

    title: str
    rows: tuple[TileRow, ...]
    question: str
    wording: str
    item: str
    caption: tuple[str, ...]
    facts: Facts = ()
    pipeline_check: bool = False
    id: str = field(default=ID)

    @property
    def heading(self) -> str:
        return headed(self.title, self.pipeline_check)

    def data(self) -> Mapping[str, object]:
        """All but the bytes of the images, which their sha256 stand for."""
        return {
            "id": self.id,
            "title": self.title,
            "pipeline_check": self.pipeline_check,
            "question": self.question,
            "wording": self.wording,
            "item": self.item,
            "rows": [
                {"heading": row.heading, "base": row.base, "tiles": [_tile_data(tile) for tile in row.tiles]}
                for row in self.rows
            ],
            "caption": self.caption,
            "facts": dict(self.facts),
        }

    def pictures(self) -> Mapping[str, bytes]:
        page = lay_out(self)
        return {"svg": as_svg(page), "png": as_png(page)}


def draw(rows: Sequence[Row], facts: RunFacts, run: Path, contents: Contents) -> Sheet | None:
    """From the records of the group of rows that has the most of the eleven arms, the shortest length of several.

    Raises DataError where no message fits (see CAPTION), BenchError when rows mix what must not be mixed.
    """
    groups = group_rows(rows, CONDITIONS)
    if not groups or max(len(group.rows) for group in groups) < 2:
        return None
    group = max(groups, key=lambda each: len(each.rows))
    mine = group.all_rows()
    about, corpus = table_facts(ID, mine, facts)
    question, item, calls = _choose(group, run)
    tiles = {
        each.name: _tile(each, item, calls.get(each.name), contents, str(mine[0]["corpus"])) for each in CONDITIONS
    }
    shown = [TileRow(heading, base, _remarked([tiles[c.name] for c in row])) for heading, base, row in ROWS]
    missing = [condition.name for condition in CONDITIONS if condition.name not in group.rows]
    served = only(
        ID, "models as served", [row for row in mine if answered(row) and row["model_served"]], "model_served"
    )
    first = contents.request(next(iter(calls.values())), str(mine[0]["corpus"]))
    wording = " ".join((each.text or each.problem).strip() for each in first.segments if each.kind == "question")
    return Sheet(
        TITLE,
        tuple(shown),
        question,
        wording,
        item,
        caption=(
            CAPTION,
            *((f"Missing arms: {', '.join(missing)}.",) if missing else ()),
            f"{group.heading}, served as {served}; question {question}, message {item}.",
            facts_caption(about),
        ),
        facts=about,
        pipeline_check=corpus.bundled,
    )


FIGURE = FigureSpec(ID, draw, ("memlens",), conditions=CONDITIONS)


def _choose(group: Group, run: Path) -> tuple[str, str, dict[str, Call]]:
    """Question, message and the answering record of each arm that was run."""
    first, *others = group.rows.values()
    candidates = sorted(
        (row for question, row in first.items() if all(question in each for each in others)),
        key=lambda row: (not row["answerable"], str(row["gold"]), str(row["requests"])),
    )
    for start in range(0, len(candidates), _AT_ONCE):
        some = [str(row["question"]) for row in candidates[start : start + _AT_ONCE]]
        cells = {str(rows[question]["cell"]) for question in some for rows in group.rows.values()}
        records = read_calls(run, cells)
        for question in some:
            calls = {name: _answering(rows[question], records) for name, rows in group.rows.items()}
            known = {name: call for name, call in calls.items() if call is not None}
            if len(known) == len(calls) and (item := _shared_item(known)):
                return question, item, known
    raise DataError(
        "calls/",
        None,
        None,
        f"no message reached the model under all of {', '.join(group.rows)} of a question, with an image",
    )


def _answering(row: Row, records: Mapping[str, Mapping[str, Call]]) -> Call | None:
    keys: Any = row["requests"]
    calls = [
        call for key, call in records.get(str(row["cell"]), {}).items() if call["role"] == "answer" and key in keys
    ]
    return calls[-1] if calls else None


def _shared_item(calls: Mapping[str, Call]) -> str:
    """The best-ranked message of the deployed form (else of the first arm) that every arm has; empty for none."""
    shared: set[str] | None = None
    for name, call in calls.items():
        parts = _parts(call)
        found = {str(part["item"]) for part in parts if part["item"] and ("source" in part or name == WITHHELD.name)}
        shared = found if shared is None else shared & found
    ranked = _parts(calls.get(DELIVERMEM.name) or next(iter(calls.values())))
    return next((str(part["item"]) for part in ranked if part["item"] in (shared or ())), "")


def _parts(call: Call) -> list[Mapping[str, Any]]:
    return [part for _, parts in call["messages"] for part in parts]


def _tile(condition: Condition, item: str, call: Call | None, contents: Contents, corpus: str) -> Tile:
    if call is None:
        return Tile(condition.label, condition.name, problem="This arm was not run.")
    segments = contents.request(call, corpus).segments
    return Tile(condition.label, condition.name, tuple(each for each in segments if each.item == item))


def _remarked(tiles: Sequence[Tile]) -> tuple[Tile, ...]:
    """A form that changed nothing here says so."""
    first, *others = tiles
    same = [
        each.segments and [s.sha256 for s in each.segments] == [s.sha256 for s in first.segments] for each in others
    ]
    return (
        first,
        *(Tile(t.label, t.arm, t.segments, t.problem, SAME if s else "") for t, s in zip(others, same, strict=True)),
    )


def _tile_data(tile: Tile) -> dict[str, object]:
    segments = []
    for each in tile.segments:
        facts: dict[str, object] = {"kind": each.kind, "sha256": each.sha256}
        if each.picture is not None:
            picture = each.picture
            facts.update(
                source=picture.source,
                mime=picture.mime,
                width=picture.width,
                height=picture.height,
                transform=picture.transform,
                params=dict(picture.params),
                problem=picture.problem,
            )
        else:
            facts.update(text=each.text, problem=each.problem)
        segments.append(facts)
    return {"label": tile.label, "arm": tile.arm, "segments": segments, "problem": tile.problem, "remark": tile.remark}


# --- the layout, in pixels of the PNG ---

WIDTH, BASE, GAP, EDGE, PAD = 268, 220, 14, 24, 10
"""Of a tile and of the column of bases; between tiles, around the sheet and within a tile."""
BODY, SMALL, HEAD, TITLE_SIZE = 13, 12, 15, 20
BLACK, GREY, BAND, FRAME, ALARM = "#000000", "#555555", "#e6e6e6", "#999999", "#a0005a"
LINES = 9
"""Lines of a message's own text that a tile shows; the rest is counted."""
FAMILY = "Aileron, Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Words:
    x: int
    y: int
    text: str
    size: int = BODY
    colour: str = BLACK


@dataclass(frozen=True, slots=True)
class Box:
    x: int
    y: int
    width: int
    height: int
    fill: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """``data`` is a PNG of this very size."""

    x: int
    y: int
    width: int
    height: int
    data: bytes


Mark = Words | Box | Shot


@dataclass(slots=True)
class Layout:
    """Marks in the order in which they are drawn."""

    width: int
    height: int = 0
    marks: list[Mark] = field(default_factory=list)

    def write(
        self,
        x: int,
        y: int,
        width: int,
        text: str,
        size: int = BODY,
        colour: str = BLACK,
        band: bool = False,
        most: int = 0,
    ) -> int:
        """Set a text, wrapped, and return where it ends; ``most`` lines of it (0: all), the rest is counted."""
        lines = wrap(text, width, size)
        if most and len(lines) > most:
            rest = sum(len(line) for line in lines[most:])
            lines = [*lines[:most], f"(… and {rest:,} further characters)"]
        step = round(size * 1.35)
        if band and lines:
            self.marks.append(Box(x - 4, y - 2, width + 8, step * len(lines) + 4, fill=BAND))
        for line in lines:
            self.marks.append(Words(x, y, line, size, colour))
            y += step
        return y


def lay_out(sheet: Sheet) -> Layout:
    most = max(len(row.tiles) for row in sheet.rows)
    inner = most * (WIDTH + GAP) + BASE
    page = Layout(inner + 2 * EDGE)
    y = page.write(EDGE, EDGE, inner, sheet.heading, TITLE_SIZE)
    y = page.write(EDGE, y + 4, inner, sheet.wording) + GAP
    for row in sheet.rows:
        y = page.write(EDGE, y, inner, row.heading, HEAD) + 4
        ends = [_lay_tile(page, EDGE + number * (WIDTH + GAP), y, tile) for number, tile in enumerate(row.tiles)]
        right = EDGE + most * (WIDTH + GAP)
        end = page.write(right, y + PAD, BASE, "Base condition", SMALL, GREY)
        end = page.write(right, end, BASE, row.base)
        ends.append(page.write(right, end + 6, BASE, "Compare only within this row.", SMALL, GREY))
        bottom = max(ends) + PAD
        page.marks += [
            Box(EDGE + number * (WIDTH + GAP), y, WIDTH, bottom - y, line=FRAME) for number in range(len(row.tiles))
        ]
        y = bottom + GAP
    for line in sheet.caption:
        y = page.write(EDGE, y, inner, line, SMALL) + 3
    page.height = y + EDGE
    return page


def _lay_tile(page: Layout, x: int, y: int, tile: Tile) -> int:
    x, inner = x + PAD, WIDTH - 2 * PAD
    y = page.write(x, y + PAD, inner, tile.label, HEAD)
    y = page.write(x, y, inner, tile.arm, SMALL, GREY) + 6
    if tile.problem:
        return page.write(x, y, inner, tile.problem, colour=ALARM)
    shown = False
    for each in tile.segments:
        if each.picture is None:
            text, banded = (each.text or "").strip(), each.kind in ("date", "tag")
            if each.problem:
                y = page.write(x, y, inner, f"{each.kind}: {each.problem}", SMALL, ALARM) + 4
            elif text:
                y = page.write(x, y, inner, text, band=banded, most=LINES if each.kind == "text" else 0) + 4
            continue
        picture, shown = each.picture, True
        if picture.data is None:
            y = page.write(x, y, inner, f"image: {picture.problem}", SMALL, ALARM) + 4
            continue
        shot = _shrunk(picture.data, inner)
        page.marks.append(Shot(x, y + 2, shot.width, shot.height, _as_png(shot)))
        treated = picture.transform or "as stored"
        y = page.write(x, y + shot.height + 6, inner, f"{picture.width}x{picture.height}, {treated}", SMALL, GREY) + 4
    if not shown:
        y = page.write(x, y, inner, NEVER, SMALL, GREY)
    return page.write(x, y, inner, tile.remark, SMALL, GREY) if tile.remark else y


def _shrunk(data: bytes, width: int) -> PillowImage.Image:
    """The image within a square of this size, never enlarged, on white where it is transparent."""
    picture: PillowImage.Image = PillowImage.open(io.BytesIO(data))
    if picture.has_transparency_data:
        picture = PillowImage.alpha_composite(PillowImage.new("RGBA", picture.size, "white"), picture.convert("RGBA"))
    picture = picture.convert("RGB")
    picture.thumbnail((width, width), PillowImage.Resampling.LANCZOS)
    return picture


def wrap(text: str, width: int, size: int) -> list[str]:
    """Lines at most this wide in pixels; a word that is wider is broken, a line break stands."""
    lines = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if _wide(longer, size) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            while _wide(word[: width + 1], size) > width:  # no letter is narrower than a pixel
                cut = 1
                while _wide(word[: cut + 1], size) <= width:
                    cut += 1
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        if line:
            lines.append(line)
    return lines


def as_png(page: Layout) -> bytes:
    sheet = PillowImage.new("RGB", (page.width, page.height), "white")
    pen = ImageDraw.Draw(sheet)
    for mark in page.marks:
        if isinstance(mark, Words):
            pen.text((mark.x, mark.y), printable(mark.text), mark.colour, _font(mark.size))
        elif isinstance(mark, Box):
            corner = (mark.x + mark.width, mark.y + mark.height)
            pen.rectangle(((mark.x, mark.y), corner), mark.fill or None, mark.line or None)
        else:
            sheet.paste(PillowImage.open(io.BytesIO(mark.data)), (mark.x, mark.y))
    return _as_png(sheet)


def as_svg(page: Layout) -> bytes:
    """Text as text, each line held to the width that it was measured with; images within the file."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{page.width}" height="{page.height}" '
        f'viewBox="0 0 {page.width} {page.height}" font-family="{FAMILY}">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for mark in page.marks:
        if isinstance(mark, Words):
            ascent, _ = _font(mark.size).getmetrics()
            lines.append(
                f'<text x="{mark.x}" y="{mark.y + ascent}" font-size="{mark.size}" fill="{mark.colour}" '
                f'textLength="{_wide(mark.text, mark.size):.0f}" lengthAdjust="spacingAndGlyphs">'
                f"{escape(_legal(mark.text))}</text>"
            )
            continue
        place = f'x="{mark.x}" y="{mark.y}" width="{mark.width}" height="{mark.height}"'
        if isinstance(mark, Box):
            lines.append(f'<rect {place} fill="{mark.fill or "none"}" stroke="{mark.line or "none"}"/>')
        else:
            data = base64.b64encode(mark.data).decode()
            lines.append(f'<image {place} href="data:image/png;base64,{data}"/>')
    return "\n".join([*lines, "</svg>\n"]).encode()


def printable(text: str) -> str:
    """The text as Pillow's own font can show it: a question mark for what it lacks; the SVG and the data have all."""
    return text if text.isascii() and text.isprintable() else "".join(each if _has(each) else "?" for each in text)


def _legal(text: str) -> str:
    """With a mark in place of what XML cannot hold."""
    return re.sub("[^\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)


def _wide(text: str, size: int) -> float:
    return _font(size).getlength(printable(text))


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont)
    return found


@lru_cache(maxsize=4096)
def _has(letter: str) -> bool:
    """Whether the font has a shape for it: what it lacks all looks alike."""
    return letter.isprintable() and bytes(_font(BODY).getmask(letter)) != bytes(_font(BODY).getmask("\uffff"))


def _as_png(picture: PillowImage.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
