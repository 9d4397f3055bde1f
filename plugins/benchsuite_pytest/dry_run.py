"""``--bench-dry-run``: every planned cell is retrieved and rendered as the run would, and nothing is sent to a model.

No run folder, no outcome and no answer is written. Encoders that the run serves itself do their work, since retrieval
needs it, and what they compute stays in the caches.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from benchsuite.corpus.model import Question
from benchsuite.delivery.arrange import all_slots
from benchsuite.delivery.images import ImageSlot, scaled_size
from benchsuite.delivery.render import render
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import BenchError, ConfigError
from benchsuite.estimate import Estimate, Planned, Size, output_limit, past_of, read_prices
from benchsuite.models.cache import FILE_NAME, AnswerStore
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Reply, Request, WireImage, request_key, sha256_text
from benchsuite.plan import Cell
from benchsuite.probe import open_probe
from benchsuite.runtime.tools import TOOLS
from benchsuite.scoring.judge import CANDIDATE_END, CANDIDATE_START, is_judged, judge_messages
from benchsuite.workbench import Stimulus, place, retrieve
from benchsuite_pytest.dry_run_tables import arms_table, models_table
from benchsuite_pytest.lane import BenchLane, Place
from benchsuite_pytest.planned import ITEM_CELL, ITEM_EXPERIMENT, uses_bench
from benchsuite_pytest.preflight import Prepared
from benchsuite_pytest.terminal import write_causes

if TYPE_CHECKING:
    from benchsuite.models.tokenizer import Counter as TokenCounter
    from benchsuite.scoring.answers import Score
    from benchsuite_pytest.session import BenchSession

WIDTH = 8  # cells that are composed side by side: some wait for an encoder


@dataclass(frozen=True, slots=True)
class Composed:
    """A cell's request with what it was made of. ``complete``: all its images are prepared, so its key is known."""

    stimulus: Stimulus
    spec: ModelSpec
    request: Request
    complete: bool


class DryLane(BenchLane):
    """Composes requests with everything that a run composes them with; there is no one it could ask."""

    async def compose(self, cell: Cell) -> Composed:
        """Raises what the run would make an error of this cell before it asks."""
        stimulus, bench, arm = await self._stimulus(cell), self.workbench, cell.arm
        delivery, spec = bench.delivery(arm.text("delivery")), bench.model(arm.text("model"))
        if stimulus.scene is not None:
            opening = await open_probe(stimulus, stimulus.scene, arm, delivery, bench)
            return Composed(stimulus, spec, Request(spec.model, opening.messages, spec.params, TOOLS), True)
        items = await retrieve(stimulus, arm, delivery, bench)
        placed = await place(stimulus, items, delivery)
        images: dict[str, WireImage] = {}
        complete = True
        for slot in all_slots(placed):
            known = bench.desk.kept(slot, delivery, stimulus.image_bytes)
            complete = complete and known is not None
            images[slot.key] = known or _unprepared(slot, delivery)
        query = stimulus.question.query()
        messages = render(placed, query, delivery, stimulus.protocol, images, len(stimulus.items))
        return Composed(stimulus, spec, Request(spec.model, messages, spec.params), complete)

    async def _send(self, spec: ModelSpec, request: Request) -> Reply:
        """Of summaries and trunks those that the run's own reader writes, as encoders do their work."""
        if spec.launch == "embedded":
            return await super()._send(spec, request)
        raise ConfigError(
            f"not estimated: {spec.endpoint} has yet to write a summary or a trunk; run one cell of it first"
        )


def _unprepared(slot: ImageSlot, delivery: Delivery) -> WireImage:
    """An image of the size that it will have; what stands for its digest tells the treatment, not the bytes."""
    shown = slot.replaces or slot.image
    width, height = scaled_size(shown.width, shown.height, delivery.side)
    told = f"unprepared {delivery.codec} {delivery.side} {slot.key}"
    return WireImage(told, slot.image.sha256, "image/png", width, height)


class Tokens:
    """Token counts of texts, each distinct text counted once."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def of(self, request: Request) -> int:
        """Of all text parts, each by itself, as the tables count what was delivered."""
        texts = [part.text for message in request.messages for part in message.parts if part.image is None]
        new = {sha: text for text in texts if (sha := sha256_text(text)) not in self._known}
        if new:
            self._known.update(zip(new, self._count(list(new.values())), strict=True))
        return sum(self._known[sha256_text(text)] for text in texts)


@dataclass(slots=True)
class Estimator:
    """Adds up cells. ``store`` is the answer cache, None where the run would not read one."""

    lane: DryLane
    prepared: Prepared
    store: AnswerStore | None
    tokens: Tokens
    estimate: Estimate = field(default_factory=Estimate)

    async def run(self, cells: Sequence[tuple[Cell, Sequence[str]]]) -> None:
        """Every cell with the experiments that show it."""
        queue = iter(cells)
        await asyncio.gather(*(self._work(queue) for _ in range(WIDTH)))

    async def _work(self, queue: Iterator[tuple[Cell, Sequence[str]]]) -> None:
        for cell, experiments in queue:
            label = cell.arm.text("model")
            sums = [self.estimate.models.setdefault(label, Planned())]
            for experiment in experiments:
                arms = self.estimate.arms.setdefault(experiment, {})
                sums.append(arms.setdefault(cell.arm.key, Planned()))
            for each in sums:
                each.cells += 1
            try:
                await self._add(cell, sums)
            except Exception as error:  # as in a run: this cell's error, and the others go on
                words = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
                self.estimate.causes[words] += 1

    async def _add(self, cell: Cell, sums: Sequence[Planned]) -> None:
        composed = await self.lane.compose(cell)
        spec, request = composed.spec, composed.request
        key = request_key(spec.family, request, int(cell.arm["repeat"]))
        reply = self._stored(key) if composed.complete else None
        known = True if reply else False if composed.complete or self.store is None else None
        images = tuple((image.width, image.height) for image in request.images)
        size = Size(self.tokens.of(request), images, known)
        for each in sums:
            each.requests.setdefault(key, size)
        if cell.arm.text("judge") != "none":
            self._judge(cell, composed, key, reply)

    def _judge(self, cell: Cell, composed: Composed, key: str, reply: Reply | None) -> None:
        """Add the votes on one answer: those that an answer in the cache leads to, else all that may be needed."""
        stimulus, bench = composed.stimulus, self.lane.workbench
        question, scorer, refusal = stimulus.question, stimulus.scorer, stimulus.protocol.refusal
        spec = bench.model(cell.arm.text("judge"))
        planned = self.estimate.judges.setdefault(spec.name, Planned())
        if reply is None:
            if not _may_be_judged(question, scorer.mode):
                return
            planned.cells += 1
            self.estimate.open_verdicts += 1
            request = Request(spec.model, judge_messages(question, "", refusal), spec.params)
            longest = min(
                output_limit(composed.spec) or CANDIDATE_START + CANDIDATE_END, CANDIDATE_START + CANDIDATE_END
            )
            size = Size(self.tokens.of(request) + longest)
            for vote in range(bench.judge_votes):
                planned.requests.setdefault(f"{key} {question.id} {vote}", size)
            return
        output = {"output_tokens": reply.completion_tokens} if scorer.takes_tokens else {}
        score: Score = scorer.score(question, reply.text, refusal, **output)
        if not is_judged(question, score, scorer.mode):
            return
        planned.cells += 1
        request = Request(spec.model, judge_messages(question, score.answer, refusal), spec.params)
        for vote in range(bench.judge_votes):
            known = request_key(spec.family, request, vote)
            planned.requests.setdefault(known, Size(self.tokens.of(request), (), self._stored(known) is not None))

    def _stored(self, key: str) -> Reply | None:
        found = self.store.get(key) if self.store is not None else None
        return found.reply if found else None


def _may_be_judged(question: Question, mode: str) -> bool:
    """Whether there is an answer to this question that the judge would get."""
    from benchsuite.scoring.answers import Score

    return is_judged(question, Score("right", 1.0, False, "", "", ""), mode)


class DryRun:
    """Registered in a session with ``--bench-dry-run``, in place of what runs its tests."""

    def __init__(self, session: BenchSession) -> None:
        self._session = session
        self._estimate: Estimate | None = None
        self._tokenizer = ""
        self._left = Counter[str]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Compose all cells and run no test."""
        if session.testsfailed:  # whatever pytest would go on with: nothing may be sent
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        if session.config.option.collectonly:
            return None
        cells: dict[str, tuple[Cell, list[str]]] = {}
        for item in session.items:
            cell = item.stash.get(ITEM_CELL, None)
            if cell is not None:
                cells.setdefault(cell.id, (cell, []))[1].append(item.stash[ITEM_EXPERIMENT].nodeid)
            else:
                self._left["ask" if uses_bench(item) else "test"] += 1
        if cells:
            if self._session.progress is not None:
                self._session.progress.note(f"dry run: composing the requests of {len(cells)} cells")
            self._estimate = asyncio.run(self._compose(list(cells.values())))
        return True

    async def _compose(self, cells: Sequence[tuple[Cell, Sequence[str]]]) -> Estimate:
        from benchsuite.models.tokenizer import load_tokenizer

        session, settings = self._session, self._session.settings
        broker = session.start_broker()
        assert session.folder is not None
        quiet = replace(session.prepared, settings=replace(settings, cache="off", replay=False))
        lane = DryLane(quiet, Place("dry-run", session.folder / "dry-run"), broker.slots, broker)
        self._tokenizer, count = load_tokenizer(settings.tokenizer)
        folder = settings.folder / "cache"
        reads = settings.cache in ("on", "readonly") and (folder / FILE_NAME).is_file()
        store = AnswerStore(folder, readonly=True) if reads else None
        try:
            await lane.open()
            estimator = Estimator(lane, session.prepared, store, Tokens(count))
            await estimator.run(cells)
        finally:
            await lane.close()
            if store is not None:
                store.close()
        return estimator.estimate

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Cells that the run would make errors of fail the dry run as they would fail it."""
        if self._estimate is not None and self._estimate.causes and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("benchsuite: dry run")
        if self._estimate is not None:
            from benchsuite_reports.formats import as_text

            prepared = self._session.prepared
            past, problems = past_of(prepared.settings.folder, prepared.models)
            prices = read_prices(prepared.settings.prices) if prepared.settings.prices is not None else None
            terminalreporter.write_line(
                as_text(arms_table(self._estimate, self._tokenizer))
                + "\n"
                + as_text(models_table(self._estimate, prepared, past, prices))
            )
            for problem in problems:
                terminalreporter.write_line(f"benchsuite: {problem}", yellow=True)
            write_causes(terminalreporter, self._estimate.causes)
        else:
            terminalreporter.write_line("no cells are planned")
        if self._left["ask"]:
            terminalreporter.write_line(f"tests that ask by bench.ask, not run and not counted: {self._left['ask']}")
        if self._left["test"]:
            terminalreporter.write_line(f"tests that show no cell, not run: {self._left['test']}")
        cache = os.path.relpath(self._session.settings.folder / "cache")
        terminalreporter.write_line("nothing was sent to a model under test or a judge, and no run was written")
        terminalreporter.write_line(f"what encoders of retrieval computed for it stays in {cache}")
