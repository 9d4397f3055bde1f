"""The page of a question: its cells in one table, and each cell under an address of its own, alone on the screen.

What several cells repeat stands once: images and long texts by digest beside the pages, the question above its cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from typing import Any
from urllib.parse import quote

from benchsuite.plan import safe_id
from benchsuite_reports.shown import Picture, Segment, ShownArm, ShownMessage, ShownRequest
from benchsuite_reports.site.images import Stored
from benchsuite_reports.site.markup import count_of, escape, facts_list, first_words, page, safe_name
from benchsuite_reports.table import PIPELINE_CHECK, Row
from benchsuite_reports.talk import call_text, count_images, earlier, is_at_state, rounds, state_facts, steps

FOLDER = "questions"
TALKS = "talks"
"""The folder of the conversations that stand before questions, each once for all cells that have it."""
EXCERPT = 160
"""Characters of a long text that stand in the page; the whole is shown in a frame."""
SHARED = 80
"""Characters from which a text of no item, sent in several arms, stands once at the end of the page."""
NOTE = (
    "Every part of a request is led by its kind, a message's own text by none. A number in a frame stands for a text "
    "that several arms have; it is whole further down. An image called smaller was made so for this page; all were "
    "checked against the sha256 of what was sent, and benchsuite inspect shows them as sent."
)
_SHORT_KEY = 12
TALK_NAME = 24
"""Hex digits of a conversation's file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A cell's row in the baseline, the run's name, and the address of its page there, if it has one."""

    row: Row
    run: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class ShownCell:
    row: Row
    arm: ShownArm
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """``gold_items`` are the ids of the items that support the answer; ``facts`` label and text; ``image`` finds the
    file of an image of this corpus, ``corpus`` being its digest; ``long`` are the sha256 of the texts that have a page
    of their own."""

    suite: str
    question: str
    text: str
    facts: tuple[tuple[str, str], ...]
    gold: str
    gold_items: frozenset[str]
    cells: tuple[ShownCell, ...]
    image: Callable[[str], Stored]
    long: frozenset[str]
    corpus: str = ""
    pipeline_check: bool = False


def page_name(row: Row) -> str:
    return f"{safe_id(str(row['suite']))}-{safe_id(str(row['question']))}.html"


def cell_link(row: Row, arm: str) -> str:
    """The address of a cell, from the folder of the index."""
    return f"{FOLDER}/{quote(page_name(row))}#{_fragment(arm)}"


def anchor(arm: str) -> str:
    return f"cell-{quote(arm, safe='+')}"


def talk_name(messages: Iterable[ShownMessage], corpus: str) -> str:
    """The file of a conversation: by what was sent and to which items it belongs."""
    digest = hashlib.sha256(corpus.encode())
    for message in messages:
        digest.update(message.role.encode())
        for segment in message.segments:
            digest.update(f"\0{segment.kind}\0{segment.item}\0{segment.sha256}".encode())
        digest.update(b"\n")
    return f"{digest.hexdigest()[:TALK_NAME]}.html"


def render_talks(shown: QuestionPage, known: Container[str]) -> Iterator[tuple[str, str]]:
    """File and page of each conversation that the page of this question refers to and that is not ``known``."""
    made: set[str] = set()
    for cell in shown.cells:
        for request in (*([cell.arm.request] if cell.arm.request else []), *cell.arm.further):
            folded = earlier(request.messages)
            messages = request.messages[folded.start : folded.stop]
            name = talk_name(messages, shown.corpus) if folded else ""
            if folded and name not in known and name not in made:
                made.add(name)
                parts = _Parts(replace(shown, gold_items=frozenset(), long=frozenset()), {})
                title = f"{len(messages)} messages, {count_of(count_images(messages), 'image')}"
                yield name, page(title, [f"<h1>{title}</h1>", *parts.messages(messages, _Numbers(), True)], "../")


def render_question(shown: QuestionPage) -> str:
    """Pure: equal data give equal pages."""
    check = [f'<p class="check">{PIPELINE_CHECK}</p>'] if shown.pipeline_check else []
    facts = [("gold", shown.gold), *shown.facts]
    parts = _Parts(shown, _shared(shown))
    return page(
        shown.question,
        [
            '<header><p><a href="../index.html">the run</a> · <a href="#arms">all arms</a></p>',
            *check,
            f'<h1 dir="auto">{escape(shown.text)}</h1>{facts_list(facts)}',
            f'<p class="note">{NOTE}</p></header><main>',
            *(line for cell in shown.cells for line in _cell(cell, parts)),
            *parts.shared_texts(),
            *_arms(shown),
            "</main>",
        ],
        "../",
    )


def _arms(shown: QuestionPage) -> Iterator[str]:
    based = any(cell.baseline for cell in shown.cells)
    yield f'<h2 id="arms">{count_of(len(shown.cells), "arm")}</h2>'
    yield '<div class="wide" role="region" aria-label="arms" tabindex="0"><table><thead><tr>'
    columns = ("arm", "outcome", "answer", *(["in the baseline"] if based else []))
    yield "".join(f'<th scope="col">{name}</th>' for name in columns)
    yield "</tr></thead><tbody>"
    for cell in shown.cells:
        before = cell.baseline.row if cell.baseline else None
        there = f"<td>{_word(str(before['word'])) if before else ''}</td>" if based else ""
        yield (
            f'<tr><th scope="row"><a href="#{_fragment(cell.arm.name)}">{escape(cell.arm.name)}</a></th>'
            f"<td>{_word(cell.arm.word)}</td><td>{escape(first_words(cell.arm.answer, 80))}</td>{there}</tr>"
        )
    yield "</tbody></table></div>"


def _cell(cell: ShownCell, parts: _Parts) -> Iterator[str]:
    arm, row = cell.arm, cell.row
    yield f'<section id="{anchor(arm.name)}"><h2>{escape(arm.name)}</h2>'
    yield f'<div class="answer"><p>{escape(arm.answer) or "no answer"}</p>'
    yield f"<p>{_word(arm.word)} {escape(arm.score)}; {escape(_why(row))}</p>"
    if arm.problem:
        yield f'<p class="gone">{escape(arm.problem)}</p>'
    if cell.baseline is not None:
        yield from _baseline(cell.baseline)
    yield "</div>"
    if is_at_state(row):
        yield facts_list([("state", _state(row)), *state_facts(row)])
    yield "<ol>"
    yield from (f"<li>{escape(step)}</li>" for step in trace(row, arm))
    yield "</ol>"
    if arm.request is not None:
        numbers = _Numbers()
        yield from parts.request(arm.request, arm.name, numbers)
        for place, request, messages in rounds(arm):
            yield f"<h3>request {place} of {len(arm.answering)}: what was added</h3>"
            yield from parts.request(replace(request, messages=messages), arm.name, numbers)
        last = arm.answering[-1]
        if last.reply is not None and (last.reply != arm.answer or last.asked):
            said = "\n".join([*([last.reply] if last.reply else []), *(f"{name} {text}" for name, text in last.asked)])
            yield f'<h3>reply as it came</h3><div class="m"><p>{escape(said)}</p></div>'
    for call in arm.further:
        yield f"<details><summary>{escape(f'{call.role} {call.model}: {first_words(call.reply)}')}</summary>"
        yield from parts.request(call, arm.name, _Numbers())
        reply = "the reply is not stored" if call.reply is None else call.reply
        yield f'<h3>reply</h3><div class="m"><p>{escape(reply)}</p></div></details>'
    yield "</section>"


def _state(row: Row) -> str:
    told = ("condition", "recall", "summary", "retention")
    return ", ".join([str(row["arm.state"]), *(f"{axis} {row[key]}" for axis in told if (key := f"arm.{axis}") in row)])


def _why(row: Row) -> str:
    """What the score was made of."""
    if row["status"] == "error":
        return "an error is never scored"
    answerable = "" if row["answerable"] else ", unanswerable: a refusal is right"
    refused = ", refused" if row["refused"] else ""
    return f"by {row['scorer'] or 'no scorer'} ({row['metric'] or 'no metric'}{answerable}{refused})"


def _baseline(baseline: Baseline) -> Iterator[str]:
    row = baseline.row
    score = "not scored" if row["score"] is None else f"{row['metric']} {row['score']:g}"
    name = escape(baseline.run)
    where = f'<a href="{escape(baseline.link)}">{name}</a>' if baseline.link else name
    yield f'<p class="baseline">in {where}: {_word(str(row["word"]))} {escape(score)}'
    yield f': <q dir="auto">{escape(str(row["answer"] or row["error.message"] or ""))}</q></p>'


def trace(row: Row, arm: ShownArm) -> Iterator[str]:
    """What was done in its order: retrieval, the requests to the model with the tools between them, judges."""
    unsaid = (*_OTHERS, *(_OF_RETRIEVAL if arm.axes.get("retrieval") == "none" else ()))
    chosen = [f"{axis} {value}" for axis, value in arm.axes.items() if value not in _UNSAID and axis not in unsaid]
    gold = f", {row['n_gold_delivered']} of {row['n_gold']} gold" if row["n_gold"] else ""
    missing = f", {row['n_missing']} missing" if row["n_missing"] else ""
    context = f"context{gold}" if is_at_state(row) and not row["n_items"] else f"{row['n_items']} items{gold}"
    items = f"{context}, {count_of(_whole(row['n_images']), 'image')}{missing}"
    yield f"{', '.join(chosen)}: {items}"
    came = {number: messages for number, _, messages in rounds(arm)}
    for number, call in enumerate((*arm.answering, *arm.further), 1):
        for step in steps(came.get(number, ())):
            text = f": {first_words(step.text, SHARED)}" if step.text else ": nothing" if step.text is None else ""
            yield f"{step.what}{text}" + (f" {count_of(step.images, 'image')}" if step.images else "")
        settings = ", ".join(f"{name} {value}" for name, value in call.params.items())
        facts = _reply_facts(row, call.model) if number == len(arm.answering) and call.role == "answer" else ""
        yield f"{call.role} {call.key[:_SHORT_KEY]}: {call.model}, {settings}{facts}"


def _reply_facts(row: Row, asked: str) -> str:
    run = row["run"]
    kept = "from the cache" if isinstance(run, Mapping) and run.get("cached") else "asked in this run"
    tokens = [f"{name} {row[key]}" for key, name in _TOKENS.items() if row[key] is not None]
    served = f", served as {row['model_served']}" if row["model_served"] not in ("", asked) else ""
    requests: Any = row["requests"]
    over = f" in {len(requests)} requests" if is_at_state(row) and len(requests) > 1 else ""
    return f"{served}; tokens{over}: {', '.join(tokens) or 'unknown'}; {kept}"


_TOKENS = {"usage.prompt": "prompt", "usage.completion": "completion", "image_tokens": "images"}
_UNSAID = ("none", "")
_OTHERS = ("model", "judge", "repeat")
"""Axes that the calls of a trace say themselves."""
_OF_RETRIEVAL = ("index", "k")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _shared(shown: QuestionPage) -> Mapping[str, tuple[int, Segment]]:
    """The texts of no item that several requests of the page have, numbered from 1, by sha256."""
    requests = {
        call.key: messages
        for cell in shown.cells
        for call, messages in (
            *((call, call.messages) for call in (*([cell.arm.request] if cell.arm.request else []), *cell.arm.further)),
            *((call, messages) for _, call, messages in rounds(cell.arm)),
        )
    }
    times: dict[str, int] = {}
    known: dict[str, Segment] = {}
    for messages in requests.values():
        for segment in (segment for message in messages for segment in message.segments):
            if segment.kind == "call" or segment.item or segment.sha256 in shown.long:
                continue
            if len(segment.text or "") >= SHARED:
                times[segment.sha256] = times.get(segment.sha256, 0) + 1
                known[segment.sha256] = segment
    often = [sha256 for sha256, number in times.items() if number > 1]
    return {sha256: (number, known[sha256]) for number, sha256 in enumerate(often, 1)}


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Of the images and of the items of a cell's requests, in their order."""

    images: Iterator[int] = field(default_factory=lambda: count(1))
    items: Iterator[int] = field(default_factory=lambda: count(1))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Requests as they are shown; ``shared`` texts stand at the end of the page, ``first`` is the arm under which a
    request is shown, by its key."""

    shown: QuestionPage
    shared: Mapping[str, tuple[int, Segment]]
    first: dict[str, str] = field(default_factory=dict)

    def request(self, request: ShownRequest, arm: str, numbers: _Numbers) -> Iterator[str]:
        """The messages as sent: texts joined as they stand, each led by its kind, images in their place; a long
        conversation before the question is folded."""
        shown_under = self.first.setdefault(request.key, arm)
        if shown_under != arm:
            yield f'<p>the same request as in <a href="#{_fragment(shown_under)}">{escape(shown_under)}</a></p>'
            return
        folded = earlier(request.messages)
        yield from self.messages(request.messages[: folded.start], numbers)
        if folded:
            yield from self._talk(request.messages[folded.start : folded.stop], numbers)
        yield from self.messages(request.messages[folded.stop :], numbers)

    def messages(self, messages: Iterable[ShownMessage], numbers: _Numbers, anchors: bool = False) -> Iterator[str]:
        for message in messages:
            yield f'<h3>{escape(message.role)}</h3><div class="m">'
            for item, segments in groupby(message.segments, lambda segment: segment.item):
                if item:
                    place = next(numbers.items)
                    gold = " <b>gold</b>" if item in self.shown.gold_items else ""
                    anchor = f' id="m{place}"' if anchors else ""
                    yield f"<h4{anchor}>{place} {escape(item)}{gold}</h4>"
                yield from self._flow(segments, numbers.images)
            yield "</div>"

    def _talk(self, messages: Sequence[ShownMessage], numbers: _Numbers) -> Iterator[str]:
        """A conversation that has a page of its own, in a frame, with links to the messages that are gold."""
        items = [item for each in messages for item, _ in groupby(each.segments, lambda one: one.item) if item]
        places = dict(zip(items, numbers.items, strict=False))  # as many are taken as there are items
        pictures = count_images(messages)
        for _ in range(pictures):
            next(numbers.images)
        file = f"../{TALKS}/{talk_name(messages, self.shown.corpus)}"
        gold = [(item, place) for item, place in places.items() if item in self.shown.gold_items]
        what = f"{len(messages)} earlier messages, {count_of(pictures, 'image')}"
        named = "".join(f', <b class="s">gold</b> {place} {escape(item)}' for item, place in gold)
        links = "".join(f' · <a href="{file}#m{place}">at {escape(item)}</a>' for item, place in gold)
        yield f'<details class="talk"><summary>{what}{named}</summary><p><a href="{file}">alone</a>{links}</p>'
        yield f'<iframe src="{file}" title="{what}" loading="lazy"></iframe></details>'

    def _flow(self, segments: Iterable[Segment], numbers: Iterator[int]) -> Iterator[str]:
        for inline, run in groupby(segments, self._is_inline):
            if inline:
                yield f"<p>{''.join(self._text(segment) for segment in run)}</p>"
                continue
            for segment in run:
                if segment.picture is not None:
                    yield _picture(self.shown.image(segment.sha256), segment.picture, next(numbers))
                elif segment.text is None:
                    yield f'<p class="gone">{escape(segment.kind)}: {escape(segment.problem)}</p>'
                else:
                    yield _long(segment, segment.text)

    def _is_inline(self, segment: Segment) -> bool:
        return segment.picture is None and segment.text is not None and segment.sha256 not in self.shown.long

    def _text(self, segment: Segment) -> str:
        text = segment.text or ""
        if segment.kind == "call":
            return f"<i>call</i>{escape(call_text(segment))}\n"
        if segment.sha256 not in self.shared:
            return escape(text) if segment.kind == "text" else f"<i>{escape(segment.kind)}</i>{escape(text)}"
        number, _ = self.shared[segment.sha256]
        return f'<i>{escape(segment.kind)}</i><b class="s">{number}</b> {escape(first_words(text))}\n'

    def shared_texts(self) -> Iterator[str]:
        if self.shared:
            yield '<h2>said in several arms, each once</h2><div class="m">'
            for number, segment in self.shared.values():
                yield f'<p><i>{escape(segment.kind)}</i><b class="s">{number}</b> {escape(segment.text or "")}</p>'
            yield "</div>"


def _long(segment: Segment, text: str) -> str:
    kind, file = escape(segment.kind), f"../texts/{safe_name(segment.sha256)}.html"
    return (
        f'<p><i>{kind}</i><a href="{file}">{escape(first_words(text, EXCERPT))}</a></p>'
        f'<iframe src="{file}" title="{kind}, {len(text)} characters" loading="lazy"></iframe>'
    )


def _picture(stored: Stored, picture: Picture, number: int) -> str:
    name = f"image {number}, {picture.width}x{picture.height}"
    if not stored.file:
        return f'<p class="gone">{name}: {escape(stored.problem)}</p>'
    words = f"{picture.treatment}{'; a decoy' if picture.replaces else ''}{'; smaller' if stored.smaller else ''}"
    return (
        f'<img src="../images/{stored.file}" alt="{name}" width="{picture.width}" height="{picture.height}" '
        f'loading="lazy"/><p class="c">{number}: {escape(words)}</p>'
    )


def _fragment(arm: str) -> str:
    return quote(anchor(arm), safe="+")


def _word(word: str) -> str:
    return f'<b class="{safe_name(word)}">{escape(word)}</b>'
