"""Names of conversation states: ``S1-d50k``, ``S2``, ``S2-d20k`` (MIRAGE section 3.3). Roles, not measured depths."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchsuite.corpus.script import Scale
from benchsuite.errors import ConfigError

NO_STATE = "none"
_STATE = re.compile(r"S([1-9]\d?)(?:-d(\d{1,4})k?)?", re.ASCII)
_FORM = "write S1-d<N>k, S<n> or S<n>-d<N>k, e.g. S1-d0, S1-d50k, S2, S3-d20k"


@dataclass(frozen=True, slots=True)
class Milestone:
    """A point of a trunk: after ``compactions`` compactions and, if ``depth`` is not None, at the first turn
    boundary at which the active context has ``depth`` thousands of tokens (in the scale's own thousands) or more.

    Depth 0 of the first regime is the end of the planting.
    """

    name: str
    compactions: int
    depth: int | None

    def tokens(self, scale: Scale) -> int:
        """The depth in tokens of the reference count. Raises ConfigError where the compaction comes first."""
        found = (self.depth or 0) * scale.per_k
        if self.depth is not None and found >= scale.compaction:
            raise ConfigError(
                f"state {self.name} is never reached: it is at {found} tokens, and the conversation is compacted at "
                f"{scale.compaction}"
            )
        return found


def parse_state(text: str) -> Milestone:
    """Raises ConfigError that shows the forms a state can have."""
    found = _STATE.fullmatch(text)
    if found is None or (found[1] == "1" and found[2] is None):
        raise ConfigError(f"state has no value {text!r}; {_FORM}")
    return Milestone(text, int(found[1]) - 1, None if found[2] is None else int(found[2]))
