"""A Table as terminal text, Markdown, CSV, JSON and LaTeX. Every form says the same things."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchsuite_reports.table import Block, Table

WIDTH = 100
"""Columns of the terminal form."""
LISTED = 10
"""Left-out ids that the terminal form lists; the other forms list all."""
LONG = 50
"""Characters from which a column of the LaTeX form is set as paragraphs."""
_GAP = "  "


def as_text(table: Table) -> str:
    """Aligned plain text, at most 100 columns wide."""
    lines = _wrap(table.heading)
    lines += [line for fact in table.facts for line in _wrap_fact(fact)]
    for block in table.blocks:
        columns = _columns(table, block)
        alike = [each.rows for each in table.blocks if _columns(table, each) == columns]
        widths = _widths([columns, *(row for rows in alike for row in rows)])
        rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        lines += ["", *_wrap(block.heading)]
        lines += [line for fact in _block_facts(block, LISTED) for line in _wrap_fact(fact)]
        lines += [rule, *_aligned(columns, widths), rule]
        lines += [line for row in block.rows for line in _aligned(row, widths)]
        lines.append(rule)
        lines += [line for note in block.notes for line in _wrap(note)]
    if table.notes:
        lines += ["", *(line for note in table.notes for line in _wrap(note))]
    return "\n".join(lines) + "\n"


def as_markdown(table: Table) -> str:
    lines = [f"# {_md(table.heading)}", ""]
    lines += [f"- {label}: {_md(text)}" for label, text in table.facts]
    for block in table.blocks:
        lines += ["", f"## {_md(block.heading)}", ""]
        lines += [f"- {label}: {_md(text)}" for label, text in _block_facts(block)]
        columns = _columns(table, block)
        lines += ["", _md_row(columns), _md_row([":--", *["--:"] * (len(columns) - 1)], raw=True)]
        lines += [_md_row(row) for row in block.rows]
        for note in block.notes:
            lines += ["", _md(note)]
    for note in table.notes:
        lines += ["", _md(note)]
    return "\n".join(lines) + "\n"


def as_csv(table: Table) -> str:
    """A header, then a line per row, led by table id, kind and block.

    Facts, left-out ids and notes stand in lines of their own kind, and so do the columns of a block that has
    others than the table.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "kind", "block", *table.columns])
    writer.writerow([table.id, "title", "", table.heading])
    for label, text in table.facts:
        writer.writerow([table.id, "fact", "", label, text])
    for block in table.blocks:
        for label, text in _block_facts(block):
            writer.writerow([table.id, "fact", block.heading, label, text])
        if block.columns:
            writer.writerow([table.id, "columns", block.heading, *block.columns])
        for row in block.rows:
            writer.writerow([table.id, "row", block.heading, *row])
        for note in block.notes:
            writer.writerow([table.id, "note", block.heading, note])
    for note in table.notes:
        writer.writerow([table.id, "note", "", note])
    return out.getvalue()


def as_json(table: Table) -> str:
    """Everything, with the unrounded numbers in each block's ``values``."""
    return (
        json.dumps(
            {
                "id": table.id,
                "title": table.title,
                "pipeline_check": table.pipeline_check,
                "columns": table.columns,
                "facts": dict(table.facts),
                "blocks": [
                    {
                        "heading": block.heading,
                        "facts": dict(block.facts),
                        "columns": _columns(table, block),
                        "rows": block.rows,
                        "left_out": None if block.left_out is None else dict(block.left_out),
                        "notes": block.notes,
                        "values": dict(block.values),
                    }
                    for block in table.blocks
                ],
                "notes": table.notes,
            },
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
        )
        + "\n"
    )


def as_latex(table: Table) -> str:
    """A ``table`` environment for booktabs; facts and notes stand below the rules.

    Neighbouring blocks of the same columns share a tabular. What a page cannot hold goes on in further environments
    of the same number. Type and columns are set so that a line of text of 345 points holds the widest row.
    """
    pieces = [*_tex_tabulars(table), *((lines, [line]) for lines, line in _tex_notes(table))]
    floats: list[list[str]] = [[]]
    room = PAGE
    for lines, piece in pieces:
        if floats[-1] and lines > room:
            floats.append([])
            room = PAGE
        room -= lines
        floats[-1] += piece
    made = []
    for number, body in enumerate(floats):
        again = r"\addtocounter{table}{-1}" if number else ""
        more = " (continued)" if number else ""
        label = [] if number else [rf"\label{{tab:{table.id}}}"]
        made += [r"\begin{table}[tp]", r"\centering", rf"{again}\caption{{{_tex(table.heading)}{more}}}", *label]
        made += [*body, r"\end{table}"]
    return "\n".join(made) + "\n"


def as_latex_document(table: Table) -> str:
    """The same as a whole document."""
    head = [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}"]
    return "\n".join([*head, as_latex(table) + r"\end{document}"]) + "\n"


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "md": as_markdown,
    "csv": as_csv,
    "json": as_json,
    "tex": as_latex,
}
"""The forms that are written to files, by extension."""


def _columns(table: Table, block: Block) -> tuple[str, ...]:
    return block.columns or table.columns


def _block_facts(block: Block, listed: int | None = None) -> Iterator[tuple[str, str]]:
    yield from block.facts
    if block.left_out is None:
        return
    ids = [f"{question} ({reason})" for question, reason in block.left_out]
    shown = ids[:listed]
    more = f" and {len(ids) - len(shown)} more, listed in the files" if len(ids) > len(shown) else ""
    yield "left out", f"{len(ids)}: {', '.join(shown)}{more}" if ids else "0"


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _wrap_fact(fact: tuple[str, str]) -> list[str]:
    return _wrap(f"{fact[0]}: {fact[1]}", "  ")


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column; the widest give way until a line fits."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = max(WIDTH - len(_GAP) * (len(widths) - 1), len(widths))
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    return widths


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [
        textwrap.wrap(text, width, break_on_hyphens=False) or [""] for text, width in zip(row, widths, strict=True)
    ]
    lines = []
    for i in range(max(len(cell) for cell in cells)):
        parts = [cell[i] if i < len(cell) else "" for cell in cells]
        first, rest = (
            parts[0].ljust(widths[0]),
            [part.rjust(width) for part, width in zip(parts[1:], widths[1:], strict=True)],
        )
        lines.append(_GAP.join([first, *rest]).rstrip())
    return lines


def _md(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", text)


def _md_row(cells: Sequence[str], raw: bool = False) -> str:
    return f"| {' | '.join(cells if raw else map(_md, cells))} |"


PAGE = 46
"""Lines of a table environment in LaTeX."""
_LINE = 105
"""Characters of a line of notes there."""
_LINE_WIDTH = 345.0
_SIZES = (("normalsize", 5.2, 6.0), ("small", 4.7, 4.0), ("footnotesize", 4.3, 3.0), ("scriptsize", 4.0, 2.5))
_SMALLEST = ("tiny", 3.3, 2.0)
"""Sizes of type, with the points of a character and those between a column's text and its edge."""
_NARROWEST = 16
"""Characters that a column of words may be narrowed to."""


def _tex_tabulars(table: Table) -> Iterator[tuple[int, list[str]]]:
    """The tabulars, each with the lines that it takes."""
    for columns, blocks in itertools.groupby(table.blocks, lambda block: _columns(table, block)):
        stretch = list(blocks)
        layout = _tex_layout([columns, *(row for block in stretch for row in block.rows)])
        begin = [layout.size, rf"\begin{{tabular}}{{{layout.kinds}}}", r"\toprule", _tex_row(columns, layout)]
        end = [r"\bottomrule", r"\end{tabular}\par}\smallskip"]
        body: list[str] = []
        lines = 3
        for block in stretch:
            heading = [r"\midrule", rf"\multicolumn{{{len(columns)}}}{{l}}{{{_tex_fitted(block.heading)}}} {_END}"]
            for place, row in enumerate(block.rows):
                taken = layout.lines(row) + (0 if place else 1)
                if body and lines + taken > PAGE - 4:
                    yield lines, [*begin, *body, *end]
                    body, lines, heading = ([] if place == 0 else [r"\midrule"]), 3, heading if place == 0 else []
                body += [*(heading if place == 0 else []), _tex_row(row, layout)]
                lines += taken
            if not block.rows:
                body += heading
        yield lines, [*begin, *body, *end]


def _tex_fitted(heading: str) -> str:
    """A heading over all columns, as a paragraph where it is too long for one line."""
    text = _tex(heading)
    return text if len(heading) <= 2 * LONG else rf"\parbox[t]{{\linewidth}}{{{text}}}"


def _tex_notes(table: Table) -> Iterator[tuple[int, str]]:
    """Facts and notes, each a paragraph with the lines that it takes."""

    def paragraph(text: str) -> tuple[int, str]:
        return 1 + len(text) // _LINE, rf"{{\footnotesize\raggedright\noindent {text}\par}}"

    for label, text in table.facts:
        yield paragraph(f"{_tex(label)}: {_tex(text)}.")
    for block in table.blocks:
        facts = list(_block_facts(block))
        if facts or block.notes:
            yield paragraph(rf"\textit{{{_tex(block.heading)}}}")
        for label, text in facts:
            yield paragraph(f"{_tex(label)}: {_tex(text)}.")
        for note in block.notes:
            yield paragraph(_tex(note))
    for note in table.notes:
        yield paragraph(_tex(note))


@dataclass(frozen=True, slots=True)
class _Layout:
    """``size`` opens the group of a tabular, ``kinds`` are its columns; ``widths`` are the characters that a line of
    each column holds, 0 for one that is never broken."""

    size: str
    kinds: str
    widths: tuple[int, ...]

    def lines(self, row: Sequence[str]) -> int:
        return max(1, *(-(-len(text) // width) for text, width in zip(row, self.widths, strict=True) if width), 1)


def _tex_layout(rows: Sequence[Sequence[str]]) -> _Layout:
    """Labels left, numbers right, in the largest type that fits; columns of words are paragraphs where they must be."""
    columns = range(len(rows[0]))
    longest = [max(_tex_length(row[i]) for row in rows) for i in columns]
    words = [i for i in columns if longest[i] > _NARROWEST and any(" " in row[i].strip() for row in rows)]
    least = {i: max(_NARROWEST, max(len(word) for row in rows for word in row[i].split() or [""])) for i in words}
    for size in (*_SIZES, _SMALLEST):
        _, point, edge = size
        room = (_LINE_WIDTH - 2 * edge * len(longest)) / point - sum(longest[i] for i in columns if i not in words)
        if sum(longest[i] for i in words) <= room:
            shares = {}
            break
        if words and sum(min(least[i], longest[i]) for i in words) <= room:
            shares = _shares({i: longest[i] for i in words}, least, room)
            break
    else:
        shares = {i: min(least[i], longest[i]) for i in words}
    kinds = "".join(
        rf"p{{{shares[i] * point / _LINE_WIDTH:.3f}\linewidth}}" if i in shares else "r" if i else "l" for i in columns
    )
    opened = "{" if size == _SIZES[0] else rf"{{\{size[0]}\setlength{{\tabcolsep}}{{{edge:g}pt}}"
    return _Layout(opened, kinds, tuple(shares.get(i, 0) for i in columns))


def _shares(longest: Mapping[int, int], least: Mapping[int, int], room: float) -> dict[int, int]:
    """Characters for each column of words: the widest give way until a line fits."""
    shares = dict(longest)
    while sum(shares.values()) > room:
        wide = max((i for i in shares if shares[i] > min(least[i], longest[i])), key=lambda i: shares[i])
        shares[wide] -= 1
    return shares


def _tex_length(cell: str) -> int:
    """Characters that a cell takes in print, where a power of ten is longer than it is written and signs are wide."""
    return len(cell) + 3 * len(re.findall(r"\de-?\d", cell)) + len(re.findall(r"(?<!\w)[+-](?=\d)", cell))


_END = r"\tabularnewline"  # of a row: where cells are ragged, \\ would end a line of theirs
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


_TEX_SIGNS = {
    **{"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}", "\xa0": "~"},
    **{"×": r"$\times$", "−": "$-$", "→": r"$\rightarrow$", "Δ": r"$\Delta$", "±": r"$\pm$", "µ": r"$\mu$"},
}
_LATIN = "\u017f"


def _tex(text: str) -> str:
    """Escaped; a character that no engine is sure to have stands as its code point."""
    escaped = "".join(_tex_sign(char) for char in text).replace(r"-\textgreater{}", r"$\rightarrow$")
    return re.sub(r"\bDelta\\_(\w)\b", r"$\\Delta_{\1}$", escaped)


def _tex_sign(char: str) -> str:
    if " " <= char <= "~":
        return _TEX.get(char, char)
    if char in _TEX_SIGNS:
        return _TEX_SIGNS[char]
    if char.isspace():
        return " "
    return char if char.isalpha() and char <= _LATIN else f"[U+{ord(char):04X}]"


def _tex_row(cells: Sequence[str], layout: _Layout) -> str:
    ragged = [r"\raggedright " if width else "" for width in layout.widths]
    row = " & ".join(f"{start}{_tex_number(_tex(cell))}" for start, cell in zip(ragged, cells, strict=True))
    guard = "{}" if row.startswith(("[", "*")) else ""  # else an option of the line above
    return f"{guard}{row} {_END}"


def _tex_number(cell: str) -> str:
    """Signs and powers of ten as mathematics: ``-0.58``, ``1.2e-4``."""
    cell = re.sub(r"(?<![\w.$-])(\d(?:\.\d)?)e(-?\d+)(?!\w)", r"$\1\\times 10^{\2}$", cell)
    return re.sub(r"(?<![\w.$^{-])([+-]\d+\.\d+)(?!\w)", r"$\1$", cell)
