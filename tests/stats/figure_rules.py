"""How each published figure is recomputed.

By the function of ``benchsuite.stats`` that computes such a figure, or, where there is none, by the arithmetic of its
formula.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from benchsuite.stats.agreement import beyond_chance, cohen_kappa
from benchsuite.stats.factorial import difference_in_differences
from benchsuite.stats.intervals import wilson
from benchsuite.stats.paired import Effect, TwoByTwo, effect, sign_test, two_by_two
from benchsuite.stats.permutation import cluster_permutation, sign_flip_floor
from benchsuite.stats.variance import binomial_sd, residual_sd
from tests.stats.figure_data import (
    BY_ID,
    Figure,
    Inputs,
    caption_proof,
    caption_proof_by_depth,
    granularity,
    main_against_appendix,
    mirage_counts,
    quoted_from_the_main_table,
    require,
    same_numerator,
    slice_mean,
    table_1,
)


def wilson_points(k: int, n: int, level: float) -> list[float]:
    interval = wilson(k, n, level)
    return [100 * interval.low, 100 * interval.high]


def net(wins: int, losses: int, n: int) -> Effect:
    return effect([1.0] * wins + [-1.0] * losses + [0.0] * (n - wins - losses))


def share(count: int, n: int) -> float:
    """A count of questions among ``n``, or a difference of two, in points."""
    return 100 * net(max(count, 0), max(-count, 0), n).estimate


def points(low_low: float, low_high: float, high_low: float, high_high: float) -> TwoByTwo:
    """The 2x2 of four printed cell means."""
    return two_by_two({"cell": low_low}, {"cell": low_high}, {"cell": high_low}, {"cell": high_high})


def table_10(i: Inputs) -> TwoByTwo:
    return points(i["none"], i["text_only"], i["pixels_only"], i["both"])


def table_17(i: Inputs) -> TwoByTwo:
    """First factor R1, second delivery."""
    return points(i["a"], i["b"], i["c"], i["d"])


def section_7(i: Inputs) -> TwoByTwo:
    """Gains over the base cell; first factor R1, second delivery."""
    return points(0.0, i["delivery_only"], i["R1_only"], i["both"])


def sign_flip_grid(figure: Figure) -> float:
    """The exact p of clusters under which just the stated number of assignments is as extreme.

    Cluster differences of 1, 2, 4, ... have a different sum under each assignment, so that any even number of them
    can be asked for. With k of m clusters agreeing, turning the others round is at least as extreme.
    """
    m, assignments = figure["inputs"]["chains"], figure["inputs"]["assignments"]
    require(assignments % 2 == 0 and 2 <= assignments <= 2**m, f"{assignments} of {2**m} assignments")
    if agreement := figure["inputs"]["sign_agreement"]:
        agreeing, of = map(int, agreement.split("/"))
        require(of == m, f"agreement over {of} chains")
        require(assignments >= 2 ** (m - agreeing + 1), f"{agreement} cannot give {assignments} assignments")
        require(agreeing < m or assignments == 2, f"{agreement} gives 2 assignments")
    negative = assignments // 2 - 1
    signed = {f"chain {bit}": [float(-(2**bit) if negative >> bit & 1 else 2**bit)] for bit in range(m)}
    return cluster_permutation(signed).p


def floor(m: int) -> float:
    found = cluster_permutation({f"chain {index}": [1.0] for index in range(m)})
    require(found.p == found.floor == sign_flip_floor(m), f"agreeing chains give {found.p}, not {found.floor}")
    return found.floor


def beyond_the_group(i: Inputs) -> float:
    """Section 7: the mean effect on temporal questions minus that on all others."""
    effects = {f"temporal {index}": float(index < i["TR_net"]) for index in range(i["TR_n"])}
    group = list(effects)
    effects |= {f"other {index}": -float(index < -i["other_net"]) for index in range(i["other_n"])}
    return 100 * difference_in_differences(effects, group).estimate


def kappa_of(confusion: Sequence[Sequence[int]]) -> float | None:
    """Rows are one rater's labels, columns the other's."""
    pairs = [(one, other) for one, row in enumerate(confusion) for other, n in enumerate(row) for _ in range(n)]
    first, second = ({str(item): pair[rater] for item, pair in enumerate(pairs)} for rater in (0, 1))
    return cohen_kappa(first, second).kappa


def implied_kappa(figure: Figure) -> float:
    """The kappa of the printed agreement at the chance agreement that the note derives, to the two printed digits."""
    chance = re.search(r"implied chance agreement (0\.\d+)", figure["note"])
    require(chance is not None, "the note has no chance agreement")
    kappa = beyond_chance(figure["inputs"]["agreement"], float(chance[1]))  # type: ignore[index]
    return twice_the_same(round(kappa or 0.0, 2), figure["inputs"]["kappa"])


def same_cells(figure: Figure) -> Inputs:
    """The four cells of T10 or T17, which have to be those of the table's interaction."""
    table = "T10" if "none" in figure["inputs"] else "T17"
    require(figure["inputs"] == BY_ID[f"delivermem-{table}_interaction_001"]["inputs"], f"{table} has other cells")
    return dict(figure["inputs"])


def headroom(figure: Figure) -> float:
    """E.3: what delivery adds on R1, of what R1 leaves to gain."""
    i = same_cells(figure)
    return float(100 * (i["d"] - i["c"]) / (100 - i["c"]))


def differences_in_turn(figure: Figure) -> float:
    """T10 and T17, whose four cells give several figures."""
    i = same_cells(figure)
    value: float = {
        "T10 stamp alone": lambda: i["pixels_only"] - i["none"],
        "T10 sentence alone": lambda: i["text_only"] - i["none"],
        "T10 both": lambda: i["both"] - i["none"],
        "T10 both minus tag-in-text": lambda: i["both"] - i["text_only"],
        "T17 R1 alone": lambda: i["c"] - i["a"],
        "T17 delivery alone": lambda: i["b"] - i["a"],
    }[figure["place"]]()
    return value


def split_counts(i: Inputs) -> int:
    require(i["released"] == i["dev"] + i["eval"], "dev and eval are not all")
    require(i["nonrefusal"] == i["TR"] + i["KU"] + i["IE_plus_MSR"], "the types are not all non-refusal questions")
    return int(i["nonrefusal"] + i["refusal"])


def margin_parts(i: Inputs) -> list[int]:
    nonrefusal = i["withheld_minus_MemAgent"] + i["pixels"] + i["image_channel"]
    require(nonrefusal == i["nonrefusal_part"], f"the parts sum to {nonrefusal}")
    require(i["refusal_part"] + nonrefusal == i["margin_questions"], "the parts are not the margin")
    return [i["refusal_part"] + nonrefusal, nonrefusal]


def declined_by_both(i: Inputs) -> int:
    small = i["declined_8B"] - i["declined_8B_attempted_32B"]
    require(i["declined_32B"] - i["declined_32B_attempted_8B"] == small, "the two models decline different numbers")
    return int(small)


def scrambled_decoy(i: Inputs) -> float:
    value = share(i["net_questions"], i["n"])
    require(abs(i["decoy_loss"] - i["scramble_loss"] - value) <= 0.01, "the printed losses differ by another number")
    return value


def twice_the_same(one: float, other: float) -> float:
    require(one == other, f"{one} and {other}")
    return one


def nearest_multiples(figure: Figure) -> list[float]:
    i = figure["inputs"]
    require(i["published"] == figure["published"], "the inputs are other percentages")
    return [share(round(value * n / 100), n) for value, n in zip(i["published"], i["n"], strict=True)]


def half_points(figure: Figure) -> float:
    """The multiple of 1/80 nearest to the printed mean, whose largest fitting number of questions is in the inputs."""
    n, value = figure["inputs"]["n"], figure["published"]
    fitting = [m for m in range(1, n + 1) if abs(round(2 * m * value) / (2 * m) - value) <= 0.0005 + 1e-9]
    require(fitting[-1] == figure["inputs"]["fits_n"], f"half points of {fitting[-1]} questions fit")
    require(abs(round(4 * n * value) / (4 * n) - value) > 0.0005, "quarter points fit")
    return float(round(2 * n * value) / (2 * n))


def smallest_fit(i: Inputs) -> list[float]:
    """Every value as half points over the smallest n that has them all."""
    n = 1
    while any(abs(round(2 * n * value) / (2 * n) - value) > 0.0005 for value in i["values"]):
        n += 1
    require([round(2 * n * value) for value in i["values"]] == i["half_points"], f"other half points over {n}")
    return [count / (2 * n) for count in i["half_points"]]


def weighted(pairs: Sequence[tuple[float, float]]) -> float:
    """The mean of (n, value) pairs by n."""
    return sum(n * value for n, value in pairs) / sum(n for n, _ in pairs)


def visual_by_x_against_y(figure: Figure) -> float:
    i = figure["inputs"]
    require(math.isclose(weighted(i["by_Y"]), figure["published"], rel_tol=1e-6), "the Y rows have another mean")
    return weighted(i["by_X_visual"])


def labels(figure: Figure) -> list[int]:
    i = figure["inputs"]
    require([*i["paper_X"], *i["paper_Y"]] == figure["published"], "the paper prints other counts")
    return [*i["release_X"], *i["release_Y"]]


def most_recovered(figure: Figure) -> int:
    """Recovered under the gold clue: neither correct and kept before, nor more than are correct with it."""
    i = figure["inputs"]
    require(i["recovered_S2"] == figure["published"], "the text prints another count")
    return int(min(i["correct_d0"] - i["retained_d80k"], i["GC_S2"]))


def nearest_of_60(figure: Figure) -> float:
    n = figure["inputs"]["n"]
    return float(round(figure["published"] * n) / n)


def latest_in_two_tables(figure: Figure) -> float:
    i = figure["inputs"]
    require(round(i["retrieval_diagnostics"] / i["n"], 3) == figure["published"], "the diagnostics table has another")
    return float(i["recency_table"] / i["n"])


def latest_after_reranking(figure: Figure) -> int:
    i = figure["inputs"]
    require(i["Latest_vanilla"] == figure["published"] and i["K"] == 10, "the table prints another count at 10")
    return int(i["Latest_reranked"])


def oracle_equals_retrieved(i: Inputs) -> float:
    return float(round(twice_the_same(i["oracle_points"], i["SRAG_V_points"]) / i["n"], 3))


def stale_bound(figure: Figure) -> int:
    i = figure["inputs"]
    require(i["Stale"] == figure["published"], "the table prints another count")
    require(i["n"] == sum(BY_ID["memeye-XY_distribution_001"]["inputs"]["Y3"]), "Y3 has another number of questions")
    return int(i["RankInv"] + i["LatestMiss"])


def distribution(i: Inputs) -> list[int]:
    rows = [i["Y1"], i["Y2"], i["Y3"]]
    return [*map(sum, rows), *map(sum, zip(*rows, strict=True)), sum(map(sum, rows))]


def in_points(figure: Figure) -> bool:
    """MemEye prints fractions, but for its judge's agreement."""
    return bool(figure["paper"] != "memeye" or figure["place"].startswith("judge agreement"))


def increasing(*values: float) -> int:
    return int(all(low < high for low, high in pairwise(values)))


Rule = Callable[[Figure], Any]


def inputs(rule: Callable[[Inputs], Any]) -> Rule:
    """A rule that needs nothing but the inputs."""
    return lambda figure: rule(figure["inputs"])


FORMULAS: dict[str, Rule] = {
    "100-SC": inputs(lambda i: 100 - i["SC"]),
    "find nA+nU=200-PF, nA,nU<=100, integer counts that round to every rate": mirage_counts,
    "100*(GC_d0-GC_d80k)/GC_d0": inputs(lambda i: 100 * (i["GC_d0"] - i["GC_d80k"]) / i["GC_d0"]),
    "(GC_S2-GC_d80k)/100": inputs(lambda i: (i["GC_S2"] - i["GC_d80k"]) / 100),
    "100*retained/correct_at_d0": inputs(lambda i: share(i["retained"], i["correct_at_d0"])),
    "(VC-GC)/100": inputs(lambda i: (i["VC"] - i["GC"]) / 100),
    "MI <= AC - (nU-HR) - GC when every grounded answer is a YES": inputs(
        lambda i: share(i["AC_count"] - (i["n_unanswerable"] - i["HR_count"]) - i["GC_count"], i["recorded_answerable"])
    ),
    "YES-GC": inputs(lambda i: i["YES_rate"] - i["GC"]),
    "100*k/55": inputs(lambda i: share(i["nearest_count"], i["n"])),
    "100*EIT/window": inputs(lambda i: 100 * i["EIT_d80k"] / (1000 * i["window_k_tokens"])),
    "100*k/n": inputs(lambda i: share(i["k"], i["n"])),
    "C0+delta": inputs(lambda i: i["C0"] + i["delta"]),
    "two-sided exact binomial on discordant pairs": inputs(lambda i: sign_test(i["wins"], i["losses"])),
    "100*(W-L)/n": inputs(lambda i: 100 * net(i["wins"], i["losses"], i["n"]).estimate),
    "100*((31-7)-(30-5))/173": inputs(lambda i: share(i["net_D_oracle"] - i["net_D_own"], i["n"])),
    "100*k/195": inputs(lambda i: share(i["k"] if "k" in i else i["net_questions"], i["n"])),
    "100*k/173": inputs(lambda i: share(i["net_questions"], i["n"])),
    "netD/netR": inputs(lambda i: i["net_delivery"] / i["net_retrieval"]),
    "100*(a-b)/195": inputs(lambda i: share(i["own_count"] - i["published_count"], i["n"])),
    "full/delivered": inputs(lambda i: i["full"] / i["delivered"]),
    "2j/2^m": sign_flip_grid,
    "sqrt(obs^2-binom^2)": inputs(lambda i: residual_sd(i["obs"], i["binom"])),
    "100*sqrt(p(1-p)/n)": inputs(lambda i: 100 * binomial_sd(i["accuracy"] / 100, i["probes_per_seed"])),
    "(R1 + both - delivery)/2": inputs(lambda i: section_7(i).first.estimate),
    "mean of 12 cells": inputs(lambda i: effect(i["cells_Y1X1_to_Y3X4"]).estimate),
    "v*factor*n is an integer": granularity,
    "sum(n_c v_c)/n": caption_proof,
    "probes/(chains*J(J-1)/2)": inputs(lambda i: i["probes"] / (i["chains"] * i["session_pairs"])),
}
"""What recomputes a figure whose formula is stated."""

PLAIN: dict[str, Rule] = {
    # MIRAGE
    "bound: MI_d80k": inputs(lambda i: i["MI_d80k"]),
    "bound: GC_S2 correct_d0 recovered_S2 retained_d80k": most_recovered,
    "bound: GC_S2 GC_d0 GC_d80k": inputs(lambda i: min(i["GC_d0"], i["GC_d80k"], i["GC_S2"])),
    "equality: T1_SC": lambda figure: table_1(figure)["SC"],
    "equality: T1_GC_S2 T1_SC_S2": lambda figure: [table_1(figure)[rate] for rate in ("SC", "GC")],
    "equality: T1_GC_count T1_n text_count text_n": inputs(same_numerator),
    "equality: T2_MI T2_OG": inputs(lambda i: [i["T2_MI"] / 100, i["T2_OG"]]),
    "product: questions states": inputs(lambda i: i["questions"] * i["states"]),
    "sum: answerable unanswerable": inputs(lambda i: i["answerable"] + i["unanswerable"]),
    "wilson: k level n": inputs(lambda i: wilson_points(i["k"], i["n"], i["level"])),
    "ordering: DS": inputs(lambda i: increasing(*i["DS"])),
    "ordering: lower_30B upper_4B": inputs(lambda i: increasing(i["upper_4B"], i["lower_30B"])),
    # DeliverMem
    "difference: Delta_R_pixels Delta_R_withheld": inputs(lambda i: i["Delta_R_pixels"] - i["Delta_R_withheld"]),
    "difference: decoy_loss n net_questions scramble_loss": inputs(scrambled_decoy),
    "difference: direct n own": inputs(lambda i: share(i["own"] - i["direct"], i["n"])),
    "difference: control n own": inputs(lambda i: share(i["own"] - i["control"], i["n"])),
    "difference: K10 K3 n": inputs(lambda i: share(i["K10"] - i["K3"], i["n"])),
    "difference: TR_n TR_net other_n other_net": inputs(beyond_the_group),
    "difference: n net_none net_permuted": inputs(lambda i: share(i["net_permuted"] - i["net_none"], i["n"])),
    "difference: DeliverMem DualMem": inputs(lambda i: i["DeliverMem"] - i["DualMem"]),
    "difference: DeliverMem published": inputs(lambda i: i["DeliverMem"] - i["published"]),
    "difference: both none pixels_only text_only": differences_in_turn,
    "difference: a b c d": differences_in_turn,
    "difference: T10 T4": inputs(lambda i: i["T10"] - i["T4"]),
    "difference: T10_both offset": inputs(lambda i: i["T10_both"] - i["offset"]),
    "difference: constant removed": inputs(lambda i: i["constant"] - i["removed"]),
    "difference: constant shuffled": inputs(lambda i: i["constant"] - i["shuffled"]),
    "difference: both tag_in_text": inputs(lambda i: i["both"] - i["tag_in_text"]),
    "difference: n net_a net_b": inputs(lambda i: share(i["net_b"] - i["net_a"], i["n"])),
    "bound: losses wins": inputs(lambda i: sign_test(i["wins"], i["losses"])),
    "bound: chains per_reach reaches": inputs(lambda i: i["reaches"] * i["per_reach"] * i["chains"]),
    "sum: D_losses D_wins R_losses R_wins": inputs(
        lambda i: [sum(i[name]) for name in ("R_wins", "R_losses", "D_wins", "D_losses")]
    ),
    "sum: losses wins": inputs(lambda i: [sum(i["wins"]), sum(i["losses"])]),
    "sum: declined_32B declined_32B_attempted_8B declined_8B declined_8B_attempted_32B": inputs(declined_by_both),
    "sum: 32B 8B": inputs(lambda i: [sum(i["32B"]), sum(i["8B"])]),
    "sum: image_channel margin_questions nonrefusal_part pixels refusal_part withheld_minus_MemAgent": inputs(
        margin_parts
    ),
    "sum: TR other_nonrefusal refusal": inputs(lambda i: i["TR"] + i["other_nonrefusal"] + i["refusal"]),
    "sum: IE_plus_MSR KU TR dev eval nonrefusal refusal released": inputs(split_counts),
    "sum: AR IE KU MSR TR": inputs(lambda i: sum(i.values())),
    "sum: counts_by_type": inputs(lambda i: sum(i["counts_by_type"])),
    "sum: frames improved worsened": inputs(lambda i: i["frames"] - i["improved"] - i["worsened"]),
    "ratio: full_256K full_32K": inputs(lambda i: i["full_256K"] / i["full_32K"]),
    "ratio: oracle own": inputs(lambda i: i["oracle"] / i["own"]),
    "ratio: k n": lambda figure: (
        share(figure["inputs"]["k"], figure["inputs"]["n"]) / (1 if in_points(figure) else 100)
    ),
    "ratio: chains probes": inputs(lambda i: i["probes"] / i["chains"]),
    "ratio: opp own": inputs(lambda i: (i["opp"][0] - i["opp"][1]) / (i["own"][0] - i["own"][1])),
    "ratio: R1_only base both": inputs(
        lambda i: 100 * (i["both"] - i["R1_only"]) / (100 - i["base"] - i["R1_only"])  # gains over base
    ),
    "ratio: a b c d": headroom,
    "ratio: alpha comparisons": inputs(lambda i: i["alpha"] / i["comparisons"]),
    "count_reconstruction: n published": nearest_multiples,
    "perm_floor: m": inputs(lambda i: floor(i["m"])),
    "product: chains per_reach reaches": inputs(lambda i: i["reaches"] * i["per_reach"] * i["chains"]),
    "product: bytes dim images vectors": inputs(lambda i: math.prod(i.values()) / 1e6),
    "product: stamp_share_of_tile top_left_share": inputs(lambda i: 100 * math.prod(i.values())),
    "interaction: both none pixels_only text_only": inputs(lambda i: table_10(i).interaction.estimate),
    "interaction: R1_only both delivery_only": inputs(lambda i: section_7(i).interaction.estimate),
    "interaction: a b c d": inputs(lambda i: table_17(i).interaction.estimate),
    "main_effect: R1_only both delivery_only": inputs(lambda i: section_7(i).second.estimate),
    "main_effect: a b c d": lambda figure: (
        (table_17(figure["inputs"]).first if " R1 " in figure["place"] else table_17(figure["inputs"]).second).estimate
    ),
    "equality: a b": inputs(lambda i: twice_the_same(i["a"], i["b"])),
    "equality: T9": inputs(lambda i: i["T9"]),
    "ordering: pool": inputs(lambda i: max(i["pool"])),
    "ordering: Gemini Qwen": inputs(lambda i: min(increasing(*i["Qwen"]), increasing(*i["Gemini"]))),
    "consistency: gained lost n": inputs(lambda i: 100 * net(i["gained"], i["lost"], i["n"]).estimate),
    # MemEye
    "equality: rows": main_against_appendix,
    "equality: main_table_cell": quoted_from_the_main_table,
    "weighted_mean: families n": caption_proof_by_depth,
    "weighted_mean: n": slice_mean,
    "weighted_mean: by_Y n": inputs(lambda i: weighted(list(zip(i["n"], i["by_Y"], strict=True)))),
    "difference: a b": inputs(lambda i: i["a"] - i["b"]),
    "difference: k k_vanilla n": inputs(lambda i: (i["k"] - i["k_vanilla"]) / i["n"]),
    "difference: n text_points visual_points": inputs(lambda i: (i["visual_points"] - i["text_points"]) / i["n"]),
    "difference: generic native task_aware": inputs(
        lambda i: [i["native"] - i["generic"], i["native"] - i["task_aware"]]
    ),
    "ratio: n": nearest_of_60,
    "ratio: agree n": inputs(lambda i: share(i["agree"], i["n"])),
    "consistency: K Latest_reranked Latest_vanilla": latest_after_reranking,
    "consistency: n recency_table retrieval_diagnostics": latest_in_two_tables,
    "consistency: by_X_visual by_Y": visual_by_x_against_y,
    "consistency: paper_X paper_Y release_X release_Y": labels,
    "consistency: SRAG_V_points n oracle_points": inputs(oracle_equals_retrieved),
    "bound: LatestMiss RankInv Stale n": stale_bound,
    "granularity: fits_n n": half_points,
    "granularity: half_points values": inputs(smallest_fit),
    "kappa: confusion": inputs(lambda i: kappa_of(i["confusion"])),
    "product: cells methods per_cell": inputs(lambda i: math.prod(i.values())),
    "kappa_implied: agreement kappa": implied_kappa,
    "sum: images questions rounds sessions": inputs(
        lambda i: [sum(i[name]) for name in ("sessions", "rounds", "images", "questions")]
    ),
    "sum: Y1 Y2 Y3": inputs(distribution),
}
"""What recomputes a figure without a stated formula, by its kind and the names of its inputs."""


def rule_name(figure: Figure) -> str:
    return figure["formula"] or f"{figure['kind']}: {' '.join(sorted(figure['inputs']))}"


def recompute(figure: Figure) -> Any:
    return (FORMULAS if figure["formula"] else PLAIN)[rule_name(figure)](figure)
