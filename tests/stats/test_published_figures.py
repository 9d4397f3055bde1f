"""Every derived figure that the papers print and that can be recomputed, recomputed.

``published_figures.json`` holds for each figure its inputs, the published value, a tolerance and whether it
reproduces. Each is recomputed from its inputs (``figure_rules``); the result has to be the file's own recomputation
and, where the figure reproduces, the published value. A figure that does not reproduce has to differ.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stats.figure_data import BY_ID, FIGURES, Figure, mirage_rates, table_rows
from tests.stats.figure_rules import FORMULAS, PLAIN, recompute, rule_name

PAGE = (Path(__file__).parents[2] / "docs" / "published-figures.md").read_text()
PAPERS = {"mirage": "MIRAGE", "delivermem": "DeliverMem", "memeye": "MemEye"}

MARKING = [figure for figure in FIGURES if figure["kind"] == "marking"]
"""Best and second marks of MemEye's tables: the printed marks are not in the file, so they cannot be recomputed."""
EXPRESSED = [figure for figure in FIGURES if figure["kind"] != "marking"]


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers(one)
    else:
        yield value


def same(value: Any, computed: Any) -> bool:
    """Equal up to the eight digits that the file keeps."""
    if value is None or computed is None:
        return value is computed
    return list(numbers(value)) == pytest.approx(list(numbers(computed)), rel=1e-6, abs=1e-9)


def side(figure: Figure) -> str:
    """Which side of the recomputed value the published one has to be on; 'equal' for within the tolerance."""
    place = figure["place"]
    if figure["kind"] == "bound":
        below = place.endswith("Delta_D p") or place == "4.2.1 GPT-5 MI ceiling"
        return "at least" if below else "at most"  # 'below 1e-4'; a bound over more states than are tabulated
    return "at most" if place.startswith("E.4 fall ratio") else "equal"  # 'more than three times'


def as_published(figure: Figure, value: Any) -> bool:
    """Whether the published value is the recomputed one within the tolerance, or on the right side of it."""
    published, slack = figure["published"], figure["tolerance"] + 1e-9
    if value is None:
        return False
    if figure["kind"] == "granularity" and isinstance(value, dict):
        return bool(value["misfits"] == 0)
    if figure["kind"] == "count_reconstruction" and isinstance(value, dict):
        value = mirage_rates(value)
    if published is None:
        return True  # implied, not printed: held to the file's own recomputation alone
    found = list(zip(numbers(published), numbers(value), strict=True))
    if side(figure) == "at most":
        return all(printed <= one + slack for printed, one in found)
    if side(figure) == "at least":
        return all(printed >= one - slack for printed, one in found)
    return all(abs(printed - one) <= slack for printed, one in found)


def complaint(figure: Figure) -> str | None:
    """What is wrong with a figure; None for nothing."""
    try:
        value = recompute(figure)
    except (ValueError, ZeroDivisionError) as error:
        return f"inputs refused: {error}"
    if not same(value, figure["computed"]):
        return f"recomputed {value}, the file has {figure['computed']}"
    if not as_published(figure, value):
        return f"published {figure['published']}, recomputed {value}"
    return None


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers in nested lists and dicts."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))
    elif isinstance(value, int | float):
        yield path


def at(figure: Figure, path: tuple[Any, ...]) -> Any:
    inner: Any = figure
    for key in path:
        inner = inner[key]
    return inner


def changed(figure: Figure, path: tuple[Any, ...], by: float) -> Figure:
    """A copy of the figure whose number at ``path`` is larger by ``by``."""
    other = copy.deepcopy(figure)
    at(other, path[:-1])[path[-1]] += by
    return other


def test_every_figure_has_its_own_id_and_every_rule_a_figure():
    assert len(BY_ID) == len(FIGURES)
    assert {rule_name(figure) for figure in EXPRESSED} == FORMULAS.keys() | PLAIN.keys()


@pytest.mark.parametrize("figure", EXPRESSED, ids=lambda figure: figure["id"])
def test_a_published_figure(figure):
    found = complaint(figure)
    if figure["reproduces"]:
        assert found is None
    else:
        assert found is not None
        assert found.startswith("published ")
        assert figure["note"]


@pytest.mark.parametrize("figure", MARKING, ids=lambda figure: figure["id"])
def test_a_table_whose_marks_are_not_in_the_file_has_the_rows_that_were_marked(figure):
    table = figure["place"].removesuffix(" best/second marks")
    metrics = [metric for metric in ("EM", "BLEU-1", "LLM-Judge") if table_rows(table, metric)]
    assert figure["inputs"]["rows"] == 13 * len(metrics)  # twelve cells and their mean
    for row, method, value, printed, by_rule in figure["computed"]["misfits"]:
        y, x, metric = row.split("/")
        cells = {name: cells[4 * int(y[1]) + int(x[1]) - 5] for name, cells in table_rows(table, metric).items()}
        best, second = sorted(set(cells.values()), reverse=True)[:2]
        assert cells[method] == value
        assert by_rule == ("b" if value == best else "s" if value == second else "")
        assert printed != by_rule
    assert figure["reproduces"] == (not figure["computed"]["misfits"])


def test_the_smallest_p_of_delivermem_table_14_is_the_published_one():
    rows = [
        figure for figure in FIGURES if figure["place"].startswith("T14") and figure["place"].endswith("_R p floor")
    ]
    assert len(rows) == 6
    assert min(recompute(figure) for figure in rows) == pytest.approx(0.31, abs=0.005)


@pytest.mark.parametrize(
    ("agreement", "assignments", "what"),
    [
        ("8/10", 6, "cannot give 6"),  # turning the two others round: 8 assignments at least
        ("10/10", 4, "gives 2"),
        ("6/6", 2, "over 6 chains"),
        ("", 3, "3 of 1024"),
        ("", 1026, "1026 of 1024"),
    ],
)
def test_a_p_value_over_chains_that_no_signs_can_give_is_refused(agreement, assignments, what):
    figure = {**BY_ID["delivermem-T4_D2_shuffled_p_grid_001"]}
    figure["inputs"] = {"chains": 10, "sign_agreement": agreement, "assignments": assignments}
    with pytest.raises(ValueError, match=what):
        recompute(figure)


def test_a_changed_published_value_is_refused():
    missed = []
    for figure in EXPRESSED:
        if not figure["reproduces"] or figure["published"] is None:
            continue
        value, step = recompute(figure), 2 * figure["tolerance"] + 1e-6
        recomputed = numbers(mirage_rates(value) if isinstance(value, dict) else value)
        for path, found in zip(leaves(figure["published"], ("published",)), recomputed, strict=True):
            beyond = found - at(figure, path)
            faults = {"equal": (step, -step), "at most": (beyond + step,), "at least": (beyond - step,)}[side(figure)]
            missed += [(figure["id"], path, by) for by in faults if not complaint(changed(figure, path, by))]
    assert missed == []


@pytest.mark.parametrize("rule", [*FORMULAS, *PLAIN])
def test_a_changed_input_is_refused(rule):
    """Each number of a rule's inputs, in one at least of its figures: a step, then far out, for orders and bounds."""
    figures = [figure for figure in EXPRESSED if rule_name(figure) == rule]
    figures = [figure for figure in figures if figure["reproduces"]] or figures
    refused: dict[tuple[Any, ...], bool] = {}
    for figure in figures:
        for path in leaves(figure["inputs"], ("inputs",)):
            if not refused.get(path):
                whole = isinstance(at(figure, path), int)
                step = 1 if whole else 3 * figure["tolerance"] + 0.01
                refused[path] = any(noticed(figure, path, by) for by in (step, 1000, -1000))
    assert refused
    assert [path for path, found in refused.items() if not found] == []


def noticed(figure: Figure, path: tuple[Any, ...], by: float) -> bool:
    """Whether a change makes the checker say something that it did not say before."""
    return complaint(changed(figure, path, by)) not in (None, complaint(figure))


# The page


def shown(value: Any) -> str:
    """A value as the page has it: at most five digits, lists in one line."""
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:.5g}"


def recomputed_words(figure: Figure) -> str:
    computed = figure["computed"]
    if figure["kind"] == "marking":
        return f"{len(computed['misfits'])} marks differ"
    if figure["kind"] == "granularity" and isinstance(computed, dict):
        return f"{computed['misfits']} of {computed['cells']} cells do not fit"
    return "no whole counts" if computed is None else shown(computed)


def summary_rows() -> list[str]:
    """Figures, reproduced ones and those that do not, by paper and kind, as the page's first two tables have them."""
    rows = []
    for paper, name in PAPERS.items():
        of_paper = [figure for figure in FIGURES if figure["paper"] == paper]
        rows.append(row(name, of_paper))
    rows.append(row("all", FIGURES))
    for paper, name in PAPERS.items():
        for kind in sorted({figure["kind"] for figure in FIGURES if figure["paper"] == paper}):
            of_kind = [figure for figure in FIGURES if (figure["paper"], figure["kind"]) == (paper, kind)]
            rows.append(row(f"{name} | {kind.replace('_', ' ')}", of_kind))
    return rows


def row(name: str, figures: list[Figure]) -> str:
    marks = sum(figure["kind"] == "marking" and figure["reproduces"] for figure in figures)
    recomputed = sum(figure["reproduces"] for figure in figures) - marks
    return f"| {name} | {len(figures)} | {recomputed} | {marks} | {len(figures) - recomputed - marks} |"


def refused_rows() -> list[str]:
    """The beginning of each row of the page's last table; its last column is the reason in words."""
    rows = []
    for paper, name in PAPERS.items():
        for figure in FIGURES:
            if figure["paper"] == paper and not figure["reproduces"]:
                cells = (name, figure["place"], shown(figure["published"]), recomputed_words(figure))
                rows.append(f"| {' | '.join(cells)} | ")
    return rows


def test_the_page_has_the_counts_by_paper_and_kind():
    rows = [line for line in PAGE.splitlines() if re.fullmatch(r"\|.*\| \d+ \| \d+ \| \d+ \| \d+ \|", line)]
    assert rows == summary_rows()


def test_the_page_has_every_figure_that_does_not_reproduce_and_says_why():
    lines = PAGE[PAGE.index("## Not reproduced") :].splitlines()
    rows = [line for line in lines if line.startswith(("| M", "| D"))]
    assert len(rows) == len(refused_rows())
    for line, beginning in zip(rows, refused_rows(), strict=True):
        assert line.startswith(beginning)
        assert len(line.removeprefix(beginning).removesuffix(" |")) > 10
