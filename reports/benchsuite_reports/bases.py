"""What each table's contrasts stand on: the one place that says so (DeliverMem, appendix F.1).

A base that the paper does not state, but that its figures imply, is marked as inferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Base:
    """``text`` is what both arms of a contrast share; ``n`` the questions of the paper; ``why`` says what an inferred
    base is inferred from (empty: the paper states it)."""

    text: str
    n: str
    why: str = ""

    def __str__(self) -> str:
        inferred = f" (inferred: {self.why})" if self.why else ""
        return f"{self.text}{inferred}; {self.n} in the paper"


_NO_TAG_NO_DATE = "no tag, no date"
_DEPLOYED = "both channels, region index, K = 10, tag and date"
BASES: Mapping[str, Base] = {
    "delivermem_t1": Base(f"text channel or oracle, K = 10, {_NO_TAG_NO_DATE}", "173 non-refusal questions"),
    "delivermem_t4": Base(
        f"D1: oracle, {_NO_TAG_NO_DATE}; D2, D3: {_DEPLOYED}; binding: both channels, whole-image index, tag and date; "
        f"R1: both channels, {_NO_TAG_NO_DATE}",
        "173 questions (D1), 195 (D2), 194 temporal of all 789 (D3), 173 (binding), 195 (R1)",
        "D2 and D3 from the deployed configuration, the binding row from F.1",
    ),
    "delivermem_t5": Base(f"the bases of Table 4; D3 also against no date: {_DEPLOYED}", "the questions of Table 4"),
    "delivermem_t12": Base(
        f"oracle, K = 10, {_NO_TAG_NO_DATE}, five conditions of one batch",
        "173 non-refusal questions",
        "C.1 names oracle10",
    ),
    "delivermem_t13": Base(
        f"oracle, K = 10, {_NO_TAG_NO_DATE}, the batch of Table 12", "173 non-refusal questions", "as Table 12"
    ),
    "delivermem_t14": Base(
        f"text channel or oracle, K = 10, {_NO_TAG_NO_DATE}, the run of Table 1", "173 non-refusal questions"
    ),
    "delivermem_t15": Base(
        f"text channel or oracle, K = 10, {_NO_TAG_NO_DATE}; two channels on the whole-image index for abstention",
        "173 non-refusal questions, three backbones",
        "the protocol of Table 1 with another model",
    ),
    "delivermem_t19": Base(
        "both channels, whole-image index (F.1), K = 10, tag and date", "195 questions, 173 of them non-refusal"
    ),
    "delivermem_t20": Base(_DEPLOYED, "195 questions at 32K and 128K"),
    "delivermem_k": Base("both channels, region index, tag and date, K varies", "195 questions", "E.5 gives no base"),
    "delivermem_e6": Base(_DEPLOYED, "195 questions at four lengths"),
    "delivermem_e7": Base(
        _DEPLOYED + "; dates accurate, permuted, absent (ordinals are no part of the paper's runs)",
        "194 temporal and 505 other questions of 789; 48 and 147 of the subset",
    ),
    "delivermem_e8": Base(
        f"both channels, K = 10: region index, tag and date, against whole-image index, {_NO_TAG_NO_DATE}",
        "all 789 questions; 195 within the batch of Table 7",
    ),
    "delivermem_c5": Base(
        f"full configuration against both channels, whole-image index, {_NO_TAG_NO_DATE}; fitted on the dev split",
        "594 dev and 195 eval questions, SubEM",
    ),
    "delivermem_identity": Base(
        f"{_DEPLOYED.replace(' and date', '')} varied, with the date", "not measured on MemLens", "Table 10's cells"
    ),
    "delivermem_metrics": Base("the conditions of Table 15", "173 non-refusal questions, three backbones"),
}


def base_of(table: str) -> str:
    return str(BASES[table])
