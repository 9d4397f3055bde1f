"""The end of a run: token counts and certificates where they are needed, then its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchsuite.errors import BenchError
from benchsuite.registry import Registry
from benchsuite.runs import RunStore
from benchsuite.runs.costs import sum_costs
from benchsuite_pytest.preflight import Prepared

if TYPE_CHECKING:
    from benchsuite_reports.table import Table, TokenCounts


@dataclass(frozen=True, slots=True)
class Reported:
    """What a run shows: the ``tables`` to print, the ids of the ``figures`` drawn, what was ``certified`` of the pairs
    that they show, a line for each of the ``problems``."""

    tables: Sequence[Table] = ()
    figures: Sequence[str] = ()
    problems: Sequence[str] = ()
    certified: str = ""


def make_tables(store: RunStore, rows: Sequence[Mapping[str, Any]], prepared: Prepared, registry: Registry) -> Reported:
    """Write the tables and figures that the run's experiments name, the table of the contrasts that they declare, and
    the certificates of what these show; a fault in one never loses the others."""
    from benchsuite_reports.certified import open_certificates
    from benchsuite_reports.table import RunFacts
    from benchsuite_reports.write import fill, needs_tokens, own_tables, write_figures, write_tables

    experiments = store.info["experiments"].values()
    ids = sorted({table for experiment in experiments for table in experiment["tables"]})
    declared = ["contrasts"] if any(experiment["contrasts"] for experiment in experiments) else []
    if not rows or not (ids or declared):
        return Reported()
    store.info["index_costs"] = sum_costs(store.path)
    cache = prepared.settings.folder / "cache"
    own = own_tables(registry.tables.values())
    tokens, problems = _count_tokens(store, rows, prepared, needs_tokens(ids, own))
    folder = store.path / "tables"
    with open_certificates({store.path.name: store.path}, [cache], registry.deliveries) as certificates:
        facts = RunFacts.from_info(store.info, store.path.name, tokens, certificates)
        filled = fill(rows, facts, store.path, [cache], [*ids, *declared], own)
        certified = str(certificates)
        certificates.write(store.path)
    tables, faults = write_tables(folder, filled.tables)
    drawn, undrawn = write_figures(folder, filled.figures)
    shown = [table for table in tables if table.id in ids or not ids]
    return Reported(shown, drawn, [*problems, *filled.problems, *filled.unfilled, *faults, *undrawn], certified)


def _count_tokens(
    store: RunStore, rows: Sequence[Mapping[str, Any]], prepared: Prepared, needed: bool
) -> tuple[TokenCounts | None, list[str]]:
    from benchsuite_reports.tokens import count_tokens, write_tokens

    if not needed:
        return None, []
    try:
        corpora = {corpus.digest: corpus for corpus in prepared.corpora.values()}
        settings = prepared.settings
        tokens = count_tokens(store.path, rows, settings.folder / "cache", corpora, settings.tokenizer)
        write_tokens(store.path, tokens)
    except BenchError as error:
        return None, [f"token counts: {error}"]
    return tokens, []
