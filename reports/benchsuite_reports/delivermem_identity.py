"""Where the identity lives: Table 10's cells on MemLens, with the further tag controls (DeliverMem appendix C.3).

Factors are whether the pixels carry the tag and whether the text names it; everything stands on the deployed
configuration, the date included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.factorial import cluster_two_by_two
from benchsuite.stats.paired import two_by_two
from benchsuite.stats.permutation import cluster_permutation
from benchsuite_reports.arms import DELIVERMEM, Group, Paired, cell
from benchsuite_reports.clustered import interval_text
from benchsuite_reports.effects import EffectTable, Line, everything
from benchsuite_reports.table import Block, Number, RunFacts, TableSpec, p_value, signed, wins_losses

ID = "delivermem_identity"
TITLE = "Where the identity lives: pixels by text, and the tag controls (cells of DeliverMem Table 10, on MemLens)"
TAG = DELIVERMEM
NEITHER, IN_PIXELS, IN_TEXT, CONSTANT, SHUFFLED, SHUFFLED_PIXELS = (
    replace(DELIVERMEM, delivery=f"deployed+{token}")
    for token in ("notag", "tagpix", "tagtext", "tagconst", "tagshuf", "tagshufpix")
)
LINES = (
    Line("stamp, text says nothing", NEITHER, IN_PIXELS, everything, "pixels.silent"),
    Line("stamp, text names the tag", IN_TEXT, TAG, everything, "pixels.named"),
    Line("name, pixels unstamped", NEITHER, IN_TEXT, everything, "text.unstamped"),
    Line("name, pixels stamped", IN_PIXELS, TAG, everything, "text.stamped"),
    Line("both against neither", NEITHER, TAG, everything, "both"),
    Line("tag - one mark on all", CONSTANT, TAG, everything, "name_removed"),
    Line("tag - shuffled, text follows", SHUFFLED, TAG, everything, "map_shuffled"),
    Line("tag - shuffled, text stays", SHUFFLED_PIXELS, TAG, everything, "map_shuffled_pixels"),
    Line("shuffled - one mark on all", CONSTANT, SHUFFLED, everything, "uniqueness"),
)
CELLS = {"pixels unstamped": (NEITHER, IN_TEXT), "pixels stamped": (IN_PIXELS, TAG)}
EFFECT_COLUMNS = ("effect", "estimate", "W/L", "p", "95% by cluster", "clusters", "cluster p")


def _grid(group: Group, paired: Paired, facts: RunFacts) -> Iterable[Block]:
    """The 2x2: its cells, then main effects and interaction; nothing where one of the four was not run."""
    scores = [paired.scores(each.name) for each in (NEITHER, IN_TEXT, IN_PIXELS, TAG)]
    known = [each for each in scores if each]
    if len(known) < len(scores):
        return ()
    accuracies = {label: [paired.accuracy(each.name) for each in pair] for label, pair in CELLS.items()}
    cells = Block(
        heading=f"{group.heading}: the four cells",
        facts=(),
        rows=tuple((label, *map(cell, pair)) for label, pair in accuracies.items()),
        left_out=None,
        values={
            f"{label}.{text}": accuracy
            for label, pair in accuracies.items()
            for text, accuracy in zip(("silent", "named"), pair, strict=True)
        },
        columns=("accuracy", "text says nothing", "text names the tag"),
    )
    return cells, _effects(group, paired, known)


def _effects(group: Group, paired: Paired, known: list[dict[str, float]]) -> Block:
    clusters = {q: str(paired.question(q)["cluster"]) or f"question {q}" for q in paired.kept}
    found = two_by_two(*known)
    by_cluster = cluster_two_by_two(*known, clusters=clusters)
    rows: list[tuple[str, ...]] = []
    values: dict[str, Number] = {}
    for label, effect, units in (
        ("pixels (main effect)", found.first, by_cluster.first),
        ("text (main effect)", found.second, by_cluster.second),
        ("interaction", found.interaction, by_cluster.interaction),
    ):
        test = cluster_permutation(units, weights="questions")
        wide = bootstrap(units, weights="questions") if len(units) > 1 else None
        name = label.partition(" ")[0]
        rows.append(
            (
                label,
                signed(effect.estimate),
                wins_losses(effect.wins, effect.losses),
                p_value(effect.p),
                interval_text(wide),
                str(len(units)),
                p_value(test.p) + ("" if test.exact else "*"),
            )
        )
        values.update({name: effect.estimate, f"{name}.wins": effect.wins, f"{name}.losses": effect.losses})
        values.update({f"{name}.p": effect.p, f"{name}.cluster_p": test.p})
    return Block(
        heading=f"{group.heading}: main effects and interaction",
        facts=(),
        rows=tuple(rows),
        left_out=None,
        notes=(
            "A main effect is the mean of its two simple effects; the interaction is their unhalved difference. Their "
            "estimates sum magnitudes, their W/L count the signs of each question's value.",
        ),
        values=values,
        columns=EFFECT_COLUMNS,
    )


EFFECTS = EffectTable(
    id=ID,
    title=TITLE,
    lines=LINES,
    wanted=everything,
    notes=(
        "stamp: the tag in the pixels; name: the text says which tag an item has. Text follows: the tags change "
        "places and each item's note names the tag that its image really carries; text stays: the stamps change "
        "places and every word stays. One mark on all: the same mark on every image, named in the text. Where pixels "
        "are unstamped and the text names the tag, it stands in the item's text, since no stamp could be pointed at.",
    ),
    extra=_grid,
)
TABLE = TableSpec(ID, EFFECTS.build, ("memlens",), conditions=EFFECTS.conditions)
