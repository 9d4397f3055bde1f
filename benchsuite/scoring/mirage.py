"""Strict scoring of a MIRAGE probe: three lines, read and held against the gold source and value (section 3.5).

    ANSWERABLE=YES
    SOURCE=<artefact id, or NONE>
    ANSWER=<short value, or NONE>

A reply that has not all three is a parse failure: it is *unparsed* and has no score. ``docs/mirage-scoring.md`` has
the rules with examples; ``mirage_values`` says when two values are equal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from benchsuite.registry import SCORING_MODES
from benchsuite.scoring.answers import Score, final_answer
from benchsuite.scoring.mirage_values import NONE, is_none, values_equal
from benchsuite.scoring.tokens import plain

if TYPE_CHECKING:
    from benchsuite.corpus.model import Question
    from benchsuite.registry import Registry

SCORER = "mirage-strict/1"
GC, HR_FREE = "gc", "hr_free"

_WRAPPED = re.compile(r"(\*{1,3}|_{1,3}|`{1,3})(.*)\1")
_MARKER = re.compile(r"^(?:[>#•+-]\s*|\*\s+|\d{1,2}[.)]\s+)+")
_FIELD = re.compile(
    r"[*_`]{0,3}(?P<key>answerable|source|answer)[*_`]{0,3}\s*=\s*(?:\*{1,3}(?=\s|\w))?(?P<value>.*)", re.IGNORECASE
)
_ENUM_TRIM = " \t.,;!\"'()[]<>*`"
_ENUMS = {"yes": True, "no": False}
_FIELDS = ("answerable", "source", "answer")


@dataclass(frozen=True, slots=True)
class Reply3:
    """The three fields of a reply; ``source`` and ``answer`` as they were written, spaces and emphasis cut."""

    answerable: bool
    source: str
    answer: str

    @property
    def text(self) -> str:
        """The three lines as the protocol asks for them."""
        return f"ANSWERABLE={'YES' if self.answerable else 'NO'}\nSOURCE={self.source}\nANSWER={self.answer}"


def parse_reply(text: str) -> Reply3 | None:
    """The three lines of a reply, in any order, other lines before, between and after them; None: a parse failure.

    Reasoning and special tokens are taken off, keys and enums are read in any case, list marks, code fences and
    emphasis around a line are passed over. A line that is missing or empty, an ANSWERABLE that is neither YES nor NO,
    and a line that comes twice with different values are parse failures.
    """
    found: dict[str, str] = {}
    for line in final_answer(text).splitlines():
        field = _field(line)
        if field is None:
            continue
        key, value = field
        if key == "answerable":
            value = value.strip(_ENUM_TRIM).casefold()
        if not value or found.setdefault(key, value) != value:
            return None
    if len(found) < len(_FIELDS) or found["answerable"] not in _ENUMS:
        return None
    return Reply3(_ENUMS[found["answerable"]], found["source"], found["answer"])


def _field(line: str) -> tuple[str, str] | None:
    line = _MARKER.sub("", line.strip()).strip()
    while wrapped := _WRAPPED.fullmatch(line):
        line = wrapped[2].strip()
    match = _FIELD.fullmatch(line)
    return None if match is None else (match["key"].lower(), match["value"].strip(" \t*`"))


def canonical_source(raw: str, aliases: Mapping[str, str]) -> str:
    """The one artefact id that a SOURCE names; ``NONE`` for NONE; empty for no id, two different ones or a folder.

    ``aliases`` maps artefact ids and the paths of artefacts and of their records to artefact ids; a path that belongs
    to two artefacts must not be in it. A path counts whole, or by its last parts where only one artefact has such
    a path; an id counts wherever it stands as a word, so ``<id>.png`` and ``<id>_table.csv`` name it too.
    """
    if is_none(raw):
        return NONE
    text = _plain_path(raw)
    pattern, owners = _names(tuple(aliases.items()))
    if pattern is None:
        return ""
    found = {owners[match[0]] for match in pattern.finditer(text) if text[match.end() :].strip(_EDGES) != "/"}
    if re.search(r"(?<![\w/.-])none(?![\w/.-])", text):
        found.add(NONE)
    return found.pop() if len(found) == 1 and NONE not in found else ""


_EDGES = " \t\"'`*()[]<>.,;"
_ROOT = re.compile(r"(?<![\w./-])(?:[a-z]:)?[\w./-]*(?<![\w.-])workspace/|(?<![\w./-])(?:\.{0,2}/)+")


def _plain_path(raw: str) -> str:
    """Case-folded, with plain slashes, without what leads to the workspace (``./``, ``/home/x/workspace/``)."""
    text = re.sub(r"/{2,}", "/", plain(raw).replace("\\", "/"))
    return _ROOT.sub("", text)


@lru_cache(maxsize=64)
def _names(aliases: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str] | None, Mapping[str, str]]:
    """A pattern that finds every name, longer ones first, and whose name each is."""
    ids = {_plain_path(owner): owner for _, owner in aliases}
    owners: dict[str, set[str]] = defaultdict(set)
    for name, owner in aliases:
        path = _plain_path(name)
        if path in ids:
            continue
        parts = path.split("/")
        owners[path].add(owner)
        for at in range(1, len(parts)):
            owners["/".join(parts[at:])].add(owner)
    whole = {_plain_path(name): owner for name, owner in aliases}
    paths = {path: whole.get(path, min(who)) for path, who in owners.items() if path in whole or len(who) == 1}
    if not ids:
        return None, {}
    by_path = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    by_id = "|".join(re.escape(name) for name in sorted(ids, key=len, reverse=True))
    forms = [rf"(?<![\w/.-])(?:{by_path})(?![\w/-]|\.\w)"] if by_path else []
    forms.append(rf"(?<![^\W_])(?:{by_id})(?![^\W_])")
    return re.compile("|".join(forms)), {**paths, **ids}


def score_probe(question: Question, answer: str, refusal: str, *, aliases: Mapping[str, str]) -> Score:
    """Score one reply. ``refused`` is ANSWERABLE=NO; ``refusal`` is not used: the protocol's own NONE is.

    Answerable: the metric is GC = SC x VC whatever ANSWERABLE says; word grounded, mirage (YES, GC 0) or refused.
    VC is compared where SC is 0, too. Unanswerable: the metric is 1 - HR, HR being YES or an ANSWER that is not NONE.
    ``extra`` has yes, ac and sc, vc, ws or hr.
    """
    metric = GC if question.answerable else HR_FREE
    reply = parse_reply(answer)
    if reply is None:
        return Score("unparsed", None, None, metric, SCORER, final_answer(answer))
    yes = reply.answerable
    extra = {"yes": float(yes), "ac": float(yes == question.answerable)}
    if not question.answerable:
        hallucinated = yes or not is_none(reply.answer)
        word = "wrong" if hallucinated else "right"
        extra["hr"] = float(hallucinated)
        return Score(word, 1.0 - extra["hr"], not yes, metric, SCORER, reply.text, extra)
    sourced = canonical_source(reply.source, aliases) in question.evidence.sources
    valued = values_equal(question.gold, reply.answer, question.text)
    extra.update(sc=float(sourced), vc=float(valued), ws=float(not sourced))
    grounded = sourced and valued
    word = "grounded" if grounded else "mirage" if yes else "refused"
    return Score(word, float(grounded), not yes, metric, SCORER, reply.text, extra)


def register(registry: Registry) -> None:
    for mode in SCORING_MODES:  # the paper's scoring is by rule: there is no other to reproduce
        registry.scorer("mirage", SCORER, score_probe, mode)
