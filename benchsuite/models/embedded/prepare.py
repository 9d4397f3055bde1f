"""What a request's items give whatever is asked: sources, candidates, their words and vectors, kept by content."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchsuite.models.embedded.context import ContextItem
from benchsuite.models.embedded.encode import WIDTH, Encoder, Vectors
from benchsuite.models.embedded.layout import Layout
from benchsuite.models.embedded.lru import Lru
from benchsuite.models.embedded.ocr import Page
from benchsuite.models.embedded.text import has_digit, kind_fit, tokens, words

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LABEL_WORDS = 24  # of a label are compared one by one
_ITEMS = 8192  # whose parts are kept
_CANDIDATES = 16_000  # whose stacked vectors are kept, over all prefixes; 75 MB
Ints = npt.NDArray[np.int64]
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
class SourceText:
    """The words of a source, for looking up those of a question."""

    frame: frozenset[str]
    body: frozenset[str]
    frame_letters: str
    body_letters: str

    def found(self, asked: Sequence[str]) -> tuple[set[str], set[str]]:
        """The asked tokens in the frame, and anywhere in the source."""
        in_frame = _found(self.frame, self.frame_letters, asked)
        return in_frame, _found(self.body, self.body_letters, asked) | in_frame


@dataclass(frozen=True)
class Prepared:
    """Sources and candidates of a row of items, in order of delivery, with what depends on no question.

    Of n candidates over s sources: ``label_tokens`` are those of each candidate's name, ``holders`` the candidates
    by token, ``value_tokens`` those of the values that come from images, by candidate; ``columns`` (ragged, of
    ``vocabulary``) are the words of each name; ``names`` and ``readings`` (n, 384), ``frames`` (s, 384) and
    ``word_vectors`` (v, 384) are unit vectors.
    """

    sources: tuple[Source, ...] = ()
    texts: tuple[SourceText, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    label_tokens: tuple[frozenset[str], ...] = ()
    value_tokens: Mapping[int, frozenset[str]] = field(default_factory=dict)
    holders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vocabulary: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[tuple[int, ...], ...] = ()
    names: Vectors = field(default_factory=lambda: np.zeros((0, WIDTH), np.float32))
    readings: Vectors = field(default_factory=lambda: np.zeros((0, WIDTH), np.float32))
    frames: Vectors = field(default_factory=lambda: np.zeros((0, WIDTH), np.float32))
    word_vectors: Vectors = field(default_factory=lambda: np.zeros((0, WIDTH), np.float32))
    items: int = 0
    pages: int = 0
    _fits: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def source_of(self) -> Ints:
        """(n,)"""
        return np.array([candidate.source for candidate in self.candidates], np.int64)

    @cached_property
    def shape(self) -> Floats:
        """(n, 3): the layout's prior, whether there is no label, whether it is text."""
        rows = [(c.prior, c.how == "free", c.how == "text") for c in self.candidates]
        return np.array(rows, np.float64).reshape(-1, 3)

    @cached_property
    def flat_columns(self) -> tuple[Ints, Ints, Ints]:
        """Candidates whose names have words, where those of each begin, and all their columns end to end."""
        held = [n for n, columns in enumerate(self.columns) if columns]
        flat = [column for n in held for column in self.columns[n]]
        starts = np.cumsum([0, *(len(self.columns[n]) for n in held)])[:-1]
        return np.array(held, np.int64), np.array(starts, np.int64), np.array(flat, np.int64)

    def fits(self, kind: str) -> Floats:
        """(n,): how well each value's shape answers a kind of question."""
        fits = self._fits.get(kind)
        if fits is None:
            fits = np.array([kind_fit(kind, candidate.value) for candidate in self.candidates], np.float64)
            self._fits[kind] = fits
        return fits


@dataclass(frozen=True, slots=True)
class _Piece:
    """The sources and candidates of one item alone, numbered from 0."""

    sources: tuple[Source, ...]
    texts: tuple[SourceText, ...]
    candidates: tuple[Candidate, ...]
    label_tokens: tuple[frozenset[str], ...]
    label_words: tuple[tuple[str, ...], ...]
    value_tokens: Mapping[int, frozenset[str]]


_Key = tuple[str, str, tuple[str, ...]]


class Preparer:
    """Prepared items by content, safe to share between threads: what is kept changes no number.

    An item is cut and tokenised once. A row of items that several requests begin with is stacked once; the rest of
    a request is added behind it.
    """

    def __init__(self, encoder: Encoder, layout_of: Callable[[Page], Layout]) -> None:
        self._encoder = encoder
        self._layout_of = layout_of
        self._pieces: Lru[_Key, _Piece] = Lru(_ITEMS)
        self._prefixes: OrderedDict[tuple[_Key, ...], Prepared] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def prepare(self, items: Sequence[ContextItem], shared: int = 0) -> Prepared:
        """``shared``: how many of the first items other requests are likely to begin with."""
        keys = tuple(_key(item) for item in items)
        prepared = self._prefix(items[:shared], keys[:shared]) if shared else Prepared()
        if shared == len(items):
            return prepared
        return self._extend(prepared, items[shared:], keys[shared:])

    def _prefix(self, items: Sequence[ContextItem], keys: tuple[_Key, ...]) -> Prepared:
        with self._lock:
            prepared = self._prefixes.get(keys)
            if prepared is not None:
                self._prefixes.move_to_end(keys)
                return prepared
        prepared = self._extend(Prepared(), items, keys)
        with self._lock:
            if keys not in self._prefixes:
                self._prefixes[keys] = prepared
                self._held += len(prepared.candidates)
            while self._held > _CANDIDATES and len(self._prefixes) > 1:
                self._held -= len(self._prefixes.popitem(last=False)[1].candidates)
        return prepared

    def _extend(self, base: Prepared, items: Sequence[ContextItem], keys: Sequence[_Key]) -> Prepared:
        """``base`` with more items behind it."""
        sources, texts, candidates = list(base.sources), list(base.texts), list(base.candidates)
        label_tokens, columns = list(base.label_tokens), list(base.columns)
        value_tokens, vocabulary = dict(base.value_tokens), dict(base.vocabulary)
        grown: dict[str, list[int]] = {}
        pages = base.pages
        for number, (item, key) in enumerate(zip(items, keys, strict=True), start=base.items):
            piece = self._piece(item, key)
            first, first_source = len(candidates), len(sources)
            sources += [
                Source(number, None if s.page is None else s.page + pages, s.frame, s.body, s.date)
                for s in piece.sources
            ]
            candidates += [
                Candidate(c.label, c.value, c.how, c.prior, c.source + first_source, c.title) for c in piece.candidates
            ]
            texts += piece.texts
            label_tokens += piece.label_tokens
            value_tokens.update({first + n: found for n, found in piece.value_tokens.items()})
            for n, found in enumerate(piece.label_tokens, start=first):
                for token in found:
                    grown.setdefault(token, []).append(n)
            for label in piece.label_words:
                columns.append(tuple(vocabulary.setdefault(word, len(vocabulary)) for word in label))
            pages += len(item.pages)
        new, encode = candidates[len(base.candidates) :], self._encoder.encode
        new_words = list(vocabulary)[len(base.vocabulary) :]
        return Prepared(
            tuple(sources),
            tuple(texts),
            tuple(candidates),
            tuple(label_tokens),
            value_tokens,
            {**base.holders, **{token: (*base.holders.get(token, ()), *more) for token, more in grown.items()}},
            vocabulary,
            tuple(columns),
            _stack(base.names, encode([candidate.name for candidate in new])),
            _stack(base.readings, encode([candidate.reading for candidate in new])),
            _stack(base.frames, encode([source.frame for source in sources[len(base.sources) :]])),
            _stack(base.word_vectors, encode(new_words)),
            base.items + len(items),
            pages,
        )

    def _piece(self, item: ContextItem, key: _Key) -> _Piece:
        piece = self._pieces.get(key)
        if piece is None:
            piece = _cut(item, self._layout_of)
            self._pieces.put(key, piece)
        return piece


def _key(item: ContextItem) -> _Key:
    return item.text, item.date, tuple(page.digest for page in item.pages)


def _stack(base: Vectors, new: Vectors) -> Vectors:
    if not len(base):
        return new
    return np.concatenate([base, new]) if len(new) else base


def _cut(item: ContextItem, layout_of: Callable[[Page], Layout]) -> _Piece:
    """Every source and candidate of an item, in order."""
    sources: list[Source] = []
    candidates: list[Candidate] = []
    if item.text:
        sources.append(Source(0, None, item.text, item.text, item.date))
        for sentence in _SENTENCE.split(item.text):
            if len(sentence.strip()) >= 3:
                candidates.append(Candidate("", sentence.strip(), "text", 0.0, 0))
    for number, page in enumerate(item.pages):
        layout = layout_of(page)
        frame = "\n".join(part for part in (item.text, layout.title, layout.header) if part)
        body = "\n".join((item.text, *layout.lines))
        sources.append(Source(0, number, frame, body, item.date))
        for pair in layout.pairs:
            candidates.append(Candidate(pair.label, pair.value, pair.how, pair.prior, len(sources) - 1, layout.title))
    return _Piece(
        tuple(sources),
        tuple(_source_text(source) for source in sources),
        tuple(candidates),
        tuple(frozenset(tokens(candidate.name)) for candidate in candidates),
        tuple(_label_words(candidate) for candidate in candidates),
        {n: frozenset(found) for n, c in enumerate(candidates) if c.how != "text" and (found := tokens(c.value))},
    )


def _label_words(candidate: Candidate) -> tuple[str, ...]:
    return tuple([word for word in dict.fromkeys(words(candidate.name)) if not has_digit(word)][:_LABEL_WORDS])


def _source_text(source: Source) -> SourceText:
    frame, frame_letters = frozenset(tokens(source.frame)), _letters(source.frame)
    if source.body == source.frame:
        return SourceText(frame, frame, frame_letters, frame_letters)
    return SourceText(frame, frozenset(tokens(source.body)), frame_letters, _letters(source.body))


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def _found(there: frozenset[str], run_together: str, asked: Sequence[str]) -> set[str]:
    """The asked tokens in a text; OCR may run words together, so longer ones are also looked for inside."""
    return {t for t in asked if t in there or (len(t) >= 5 and t in run_together)}
