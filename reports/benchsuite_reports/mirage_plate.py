"""What the MIRAGE figures share: the caption's facts, and the questions that they leave out."""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.figure import facts_caption
from benchsuite_reports.figure_states import ACROSS, StateFigure, StatePanel
from benchsuite_reports.mirage_base import PUBLISHED, Agent, about_run, agent_facts, left_out, shared_facts
from benchsuite_reports.table import RunFacts


def plate(
    name: tuple[str, str],
    panels: Sequence[StatePanel],
    found: Sequence[Agent],
    facts: RunFacts,
    caption: Sequence[str],
    across: int = ACROSS,
) -> StateFigure | None:
    """The figure (id, title) of these agents; None without panels. Raises BenchError when rows mix corpora, protocols,
    renderers, scorers or models as served."""
    if not panels:
        return None
    about, check = about_run(name[0], [row for agent in found for row in agent.all_rows()], facts)
    lines = agent_lines(name[0], found, facts)
    return StateFigure(
        *name,
        panels=tuple(panels),
        caption=(*caption, *captions(name[0], found, facts), facts_caption(about), PUBLISHED),
        facts=(*about, *lines),
        left_out=tuple((f"{what}: {agent.heading}", why) for agent in found for what, why in left_out(agent)),
        pipeline_check=check,
        across=across,
    )


def agent_lines(figure: str, found: Sequence[Agent], facts: RunFacts) -> tuple[tuple[str, str], ...]:
    """The facts of each agent under its heading."""
    return tuple(
        (f"{agent.heading}: {label}", text) for agent in found for label, text in agent_facts(figure, agent, facts)
    )


def apart(headings: Sequence[str]) -> list[str]:
    """What of each heading the others do not say; all of it where nothing is left."""
    parts = [heading.split(", ") for heading in headings]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    return [", ".join(part for part in each if part not in common) or ", ".join(each) for each in parts]


def captions(figure: str, found: Sequence[Agent], facts: RunFacts) -> tuple[str, ...]:
    """What the agents' facts say that is not nothing, once where they share it; bounds and what providers counted are
    left to the data."""
    names = apart([agent.heading for agent in found])
    merged_facts = shared_facts(figure, dict(zip(names, found, strict=True)), facts)
    shown = [
        f"{label}: {text}"
        for label, text in merged_facts
        if text not in ("0", "not reported") and not label.startswith(("worst case", "EIT"))
    ]
    return (f"{'; '.join(shown)}.",)
