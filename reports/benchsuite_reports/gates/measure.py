"""What moved between two runs under one metric: the paired difference with its tests, slices and questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from benchsuite.stats.agreement import Flips, flip_rate
from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.intervals import Interval
from benchsuite.stats.missing import Bounds
from benchsuite.stats.paired import sign_test
from benchsuite.stats.permutation import Permutation, cluster_permutation
from benchsuite_reports.gates.align import Aligned, Pair
from benchsuite_reports.gates.metrics import is_open, value_of
from benchsuite_reports.table import Row

SAME = 1e-12
"""Differences below this are rounding of graded values."""
PART_DRAWS = 2_000
"""Draws of a slice's test, which is shown and never judged."""


@dataclass(frozen=True, slots=True)
class Part:
    """One arm or one question type of what was judged; means as ``Measured``. ``p`` is not corrected."""

    kind: str
    name: str
    n: int
    a: float
    b: float
    difference: float
    rises: int
    falls: int
    p: float


@dataclass(frozen=True, slots=True)
class Moved:
    """A question whose value changed by ``difference``, the mean over its arms; ``arms`` are those where it did."""

    question: str
    type: str
    difference: float
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """``b`` (the run) minus ``a`` (the baseline): the mean over questions of the mean over their ``arms``.

    Fractions, tokens or seconds, as the metric has them. ``cells`` were aligned; ``lost`` of them have no value on
    one side or the other (parts of a cell where it has repeats), by ``left_out`` with the reason. ``questions`` are
    the ``rises + falls`` and ties that have one. ``permutation`` flips whole ``clusters``; ``spread`` is the standard
    error of the difference under it. ``bounds`` are worst-case ones, None for values that are no share; ``answers``
    are the answers that differ letter by letter, ``repeats`` those that differ between two repeats of one run (the
    noise floor; None without repeats). ``one_reply`` pairs had one request and a reply from the cache: no noise.
    """

    cells: int
    lost: float
    left_out: Mapping[str, str]
    arms: tuple[str, ...]
    questions: int
    a: float
    b: float
    difference: float
    rises: int
    falls: int
    sign_p: float
    permutation: Permutation
    spread: float
    clusters: int
    interval: Interval | None
    bounds: Bounds | None
    answers: Flips | None
    repeats: Flips | None
    one_reply: int
    parts: tuple[Part, ...]
    moved: tuple[Moved, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    renamed: Mapping[str, tuple[str, str]]
    served: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def missing(self) -> float:
        """The share of aligned cells without a value on one side or the other."""
        return self.lost / self.cells

    @property
    def share(self) -> bool:
        """Whether all values lie in [0, 1], so that a difference has points."""
        return self.bounds is not None


@dataclass(frozen=True, slots=True)
class _Cell:
    """A pair's values, None where a side has none. ``low`` and ``high`` bound the difference, ``lost`` is a share."""

    pair: Pair
    a: float | None
    b: float | None
    lost: float
    low: float
    high: float
    share: bool

    @property
    def difference(self) -> float | None:
        return None if self.a is None or self.b is None else self.b - self.a


def measure(aligned: Aligned, metric: str, *, resamples: int, draws: int, seed: int = 0) -> Measured | str:
    """The measurement over the aligned cells, or why there is none: no cell has a value on both sides.

    ``resamples`` are the interval's, ``draws`` those of the permutation test where it is not exact.
    """
    cells = [_cell(pair, metric) for pair in aligned.pairs]
    known = [cell for cell in cells if cell.difference is not None]
    left_out = _left_out(aligned.pairs, metric)
    if not known:
        some = next(iter(left_out.items()), None)
        return f"no cell has a value on both sides{f'; {some[0]}: {some[1]}' if some else ''}"
    by_question = _grouped(known, lambda cell: cell.pair.question)
    differences = {question: _mean(each) for question, each in by_question.items()}
    units = _units(by_question, differences)
    values = list(differences.values())
    rises, falls = _signs(values)
    interval = None
    if len(units) > 1:
        interval = bootstrap(units, weights="questions", resamples=resamples, seed=seed)
    return Measured(
        cells=len(cells),
        lost=sum(cell.lost for cell in cells),
        left_out=left_out,
        arms=tuple(dict.fromkeys(cell.pair.arm for cell in known)),
        questions=len(differences),
        a=_average(_average(cell.a or 0.0 for cell in each) for each in by_question.values()),
        b=_average(_average(cell.b or 0.0 for cell in each) for each in by_question.values()),
        difference=_average(values),
        rises=rises,
        falls=falls,
        sign_p=sign_test(rises, falls),
        permutation=cluster_permutation(units, weights="questions", draws=draws, seed=seed),
        spread=sqrt(sum(sum(each) ** 2 for each in units.values())) / len(values),
        clusters=len(units),
        interval=interval,
        bounds=_bounds(cells, _average(values)) if all(cell.share for cell in cells) else None,
        answers=_answer_flips(aligned.pairs),
        repeats=_repeat_flips(aligned.pairs),
        one_reply=sum(_one_reply(pair.a[0], pair.b[0]) for pair in aligned.pairs),
        parts=(
            *_parts("arm", known, lambda cell: cell.pair.arm, draws, seed),
            *_parts("type", known, lambda cell: cell.pair.type, draws, seed),
        ),
        moved=_moved(by_question, differences),
        only_a=aligned.only_a,
        only_b=aligned.only_b,
        renamed=aligned.renamed,
        served=(_served(pair.a for pair in aligned.pairs), _served(pair.b for pair in aligned.pairs)),
    )


def _cell(pair: Pair, metric: str) -> _Cell:
    means: list[float | None] = []
    lows, highs, lost, share = [], [], [], True
    for rows in (pair.a, pair.b):
        values = [value_of(row, metric) for row in rows]
        there = [value for value in values if value is not None]
        certain = [
            value for row, value in zip(rows, values, strict=True) if value is not None and not is_open(row, metric)
        ]
        means.append(_average(there) if there else None)
        lost.append(1 - len(there) / len(rows))
        lows.append(sum(certain) / len(rows))
        highs.append((sum(certain) + len(rows) - len(certain)) / len(rows))
        share = share and all(0 <= value <= 1 for value in there)
    return _Cell(pair, means[0], means[1], max(lost), lows[1] - highs[0], highs[1] - lows[0], share)


def _grouped(cells: Iterable[_Cell], key: Callable[[_Cell], str]) -> dict[str, list[_Cell]]:
    found: dict[str, list[_Cell]] = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def _average(values: Iterable[float]) -> float:
    found = list(values)
    return found[0] if len(found) == 1 else fsum(found) / len(found)


def _mean(cells: Sequence[_Cell]) -> float:
    return _average((cell.b or 0.0) - (cell.a or 0.0) for cell in cells)


def _units(by_question: Mapping[str, Sequence[_Cell]], differences: Mapping[str, float]) -> dict[str, list[float]]:
    """The questions' differences by cluster."""
    units: dict[str, list[float]] = {}
    for question, value in differences.items():
        units.setdefault(by_question[question][0].pair.cluster, []).append(value)
    return units


def _signs(values: Iterable[float]) -> tuple[int, int]:
    found = list(values)
    return sum(value > SAME for value in found), sum(value < -SAME for value in found)


def _bounds(cells: Sequence[_Cell], estimate: float) -> Bounds:
    """Over all aligned questions: what has no value may be anything from 0 to 1, and so may an unparsed answer."""
    by_question = _grouped(cells, lambda cell: cell.pair.question).values()
    return Bounds(
        n=len(by_question),
        complete=sum(all(cell.difference is not None for cell in each) for each in by_question),
        estimate=estimate,
        low=_average(_average(cell.low for cell in each) for each in by_question),
        high=_average(_average(cell.high for cell in each) for each in by_question),
    )


def _parts(kind: str, cells: Sequence[_Cell], key: Callable[[_Cell], str], draws: int, seed: int) -> Iterable[Part]:
    """The parts of one kind, by name; none where there is only one, which is the whole."""
    groups = _grouped(cells, key)
    for name, each in sorted(groups.items()) if len(groups) > 1 else ():
        by_question = _grouped(each, lambda cell: cell.pair.question)
        differences = {question: _mean(some) for question, some in by_question.items()}
        units = _units(by_question, differences)
        rises, falls = _signs(differences.values())
        yield Part(
            kind,
            name,
            n=len(differences),
            a=_average(_average(cell.a or 0.0 for cell in some) for some in by_question.values()),
            b=_average(_average(cell.b or 0.0 for cell in some) for some in by_question.values()),
            difference=_average(differences.values()),
            rises=rises,
            falls=falls,
            p=cluster_permutation(units, weights="questions", draws=min(draws, PART_DRAWS), seed=seed).p,
        )


def _moved(by_question: Mapping[str, Sequence[_Cell]], differences: Mapping[str, float]) -> tuple[Moved, ...]:
    """The questions that changed, the largest change first; one whose arms cancel out has not."""
    found = [
        Moved(
            question,
            by_question[question][0].pair.type,
            value,
            tuple(cell.pair.arm for cell in by_question[question] if abs(cell.difference or 0.0) > SAME),
        )
        for question, value in differences.items()
        if abs(value) > SAME
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.difference), each.question)))


def _left_out(pairs: Iterable[Pair], metric: str) -> dict[str, str]:
    """Why a row has no value, by cell; those of the baseline say so."""
    found: dict[str, str] = {}
    for pair in pairs:
        for side, rows in ((" in the baseline", pair.a), ("", pair.b)):
            for row in rows:
                if value_of(row, metric) is None:
                    found[f"{row['cell']}{side}"] = _why(row, metric)
    return found


def _why(row: Row, metric: str) -> str:
    if row["status"] == "error":
        return f"{row['error.kind']} error"
    if row["status"] == "unparsed":
        return "unparsed"
    return "from the cache" if metric == "latency" and _cached(row) else f"no {metric}"


def _answer_flips(pairs: Sequence[Pair]) -> Flips | None:
    both = [(f"{pair.arm} {pair.question}", pair.a[0], pair.b[0]) for pair in pairs if _answered(pair.a[0], pair.b[0])]
    return _flips(both)


def _repeat_flips(pairs: Sequence[Pair]) -> Flips | None:
    """The first two repeats of each run against each other."""
    both = [
        (f"{side} {pair.arm} {pair.question}", rows[0], rows[1])
        for pair in pairs
        for side, rows in (("a", pair.a), ("b", pair.b))
        if len(rows) > 1 and _answered(rows[0], rows[1])
    ]
    return _flips(both)


def _flips(both: Sequence[tuple[str, Row, Row]]) -> Flips | None:
    if not both:
        return None
    return flip_rate({key: _answer(a) for key, a, _ in both}, {key: _answer(b) for key, _, b in both})


def _answered(*rows: Row) -> bool:
    return all(row["status"] != "error" for row in rows)


def _answer(row: Row) -> str:
    return str(row["answer"] or "")


def _one_reply(a: Row, b: Row) -> bool:
    return bool(a["requests"]) and a["requests"] == b["requests"] and (_cached(a) or _cached(b))


def _cached(row: Row) -> bool:
    run = row["run"]
    return isinstance(run, Mapping) and bool(run.get("cached"))


def _served(sides: Iterable[Sequence[Row]]) -> tuple[str, ...]:
    return tuple(sorted({str(row["model_served"]) for rows in sides for row in rows if _answered(row)}))
