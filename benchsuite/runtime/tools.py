"""The tools of the agent: ``artifact_recall``, ``memory_search`` and ``read_file`` over its workspace.

What they can reach after a compaction is an axis: all that was there (``intact``), only what the compaction wrote
(``compacted``), or nothing (``norecall``). Before one they reach everything.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchsuite.corpus.model import Image
from benchsuite.errors import ConfigError
from benchsuite.models.wire import ToolCall
from benchsuite.runtime.search import Index
from benchsuite.runtime.workspace import COMPACTED, Stored, Workspace

RECALL = ("intact", "compacted", "norecall")
ARTIFACT_RECALL, MEMORY_SEARCH, READ_FILE = "artifact_recall", "memory_search", "read_file"
NO_MATCH = "No match."
SEARCHED = 3  # files that a search shows
SHOWN = 2400  # characters of one file that a search shows
READ = 24_000  # characters of a file that is read


def _tool(name: str, text: str, argument: str, what: str) -> Mapping[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string", "description": what}}}
    schema |= {"required": [argument]}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}


TOOLS: tuple[Mapping[str, Any], ...] = (
    _tool(
        ARTIFACT_RECALL,
        "Find a file or picture that the user showed earlier, and return it with the notes that were made of it.",
        "query",
        "its id, its path, or words that describe it",
    ),
    _tool(MEMORY_SEARCH, "Search the notes and records in the workspace.", "query", "what to look for"),
    _tool(READ_FILE, "Read one file of the workspace.", "path", "the path of the file"),
)
NAMES = tuple(str(tool["function"]["name"]) for tool in TOOLS)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave: text, pictures, and the paths that they came from. ``fault`` is empty, or says why the call
    was none (an unknown tool, arguments that are no JSON)."""

    text: str
    images: tuple[Image, ...] = ()
    paths: tuple[str, ...] = ()
    fault: str = ""


class Surface:
    """What the tools can reach in one workspace, indexed once and shared by all probes of a checkpoint."""

    def __init__(self, workspace: Workspace, recall: str, compactions: int) -> None:
        """Raises ConfigError for an unknown value of ``recall``."""
        if recall not in RECALL:
            raise ConfigError(f"recall has no value {recall!r}; known: {', '.join(RECALL)}")
        self._workspace = workspace
        self.files = dict(workspace.files())
        if compactions and recall != "intact":
            left = recall == "compacted"
            self.files = {path: file for path, file in self.files.items() if left and path.startswith(COMPACTED)}
        self._texts = {path: self._text(path) for path, file in self.files.items() if file.image is None}
        self._paths = list(self._texts)
        self._search = Index([f"{path}\n{text}" for path, text in self._texts.items()])
        self._artifacts = self._by_artifact()
        self._recall = Index(
            ["\n".join([*paths, *(self._texts.get(path, "") for path in paths)]) for paths in self._artifacts.values()]
        )

    def call(self, call: ToolCall) -> ToolResult:
        """Runs one call. Every fault of the caller becomes a result that tells it."""
        if call.name not in NAMES:
            return _fault(f"There is no tool {call.name!r}. Tools: {', '.join(NAMES)}.")
        argument = "path" if call.name == READ_FILE else "query"
        try:
            given = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError):
            return _fault(f"The arguments of {call.name} are no JSON.")
        value = given.get(argument) if isinstance(given, dict) else None
        if not isinstance(value, str) or not value.strip():
            return _fault(f"{call.name} needs the argument {argument!r}, a text.")
        if call.name == READ_FILE:
            return self.read_file(value)
        return self.recall(value) if call.name == ARTIFACT_RECALL else self.search(value)

    def recall(self, query: str) -> ToolResult:
        """The artefact that the query names, else the one that fits best, with its records and its pictures; where
        none can be reached, the best file that can."""
        names = list(self._artifacts)
        named = [name for name in names if _stands_in(name, query)]
        named = named or [name for name in names if any(_stands_in(path, query) for path in self._artifacts[name])]
        best = [names.index(named[0])] if named else self._recall.best(query, 1, telling=True)
        if not best:
            return self._shown(self._search.best(query, 1)) if not names else ToolResult(NO_MATCH)
        name = names[best[0]]
        paths = self._artifacts[name]
        shown = [f"[{path}]\n{self._texts[path][:SHOWN]}" for path in paths if path in self._texts]
        pictures = tuple(image for path in paths if (image := self.files[path].image) is not None)
        return ToolResult("\n".join([f"[{name}]", *shown]), pictures, paths)

    def search(self, query: str) -> ToolResult:
        """The best text files."""
        return self._shown(self._search.best(query, SEARCHED))

    def read_file(self, path: str) -> ToolResult:
        """One file, named by its path."""
        wanted = posixpath.normpath(path.strip().lstrip("/"))
        if wanted not in self.files:
            return ToolResult(f"There is no file {path!r}.")
        image = self.files[wanted].image
        if image is not None:
            return ToolResult(f"[{wanted}]", (image,), (wanted,))
        text = self._texts[wanted]
        cut = "" if len(text) <= READ else f"\n[cut: {READ} of {len(text)} characters]"
        return ToolResult(f"[{wanted}]\n{text[:READ]}{cut}", (), (wanted,))

    def _shown(self, places: Sequence[int]) -> ToolResult:
        paths = tuple(self._paths[place] for place in places)
        if not paths:
            return ToolResult(NO_MATCH)
        return ToolResult("\n".join(f"[{path}]\n{self._texts[path][:SHOWN]}" for path in paths), (), paths)

    def _text(self, path: str) -> str:
        return self._workspace.read(path).decode("utf-8", "replace")

    def _by_artifact(self) -> dict[str, tuple[str, ...]]:
        """The paths of each artefact and its records, the artefact's own first."""
        found: dict[str, list[str]] = {}
        for path, file in sorted(self.files.items(), key=_own_first):
            if file.about:
                found.setdefault(file.about, []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}


def _own_first(entry: tuple[str, Stored]) -> tuple[bool, str]:
    path, file = entry
    return file.about not in path or file.image is None, path


def _stands_in(name: str, query: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query) is not None


def _fault(text: str) -> ToolResult:
    return ToolResult(text, fault=text)
