"""Contrasts of arms, matched over their other axes, as one table: a family with Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchsuite.errors import BenchError, ConfigError
from benchsuite.plan import Contrast
from benchsuite.stats.contrast import Analysis
from benchsuite.stats.family import holm, lowest_adjusted
from benchsuite_reports.arms import NONE
from benchsuite_reports.clustered import interval_text
from benchsuite_reports.inspect import arm_name
from benchsuite_reports.table import (
    EMBEDDED_READER,
    Block,
    CorpusFacts,
    Number,
    Row,
    RunFacts,
    Table,
    p_value,
    percent,
    signed,
    wins_losses,
)

LISTED = 10
SCORES = ("b minus a", "n", "a", "b", "difference", "95% by question", "95% by cluster")
TESTS = ("b minus a", "changed", "W/L", "sign p", "units", "flip p", "least p", "Holm p")

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two arms to compare: the values of each axis that ``changed``, and of the axes that are ``shared``."""

    changed: Mapping[str, tuple[str, str]]
    shared: Mapping[str, str]
    a: tuple[Row, ...]
    b: tuple[Row, ...]
    primary: bool = False


def match_arms(a: Sequence[Row], b: Sequence[Row], primary: bool = False) -> tuple[list[Pairing], list[str]]:
    """Pair the arms of ``a`` and ``b`` that agree on every axis but those that tell the two apart.

    An axis tells them apart where all of ``a`` has one value and all of ``b`` another. Repeats of an arm stay
    together. Returns the pairings in the order of ``a``'s rows, and the arms without a partner.
    """
    axes = list(dict.fromkeys(key for row in (*a[:1], *b[:1]) for key in row if key.startswith("arm.")))
    axes.insert(0, "suite")
    values = {axis: [{_text(row, axis) for row in rows} for rows in (a, b)] for axis in axes}
    changed = {
        axis.removeprefix("arm."): (next(iter(first)), next(iter(second)))
        for axis, (first, second) in values.items()
        if len(first) == len(second) == 1 and first != second
    }
    kept = [axis for axis in axes if axis != "arm.repeat" and axis.removeprefix("arm.") not in changed]
    sides: list[dict[Key, list[Row]]] = []
    for rows in (a, b):
        groups: dict[Key, list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple((axis.removeprefix("arm."), _text(row, axis)) for axis in kept), []).append(row)
        sides.append(groups)
    first, second = sides
    pairings = [
        Pairing(changed, dict(key), tuple(rows), tuple(second[key]), primary)
        for key, rows in first.items()
        if key in second
    ]
    lone = [
        f"{side} {arm_name(rows[0])}"
        for side, groups, others in (("a", first, second), ("b", second, first))
        for key, rows in groups.items()
        if key not in others
    ]
    return pairings, lone


def _text(row: Row, axis: str) -> str:
    return str(row.get(axis, "none"))


def contrast_rows(contrast: Contrast, a: Sequence[Row], b: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of the two arms that a contrast names. Raises ConfigError for one without rows, or no such axis."""
    sides = []
    for rows, values in ((a, contrast.before), (b, contrast.after)):
        wanted = [*zip(contrast.axes, values, strict=True), *contrast.fixed]
        for axis, value in wanted:
            there = list(dict.fromkeys(_text(row, f"arm.{axis}") for row in rows if f"arm.{axis}" in row))
            if not there:
                known = ", ".join(key.removeprefix("arm.") for key in rows[0] if key.startswith("arm."))
                raise ConfigError(f"no axis {axis!r}; axes: {known}")
            if value not in there:
                raise ConfigError(f"no row has {axis}={value}; there are: {', '.join(there)}")
        found = [row for row in rows if all(_text(row, f"arm.{axis}") == value for axis, value in wanted)]
        if not found:
            raise ConfigError(f"no row has {', '.join(f'{axis}={value}' for axis, value in wanted)} together")
        sides.append(found)
    return sides[0], sides[1]


def once_each(pairings: Sequence[Pairing]) -> list[Pairing]:
    """The pairings without those that an earlier contrast names too; the first stands."""
    found: dict[tuple[object, ...], Pairing] = {}
    for pairing in pairings:
        found.setdefault((tuple(sorted(pairing.changed.items())), tuple(sorted(pairing.shared.items()))), pairing)
    return list(found.values())


def labels_of(pairings: Sequence[Pairing]) -> list[str]:
    """What each changes, and the shared values that not all have, or the arm's key; the primary one is marked."""
    everywhere = dict(_everywhere(pairings))
    labels = []
    for pairing in pairings:
        change = ", ".join(f"{axis} {a} -> {b}" for axis, (a, b) in pairing.changed.items())
        at = [f"{axis} {value}" for axis, value in pairing.shared.items() if axis not in everywhere]
        label = change + (f" @ {', '.join(at)}" if at else "")
        if not change:
            label = arm_name(pairing.a[0]) + ("" if "suite" in everywhere else f" @ suite {pairing.shared['suite']}")
        labels.append(label + (" (primary)" if pairing.primary else ""))
    return labels


def _everywhere(pairings: Sequence[Pairing]) -> list[tuple[str, str]]:
    """The values that are shared by both arms of every pairing."""
    first, *rest = pairings
    return [each for each in first.shared.items() if all(each in pairing.shared.items() for pairing in rest)]


def comparison_table(
    pairings: Sequence[Pairing],
    analyses: Mapping[str, Analysis],
    facts: RunFacts,
    sources: Sequence[tuple[str, str]],
    lone: Sequence[str],
) -> Table:
    """The table of a family. ``analyses`` stand by label, in the order of the pairings; ``sources`` say what a and b
    are, ``lone`` which arms had no partner. Raises BenchError where the contrasts mix metrics or corpora."""
    found = list(analyses.values())
    corpora = {
        digest: facts.corpora.get(digest, CorpusFacts("unknown corpus", False)) for digest in _each(found, "corpus")
    }
    if len(corpora) > 1:
        raise BenchError(f"contrasts of different corpora cannot stand in one table: {', '.join(corpora)}")
    adjusted = holm({label: each.p for label, each in analyses.items()})
    first = found[0]
    at = [f"{axis} {value}" for axis, value in _everywhere(pairings) if value != "none"]
    scores = Block(
        heading=f"Scores: {first.metric}, in percent; difference in points",
        facts=(),
        columns=SCORES,
        rows=tuple(
            (
                label,
                str(each.effect.n),
                percent(each.a.mean),
                percent(each.b.mean),
                signed(each.effect.estimate),
                interval_text(each.interval),
                interval_text(each.cluster_interval),
            )
            for label, each in analyses.items()
        ),
        left_out=tuple(
            (f"{question} in {label}" if len(found) > 1 else question, reason)
            for label, each in analyses.items()
            for question, reason in each.left_out.items()
        ),
        values=dict(_values(analyses, adjusted)),
    )
    tests = Block(
        heading=f"Tests: exact sign test; sign flips of whole {'clusters' if first.by == 'cluster' else 'questions'}",
        facts=(),
        columns=TESTS,
        rows=tuple(
            (
                label,
                str(each.answers.flipped),
                wins_losses(each.effect.wins, each.effect.losses),
                p_value(each.effect.p),
                str(each.clusters),
                p_value(each.permutation.p) + ("" if each.permutation.exact else "*"),
                p_value(each.floor),
                p_value(adjusted[label]) if len(found) > 1 else NONE,
            )
            for label, each in analyses.items()
        ),
        left_out=None,
        notes=_notes(analyses),
    )
    return Table(
        id="compare",
        title="Comparison: b minus a, paired by question",
        columns=SCORES,
        blocks=(scores, tests),
        facts=(
            *sources,
            *((("everywhere", ", ".join(at)),) if at else ()),
            *((("arms without a partner", _some(lone)),) if lone else ()),
            *(
                (
                    ("corpus", f"{each.name}, digest {digest[:12]}{', bundled' if each.bundled else ''}")
                    for digest, each in corpora.items()
                )
            ),
            ("protocol", ", ".join(_each(found, "protocol"))),
            ("renderer", _alike(analyses, lambda each: ", ".join(each.renderers))),
            ("scorer", _alike(analyses, lambda each: ", ".join(each.scorers) or NONE)),
            ("model as served", _alike(analyses, lambda each: _served(each, pairings, facts))),
            ("pairing", _alike(analyses, _pairing)),
            ("errors", _alike(analyses, lambda each: f"a {each.a.errors}, b {each.b.errors}")),
            ("rows that are not there", _alike(analyses, lambda each: f"a {each.a.absent}, b {each.b.absent}")),
            (
                "unparsed, counted as not correct",
                _alike(analyses, lambda each: f"a {each.a.unparsed}, b {each.b.unparsed}"),
            ),
            ("the p that counts", _alike(analyses, _counts)),
            *((("family", f"these {len(found)} contrasts, Holm at {first.alpha:g}"),) if len(found) > 1 else ()),
            ("contrasts", "not certified"),
        ),
        notes=_footnotes(found),
        pipeline_check=any(each.bundled for each in corpora.values()),
    )


def _each(found: Iterable[Analysis], field: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(each, field)) for each in found))


def _alike(analyses: Mapping[str, Analysis], text: Callable[[Analysis], str]) -> str:
    """One text where all contrasts have the same, else each with its label."""
    texts = {label: text(each) for label, each in analyses.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{label}: {each}" for label, each in texts.items())


def _some(texts: Sequence[str]) -> str:
    return "; ".join(texts[:LISTED]) + (f"; and {len(texts) - LISTED} more" if len(texts) > LISTED else "")


def _served(each: Analysis, pairings: Sequence[Pairing], facts: RunFacts) -> str:
    models = {_text(row, "arm.model") for pairing in pairings for row in (pairing.a[0], pairing.b[0])}
    reader = f" ({EMBEDDED_READER})" if models <= facts.embedded_models else ""
    a, b = (", ".join(name or "not known" for name in side.served) for side in (each.a, each.b))
    return f"{a}{reader}" if a == b else f"a {a}, b {b}: not the same{reader}"


def _pairing(each: Analysis) -> str:
    runs = [", ".join(run or "not known" for run in side.runs) for side in (each.a, each.b)]
    return f"within run {runs[0]}" if each.within_run else f"across runs: a {runs[0]}; b {runs[1]}"


def _counts(each: Analysis) -> str:
    if each.by == "cluster":
        return "flip p, by cluster"
    return "flip p, by question: the values are graded" if each.graded else "sign p, by question"


def _notes(analyses: Mapping[str, Analysis]) -> tuple[str, ...]:
    """What must be said of contrasts that their rows do not show; those of which the same is said stand together."""
    labels: dict[str, list[str]] = {}
    for label, each in analyses.items():
        others = {name: other.p for name, other in analyses.items()}
        lowest = lowest_adjusted(others, {label: each.floor})[label]
        for note in (_null(each, lowest), _worst(each), _unaltered(each)):
            if note:
                labels.setdefault(note, []).append(label)
    return tuple(
        f"{'; '.join(which) if len(which) < len(analyses) or len(which) == 1 else 'every contrast'}: {note}."
        for note, which in labels.items()
    )


def _null(each: Analysis, lowest: float) -> str:
    """Of a contrast without a shown difference; ``lowest`` is the least that its p could be within the family."""
    discordant = each.effect.wins + each.effect.losses
    parts = []
    if each.null:
        parts += [
            "insensitive" if each.insensitive else "no difference shown",
            f"{discordant} of {each.effect.n} questions discordant",
        ]
        if each.detectable is not None:
            parts.append(f"least effect found with a power of .8: {100 * each.detectable:.2f} points")
        elif discordant:
            parts.append("no effect on so few would be found with a power of .8")
    if lowest > each.alpha:
        parts.append(f"cannot reach {each.alpha:g}: its p is {p_value(lowest)} at best")
    return "; ".join(parts)


def _worst(each: Analysis) -> str:
    if each.bounds.low == each.bounds.high:
        return ""
    bounds = f"{signed(each.bounds.low)} to {signed(each.bounds.high)}"
    is_open = " (sign open)" if each.bounds.sign_can_flip else ""
    return f"worst case bounds, all that has no score wrong to all right: {bounds}{is_open}"


def _unaltered(each: Analysis) -> str:
    if not each.unaltered:
        return ""
    one = f", {each.one_reply} of them with a reply from the cache" if each.one_reply else ""
    return f"{each.unaltered} of {each.pairs} pairs had one and the same request{one}"


def _footnotes(found: Sequence[Analysis]) -> tuple[str, ...]:
    drawn = [each.permutation for each in found if not each.permutation.exact]
    intervals = [interval for each in found for interval in (each.interval, each.cluster_interval) if interval]
    any_null = any(each.null and each.detectable is not None for each in found)
    methods = dict.fromkeys(interval.method for interval in intervals)
    return (
        *((f"Intervals: {'; '.join(methods)}.",) if methods else ()),
        *(("Least effects: sign test, independent questions; clusters need larger ones.",) if any_null else ()),
        *((f"* Monte Carlo, {drawn[0].draws:,} draws, seed {drawn[0].seed}; others exact.",) if drawn else ()),
    )


def _values(analyses: Mapping[str, Analysis], adjusted: Mapping[str, float]) -> Iterator[tuple[str, Number]]:
    """The numbers of every contrast, unrounded: fractions."""
    for label, each in analyses.items():
        numbers: dict[str, Number] = {
            "n": each.effect.n,
            "pairs": each.pairs,
            "a": each.a.mean,
            "b": each.b.mean,
            "difference": each.effect.estimate,
            "answers_changed": each.answers.flipped,
            "wins": each.effect.wins,
            "losses": each.effect.losses,
            "sign_p": each.effect.p,
            "clusters": each.clusters,
            "flip_p": each.permutation.p,
            "flip_floor": each.permutation.floor,
            "p": each.p,
            "floor": each.floor,
            "holm_p": adjusted[label] if len(analyses) > 1 else None,
            "detectable": each.detectable,
            "bound_low": each.bounds.low,
            "bound_high": each.bounds.high,
            "within_run": int(each.within_run),
            "same_model": int(each.same_model),
            "insensitive": int(each.insensitive),
        }
        for name, interval in (("question", each.interval), ("cluster", each.cluster_interval)):
            numbers[f"{name}_low"] = interval.low if interval else None
            numbers[f"{name}_high"] = interval.high if interval else None
        yield from ((f"{label}: {name}", number) for name, number in numbers.items())
