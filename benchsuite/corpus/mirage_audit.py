"""Audits of a MIRAGE bank: is the filler clean, do ids say anything, are the probes matched, is gold really shown.

An audit returns the problems that it found, one line each; an empty list means none. `banned_problem` alone is a part
of loading; the others judge a stimulus, ours in the tests.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from benchsuite.corpus.bank import Bank, Probe, SplitBank
from benchsuite.corpus.script import Artifact, FillerTask
from benchsuite.errors import DataError

SAME_TOPIC = 0.10
"""A filler task may share at most this part of an artefact's content words."""
SAME_QUESTION = 0.5
"""A filler exchange may share less than this part of a question's content words."""
SAID_BY_REPLY = 2
"""A reply in the planting may name at most so many of the values that are asked for."""

_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d(?!\d)"  # a day
    r"|\d{1,2}:\d\d(?::\d\d)?(?!\d)"  # a time
    r"|[a-z]?\d+(?:\.\d+){2,}"  # a version, an address
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])"
    r"|\d+\.\d+|[^\W_]+"
)
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)([a-z]{0,3})")


def words_of(text: str) -> tuple[str, ...]:
    """Words and numbers of a text, case-folded; a number by its value, apart from a unit glued to it.

    A day, a time of day and a version are one word each. Signs and currency symbols are left out, so that a
    search finds rather too much than too little.
    """
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()):
        number = _NUMBER.fullmatch(token)
        if number is None:
            found.append(token)
            continue
        value = Decimal(number[1].replace(",", ""))
        found.append(format(value.normalize(), "f"))
        if number[2]:
            found.append(number[2])
    return tuple(found)


def as_line(text: str) -> str:
    """`words_of` as one line with a space at both ends: what a search looks through, and for."""
    return f" {' '.join(words_of(text))} "


def banned_problem(
    filler: Sequence[FillerTask], answers: Mapping[str, str], names: Sequence[str]
) -> tuple[str, str, str] | None:
    """The first gold answer, artefact id or path in the filler, as (task id, field, problem).

    ``answers`` maps gold answers to the probes that they are of; an answer is looked for as a sequence of words,
    numbers by value, an id or a path as letters, whatever their case.
    """
    lines = {answer: as_line(answer) for answer in answers}
    for task in filler:
        task_line = as_line("\n".join(text for pair in task.turns for text in pair))
        task_text = "\n".join(text for pair in task.turns for text in pair).casefold()
        suspects = [answer for answer, line in lines.items() if line.strip() and line in task_line]
        named = [name for name in names if name.casefold() in task_text]
        if not suspects and not named:
            continue
        for number, pair in enumerate(task.turns):
            for place, text in enumerate(pair):
                field = f"turns[{number}][{place}]"
                for name in named:
                    if name.casefold() in text.casefold():
                        return task.id, field, f"the filler names {name!r}"
                for answer in suspects:
                    if lines[answer] in as_line(text):
                        return task.id, field, f"the filler says {answer!r}, the answer of probe {answers[answer]}"
    return None


@dataclass(frozen=True, slots=True)
class Drawn:
    """`drawn.json` of a made bank: what each artefact's picture shows, as (role, text), and what is asked in vain."""

    lines: Mapping[str, Sequence[tuple[str, str]]]
    absent: Mapping[str, Sequence[str]]

    def texts(self, artifact: Artifact) -> list[str]:
        """All that the artefact itself shows."""
        return [*(text for _, text in self.lines.get(artifact.id, ())), *([artifact.text] if artifact.text else [])]


def read_drawn(file: Path) -> Drawn:
    """Raises DataError when the file is absent or no JSON."""
    try:
        raw = json.loads(file.read_bytes())
        lines = {name: tuple((role, text) for role, text in each) for name, each in raw["images"].items()}
        return Drawn(lines, {name: tuple(words) for name, words in raw["absent"].items()})
    except (OSError, ValueError, KeyError) as error:
        raise DataError(str(file), None, None, f"cannot be read: {error}") from None


def audit(bank: Bank, drawn: Drawn) -> list[str]:
    """All audits of one bank."""
    found = [*filler_clean(bank), *topics_apart(bank, drawn), *ids_silent(bank)]
    for split in bank.splits:
        found += [*matched(split), *distinct(split), *shown(split, drawn), *absent(split, drawn), *replies_short(split)]
    return found


def filler_clean(bank: Bank) -> list[str]:
    """No gold answer, artefact id or path stands in the filler, and no text stands in it twice."""
    probes = [probe for split in bank.splits for probe in split.probes if probe.answerable]
    names = [name for split in bank.splits for a in split.artifacts for name in (a.id, *a.paths)]
    problem = banned_problem(bank.filler, {probe.answer: probe.id for probe in probes}, names)
    found = [": ".join(problem)] if problem else []
    texts = Counter(" ".join(words_of(text)) for task in bank.filler for pair in task.turns for text in pair)
    return found + [f"filler: stands {n} times: {text[:60]!r}" for text, n in texts.items() if n > 1]


def topics_apart(bank: Bank, drawn: Drawn) -> list[str]:
    """No filler task shares more than `SAME_TOPIC` of an artefact's content words, no exchange `SAME_QUESTION` of a
    question's."""
    found = []
    tasks = {task.id: content_words("\n".join(text for pair in task.turns for text in pair)) for task in bank.filler}
    pairs = [(task.id, content_words("\n".join(pair))) for task in bank.filler for pair in task.turns]
    for split in bank.splits:
        for artifact in split.artifacts:
            asked = [probe for probe in split.probes if probe.artifact == artifact.id]
            words = content_words("\n".join([*drawn.texts(artifact), *(f"{p.question}\n{p.answer}" for p in asked)]))
            for name, theirs in tasks.items():
                if len(words & theirs) > SAME_TOPIC * len(words):
                    found.append(f"filler {name}: shares with {artifact.id}: {', '.join(sorted(words & theirs))}")
            for probe in asked:
                mine = content_words(probe.question)
                for name, theirs in pairs:
                    if mine and len(mine & theirs) >= SAME_QUESTION * len(mine):
                        found.append(f"filler {name}: shares with {probe.id}: {', '.join(sorted(mine & theirs))}")
    return found


def ids_silent(bank: Bank) -> list[str]:
    """No id, path or image name has a word of a question, an answer or a kind, or the signs of an answer."""
    found = []
    for split in bank.splits:
        said = {w for p in split.probes for text in (p.question, p.answer) for w in words_of(text)}
        said |= {word for artifact in split.artifacts for word in words_of(artifact.kind)}
        signs = {"".join(words_of(probe.answer)) for probe in split.probes if probe.answerable}
        for name in _names(split):
            stem = name[: -len(Path(name).suffix)] if Path(name).suffix else name
            words = {word for word in words_of(stem) if len(word) > 2}
            found += [f"{name}: says {word!r}" for word in sorted(words & said)]
            letters = re.sub(r"[\W_]", "", stem.casefold())
            found += [
                f"{name}: says the answer {sign!r}" for sign in sorted(signs) if len(sign) > 3 and sign in letters
            ]
    return found


def matched(split: SplitBank) -> list[str]:
    """Each unanswerable probe has an answerable one of the same object, query type and difficulty in its pair; the
    two are as many, but for answerable ones without a counterpart."""
    found: list[str] = []
    pairs: dict[str, list[Probe]] = {}
    for probe in split.probes:
        pairs.setdefault(probe.pair or probe.id, []).append(probe)
    for name, probes in pairs.items():
        signs = sorted(probe.answerable for probe in probes)
        if signs not in ([True], [False, True]):
            found.append(f"{split.name}: pair {name}: {', '.join(p.id for p in probes)} are no matched pair")
        for field in ("artifact", "query", "difficulty"):
            if len({getattr(probe, field) for probe in probes}) > 1:
                found.append(f"{split.name}: pair {name}: {field} differs")
    for probe in split.probes:
        kind = next(artifact.kind for artifact in split.artifacts if artifact.id == probe.artifact)
        if probe.family != kind + ("+" if probe.answerable else "-"):
            found.append(f"{split.name}: {probe.id}: family {probe.family!r} is not that of its object")
        if probe.answerable and probe.source != probe.artifact:
            found.append(f"{split.name}: {probe.id}: source and object differ")
    families = {probe.family for probe in split.probes}
    if len(families) != 2 * len(split.artifacts):
        found.append(f"{split.name}: {len(families)} families of {len(split.artifacts)} objects")
    return found


def distinct(split: SplitBank) -> list[str]:
    """No question is asked twice."""
    asked = Counter(" ".join(words_of(probe.question)) for probe in split.probes)
    return [f"{split.name}: asked {n} times: {text!r}" for text, n in asked.items() if n > 1]


def shown(split: SplitBank, drawn: Drawn) -> list[str]:
    """Every gold answer stands in its artefact; a value that is asked for stands there once among the values."""
    found = []
    by_id = {artifact.id: artifact for artifact in split.artifacts}
    for probe in split.probes:
        if not probe.answerable:
            continue
        texts = drawn.texts(by_id[probe.source])
        if as_line(probe.answer) not in as_line("\n".join(texts)):
            found.append(f"{split.name}: {probe.id}: {probe.answer!r} is not shown")
        values = [
            t for role, t in drawn.lines.get(probe.source, ()) if role not in ("label", "title", "subtitle", "board")
        ]
        if sum(as_line(value) == as_line(probe.answer) for value in values) > 1:
            found.append(f"{split.name}: {probe.id}: {probe.answer!r} is shown more than once")
    return found


def absent(split: SplitBank, drawn: Drawn) -> list[str]:
    """What an unanswerable question asks for is named by it, and nothing of its artefact says it: no line drawn, no
    record, no planting turn."""
    found = []
    by_id = {artifact.id: artifact for artifact in split.artifacts}
    for probe in split.probes:
        if probe.answerable:
            continue
        artifact, terms = by_id[probe.artifact], drawn.absent.get(probe.id, ())
        if not terms:
            found.append(f"{split.name}: {probe.id}: nothing is said to be absent")
        turns = [turn.text for turn in split.turns if artifact.turn == turn.id or artifact.id in turn.text]
        there = as_line("\n".join([*drawn.texts(artifact), *(record.text for record in artifact.records), *turns]))
        for term in terms:
            if as_line(term) not in as_line(probe.question):
                found.append(f"{split.name}: {probe.id}: the question does not name {term!r}")
            if as_line(term) in there:
                found.append(f"{split.name}: {probe.id}: {term!r} is not absent")
    return found


def replies_short(split: SplitBank) -> list[str]:
    """No reply of the planting says more than `SAID_BY_REPLY` of the answers."""
    answers = {as_line(probe.answer) for probe in split.probes if probe.answerable}
    found = []
    for turn in split.turns:
        line = as_line(turn.text)
        said = sorted(answer.strip() for answer in answers if answer in line)
        if turn.role == "assistant" and len(said) > SAID_BY_REPLY:
            found.append(f"{split.name}: {turn.id}: the reply says {', '.join(said)}")
    return found


def content_words(text: str) -> frozenset[str]:
    """Words of four letters or more, without those that any text has."""
    return frozenset(word for word in words_of(text) if len(word) > 3 and word.isalpha() and word not in _COMMON)


def _names(split: SplitBank) -> Iterator[str]:
    for artifact in split.artifacts:
        yield from (artifact.id, *artifact.paths, *(image.path for image in artifact.images))
    yield from (probe.id for probe in split.probes)
    yield from (file.path for file in split.files)


_COMMON = frozenset(
    word
    for line in (
        "about above after again also away back been before below both came come could does down each even every",
        "first from give goes good have here highest into just keep kept know largest last leave left like line",
        "lines long longer look made make many more most much must name named need next none nothing number once",
        "only other over part place please point points rest right said same second should shows since size some",
        "stand stands such take than that their them then there these they thing third this those time times under",
        "until used value very want were what when where which while whose will with without work would year your",
        "zero",
    )
    for word in line.split()
)
