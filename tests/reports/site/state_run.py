"""A finished MIRAGE run of a real endpoint on loopback: probes that use tools in two rounds, none, or without end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..scripted_endpoint import Body, answering, make_project, reply_of

STATES = ("S1-d0", "S1-d80k", "S2")
QUESTIONS = 6
ODD_QUERY = 'saw </i><script>alert(1)</script> & "red"'
WRITTEN = "We spoke of several things; the bees came first. The rest was of less weight."
ANSWER = "ANSWERABLE=YES\nSOURCE=ax_<b>\nANSWER=17"
CASES = f"""
import pytest
pytestmark = pytest.mark.mirage

@pytest.mark.experiment(
    split="main", state={list(STATES)!r}, condition=["C0", "Cm"], retrieval=["none"], delivery=["direct"]
)
def test_states(outcome):
    pass
"""


def script(body: Body, endless: str) -> Body:
    """What the endpoint says: a summary, a count, calls, or an answer. Under pressure it answers at once; to the
    question ``endless`` it only ever calls."""
    if "tools" not in body:
        return {"content": WRITTEN}
    texts = json.dumps(body["messages"])
    done = sum(message["role"] == "tool" for message in body["messages"])
    if endless and endless in texts:
        return calls(("artifact_recall", {"query": f"again {done}"}))
    if body.get("max_tokens") == 1 or "Before you answer, call the tool" in texts or done >= 3:
        return {"content": ANSWER}
    if done:
        return calls(("read_file", {"path": "no/such"}))
    return calls(("artifact_recall", {"query": "nursery screen orders"}), ("memory_search", {"query": ODD_QUERY}))


def calls(*made: tuple[str, dict[str, str]]) -> Body:
    found = [
        {"id": f"x{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(made)
    ]
    return {"content": None, "tool_calls": found}


@contextmanager
def state_run(folder: Path, endless: str) -> Iterator[list[Body]]:
    """A project in ``folder`` with one finished run. Gives the bodies of the probes."""
    bodies: list[Body] = []

    def say(body: Body) -> tuple[int, Body]:
        if "tools" in body and body.get("max_tokens") != 1:
            bodies.append(body)
        usage = {"prompt_tokens": 100 + len(body["messages"]), "completion_tokens": 9}
        return 200, reply_of(script(body, endless), usage=usage)

    with answering(say) as url:
        make_project(folder, "test_states.py", CASES)
        command = [sys.executable, "-m", "pytest", "cases", "-p", "no:cacheprovider", "-n", "0", "--bench-model"]
        command += [f"{url}#scripted", "--bench-limit", str(QUESTIONS)]
        command += ["--bench-axis", "summariser=scripted", "--bench-corpus", "mirage=mirage-mini"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
        assert f"{QUESTIONS * len(STATES) * 2} passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
        yield bodies
