"""The direct lane: ``bench.ask`` in anyone's tests. Same cache and row as a cell, in no plan and no table."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.model import History, Image, Question, Session, Turn
from benchsuite.corpus.store import turn_items
from benchsuite.delivery.protocol import bundled_protocol
from benchsuite.delivery.spec import parse_delivery
from benchsuite.errors import ConfigError
from benchsuite.models.wire import sha256_json
from benchsuite.outcome import Outcome, row_json
from benchsuite.plan import Value, make_arm
from benchsuite.registry import Component
from benchsuite.runtime.states import parse_state
from benchsuite.scoring.answers import Score, final_answer
from benchsuite.workbench import Stimulus
from benchsuite_pytest.lane import BenchLane
from benchsuite_pytest.planned import DIRECT, uses_bench
from benchsuite_pytest.preflight import session_scorer
from benchsuite_pytest.session import SESSION, BenchSession
from benchsuite_pytest.terminal import DIRECT_ROW

SUITE = "memlens"  # whose wording and scorer the direct lane uses


class Bench:
    """Ask a configured model about a history, from any test.

    Example::

        def test_total(bench):
            outcome = bench.ask("What is the total?", history=[{"role": "user", "images": ["receipt.png"]}])
            assert outcome.answered and "12.50" in outcome.answer
    """

    def __init__(self, session: BenchSession, request: pytest.FixtureRequest) -> None:
        self._session, self._request = session, request

    def ask(
        self,
        question: str | Question,
        *,
        history: History | Sequence[Turn | Mapping[str, Any]] | None = None,
        at: str | None = None,
        retrieval: str | Any | None = None,
        delivery: str = "pixels",
        model: str | None = None,
    ) -> Outcome:
        """The outcome of one question.

        ``history`` is a History, or turns: Turn objects or mappings with ``role``, ``text``, ``date`` and
        ``images`` (paths or bytes). ``retrieval`` is a registered name or any object with ``rank``; without it
        the whole history is delivered. A plain string has no gold, so its outcome is answered but not scored.
        ``at`` is a conversation state (``S1-d50k``, ``S2``) of the first conversation of a corpus that has such
        states: the question is asked there, without a history of its own, and nothing is retrieved unless
        ``retrieval`` says so. Raises ConfigError for an argument of another kind, and for a state, retrieval,
        delivery or model that does not exist.
        """
        stage = self._stage(at, history) if at is not None else None
        if not isinstance(question, str | Question):
            raise ConfigError(f"question must be text or a Question, not a {type(question).__name__}")
        pictures = _Pictures()
        turns = _turns(history, pictures)
        digest = _history_digest(turns)
        asked = (
            question
            if isinstance(question, Question)
            else Question(
                id=hashlib.sha256(question.encode()).hexdigest()[:12],
                type="",
                text=question,
                gold="",
                date="",
                history_id=digest,
            )
        )
        registry = self._session.registry
        name = retrieval if isinstance(retrieval, str) else "full" if stage is None else "none"
        component = registry.retrievals.get(name)
        if component is None:
            raise ConfigError(f"retrieval has no value {name!r}; known: {', '.join(registry.retrievals)}")
        if retrieval is not None and not isinstance(retrieval, str):
            if not callable(getattr(retrieval, "rank", None)):
                raise ConfigError(f"retrieval is an {type(retrieval).__name__} without rank()")
            name = f"object.{type(retrieval).__name__}"
            component = Component(name, lambda: retrieval)
        suite = SUITE if stage is None else stage.suite
        protocol = self._session.prepared.protocols.get(suite) or bundled_protocol(suite)
        protocol.check(parse_delivery(delivery, registry.deliveries))
        models = self._session.prepared.models
        if model is not None and model not in models:
            raise ConfigError(f"model {model!r} is not configured; known: {', '.join(models)}")
        values: dict[str, Value] = {"retrieval": name, "delivery": delivery}
        values["model"] = model or self._session.prepared.tested[0]
        if stage is not None and at is not None:
            values |= {"state": at, "length": stage.length}
            digest = stage.history
        arm = make_arm(values, registry.axes_of(suite), registry.defaults)
        scorer = session_scorer(registry, suite, self._session.settings.scoring)
        stimulus = Stimulus(
            cell=f"{DIRECT}:{arm.key}-{sha256_json([asked.text, asked.date, digest])[:12]}",
            suite=DIRECT,
            corpus=DIRECT,
            question=asked,
            items=turn_items(History(digest, (Session("", "", turns),))),
            image_bytes=pictures.bytes_of,
            protocol=protocol,
            scorer=scorer if isinstance(question, Question) else replace(scorer, score=_unscored, labels=_unlabelled),
        )
        engine = self._session.engine(self._request.session)
        lane = engine.lane
        assert isinstance(lane, BenchLane)
        asked_there = (
            lane.ask_direct(stimulus, arm, component)
            if stage is None
            else lane.ask_direct_at(stage.suite, stage.history, stimulus, arm, component)
        )
        outcome = engine.submit(asked_there).result()
        self._request.node.user_properties.append((DIRECT_ROW, row_json(outcome.to_row())))
        return outcome

    def _stage(self, at: str, history: object) -> _Stage:
        """Where a state is asked at. Raises ConfigError for one that does not exist."""
        if history is not None:
            raise ConfigError(f"at {at!r}: a state has its own conversation; ask without a history")
        milestone = parse_state(at)
        for suite, corpus in self._session.prepared.corpora.items():
            length = corpus.lengths[0]
            first = corpus.outline(length)[0].history_id
            script = corpus.script(first)
            if script is not None:
                milestone.tokens(script.scales[length])
                return _Stage(suite, length, first)
        raise ConfigError(f"no corpus here has a conversation state {at!r}: --bench-corpus mirage=mirage-mini has")


@dataclass(frozen=True, slots=True)
class _Stage:
    suite: str
    length: str
    history: str


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Bench:
    """Ask a configured model directly: see :class:`Bench`."""
    if not uses_bench(request.node):
        pytest.fail("name `bench` among the arguments of the test: runs are opened before tests", pytrace=False)
    return Bench(request.config.stash[SESSION], request)


class _Pictures:
    """Images handed in by a test, by digest."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def add(self, given: str | Path | bytes) -> Image:
        name = "image" if isinstance(given, bytes) else str(given)
        try:
            data = given if isinstance(given, bytes) else Path(given).read_bytes()
        except (OSError, TypeError) as error:
            raise ConfigError(f"{name}: cannot be read: {error}") from None
        digest = hashlib.sha256(data).hexdigest()
        try:
            with PillowImage.open(io.BytesIO(data)) as picture:
                mime = PillowImage.MIME.get(picture.format or "", "")
                width, height = picture.size
        except OSError as error:
            raise ConfigError(f"{name}: not an image: {error}") from None
        self._data[digest] = data
        return Image(digest, name, mime, width, height, len(data))

    def bytes_of(self, image: Image) -> bytes:
        return self._data[image.sha256]


def _turns(history: History | Sequence[Turn | Mapping[str, Any]] | None, pictures: _Pictures) -> tuple[Turn, ...]:
    if isinstance(history, History):
        return history.turns
    turns: list[Turn] = []
    for index, given in enumerate(history or ()):
        if isinstance(given, Turn):
            turns.append(given)
            continue
        if not isinstance(given, Mapping):
            raise ConfigError(f"turn {index}: a {type(given).__name__} is no turn; give a Turn or a mapping")
        unknown = set(given) - {"role", "text", "date", "images"}
        if unknown:
            raise ConfigError(f"turn {index}: no field {sorted(unknown)[0]!r}; fields: role, text, date, images")
        role, text, date = given.get("role", "user"), given.get("text", ""), given.get("date", "")
        if role not in ("user", "assistant"):
            raise ConfigError(f"turn {index}: role {role!r} is neither user nor assistant")
        for name, value in (("text", text), ("date", date)):
            if not isinstance(value, str):
                raise ConfigError(f"turn {index}: {name} must be text")
        images = tuple(pictures.add(image) for image in given.get("images", ()))
        turns.append(Turn(f"t{index}", role, text, images, date))
    return tuple(turns)


def _history_digest(turns: Sequence[Turn]) -> str:
    return sha256_json([[t.role, t.text, t.date, [i.sha256 for i in t.images]] for t in turns])


def _unscored(question: Question, answer: str, refusal: str) -> Score:
    """A question without gold has an answer and no score."""
    return Score("unparsed", None, None, "", "none/1", final_answer(answer))


def _unlabelled(question: Question) -> tuple[str, ...]:
    return ()
