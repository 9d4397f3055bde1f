"""No probe sees another's question, answer, tool query, tool result or file; nor does the checkpoint keep any."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest

from benchsuite.models.wire import Reply, Request
from benchsuite.runtime.checkpoint import CheckpointStore, Restored
from benchsuite.runtime.tools import Surface

from .lab import Lab, rounds_of
from .world import CHART, called, probe_question, text_of

PROBES = 64
CANARY = re.compile(r"canary\w+")


class Writing(CheckpointStore):
    """Each probe that restores here writes a file of its own into its copy, and into a file that all have."""

    written = 0

    def restore(self, checkpoint):
        restored = super().restore(checkpoint)
        type(self).written += 1
        canary = f"canaryfile{self.written}"
        restored.workspace.write(f"notes/{canary}.md", canary.encode(), CHART)
        restored.workspace.write("notes/start.md", canary.encode())
        return restored


class Leaking(Writing):
    """What the test has to notice: one workspace for all, read by all."""

    def restore(self, checkpoint):
        if not hasattr(self, "one"):
            self.one = super().restore(checkpoint)
        canary = f"canaryfile{type(self).written}"
        self.one.workspace.write(f"notes/{canary}.md", f"{canary} ferry June".encode(), CHART)
        type(self).written += 1
        return Restored(checkpoint, self.one.workspace, Surface(self.one.workspace, "intact", 0))


def everything(request: Request) -> str:
    calls = "".join(f"{call.id}{call.name}{call.arguments}" for message in request.messages for call in message.calls)
    return text_of(request) + calls + str(request.params)


def own(request: Request) -> str:
    """The number of the probe that a request belongs to."""
    asked = [part.text for message in request.messages for part in message.parts if part.kind == "question"]
    found = re.search(r"canaryquestion(\d+)x", asked[-1]) if asked else None
    return found[1] if found else ""


async def plays(request: Request) -> Reply | str:
    """Calls all three tools with a canary, then answers with one; the others come in between."""
    number = own(request)
    await asyncio.sleep(0.001 * (int(number or 0) * 5 % 7))
    if not number:
        return Reply("canarycapture", finish="length", prompt_tokens=7)
    round_ = rounds_of(request)
    if round_ == 0:
        return called("artifact_recall", f'{{"query": "canaryquery{number}x ferry June"}}')
    if round_ == 1:
        return called("memory_search", f'{{"query": "canarysearch{number}x ferry curve"}}')
    if round_ == 2:
        return called("read_file", f'{{"path": "notes/canaryfile{number}.md"}}')
    return f"ANSWERABLE=YES\nSOURCE={CHART}\nANSWER=canaryanswer{number}x"


def foreign(lab: Lab) -> list[str]:
    """Canaries in requests of probes that did not make them."""
    found = []
    for request in lab.sent:
        number = own(request)
        mine = {f"canary{what}{number}x" for what in ("question", "query", "search", "answer")}
        found += [name for name in CANARY.findall(everything(request)) if name not in mine | {f"canaryfile{number}"}]
    return found


def questions():
    return [
        probe_question(id=f"mq_{n}", text=f"About canaryquestion{n}x: passengers of the ferry in June?")
        for n in range(PROBES)
    ]


def on_disk(folder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("state", ["S1-d16k", "S2"])
def test_sixty_four_probes_at_once_see_nothing_of_each_other(tmp_path, monkeypatch, state):
    monkeypatch.setattr(Writing, "written", 0)
    lab = Lab(tmp_path, plays, state=state, store_class=Writing)
    before = on_disk(tmp_path / "checkpoint")
    rows = lab.run(questions())
    assert Writing.written == PROBES
    assert Counter(row["status"] for row in rows) == {"scored": PROBES}
    assert [row["answer"].rpartition("=")[2] for row in rows] == [f"canaryanswer{n}x" for n in range(PROBES)]
    assert len(lab.probes) == 4 * PROBES
    assert foreign(lab) == []
    assert all(row["scores"]["tool_calls"] == 3 for row in rows)
    assert on_disk(tmp_path / "checkpoint") == before
    assert lab.store.load(lab.scene.checkpoint.id) == CheckpointStore(tmp_path).load(lab.scene.checkpoint.id)
    fresh = (
        lab.store.restore(lab.scene.checkpoint) if False else CheckpointStore(tmp_path).restore(lab.scene.checkpoint)
    )
    assert not any("canary" in path for path, _ in fresh.workspace.files())
    assert b"canary" not in fresh.workspace.read("notes/start.md")
    assert not any("canary" in text for text in map(str, fresh.surface.files))


def test_the_requests_of_one_probe_are_those_it_has_alone(tmp_path):
    """Byte for byte: company changes nothing."""
    together = Lab(tmp_path / "a", plays)
    together.run(questions())
    alone = Lab(tmp_path / "b", plays)
    alone.run([questions()[5]])
    wanted = [[m.digest for m in request.messages] for request in alone.probes]
    assert [[m.digest for m in r.messages] for r in together.probes if own(r) == "5"] == wanted


def test_a_shared_workspace_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(Leaking, "written", 0)
    lab = Lab(tmp_path, plays, store_class=Leaking)
    lab.run(questions()[:8])
    assert any(name.startswith("canaryfile") for name in foreign(lab))
    assert foreign(lab)


def test_a_conversation_that_goes_on_would_be_noticed(tmp_path):
    lab = Lab(tmp_path, plays)
    lab.run(questions()[:2])
    first, second = (next(r for r in lab.probes if own(r) == n) for n in "01")
    lab.sent.append(Request(second.model, (*first.messages, *second.messages[1:]), second.params))
    assert foreign(lab) == ["canaryquestion0x"]
