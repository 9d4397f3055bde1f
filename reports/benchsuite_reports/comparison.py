"""Contrasts of arms, matched over their other axes, as one table: a family with Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchsuite.errors import BenchError, ConfigError
from benchsuite.plan import CONTEXT_AXES, DEFAULTS, Contrast
from benchsuite.stats.contrast import Analysis
from benchsuite.stats.family import holm, lowest_adjusted
from benchsuite_reports.arms import NONE, Facts, answered
from benchsuite_reports.certified import ContrastCertificate, certify_pairs
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
REQUESTS = ("b minus a", "declared variables", "matched", "altered", "pairing", "from the cache")
NOTE = (
    "matched: pairs whose requests are equal outside the declared variables; altered: pairs whose declared variables "
    "all changed. A pair that is not altered stays in n."
)

BLOCKED = "blocked: a's cells were asked in one block and b's in another"
STATE_NOTE = "At a conversation state a certificate is of the first request of each cell: matched to step 1."

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two arms to compare: the values of each axis that ``changed``, and of the axes that are ``shared``."""

    changed: Mapping[str, tuple[str, str]]
    shared: Mapping[str, str]
    a: tuple[Row, ...]
    b: tuple[Row, ...]
    primary: bool = False

    @property
    def blocked(self) -> bool:
        """Whether its arms were asked one after the other, as contexts are, and not question by question."""
        return not self.changed.keys().isdisjoint(CONTEXT_AXES)

    @property
    def at_state(self) -> bool:
        states = self.changed.get("state", (self.shared.get("state", DEFAULTS["state"]),))
        return DEFAULTS["state"] not in states


def match_arms(
    a: Sequence[Row], b: Sequence[Row], primary: bool = False, axes: Sequence[str] = ()
) -> tuple[list[Pairing], list[str]]:
    """Pair the arms of ``a`` and ``b`` that agree on every axis but those that tell the two apart.

    An axis tells them apart where all of ``a`` has one value and all of ``b`` another; where ``axes`` are given, only
    these may. Repeats of an arm stay together; those that the other arm has not are no partners. Returns the pairings
    in the order of ``a``'s rows, and the arms without a partner.
    """
    names = list(dict.fromkeys(key for row in (*a[:1], *b[:1]) for key in row if key.startswith("arm.")))
    names.insert(0, "suite")
    values = {axis: [{_text(row, axis) for row in rows} for rows in (a, b)] for axis in names}
    changed = {
        axis.removeprefix("arm."): (next(iter(first)), next(iter(second)))
        for axis, (first, second) in values.items()
        if len(first) == len(second) == 1 and first != second and (not axes or axis.removeprefix("arm.") in axes)
    }
    kept = [axis for axis in names if axis != "arm.repeat" and axis.removeprefix("arm.") not in changed]
    sides: list[dict[Key, list[Row]]] = []
    for rows in (a, b):
        groups: dict[Key, list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple((axis.removeprefix("arm."), _text(row, axis)) for axis in kept), []).append(row)
        sides.append(groups)
    first, second = sides
    pairings: list[Pairing] = []
    lone: list[dict[str, None]] = [{}, {}]  # arms in order, by side
    for key in dict.fromkeys([*first, *second]):
        arms = [side.get(key, []) for side in sides]
        repeats = {_text(row, "arm.repeat") for row in arms[0]} & {_text(row, "arm.repeat") for row in arms[1]}
        paired = bool(arms[0] and arms[1]) and bool(repeats or not axes or "repeat" in axes)
        if paired:
            chosen = [tuple(row for row in arm if not repeats or _text(row, "arm.repeat") in repeats) for arm in arms]
            pairings.append(Pairing(changed, dict(key), chosen[0], chosen[1], primary))
        for left, arm in zip(lone, arms, strict=True):
            apart = [row for row in arm if not paired or (repeats and _text(row, "arm.repeat") not in repeats)]
            left.update(dict.fromkeys(map(arm_name, apart)))
    return pairings, [f"{side} {arm}" for side, left in zip("ab", lone, strict=True) for arm in left]


def pairs_of(pairing: Pairing) -> list[tuple[Row, Row]]:
    """The rows that are compared with each other: answered in both arms, by question and repeat."""
    single = all(len({_text(row, "arm.repeat") for row in arm}) == 1 for arm in (pairing.a, pairing.b))
    a, b = (
        {(str(row["question"]), "" if single else _text(row, "arm.repeat")): row for row in arm if answered(row)}
        for arm in (pairing.a, pairing.b)
    )
    return [(a[key], b[key]) for key in sorted(a.keys() & b.keys())]


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


@dataclass(frozen=True, slots=True)
class Family:
    """Contrasts that are corrected together. All stand by label, in one order: what is paired, what came of it, the
    pairs and their certificate, and the p after Holm."""

    pairings: Mapping[str, Pairing]
    analyses: Mapping[str, Analysis]
    pairs: Mapping[str, Sequence[tuple[Row, Row]]]
    certificates: Mapping[str, ContrastCertificate | None]
    adjusted: Mapping[str, float]

    @classmethod
    def of(cls, pairings: Sequence[Pairing], analyses: Mapping[str, Analysis], facts: RunFacts) -> Family:
        """``analyses`` stand by label, in the order of the pairings."""
        pairs = {label: pairs_of(pairing) for label, pairing in zip(analyses, pairings, strict=True)}
        return cls(
            dict(zip(analyses, pairings, strict=True)),
            analyses,
            pairs,
            {label: certify_pairs(each, facts) for label, each in pairs.items()},
            holm({label: each.p for label, each in analyses.items()}),
        )

    def corpora(self, facts: RunFacts) -> dict[str, CorpusFacts]:
        """The corpora of the rows by digest."""
        unknown = CorpusFacts("unknown corpus", False)
        return {digest: facts.corpora.get(digest, unknown) for digest in _each(self.analyses.values(), "corpus")}

    def facts(self, facts: RunFacts) -> Facts:
        """What is said of all contrasts. Raises BenchError where they are of several corpora."""
        analyses, found = self.analyses, list(self.analyses.values())
        corpora = self.corpora(facts)
        if len(corpora) > 1:
            raise BenchError(f"contrasts of different corpora cannot stand in one table: {', '.join(corpora)}")
        at = [f"{axis} {value}" for axis, value in _everywhere(list(self.pairings.values())) if value != "none"]
        return (
            *((("everywhere", ", ".join(at)),) if at else ()),
            *(
                ("corpus", f"{each.name}, digest {digest[:12]}{', bundled' if each.bundled else ''}")
                for digest, each in corpora.items()
            ),
            ("protocol", ", ".join(_each(found, "protocol"))),
            ("renderer", _alike(analyses, lambda each: ", ".join(each.renderers))),
            ("scorer", _alike(analyses, lambda each: ", ".join(each.scorers) or NONE)),
            ("model as served", _alike(analyses, lambda each: _served(each, list(self.pairings.values()), facts))),
            *((("checkpoints", _alike(analyses, _checkpoints)),) if any(each.checkpoints for each in found) else ()),
            ("pairing", _alike(analyses, _pairing)),
            ("errors", _alike(analyses, lambda each: f"a {each.a.errors}, b {each.b.errors}")),
            ("rows that are not there", _alike(analyses, lambda each: f"a {each.a.absent}, b {each.b.absent}")),
            (
                "unparsed, counted as not correct",
                _alike(analyses, lambda each: f"a {each.a.unparsed}, b {each.b.unparsed}"),
            ),
            ("the p that counts", _alike(analyses, _counts)),
            *((("family", f"these {len(found)} contrasts, Holm at {found[0].alpha:g}"),) if len(found) > 1 else ()),
            *(() if facts.certificates else (("contrasts", "not certified"),)),
        )

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The questions that one contrast left out, with the reason."""
        several = len(self.analyses) > 1
        return tuple(
            (f"{question} in {label}" if several else question, reason)
            for label, each in self.analyses.items()
            for question, reason in each.left_out.items()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of contrasts that their rows do not show."""
        others = {label: each.p for label, each in self.analyses.items()}
        found: list[tuple[str, str]] = []
        for label, each in self.analyses.items():
            lowest = lowest_adjusted(others, {label: each.floor})[label]
            found += [(label, note) for note in (_null(each, lowest), _worst(each), _unaltered(each))]
        return _grouped(found, len(self.analyses))

    @property
    def certificate_notes(self) -> tuple[str, ...]:
        """The first differences, and what else certificates say beside their two counts."""
        return _grouped(((label, _further(each)) for label, each in self.certificates.items()), len(self.analyses))

    @property
    def blocked_notes(self) -> tuple[str, ...]:
        """Which contrasts were asked in blocks."""
        found = ((label, BLOCKED if pairing.blocked else "") for label, pairing in self.pairings.items())
        return _grouped(found, len(self.pairings))

    @property
    def at_state(self) -> bool:
        """Whether any contrast is one at conversation states."""
        return any(pairing.at_state for pairing in self.pairings.values())

    def holm_text(self, label: str) -> str:
        return p_value(self.adjusted[label]) if len(self.analyses) > 1 else NONE


def comparison_table(family: Family, facts: RunFacts, sources: Sequence[tuple[str, str]], lone: Sequence[str]) -> Table:
    """The table of a family. ``sources`` say what a and b are, ``lone`` which arms had no partner. Raises BenchError
    where the contrasts mix corpora."""
    analyses = family.analyses
    first = next(iter(analyses.values()))
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
        left_out=family.left_out,
        values=dict(values_of(family)),
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
                family.holm_text(label),
            )
            for label, each in analyses.items()
        ),
        left_out=None,
        notes=family.notes,
    )
    requests = Block(
        heading="Requests: what differs between the two arms, as they were sent",
        facts=(),
        columns=REQUESTS,
        rows=tuple(
            (
                label,
                *certified_text(family.certificates[label]),
                _paired(each, family.pairings[label]),
                _cached(family.pairs[label]),
            )
            for label, each in analyses.items()
        ),
        left_out=None,
        notes=family.certificate_notes,
    )
    return Table(
        id="compare",
        title="Comparison: b minus a, paired by question",
        columns=SCORES,
        blocks=(scores, tests, requests),
        facts=(
            *sources,
            *((("arms without a partner", _some(lone)),) if lone else ()),
            *family.facts(facts),
        ),
        notes=(NOTE, *((STATE_NOTE,) if family.at_state else ()), *footnotes(list(analyses.values()))),
        pipeline_check=any(each.bundled for each in family.corpora(facts).values()),
    )


def certified_text(found: ContrastCertificate | None) -> tuple[str, str, str]:
    """Declared variables, matched and altered pairs. Of one arm in two runs nothing is declared."""
    if found is None or found.absent:
        return NONE, NONE, NONE
    altered = f"{found.altered}/{found.n}" if found.variables else NONE
    return " + ".join(found.variables) or "none", f"{found.matched}/{found.n}", altered


def _paired(each: Analysis, pairing: Pairing) -> str:
    return ("within run" if each.within_run else "across runs") + (", blocked" if pairing.blocked else "")


def _further(found: ContrastCertificate | None) -> str:
    if found is None:
        return ""
    return "; ".join([*([f"not matched, {'; '.join(found.faults)}"] if found.faults else []), *found.further])


def _cached(pairs: Sequence[tuple[Row, Row]]) -> str:
    """How many replies of each arm were there before the run that has them."""
    runs: list[list[Any]] = [[row["run"] for row in side] for side in zip(*pairs, strict=True)]
    a, b = (sum(bool(run.get("cached")) for run in side) for side in runs)
    return f"a {a}, b {b}" if a or b else "0"


def _grouped(notes: Iterable[tuple[str, str]], of: int) -> tuple[str, ...]:
    """Notes from (label, note), empty ones left out; labels of which the same is said stand together, and as 'every
    contrast' where they are all ``of`` them."""
    labels: dict[str, list[str]] = {}
    for label, note in notes:
        if note:
            labels.setdefault(note, []).append(label)
    return tuple(
        f"{'every contrast' if len(which) == of > 1 else '; '.join(which)}: {note}." for note, which in labels.items()
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


def _checkpoints(each: Analysis) -> str:
    """Of arms that name one state: whether they were asked at the same checkpoint, as far as rows show it."""
    return "not the same: a {}; b {}".format(*each.checkpoints) if each.checkpoints else "no difference shown"


def _pairing(each: Analysis) -> str:
    runs = [", ".join(run or "not known" for run in side.runs) for side in (each.a, each.b)]
    return f"within run {runs[0]}" if each.within_run else f"across runs: a {runs[0]}; b {runs[1]}"


def _counts(each: Analysis) -> str:
    if each.by == "cluster":
        return "flip p, by cluster"
    return "flip p, by question: the values are graded" if each.graded else "sign p, by question"


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


def footnotes(found: Sequence[Analysis]) -> tuple[str, ...]:
    """What holds of the methods of these contrasts."""
    drawn = [each.permutation for each in found if not each.permutation.exact]
    intervals = [interval for each in found for interval in (each.interval, each.cluster_interval) if interval]
    any_null = any(each.null and each.detectable is not None for each in found)
    methods = dict.fromkeys(interval.method for interval in intervals)
    return (
        *((f"Intervals: {'; '.join(methods)}.",) if methods else ()),
        *(("Least effects: sign test, independent questions; clusters need larger ones.",) if any_null else ()),
        *((f"* Monte Carlo, {drawn[0].draws:,} draws, seed {drawn[0].seed}; others exact.",) if drawn else ()),
    )


def values_of(family: Family) -> Iterator[tuple[str, Number]]:
    """The numbers of every contrast, unrounded: fractions."""
    for label, each in family.analyses.items():
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
            "holm_p": family.adjusted[label] if len(family.analyses) > 1 else None,
            "detectable": each.detectable,
            "bound_low": each.bounds.low,
            "bound_high": each.bounds.high,
            "within_run": int(each.within_run),
            "same_model": int(each.same_model),
            "insensitive": int(each.insensitive),
        }
        found = family.certificates[label]
        numbers["matched"] = None if found is None or found.absent else found.matched
        numbers["altered"] = None if found is None or found.absent else found.altered
        for name, interval in (("question", each.interval), ("cluster", each.cluster_interval)):
            numbers[f"{name}_low"] = interval.low if interval else None
            numbers[f"{name}_high"] = interval.high if interval else None
        yield from ((f"{label}: {name}", number) for name, number in numbers.items())
