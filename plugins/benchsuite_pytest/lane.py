"""What one process needs to answer cells: cache, client, encoder, call log. Lives on the engine's loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.corpus.model import Image, Item
from benchsuite.delivery.decoys import CorpusDecoys
from benchsuite.delivery.images import ImageDesk, ImageReader
from benchsuite.episode import not_asked, run_episode
from benchsuite.errors import EndpointError
from benchsuite.files import AppendFile
from benchsuite.models.ask import Asker
from benchsuite.models.cache import open_cache
from benchsuite.models.client import HttpTransport, Servers, Transport
from benchsuite.models.slots import Slots
from benchsuite.models.spec import ModelSpec, embedded_spec
from benchsuite.models.wire import Reply, Request, skeleton_line
from benchsuite.outcome import Outcome
from benchsuite.plan import Arm, Cell
from benchsuite.registry import Component
from benchsuite.retrieval.embed import TextEncoder, VectorStore
from benchsuite.retrieval.embed_images import ImageEncoder
from benchsuite.runtime.axes import SUMMARISER
from benchsuite.runtime.build import CheckpointBuilder, Wanted
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.states import NO_STATE
from benchsuite.workbench import Scene, Stimulus, Workbench
from benchsuite_pytest.costs import note_costs
from benchsuite_pytest.preflight import Prepared, session_scorer

if TYPE_CHECKING:
    from benchsuite.retrieval.embed import Vectors

HISTORIES_KEPT = 8
SMALL_HISTORY = 64 * 1024  # bytes; read on the loop
CALLS_HELD = 64  # skeleton lines written together


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process writes: its worker name, the run's folder, its shard."""

    worker: str
    run: Path
    shard: int | None = None


class BenchLane:
    """The engine's lane over a prepared session. Everything is opened on the loop and closed there."""

    def __init__(self, prepared: Prepared, place: Place, slots: Slots, servers: Servers) -> None:
        self._prepared, self._place, self._slots, self._servers = prepared, place, slots, servers
        self._items: OrderedDict[str, tuple[Item, ...]] = OrderedDict()
        self._decoys: dict[tuple[str, str], CorpusDecoys] = {}
        self._builders: dict[str, CheckpointBuilder] = {}
        self._reader = embedded_spec()
        self._lines: list[str] = []
        self._open = AsyncExitStack()

    async def open(self) -> None:
        prepared, settings, place = self._prepared, self._prepared.settings, self._place
        cache_folder = settings.folder / "cache"
        desk = ImageDesk(cache_folder / "image")
        self._checkpoints = CheckpointStore(cache_folder)
        self._calls = AppendFile(place.run / "calls" / f"{place.worker}.jsonl")
        self._open.callback(self._calls.close)
        self._open.callback(self._flush_calls)
        self._cache = open_cache(cache_folder, settings.cache, replay=settings.replay)
        if self._cache is not None:
            self._open.push_async_callback(asyncio.to_thread, self._cache.close)
        http = HttpTransport(desk.bytes_of, self._servers)
        self._open.push_async_callback(http.close)
        text, image = prepared.encoders["text"], prepared.encoders["image"]
        self._texts = TextEncoder(
            text.name,
            VectorStore(cache_folder / "embedding" / text.identity),
            lambda: self._servers.locate(text.server),
        )
        self._open.push_async_callback(self._texts.close)
        readers: dict[str, ImageReader] = {}
        self._images = ImageEncoder(
            image.name,
            image.identity,
            cache_folder,
            lambda: self._servers.locate(image.server),
            lambda stored: readers[stored.sha256](stored),
        )
        self._open.push_async_callback(self._images.close)
        self._open.callback(lambda: note_costs(place.run, place.worker, self._images.costs()))
        responders = {name: factory() for name, factory in prepared.registry.transports.items()}
        self.workbench = Workbench(
            registry=prepared.registry,
            models=prepared.models,
            asker=Asker(_Switch(responders, http), self._slots, self._cache, replay=settings.replay),
            desk=desk,
            services=self,
            record=self._record,
            readers=readers,
            judge_votes=settings.judge_votes,
            run={
                "id": place.run.name,
                "worker": place.worker,
                "shard": place.shard,
                "ingest_s": 0.0,
                "direct": False,
            },
        )

    async def run(self, cell: Cell) -> Outcome:
        stimulus = await self._stimulus(cell)
        if cell.arm.text("state") == NO_STATE:
            return await run_episode(stimulus, cell.arm, self.workbench)
        return await self._run_at(cell.suite, stimulus.question.history_id, stimulus, cell.arm, self.workbench)

    async def ask_direct(self, stimulus: Stimulus, arm: Arm, component: Component) -> Outcome:
        """The direct lane: same cache, same row, in no plan and no table; ``component`` may be anyone's."""
        return await run_episode(stimulus, arm, self._direct(component))

    async def ask_direct_at(
        self, suite: str, history_id: str, stimulus: Stimulus, arm: Arm, component: Component
    ) -> Outcome:
        """As :meth:`ask_direct`, at the conversation state of the arm."""
        return await self._run_at(suite, history_id, stimulus, arm, self._direct(component))

    async def checkpoint(self, cell: Cell) -> Checkpoint:
        """The conversation state of a cell that is asked at one."""
        history = self._prepared.corpora[cell.suite].question(cell.arm.text("length"), cell.outline.id).history_id
        return await self._checkpoint(cell.suite, cell.arm, history)

    async def close(self) -> None:
        await self._open.aclose()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See benchsuite.registry.Services."""
        return await self._texts.embed(texts)

    async def image_scores(self, text: str, images: Sequence[Image], index: str) -> list[float]:
        """See benchsuite.registry.Services."""
        return await self._images.scores(text, images, index)

    async def _stimulus(self, cell: Cell) -> Stimulus:
        prepared, arm = self._prepared, cell.arm
        corpus = prepared.corpora[cell.suite]
        question = corpus.question(arm.text("length"), cell.outline.id)
        script = corpus.script(question.history_id)
        at_state = arm.text("state") != NO_STATE
        return Stimulus(
            cell=cell.id,
            suite=cell.suite,
            corpus=corpus.digest,
            question=question,
            items=() if at_state else await self._history(cell, question.history_id),
            image_bytes=corpus.image_bytes,
            protocol=prepared.protocols[cell.suite],
            scorer=session_scorer(prepared.registry, cell.suite, prepared.settings.scoring),
            decoys=self._decoys_of(cell.suite, arm.text("length")),
            aliases=script.aliases if script else {},
        )

    async def _run_at(self, suite: str, history_id: str, stimulus: Stimulus, arm: Arm, bench: Workbench) -> Outcome:
        """Ask at the conversation state of the arm; one that cannot be built is the error of each who asks there."""
        script = self._prepared.corpora[suite].script(history_id)
        try:
            checkpoint = await self._checkpoint(suite, arm, history_id)
        except Exception as error:
            return not_asked(stimulus, arm, bench, error)
        assert script is not None  # or there is no checkpoint
        placed = replace(
            stimulus,
            items=self._checkpoints.items(checkpoint),
            image_bytes=self._checkpoints.image_bytes,
            aliases=script.aliases,
            scene=Scene(checkpoint, self._checkpoints, script.artifacts),
        )
        return await run_episode(placed, arm, bench)

    def _direct(self, component: Component) -> Workbench:
        """The workbench of the direct lane, where ``component`` is a retrieval."""
        bench = self.workbench
        registry = replace(bench.registry, retrievals={**bench.registry.retrievals, component.name: component})
        return replace(bench, registry=registry, run={**bench.run, "direct": True})

    async def _history(self, cell: Cell, history_id: str) -> tuple[Item, ...]:
        items = self._items.get(cell.group)
        if items is None:
            corpus = self._prepared.corpora[cell.suite]
            if corpus.history_size(history_id) <= SMALL_HISTORY:
                history = corpus.history(history_id)
            else:
                history = await asyncio.to_thread(corpus.history, history_id)
            items = self._items[cell.group] = corpus.items(history)
            if len(self._items) > HISTORIES_KEPT:
                self._items.popitem(last=False)
        return items

    async def _checkpoint(self, suite: str, arm: Arm, history_id: str) -> Checkpoint:
        """The checkpoint of an arm's state, built if nobody has built it yet."""
        bench = self.workbench
        if suite not in self._builders:
            self._builders[suite] = CheckpointBuilder(
                self._prepared.corpora[suite],
                self._prepared.protocols[suite],
                self._checkpoints,
                self._send,
                bench.desk,
                bench.parser,
            )
        trunk = self._prepared.settings.trunk
        wanted = Wanted(
            history=history_id,
            length=arm.text("length"),
            state=arm.text("state"),
            summary=arm.text("summary"),
            summariser=self._helper(arm.text("summariser")),
            recall=arm.text("recall"),
            writer=None if trunk == "none" else self._helper(trunk),
        )
        return await self._builders[suite].checkpoint(wanted)

    def _helper(self, name: str) -> ModelSpec:
        """The spec of a model that writes summaries or a trunk; the bundled reader need not be named anywhere."""
        if name == SUMMARISER and name not in self._prepared.models:
            return self._reader
        return self.workbench.model(name)

    async def _send(self, spec: ModelSpec, request: Request) -> Reply:
        """A request that is no cell's: a summary, a turn of a trunk. One that comes back empty is not stored."""
        answered = await self.workbench.asker.ask(spec, request, keep=_says_something)
        self._record(skeleton_line(answered.key, request, cell="trunk", role="trunk"), request)
        return answered.reply

    def _decoys_of(self, suite: str, length: str) -> CorpusDecoys:
        if (suite, length) not in self._decoys:
            folder = self._prepared.settings.folder / "cache" / "decoy"
            self._decoys[suite, length] = CorpusDecoys(self._prepared.corpora[suite], length, folder)
        return self._decoys[suite, length]

    def _record(self, line: str, request: Request) -> None:
        if self._cache is not None:
            for message in request.messages:
                self._cache.put_parts(message.encoded.texts)
        self._lines.append(line)
        if len(self._lines) >= CALLS_HELD:
            self._flush_calls()

    def _flush_calls(self) -> None:
        self._calls.append(*self._lines)
        self._lines.clear()


def _says_something(reply: Reply) -> bool:
    return bool(reply.tool_calls or reply.text.rpartition("</think>")[2].strip())


class _Switch:
    """Sends to an in-process responder where one has the model's name, else over HTTP."""

    def __init__(self, responders: dict[str, Transport], http: Transport) -> None:
        self._responders, self._http = responders, http

    async def send(self, spec: ModelSpec, request: Request) -> Reply:
        responder = self._responders.get(spec.name)
        if responder is None:
            return await self._http.send(spec, request)
        try:
            return await responder.send(spec, request)
        except EndpointError:
            raise
        except Exception as error:
            raise EndpointError("transport", spec.endpoint, f"{type(error).__name__}: {error}") from error
