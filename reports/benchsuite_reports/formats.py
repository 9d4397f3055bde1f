"""A Table as terminal text, Markdown, CSV, JSON and LaTeX. Every form says the same things."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchsuite_reports.table import Block, Table

WIDTH = 100
"""Columns of the terminal form."""
LISTED = 10
"""Left-out ids that the terminal form lists; the other forms list all."""
_GAP = "  "


def as_text(table: Table) -> str:
    """Aligned plain text, at most 100 columns wide."""
    lines = _wrap(table.heading)
    lines += [line for fact in table.facts for line in _wrap_fact(fact)]
    widths = _widths([table.columns, *(row for block in table.blocks for row in block.rows)])
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for block in table.blocks:
        lines += ["", *_wrap(block.heading)]
        lines += [line for fact in _block_facts(block, LISTED) for line in _wrap_fact(fact)]
        lines += [rule, *_aligned(table.columns, widths), rule]
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
        lines += ["", _md_row(table.columns), _md_row([":--", *["--:"] * (len(table.columns) - 1)], raw=True)]
        lines += [_md_row(row) for row in block.rows]
        for note in block.notes:
            lines += ["", _md(note)]
    for note in table.notes:
        lines += ["", _md(note)]
    return "\n".join(lines) + "\n"


def as_csv(table: Table) -> str:
    """A header, then a line per row, led by table id, kind and block.

    Facts, left-out ids and notes stand in lines of their own kind.
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
                        "rows": block.rows,
                        "left_out": dict(block.left_out),
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
    """A ``table`` environment for booktabs; facts and notes stand below the rules."""
    columns = len(table.columns)
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_tex(table.heading)}}}",
        rf"\label{{tab:{table.id}}}",
        rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}",
        r"\toprule",
        _tex_row(table.columns),
    ]
    for block in table.blocks:
        lines += [r"\midrule", rf"\multicolumn{{{columns}}}{{l}}{{{_tex(block.heading)}}} \\"]
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


def _block_facts(block: Block, listed: int | None = None) -> Iterator[tuple[str, str]]:
    yield from block.facts
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


def _tex_number(cell: str) -> str:
    """Signs and powers of ten as mathematics: ``-0.58``, ``1.2e-4``."""
    cell = re.sub(r"(?<![\w.$-])(\d(?:\.\d)?)e(-?\d+)(?!\w)", r"$\1\\times 10^{\2}$", cell)
    return re.sub(r"(?<![\w.$^{-])([+-]\d+\.\d+)(?!\w)", r"$\1$", cell)
