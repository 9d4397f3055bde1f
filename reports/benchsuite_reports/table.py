"""What a paper table is made of: frozen values, no measuring and no rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from benchsuite.delivery.certificates.certify import Certificate

Row = Mapping[str, object]
"""An outcome row as ``outcomes.jsonl`` has it."""

Number = int | float | str | None

PIPELINE_CHECK = "pipeline check, not evidence"
EMBEDDED_READER = "OCR + MiniLM reader"
FULL_CONTEXT_SIDE = 768
"""Longest image side in pixels at which a whole history is counted (DeliverMem, appendix E.6)."""


K = 10
"""Items delivered where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A row of a table, with the arm that it stands for. ``index`` is empty where retrieval reads none."""

    label: str
    retrieval: str
    delivery: str
    index: str = ""
    k: int = K
    repeat: int = 0

    @property
    def name(self) -> str:
        further = (f"k{self.k}" if self.k != K else "", f"r{self.repeat}" if self.repeat else "")
        return "-".join(filter(None, (self.retrieval, self.delivery, self.index, *further)))

    def has(self, row: Row) -> bool:
        return (
            row.get("arm.retrieval") == self.retrieval
            and row.get("arm.delivery") == self.delivery
            and (not self.index or row.get("arm.index") == self.index)
            and row.get("arm.k", K) == self.k
            and row.get("arm.repeat", 0) == self.repeat
        )


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """``bundled`` corpora were made together with the embedded reader: their tables are no evidence.

    ``files`` is the sha256 of each file of the corpus, by file name; empty where the run did not record them.
    """

    name: str
    bundled: bool
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EncoderFacts:
    """A retrieval channel's encoder: ``name`` as it is chosen, ``checkpoint`` its weights' folder or package name,
    ``identity`` what its vectors are keyed by."""

    name: str
    checkpoint: str = ""
    identity: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.checkpoint})" if self.checkpoint not in ("", self.name) else self.name


@dataclass(frozen=True, slots=True)
class IndexCost:
    """What an image index cost: ``images`` of ``tiles`` float32 vectors each, ``bytes`` on disk, ``encode_s``
    seconds to embed all of them, and ``score_ms`` milliseconds in all for ``queries`` queries of this run."""

    encoder: str
    images: int
    tiles: int
    bytes: int
    encode_s: float
    queries: int
    score_ms: float
    device: str = ""


@dataclass(frozen=True, slots=True)
class FullContext:
    """A question's whole history: text tokens of its messages and the question, image tokens at ``TokenCounts.side``.

    ``missing`` counts images without bytes, which have no tokens.
    """

    text: int
    images: int
    missing: int = 0

    @property
    def tokens(self) -> int:
        return self.text + self.images


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """``delivered`` is the text tokens of a cell's answering request, as sent, by cell id; ``full`` stands by
    (corpus digest, length, question id). A cell or question that could not be counted is not there.

    ``side`` is the longest side, in pixels, of the images of ``full``.
    """

    tokenizer: str
    delivered: Mapping[str, int]
    full: Mapping[tuple[str, str, str], FullContext]
    side: int = FULL_CONTEXT_SIDE


class Certifier(Protocol):
    """See ``certified.Certificates``."""

    def __call__(self, a: Row, b: Row) -> Certificate | str: ...


@dataclass(frozen=True, slots=True)
class DeclaredContrast:
    """A contrast as an experiment declares it: its text, the experiment's suite and family, whether it is primary."""

    text: str
    suite: str
    family: str = ""
    primary: bool = False


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a table must say that its rows cannot: corpora by digest, who reads, what encodes, what it cost.

    ``embedded_models`` are the values of the model axis that are the embedded reader, ``models`` the id each value
    of the model or judge axis asks for. ``encoders`` stand by channel (text, image), ``index_costs`` by value of
    the index axis. ``run`` names the run. ``certificates`` gives the certificate of two rows of one question, or says
    why there is none; ``contrasts`` are those that the run's experiments declare. ``windows`` are context windows in
    tokens by value of the model axis, where its entry names one.
    """

    corpora: Mapping[str, CorpusFacts]
    embedded_models: frozenset[str] = frozenset()
    run: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    encoders: Mapping[str, EncoderFacts] = field(default_factory=dict)
    index_costs: Mapping[str, IndexCost] = field(default_factory=dict)
    tokens: TokenCounts | None = None
    certificates: Certifier | None = None
    contrasts: tuple[DeclaredContrast, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_info(
        cls,
        info: Mapping[str, Any],
        run: str = "",
        tokens: TokenCounts | None = None,
        certificates: Certifier | None = None,
    ) -> RunFacts:
        """From ``run.json``: {digest: {name, bundled, files}}, {channel: {name, ...}}, {index: {encoder, ...}}."""
        return cls(
            corpora={
                digest: CorpusFacts(str(each["name"]), bool(each["bundled"]), each.get("files", {}))
                for digest, each in info.get("corpora", {}).items()
            },
            embedded_models=frozenset(info.get("embedded_models", ())),
            run=run,
            models={name: str(each["model"]) for name, each in info.get("models", {}).items()},
            encoders={channel: _known(EncoderFacts, each) for channel, each in info.get("encoders", {}).items()},
            index_costs={index: _known(IndexCost, each) for index, each in info.get("index_costs", {}).items()},
            tokens=tokens,
            certificates=certificates,
            contrasts=_declared(info.get("experiments", {})),
            windows={
                name: each["context_window"]
                for name, each in info.get("models", {}).items()
                if each.get("context_window") is not None
            },
        )


def _known(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """The dataclass from those of the values that it has fields for."""
    return kind(**{name: values[name] for name in kind.__dataclass_fields__ if name in values})


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of a table (one model at one length): rows under ``columns``, or the table's if there are none.

    ``facts`` are label and text, printed above the rows. ``left_out`` are question ids with the reason; None for a
    block that shows a part of another's questions.
    ``values`` are the numbers behind the texts, unrounded, for the JSON form; fractions, not points.
    """

    heading: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[tuple[str, str], ...] | None = ()
    notes: tuple[str, ...] = ()
    values: Mapping[str, Number] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a paper. ``pipeline_check`` puts 'pipeline check, not evidence' above everything.

    ``facts`` hold for all blocks: corpus and digest, scorer, protocol, certificates.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    pipeline_check: bool = False

    @property
    def heading(self) -> str:
        return f"{self.title} ({PIPELINE_CHECK})" if self.pipeline_check else self.title


@dataclass(frozen=True, slots=True)
class TableSpec:
    """How a module offers its table: a module-level ``TABLE`` of this type is found by itself.

    ``build`` is a pure function of outcome rows. It returns a Table without blocks when none of the rows
    belong to it and raises BenchError rather than mix what must not be mixed. ``suites`` are those whose rows it shows
    (empty: any). ``needs_tokens``: it shows token
    counts, which are taken before it is built (see ``tokens``). ``conditions`` are the arms that it shows, all of
    them; ``empty`` says why it may have no row though each of them was run.
    """

    id: str
    build: Callable[[Sequence[Row], RunFacts], Table]
    suites: tuple[str, ...] = ()
    needs_tokens: bool = False
    conditions: tuple[Condition, ...] = ()
    empty: str = "no question has an answer in two of its arms"


def _declared(experiments: Mapping[str, Mapping[str, Any]]) -> tuple[DeclaredContrast, ...]:
    found = [
        DeclaredContrast(text, str(each["suite"]), str(each["family"]), text == each["primary"])
        for each in experiments.values()
        for text in dict.fromkeys([*filter(None, [each["primary"]]), *each["contrasts"]])
    ]
    return tuple(dict.fromkeys(found))


def percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def signed(fraction: float) -> str:
    """A difference in points: ``+13.87``, and ``+0.00`` for none."""
    return f"{100 * fraction + 0.0:+.2f}".replace("-0.00", "+0.00")


def p_value(p: float) -> str:
    """Two significant digits: ``0.58``, ``0.0012``, and ``1.2e-4`` below one in a thousand."""
    if p == 0:
        return "<1e-300"  # the exact value is below what a float holds
    if p >= 0.001:
        return f"{p:#.2g}".rstrip(".")
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def wins_losses(wins: int, losses: int) -> str:
    return f"{wins}/{losses}"
