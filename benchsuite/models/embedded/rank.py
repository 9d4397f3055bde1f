"""Candidates of answers and their support: lexical, semantic and layout evidence for each span."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
import numpy.typing as npt

from benchsuite.models.embedded.context import ContextItem
from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.layout import Layout
from benchsuite.models.embedded.ocr import Page
from benchsuite.models.embedded.text import asks_message_date, has_digit, kind_fit, question_kind, stem, tokens, words

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SPECIFIC = re.compile(r"(?<!^)(?<![.?!]\s)\b(?:[A-Z][\w&’']*|\d[\w.,:/-]*)")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Source:
    """One image with the message it hangs on, or the text of one message; where a candidate comes from.

    ``frame`` is the message text with the image's title lines, ``body`` everything that can be read.
    """

    item: int
    page: int | None
    frame: str
    body: str
    date: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that may answer. ``how`` is the layout's word, or ``text`` for a sentence of a message."""

    label: str
    value: str
    how: str
    prior: float
    source: int
    title: str = ""

    @property
    def name(self) -> str:
        """What the question's wording is held against: the label, or the span itself where it has none."""
        return self.label or self.value

    @property
    def reading(self) -> str:
        """Title, label and value as one text; a number says nothing here and would only cost a new vector."""
        value = "" if self.label and has_digit(self.value) else self.value
        return ". ".join(part for part in (self.title, self.label, value) if part)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each feature, a column of ``Ranking.features`` in this order.

    frame, body: share (by rarity over the sources) of the question's words in the source's frame or anywhere
    in the source; names: share of its capitalised words and numbers found in the source; about: cosine of
    question and frame; recall: share of the words that the frame leaves open which the label has; precision:
    share of the label's words that the question has, those that the frame explains counted half; soft,
    soft_precision: the same with word vectors; pair: cosine of question and 'title. label: value';
    open_label: cosine of the open words and the label; fit: value shape against the kind of question, or a
    message's own date where that is asked for; prior:
    layout; free, text: the span has no label, comes from a message; echo: the value only repeats the
    question.
    """

    frame: float
    body: float
    names: float
    about: float
    recall: float
    precision: float
    soft: float
    soft_precision: float
    pair: float
    open_label: float
    fit: float
    prior: float
    free: float
    text: float
    echo: float

    def vector(self) -> Floats:
        return np.array(astuple(self), dtype=np.float64)


FEATURES = tuple(field.name for field in fields(Weights))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates with their features (n, len(FEATURES)), in order of delivery."""

    kind: str
    question_tokens: frozenset[str]
    sources: tuple[Source, ...]
    candidates: tuple[Candidate, ...]
    features: Floats


def collect(items: Sequence[ContextItem], layout_of: Callable[[Page], Layout]) -> tuple[list[Source], list[Candidate]]:
    """Every source and candidate of a request, in order of delivery."""
    sources: list[Source] = []
    candidates: list[Candidate] = []
    page_number = 0
    for number, item in enumerate(items):
        if item.text:
            sources.append(Source(number, None, item.text, item.text, item.date))
            for sentence in _SENTENCE.split(item.text):
                if len(sentence.strip()) >= 3:
                    candidates.append(Candidate("", sentence.strip(), "text", 0.0, len(sources) - 1))
        for page in item.pages:
            layout = layout_of(page)
            frame = "\n".join(part for part in (item.text, layout.title, layout.header) if part)
            body = "\n".join((item.text, *layout.lines))
            sources.append(Source(number, page_number, frame, body, item.date))
            page_number += 1
            for pair in layout.pairs:
                candidates.append(
                    Candidate(pair.label, pair.value, pair.how, pair.prior, len(sources) - 1, layout.title)
                )
    return sources, candidates


def rank(question: str, items: Sequence[ContextItem], layout_of: Callable[[Page], Layout], encoder: Encoder) -> Ranking:
    """Features of every candidate for a question."""
    sources, candidates = collect(items, layout_of)
    kind = question_kind(question)
    dated = kind == "date" and asks_message_date(question)
    asked = list(dict.fromkeys(tokens(question)))
    if not candidates:
        return Ranking(kind, frozenset(asked), tuple(sources), (), np.zeros((0, len(FEATURES))))
    texts = [_SourceText(source, asked) for source in sources]
    rarity = _rarity(asked, [text.in_body for text in texts])
    label_tokens = [set(tokens(candidate.name)) for candidate in candidates]
    label_rarity = _rarity(asked, [found & set(asked) for found in label_tokens])
    specific = {stem(word.lower()) for match in _SPECIFIC.findall(question) for word in words(match)} & set(asked)
    similar = _WordSimilarity(question, candidates, encoder)
    question_vector = encoder.encode([question])[0]
    about = encoder.encode([source.frame for source in sources]) @ question_vector
    pair = encoder.encode([candidate.reading for candidate in candidates]) @ question_vector
    open_words = [text.open_words(question) for text in texts]
    open_vectors = encoder.encode(open_words)[[candidate.source for candidate in candidates]]
    open_label = (open_vectors * encoder.encode([candidate.name for candidate in candidates])).sum(axis=1)

    rows = np.zeros((len(candidates), len(FEATURES)))
    for n, candidate in enumerate(candidates):
        text, source = texts[candidate.source], sources[candidate.source]
        shared = label_tokens[n] & set(asked)
        framed = text.in_frame if candidate.label else text.in_frame - shared  # a sentence is its own frame
        open_tokens = [t for t in asked if t not in framed]
        precision = (len(shared - framed) + 0.5 * len(shared & framed)) / max(1, len(label_tokens[n]))
        soft, soft_precision = similar.match(n, frozenset(open_tokens))
        value_tokens = tokens(candidate.value)
        rows[n] = (
            _share(text.in_frame, asked, rarity),
            _share(text.in_body, asked, rarity),
            len(specific & text.in_body) / len(specific) if specific else 1.0,
            about[candidate.source],
            _share(shared, open_tokens, label_rarity),
            precision if candidate.label else 0.0,
            soft,
            soft_precision if candidate.label else 0.0,
            pair[n],
            open_label[n],
            1.0 if dated and candidate.how == "text" and source.date else kind_fit(kind, candidate.value),
            candidate.prior,
            candidate.how == "free",
            candidate.how == "text",
            candidate.how != "text" and bool(value_tokens) and set(value_tokens) <= set(asked),
        )
    return Ranking(kind, frozenset(asked), tuple(sources), tuple(candidates), rows)


class _SourceText:
    """Which of the question's tokens a source explains, in its frame and anywhere in it."""

    def __init__(self, source: Source, asked: Sequence[str]) -> None:
        self.in_frame = _found(source.frame, asked)
        self.in_body = _found(source.body, asked) | self.in_frame

    def open_words(self, question: str) -> str:
        """The question without the words that the frame explains; all of it when none or all are explained."""
        every = re.findall(r"[\w$%'’-]+", question)
        left = [word for word in every if not tokens(word) or not set(tokens(word)) <= self.in_frame]
        return " ".join(left) if len(left) < len(every) and any(tokens(word) for word in left) else question


def _found(text: str, asked: Sequence[str]) -> set[str]:
    """The asked tokens in a text; OCR may run words together, so longer ones are also looked for inside."""
    there = set(tokens(text))
    run_together = re.sub(r"\W+", "", text.lower())
    return {t for t in asked if t in there or (len(t) >= 5 and t in run_together)}


def _rarity(asked: Sequence[str], documents: Sequence[set[str]]) -> dict[str, float]:
    """Inverse document frequency of the asked tokens over sources or labels, smoothed to stay positive.

    A word seen nowhere counts as seen once: what a question calls a thing often stands on none of them.
    """
    frequency = Counter(token for document in documents for token in document)
    return {t: math.log((1.5 + len(documents)) / (0.5 + max(1, frequency[t]))) for t in asked}


def _share(found: set[str], asked: Sequence[str], weight: dict[str, float]) -> float:
    total = sum(weight[t] for t in asked)
    return sum(weight[t] for t in asked if t in found) / total if total > 0 else 0.0


class _WordSimilarity:
    """Word-by-word cosine of the question's content words with the words of every label."""

    def __init__(self, question: str, candidates: Sequence[Candidate], encoder: Encoder) -> None:
        self._question = [w for w in dict.fromkeys(words(question)) if not has_digit(w)]
        self._stems = [stem(word) for word in self._question]
        labels = [[w for w in dict.fromkeys(words(c.name)) if not has_digit(w)][:24] for c in candidates]
        vocabulary = {w: n for n, w in enumerate(dict.fromkeys(w for label in labels for w in label))}
        self._columns = [[vocabulary[w] for w in label] for label in labels]
        self._cosine = encoder.encode(self._question) @ encoder.encode(list(vocabulary)).T

    def match(self, candidate: int, open_stems: frozenset[str]) -> tuple[float, float]:
        """Mean best cosine of the open question words, and of the label's words; 0 for an empty side."""
        rows = [n for n, word in enumerate(self._stems) if word in open_stems]
        columns = self._columns[candidate]
        if not rows or not columns:
            return 0.0, 0.0
        block = self._cosine[np.ix_(rows, columns)]
        return float(block.max(axis=1).mean()), float(block.max(axis=0).mean())
