"""A Table as HTML: the same things as the other forms say, in a page's own markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from types import MappingProxyType

from benchsuite_reports.site.markup import count_of, escape, facts_list, page
from benchsuite_reports.table import PIPELINE_CHECK, Block, Table

_NUMBER = re.compile(r"[-+<]?[\d.,/]+(?:e-?\d+)?[%*]?|n/a|", re.ASCII)


def as_html(table: Table, pages: Mapping[str, str] = MappingProxyType({})) -> str:
    """Facts, then an HTML table a block, captioned by its heading, then notes; what is left out is folded.

    ``pages`` are addresses by question id: a row that is led by one is linked to it.
    """
    return "\n".join(_lines(table, pages))


def table_page(table: Table) -> str:
    """The table as a page of one file."""
    style = (resources.files("benchsuite_reports") / "site" / "site.css").read_text(encoding="utf-8")
    check = [f'<p class="check">{PIPELINE_CHECK}</p>'] if table.pipeline_check else []
    return page(
        table.heading, [*check, f"<h1>{escape(table.heading)}</h1><main>", as_html(table), "</main>"], "", style
    )


def _lines(table: Table, pages: Mapping[str, str]) -> Iterator[str]:
    yield facts_list(table.facts)
    for block in table.blocks:
        yield from _block(block, block.columns or table.columns, pages)
    yield from (f'<p class="note">{escape(note)}</p>' for note in table.notes)


def _block(block: Block, columns: Sequence[str], pages: Mapping[str, str]) -> Iterator[str]:
    right = [all(_NUMBER.fullmatch(row[i]) for row in block.rows) for i in range(len(columns))]
    yield f'<div class="wide" role="region" aria-label="{escape(block.heading)}" tabindex="0"><table>'
    yield f"<caption>{escape(block.heading)}</caption><thead><tr>"
    yield "".join(f'<th scope="col"{_class(right[i])}>{escape(name)}</th>' for i, name in enumerate(columns))
    yield "</tr></thead><tbody>"
    for row in block.rows:
        cells = "".join(f"<td{_class(right[i])}>{escape(text)}</td>" for i, text in enumerate(row) if i)
        lead = escape(row[0])
        if row[0] in pages:
            lead = f'<a href="{escape(pages[row[0]])}">{lead}</a>'
        yield f'<tr><th scope="row">{lead}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    if block.facts:
        yield facts_list(block.facts)
    if block.left_out is not None:
        yield from _left_out(block.left_out)
    yield from (f'<p class="note">{escape(note)}</p>' for note in block.notes)


def _left_out(left_out: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not left_out:
        yield '<p class="note">left out: 0</p>'
        return
    items = "".join(f"<li>{escape(question)}: {escape(reason)}</li>" for question, reason in left_out)
    yield f"<details><summary>left out: {count_of(len(left_out), 'question')}</summary><ul>{items}</ul></details>"


def _class(right: bool) -> str:
    return ' class="n"' if right else ""
