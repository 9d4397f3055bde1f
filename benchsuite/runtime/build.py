"""Checkpoints on demand: each is built once, whoever asks first, and found by all who ask later."""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchsuite.corpus.model import Corpus, Image
from benchsuite.delivery.arrange import all_slots
from benchsuite.delivery.images import ImageDesk, ImageSlot
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.spec import Delivery
from benchsuite.errors import ConfigError, DataError
from benchsuite.files import AppendFile, whole_lines, write_atomic
from benchsuite.models.spec import ModelSpec
from benchsuite.models.tokenizer import BUNDLED, count_bundled
from benchsuite.models.wire import Message, Part, Reply, Request, WireImage, sha256_json
from benchsuite.runtime.agent import Hands, converse
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.compaction import Send, Summariser
from benchsuite.runtime.conversation import TOOL, Spoken, context_slots, render_context
from benchsuite.runtime.parsers import ToolParser
from benchsuite.runtime.states import Milestone, parse_state
from benchsuite.runtime.tools import TOOLS, Surface
from benchsuite.runtime.trunk import Exchange, Stage, Trunk
from benchsuite.runtime.workspace import Workspace

WAIT_S = 0.05
AS_STORED = Delivery(form="sessions", order="conv", side=0, codec="stored")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checkpoint by what it is built from. ``writer`` writes the trunk's replies (None: the script's own)."""

    history: str
    length: str
    state: str
    summary: str
    summariser: ModelSpec
    recall: str
    writer: ModelSpec | None = None


class CheckpointBuilder:
    """Builds the checkpoints of one corpus. ``send`` asks a model and raises EndpointError where no answer came;
    ``parser`` gives how a model's tool calls are read.

    Over all processes one builds and the others wait (a lock per trunk, freed by a kill). A reply of a writing model
    is kept as it comes, so that a killed build goes on from its last turn.
    """

    def __init__(
        self,
        corpus: Corpus,
        protocol: Protocol,
        store: CheckpointStore,
        send: Send,
        desk: ImageDesk,
        parser: Callable[[ModelSpec], ToolParser],
    ) -> None:
        self._corpus, self._protocol, self._store = corpus, protocol, store
        self._send, self._desk, self._parser = send, desk, parser
        self._built: dict[Wanted, asyncio.Task[Checkpoint]] = {}

    async def checkpoint(self, wanted: Wanted) -> Checkpoint:
        """Raises ConfigError or DataError for a state that cannot be, EndpointError or BenchError where a summary or a
        turn was not written; all who want it get the same error."""
        task = self._built.get(wanted)
        if task is None:
            task = self._built[wanted] = asyncio.ensure_future(self._get(wanted))
        return task.result() if task.done() else await asyncio.shield(task)

    async def _get(self, wanted: Wanted) -> Checkpoint:
        stage = self._stage(wanted)
        milestone = parse_state(wanted.state)
        found = self._store.folder / "keys" / _key(wanted, stage, milestone)
        checkpoint = self._kept(found)
        if checkpoint is None:
            trunk = sha256_json([stage.history.id, wanted.length, stage.writer])[:16]
            async with self._alone(trunk):
                checkpoint = self._kept(found) or await self._build(wanted, stage, milestone, found)
        return replace(checkpoint, state=wanted.state) if checkpoint.state != wanted.state else checkpoint

    def _kept(self, found: Path) -> Checkpoint | None:
        """The checkpoint that a key names; None where there is none that can be read, so that it is built again."""
        try:
            return self._store.load(found.read_text().strip())
        except (OSError, ValueError, DataError):
            return None

    async def _build(self, wanted: Wanted, stage: Stage, milestone: Milestone, found: Path) -> Checkpoint:
        folder = self._store.folder
        trunk = Trunk(
            stage=self._writing(stage, wanted.writer, folder) if wanted.writer else stage,
            blobs=self._store.blobs,
            summariser=Summariser(wanted.summariser, stage.protocol, self._send, folder / "summaries"),
            summary=wanted.summary,
            summariser_id=_who(wanted.summariser),
        )
        checkpoint = replace(await trunk.reach(milestone), recall=wanted.recall)
        self._store.save(checkpoint)
        found.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(found, checkpoint.id + "\n")
        return checkpoint

    def _stage(self, wanted: Wanted) -> Stage:
        script = self._corpus.script(wanted.history)
        if script is None:
            raise ConfigError(f"{self._corpus.suite} has no conversation states: its corpus has no script")
        if wanted.length not in script.scales:
            raise ConfigError(f"{self._corpus.name}: no scale {wanted.length!r}; there is: {', '.join(script.scales)}")
        return Stage(
            name=self._corpus.name,
            history=self._corpus.history(wanted.history),
            script=script,
            length=wanted.length,
            protocol=self._protocol,
            image_bytes=self._corpus.image_bytes,
            tokenizer=BUNDLED,
            count=count_bundled,
            writer=_who(wanted.writer) if wanted.writer else "",
        )

    @asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[None]:
        """Hold the lock of a trunk; waiting for another process can be cancelled."""
        folder = self._store.folder / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = (folder / name).open("a")
        except OSError as error:
            raise ConfigError(
                f"checkpoints {self._store.folder} cannot be written: {error.strerror or error}"
            ) from None
        with handle:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(WAIT_S)
            yield

    def _writing(self, stage: Stage, spec: ModelSpec, folder: Path) -> Stage:
        """The stage with a model that writes the assistant's side, its replies kept in a journal."""
        facts = [stage.history.id, stage.length, stage.writer, asdict(stage.protocol), asdict(stage.script)]
        journal = Journal(folder / "trunks" / f"{sha256_json([*facts, _asked(spec)])}.jsonl")

        async def write(context: Sequence[Spoken], exchange: Exchange, workspace: Workspace) -> Exchange:
            said = tuple(each for each in exchange if each.role == "user")
            key = sha256_json([each.to_json() for each in (*context, *said)])
            kept = journal.get(key)
            if kept is not None:
                return kept
            written = (*said, *await self._reply(stage, spec, [*context, *said], said[0].id, workspace))
            journal.add(key, written)
            return written

        return replace(stage, write=write)

    async def _reply(
        self, stage: Stage, spec: ModelSpec, spoken: Sequence[Spoken], name: str, workspace: Workspace
    ) -> list[Spoken]:
        """The turn of a writing model: its tool calls with their results, and what it says."""
        placed = context_slots(spoken, AS_STORED, "all")

        async def prepared(slot: ImageSlot) -> WireImage:
            return await asyncio.to_thread(self._desk.prepare, slot, AS_STORED, stage.image_bytes)

        ready = {slot.key: await prepared(slot) for slot in all_slots(placed)}
        context = render_context(spoken, placed, AS_STORED, "all", stage.protocol, stage.script.persona, ready)

        async def ask(messages: tuple[Message, ...]) -> Reply:
            return await self._send(spec, Request(spec.model, messages, spec.params, TOOLS))

        async def show(images: Sequence[Image]) -> tuple[Part, ...]:
            return tuple([Part("image", image=await prepared(ImageSlot(image))) for image in images])

        surface = Surface(workspace, "intact", 0)
        talk = await converse(context.messages, Hands(ask, self._parser(spec), surface, show, stage.protocol))
        if not talk.text.strip():
            why = "goes on calling tools" if talk.limited else "returned nothing"
            raise DataError(stage.name, stage.length, name, f"the trunk's writer {spec.endpoint} {why}")
        pictures = iter([image for _, result in talk.results for image in result.images])
        lines = [
            Spoken(
                f"{name}.{place}",
                each.role,
                "".join("<image>" if part.image else part.text for part in each.parts),
                tuple(next(pictures) for part in each.parts if part.image),
                each.calls,
                each.call_id,
                "text" if each.role == "assistant" else TOOL,
            )
            for place, each in enumerate(talk.messages)
        ]
        return [*lines, Spoken(f"{name}.reply", "assistant", talk.text)]


class Journal:
    """The turns that a model wrote, each by the digest of what it was shown; what a kill cut off is written again."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._kept = dict(json.loads(line) for _, line in whole_lines(path)) if path.exists() else {}
        self._path = path

    def get(self, key: str) -> Exchange | None:
        """The turn that followed these messages, if it is kept."""
        return tuple(map(Spoken.from_json, self._kept[key])) if key in self._kept else None

    def add(self, key: str, exchange: Exchange) -> None:
        file = AppendFile(self._path)
        file.append(json.dumps([key, [each.to_json() for each in exchange]], separators=(",", ":")))
        file.close()


def _key(wanted: Wanted, stage: Stage, milestone: Milestone) -> str:
    """A digest of whatever decides what a checkpoint holds."""
    said = [stage.history.id, stage.length, asdict(stage.script), asdict(stage.protocol), stage.tokenizer]
    summarised = [wanted.summary, _asked(wanted.summariser)] if milestone.compactions else []
    return sha256_json(
        [said, _asked(wanted.writer), [milestone.compactions, milestone.depth], summarised, wanted.recall]
    )


def _who(spec: ModelSpec) -> str:
    return f"{spec.family}#{spec.model}"


def _asked(spec: ModelSpec | None) -> list[Any]:
    """Who is asked, and how."""
    return [] if spec is None else [_who(spec), dict(spec.params), spec.tool_parser]
