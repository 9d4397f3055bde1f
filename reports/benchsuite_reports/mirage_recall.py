"""What MIRAGE's ``artifact_recall`` brought back, apart from whether it was called, by state, condition and recall
surface (SCIENCE of MIRAGE: compliance and recoverability are separate columns)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchsuite_reports.arms import NONE, answered
from benchsuite_reports.mirage_base import Agent, agents, left_out, made, number_of, together
from benchsuite_reports.mirage_measure import rate_of
from benchsuite_reports.mirage_routes import arm_name, group_facts, group_heading
from benchsuite_reports.table import Block, Number, Row, RunFacts, Table, TableSpec

ID = "mirage_recall"
TITLE = "MIRAGE: recall calls, what came back, and GC given each"
ARM = ("Condition", "Recall", "State")
COLUMNS = (
    *ARM,
    "probes",
    "recalled",
    "calls",
    "hits",
    "empty",
    "gold text",
    "gold pixels",
)
GIVEN = (*ARM, "no recall", "empty", "hit", "gold text", "gold pixels")


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """From outcome rows of the main split, two blocks per length and model with a row per condition, recall surface and
    state. Raises BenchError when its rows mix corpora, protocols, renderers, scorers or models as served."""
    groups = together(agents(rows, condition=None, about=("recall",)), "condition", "varied")
    return made(
        (ID, TITLE, COLUMNS),
        [agent for group in groups for agent in group],
        [block for group in groups for block in _blocks(group, facts)],
        facts,
        (
            "Counts of the first run. probes: recorded calls on answerable questions, parsed or not; recalled: those "
            "that called artifact_recall at least once; calls, hits and empty count the calls themselves. Gold text "
            "and gold pixels: probes to which any tool returned the text or the pixels of the object that is asked "
            "about. GC: grounded of the parsed probes of that kind; empty: recalled and nothing found, hit: found "
            "something, whatever it was.",
        ),
    )


TABLE = TableSpec(ID, build, ("mirage",), empty="no row of the main split stands on the defaults of the other axes")


def _score(row: Row, name: str) -> float:
    return number_of(row, name) or 0.0


KINDS: Mapping[str, Callable[[Row], bool]] = {
    "none": lambda row: _score(row, "recall_calls") == 0,
    "empty": lambda row: _score(row, "recall_calls") > 0 and _score(row, "recall_hits") == 0,
    "hit": lambda row: _score(row, "recall_hits") > 0,
    "gold_text": lambda row: _score(row, "gold_text") > 0,
    "gold_pixels": lambda row: _score(row, "gold_pixels") > 0,
}


def _blocks(group: Sequence[Agent], facts: RunFacts) -> tuple[Block, Block]:
    values = dict[str, Number]()
    found = [_row(agent, state, values) for agent in group for state in agent.states]
    gone = tuple((f"{arm_name(agent)}: {what}", why) for agent in group for what, why in left_out(agent))
    heading = group_heading(group)
    counts = tuple((*arm, *shown) for arm, shown, _ in found)
    given = tuple((*arm, *shown) for arm, _, shown in found)
    return (
        Block(heading, group_facts(ID, group, facts), counts, gone, values=values),
        Block(f"{heading}: GC given what came back", (), given, None, columns=GIVEN),
    )


_Texts = tuple[str, ...]


def _row(agent: Agent, state: str, values: dict[str, Number]) -> tuple[_Texts, _Texts, _Texts]:
    """The arm, the counts, and GC given each kind, as texts."""
    arm = (agent.condition, dict(agent.varied)["recall"], state)
    probes = [row for row in agent.first(state) if answered(row) and row["answerable"]]
    if not any(number_of(row, "recall_calls") is not None for row in probes):
        return arm, (str(len(probes)), *(NONE for _ in COLUMNS[4:])), tuple(NONE for _ in GIVEN[3:])
    counts = {
        "recalled": sum(not KINDS["none"](row) for row in probes),
        **{name: int(sum(_score(row, f"recall_{name}") for row in probes)) for name in ("calls", "hits", "empty")},
        **{name: sum(KINDS[name](row) for row in probes) for name in ("gold_text", "gold_pixels")},
    }
    key = f"{arm_name(agent)}.{state}"
    values.update({f"{name}.{key}": count for name, count in counts.items()})
    given = []
    for name, wanted in KINDS.items():
        gc = rate_of((row for row in probes if wanted(row)), "gc")
        values.update({f"gc.{name}.{key}": gc.value, f"n.{name}.{key}": gc.n})
        given.append(f"{gc.k}/{gc.n}" if gc.n else NONE)
    return arm, (str(len(probes)), *(str(count) for count in counts.values())), tuple(given)
