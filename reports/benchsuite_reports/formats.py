"""A Table as terminal text, Markdown, CSV, JSON and LaTeX. Every form says the same things."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

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

    Neighbouring blocks of the same columns share a tabular.
    """
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_tex(table.heading)}}}",
        rf"\label{{tab:{table.id}}}",
    ]
    for columns, blocks in itertools.groupby(table.blocks, lambda block: _columns(table, block)):
        stretch = list(blocks)
        kinds = _tex_columns([columns, *(row for block in stretch for row in block.rows)])
        lines += [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", _tex_row(columns)]
        for block in stretch:
            lines += [r"\midrule", rf"\multicolumn{{{len(columns)}}}{{l}}{{{_tex(block.heading)}}} \\"]
            lines += [_tex_row(row) for row in block.rows]
        lines += [r"\bottomrule", r"\end{tabular}", "", r"\par\smallskip"]
    lines.append(r"\begin{minipage}{\linewidth}\footnotesize")
    lines += [rf"{_tex(label)}: {_tex(text)}.\par" for label, text in table.facts]
    for block in table.blocks:
        lines.append(rf"\textit{{{_tex(block.heading)}}}\par")
        lines += [rf"{_tex(label)}: {_tex(text)}.\par" for label, text in _block_facts(block)]
        lines += [rf"{_tex(note)}\par" for note in block.notes]
    lines += [rf"{_tex(note)}\par" for note in table.notes]
    lines += [r"\end{minipage}", r"\end{table}"]
    return "\n".join(lines) + "\n"


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


def _tex(text: str) -> str:
    escaped = "".join(_TEX.get(char, char) for char in text)
    return re.sub(r"\bDelta\\_(\w)\b", r"$\\Delta_{\1}$", escaped)


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(_tex_number(_tex(cell)) for cell in cells) + r" \\"


def _tex_columns(rows: Sequence[Sequence[str]]) -> str:
    """Labels left, numbers right, and columns of sentences as paragraphs that share the width."""
    longest = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    share = 0.7 / max(1, sum(width > LONG for width in longest))
    return "".join(
        rf"p{{{share:.2f}\linewidth}}" if width > LONG else "r" if i else "l" for i, width in enumerate(longest)
    )


def _tex_number(cell: str) -> str:
    """Signs and powers of ten as mathematics: ``-0.58``, ``1.2e-4``."""
    cell = re.sub(r"(?<![\w.$-])(\d(?:\.\d)?)e(-?\d+)(?!\w)", r"$\1\\times 10^{\2}$", cell)
    return re.sub(r"(?<![\w.$^{-])([+-]\d+\.\d+)(?!\w)", r"$\1$", cell)
