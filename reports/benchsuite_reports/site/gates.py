"""What a run's gates found (``gates.json``), as a part of the first page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchsuite.errors import DataError
from benchsuite_reports.gates import FILE
from benchsuite_reports.gates.grammar import AMOUNTS
from benchsuite_reports.site.markup import count_of, escape, grid
from benchsuite_reports.table import p_value, percent, signed

COLUMNS = ("gate", "against", "verdict", "why", "questions", "baseline", "run", "difference", "p", "Holm p")
SLICE_COLUMNS = ("slice", "n", "baseline", "run", "difference", "p")

Judgement = Mapping[str, Any]
Link = Callable[[str, str], str]
"""From suite and question to the address of its page, empty where there is none."""


def read_gates(run: Path) -> Sequence[Judgement]:
    """The judgements; none where the run had no gates. Raises DataError for a file that is none."""
    file = run / FILE
    try:
        read = json.loads(file.read_bytes())
        judgements: Sequence[Judgement] = [dict(each) for each in read["judgements"]]
        for each in judgements:
            _ = _line(each), [part["name"] for part in each.get("slices", ())], list(_moved(each))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise DataError(str(file), None, None, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(str(file), None, None, f"not what gates found: {type(error).__name__}: {error}") from None
    return judgements


def gates_lines(judgements: Sequence[Judgement], link: Link) -> Iterator[str]:
    """A line a gate, then the slices and the questions of each."""
    if not judgements:
        return
    yield from grid("gates", COLUMNS, [_line(each) for each in judgements], words=4)
    for each in judgements:
        slices, moved = each.get("slices", ()), list(_moved(each))
        if not slices and not moved:
            continue
        title = f"{each['gate']} against {each['baseline']}: {count_of(len(moved), 'question')} moved"
        yield f"<details><summary>{escape(title)}</summary>"
        names = ("n", "a", "b", "difference", "p")
        is_share = each.get("metric") not in AMOUNTS
        rows = [(f"{part['kind']} {part['name']}", *_numbers(part, names, is_share)) for part in slices]
        yield from grid(f"slices of {each['gate']}", SLICE_COLUMNS, rows)
        fell = [question for question, size in moved if size < 0]
        rose = [question for question, size in moved if size > 0]
        for word, found in (("fell", fell), ("rose", rose)):
            if found:
                links = " ".join(_question(str(each["suite"]), name, link) for name in found)
                yield f'<p class="links">{word}: {links}</p>'
        yield "</details>"


def _line(each: Judgement) -> tuple[str, ...]:
    run = f" ({each['run']})" if each.get("run") else ""
    names = ("questions", "a", "b", "difference", "p", "holm_p")
    return (
        str(each["gate"]),
        f"{each['baseline']}{run}",
        str(each["verdict"]),
        str(each.get("reason") or ""),
        *_numbers(each, names, each.get("metric") not in AMOUNTS),
    )


def _numbers(each: Mapping[str, Any], names: Sequence[str], is_share: bool) -> tuple[str, ...]:
    """Shares in percent and points, amounts as they are, each p to two digits."""
    forms: Mapping[str, Callable[[float], str]] = {"p": p_value, "holm_p": p_value}
    if is_share:
        forms = {**forms, "a": percent, "b": percent, "difference": signed}
    return tuple("" if each.get(name) is None else forms.get(name, _plain)(each[name]) for name in names)


def _plain(value: float) -> str:
    return f"{value:.4g}"


def _moved(each: Judgement) -> Iterator[tuple[str, float]]:
    for one in each.get("moved", ()):
        yield str(one["question"]), float(one["difference"])


def _question(suite: str, question: str, link: Link) -> str:
    address = link(suite, question)
    return f'<a href="{escape(address)}">{escape(question)}</a>' if address else escape(question)
