"""DeliverMem Table 12: counterfactual images in the same slots of the gold messages (section 4, appendix D.3).

Each difference is written as the paper writes it: first the condition that keeps more of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchsuite_reports.effects import EffectTable, Line
from benchsuite_reports.table import Condition, Row, RunFacts, Table, TableSpec

ID = "delivermem_t12"
ORACLE = Condition("Original image", "oracle", "pixels")
SCRAMBLE = Condition("Tiles permuted", "oracle", "pixels+scramble")
PHASE = Condition("Phase randomised", "oracle", "pixels+phase")
DECOY = Condition("Decoy", "oracle", "pixels+decoy")
WITHHELD = Condition("Withheld", "oracle", "noimg")
LADDER = (ORACLE, SCRAMBLE, PHASE, DECOY, WITHHELD)

COUNTERFACTUAL = (SCRAMBLE, PHASE, DECOY)
EFFECTS = EffectTable(
    id=ID,
    title="DeliverMem Table 12: the ladder of counterfactual images",
    lines=(
        Line("original - scramble", SCRAMBLE, ORACLE, name="original - scramble"),
        Line("original - phase", PHASE, ORACLE, name="original - phase"),
        Line("original - decoy", DECOY, ORACLE, name="original - decoy"),
        Line("original - withheld", WITHHELD, ORACLE, name="original - withheld"),
        Line("decoy - withheld", WITHHELD, DECOY, name="decoy - withheld"),
        Line("phase - decoy", DECOY, PHASE, name="phase - decoy"),
        Line("scramble - decoy", DECOY, SCRAMBLE, name="scramble - decoy"),
    ),
    notes=(
        "Gold messages padded to ten in every condition; what their image slots carry: original, the image; "
        "scramble, its own tiles in another order, objects legible; phase, its own colours and statistics, no "
        "object; decoy, another question's photograph in the same size; withheld, nothing. Against the original a "
        "larger difference is a larger loss; original - phase is the value of the content itself.",
    ),
)


def has_counterfactual(row: Row) -> bool:
    return any(condition.has(row) for condition in COUNTERFACTUAL)


def build(rows: Sequence[Row], facts: RunFacts) -> Table:
    """Table 12 from outcome rows; none of them are its own where no counterfactual image was delivered.

    Raises BenchError as ``EffectTable.build`` does.
    """
    return EFFECTS.build(rows if any(map(has_counterfactual, rows)) else (), facts)


TABLE = TableSpec(ID, build, ("memlens",), conditions=LADDER)
