"""A run as a folder of pages that open from disk: no server, no script, nothing from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.files import write_atomic
from benchsuite.runs import Run
from benchsuite_reports.contents import Contents
from benchsuite_reports.figure import Figure
from benchsuite_reports.inspect import arm_name, evidence_facts, show_arm
from benchsuite_reports.site.flips import Flips
from benchsuite_reports.site.gates import read_gates
from benchsuite_reports.site.images import Stored, image_budget, store_images, total_size
from benchsuite_reports.site.index import Index, ShownFigure, render_index
from benchsuite_reports.site.markup import escape, page
from benchsuite_reports.site.question import (
    FOLDER,
    TALKS,
    Baseline,
    QuestionPage,
    ShownCell,
    cell_link,
    page_name,
    render_question,
    render_talks,
)
from benchsuite_reports.site.records import ImageKey, Records
from benchsuite_reports.table import Row, RunFacts
from benchsuite_reports.talk import state_order
from benchsuite_reports.write import Filled

INDEX = "index.html"
REPORT = "report"
"""The folder of a run's pages."""
LONG = 1000
"""Characters from which a text that is sent more than once has a page of its own."""
LARGE = 1_000_000
"""Bytes from which a figure is shown as pixels."""


@dataclass(frozen=True, slots=True)
class Site:
    """The first page, how many files there are with it and their bytes, and how many images are shown smaller."""

    index: Path
    files: int
    bytes: int
    smaller: int


def write_site(
    run: Run,
    out: Path,
    caches: Sequence[Path],
    filled: Filled,
    facts: RunFacts,
    flips: Flips | None = None,
    budget: int | None = None,
) -> Site:
    """Write the pages into ``out``, the first page last. Raises ConfigError where they cannot be written.

    ``budget`` is the bytes that images may have (default: what keeps a site of 10,000 cells of some 3 kB below 50 MB).
    What was sent and is gone, or is not what its sha256 says, stands in its page as that.
    """
    try:
        for name in ("", FOLDER, TALKS, "images", "texts", "figures"):
            (out / name).mkdir(parents=True, exist_ok=True)
        records = Records.of(run.path, run.rows, LONG)
        try:
            contents = Contents(caches)
            try:
                images = store_images(out / "images", records.images, contents, budget or image_budget(len(run.rows)))
            finally:
                contents.close()
            texts: dict[str, str] = {}
            talks: set[str] = set()
            for rows in _questions(run):
                shown = _question(run, rows, records, caches, images, facts, flips, texts, out)
                write_atomic(out / FOLDER / page_name(rows[0]), render_question(shown))
                for name, text in render_talks(shown, talks):
                    write_atomic(out / TALKS / name, text)
                    talks.add(name)
        finally:
            records.close()
        for sha256, text in texts.items():
            body = [f'<div class="m"><p>{escape(text)}</p></div>']
            write_atomic(out / "texts" / f"{sha256}.html", page(sha256, body, "../"))
        figures, notes = _figures(out / "figures", filled.figures)
        style = (resources.files("benchsuite_reports") / "site" / "site.css").read_text(encoding="utf-8")
        write_atomic(out / "site.css", style)
        try:
            gates = read_gates(run.path)
        except DataError as error:
            gates = ()
            notes.append(str(error))
        index = Index(
            name=run.path.resolve().name,
            info=run.info,
            rows=list(run.rows.values()),
            tables=filled.tables,
            figures=figures,
            flips=flips,
            gates=gates,
            unfilled=filled.unfilled,
            notes=(*records.problems, *notes),
        )
        write_atomic(out / INDEX, render_index(index))
    except OSError as error:
        raise ConfigError(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
    files, size = total_size(out)
    return Site(out / INDEX, files, size, sum(bool(each.smaller) for each in images.values()))


def _questions(run: Run) -> Iterable[list[Row]]:
    """The rows of each question in the order of the plan, those at conversation states by depth."""
    depths: dict[object, tuple[float, float]] = {}
    for row in run.rows.values():
        state = row.get("arm.state", "none")
        depths[state] = max(depths.get(state, (0.0, 0.0)), state_order(row))
    planned = {cell: place for place, cell in enumerate(cell for ids in run.info["plan"].values() for cell in ids)}
    found: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(run.rows.values(), key=lambda row: planned.get(str(row["cell"]), len(planned))):
        found.setdefault((str(row["suite"]), str(row["question"])), []).append(row)
    return [sorted(rows, key=lambda row: depths[row.get("arm.state", "none")]) for rows in found.values()]


def _question(
    run: Run,
    rows: Sequence[Row],
    records: Records,
    caches: Sequence[Path],
    images: Mapping[ImageKey, Stored],
    facts: RunFacts,
    flips: Flips | None,
    texts: dict[str, str],
    out: Path,
) -> QuestionPage:
    calls = records.calls(str(row["cell"]) for row in rows)
    first = rows[0]
    corpus = str(first["corpus"])
    contents = Contents(caches)  # one a question: it holds what it has read
    try:
        arms = [show_arm(row, calls.get(str(row["cell"]), {}), contents, facts) for row in rows]
        question, problem = contents.question(first)
    finally:
        contents.close()
    segments = [each for arm in arms for call in (*arm.answering, *arm.further) for each in call.segments]
    texts.update({each.sha256: each.text for each in segments if each.text is not None and each.sha256 in records.long})
    asked = next((each.text for each in segments if each.kind == "question" and each.text), "")
    named = facts.corpora.get(corpus)
    about = [*evidence_facts(first, question), ("type", str(first["type"] or "none"))]
    about.append(("question", str(first["question"])))
    if question is not None and question.date:
        about.append(("date", question.date))
    about.append(("corpus", f"{named.name if named else first['suite']}, digest {corpus[:12]}"))
    about.append(("run", run.path.resolve().name))
    if problem:
        about.append(("corpus index", problem))
    return QuestionPage(
        suite=str(first["suite"]),
        question=str(first["question"]),
        text=question.text if question is not None else asked or str(first["question"]),
        facts=tuple(about),
        gold=str(first["gold"] or "none"),
        gold_items=frozenset(question.evidence.turn_ids if question is not None else ()),
        cells=tuple(ShownCell(row, arm, _baseline(row, flips, out)) for row, arm in zip(rows, arms, strict=True)),
        image=lambda sha256: images.get((sha256, corpus), Stored(problem="it is in no record of this run")),
        long=records.long,
        corpus=corpus,
        pipeline_check=named is not None and named.bundled,
    )


def _baseline(row: Row, flips: Flips | None, out: Path) -> Baseline | None:
    before = flips.before.get(str(row["cell"])) if flips is not None else None
    if flips is None or before is None:
        return None
    pages = flips.path / REPORT
    there = (pages / FOLDER / page_name(before)).is_file()
    link = f"{os.path.relpath(pages.resolve(), (out / FOLDER).resolve())}/{cell_link(before, arm_name(before))}"
    return Baseline(before, flips.name, link if there else "")


def _figures(folder: Path, figures: Iterable[Figure]) -> tuple[list[ShownFigure], list[str]]:
    shown, notes = [], []
    for figure in figures:
        try:
            pictures = figure.pictures()
        except BenchError as error:
            notes.append(f"figure {figure.id}: {error}")
            continue
        ending = "svg" if len(pictures["svg"]) < LARGE else "png"
        write_atomic(folder / f"{figure.id}.{ending}", pictures[ending])
        data = figure.data()
        shown.append(ShownFigure(figure.id, str(data.get("title", figure.id)), f"{figure.id}.{ending}"))
    return shown, notes
