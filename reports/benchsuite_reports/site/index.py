"""The first page of a run: what it is, what came out, tables, figures, what changed, and every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from benchsuite.outcome import WORDS
from benchsuite_reports.arms import answered, score_of
from benchsuite_reports.inspect import arm_name
from benchsuite_reports.site.flips import LOST, OTHER, WON, Flip, Flips, by_arm
from benchsuite_reports.site.gates import Judgement, gates_lines
from benchsuite_reports.site.markup import count_of, escape, facts_list, first_words, grid, page, safe_name
from benchsuite_reports.site.question import FOLDER, cell_link, page_name
from benchsuite_reports.site.tables import as_html
from benchsuite_reports.table import PIPELINE_CHECK, Row, Table, percent

ENDINGS = tuple(word for words in WORDS.values() for word in words)
KINDS = {LOST: "lost: the score fell", WON: "won: the score rose", OTHER: "another outcome of the same score"}
TO_TOP = '<p class="up"><a href="#top">to the top</a></p>'


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """``file`` lies in the folder ``figures``."""

    id: str
    title: str
    file: str


@dataclass(frozen=True, slots=True)
class Index:
    """``gates`` is what the run's gates found; ``unfilled`` a line for each table that is
    not there; ``notes`` what could not be read or shown."""

    name: str
    info: Mapping[str, Any]
    rows: Sequence[Row]
    tables: Sequence[Table] = ()
    figures: Sequence[ShownFigure] = ()
    flips: Flips | None = None
    gates: Sequence[Judgement] = ()
    unfilled: Sequence[str] = ()
    notes: Sequence[str] = ()


def render_index(shown: Index) -> str:
    """Pure: equal data give equal pages."""
    sections = [
        ("gates", "Gates", list(_gates(shown))),
        ("changes", f"Changes against {shown.flips.name}" if shown.flips else "", list(_flips(shown))),
        ("outcomes", "Outcomes by arm", list(_outcomes(shown.rows))),
        ("errors", "Errors", list(_errors(shown.rows))),
        ("tables", "Tables", list(_tables(shown))),
        ("figures", "Figures", list(_figures(shown.figures))),
        ("cells", "Cells", list(_cells(shown.rows))),
    ]
    present = [each for each in sections if each[2]]
    links = " · ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in present)
    bundled = any(each.get("bundled") for each in shown.info.get("corpora", {}).values())
    check = [f'<p class="check">{PIPELINE_CHECK}</p>'] if bundled else []
    body = ['<header id="top">', *check, f"<h1>Run {escape(shown.name)}</h1>", facts_list(_about(shown))]
    body += [f'<p class="gone">{escape(note)}</p>' for note in shown.notes]
    body += [f'<nav aria-label="sections"><p>{links}</p></nav></header><main>']
    for name, title, lines in present:
        body += [
            f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>',
            *lines,
            TO_TOP,
            "</section>",
        ]
    return page(f"Run {shown.name}", [*body, "</main>"])


def _about(shown: Index) -> Iterator[tuple[str, str]]:
    info = shown.info
    planned = len({cell for cells in info["plan"].values() for cell in cells})
    yield "started", str(info.get("started", "not recorded"))
    ended = info.get("finished")
    yield "finished", f"{ended}, exit {info.get('exit')}" if ended else "no: the run was cut short or is going on"
    yield "commit", str(info.get("commit", "not recorded"))
    yield "cells", f"{len(shown.rows)} of {planned} planned have an outcome"
    for digest, each in info.get("corpora", {}).items():
        yield "corpus", f"{each['name']}, digest {digest[:12]}{', bundled' if each['bundled'] else ''}"
    served = info.get("models_served", {})
    for name, each in info.get("models", {}).items():
        yield "model", f"{name}: asked as {each['model']}, served as {', '.join(served.get(name, ())) or 'not known'}"
    for label, key in (("scorer", "scorer"), ("protocol", "protocol"), ("renderer", "renderer")):
        yield label, ", ".join(sorted({str(row[key]) for row in shown.rows if row[key]})) or "none"
    versions = info.get("versions", {})
    if versions:
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())
    if info.get("argv"):
        yield "command", f"pytest {' '.join(map(str, info['argv']))}"


def _gates(shown: Index) -> Iterator[str]:
    pages = {(str(row["suite"]), str(row["question"])): f"{FOLDER}/{quote(page_name(row))}" for row in shown.rows}
    return gates_lines(shown.gates, lambda suite, question: pages.get((suite, question), ""))


def _flips(shown: Index) -> Iterator[str]:
    if shown.flips is None:
        return
    flips = shown.flips
    yield f"<p>{count_of(flips.compared, 'cell')} compared: {len(flips.of(WON))} won, {len(flips.of(LOST))} lost, "
    yield f"{len(flips.of(OTHER))} with another outcome of the same score.</p>"
    yield from (f'<p class="note">not compared: {count}, {escape(why)}</p>' for why, count in flips.apart.items())
    arms = {str(row["cell"]): arm_name(row) for row in shown.rows}
    counts = by_arm(flips.flips, arms)
    if not counts:
        return
    lines = [(arm, *(str(each[kind]) for kind in (WON, LOST, OTHER))) for arm, each in sorted(counts.items())]
    yield from grid("changes by arm", ("arm", "won", "lost", "other"), lines)
    for kind, title in KINDS.items():
        found = flips.of(kind)
        if found:
            yield f"<details{_open(kind == LOST)}><summary>{title}: {len(found)}</summary>"
            yield f'<div class="wide" role="region" aria-label="{title}" tabindex="0"><table><thead><tr>'
            yield '<th scope="col">cell</th><th scope="col">in the baseline</th><th scope="col">in this run</th>'
            yield "</tr></thead><tbody>"
            yield from (_flip(flip, arms[flip.cell]) for flip in found)
            yield "</tbody></table></div></details>"


def _flip(flip: Flip, arm: str) -> str:
    row = flip.after
    link = f'<a href="{escape(cell_link(row, arm))}">{escape(str(row["question"]))}</a> {escape(arm)}'
    sides = "".join(
        f'<td><b class="{safe_name(str(each["word"]))}">{escape(str(each["word"]))}</b> '
        f'<q dir="auto">{escape(first_words(str(each["answer"] or ""), 80))}</q></td>'
        for each in (flip.before, row)
    )
    return f'<tr><th scope="row">{link}</th>{sides}</tr>'


def _outcomes(rows: Sequence[Row]) -> Iterator[str]:
    words = [word for word in ENDINGS if any(row["word"] == word for row in rows)]
    lines = []
    for arm, mine in _by_arm(rows).items():
        counts = Counter(str(row["word"]) for row in mine)
        scores = [score_of(row) for row in mine if answered(row)]
        mean = percent(sum(scores) / len(scores)) if scores else "n/a"
        lines.append((arm, str(len(mine)), mean, *(str(counts[word]) for word in words)))
    yield from grid("outcomes by arm", ("arm", "cells", "mean score", *words), lines)
    yield '<p class="note">Mean score in percent over the cells that were answered, an unparsed answer scoring 0.</p>'


def _errors(rows: Sequence[Row]) -> Iterator[str]:
    causes: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "error":
            causes.setdefault(f"{row['error.kind']}: {row['error.message']}", []).append(row)
    for cause, mine in sorted(causes.items(), key=lambda each: -len(each[1])):
        yield f"<details><summary>{count_of(len(mine), 'cell')}: {escape(cause)}</summary>"
        yield f'<p class="links">{_links(mine, with_arm=True)}</p></details>'


def _tables(shown: Index) -> Iterator[str]:
    pages = {str(row["question"]): f"{FOLDER}/{quote(page_name(row))}" for row in shown.rows}
    for table in shown.tables:
        yield f'<details id="table-{safe_name(table.id)}"><summary>{escape(table.heading)}</summary>'
        yield as_html(table, pages)
        yield "</details>"
    if shown.unfilled:
        items = "".join(f"<li>{escape(line)}</li>" for line in shown.unfilled)
        yield f"<details><summary>not in this run: {len(shown.unfilled)}</summary><ul>{items}</ul></details>"


def _figures(figures: Sequence[ShownFigure]) -> Iterator[str]:
    for each in figures:
        yield f'<figure id="figure-{safe_name(each.id)}"><img src="figures/{escape(each.file)}" '
        yield f'alt="{escape(each.title)}" loading="lazy"/><figcaption>{escape(each.title)}</figcaption></figure>'


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    """By arm, then by outcome: what is closed filters without a script."""
    for arm, mine in _by_arm(rows).items():
        words = {word: [row for row in mine if row["word"] == word] for word in ENDINGS}
        counts = ", ".join(f"{len(each)} {word}" for word, each in words.items() if each)
        yield f"<details><summary>{escape(arm)}: {counts}</summary>"
        for word, each in words.items():
            if each:
                yield f'<p class="links"><b class="{word}">{word}</b> {_links(each)}</p>'
        yield "</details>"


def _links(rows: Iterable[Row], with_arm: bool = False) -> str:
    found = []
    for row in rows:
        arm = arm_name(row)
        name = f"{row['question']} {arm}" if with_arm else str(row["question"])
        found.append(f'<a href="{escape(cell_link(row, arm))}">{escape(name)}</a>')
    return "\n".join(found)


def _by_arm(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(f"{row['suite']}:{arm_name(row)}", []).append(row)
    return dict(sorted(found.items()))


def _open(wanted: bool) -> str:
    return ' open="open"' if wanted else ""
