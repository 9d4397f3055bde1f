"""An LLM judge for short answers: one request, one verdict line. Our own wording, versioned."""

from __future__ import annotations

import re

from benchsuite.corpus.model import Question
from benchsuite.models.wire import Message, Part

JUDGE = "judge/1"
_VERDICT = re.compile(r"^\s*VERDICT=([01])\s*$", re.MULTILINE)

_SYSTEM = (
    "You compare a candidate answer with a reference answer to the same question. The candidate counts as "
    "correct when it commits to the same fact, whatever its wording or format. End with one line: VERDICT=1 "
    "if it is correct, VERDICT=0 if it is not."
)


def judge_messages(question: Question, answer: str) -> tuple[Message, ...]:
    """The judge sees question, reference and candidate; neither the arm nor the model is named."""
    case = f"Question: {question.text}\nReference: {question.gold}\nCandidate: {answer}\n"
    return Message("system", (Part("instruction", _SYSTEM),)), Message("user", (Part("question", case),))


def parse_verdict(text: str) -> float | None:
    """1.0 or 0.0, or None unless the text holds exactly one verdict line."""
    verdicts = _VERDICT.findall(text)
    return float(verdicts[0]) if len(verdicts) == 1 else None
