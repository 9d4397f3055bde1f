"""The nouns of a corpus: what was said and shown, and what is asked about it. All immutable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from benchsuite.corpus.script import Script

UNKNOWN_DATE = "unknown"  # of a session or question to which the corpus gives none
_MARKER = re.compile(r"[ \t]*<image>[ \t]*")


def plain_text(text: str) -> str:
    """A message's text without its ``<image>`` markers, which neither retrieval nor any arm shows."""
    return (_MARKER.sub(" ", text) if "<image>" in text else text).strip()


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a turn, known by the sha256 of its stored bytes.

    ``missing`` is empty, or says why there are no bytes: ``absent`` (no such file), ``remote`` (only a URL is
    given; nothing is ever fetched). ``width`` and ``height`` are pixels, ``size`` is bytes; all 0 when missing.
    ``path`` is relative to the corpus' image root and never leaves this process. ``caption`` is the corpus' own
    description where it has one: it belongs to the place where the image is shown, not to its bytes.
    """

    sha256: str
    path: str
    mime: str = ""
    width: int = 0
    height: int = 0
    size: int = 0
    missing: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``text`` keeps its ``<image>`` markers; ``role`` is ``user`` or ``assistant``."""

    id: str
    role: str
    text: str
    images: tuple[Image, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    date: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The conversation a question is asked about. ``id`` is the sha256 of its content, whatever its ids are."""

    id: str
    sessions: tuple[Session, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(turn for session in self.sessions for turn in session.turns)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Gold: the turns and sessions that support the answer, in conversation order.

    Only components registered as oracles, and scoring, ever see it. ``stale`` and ``latest`` are turn ids
    where the corpus marks an update chain; ``sources`` are the ids of the artefacts that show the answer, where the
    suite asks for a source.
    """

    turn_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold answer. ``date`` is the day it is asked, as the corpus writes it."""

    id: str
    type: str
    text: str
    gold: str
    date: str
    history_id: str
    answerable: bool = True
    evidence: Evidence = Evidence()
    images: tuple[Image, ...] = ()
    options: tuple[str, ...] = ()
    subtype: str = ""
    outdated: str = ""
    labels: tuple[str, ...] = ()
    split: str = ""
    cluster: str = ""

    def query(self) -> Query:
        """What a retriever or a memory method may see: no type, no gold."""
        return Query(text=self.text, date=self.date, images=self.images, options=self.options)


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    date: str = ""
    images: tuple[Image, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """What retrieval ranks and delivery renders: a turn (MemLens), a round (MemEye), a note of a method.

    ``session`` is the position of its session in the history, from 1; 0 where there is none.
    """

    id: str
    turn_ids: tuple[str, ...]
    role: str
    text: str
    images: tuple[Image, ...] = ()
    date: str = ""
    session: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """What planning needs of a question without opening its history.

    ``order`` is a sha256 over question text, date and history content (never ids or paths): seeds,
    ``--bench-limit`` and ``--bench-shard`` come from it. ``history_id`` is the prefix group.
    """

    id: str
    type: str
    split: str
    cluster: str
    labels: tuple[str, ...]
    answerable: bool
    history_id: str
    order: str


class Corpus(Protocol):
    """A validated, indexed corpus, opened read-only by any process."""

    @property
    def suite(self) -> str: ...
    @property
    def name(self) -> str:
        """What tables call it: ``memlens-mini``, or the file or folder name of a user's corpus."""

    @property
    def digest(self) -> str: ...
    @property
    def files(self) -> Mapping[str, str]:
        """The sha256 of each file that it was read from, images aside, by name."""

    @property
    def bundled(self) -> bool:
        """True for the mini corpora: their tables are headed 'pipeline check, not evidence'."""

    @property
    def lengths(self) -> tuple[str, ...]:
        """Shortest first."""

    def outline(self, length: str) -> Sequence[Outline]:
        """The questions of one length in corpus order."""

    def question(self, length: str, question_id: str) -> Question: ...
    def history(self, history_id: str) -> History: ...
    def history_size(self, history_id: str) -> int:
        """Bytes to read and parse for it: a small one costs less than a thread."""

    def script(self, history_id: str) -> Script | None:
        """What a conversation that begins with this history is built from; None where the suite has no such thing."""

    def items(self, history: History) -> tuple[Item, ...]:
        """The history in conversation order, cut into what retrieval ranks."""

    def image_bytes(self, image: Image) -> bytes:
        """The stored bytes. Raises DataError when the file changed, went away or is truncated."""
