"""What a paper table is made of: frozen values, no measuring and no rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, object]
"""An outcome row as ``outcomes.jsonl`` has it."""

Number = int | float | str | None

PIPELINE_CHECK = "pipeline check, not evidence"
EMBEDDED_READER = "OCR + MiniLM reader"


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """``bundled`` corpora were made together with the embedded reader: their tables are no evidence."""

    name: str
    bundled: bool


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a table must say that its rows cannot: corpora by digest, and who reads.

    ``embedded_models`` are the values of the model axis that are the embedded reader. ``run`` names the run.
    """

    corpora: Mapping[str, CorpusFacts]
    embedded_models: frozenset[str] = frozenset()
    run: str = ""

    @classmethod
    def from_info(cls, info: Mapping[str, Any], run: str = "") -> RunFacts:
        """From ``run.json``: ``corpora`` is {digest: {name, bundled}}, ``embedded_models`` a list."""
        corpora = {
            digest: CorpusFacts(str(each["name"]), bool(each["bundled"]))
            for digest, each in info.get("corpora", {}).items()
        }
        return cls(corpora, frozenset(info.get("embedded_models", ())), run)


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of a table (one model at one length): rows under the table's columns.

    ``facts`` are label and text, printed above the rows. ``left_out`` are question ids with the reason.
    ``values`` are the numbers behind the texts, unrounded, for the JSON form; fractions, not points.
    """

    heading: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    values: Mapping[str, Number] = field(default_factory=dict)


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
    belong to it and raises BenchError rather than mix what must not be mixed.
    """

    id: str
    build: Callable[[Sequence[Row], RunFacts], Table]


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
