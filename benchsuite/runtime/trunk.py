"""The trunk: planting, filler and compactions, played once for all models (MIRAGE section 3.3, algorithm 1)."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from benchsuite.corpus.model import History, Image
from benchsuite.corpus.script import Artifact, Scale, Script
from benchsuite.delivery.protocol import Protocol
from benchsuite.delivery.render import system_message
from benchsuite.errors import DataError
from benchsuite.models.tokenizer import Counter
from benchsuite.runtime.checkpoint import Checkpoint
from benchsuite.runtime.compaction import Summariser
from benchsuite.runtime.conversation import SUMMARY, Spoken, exchanges, reference_tokens
from benchsuite.runtime.states import Milestone
from benchsuite.runtime.workspace import COMPACTED, BlobStore, Workspace

Exchange = tuple[Spoken, ...]
Writer = Callable[[Sequence[Spoken], Exchange, Workspace], Awaitable[Exchange]]
"""Writes the assistant's side of an exchange: (context before it, the exchange as scripted, workspace)."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a trunk is played from. ``name`` is what errors call it; ``image_bytes`` gives pictures of the corpus;
    ``tokenizer`` and ``count`` make the reference count. ``writer`` is empty for the script's own replies."""

    name: str
    history: History
    script: Script
    length: str
    protocol: Protocol
    image_bytes: Callable[[Image], bytes]
    tokenizer: str
    count: Counter
    writer: str = ""
    write: Writer | None = None

    @property
    def scale(self) -> Scale:
        return self.script.scales[self.length]


@dataclass(slots=True)
class Trunk:
    """A conversation while it is played."""

    stage: Stage
    blobs: BlobStore
    summariser: Summariser
    summary: str
    summariser_id: str
    transcript: list[Spoken] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # of each message of the transcript
    context: list[int] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)
    depth: int = 0
    compactions: int = 0
    step: int = 0

    async def reach(self, milestone: Milestone) -> Checkpoint:
        """Play from the beginning to a milestone.

        Raises ConfigError or DataError for one that is never reached, and what the summariser and the writer raise.
        """
        stage, scale = self.stage, self.stage.scale
        wanted = milestone.tokens(scale)
        workspace = Workspace({}, self.blobs)
        for file in stage.script.files:
            if not file.turn:
                workspace.write(file.path, file.text.encode())
        system = system_message(stage.protocol, stage.script.persona)
        start = sum(reference_tokens([Spoken("", "system", "".join(map(str, system.blocks)))], stage.count))
        planting = {turn.id for turn in stage.history.turns}
        planted = False
        last = stage.history.turns[-1].id
        for exchange in self._exchanges(start):
            here = {each.id for each in exchange}  # as scripted: what a model writes has ids of its own
            if stage.write is not None:
                exchange = await stage.write([self.transcript[at] for at in self.context], exchange, workspace)
            self._add(exchange)
            self.step += 1
            if not planting.isdisjoint(here):
                self._plant(here, exchange, workspace)
                planted = planted or last in here
            self.depth, self.captured = self._active(start), self._asked()
            due = self.compactions == milestone.compactions and milestone.depth is not None
            if planted and due and self.depth >= wanted:
                return self._checkpoint(milestone, workspace, start)
            if self.depth >= scale.compaction:
                if not planted:
                    why = f"the planting is not over at {self.depth} tokens, past the compaction"
                    raise self._never(milestone, why)
                await self._compact(milestone, workspace)
                due = self.compactions == milestone.compactions
                if due and (milestone.depth is None or self._active(start) >= wanted):
                    return self._checkpoint(milestone, workspace, start)
                if self._active(start) >= scale.compaction:
                    raise self._never(milestone, "summary and kept turns alone are past the compaction")
        raise self._never(
            milestone,
            f"the filler ends at {self.depth} tokens after {scale.rounds} rounds of {len(stage.script.filler)} tasks",
        )

    def _exchanges(self, start: int) -> Iterator[Exchange]:
        """Filler until the planting ends where the scale wants it, the planting, and filler without end of its own."""
        stage, scale = self.stage, self.stage.scale
        planting = list(exchanges(map(Spoken.of, stage.history.turns)))
        filler = _filler(stage.script, scale.rounds)
        size = start + sum(sum(reference_tokens(each, stage.count)) for each in planting)
        while size < scale.planted:
            exchange = next(filler, None)
            if exchange is None:
                return
            size += sum(reference_tokens(exchange, stage.count))
            yield exchange
        yield from planting
        yield from filler

    def _add(self, exchange: Exchange) -> None:
        self.tokens += reference_tokens(exchange, self.stage.count)
        self.context += range(len(self.transcript), len(self.transcript) + len(exchange))
        self.transcript += exchange

    def _active(self, start: int) -> int:
        return start + sum(self.tokens[place] for place in self.context)

    def _asked(self) -> list[int]:
        """What the last request before a capture showed: the context without the reply to it."""
        end = len(self.context)
        while end and self.transcript[self.context[end - 1]].role == "assistant":
            end -= 1
        return self.context[:end]

    def _plant(self, here: Set[str], exchange: Exchange, workspace: Workspace) -> None:
        """What is in the workspace after the turns of these ids."""
        stage = self.stage
        for file in stage.script.files:
            if file.turn in here:
                workspace.write(file.path, file.text.encode())
        for artifact in stage.script.artifacts:
            if artifact.turn in here:
                self._keep(artifact, workspace)
            for record in artifact.records:
                if (record.turn or artifact.turn) in here:
                    workspace.write(record.path, record.text.encode(), artifact.id)
        for each in exchange:
            for image in each.images:
                if not image.missing:
                    self.blobs.put(stage.image_bytes(image))

    def _keep(self, artifact: Artifact, workspace: Workspace) -> None:
        if artifact.text:
            workspace.write(artifact.path, artifact.text.encode(), artifact.id)
        for number, image in enumerate(artifact.images, start=1):
            path = artifact.path if number == 1 and not artifact.text else f"{artifact.path}#{number}"
            workspace.write(path, self.stage.image_bytes(image), artifact.id, image)

    async def _compact(self, milestone: Milestone, workspace: Workspace) -> None:
        """Put a summary in the place of all but the newest turns. Raises DataError where these are all there are."""
        stage, scale = self.stage, self.stage.scale
        turns = list(exchanges(self.transcript[place] for place in self.context))
        kept = sum(len(each) for each in turns[max(0, len(turns) - scale.kept) :])
        old, new = self.context[: len(self.context) - kept], self.context[len(self.context) - kept :]
        if not old:
            raise self._never(milestone, "summary and kept turns alone are past the compaction")
        spoken = [self.transcript[place] for place in old]
        written = await self.summariser.summary(spoken, self.summary, scale.summary_words)
        self.compactions += 1
        name = f"c{self.compactions}"
        self.context = []
        self._add(
            (
                Spoken(name, "user", stage.protocol.template("summary").format(summary=written), kind=SUMMARY),
                Spoken(f"{name}a", "assistant", stage.protocol.template("summary_reply").strip(), kind=SUMMARY),
            )
        )
        self.context += new
        workspace.write(f"{COMPACTED}{self.compactions}.md", written.encode())

    def _checkpoint(self, milestone: Milestone, workspace: Workspace, start: int) -> Checkpoint:
        stage = self.stage
        return Checkpoint(
            history=stage.history.id,
            length=stage.length,
            state=milestone.name,
            transcript=tuple(self.transcript),
            context=tuple(self.context),
            captured=tuple(self.captured),
            workspace=workspace.snapshot(),
            compactions=self.compactions,
            step=self.step,
            depth=self.depth,
            active=self._active(start),
            tokenizer=stage.tokenizer,
            persona=stage.script.persona,
            summary=self.summary if self.compactions else "",
            summariser=self.summariser_id if self.compactions else "",
            writer=stage.writer,
        )

    def _never(self, milestone: Milestone, why: str) -> DataError:
        return DataError(self.stage.name, self.stage.length, f"state {milestone.name}", f"is never reached: {why}")


def _filler(script: Script, rounds: int) -> Iterator[Exchange]:
    """The tasks in an order drawn from the script's seed, again in another order in each further round."""
    draw = random.Random(script.seed)
    for number in range(rounds):
        tasks = list(script.filler)
        draw.shuffle(tasks)
        for task in tasks:
            for place, (said, reply) in enumerate(task.turns):
                name = f"f{number}.{task.id}.{place}"
                yield Spoken(f"{name}u", "user", said), Spoken(f"{name}a", "assistant", reply)
