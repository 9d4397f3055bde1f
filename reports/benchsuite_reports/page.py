"""One self-contained HTML page from plain data: what reached a model under each arm of a question.

The paper's Figure 1 and Table 11 are the model: a line a condition, then the requests side by side. Nothing is
fetched and nothing runs: no script, no address, every distinct image once in the file. The page is HTML and
well-formed XML at once.
"""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from itertools import count, groupby
from typing import TYPE_CHECKING

from benchsuite_reports.shown import (
    ADDED,
    CHANGED,
    MISSING,
    Block,
    Comparison,
    Mark,
    Picture,
    ShownArm,
    ShownMessage,
    ShownQuestion,
    ShownRequest,
    compare,
)
from benchsuite_reports.site.markup import count_of, escape, facts_list, first_words, safe_name
from benchsuite_reports.table import PIPELINE_CHECK
from benchsuite_reports.talk import LEAST, call_text, count_images, earlier, rounds

if TYPE_CHECKING:
    from benchsuite.delivery.certificates.certify import Certificate

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SHOWN_OF_MISSING = 200
"""Characters shown of a text that only the other request has; it stands whole in that request's column."""
DIFFED = 3000
"""Words on either side up to which a changed text is compared word by word; beyond, it is shown replaced."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def render_page(shown: ShownQuestion) -> str:
    """The whole page. Pure: equal data give equal pages."""
    base = shown.arms[shown.against]
    compared = [
        compare(arm.request, None if arm is base else base.request) if arm.request is not None else None
        for arm in shown.arms
    ]
    told: dict[str, int] = {}
    title = f"{shown.id}: {', '.join(arm.name for arm in shown.arms)}"
    style = (resources.files("benchsuite_reports") / "page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style></head>",
            "<body>",
            *_header(shown, compared),
            "<main>",
            *_overview(shown, compared),
            *_certificates(shown),
            '<div class="arms">',
            *(line for number in range(len(shown.arms)) for line in _arm(shown, number, compared[number], told)),
            "</div>",
            *_pictures(shown.arms),
            "</main>",
            "</body></html>",
            "",
        ]
    )


def differs_in(arms: Sequence[ShownArm], compared: Sequence[Comparison | None]) -> str:
    """The axes on which the arms differ, with their values, and what differs in the requests."""
    parts = []
    for axis in dict.fromkeys(axis for arm in arms for axis in arm.axes):
        values = list(dict.fromkeys(arm.axes.get(axis, "none") for arm in arms))
        if len(values) > 1:
            parts.append(f"{axis} ({', '.join(values)})")
    known = [each for each in compared if each is not None and each.other]
    kinds = sorted({kind for each in known for kind in each.kinds})
    if kinds:
        parts.append(f"segments: {', '.join(kinds)}")
    if any(each.reordered for each in known):
        parts.append("order of items")
    settings = sorted({name for each in known for name in each.settings})
    if settings:
        parts.append(f"sent with another {', '.join(settings)}")
    if known and not (kinds or settings or any(each.reordered for each in known)):
        parts.append("the requests are the same")
    return "; ".join(parts) or "nothing"


def word_diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """(change, text) pieces, change being ``=``, ``-`` or ``+``: those of ``=`` and ``+`` make ``after``."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > DIFFED:
        yield from (("-", before), ("+", after))
        return
    for change, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change == "equal":
            yield "=", "".join(old[a:b])
            continue
        if b > a:
            yield "-", "".join(old[a:b])
        if d > c:
            yield "+", "".join(new[c:d])


def _header(shown: ShownQuestion, compared: Sequence[Comparison | None]) -> Iterator[str]:
    yield "<header>"
    if shown.pipeline_check:
        yield f'<p class="check">{PIPELINE_CHECK}</p>'
    yield f'<h1 dir="auto">{escape(shown.text)}</h1>'
    facts = [("gold", shown.gold), ("type", shown.type), ("date", shown.date), ("question", shown.id), *shown.facts]
    yield facts_list(facts)
    if len(shown.arms) > 1:
        yield f'<p class="differs"><b>differs in:</b> {escape(differs_in(shown.arms, compared))}</p>'
        yield (
            f'<p class="legend">marked against <a href="#arm-{shown.against + 1}">'
            f'{escape(shown.arms[shown.against].name)}</a>: <span class="mark added">{ADDED}</span> '
            f'<span class="mark missing">{MISSING}</span> <span class="mark changed">{CHANGED}</span>; '
            "items that are the same there are folded.</p>"
        )
    yield "</header>"


def _overview(shown: ShownQuestion, compared: Sequence[Comparison | None]) -> Iterator[str]:
    """The paper's Table 11: a line a condition."""
    yield '<div class="wide" role="region" aria-label="conditions" tabindex="0"><table><thead><tr>'
    yield '<th scope="col">condition</th><th scope="col">what reached the model</th>'
    if len(shown.arms) > 1:
        yield f'<th scope="col">against {escape(shown.arms[shown.against].name)}</th>'
    yield '<th scope="col">answer</th><th scope="col">outcome</th></tr></thead><tbody>'
    for number, (arm, comparison) in enumerate(zip(shown.arms, compared, strict=True), 1):
        yield f'<tr><th scope="row"><a href="#arm-{number}">{escape(arm.name)}</a></th>'
        yield f"<td>{escape(_content(arm, shown.gold_items) or arm.problem)}</td>"
        if len(shown.arms) > 1:
            yield f"<td>{escape(_versus(comparison, number - 1 == shown.against))}</td>"
        yield f'<td class="lines" dir="auto">{escape(arm.answer)}</td><td>{_outcome(arm)}</td></tr>'
    yield "</tbody></table></div>"


def _certificates(shown: ShownQuestion) -> Iterator[str]:
    """A line for each arm that is compared: the two legs, and what the server says."""
    certified = [(number, arm) for number, arm in enumerate(shown.arms, 1) if arm.certificate is not None]
    if not certified:
        return
    yield '<div class="wide" role="region" aria-label="certificates" tabindex="0"><table><thead><tr>'
    yield f'<th scope="col">certificate against {escape(shown.arms[shown.against].name)}</th>'
    for heading in ("declared variables", "matched: all else is equal", "altered: all declared changed", "server"):
        yield f'<th scope="col">{heading}</th>'
    yield "</tr></thead><tbody>"
    for number, arm in certified:
        yield f'<tr><th scope="row"><a href="#arm-{number}">{escape(arm.name)}</a></th>'
        for sound, words in _legs(arm.certificate):
            leg = "" if sound is None else f'<span class="word {"right" if sound else "wrong"}">{_yes(sound)}</span> '
            yield f"<td>{leg}{escape(words)}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"


def _legs(certificate: Certificate | str | None) -> list[tuple[bool | None, str]]:
    """Declared variables, the two legs and the server's counts: whether a leg holds, and in words."""
    if certificate is None or isinstance(certificate, str):
        return [(None, ""), (None, f"not certified: {certificate}"), (None, ""), (None, "")]
    count = certificate.token_difference
    tokens = "" if count is None else f"{count:+d} prompt tokens"
    altered = (certificate.altered, "; ".join(certificate.unaltered)) if certificate.variables else (None, "")
    return [
        (None, ", ".join(certificate.variables) or "none"),
        (certificate.matched, certificate.difference),
        altered,
        (None, certificate.tokens or tokens),
    ]


def _yes(sound: bool) -> str:
    return "yes" if sound else "no"


def _content(arm: ShownArm, gold: frozenset[str]) -> str:
    request = arm.request
    if request is None:
        return ""
    items = request.items
    images = sum(segment.picture is not None for segment in request.segments)
    known = f" ({len(gold.intersection(items))} of {len(gold)} gold)" if gold else ""
    later = [message for _, _, messages in rounds(arm) for message in messages]
    calls = sum(segment.kind == "call" for message in later for segment in message.segments)
    more = f"; then {count_of(calls, 'tool call')}, {count_of(count_images(later), 'image')}" if later else ""
    return f"{count_of(len(items), 'item')}{known}, {count_of(images, 'image')}{more}"


def _versus(comparison: Comparison | None, is_base: bool) -> str:
    if is_base:
        return ""
    if comparison is None or not comparison.other:
        return "not compared: a request is not recorded"
    return comparison.sentence or "the same request"


def _outcome(arm: ShownArm) -> str:
    return f'<span class="word {safe_name(arm.word)}">{escape(arm.word)}</span> {escape(arm.score)}'


def _arm(shown: ShownQuestion, number: int, comparison: Comparison | None, told: dict[str, int]) -> Iterator[str]:
    """``told`` has the folded conversations that stand on the page, and the number of the arm that has each."""
    arm = shown.arms[number]
    yield f'<section class="arm" id="arm-{number + 1}" aria-labelledby="name-{number + 1}">'
    yield f'<h2 id="name-{number + 1}">{escape(arm.name)}</h2>'
    yield facts_list(arm.facts)
    if arm.request is None or comparison is None:
        yield f'<p class="gone">no request to show: {escape(arm.problem)}</p>'
    else:
        numbers = count(1)
        yield from _request(arm.request, comparison, shown, numbers, number, told)
        for place, request, messages in rounds(arm):
            yield f'<h3 class="round">request {place} of {len(arm.answering)}: what was added</h3>'
            yield from _messages(compare(replace(request, messages=messages), None), frozenset(), numbers, False)
    yield '<h3>answer</h3><div class="answer">'
    yield f'<p dir="auto">{escape(arm.answer) or "none"}</p><p>{_outcome(arm)}</p>'
    if arm.request is not None and arm.problem:
        yield f'<p class="gone">{escape(arm.problem)}</p>'
    last = arm.answering[-1] if arm.answering else None
    if last is not None and last.reply is not None and (last.reply != arm.answer or last.asked):
        said = "\n".join([*([last.reply] if last.reply else []), *(f"{name} {text}" for name, text in last.asked)])
        yield "<details><summary>reply as it came</summary>"
        yield f'<div class="text" dir="auto">{escape(said)}</div></details>'
    yield "</div>"
    for call in arm.further:
        words = f"{call.role} {call.model}: {first_words(call.reply)}"
        yield f'<details class="further"><summary>{escape(words)}</summary>'
        yield facts_list([("request", call.key), ("reply", "not stored" if call.reply is None else call.reply)])
        yield from _messages(compare(call, None), frozenset(), count(1), False)
        yield "</details>"
    yield "</section>"


def _request(
    request: ShownRequest,
    comparison: Comparison,
    shown: ShownQuestion,
    images: Iterator[int],
    number: int,
    told: dict[str, int],
) -> Iterator[str]:
    """A request as sent; a long conversation before the question is folded, and stands in one arm for all that have
    the same."""
    gold, fold = shown.gold_items, comparison.other
    folded = earlier(request.messages)
    yield from _messages(comparison, gold, images, fold, range(folded.start))
    if folded:
        messages = request.messages[folded.start : folded.stop]
        body = "".join(_messages(comparison, gold, images, fold, folded))
        what = _folded(messages, gold)
        there = told.setdefault(body, number)
        if there != number:
            link = f'<a href="#arm-{there + 1}">{escape(shown.arms[there].name)}</a>'
            yield f'<p class="earlier">{escape(what)}: as in {link}</p>'
        else:
            yield f'<details class="earlier"><summary>{escape(what)}</summary>{body}</details>'
    yield from _messages(comparison, gold, images, fold, range(folded.stop, len(request.messages)))


def _folded(messages: Sequence[ShownMessage], gold: frozenset[str]) -> str:
    items = {segment.item for message in messages for segment in message.segments}
    known = ", ".join(sorted(gold & items))
    pictures = count_of(count_images(messages), "image")
    return f"{len(messages)} earlier messages, {pictures}" + (f", gold: {known}" if known else "")


def _messages(
    comparison: Comparison, gold: frozenset[str], images: Iterator[int], fold: bool, places: range | None = None
) -> Iterator[str]:
    """Those at ``places``, or all."""
    chosen = comparison.messages if places is None else comparison.messages[places.start : places.stop]
    for role, blocks in chosen:
        yield f'<h3>{escape(role)}</h3><div class="message">'
        for absent, run in groupby(blocks, _absent):
            lines = [list(_block(block, gold, images, fold)) for block in run]
            away = absent and len(lines) >= LEAST  # a whole conversation must not fill a column that has none of it
            if away:
                yield f'<details class="earlier"><summary>{len(lines)} missing here</summary>'
            yield from (line for each in lines for line in each)
            if away:
                yield "</details>"
        yield "</div>"


def _absent(block: Block) -> bool:
    return all(mark.change == MISSING for mark in block.marks)


def _block(block: Block, gold: frozenset[str], images: Iterator[int], fold: bool) -> Iterator[str]:
    """An item as a frame of its own, or a bare segment; what is the same as in the other request is folded."""
    lines = [line for mark in block.marks for line in _segment(mark, block, images)]
    absent = _absent(block)
    name = ""
    if block.item:
        if absent:
            where = f"{block.place_there} there"
        elif block.place_there in (0, block.place):
            where = str(block.place)
        else:
            where = f"{block.place}, {_ordinal(block.place_there)} there"
        name = f"item {where} <code>{escape(block.item)}</code>"
        name += ' <span class="gold">gold</span>' if block.item in gold else ""
    if fold and not block.changed:
        first = next((mark.segment for mark in block.marks if mark.segment.kind == "text"), block.marks[0].segment)
        pictures = sum(mark.segment.picture is not None for mark in block.marks)
        more = f", {count_of(pictures, 'image')}" if pictures else ""
        words = f"<bdi>{escape(first_words(first.text))}</bdi>{more}"
        yield f'<details class="same"><summary>{name or escape(first.kind)}, same: {words}</summary>'
        yield from lines
        yield "</details>"
    elif block.item:
        yield f'<div class="item{" missing" if absent else ""}"><p class="name">{name}</p>'
        yield from lines
        yield "</div>"
    else:
        yield from lines


def _segment(mark: Mark, block: Block, images: Iterator[int]) -> Iterator[str]:
    segment = mark.segment
    state = {ADDED: " added", MISSING: " missing", CHANGED: " changed"}.get(mark.change, "")
    label = f'<span class="mark{state}">{mark.change}</span>' if mark.change else ""
    kind = escape(segment.kind)
    yield f'<div class="segment{state}" data-kind="{kind}"><p class="kind">{kind}{label}</p>'
    place = block.place_there if mark.change == MISSING else block.place
    if segment.picture is not None:
        number = 0 if mark.change == MISSING else next(images)
        yield from _picture(segment.picture, mark, number, f", item {place}" if place else "")
    elif segment.text is None:
        yield f'<p class="gone">{escape(segment.problem)}</p>'
    elif segment.kind == "call" and not mark.change:
        yield f'<div class="text" dir="auto">{escape(call_text(segment))}</div>'
    elif mark.change == MISSING:
        yield f'<div class="text" dir="auto"><del>{escape(first_words(segment.text, SHOWN_OF_MISSING))}</del></div>'
    elif mark.before is not None and mark.before.text is not None:
        yield f'<div class="text" dir="auto">{_marked_up(mark.before.text, segment.text)}</div>'
    else:
        yield f'<div class="text" dir="auto">{escape(segment.text)}</div>'
    yield "</div>"


def _marked_up(before: str, after: str) -> str:
    return "".join(_piece(change, text) for change, text in word_diff(before, after))


def _piece(change: str, text: str) -> str:
    """Space alone gets a sign by its class: what is different must be seen, and the text stay as it is."""
    if change == "=":
        return escape(text)
    tag = "ins" if change == "+" else "del"
    sign = "" if not text.isspace() else ' class="line"' if "\n" in text else ' class="space"'
    return f"<{tag}{sign}>{escape(text)}</{tag}>"


def _picture(picture: Picture, mark: Mark, number: int, where: str) -> Iterator[str]:
    """An image, with the one that stands for it in the other request to its left."""
    size = f"{picture.width}x{picture.height}"
    if mark.change == MISSING:
        yield f'<p class="gone">image, {size}{where} there</p>'
        return
    name = f"image {number}, {size}{where}"
    decoy = f"; a decoy in the place of image {number}" if picture.replaces else ""
    there = mark.before.picture if mark.before is not None else None
    if there is None:
        yield from _image(picture, name, f"{picture.treatment}{decoy}")
        return
    old = f"there: image {mark.number_before}, {there.width}x{there.height}"
    yield '<div class="pair"><div class="there">'
    yield from _image(there, old, f"{there.treatment}{'; a decoy' if there.replaces else ''}")
    yield '</div><div class="here">'
    yield from _image(picture, name, f"{picture.treatment}{decoy or _origin(picture, there, mark.number_there)}")
    yield "</div></div>"


def _image(picture: Picture, name: str, words: str) -> Iterator[str]:
    if picture.data is None:
        yield f'<p class="gone">{escape(name)}: {escape(picture.problem)}</p>'
    else:
        yield f'<a href="#full-{safe_name(picture.sha256)}">'
        yield f'<svg role="img" aria-label="{escape(name)}" {_box(picture)}>'
        yield f'<use href="#pixels-{safe_name(picture.sha256)}"/></svg></a>'
    yield f'<p class="caption">{escape(name)}; {escape(words)}</p>'


def _origin(picture: Picture, there: Picture, number_there: int) -> str:
    """What a changed image that is no decoy is to the one in its place there."""
    if there.replaces == picture.source:
        return "; the image that the decoy there replaces"
    if there.source == picture.source:
        return "; the same stored image"
    return f"; another image, which is image {number_there} there" if number_there else "; another image"


def _pictures(arms: Sequence[ShownArm]) -> Iterator[str]:
    """Every distinct image once, at full size; the arms refer to these."""
    known: dict[str, Picture] = {}
    for request in (call for arm in arms for call in (*arm.answering, *arm.further)):
        for segment in request.segments:
            if segment.picture is not None and segment.picture.data is not None:
                known.setdefault(segment.picture.sha256, segment.picture)
    if not known:
        return
    yield '<section class="pictures" aria-labelledby="pictures"><h2 id="pictures">images as sent, each once</h2>'
    for sha256, picture in known.items():
        data = base64.b64encode(picture.data or b"").decode()
        facts = (
            f"{picture.width}x{picture.height}, {picture.mime}, {len(picture.data or b'')} bytes, {picture.treatment}"
        )
        yield f'<figure id="full-{safe_name(sha256)}"><svg role="img" aria-label="{escape(facts)}" {_box(picture)}>'
        yield f'<image id="pixels-{safe_name(sha256)}" width="{picture.width}" height="{picture.height}" '
        yield f'href="data:{escape(picture.mime)};base64,{data}"/></svg>'
        yield f"<figcaption>{escape(facts)}<br/><code>sha256 {escape(sha256)}</code></figcaption></figure>"
    yield "</section>"


def _box(picture: Picture) -> str:
    size = f'width="{picture.width}" height="{picture.height}"'
    return f'{size} viewBox="0 0 {picture.width} {picture.height}"'


def _ordinal(number: int) -> str:
    ending: Mapping[int, str] = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ending.get(number % 10, 'th')}"
