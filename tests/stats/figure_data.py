"""The published figures, and what follows from several of them: MemEye's tables and MIRAGE's counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Figure = dict[str, Any]
Inputs = Mapping[str, Any]

FIGURES: list[Figure] = json.loads((Path(__file__).parents[1] / "data" / "published_figures.json").read_text())
BY_ID = {figure["id"]: figure for figure in FIGURES}


def require(holds: bool, what: str) -> None:
    """Raises ValueError when the inputs of a figure contradict each other."""
    if not holds:
        raise ValueError(what)


# MemEye's tables: the cells stand in the figures of kind 'mean', the numbers of questions in the XY distribution.

MAIN = "gpt-5.4-mini(main)"
TEXT_METHODS = ("FC(T)", "SRAG(T)", "Refl.", "Gen.Ag.", "MemOS", "A-Mem", "SM(T)")


def table_rows(table: str, metric: str) -> dict[str, list[float]]:
    """The 12 cells by method, from Y1X1 to Y3X4."""
    rows = {}
    for figure in FIGURES:
        where, _, row = figure["place"].partition(" Avg ")
        method, _, of = row.rpartition(" ")
        if figure["kind"] == "mean" and where == table and of == metric:
            rows[method] = figure["inputs"]["cells_Y1X1_to_Y3X4"]
    return rows


def cell(method: str, metric: str, x: int, y: int) -> float:
    return table_rows(MAIN, metric)[method][4 * (y - 1) + x - 1]


def sizes() -> list[int]:
    counts = BY_ID["memeye-XY_distribution_001"]["inputs"]
    return [*counts["Y1"], *counts["Y2"], *counts["Y3"]]


def by_question(method: str, metric: str, y: Sequence[int] = (1, 2, 3)) -> tuple[float, int]:
    """The question-weighted mean of some rows of the main table, as printed, and the number of questions."""
    chosen = [4 * (row - 1) + column for row in y for column in range(4)]
    n = sum(sizes()[index] for index in chosen)
    values = table_rows(MAIN, metric)[method]
    return sum(sizes()[index] * values[index] for index in chosen) / n, n


def by_depth(method: str, metric: str, x: Sequence[int]) -> tuple[float, int]:
    """The same over columns, from the points behind the printed cells: quarters for EM, halves for the judge."""
    chosen = [4 * row + column - 1 for row in range(3) for column in x]
    n = sum(sizes()[index] for index in chosen)
    values, steps = table_rows(MAIN, metric)[method], 4 if metric == "EM" else 2
    return sum(round(steps * sizes()[index] * values[index]) / steps for index in chosen) / n, n


def pixels_over_text(family: str, metric: str, x: Sequence[int]) -> float:
    return by_depth(f"{family}(V)", metric, x)[0] - by_depth(f"{family}(T)", metric, x)[0]


def caption_proof(figure: Figure) -> list[float]:
    family, x = re.fullmatch(r"caption-proof (\w+) X(\d)", figure["place"]).groups()  # type: ignore[union-attr]
    columns = [int(x)]
    text, n = by_depth(f"{family}(T)", "LLM-Judge", columns)
    pixels, _ = by_depth(f"{family}(V)", "LLM-Judge", columns)
    require(n == figure["inputs"]["n"], f"{n} questions in the cells")
    return [text, pixels, pixels - text, pixels_over_text(family, "EM", columns)]


def caption_proof_by_depth(figure: Figure) -> float:
    metric = "EM" if " EM " in figure["place"] else "LLM-Judge"
    columns = (1, 2) if figure["place"].endswith("low-X") else (3, 4)
    families = ("FC", "SRAG", "SM")
    n = by_depth("FC(V)", metric, columns)[1]
    require(figure["inputs"] == {"families": len(families), "n": n}, f"{n} questions, {len(families)} families")
    return sum(pixels_over_text(family, metric, columns) for family in families) / len(families)


def slice_mean(figure: Figure) -> float:
    """The remaining question-weighted means, whose inputs name only the number of questions."""
    judge, n = "LLM-Judge", figure["inputs"]["n"]
    if figure["place"] == "bootstrap mean SRAG(V)-FC(V) Judge":
        (retrieved, count), (full, _) = by_question("SRAG(V)", judge), by_question("FC(V)", judge)
        value: float = retrieved - full
    elif figure["place"] == "bootstrap mean SRAG(V)-M2A Y3-Y1":
        ends = {y: by_question("SRAG(V)", judge, y=[y]) for y in (1, 3)}
        gap = {y: mean - by_question("M2A", judge, y=[y])[0] for y, (mean, _) in ends.items()}
        value, count = gap[3] - gap[1], f"{ends[1][1]}/{ends[3][1]}"  # type: ignore[assignment]
    else:
        row = int(re.fullmatch(r"recency table SRAG\(V\) Y(\d)", figure["place"])[1])  # type: ignore[index]
        value, count = by_question("SRAG(V)", judge, y=[row])
    require(count == n, f"{count} questions in the cells")
    return value


def granularity(figure: Figure) -> dict[str, int]:
    """Cells of a table that are no multiple of 1/(factor x n) at four printed digits."""
    table, metric = figure["place"].removesuffix(" cells").rsplit(" ", 1)
    rows, inputs = table_rows(table, metric), figure["inputs"]
    require(len(rows) == inputs["methods"], f"{len(rows)} methods in the table")
    misfits = 0
    for values in rows.values():
        for value, n in zip(values, inputs["n_by_cell"].values(), strict=True):
            steps = inputs["denominator_factor"] * n
            misfits += abs(round(value * steps) / steps - value) > figure["tolerance"] + 1e-9
    return {"misfits": misfits, "cells": sum(map(len, rows.values()))}


def quoted_from_the_main_table(figure: Figure) -> float:
    judge = table_rows(MAIN, "LLM-Judge")
    value = {
        "RQ1 text X3Y1 SRAG(V)": lambda: cell("SRAG(V)", "LLM-Judge", 3, 1),
        "RQ1 text X3Y1 best text A-Mem": lambda: max(cell(name, "LLM-Judge", 3, 1) for name in TEXT_METHODS),
        "RQ1 text X4Y1 MMA": lambda: cell("MMA", "LLM-Judge", 4, 1),
        "RQ1 text X4Y1 best text": lambda: max(cell(name, "LLM-Judge", 4, 1) for name in TEXT_METHODS),
        "RQ1 text best Avg Judge": lambda: round(max(sum(row) / 12 for row in judge.values()), 4),
        "RQ1 text best Avg EM": lambda: round(max(sum(row) / 12 for row in table_rows(MAIN, "EM").values()), 4),
    }[figure["place"]]()
    require(value == figure["inputs"]["main_table_cell"], f"the main table has {value}")
    return value


def main_against_appendix(figure: Figure) -> float:
    """The largest difference between the two tables that print the same rows."""
    differences = []
    for metric in ("EM", "LLM-Judge"):
        app = table_rows("gpt-5.4-mini(app)", metric)
        for method, row in table_rows(MAIN, metric).items():
            differences.append(max(abs(one - other) for one, other in zip(row, app[method], strict=True)))
    require(len(differences) == figure["inputs"]["rows"], f"{len(differences)} rows")
    return max(differences)


# MIRAGE


def mirage_counts(figure: Figure) -> dict[str, int] | None:
    """Whole counts over the parsed calls that round to every rate of a row of Table 1; None where there are none."""
    i = figure["inputs"]
    require([i[rate] for rate in ("AC", "SC", "VC", "GC", "HR")] == figure["published"], "the inputs are other rates")
    require(abs(100 - i["SC"] - i["WS"]) <= 0.1 + 1e-9, "WS is not the complement of SC")
    fits = []
    for answerable in range(1, 101):
        unanswerable = 200 - i["PF"] - answerable
        if not 0 < unanswerable <= 100:
            continue
        over = {"AC": answerable + unanswerable, "SC": answerable, "VC": answerable, "GC": answerable}
        over["HR"] = unanswerable
        counts = {rate: round(i[rate] * n / 100) for rate, n in over.items()}
        if all(abs(100 * counts[rate] / n - i[rate]) <= figure["tolerance"] + 1e-9 for rate, n in over.items()):
            fits.append({"n_answerable": answerable, "n_unanswerable": unanswerable, **counts})
    return {**fits[0], "n_solutions": len(fits)} if fits else None


def mirage_rates(counts: Mapping[str, int]) -> list[float]:
    answerable, unanswerable = counts["n_answerable"], counts["n_unanswerable"]
    return [
        100 * counts["AC"] / (answerable + unanswerable),
        *(100 * counts[rate] / answerable for rate in ("SC", "VC", "GC")),
        100 * counts["HR"] / unanswerable,
    ]


def table_1(figure: Figure) -> dict[str, float]:
    """The row of Table 1 that Tables 4 and 5 repeat, whose rates have to be the figure's inputs."""
    found = re.fullmatch(r"T[45] (\S+) (?:original (\S+)|verbatim)", figure["place"])
    row = BY_ID[f"mirage-T1_counts_{found[1]}_{found[2] or 'S2'}"]["inputs"]  # type: ignore[index]
    for name, value in figure["inputs"].items():
        require(value == row[name.split("_")[1]], f"Table 1 has {row}")
    return dict(row)


def same_numerator(i: Inputs) -> int:
    require(i["text_count"] == i["T1_GC_count"], "the counts differ")
    row = BY_ID["mirage-T1_counts_InternVL3.5-20B_S2"]["computed"]
    require((row["GC"], row["n_answerable"]) == (i["T1_GC_count"], i["T1_n"]), "Table 1 has other counts")
    require(i["text_n"] == 98, "the figure is over 98 shared probes")
    return int(i["text_count"])
