"""An LLM judge for MemLens answers: one request and one verdict line a vote, the majority of the votes.

The judge sees question, reference, candidate and the criteria of the task; neither the arm nor the model is named.
A reply without exactly one verdict is no verdict: the answer stays unparsed and is never scored 0 for it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from benchsuite.corpus.model import Question
from benchsuite.models.wire import Message, Part
from benchsuite.registry import STRICT
from benchsuite.scoring.answers import Score, final_answer
from benchsuite.scoring.tasks import task_key

JUDGE = "memlens-judge/1"
CANDIDATE_START, CANDIDATE_END = 2000, 4000
"""Characters shown of the start and the end of a candidate that is longer than both together."""

_VERDICT = re.compile(r"^[ \t*_`]*VERDICT[ \t]*=(.*)$", re.MULTILINE)
_CUT = ("length", "content_filter")


@dataclass(frozen=True, slots=True)
class Wording:
    """The judge's texts; ``label`` is what a row's scorer says."""

    label: str
    system: str
    nothing: str
    left_out: str
    criteria: Mapping[str, str]


@lru_cache(maxsize=1)
def wording() -> Wording:
    """The bundled wording of the MemLens judge."""
    table = tomllib.loads((resources.files("benchsuite.scoring") / "judges" / "memlens.toml").read_text("utf-8"))
    label = f"{table['name']}/{table['version']}"
    return Wording(label, table["system"].strip(), table["nothing"], table["left_out"], table["criteria"])


def is_judged(question: Question, score: Score, mode: str = STRICT) -> bool:
    """Whether an answer goes to the judge, in a mode of ``--bench-scoring``.

    Strict: right and wrong answers to answerable questions. Refusals are found by rule: one of an answerable
    question is 0, and where the conversations hold no answer the rule has the last word. Upstream: every answer.
    """
    if mode != STRICT:
        return score.word != "unparsed"
    return question.answerable and score.word in ("right", "wrong")


def judge_messages(question: Question, answer: str, refusal: str) -> tuple[Message, ...]:
    """The messages of a vote on ``answer``, which is shown without its reasoning.

    ``refusal`` is the protocol's phrase, the reference of a question that the conversations do not answer. A
    knowledge update shows the outdated answer, where the corpus has it.
    """
    texts, key = wording(), task_key(question).key
    reference = question.gold if question.answerable else refusal
    lines = [f"Question: {question.text}", f"Reference: {reference}"]
    if key == "KU_KnowledgeUpdate" and question.outdated:
        lines.append(f"Outdated answer: {question.outdated}")
    lines += ["Candidate:", *(f"| {line}" for line in _candidate(answer, texts).splitlines()), ""]
    system = texts.system.replace("{criterion}", texts.criteria[key])
    return Message("system", (Part("instruction", system),)), Message("user", (Part("question", "\n".join(lines)),))


def _candidate(answer: str, texts: Wording) -> str:
    """The final answer; of a long one its start and its end, where answers stand. It is judged all the same."""
    text = final_answer(answer)
    if not text:
        return texts.nothing
    if len(text) <= CANDIDATE_START + CANDIDATE_END:
        return text
    gap = texts.left_out.replace("{count}", str(len(text) - CANDIDATE_START - CANDIDATE_END))
    return f"{text[:CANDIDATE_START]}\n{gap}\n{text[-CANDIDATE_END:]}"


def parse_verdict(text: str, finish: str = "") -> float | None:
    """1.0 or 0.0, or None where the judge's reply holds no verdict, another number, or more than one.

    A reply that was cut (``finish`` is *length* or *content_filter*) has none, whatever stands in it.
    """
    if finish in _CUT:
        return None
    verdicts = [verdict.strip(" \t\r*_`.") for verdict in _VERDICT.findall(final_answer(text))]
    return float(verdicts[0]) if verdicts in (["0"], ["1"]) else None


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on one answer: for, against, and those that gave no verdict."""

    votes_for: int
    votes_against: int
    votes_missing: int

    @property
    def verdict(self) -> float | None:
        """What more than half of all votes asked for say; None when no side has as many."""
        half = (self.votes_for + self.votes_against + self.votes_missing) / 2
        return 1.0 if self.votes_for > half else 0.0 if self.votes_against > half else None

    def scores(self) -> dict[str, float]:
        """For ``scores`` of an outcome: the verdict, if there is one, and every vote where several were asked for."""
        votes = {"for": self.votes_for, "against": self.votes_against, "missing": self.votes_missing}
        found = {"judge": self.verdict} if self.verdict is not None else {}
        return found | (
            {f"judge_votes_{name}": float(n) for name, n in votes.items()} if sum(votes.values()) > 1 else {}
        )


def tally(verdicts: Sequence[float | None]) -> Tally:
    """Count verdicts (1.0, 0.0 or None) of one answer."""
    return Tally(verdicts.count(1.0), verdicts.count(0.0), verdicts.count(None))
