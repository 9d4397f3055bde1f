"""A tiny conversation to build trunks from: two artefacts, four filler tasks, models that are functions.

Tokens are words here (and 32x32 pixels), so that what a milestone asks for can be counted by hand.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage

from benchsuite.corpus.codec import history_of
from benchsuite.corpus.model import Evidence, History, Image, Question, Session, Turn
from benchsuite.corpus.script import Artifact, FillerTask, Scale, Script, WorkspaceFile
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.protocol import Protocol, bundled_protocol
from benchsuite.delivery.render import system_message
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Message, Reply, Request, ToolCall
from benchsuite.runtime.build import CheckpointBuilder, Wanted
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.compaction import Send, Summariser
from benchsuite.runtime.conversation import Spoken
from benchsuite.runtime.parsers import OpenAIParser
from benchsuite.runtime.states import parse_state
from benchsuite.runtime.trunk import Stage, Trunk
from benchsuite.runtime.workspace import BlobStore

PERSONA = "The user is a gardener."
CHART, MEMO = "ax_00c4a271", "ax_77b0e9d2"
GOLD = "48.35"
PICTURES: dict[str, bytes] = {}
SUMMARISER = ModelSpec("writer-of-summaries", "sum-1", "", "inprocess/sum")
WRITER = ModelSpec("writer", "writer-1", "", "inprocess/writer")


def picture(shade: int, size: tuple[int, int] = (64, 32)) -> Image:
    """A flat PNG; its bytes are in PICTURES."""
    buffer = io.BytesIO()
    PillowImage.new("RGB", size, (shade, 90, 200)).save(buffer, "PNG")
    data = buffer.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    PICTURES[digest] = data
    return Image(digest, f"{digest[:8]}.png", "image/png", *size, len(data))


def image_bytes(image: Image) -> bytes:
    return PICTURES[image.sha256]


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


TURNS = (
    Turn("t1", "user", "I will show you two things; keep them for later please."),
    Turn("t1a", "assistant", "Gladly, show me one at a time."),
    Turn("t2", "user", f"This is the ferry chart, artifacts/{CHART}.png.", (picture(10),)),
    Turn("t2a", "assistant", f"Stored under {CHART} with a table."),
    Turn("t3", "user", f"And this memo is artifacts/{MEMO}.txt; file it."),
    Turn("t3a", "assistant", f"Filed as {MEMO}."),
)
ARTIFACTS = (
    Artifact(
        CHART,
        "line_chart",
        f"artifacts/{CHART}.png",
        "t2",
        TURNS[2].images,
        records=(
            WorkspaceFile(f"records/{CHART}_table.csv", f"month,passengers\nJune,{GOLD}\nJuly,52.71"),
            WorkspaceFile("memory/2026-03-04.md", "The ferry curve hangs at the pier.", turn="t3"),
        ),
    ),
    Artifact(
        MEMO,
        "memo",
        f"artifacts/{MEMO}.txt",
        "t3",
        text="Memo of the orchard club: pay the press hall 185 crowns.",
        records=(WorkspaceFile(f"records/{MEMO}_view.md", "One page, a letter of the orchard club."),),
    ),
)
FILES = (
    WorkspaceFile("notes/start.md", "The workspace of the gardener."),
    WorkspaceFile("notes/after.md", "Two things were shown.", "t3a"),
)
FILLER = tuple(
    FillerTask(
        f"task{n}",
        "software",
        tuple(
            (f"Step {at} of job {n}: please sort these log lines again.", f"Done with step {at} of job {n}, sorted.")
            for at in range(2)
        ),
    )
    for n in range(4)
)
TINY = Scale(per_k=10, planted=0, compaction=300, kept=2, summary_words=40, rounds=6)
HISTORY = history_of([Session("s1", "", TURNS)])
PROTOCOL = bundled_protocol("mirage")
START = words(["".join(map(str, system_message(PROTOCOL, PERSONA).blocks))])[0]


def script(scale: Scale = TINY, **changes: Any) -> Script:
    return replace(Script(PERSONA, ARTIFACTS, FILLER, {"tiny": scale}, FILES, seed=3), **changes)


@dataclass
class Teller:
    """A model in process: ``says`` makes the reply to the n-th request (from 1). With ``log`` each request is also a
    line of that file, for other processes to count."""

    says: Callable[[int, Request], str | Reply]
    log: Path | None = None
    asked: list[Request] = field(default_factory=list)

    async def __call__(self, spec: ModelSpec, request: Request) -> Reply:
        self.asked.append(request)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(spec.name + "\n")
        await asyncio.sleep(0)
        said = self.says(len(self.asked), request)
        return said if isinstance(said, Reply) else Reply(said, finish="stop", model_served=spec.model)


def summing_up(n: int = 0, request: Request | None = None) -> str:
    return f"The user showed a chart and a memo; see records/{CHART}_table.csv."


def text_of(request: Request) -> str:
    return "\n".join(part.text for message in request.messages for part in message.parts)


def called(name: str, *calls: str) -> Reply:
    """A reply that calls a tool once for each text of arguments."""
    listed = [
        {"id": f"{name}-{n}", "function": {"name": name, "arguments": arguments}} for n, arguments in enumerate(calls)
    ]
    return Reply("", finish="tool_calls", tool_calls=listed)


def tool_call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("call_1", name, json.dumps(arguments))


def stage(scale: Scale = TINY, **changes: Any) -> Stage:
    made = Stage("tiny-bank", HISTORY, script(scale), "tiny", PROTOCOL, image_bytes, "words", words)
    return replace(made, **changes)


def play(
    state: str,
    folder: Path,
    scale: Scale = TINY,
    teller: Teller | None = None,
    summary: str = "verbatim",
    on: Stage | None = None,
) -> Checkpoint:
    """Play a trunk to a state, with its summaries kept in ``folder``."""
    send = teller or Teller(summing_up)
    trunk = Trunk(
        on or stage(scale),
        BlobStore(folder / "blobs"),
        Summariser(SUMMARISER, PROTOCOL, send, folder / "summaries"),
        summary,
        "sum",
    )
    return asyncio.run(trunk.reach(parse_state(state)))


@dataclass
class TinyCorpus:
    """What a builder needs of a corpus."""

    made: Script | None = field(default_factory=script)
    suite: str = "mirage"
    name: str = "tiny-bank"
    digest: str = "d1"

    def script(self, history_id: str) -> Script | None:
        return self.made

    def history(self, history_id: str) -> History:
        return HISTORY

    def image_bytes(self, image: Image) -> bytes:
        return image_bytes(image)


def wanted(state: str = "S1-d0", **changes: Any) -> Wanted:
    made = Wanted(HISTORY.id, "tiny", state, "verbatim", SUMMARISER, "intact")
    return replace(made, **changes)


def builder(folder: Path, send: Send, corpus: TinyCorpus | None = None, protocol: Protocol = PROTOCOL):
    return CheckpointBuilder(
        corpus or TinyCorpus(),
        protocol,
        CheckpointStore(folder),
        send,
        ImageDesk(folder / "image"),
        lambda spec: OpenAIParser(),
    )


def build_one(folder: Path, send: Send, asked: Wanted, corpus: TinyCorpus | None = None) -> Checkpoint:
    return asyncio.run(builder(folder, send, corpus).checkpoint(asked))


def tokens_of(spoken: Sequence[Spoken]) -> int:
    """Counted by hand: words, 32x32 pixels, and what the system message says."""
    shown = [image for each in spoken for image in each.images]
    return START + sum(len(each.text.split()) for each in spoken) + sum(i.width * i.height // 1024 for i in shown)


def probe_question(**changes: Any) -> Question:
    made = Question(
        id="mq_1",
        type="value",
        text="How many passengers, in thousands, did the ferry have in June?",
        gold=GOLD,
        date="",
        history_id=HISTORY.id,
        evidence=Evidence(turn_ids=("t2",), sources=(CHART,)),
        cluster=CHART,
        split="main",
    )
    return replace(made, **changes)


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def written(request: Request) -> str:
    """What the writing model says: its words follow from what it is shown."""
    return f"Reply {hashlib.sha256(text_of(request).encode()).hexdigest()[:6]} to that, as you asked."
