"""The support of every candidate: lexical, semantic and layout evidence for each span."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
import numpy.typing as npt

from benchsuite.models.embedded.encode import Encoder
from benchsuite.models.embedded.prepare import Candidate, Floats, Prepared, Source
from benchsuite.models.embedded.text import asks_message_date, has_digit, question_kind, stem, tokens, words

_SPECIFIC = re.compile(r"(?<!^)(?<![.?!]\s)\b(?:[A-Z][\w&’']*|\d[\w.,:/-]*)")


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


def rank(question: str, prepared: Prepared, encoder: Encoder) -> Ranking:
    """Features of every candidate for a question."""
    kind = question_kind(question)
    dated = kind == "date" and asks_message_date(question)
    asked = list(dict.fromkeys(tokens(question)))
    candidates = prepared.candidates
    if not candidates:
        return Ranking(kind, frozenset(asked), prepared.sources, (), np.zeros((0, len(FEATURES))))
    found = [text.found(asked) for text in prepared.texts]
    rarity = _rarity(asked, Counter(t for _, in_body in found for t in in_body), len(found))
    label_rarity = _rarity(asked, {t: len(prepared.holders.get(t, ())) for t in asked}, len(candidates))
    specific = {stem(word.lower()) for match in _SPECIFIC.findall(question) for word in words(match)} & set(asked)
    of_source = np.array(
        [
            (
                _share(in_frame, asked, rarity),
                _share(in_body, asked, rarity),
                len(specific & in_body) / len(specific) if specific else 1.0,
            )
            for in_frame, in_body in found
        ]
    )
    question_vector = encoder.encode([question])[0]
    open_vectors = encoder.encode([_open_words(question, in_frame) for in_frame, _ in found])[prepared.source_of]

    rows = np.zeros((len(candidates), len(FEATURES)))
    rows[:, 0:3] = of_source[prepared.source_of]
    rows[:, 3] = (prepared.frames @ question_vector)[prepared.source_of]
    rows[:, 8] = prepared.readings @ question_vector
    rows[:, 9] = (open_vectors * prepared.names).sum(axis=1)
    rows[:, 10] = prepared.fits(kind)
    rows[:, 11:14] = prepared.shape
    for n, value in prepared.value_tokens.items():
        rows[n, 14] = value <= set(asked)
    open_tokens: dict[int, frozenset[str]] = {}
    for n, shared in _shared(prepared.holders, asked).items():
        candidate, in_frame = candidates[n], found[candidates[n].source][0]
        framed = in_frame if candidate.label else in_frame - shared  # a sentence is its own frame
        left = [t for t in asked if t not in framed]
        rows[n, 4] = _share(shared, left, label_rarity)
        if candidate.label:
            explained = len(shared - framed) + 0.5 * len(shared & framed)
            rows[n, 5] = explained / max(1, len(prepared.label_tokens[n]))
        elif len(left) != len(asked) - len(in_frame):
            open_tokens[n] = frozenset(left)
    unframed = [frozenset(t for t in asked if t not in in_frame) for in_frame, _ in found]
    rows[:, 6:8] = _word_similarity(question, prepared, unframed, open_tokens, encoder)
    if dated:
        for n, candidate in enumerate(candidates):
            if candidate.how == "text" and prepared.sources[candidate.source].date:
                rows[n, 10] = 1.0
    return Ranking(kind, frozenset(asked), prepared.sources, candidates, rows)


def _shared(holders: Mapping[str, Sequence[int]], asked: Sequence[str]) -> dict[int, set[str]]:
    """The asked tokens in the name of each candidate that has any."""
    shared: dict[int, set[str]] = {}
    for token in asked:
        for n in holders.get(token, ()):
            shared.setdefault(n, set()).add(token)
    return shared


def _open_words(question: str, in_frame: set[str]) -> str:
    """The question without the words that the frame explains; all of it when none or all are explained."""
    every = re.findall(r"[\w$%'’-]+", question)
    left = [word for word in every if not tokens(word) or not set(tokens(word)) <= in_frame]
    return " ".join(left) if len(left) < len(every) and any(tokens(word) for word in left) else question


def _rarity(asked: Sequence[str], frequency: Mapping[str, int], documents: int) -> dict[str, float]:
    """Inverse document frequency of the asked tokens over sources or labels, smoothed to stay positive.

    A word seen nowhere counts as seen once: what a question calls a thing often stands on none of them.
    """
    return {t: math.log((1.5 + documents) / (0.5 + max(1, frequency.get(t, 0)))) for t in asked}


def _share(found: Iterable[str], asked: Sequence[str], weight: dict[str, float]) -> float:
    total = sum(weight[t] for t in asked)
    return sum(weight[t] for t in asked if t in found) / total if total > 0 else 0.0


def _word_similarity(
    question: str,
    prepared: Prepared,
    unframed: Sequence[frozenset[str]],
    own: Mapping[int, frozenset[str]],
    encoder: Encoder,
) -> npt.NDArray[np.float32]:
    """Word-by-word cosine of the question's open content words and the words of every name, (n, 2).

    The first column is the mean best cosine of the open words, the second that of the words of a label; 0 for an
    empty side, and for what has no label in the second. ``unframed`` are the open words' stems by source, ``own``
    those of the candidates that differ from their source's.
    """
    out = np.zeros((len(prepared.candidates), 2), np.float32)
    asked = [w for w in dict.fromkeys(words(question)) if not has_digit(w)]
    held, starts, flat = prepared.flat_columns
    if not asked or not len(held):
        return out
    stems = [stem(word) for word in asked]
    cosine = encoder.encode(asked) @ prepared.word_vectors.T
    best = np.maximum.reduceat(cosine[:, flat], starts, axis=1)  # of each asked word over each name that has words
    groups: dict[tuple[int, ...], list[int]] = {}
    of_source = [tuple(n for n, word in enumerate(stems) if word in open_stems) for open_stems in unframed]
    for place, n in enumerate(held.tolist()):
        open_stems = own.get(n)
        if open_stems is None:
            rows = of_source[prepared.candidates[n].source]
        else:
            rows = tuple(k for k, word in enumerate(stems) if word in open_stems)
        groups.setdefault(rows, []).append(place)
    for rows, places in groups.items():
        if not rows:
            continue
        picked = held[places]
        out[picked, 0] = np.ascontiguousarray(best[np.ix_(rows, places)].T).mean(axis=1)
        nearest = cosine[list(rows)].max(axis=0)
        by_length: dict[int, list[int]] = {}
        for n in picked.tolist():
            if prepared.candidates[n].label:
                by_length.setdefault(len(prepared.columns[n]), []).append(n)
        for labels in by_length.values():
            out[labels, 1] = nearest[[prepared.columns[n] for n in labels]].mean(axis=1)
    return out
