"""What the plugin's MIRAGE tests stand on: a project of the shipped cases, and readers of what an endpoint was sent."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image as PillowImage

from benchsuite.corpus.mirage import MINI_FOLDER
from benchsuite.models.tokenizer import count_bundled, image_tokens

from .conftest import Project

CASES = Path(__file__).parents[2] / "cases" / "mirage"
NOTHING = "ANSWERABLE=NO\nSOURCE=NONE\nANSWER=NONE"
SUMMARISED = "Summary of our conversation until now"
WRITTEN = "We spoke of several things; the bees came first."
Body = dict[str, Any]
Row = dict[str, Any]


def often(*values: Any) -> list[Any]:
    """Further values of a parameter: their tests are slow ones, run by ``make test-slow``."""
    each = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*value, marks=pytest.mark.slow) for value in each]


def use_cases(project: Project, *names: str) -> None:
    """Put these shipped MIRAGE cases in the place of the project's own."""
    for file in (project.pytester.path / "cases").iterdir():
        file.unlink()
    for name in names:
        shutil.copy(CASES / f"{name}.py", project.pytester.path / "cases")


def run(project: Project, *args: str, workers: int = 0, summariser: str = "", bank: str = "mirage-mini") -> Any:
    """The project's cases on a bank; summaries are the endpoint's own unless it is said whose."""
    by = summariser or project.endpoint.model
    return project.run("--bench-corpus", f"mirage={bank}", "--bench-axis", f"summariser={by}", *args, workers=workers)


def rows_of(project: Project, run: int = -1) -> list[Row]:
    return list(project.rows(run).values())


def words(body: Body) -> list[str]:
    """The texts of a body, one for each message."""
    return [text_of(message) for message in body["messages"]]


def text_of(message: Body) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or () if part["type"] == "text")


def pictures(message: Body) -> list[bytes]:
    content = message["content"]
    urls = [] if isinstance(content, str) else [p["image_url"]["url"] for p in content or () if p["type"] != "text"]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def images_in(body: Body) -> list[bytes]:
    return [data for message in body["messages"] for data in pictures(message)]


def reference_count(messages: Iterable[Body]) -> int:
    """Tokens of what was sent by the trunk's reference count, read from the body alone."""
    known = list(messages)
    sizes = [PillowImage.open(io.BytesIO(data)).size for message in known for data in pictures(message)]
    return sum(count_bundled([text_of(message) for message in known])) + sum(image_tokens(*size) for size in sizes)


def is_summary(body: Body) -> bool:
    """Whether a body asks for a summary: such a request alone offers no tools."""
    return "tools" not in body


def is_capture(body: Body) -> bool:
    return not is_summary(body) and body.get("max_tokens") == 1


def is_probe(body: Body) -> bool:
    return not is_summary(body) and not is_capture(body)


def asked(body: Body) -> str:
    """The question of a probe."""
    users = [text_of(message) for message in body["messages"] if message["role"] == "user"]
    last = next(text for text in reversed(users) if "Question: " in text)
    return last.rpartition("Question: ")[2].partition("\n")[0]


def said(text: str | None, usage: dict[str, int] | None = None, calls: list[Body] | None = None) -> web.Response:
    """A reply with or without a usage, with or without tool calls."""
    message: Body = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    reply = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
        **({"usage": usage} if usage else {}),
    }
    return web.json_response(reply)


def tool_call(name: str, arguments: str) -> Body:
    return {"id": "x1", "type": "function", "function": {"name": name, "arguments": arguments}}


def playing(probe: Callable[[Body], Any], summary: Any = WRITTEN) -> Callable[[Body], Any]:
    """A script: ``probe`` answers what has tools, ``summary`` (or what it gives) is the summary."""

    def script(body: Body) -> Any:
        if is_summary(body):
            return summary(body) if callable(summary) else summary
        return probe(body)

    return script


def bank_json() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MINI_FOLDER / "bank.json").read_text())
    return found


def write_bank(folder: Path, bank: dict[str, Any], images: Callable[[str], str] = lambda name: name) -> Path:
    """A user's bank with the bundled pictures, each under the name that ``images`` gives it."""
    (folder / "images").mkdir(parents=True)
    for file in (MINI_FOLDER / "images").iterdir():
        shutil.copy(file, folder / "images" / images(file.name))
    (folder / "bank.json").write_text(json.dumps(bank))
    return folder
