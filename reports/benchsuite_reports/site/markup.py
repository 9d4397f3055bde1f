"""What all pages share: text made safe for HTML that is well-formed XML at once, and the frame of a page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchsuite.outcome import clean_text

POLICY = "default-src 'none'; img-src 'self' file:; style-src 'self' file:; frame-src 'self' file:"
"""Nothing runs, and only files beside the page are shown; ``file:`` is what 'self' means on disk."""

# what HTML cannot hold or no reader would see: controls as their Unicode pictures, the rest as U+FFFD
_SIGNS: Mapping[int, int] = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    **dict.fromkeys([*range(0x80, 0xA0), 0xFFFE, 0xFFFF], 0xFFFD),
    0x7F: 0x2421,
}
_PLAIN = re.compile(r"[ \t\n!#-%(-;=?-~]*")


def escape(text: str) -> str:
    """For content and attributes; what no page can hold or show stands as a visible sign."""
    if _PLAIN.fullmatch(text):  # most of a run's texts: nothing to replace
        return text
    return html.escape(clean_text(text).translate(_SIGNS), quote=True)


def safe_name(text: str) -> str:
    """Safe in a class or an id, whatever the record says."""
    return re.sub(r"[^\w-]", "_", text, flags=re.ASCII)


def facts_list(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f'<dt>{escape(label)}</dt><dd dir="auto">{escape(text)}</dd>' for label, text in facts)
    return f"<dl>{rows}</dl>"


def first_words(text: str | None, length: int = 60) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def grid(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> Iterator[str]:
    """A table of texts that scrolls by itself; the first ``words`` columns hold words, the others numbers."""
    yield f'<div class="wide" role="region" aria-label="{escape(name)}" tabindex="0"><table><thead><tr>'
    kinds = ["" if place < words else ' class="n"' for place in range(len(columns))]
    yield "".join(f'<th scope="col"{kind}>{escape(text)}</th>' for kind, text in zip(kinds, columns, strict=True))
    yield "</tr></thead><tbody>"
    for first, *rest in rows:
        cells = "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds[1:], rest, strict=True))
        yield f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def page(title: str, body: Sequence[str], up: str = "", style: str = "") -> str:
    """A page whose stylesheet lies in the folder ``up`` (``../`` from a folder below), or is ``style``."""
    policy = "default-src 'none'; style-src 'unsafe-inline'" if style else POLICY
    sheet = f"<style>\n{style}</style>" if style else f'<link rel="stylesheet" href="{up}site.css"/>'
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>{escape(title)}</title>{sheet}</head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )
