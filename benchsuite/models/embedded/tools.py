"""Which tool the reader calls, and with what: one that the request demands, or one that searches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchsuite.models.embedded.naming import names_in
from benchsuite.models.embedded.talk import names_tool

_RECALLS = re.compile(r"recall", re.I)
_SEARCHES = re.compile(r"recall|search|retriev|find|look\s?up", re.I)
_FILE = re.compile(r"path|file|url", re.I)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers; ``properties`` are the JSON schemas of its arguments."""

    name: str
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    def arguments(self, question: str) -> str:
        """JSON arguments that put the question: in every required text, a path where one is asked for and named."""
        wanted = [name for name in (self.required or self.properties) if self._is_text(name)]
        if not self.required:
            wanted = wanted[:1] or ["query"]
        paths = [name.text for name in names_in(question)]
        filled = {name: paths[0] if paths and _FILE.search(name) else question for name in wanted}
        return json.dumps(filled, ensure_ascii=False)

    def _is_text(self, name: str) -> bool:
        schema = self.properties.get(name, {})
        return not isinstance(schema, Mapping) or schema.get("type", "string") == "string"


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a request. ``forced`` is one that ``tool_choice`` names; ``required``: one must be called."""

    tools: tuple[Tool, ...] = ()
    forced: str = ""
    required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    def demanded(self, demand: str, called: Sequence[str]) -> Tool | None:
        """The first tool that the request demands and that has not been called since."""
        if self.forced:
            wanted = [tool for tool in self.tools if tool.name == self.forced]
        else:
            wanted = [tool for tool in self.tools if names_tool(demand, tool.name)]
            if not wanted and self.required and not called:
                wanted = [tool for tool in (self.searching or self.tools[0],) if tool is not None]
        return next((tool for tool in wanted if tool.name not in called), None)

    def demands(self, demand: str) -> bool:
        return bool(self.forced or self.required or any(names_tool(demand, tool.name) for tool in self.tools))

    @property
    def searching(self) -> Tool | None:
        """The tool to turn to unasked: one whose name speaks of recall, else of search, else the description."""
        for pattern, text in ((_RECALLS, "name"), (_SEARCHES, "name"), (_SEARCHES, "description")):
            for tool in self.tools:
                if pattern.search(getattr(tool, text)):
                    return tool
        return None
